"""What can go wrong, and which built-in is it?

Every error of ours is a `NeuID3Error` and also the built-in kind that a caller would expect to catch.
A message is one sentence (or two) that names the culprit and the next move.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class NeuID3Error(Exception):
    """The root of all errors that neuid3 raises on purpose."""


class DataError(NeuID3Error, ValueError):
    """A column, a value or the shape of a table is not what it should be."""


class RowError(DataError, IndexError):
    """Rows are asked for that are not there."""


class MissingFileError(NeuID3Error, FileNotFoundError):
    """A data file is neither in the folders nor to be had."""


class UnwritableFileError(NeuID3Error, OSError):
    """A file cannot be written; `errno` and `strerror` are those of the operating system."""

    def __str__(self) -> str:
        return str(self.args[0])


class DamagedFileError(NeuID3Error, ValueError):
    """A data file is there and is not what it should be."""


class UnreadableFileError(DamagedFileError, OSError):
    """A file is there and cannot be read, or is no ordinary file."""


class MissingPackageError(NeuID3Error, ImportError):
    """Something was asked for that needs a package which is not installed."""


class ModelFileError(NeuID3Error, ValueError):
    """A model cannot be written to a file, or a file is no model."""


class CheckpointError(NeuID3Error, ValueError):
    """A checkpoint cannot be gone on with."""


class BankError(NeuID3Error, ValueError):
    """A bank of tests has no such test, or cannot take one."""


class SyntaxErrorInProgram(NeuID3Error, ValueError):
    """The background knowledge cannot be parsed."""


class RuleError(NeuID3Error, ValueError):
    """The background knowledge parses but does not make sense."""


class NodeTestError(NeuID3Error, ValueError):
    """A test is not a ground atom of the program or of the columns."""


class GroundingLimitError(NeuID3Error, RuntimeError):
    """Grounding ran out of the time or memory it was given, or building a circuit out of its time."""


class CircuitLimitError(NeuID3Error, RuntimeError):
    """A circuit grew beyond the size it was given."""


class NetworkError(NeuID3Error, ValueError):
    """A network is missing, superfluous, or does not return probabilities."""


class KernelError(NeuID3Error, ValueError):
    """NEUID3_KERNEL names a variant of the compiled kernel that does not run here."""


class TreeError(NeuID3Error, ValueError):
    """A tree is not well-formed."""


class MissingPriorError(NeuID3Error, ValueError):
    """An entry is missing and nothing says what it would have been."""


class ExportError(NeuID3Error, RuntimeError):
    """A tree cannot be translated, or its translation cannot be run."""


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """A hint that ends a sentence about an unknown name.

    >>> did_you_mean("alarn", ["alarm", "earthquake"])
    " Did you mean 'alarm'?"
    >>> did_you_mean("zebra", ["alarm", "earthquake"])
    ' Known: alarm, earthquake.'
    >>> did_you_mean("zebra", [])
    ''
    """
    names = sorted(set(known))
    close = get_close_matches(wrong, names, n=1)
    if close:
        return f" Did you mean {close[0]!r}?"
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f" Known: {shown}." if names else ""
