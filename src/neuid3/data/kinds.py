"""Kinds of columns, and columns: entries of one kind, some of them missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from neuid3.data.parts import GroupedRows, Parts, Relation
from neuid3.data.stores import StoredRows
from neuid3.errors import DataError

Value = str | int
Array: TypeAlias = npt.NDArray[Any]

OTHER = "other"

# The number of rows processed at a time where several columns are combined; such a block fits the processor cache.
BLOCK_ROWS = 4096

# The length of the vector in which networks read a text: a bag of its words and pairs of words.
TEXT_FEATURES = 1024


@dataclass(frozen=True, slots=True)
class Boolean:
    """A fact that holds or not."""


@dataclass(frozen=True, slots=True)
class Probability:
    """A fact that holds with a probability of its own in each example."""


@dataclass(frozen=True, slots=True)
class Number:
    """A quantity, compared with constants."""


@dataclass(frozen=True, slots=True)
class Date(Number):
    """A date or time: a number of days since 1970-01-01 whose constants are written as dates.

    Attributes
    ----------
    day_first : whether the day stands before the month in texts such as `01/03/2024`; None where the texts did not tell.
        Later tables are read in this order where they do not tell either.
    """

    day_first: bool | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Category:
    """One of a few named values; a value not in `values` is `other`.

    Attributes
    ----------
    values : the names of the values, each once.
    """

    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        _check_distinct(self.values)

    @property
    def domain(self) -> tuple[Value, ...]:
        """The values, with `other`."""
        return self.values if OTHER in self.values else (*self.values, OTHER)


@dataclass(frozen=True, slots=True)
class Distribution:
    """A probability for each of a few named values, in each example.

    Attributes
    ----------
    values : the names of the values, each once.
    """

    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        _check_distinct(self.values)

    @property
    def domain(self) -> tuple[Value, ...]:
        """The values."""
        return self.values


def _check_distinct(values: tuple[Value, ...]) -> None:
    if len(set(values)) < len(values):
        seen: set[Value] = set()
        repeated = next(value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value]
        raise DataError(f"The value {repeated!r} is given twice; give each value of a column once.")


@dataclass(frozen=True, slots=True)
class Tensor:
    """A numeric array of one shape, read by networks: an image, a signal, a vector of features.

    Attributes
    ----------
    shape : the shape of one entry, such as `(28, 28)` or `(3, 64, 64)`.
    encoded : the length of the vector that an encoder makes of an entry and that networks read in its place; None where they
        read the entry itself.
    """

    shape: tuple[int, ...]
    encoded: int | None = field(default=None, repr=False, kw_only=True)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of what networks read of one entry."""
        return self.shape if self.encoded is None else (self.encoded,)

    @property
    def is_picture(self) -> bool:
        """Whether an entry has the shape of a picture: in grey, or with channels, and at least 6 pixels in each direction."""
        return type(self) is Tensor and len(self.shape) in (2, 3) and min(self.shape[-2:]) >= 6


@dataclass(frozen=True, slots=True)
class Text(Tensor):
    """A text, tested for the words and phrases in it; networks read it as a bag of words and pairs of words.

    Attributes
    ----------
    shape : the shape of the bag.
    encoded : the length of the vector that a sentence encoder makes of a text; None where networks read the bag.
    """

    shape: tuple[int, ...] = (TEXT_FEATURES,)


@dataclass(frozen=True, slots=True)
class Series(Tensor):
    """Numbers in sequence, one or several channels of them, tested for their mean, slope, peaks and the like.

    Attributes
    ----------
    shape : the number of channels, and the number of steps of the longest entry in training.
    encoded : None: no encoder reads it.
    """


Kind = Boolean | Probability | Number | Category | Distribution | Tensor | Parts | Relation
Declared = Kind | str | Sequence[Value]
Schema: TypeAlias = Mapping[str, Kind]


def kind_name(kind: Kind) -> str:
    """The name of a kind, in messages and files.

    >>> kind_name(Tensor((28, 28)))
    'tensor'
    """
    return type(kind).__name__.lower()


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The entries of one column, read-only.

    Attributes
    ----------
    kind : the kind of its entries.
    values : one entry for each row. Those of a tensor column may be `StoredRows` of a store: selecting rows of them fetches
        nothing, `np.asarray` fetches all. Those of parts and relations are `GroupedRows`.
    missing : mask of the missing entries; None where no entry is missing.
    origin : why an undeclared column is a category: "text" for strings, "labels" for a pandas Categorical.
    absent : mask of the missing entries of slots that have no part; no distribution stands for these.
    vectors : what an encoder has made of the entries of a tensor column, `(row, number)`; None where there is no encoder.
    """

    kind: Kind
    values: Array
    missing: Array | None = None
    origin: str = ""
    absent: Array | None = None
    vectors: Array | None = None

    def __post_init__(self) -> None:
        # Values share memory with the caller's array wherever that saves a copy, so they must not be written to.
        missing = self.missing if self.missing is not None and bool(self.missing.any()) else None
        if not isinstance(self.values, (StoredRows, GroupedRows)):
            object.__setattr__(self, "values", _read_only(self.values))
        object.__setattr__(self, "missing", None if missing is None else _read_only(missing))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def inputs(self) -> Array:
        """What networks read: the vectors of an encoder, or else the entries."""
        return self.values if self.vectors is None else self.vectors

    def take(self, rows: Any) -> Column:
        """The column restricted to these rows.

        Parameters
        ----------
        rows : indices, a mask or a slice.

        Returns
        -------
        The column of these rows.
        """
        missing = None if self.missing is None else self.missing[rows]
        absent = None if self.absent is None else self.absent[rows]
        vectors = None if self.vectors is None else self.vectors[rows]
        return Column(self.kind, self.values[rows], missing, self.origin, absent, vectors)


def stack_columns(columns: Sequence[Array]) -> Array:
    """Columns of one length and dtype as a row-major 2-D array, without a copy where they are adjacent in memory already.

    >>> table = np.arange(6).reshape(3, 2)
    >>> np.shares_memory(stack_columns([table[:, 0], table[:, 1]]), table)
    True
    """
    first, n, k = columns[0], len(columns[0]), len(columns)
    starts = [column.__array_interface__["data"][0] for column in columns]
    are_adjacent = [start - starts[0] for start in starts] == [i * first.itemsize for i in range(k)]
    have_equal_strides = (
        all(column.strides == first.strides for column in columns) and first.strides[0] >= k * first.itemsize
    )
    if n > 1 and are_adjacent and have_equal_strides:
        return np.lib.stride_tricks.as_strided(first, (n, k), (first.strides[0], first.itemsize), writeable=False)
    table = np.empty((n, k), dtype=first.dtype)
    for start in range(0, n, BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        np.stack([column[block] for column in columns], axis=1, out=table[block])
    return table


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view
