"""What do the tests without networks say? Kept small, and counted for all tests of a node at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import BLOCK_ROWS, Array, stack_columns

Floats = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class BooleanResponse:
    """A test that is true or false of every example."""

    column: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class CategoricalResponse:
    """A test whether a category has one value, and the code of the value that each example has."""

    name: str
    codes: Array
    size: int
    value: int


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilisticResponse:
    """A test that is true of an example with a probability."""

    column: npt.NDArray[np.float32]


Response = BooleanResponse | CategoricalResponse | ProbabilisticResponse


class Responses:
    """The answers of several tests to all examples: a bit, a code or a number each, as small as they can be kept."""

    def __init__(self, said: Sequence[Response]) -> None:
        self._said = said
        truths = [(i, answer.column) for i, answer in enumerate(said) if isinstance(answer, BooleanResponse)]
        shares = [(i, answer.column) for i, answer in enumerate(said) if isinstance(answer, ProbabilisticResponse)]
        self._tables = [_table(found) for found in (truths, shares) if found]
        by_column: dict[str, list[tuple[int, CategoricalResponse]]] = {}
        for i, answer in enumerate(said):
            if isinstance(answer, CategoricalResponse):
                by_column.setdefault(answer.name, []).append((i, answer))
        self._histograms = {name: _Histogram.of(found) for name, found in by_column.items()}

    def certain(self, test: int, rows: Any) -> npt.NDArray[np.bool_] | None:
        """What a test says of these examples; None where that depends on what was answered before."""
        match self._said[test]:
            case BooleanResponse(column):
                return np.asarray(column[rows])
            case CategoricalResponse(name=name, value=value):
                return np.asarray(self._histograms[name].codes[rows] == value)
            case ProbabilisticResponse():
                return None

    def yes_masses(self, rows: Any, labels: Any, masses: Floats, classes: int) -> Floats:
        """How much of each class says yes, `(test, class)`; labels and masses are those of these rows."""
        yes = np.empty((len(self._said), classes))
        for tests, table in self._tables:
            yes[tests] = _product(table, rows, labels, masses, classes)
        for histogram in self._histograms.values():
            yes[histogram.tests] = histogram.yes_masses(rows, labels, masses, classes)
        return yes


@dataclass(frozen=True, slots=True, eq=False)
class _Histogram:
    """The values of a category: all tests about it are answered by counting once."""

    tests: npt.NDArray[np.intp]
    values: npt.NDArray[np.intp]
    codes: Array
    size: int

    @classmethod
    def of(cls, found: Sequence[tuple[int, CategoricalResponse]]) -> _Histogram:
        first = found[0][1]
        codes = first.codes.astype(np.min_scalar_type(first.size))
        tests, values = zip(*((i, answer.value) for i, answer in found), strict=True)
        return cls(np.array(tests, dtype=np.intp), np.array(values, dtype=np.intp), codes, first.size)

    def yes_masses(self, rows: Any, labels: Any, masses: Floats, classes: int) -> Floats:
        cells = self.codes[rows].astype(np.intp) * classes + labels
        counted: Floats = np.bincount(cells, masses, self.size * classes).reshape(self.size, classes)
        return counted[self.values]


def _table(found: Sequence[tuple[int, Array]]) -> tuple[npt.NDArray[np.intp], Array]:
    tests, columns = zip(*found, strict=True)
    return np.array(tests, dtype=np.intp), stack_columns(columns)


def by_class(labels: Any, masses: Floats, classes: int) -> Floats:
    """The mass of every example in the column of its class, `(example, class)`."""
    spread = np.zeros((len(labels), classes))
    spread[np.arange(len(labels)), labels] = masses
    return spread


def _product(table: Array, rows: Any, labels: Any, masses: Floats, classes: int) -> Floats:
    """Σ over these rows of answer times mass, block by block, so that numbers are only made where they are added up."""
    total = np.zeros((table.shape[1], classes))
    for start in range(0, len(rows), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        total += table[rows[part]].T.astype(np.float64) @ by_class(labels[part], masses[part], classes)
    return total
