"""Columns that all tasks of a fit share, and subsets of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.stores import ConcatenatedStore, StoredRows

Array = npt.NDArray[Any]


class SharedColumns:
    """Columns by name. Where workers hold a copy already, only a reference to it is pickled.

    Parameters
    ----------
    columns : the columns by name.

    Attributes
    ----------
    columns : the columns.
    locate : function that returns a worker's own copy; None as long as workers have none.

    >>> shared = SharedColumns({"image": np.arange(12).reshape(4, 3)})
    >>> shared.rows("image", np.array([0, 2]))
    array([[0, 1, 2],
           [6, 7, 8]])
    """

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self.columns = columns
        self.locate: Callable[[], SharedColumns] | None = None
        self._last: tuple[Array, dict[str, Array]] | None = None

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return (SharedColumns, (self.columns,)) if self.locate is None else (SharedReference, (self.locate,))

    def resolve(self) -> SharedColumns:
        """The columns themselves."""
        return self

    def rows(self, name: str, rows: Array) -> Array:
        """Rows of a column; successive requests for the same rows share one array.

        Parameters
        ----------
        name : the name of a column.
        rows : row indices.

        Returns
        -------
        The entries, `(row, …)`.
        """
        last = self._last
        if last is None or not np.array_equal(last[0], rows):
            last = self._last = (rows, {})
        if name not in last[1]:
            last[1][name] = self.columns[name][rows]
        return last[1][name]


@dataclass(frozen=True, slots=True, eq=False)
class SharedReference:
    """Reference to a worker's copy of shared columns; it is pickled in their place and needs no copy to be passed on."""

    locate: Callable[[], SharedColumns]

    def resolve(self) -> SharedColumns:
        """The copy of this worker."""
        return self.locate()


@dataclass(frozen=True, slots=True, eq=False)
class RowSubset(Mapping[str, Array]):
    """A mapping from names of shared columns to a subset of their rows.

    Attributes
    ----------
    shared : the columns, or a reference to them.
    names : the names of the columns.
    rows : row indices.

    >>> shared = SharedColumns({"image": np.eye(3), "other": np.eye(3)})
    >>> subset = RowSubset(shared, ("image",), np.array([1]))
    >>> {name: values.tolist() for name, values in subset.items()}
    {'image': [[0.0, 1.0, 0.0]]}
    """

    shared: SharedColumns | SharedReference
    names: tuple[str, ...]
    rows: npt.NDArray[np.int64]

    def __getitem__(self, name: str) -> Array:
        if name not in self.names:
            raise KeyError(name)
        return self.shared.resolve().rows(name, self.rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True, eq=False)
class StackedRows(Mapping[str, StoredRows]):
    """Rows of several shared columns, concatenated to a single column with a name of its own.

    Attributes
    ----------
    shared : the columns, or a reference to them.
    name : the name of the new column.
    parts : pairs of a column and the rows that are taken from it.

    >>> shared = SharedColumns({"a": np.arange(3), "b": np.arange(3) + 10})
    >>> np.asarray(StackedRows(shared, "both", (("a", np.array([2])), ("b", np.array([0, 1]))))["both"])
    array([ 2, 10, 11])
    """

    shared: SharedColumns | SharedReference
    name: str
    parts: tuple[tuple[str, npt.NDArray[np.int64]], ...]

    def __getitem__(self, name: str) -> StoredRows:
        if name != self.name:
            raise KeyError(name)
        columns = self.shared.resolve().columns
        joined = ConcatenatedStore([columns[column] for column, _ in self.parts])
        offsets = joined.starts[:-1]
        rows = [offset + rows for offset, (_, rows) in zip(offsets, self.parts, strict=True)]
        return StoredRows(joined, np.concatenate(rows))

    def __iter__(self) -> Iterator[str]:
        return iter((self.name,))

    def __len__(self) -> int:
        return 1
