"""How does a shell complete our commands?"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that lets a shell complete commands and options.

    \b
    Put one of these into the file that your shell reads when it starts:
      bash (~/.bashrc)                    eval "$(neuid3 completion bash)"
      zsh  (~/.zshrc)                     eval "$(neuid3 completion zsh)"
      fish (~/.config/fish/config.fish)   neuid3 completion fish | source
    """
    maker = get_completion_class(shell)
    assert maker is not None
    click.echo(maker(ctx.find_root().command, {}, "neuid3", "_NEUID3_COMPLETE").source())
