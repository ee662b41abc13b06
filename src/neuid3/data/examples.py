"""What is an example? Named columns of one length, sliceable by row, and their schema."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from neuid3.data.columns import (
    OTHER,
    Array,
    Column,
    Declared,
    Distribution,
    Kind,
    Probability,
    Schema,
    Tensor,
    Value,
    convert,
    kind_name,
    read_column,
    refuse_image_names,
)
from neuid3.data.stores import off_torch, stacked
from neuid3.errors import DataError, RowError, did_you_mean


class Examples:
    """A table whose columns may be facts, numbers, categories, probabilities or images.

    `data` is a mapping of names to arrays, tensors or lists, a pandas DataFrame, or a 2-D array or sparse matrix
    (whose columns are then called `x0`, `x1`, …; a sparse one is made dense column by column, a byte a fact). Images that memory cannot hold stay where they are: in a memory-mapped
    array, in `ImageFiles`, in a `torch.utils.data.Dataset` or in a store of one's own. Kinds are inferred; `kinds` declares what cannot be:
    `kinds={"p_alarm": "probability", "rank": Distribution((1, 2, 3)), "note": "ignore"}`. Strings are categories; a column
    of the names of image files is refused, since nothing says in which folder they lie (see `read_frame`), and text that
    differs from row to row is left out by `NeuID3Classifier.fit`, with a warning, unless it is declared.

    >>> X = Examples({"alarm": [True, False, None], "age": [31.5, float("nan"), 47.0]})
    >>> X
    Examples(3 rows; alarm: boolean, age: number)
    >>> X[[0, 2]].shape
    (2, 2)
    """

    __slots__ = ("_columns", "_length")

    _columns: dict[str, Column]
    _length: int

    def __init__(
        self,
        data: Any,
        kinds: Mapping[str, Declared] | None = None,
        *,
        names: Sequence[str] | None = None,
    ) -> None:
        declared = {str(name): kind for name, kind in (kinds or {}).items()}
        raw: dict[str, Any] = data._columns if isinstance(data, Examples) else named_columns(data, names)
        for name in declared:
            if name not in raw:
                raise DataError(f"`kinds` declares {name!r}, which is no column.{did_you_mean(name, raw)}")
        self._columns = {}
        for name, values in raw.items():
            if declared.get(name) != "ignore":
                self._columns[name] = read_column(name, values, declared.get(name))
                refuse_image_names(name, self._columns[name])
        if not self._columns:
            raise DataError("Every column is declared 'ignore'; leave one to learn from.")
        self._length = len(data) if isinstance(data, Examples) else _common_length(self._columns)

    @classmethod
    def _of(cls, columns: dict[str, Column], length: int) -> Examples:
        made = cls.__new__(cls)
        made._columns, made._length = columns, length
        return made

    @classmethod
    def read(cls, data: Any, schema: Schema, only: Iterable[str] | None = None) -> Examples:
        """Any table read by another table's schema, which also declares what cannot be inferred; see `conform`.

        With `only`, just these columns of the schema are needed; the columns of a 2-D array are still all of them.
        """
        wanted = dict(schema) if only is None else {name: schema[name] for name in only}
        if isinstance(data, Examples):
            return data.conform(wanted)
        if not wanted:
            raise DataError("The schema names no column; give one that does.")
        raw = named_columns(data, None if has_names(data) else list(schema))
        declared = (Distribution, Probability, Tensor)
        kinds = {name: kind for name, kind in wanted.items() if name in raw and isinstance(kind, declared)}
        columns = {name: read_column(name, raw[name], kinds.get(name)) for name in wanted if name in raw}
        length = _common_length(columns) if columns else 0
        return cls._of(columns, length).conform(wanted)

    @property
    def schema(self) -> dict[str, Kind]:
        """The kind of every column, by name."""
        return {name: column.kind for name, column in self._columns.items()}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._columns)

    @property
    def shape(self) -> tuple[int, int]:
        return self._length, len(self._columns)

    @property
    def ndim(self) -> int:
        return 2

    def __len__(self) -> int:
        return self._length

    def items(self) -> Iterator[tuple[str, Column]]:
        """Names and columns, in order."""
        yield from self._columns.items()

    def column(self, name: str) -> Column:
        """One column by its name."""
        if name not in self._columns:
            raise DataError(f"There is no column {name!r}.{did_you_mean(str(name), self._columns)}")
        return self._columns[name]

    def __getitem__(self, key: Any) -> Examples:
        """The examples in these rows: an index, a slice, a mask or a list; `X[rows, ...]` is the same."""
        if isinstance(key, tuple):
            if len(key) != 2 or not (key[1] is Ellipsis or (isinstance(key[1], slice) and key[1] == slice(None))):
                raise DataError("Examples are sliced by row: write X[rows] or X[rows, ...], or X.select(names).")
            key = key[0]
        if isinstance(key, str):
            raise DataError(f"X[...] takes rows; write X.column({key!r}) for a column.")
        rows = _rows(key, self._length)
        length = len(range(self._length)[rows]) if isinstance(rows, slice) else len(rows)
        return Examples._of({name: column.take(rows) for name, column in self._columns.items()}, length)

    def select(self, names: Iterable[str]) -> Examples:
        """The examples with these columns only."""
        chosen = [names] if isinstance(names, str) else names
        return Examples._of({name: self.column(name) for name in chosen}, self._length)

    def conform(self, schema: Schema) -> Examples:
        """These examples read by another table's schema: its columns, kinds, values and order.

        Columns the schema does not name are left out. Category values it does not know become `other`,
        with one warning.
        """
        unseen: dict[str, list[Value]] = {}
        columns = {}
        for name, kind in schema.items():
            if name not in self._columns:
                raise DataError(f"Column {name!r} is needed and not there.{did_you_mean(name, self._columns)}")
            columns[name] = convert(name, self._columns[name], kind, unseen)
        if unseen:
            told = "; ".join(f"{name}: {', '.join(map(str, values[:5]))}" for name, values in unseen.items())
            warnings.warn(f"Values never seen before are read as '{OTHER}' ({told}).", UserWarning, stacklevel=2)
        return Examples._of(columns, self._length)

    def complete(self, names: Iterable[str]) -> Array:
        """A mask of the rows in which none of these columns is missing."""
        whole = np.ones(self._length, dtype=bool)
        for name in names:
            missing = self.column(name).missing
            if missing is not None:
                whole &= ~missing
        return whole

    def joined(self, more: Examples) -> Examples:
        """These examples and, below them, others of the same schema."""
        columns = {}
        for name, column in self._columns.items():
            other = more.column(name)
            gone = None
            if column.missing is not None or other.missing is not None:
                masks = [np.zeros(len(c), dtype=bool) if c.missing is None else c.missing for c in (column, other)]
                gone = np.concatenate(masks)
            columns[name] = Column(column.kind, cast("Array", stacked((column.values, other.values))), gone)
        return Examples._of(columns, len(self) + len(more))

    def __repr__(self) -> str:
        kinds = ", ".join(f"{name}: {kind_name(column.kind)}" for name, column in self._columns.items())
        return f"Examples({self._length} rows; {kinds})"


def _rows(key: Any, length: int) -> Any:
    if isinstance(key, slice):
        return key
    if key is Ellipsis:
        return slice(None)
    rows = np.asarray(key)
    if rows.dtype == bool:
        if rows.shape != (length,):
            raise RowError(f"A mask of shape {rows.shape} does not fit {length} examples; give one True or False each.")
        return np.flatnonzero(rows)
    rows = np.atleast_1d(rows.astype(np.intp) if rows.size == 0 else rows)
    if rows.ndim != 1 or not np.issubdtype(rows.dtype, np.integer):
        raise RowError(
            f"Rows are chosen by whole numbers, a slice or a mask; found {rows.dtype} with {rows.ndim} axes."
        )
    beyond = rows[(rows < -length) | (rows >= length)]
    if beyond.size:
        raise RowError(f"There is no row {beyond[0]}; the table has {length} examples, counted from 0.")
    return rows


def has_names(data: Any) -> bool:
    """Does a table name its columns? A sparse matrix may be a mapping and does not."""
    return (
        isinstance(data, Examples)
        or hasattr(data, "iloc")
        or (isinstance(data, Mapping) and not hasattr(data, "toarray"))
    )


def named_columns(data: Any, names: Sequence[str] | None = None) -> dict[str, Any]:
    """The columns of whatever the caller calls a table."""
    pairs: list[tuple[Any, Any]]
    framed = hasattr(data, "columns") and hasattr(data, "iloc")  # a DataFrame, without importing pandas
    if names is not None and has_names(data):
        raise DataError("`names` is for 2-D arrays and this table names its columns itself; leave `names` out.")
    if framed:
        pairs = list(data.items())  # twice as fast as `iloc`, column by column
    elif hasattr(data, "tocsc"):  # a sparse matrix, perhaps one that is a mapping
        if data.ndim != 2:
            raise DataError(f"A sparse table has two axes and this has {data.ndim}; reshape it.")
        given = _given_names(names, data.shape[1])
        table = data.tocsc()
        pairs = [(name, SparseColumn(table, i)) for i, name in enumerate(given)]
    elif isinstance(data, Mapping):
        pairs = list(data.items())
    else:
        table = _table(data)
        pairs = [(name, table[:, i]) for i, name in enumerate(_given_names(names, table.shape[1]))]
    if not pairs:
        n = data.shape[0] if hasattr(data, "shape") else 0 if isinstance(data, Mapping) else len(data)
        raise DataError(f"No columns: found 0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required.")
    columns: dict[str, Any] = {}
    for name, values in ((str(name), values) for name, values in pairs):
        if not name:
            raise DataError("A column has an empty name; give it one.")
        if name in columns:
            raise DataError(f"Two columns are called {name!r}; rename one of them.")
        columns[name] = values
    return columns


def _given_names(names: Sequence[str] | None, width: int) -> list[str]:
    given = [f"x{i}" for i in range(width)] if names is None else list(names)
    if len(given) != width:
        raise DataError(f"{len(given)} names for {width} columns; give one name each.")
    return given


@dataclass(frozen=True, slots=True)
class SparseColumn:
    """One column of a sparse matrix in CSC format, made dense only while it is read."""

    table: Any
    place: int

    @property
    def dtype(self) -> np.dtype[Any]:
        return cast("np.dtype[Any]", self.table.dtype)

    def to_numpy(self, dtype: Any = None) -> Array:
        start, stop = self.table.indptr[self.place], self.table.indptr[self.place + 1]
        dense: Array = np.zeros(self.table.shape[0], dtype=dtype or self.dtype)
        np.add.at(dense, self.table.indices[start:stop], self.table.data[start:stop])  # an entry may be given in parts
        return dense


def _table(data: Any) -> Array:
    """A 2-D array, masked where `data` is."""
    try:
        table = data if isinstance(data, np.ma.MaskedArray) else np.asarray(off_torch(data))
        if table.dtype.kind == "U" and not isinstance(data, np.ndarray):  # numpy would turn numbers into strings
            table = np.asarray(data, dtype=object)
    except ValueError:
        raise DataError("The rows of the table have different lengths; give every row one entry a column.") from None
    if table.ndim != 2:
        raise DataError(
            f"A table is a mapping of columns, a DataFrame or a 2-D array; this has {table.ndim} "
            "axes. Reshape your data, or name its columns in a dict."
        )
    return table


def _common_length(columns: Mapping[str, Column]) -> int:
    (first, length), *rest = ((name, len(column)) for name, column in columns.items())
    for name, other in rest:
        if other != length:
            raise DataError(
                f"Column {name!r} has {other} rows and {first!r} has {length}; all columns need one length."
            )
    if length == 0:
        raise DataError(f"The table is empty: column {first!r} has 0 rows; give at least one example.")
    return length
