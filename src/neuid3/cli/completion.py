"""The command `completion`: scripts for shell completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script for shell completion of commands and options.

    \b
    Add one of these lines to the startup file of your shell:
      bash (~/.bashrc)                    eval "$(neuid3 completion bash)"
      zsh  (~/.zshrc)                     eval "$(neuid3 completion zsh)"
      fish (~/.config/fish/config.fish)   neuid3 completion fish | source
    """
    completion_class = get_completion_class(shell)
    assert completion_class is not None
    click.echo(completion_class(ctx.find_root().command, {}, "neuid3", "_NEUID3_COMPLETE").source())
