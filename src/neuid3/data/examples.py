"""Examples: named columns of one length, sliceable by row, with a schema."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
    all_missing,
    convert,
    kind_name,
    read_column,
    refuse_paths,
)
from neuid3.data.derived import Derived, derived_hint, derived_sources, parse_derived, source_columns, source_kind
from neuid3.data.parts import GroupedRows, Parts, Relation, as_kind_columns
from neuid3.data.stores import concatenate, torch_to_numpy
from neuid3.errors import DataError, RowError, did_you_mean


class Examples:
    """A table whose columns may be facts, numbers, categories, probabilities, dates, texts, series or images.

    Strings are dates, where all of them are, images, where all of them are files that are there, and otherwise categories.
    Of strings that differ from row to row, `NeuID3Classifier.fit` reads notes as texts and leaves names out, with a warning,
    unless they are declared.

    Parameters
    ----------
    data : a mapping of names to arrays, tensors or lists, a pandas DataFrame, or a 2-D array or sparse matrix, whose columns
        are named `x0`, `x1`, … and, in a sparse matrix, made dense column by column, with one byte for a Boolean. Images
        that do not fit in memory may stay in a memory-mapped array, in `ImageFiles`, in a `torch.utils.data.Dataset` or in
        a store of your own.
    kinds : the kinds of columns that cannot be inferred:
        `kinds={"p_alarm": "probability", "rank": Distribution((1, 2, 3)), "note": "ignore"}`.
    names : the names of the columns of a 2-D array.
    parts : tables of the parts that examples own, each with the name of the column that holds the key of the owner:
        `parts={"car": (cars, "train"), "load": (loads, "car")}`. The key of an example, or of a part that owns others, is
        its entry in the column of that name, which is then no column to learn from; without one, its row, from 0.
    relations : tables of tuples of parts, by name. A column that is called as a type of part, such as `piece` or
        `piece_2`, holds keys of parts; others are columns of the tuples. `(table, {"a": "piece", "b": "piece"})` says which.

    Raises
    ------
    DataError
        Where a column is invalid, columns differ in length, `kinds` names no column, or a key names no owner.

    >>> X = Examples({"alarm": [True, False, None], "age": [31.5, float("nan"), 47.0]})
    >>> X
    Examples(3 rows; alarm: boolean, age: number)
    >>> X[[0, 2]].shape
    (2, 2)
    """

    __slots__ = ("__weakref__", "_columns", "_length")

    _columns: dict[str, Column]
    _length: int

    def __init__(
        self,
        data: Any,
        kinds: Mapping[str, Declared] | None = None,
        *,
        names: Sequence[str] | None = None,
        parts: Mapping[str, tuple[Any, str]] | None = None,
        relations: Mapping[str, Any] | None = None,
    ) -> None:
        if kinds is not None and not isinstance(kinds, Mapping):
            raise DataError(f"`kinds` is {kinds!r}; declare columns by name, as in kinds={{'size': 'number'}}.")
        if parts or relations:
            from neuid3.data.part_tables import with_parts

            whole = with_parts(data, kinds or {}, parts or {}, relations or {})
            self._columns, self._length = whole._columns, whole._length
            return
        declared = {str(name): kind for name, kind in (kinds or {}).items()}
        raw: dict[str, Any] = data._columns if isinstance(data, Examples) else named_columns(data, names)
        for name in declared:
            if name not in raw:
                raise DataError(f"`kinds` declares {name!r}, which is not a column.{did_you_mean(name, raw)}")
        self._columns = {}
        for name, values in raw.items():
            if declared.get(name) != "ignore":
                self._columns[name] = read_column(name, values, declared.get(name))
                refuse_paths(name, self._columns[name])
        if not self._columns:
            raise DataError("Every column is declared 'ignore'; leave one to learn from.")
        self._length = len(data) if isinstance(data, Examples) else _common_length(self._columns)

    @classmethod
    def _of(cls, columns: dict[str, Column], length: int) -> Examples:
        examples = cls.__new__(cls)
        examples._columns, examples._length = columns, length
        return examples

    @classmethod
    def read(cls, data: Any, schema: Schema, only: Iterable[str] | None = None) -> Examples:
        """A table read by the schema of another, which also declares kinds that cannot be inferred; see `conform`.

        Parameters
        ----------
        data : a table, as for `Examples`.
        schema : the kinds of the columns by name.
        only : the columns of the schema that are needed; a 2-D array must still have all of them.

        Returns
        -------
        The examples, with the columns, kinds and order of the schema.

        Raises
        ------
        DataError
            Where the schema is empty, or a column is missing or of another kind.
        """
        selected = dict(schema) if only is None else {name: schema[name] for name in only}
        if isinstance(data, Examples):
            return data._conform(selected, schema)
        if not selected:
            raise DataError("The schema has no column; give one that has.")
        raw = named_columns(data, None if has_names(data) else list(schema))
        declared = (Distribution, Probability, Tensor)
        needed = [name for name in source_columns(selected, schema) if name in raw]
        given = [name for name in selected if name in raw and name not in needed]  # named like a derived column
        kinds = {name: kind for name, kind in schema.items() if type(kind) in declared}
        columns = {name: read_column(name, raw[name], kinds.get(name), schema.get(name)) for name in (*needed, *given)}
        length = _common_length(columns) if columns else 0
        return cls._of(columns, length)._conform(selected, schema)

    @property
    def schema(self) -> dict[str, Kind]:
        """The kind of every column, by name."""
        return {name: column.kind for name, column in self._columns.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self._columns)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self._length, len(self._columns)

    @property
    def ndim(self) -> int:
        """The number of axes, 2."""
        return 2

    def __len__(self) -> int:
        return self._length

    def items(self) -> Iterator[tuple[str, Column]]:
        """Names and columns, in order."""
        yield from self._columns.items()

    def column(self, name: str) -> Column:
        """One column by its name.

        Parameters
        ----------
        name : the name of the column.

        Returns
        -------
        The column.

        Raises
        ------
        DataError
            Where there is no such column.
        """
        if name not in self._columns:
            derived = parse_derived(str(name), self.schema)
            if derived is None:
                raise DataError(f"There is no column {name!r}.{derived_hint(str(name), self.schema)}")
            return derived.compute(self._columns)
        return self._columns[name]

    def with_derived(self, derived: Iterable[Derived]) -> Examples:
        """The examples with further columns that are computed from theirs.

        Parameters
        ----------
        derived : what is computed.

        Returns
        -------
        The same rows with more columns; a column that is there already stays.
        """
        added = {new.name: new.compute(self._columns) for new in derived if new.name not in self._columns}
        return Examples._of({**self._columns, **added}, self._length)

    def __getitem__(self, key: Any) -> Examples:
        """The examples in these rows, given by an index, a slice, a mask or a list; `X[rows, ...]` is the same."""
        if isinstance(key, tuple):
            if len(key) != 2 or not (key[1] is Ellipsis or (isinstance(key[1], slice) and key[1] == slice(None))):
                raise DataError("Examples are sliced by row: write X[rows] or X[rows, ...], or X.select(names).")
            key = key[0]
        if isinstance(key, str):
            raise DataError(f"X[...] takes rows; write X.column({key!r}) for a column.")
        rows = _row_indices(key, self._length)
        length = len(range(self._length)[rows]) if isinstance(rows, slice) else len(rows)
        return Examples._of({name: column.take(rows) for name, column in self._columns.items()}, length)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Refuse to become an array, in which columns would lose their names and kinds."""
        raise DataError(
            "Examples are not an array: their columns have names and kinds. Where one is needed, as by BaggingClassifier and "
            "permutation_importance, give a DataFrame, with an array in each cell of an image column."
        )

    def select(self, names: Iterable[str]) -> Examples:
        """The examples with these columns only.

        Parameters
        ----------
        names : the names of the columns, in the new order; a single name may be a string.

        Returns
        -------
        The same rows with these columns.
        """
        selected = [names] if isinstance(names, str) else names
        return Examples._of({name: self.column(name) for name in selected}, self._length)

    def joined(self, more: Examples) -> Examples:
        """These examples with the columns of others, for the same rows.

        Parameters
        ----------
        more : the same rows with other columns; one that is here already stays.

        Returns
        -------
        The rows with the columns of both, these first.

        Raises
        ------
        DataError
            Where the numbers of rows differ.
        """
        if len(more) != self._length:
            raise DataError(f"{self._length} and {len(more)} rows cannot be joined; give the same rows.")
        return Examples._of({**more._columns, **self._columns}, self._length).select(
            [*self.names, *(name for name in more.names if name not in self._columns)]
        )

    def conform(self, schema: Schema) -> Examples:
        """The examples converted to the schema of another table: its columns, kinds, values and order.

        Columns that are not in the schema are left out. Category values that are not in it become `other`, with one warning.

        Parameters
        ----------
        schema : the kinds of the columns by name.

        Returns
        -------
        The same rows with the columns of the schema.

        Raises
        ------
        DataError
            Where a column is missing or cannot be converted.
        """
        return self._conform(schema, schema)

    def _conform(self, selected: Schema, schema: Schema) -> Examples:
        """The columns in `selected`, as `conform` converts them; what they are computed from is read as in `schema`."""
        unseen: dict[str, list[Value]] = {}
        columns = {}
        for name, kind in selected.items():
            column = self._columns.get(name)
            if column is None and isinstance(kind, (Parts, Relation)):
                how = (
                    f"parts={{{name!r}: (table, 'owner')}}"
                    if isinstance(kind, Parts)
                    else f"relations={{{name!r}: table}}"
                )
                raise DataError(
                    f"The table of the {kind_name(kind)} {name!r} is needed and missing; give Examples(…, {how})."
                )
            if column is None:
                column = self._derived(name, kind, schema, unseen)
            columns[name] = convert(name, column, kind, unseen)
        if unseen:
            listed = "; ".join(f"{name}: {', '.join(map(str, values[:5]))}" for name, values in unseen.items())
            warnings.warn(f"Values not seen in training are read as '{OTHER}' ({listed}).", UserWarning, stacklevel=2)
        return Examples._of(columns, self._length)

    def _derived(self, name: str, kind: Kind, schema: Schema, unseen: dict[str, list[Value]]) -> Column:
        """A derived column of this kind. A table of few rows may not tell the kinds of its columns, so `schema` does."""
        sources = derived_sources(name)
        if sources is None or any(source not in self._columns for source in sources):
            raise DataError(f"Column {name!r} is needed and missing.{derived_hint(name, self.schema)}")
        columns = {source: self._columns[source] for source in sources}
        if any(column.missing is not None and bool(column.missing.all()) for column in columns.values()):
            return all_missing(kind, self._length)
        columns = {
            source: convert(source, column, schema.get(source, source_kind(name, column.kind)), unseen)
            for source, column in columns.items()
        }
        derived = parse_derived(name, {source: column.kind for source, column in columns.items()})
        if derived is None:
            raise DataError(f"Column {name!r} is needed and missing.{derived_hint(name, self.schema)}")
        return derived.compute(columns)

    def with_vectors(self, vectors: Mapping[str, Array]) -> Examples:
        """The examples with vectors that an encoder has made of the entries of some tensor columns.

        Parameters
        ----------
        vectors : the vectors of each of these columns, `(row, number)`.

        Returns
        -------
        The same rows; networks read these vectors in place of the entries.
        """
        columns = dict(self._columns)
        for name, of_column in vectors.items():
            kind = cast("Tensor", columns[name].kind)
            columns[name] = replace(columns[name], kind=replace(kind, encoded=of_column.shape[1]), vectors=of_column)
        return Examples._of(columns, self._length)

    def with_tables(self, tables: Mapping[str, Examples]) -> Examples:
        """The examples with other tables of parts, which have the same rows.

        Parameters
        ----------
        tables : the table of each type of part that is replaced.

        Returns
        -------
        The same examples.
        """
        columns = dict(self._columns)
        for name, table in tables.items():
            rows = cast("GroupedRows", columns[name].values)
            columns[name] = Column(Parts(as_kind_columns(table)), cast("Array", replace(rows, table=table)))
        return Examples._of(columns, self._length)

    def complete(self, names: Iterable[str]) -> Array:
        """A mask of the rows in which none of these columns is missing.

        Parameters
        ----------
        names : the names of the columns.

        Returns
        -------
        A Boolean mask, `(row,)`.
        """
        complete = np.ones(self._length, dtype=bool)
        for name in names:
            missing = self.column(name).missing
            if missing is not None:
                complete &= ~missing
        return complete

    def absent(self, names: Iterable[str]) -> Array:
        """A mask of the rows in which one of these columns is of a slot without a part.

        Parameters
        ----------
        names : the names of the columns.

        Returns
        -------
        A Boolean mask, `(row,)`.
        """
        absent = np.zeros(self._length, dtype=bool)
        for name in names:
            of_column = self.column(name).absent
            if of_column is not None:
                absent |= of_column
        return absent

    def concatenate(self, more: Examples) -> Examples:
        """These examples followed by others of the same schema.

        Parameters
        ----------
        more : further examples, with the same schema.

        Returns
        -------
        The rows of both, these first.
        """
        columns = {}
        for name, column in self._columns.items():
            other = more.column(name)
            missing = _joined_masks(column.missing, other.missing, len(self), len(more))
            absent = _joined_masks(column.absent, other.absent, len(self), len(more))
            vectors = None
            if column.vectors is not None and other.vectors is not None:
                vectors = np.concatenate((column.vectors, other.vectors))
            values = cast("Array", _in_sequence(column.values, other.values))
            columns[name] = Column(column.kind, values, missing, absent=absent, vectors=vectors)
        return Examples._of(columns, len(self) + len(more))

    def __repr__(self) -> str:
        kinds = ", ".join(f"{name}: {kind_name(column.kind)}" for name, column in self._columns.items())
        return f"Examples({self._length} rows; {kinds})"


