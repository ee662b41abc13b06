"""The command line: a thin shell around the library."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from neuid3.errors import NeuID3Error

# Where commands and groups of them live, and what --help says of them before they are imported.
GROUPS = {
    "fit": ("neuid3.commands.fit", "Learn a tree from a table and save it."),
    "predict": ("neuid3.commands.predict", "Predict the class of every row of a table."),
    "show": ("neuid3.commands.show", "Show the tree of a model."),
    "explain": ("neuid3.commands.explain", "Explain the prediction for one row of a table."),
    "report": (
        "neuid3.commands.report",
        "Write a page about a model and a table: one HTML file, to be opened in a browser.",
    ),
    "bank": ("neuid3.commands.bank", "Keep trained tests for the next tree."),
    "datasets": ("neuid3.datasets.cli", "The data of the experiments: where they are, and how they look."),
    "reproduce": (
        "neuid3.reproduce.cli",
        "Run the paper's experiments, and set our numbers beside the published ones.",
    ),
    "bench": ("neuid3.bench.cli", "Measure how fast everything is, beside what it is compared with."),
    "doctor": ("neuid3.commands.doctor", "Tell what is installed here, and what runs the networks."),
    "completion": ("neuid3.commands.completion", "Print the script that lets a shell complete commands and options."),
}

# What a shell says of a program that Ctrl-C has stopped.
STOPPED = 130


class Mistake(click.ClickException):
    """Something that the caller can put right."""

    exit_code = 2


class _Main(click.Group):
    """Commands of which those that live elsewhere are imported when they are called, and whose errors are sentences."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name in GROUPS:
            command = getattr(import_module(GROUPS[name][0]), name)
        return name, command, rest

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own signature
        return ["demo", *GROUPS]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _warnings_as_sentences():
                return super().invoke(ctx)
        except NeuID3Error as error:
            raise Mistake(str(error)) from None
        except OSError as error:
            if error.errno == errno.EPIPE:  # whoever read our output has had enough
                raise
            where = f" ({error.filename})" if error.filename else ""
            raise Mistake(f"{error.strerror or error}{where}.") from None
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
            ctx.exit(STOPPED)


@contextmanager
def _warnings_as_sentences() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: click.echo(f"Warning: {message}", err=True)
        yield


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
    """Neurosymbolic decision trees: tests may be facts, networks, or rules over what networks see.

    \b
    From a table to answers:
      neuid3 fit cards.csv --target result --background rules.pl
      neuid3 predict cards.neuid3 new.csv
    """


@main.command()
@click.option("--jobs", default=2, show_default=True, help="How many networks are trained side by side.")
@click.option(
    "--files",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Learn nothing; make this folder with a table, images and rules to try `neuid3 fit` on.",
)
def demo(jobs: int, files: Path | None) -> None:
    """Learn a hidden concept from pictures of cards, facts and rules, and print the tree.

    Needs no download and takes a minute or two. Example: neuid3 demo
    """
    if files is not None:
        from neuid3.commands.files import write_files

        click.echo(write_files(files))
        return
    from neuid3.demo import run

    run(jobs)


for _name, (_, _sentence) in GROUPS.items():
    main.add_command(click.Group(_name, short_help=_sentence))
