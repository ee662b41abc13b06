"""The command line: a thin shell around the library."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import click

from neuid3.errors import DataError, NeuID3Error
from neuid3.utils.output import guarded, remember

# Where commands and groups of them live, and what --help says of them before they are imported.
GROUPS = {
    "fit": ("neuid3.cli.fit", "Learn a tree from a table and save it."),
    "predict": ("neuid3.cli.predict", "Predict the class of every row of a table."),
    "show": ("neuid3.cli.show", "Show the tree of a model."),
    "explain": ("neuid3.cli.explain", "Explain the prediction for one row of a table."),
    "report": (
        "neuid3.cli.report",
        "Write a page about a model and a table: one HTML file, to be opened in a browser.",
    ),
    "bank": ("neuid3.cli.bank", "Keep trained tests for the next tree."),
    "doctor": ("neuid3.cli.doctor", "Tell what is installed here, and what runs the networks."),
    "completion": ("neuid3.cli.completion", "Print the script that lets a shell complete commands and options."),
}

# Commands that have left the library, and what stands in their place in a checkout of the repository.
MOVED = {
    "datasets": "python -m experiments datasets",
    "reproduce": "python -m experiments reproduce",
    "bench": "python -m benchmarks",
}

# What a shell says of a program that Ctrl-C has stopped, and of one that was asked to end (SIGTERM).
STOPPED, TERMINATED = 130, 143


class Mistake(click.ClickException):
    """Something that the caller can put right."""

    exit_code = 2


class _Terminated(BaseException):
    """Raised where SIGTERM arrives, so that unfinished files are removed and workers ended on the way out."""


class _Main(click.Group):
    """Commands of which those that live elsewhere are imported when they are called, and whose errors are sentences."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in MOVED:
            raise Mistake(
                f"`neuid3 {args[0]}` is `{MOVED[args[0]]}` now; run it in the root folder of a checkout of the repository."
            )
        name, command, rest = super().resolve_command(ctx, args)
        if name in GROUPS:
            command = getattr(import_module(GROUPS[name][0]), name)
        return name, command, rest

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own signature
        return ["demo", *GROUPS]

    def main(self, *args: Any, **extra: Any) -> Any:
        with guarded() as session:
            try:
                return super().main(*args, **extra)
            except SystemExit as end:
                raise SystemExit(session.exit_code(end.code)) from None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if any("\0" in argument for argument in args):
            raise Mistake("An argument holds a NUL character, which no path and no name can; leave it out.")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _ending_in_order(), _warnings_as_sentences():
                return super().invoke(ctx)
        except NeuID3Error as error:
            raise Mistake(_worded(error)) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise Mistake(f"{where}{error.strerror or error}; check the path and its permissions.") from None
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
            ctx.exit(STOPPED)
        except _Terminated:
            ctx.exit(TERMINATED)


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """SIGTERM raises an error inside, once; a second one ends the process on the spot."""
    delays = iter(range(100))

    def terminate(number: int, frame: FrameType | None) -> None:
        # A worker whose start is interrupted would complain, so its start is waited for.
        if _is_in(frame, "joblib.externals.loky.") and next(delays, None) is not None:
            threading.Timer(0.05, os.kill, (os.getpid(), number)).start()
            return
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise _Terminated

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield  # only the main thread may, and whoever has called us has a way of their own
        return
    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _is_in(frame: FrameType | None, package: str) -> bool:
    """Is a function of this package being called?"""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(package):
            return True
        frame = frame.f_back
    return False


@contextmanager
def _warnings_as_sentences() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: click.echo(f"Warning: {_worded(message)}", err=True)
        yield


def _worded(message: Exception | str) -> str:
    from neuid3.cli.wording import for_command_line

    return for_command_line(str(message))


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
        from neuid3.cli.tutorial_files import write_files

        summary = write_files(files)
        remember(f"the files are in {files}")
        click.echo(summary)
        return
    if jobs == 0:
        raise DataError("0 workers do nothing; give 1 or more, or -1 for one on each core.")
    from neuid3.cli.demo import run

    run(jobs)


for _name, (_, _sentence) in GROUPS.items():
    main.add_command(click.Group(_name, short_help=_sentence))