def _joined_masks(mask: Array | None, more: Array | None, length: int, further: int) -> Array | None:
    """Two masks one after the other; None where there is neither."""
    if mask is None and more is None:
        return None
    first = np.zeros(length, dtype=bool) if mask is None else mask
    return np.concatenate((first, np.zeros(further, dtype=bool) if more is None else more))


def _in_sequence(values: Any, more: Any) -> Any:
    """The entries of two columns of one kind, one after the other."""
    return values.concatenated(more) if isinstance(values, GroupedRows) else concatenate((values, more))


def _row_indices(key: Any, length: int) -> Any:
    if isinstance(key, slice):
        return key
    if key is Ellipsis:
        return slice(None)
    rows = np.asarray(key)
    if rows.dtype == bool:
        if rows.shape != (length,):
            raise RowError(
                f"A mask of shape {rows.shape} does not fit {length} examples; give one True or False for each example."
            )
        return np.flatnonzero(rows)
    rows = np.atleast_1d(rows.astype(np.intp) if rows.size == 0 else rows)
    if rows.ndim != 1 or not np.issubdtype(rows.dtype, np.integer):
        raise RowError(f"Rows are selected by integers, a slice or a mask; found {rows.dtype} with {rows.ndim} axes.")
    out_of_range = rows[(rows < -length) | (rows >= length)]
    if out_of_range.size:
        raise RowError(f"There is no row {out_of_range[0]}; the table has {length} examples, counted from 0.")
    return rows


