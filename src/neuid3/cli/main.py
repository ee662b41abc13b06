"""The command line: a thin shell around the library."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click

from neuid3.cli.commands import Commands, UserError
from neuid3.errors import DataError
from neuid3.utils.output import set_outcome

# The module of each command, and its line in --help, shown without importing it.
GROUPS = {
    "fit": ("neuid3.cli.fit", "Learn a tree from a table and save it."),
    "predict": ("neuid3.cli.predict", "Predict the class or the number of every row of a table."),
    "show": ("neuid3.cli.show", "Show the tree of a model."),
    "explain": ("neuid3.cli.explain", "Explain the prediction for one row of a table."),
    "report": (
        "neuid3.cli.report",
        "Write an HTML page about a model and its predictions for a table.",
    ),
    "audit": ("neuid3.cli.audit", "Say what the values of a model's networks are fixed up to."),
    "diagnose": ("neuid3.cli.diagnose", "Say why a model has learned nothing, or that nothing is wrong."),
    "label": ("neuid3.cli.label", "Suggest images of a table to label, as a table to fill in and as a page."),
    "reread": ("neuid3.cli.reread", "Give a model the form under which labels are most likely."),
    "rules": ("neuid3.cli.rules", "Check background knowledge, and list the relations for which rules are written."),
    "bank": ("neuid3.cli.bank", "Manage a bank of trained tests for reuse in other trees."),
    "doctor": ("neuid3.cli.doctor", "Report on the installation and the backend of the networks."),
    "completion": ("neuid3.cli.completion", "Print a script for shell completion of commands and options."),
}

# Commands that are no part of the library any more, and what runs them in a checkout of the repository.
MOVED = {
    "datasets": "python -m experiments datasets",
    "reproduce": "python -m experiments reproduce",
    "bench": "python -m benchmarks",
}


class _Main(Commands):
    """The commands of `neuid3`: each is imported when it is called, and messages name its options."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in MOVED:
            raise UserError(
                f"`neuid3 {args[0]}` is `{MOVED[args[0]]}` now; run it in the root folder of a checkout of the repository."
            )
        name, command, rest = super().resolve_command(ctx, args)
        if name in GROUPS:
            command = getattr(import_module(GROUPS[name][0]), name)
        return name, command, rest

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own signature
        return ["demo", *GROUPS]

    def wording(self, message: str) -> str:
        from neuid3.cli.wording import for_command_line

        return for_command_line(message)


def _print_version(ctx: click.Context, _: click.Parameter, requested: bool) -> None:
    if requested:
        from neuid3 import __version__

        click.echo(f"neuid3, version {__version__}")
        ctx.exit()


@click.group(cls=_Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Neurosymbolic decision trees: tests may be facts, networks, or rules over the outputs of networks.

    \b
    From a table to predictions:
      neuid3 fit cards.csv --target result --background rules.pl
      neuid3 predict cards.neuid3 new.csv
    """


@main.command()
@click.option("--jobs", default=2, show_default=True, help="Number of workers that train networks.")
@click.option(
    "--files",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Learn nothing; create this folder with a table, images and rules for `neuid3 fit`.",
)
@click.option(
    "--table",
    type=click.Choice(["cards", "visits"]),
    default="cards",
    show_default=True,
    help="With --files, which table: games of cards, or visits to a practice with numbers, dates, notes and pictures.",
)
def demo(jobs: int, files: Path | None, table: str) -> None:
    """Learn a hidden concept from images of cards, facts and rules, and print the tree.

    Needs no download and takes a minute or two. Example: neuid3 demo
    """
    if files is not None:
        from neuid3.cli.tutorial_files import write_files
        from neuid3.cli.tutorial_visits import write_visits

        summary = write_visits(files) if table == "visits" else write_files(files)
        set_outcome(f"the files are in {files}")
        click.echo(summary)
        return
    if jobs == 0:
        raise DataError("--jobs 0 means no workers; give 1 or more, or -1 for one per core.")
    from neuid3.cli.demo import run

    run(jobs)


for _name, (_, _sentence) in GROUPS.items():
    main.add_command(click.Group(_name, short_help=_sentence))
