"""Commands that report errors as sentences and end with documented exit codes."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from neuid3.errors import NeuID3Error
from neuid3.utils.output import guarded

# Exit codes after Ctrl-C (128 + SIGINT) and after SIGTERM (128 + SIGTERM), as a shell reports them.
STOPPED, TERMINATED = 130, 143


class CommandError(click.ClickException):
    """An error that the caller can correct; the exit code is 2."""

    exit_code = 2


class _Terminated(BaseException):
    """Raised where SIGTERM arrives, so that unfinished files are removed and workers ended on the way out."""


class Command(click.Command):
    """A command whose errors are sentences on standard error.

    Errors of the library and of the operating system end it with 2, Ctrl-C with 130, SIGTERM with 143, and a closed pipe
    behind standard output with 141. Warnings are sentences on standard error, too.
    """

    def wording(self, message: str) -> str:
        """A message of the library as this command prints it."""
        return message

    def main(self, *args: Any, **extra: Any) -> Any:
        with guarded() as session:
            try:
                return super().main(*args, **extra)
            except SystemExit as end:
                raise SystemExit(session.exit_code(end.code)) from None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if any("\0" in argument for argument in args):
            raise CommandError("An argument holds a NUL character, which no path and no name can; leave it out.")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _sigterm_raises(), _warnings_as_sentences(self.wording):
                return super().invoke(ctx)
        except NeuID3Error as error:
            raise CommandError(self.wording(str(error))) from None
        except OSError as error:
            path = f"{error.filename}: " if error.filename else ""
            raise CommandError(f"{path}{error.strerror or error}; check the path and its permissions.") from None
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
            ctx.exit(STOPPED)
        except _Terminated:
            ctx.exit(TERMINATED)


class Commands(Command, click.Group):
    """A group of commands that report errors as `Command` does."""


@contextmanager
def _sigterm_raises() -> Iterator[None]:
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
        yield  # only the main thread may set a handler, and a caller's own handler stays
        return
    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _is_in(frame: FrameType | None, package: str) -> bool:
    """Is a function of this package on the call stack?"""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(package):
            return True
        frame = frame.f_back
    return False


@contextmanager
def _warnings_as_sentences(wording: Callable[[str], str]) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: click.echo(f"Warning: {wording(str(message))}", err=True)
        yield
