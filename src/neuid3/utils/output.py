"""Standard output and standard error that cannot fail in the middle of a command."""

from __future__ import annotations

import codecs
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

# What a shell reports of a program that was ended by a closed pipe: 128 + SIGPIPE.
CLOSED_PIPE = 141

# ASCII for what we draw and typeset. No quotes and no backslashes: JSON stays JSON.
_ASCII = {
    "├": "|",
    "└": "`",
    "│": "|",
    "─": "-",
    "━": "-",
    "…": "...",
    "→": "->",
    "×": "x",
    "−": "-",
    "–": "-",
    "≤": "<=",
    "≥": ">=",
    "∧": "&",
    "¬": "not ",
}


def in_ascii(text: str) -> str:
    """Text in ASCII: drawings in plain strokes, other characters as escapes that JSON reads as well.

    >>> in_ascii("└─ no: café")
    '`- no: caf\\\\u00e9'
    """
    return "".join(c if c.isascii() else _ASCII.get(c) or _escaped(c) for c in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """An error handler of `codecs`: what an encoding lacks is written in ASCII."""
    assert isinstance(error, UnicodeEncodeError)
    return in_ascii(error.object[error.start : error.end]), error.end


codecs.register_error("neuid3.ascii", _replaced)


class Stream:
    """A text stream that writes what it can: characters that its encoding lacks in ASCII, and nothing once it has failed.

    It offers no `buffer`: `click` would take an ASCII stream for an oversight and write UTF-8 past it.

    Attributes
    ----------
    failure : the first error of the operating system, or None.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.failure: OSError | None = None

    def write(self, text: str) -> int:
        encoding = self._stream.encoding or "utf-8"
        encodable = text.encode(encoding, "neuid3.ascii").decode(encoding)
        if self.failure is None:
            try:
                self._stream.write(encodable)
            except OSError as error:
                self._fail(error)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if self.failure is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.failure = error
        with suppress(OSError):  # what is left in the buffer goes nowhere, also when Python flushes it at the end
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self._stream, name)


class Session:
    """The streams of one command, and what it leaves on disk."""

    def __init__(self, out: TextIO | None, err: TextIO | None) -> None:
        self.out = None if out is None else Stream(out)
        self.err = None if err is None else Stream(err)
        self.others: list[Stream] = []
        self.outcome: str | None = None

    @property
    def failure(self) -> OSError | None:
        """The first error about what is no message: of standard output, or of a stream that takes its place."""
        streams = self.others if self.out is None else [self.out, *self.others]
        return next((stream.failure for stream in streams if stream.failure is not None), None)

    def exit_code(self, code: Any) -> Any:
        """The exit code of a command that ends with `code`, once everything is written or could not be."""
        if self.out is not None:
            self.out.flush()
        if self.failure is None or code:
            return code
        if self.failure.errno == errno.EPIPE:
            return CLOSED_PIPE
        if self.err is not None:
            reason = self.failure.strerror or self.failure
            what = self.outcome or "send it to another place"
            self.err.write(f"Error: The standard output could not be written ({reason}); {what}.\n")
        return 2


_session: Session | None = None


@contextmanager
def guarded() -> Iterator[Session]:
    """Standard output and error as streams that record a failure instead of raising it.

    A command goes on, so that work is saved whoever reads; at its end `Session.exit_code` reports the failure.
    """
    global _session
    before = sys.stdout, sys.stderr, _session
    _session = Session(sys.stdout, sys.stderr)
    try:
        sys.stdout, sys.stderr = cast("TextIO", _session.out), cast("TextIO", _session.err)
        yield _session
    finally:
        sys.stdout, sys.stderr, _session = before


def works() -> bool:
    """Is what is printed still written somewhere? A command whose only result is its output ends where it is not."""
    return _session is None or _session.failure is None


def remember(outcome: str) -> None:
    """Say what a command has left on disk, half a sentence, for an error about the output."""
    if _session is not None:
        _session.outcome = outcome


def guard(stream: TextIO) -> TextIO:
    """A stream that takes the place of standard output, and fails in the same way."""
    guarded_stream = Stream(stream)
    if _session is not None:
        _session.others.append(guarded_stream)
    return cast("TextIO", guarded_stream)
