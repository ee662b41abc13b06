"""What do all tasks of a fit look at? The columns of a stock; a task says only which rows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.stores import ConcatenatedStore, Entries

Array = npt.NDArray[Any]


class SharedColumns:
    """Columns by name. Where workers hold them already, a task that is sent names the stock instead of carrying it.

    >>> stock = Stock({"image": np.arange(12).reshape(4, 3)})
    >>> stock.rows("image", np.array([0, 2]))
    array([[0, 1, 2],
           [6, 7, 8]])
    """

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self.columns = columns
        self.find: Callable[[], SharedColumns] | None = None
        self._last: tuple[Array, dict[str, Array]] | None = None

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return (SharedColumns, (self.columns,)) if self.find is None else (SharedReference, (self.find,))

    def here(self) -> SharedColumns:
        return self

    def rows(self, name: str, rows: Array) -> Array:
        """Rows of a column; those that look at the same rows one after the other share them."""
        last = self._last
        if last is None or not np.array_equal(last[0], rows):
            last = self._last = (rows, {})
        if name not in last[1]:
            last[1][name] = self.columns[name][rows]
        return last[1][name]


@dataclass(frozen=True, slots=True, eq=False)
class SharedReference:
    """What is sent in place of a stock: how a worker finds its own. Whoever passes it on needs none."""

    find: Callable[[], SharedColumns]

    def here(self) -> SharedColumns:
        return self.find()


@dataclass(frozen=True, slots=True, eq=False)
class RowSubset(Mapping[str, Array]):
    """Some rows of some columns of a stock.

    >>> part = Part(Stock({"image": np.eye(3), "other": np.eye(3)}), ("image",), np.array([1]))
    >>> {name: values.tolist() for name, values in part.items()}
    {'image': [[0.0, 1.0, 0.0]]}
    """

    stock: SharedColumns | SharedReference
    names: tuple[str, ...]
    numbers: npt.NDArray[np.int64]

    def __getitem__(self, name: str) -> Array:
        if name not in self.names:
            raise KeyError(name)
        return self.stock.here().rows(name, self.numbers)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True, eq=False)
class StackedRows(Mapping[str, Entries]):
    """Some rows of several columns of a stock, one below the other, as one column with a name of its own.

    >>> stock = Stock({"a": np.arange(3), "b": np.arange(3) + 10})
    >>> np.asarray(Pile(stock, "both", (("a", np.array([2])), ("b", np.array([0, 1]))))["both"])
    array([ 2, 10, 11])
    """

    stock: SharedColumns | SharedReference
    name: str
    parts: tuple[tuple[str, npt.NDArray[np.int64]], ...]

    def __getitem__(self, name: str) -> Entries:
        if name != self.name:
            raise KeyError(name)
        columns = self.stock.here().columns
        whole = ConcatenatedStore([columns[column] for column, _ in self.parts])
        begins = whole.starts[:-1]
        rows = [begin + rows for begin, (_, rows) in zip(begins, self.parts, strict=True)]
        return Entries(whole, np.concatenate(rows))

    def __iter__(self) -> Iterator[str]:
        return iter((self.name,))

    def __len__(self) -> int:
        return 1
