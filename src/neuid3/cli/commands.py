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


class UserError(click.ClickException):
    """An error that the user can correct."""

    exit_code = 2


class _Terminated(BaseException):
    """Raised on SIGTERM, so that unfinished files are removed and workers are stopped."""


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
            raise UserError("An argument contains a NUL character, which paths and names cannot contain; leave it out.")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _raising_on_sigterm(), _warnings_as_sentences(self.wording):
                return super().invoke(ctx)
        except NeuID3Error as error:
            raise UserError(self.wording(str(error))) from None
        except OSError as error:
            path = f"{error.filename}: " if error.filename else ""
            raise UserError(f"{path}{error.strerror or error}; check the path and its permissions.") from None
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
            ctx.exit(STOPPED)
        except _Terminated:
            ctx.exit(TERMINATED)


class Commands(Command, click.Group):
    """A group of commands that report errors as `Command` does."""


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
def _warnings_as_sentences(wording: Callable[[str], str]) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: click.echo(f"Warning: {wording(str(message))}", err=True)
        yield
