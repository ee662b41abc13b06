"""Errors of neuid3.

Every error is a `NeuID3Error`, and also the built-in exception that a caller would expect to catch.
A message is one or two sentences that name the culprit, what was found, and the next move.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class NeuID3Error(Exception):
    """The base class of all errors that neuid3 raises on purpose."""


class DataError(NeuID3Error, ValueError):
    """A column, a value or the shape of a table is invalid."""


class RowError(DataError, IndexError):
    """A row index is out of range."""


class ParameterError(NeuID3Error, ValueError):
    """A parameter, or a field of a configuration, has a value that it cannot have."""


class MissingFileError(NeuID3Error, FileNotFoundError):
    """A data file is neither in the folders nor available for download."""


class UnwritableFileError(NeuID3Error, OSError):
    """A file cannot be written; `errno` and `strerror` are those of the operating system."""

    def __str__(self) -> str:
        return str(self.args[0])


class DamagedFileError(NeuID3Error, ValueError):
    """A data file exists and its content is damaged."""


class UnreadableFileError(DamagedFileError, OSError):
    """A file exists and cannot be read, or is no regular file."""


class MissingPackageError(NeuID3Error, ImportError):
    """A function needs a package that is not installed."""


class ModelFileError(NeuID3Error, ValueError):
    """A model cannot be written to a file, or a file holds no model."""


class CheckpointError(NeuID3Error, ValueError):
    """A fit cannot be continued from a checkpoint."""


class BankError(NeuID3Error, ValueError):
    """A bank of tests does not have a test, or cannot store one."""


class SyntaxErrorInProgram(NeuID3Error, ValueError):
    """The background knowledge cannot be parsed."""


class RuleError(NeuID3Error, ValueError):
    """The background knowledge can be parsed, and a clause of it is invalid."""


class NodeTestError(NeuID3Error, ValueError):
    """A test is not a ground atom of the program or of the columns."""


class BindingLimitError(NodeTestError):
    """A query has too many bindings to be joined."""


class GroundingLimitError(NeuID3Error, RuntimeError):
    """Grounding has exceeded its limit of time or memory, or the construction of a circuit its limit of time."""


class CircuitLimitError(NeuID3Error, RuntimeError):
    """A circuit has exceeded its limit of nodes."""


class SearchLimitError(NeuID3Error, TimeoutError):
    """A search for re-readings of a tree has exceeded its time limit."""


class NetworkError(NeuID3Error, ValueError):
    """A network is missing, superfluous, or does not return probabilities."""


class EncoderError(NetworkError):
    """An encoder is not known, does not fit its weights, or cannot read the pictures of a column."""


class KernelError(NeuID3Error, ValueError):
    """NEUID3_KERNEL names a variant of the compiled kernel that does not run on this machine."""


class BackendError(NeuID3Error, ValueError):
    """A backend for networks is not known by its name, or lacks what a backend needs."""


class TreeError(NeuID3Error, ValueError):
    """A tree is not well formed."""


class MissingPriorError(NeuID3Error, ValueError):
    """An entry is missing, and there is no prior for it."""


class ExportError(NeuID3Error, RuntimeError):
    """A tree cannot be exported, or the exported program cannot be run."""


class LabelWarning(UserWarning):
    """Labels of what networks see contradict the classes of more rows than noise explains."""


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """A hint with the closest known name, or the known names; it follows a sentence about an unknown name.

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
