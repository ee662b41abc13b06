"""The command line: a thin shell around the library."""

from __future__ import annotations

from importlib import import_module

import click

# Where commands and groups of them live, and what --help says of them before they are imported.
GROUPS = {
    "bench": ("neuid3.bench.cli", "Measure how fast everything is, beside what it is compared with."),
    "datasets": ("neuid3.datasets.cli", "The data of the experiments: where they are, and how they look."),
    "reproduce": (
        "neuid3.reproduce.cli",
        "Run the paper's experiments, and set our numbers beside the published ones.",
    ),
}


class _Main(click.Group):
    """Commands of which those that live elsewhere are imported when they are called."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name in GROUPS:
            command = getattr(import_module(GROUPS[name][0]), name)
        return name, command, rest


def _tell_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from neuid3 import __version__

        click.echo(f"neuid3, version {__version__}")
        ctx.exit()


@click.group(cls=_Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_tell_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Neurosymbolic decision trees: tests may be facts, networks, or rules over what networks see."""


@main.command()
@click.option("--jobs", default=2, show_default=True, help="How many networks are trained side by side.")
def demo(jobs: int) -> None:
    """Learn a hidden concept from pictures of cards, facts and rules, and print the tree.

    Needs no download and takes a minute or two. Example: neuid3 demo
    """
    from neuid3.demo import run

    run(jobs)


for _name, (_, _sentence) in GROUPS.items():
    main.add_command(click.Group(_name, short_help=_sentence))