def has_names(data: Any) -> bool:
    """Whether a table has column names; a sparse matrix has none, even where it is a mapping."""
    return (
        isinstance(data, Examples)
        or hasattr(data, "iloc")
        or (isinstance(data, Mapping) and not hasattr(data, "toarray"))
    )


def named_columns(data: Any, names: Sequence[str] | None = None) -> dict[str, Any]:
    """The columns of a table by name, in the types that the caller has.

    Parameters
    ----------
    data : a mapping, DataFrame, sparse matrix or 2-D array.
    names : the names of the columns of a sparse matrix or 2-D array; by default `x0`, `x1`, …
    """
    pairs: list[tuple[Any, Any]]
    is_frame = hasattr(data, "columns") and hasattr(data, "iloc")  # a DataFrame, without importing pandas
    if names is not None and has_names(data):
        raise DataError("`names` is for 2-D arrays, and this table has column names; leave `names` out.")
    if is_frame:
        pairs = list(data.items())  # twice as fast as `iloc`, column by column
    elif hasattr(data, "tocsc"):  # a sparse matrix, which may be a mapping
        if data.ndim != 2:
            raise DataError(f"A sparse table has two axes and this has {data.ndim}; reshape it.")
        column_names = _column_names(names, data.shape[1])
        table = data.tocsc()
        pairs = [(name, SparseColumn(table, i)) for i, name in enumerate(column_names)]
    elif isinstance(data, Mapping):
        pairs = list(data.items())
    else:
        table = _as_2d_array(data)
        pairs = [(name, table[:, i]) for i, name in enumerate(_column_names(names, table.shape[1]))]
    if not pairs:
        n = data.shape[0] if hasattr(data, "shape") else 0 if isinstance(data, Mapping) else len(data)
        raise DataError(f"No columns: found 0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required.")
    columns: dict[str, Any] = {}
    for name, values in ((str(name), values) for name, values in pairs):
        if not name:
            raise DataError("A column has an empty name; give it one.")
        if name in columns:
            raise DataError(f"Two columns are named {name!r}; rename one of them.")
        columns[name] = values
    return columns


