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
from neuid3.utils.output import guarded, set_outcome

# The module of each command, and its line in --help, shown without importing it.
GROUPS = {
    "fit": ("neuid3.cli.fit", "Learn a tree from a table and save it."),
    "predict": ("neuid3.cli.predict", "Predict the class of every row of a table."),
    "show": ("neuid3.cli.show", "Show the tree of a model."),
    "explain": ("neuid3.cli.explain", "Explain the prediction for one row of a table."),
    "report": (
        "neuid3.cli.report",
        "Write an HTML page about a model and its predictions for a table.",
    ),
    "bank": ("neuid3.cli.bank", "Manage a bank of trained tests for reuse in other trees."),
    "doctor": ("neuid3.cli.doctor", "Report on the installation and the backend of the networks."),
    "completion": ("neuid3.cli.completion", "Print a script for shell completion of commands and options."),
}

# Commands that moved out of the library, and what to run instead in a checkout of the repository.
MOVED = {
    "datasets": "python -m experiments datasets",
    "reproduce": "python -m experiments reproduce",
    "bench": "python -m benchmarks",
}

# Exit codes of a program stopped by Ctrl-C (SIGINT) and by SIGTERM, as a shell reports them.
STOPPED, TERMINATED = 130, 143


class UserError(click.ClickException):
    """An error that the user can correct."""

    exit_code = 2


class _Terminated(BaseException):
    """Raised on SIGTERM, so that unfinished files are removed and workers are stopped."""


class _Main(click.Group):
    """A group of commands that are imported when they are called; errors of the library are printed as one sentence."""

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

    def main(self, *args: Any, **extra: Any) -> Any:
        with guarded() as session:
            try:
                return super().main(*args, **extra)
            except SystemExit as end:
                raise SystemExit(session.exit_code(end.code)) from None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if any("\0" in argument for argument in args):
            raise UserError("An argument contains a NUL character, which paths and names cannot contain; leave it out.")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _raising_on_sigterm(), _warnings_as_sentences():
                return super().invoke(ctx)
        except NeuID3Error as error:
            raise UserError(_with_option_names(error)) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise UserError(f"{where}{error.strerror or error}; check the path and its permissions.") from None
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
            ctx.exit(STOPPED)
        except _Terminated:
            ctx.exit(TERMINATED)


@contextmanager
def _raising_on_sigterm() -> Iterator[None]:
    """Raise `_Terminated` on the first SIGTERM; the second ends the process at once."""
    delays = iter(range(100))

    def terminate(number: int, frame: FrameType | None) -> None:
        # An interrupted start of a worker prints a traceback, so the signal is delayed until the worker has started.
        if _is_in(frame, "joblib.externals.loky.") and next(delays, None) is not None:
            threading.Timer(0.05, os.kill, (os.getpid(), number)).start()
            return
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise _Terminated

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield  # only the main thread can set a handler, and the handler of a calling program stays
        return
    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _is_in(frame: FrameType | None, package: str) -> bool:
    """Whether the frame or one of its callers is in this package."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(package):
            return True
        frame = frame.f_back
    return False


@contextmanager
def _warnings_as_sentences() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: click.echo(f"Warning: {_with_option_names(message)}", err=True)
        yield


def _with_option_names(message: Exception | str) -> str:
    from neuid3.cli.wording import for_command_line

    return for_command_line(str(message))


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
def demo(jobs: int, files: Path | None) -> None:
    """Learn a hidden concept from images of cards, facts and rules, and print the tree.

    Needs no download and takes a minute or two. Example: neuid3 demo
    """
    if files is not None:
        from neuid3.cli.tutorial_files import write_files

        summary = write_files(files)
        set_outcome(f"the files are in {files}")
        click.echo(summary)
        return
    if jobs == 0:
        raise DataError("--jobs 0 means no workers; give 1 or more, or -1 for one per core.")
    from neuid3.cli.demo import run

    run(jobs)


for _name, (_, _sentence) in GROUPS.items():
    main.add_command(click.Group(_name, short_help=_sentence))
