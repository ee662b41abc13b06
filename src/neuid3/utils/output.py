"""Standard output and standard error that record failures instead of raising them in the middle of a command."""

from __future__ import annotations

import codecs
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

# The exit code of a program ended by a closed pipe, as a shell reports it: 128 + SIGPIPE.
CLOSED_PIPE = 141

# ASCII replacements of typographic characters. None is a quote or backslash, so that JSON stays valid.
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


def to_ascii(text: str) -> str:
    """Text in ASCII: typographic characters by similar ones, others as escapes, which JSON reads as well.

    >>> to_ascii("└─ no: café")
    '`- no: caf\\\\u00e9'
    """
    return "".join(c if c.isascii() else _ASCII.get(c) or _escaped(c) for c in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """A `codecs` error handler that writes characters missing in an encoding as ASCII."""
    assert isinstance(error, UnicodeEncodeError)
    return to_ascii(error.object[error.start : error.end]), error.end


codecs.register_error("neuid3.ascii", _replaced)


class Stream:
    """A text stream that writes characters missing in its encoding as ASCII, and discards text after a failure.

    It has no `buffer`, through which `click` would write UTF-8 to an ASCII stream.

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
        with suppress(OSError):  # discard the rest of the buffer, also when Python flushes it at exit
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._stream.fileno())
            os.close(null)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self._stream, name)


class Session:
    """The streams of one command, and its outcome on disk."""

    def __init__(self, out: TextIO | None, err: TextIO | None) -> None:
        self.out = None if out is None else Stream(out)
        self.err = None if err is None else Stream(err)
        self.others: list[Stream] = []
        self.outcome: str | None = None

    @property
    def failure(self) -> OSError | None:
        """The first error of standard output, or of a stream in its place; errors of standard error do not count."""
        streams = self.others if self.out is None else [self.out, *self.others]
        return next((stream.failure for stream in streams if stream.failure is not None), None)

    def exit_code(self, code: Any) -> Any:
        """The exit code of a command that ends with `code`, after flushing standard output."""
        if self.out is not None:
            self.out.flush()
        if self.failure is None or code:
            return code
        if self.failure.errno == errno.EPIPE:
            return CLOSED_PIPE
        if self.err is not None:
            reason = self.failure.strerror or self.failure
            advice = self.outcome or "redirect it somewhere else"
            self.err.write(f"Error: The standard output could not be written ({reason}); {advice}.\n")
        return 2


_session: Session | None = None


@contextmanager
def guarded() -> Iterator[Session]:
    """Replace standard output and error by streams that record a failure instead of raising it.

    A command continues after a failure, so that its results are saved; at its end `Session.exit_code` reports the failure.
    """
    global _session
    before = sys.stdout, sys.stderr, _session
    _session = Session(sys.stdout, sys.stderr)
    try:
        sys.stdout, sys.stderr = cast("TextIO", _session.out), cast("TextIO", _session.err)
        yield _session
    finally:
        sys.stdout, sys.stderr, _session = before


def is_output_writable() -> bool:
    """Whether output is still written; a command whose only result is its output stops where it is not."""
    return _session is None or _session.failure is None


def set_outcome(outcome: str) -> None:
    """Set what a command has left on disk, as a clause for an error message about the output."""
    if _session is not None:
        _session.outcome = outcome


def guard(stream: TextIO) -> TextIO:
    """A stream in place of standard output, whose failures are recorded in the same way."""
    guarded_stream = Stream(stream)
    if _session is not None:
        _session.others.append(guarded_stream)
    return cast("TextIO", guarded_stream)