def _column_names(names: Sequence[str] | None, width: int) -> list[str]:
    column_names = [f"x{i}" for i in range(width)] if names is None else list(names)
    if len(column_names) != width:
        raise DataError(f"{len(column_names)} names for {width} columns; give one name for each.")
    return column_names


@dataclass(frozen=True, slots=True)
class SparseColumn:
    """A column of a sparse matrix in CSC format, made dense when it is read."""

    table: Any
    index: int

    @property
    def dtype(self) -> np.dtype[Any]:
        return cast("np.dtype[Any]", self.table.dtype)

    def to_numpy(self, dtype: Any = None) -> Array:
        start, stop = self.table.indptr[self.index], self.table.indptr[self.index + 1]
        dense: Array = np.zeros(self.table.shape[0], dtype=dtype or self.dtype)
        np.add.at(dense, self.table.indices[start:stop], self.table.data[start:stop])  # duplicate entries are summed
        return dense


def _as_2d_array(data: Any) -> Array:
    """The table as a 2-D array, masked where `data` is."""
    try:
        table = data if isinstance(data, np.ma.MaskedArray) else np.asarray(torch_to_numpy(data))
        if table.dtype.kind == "U" and not isinstance(data, np.ndarray):  # NumPy would convert numbers to strings
            table = np.asarray(data, dtype=object)
    except ValueError:
        raise DataError(
            "The rows of the table have different lengths; give every row one entry for each column."
        ) from None
    if table.ndim != 2:
        raise DataError(
            f"A table is a mapping of columns, a DataFrame or a 2-D array; this has {table.ndim} "
            "axes. Reshape your data, or give its columns in a dict."
        )
    return table


def _common_length(columns: Mapping[str, Column]) -> int:
    (first, length), *rest = ((name, len(column)) for name, column in columns.items())
    for name, other in rest:
        if other != length:
            raise DataError(
                f"Column {name!r} has {other} rows and {first!r} has {length}; give all columns one length."
            )
    if length == 0:
        raise DataError(f"The table is empty: column {first!r} has 0 rows; give at least one example.")
    return length
