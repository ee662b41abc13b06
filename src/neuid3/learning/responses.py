"""Compact test responses, and the statistics of all tests at a node in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import BLOCK_ROWS, Array, stack_columns
from neuid3.tree.criteria import Target

Floats = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class BooleanResponse:
    """Responses of a test that is true or false of every example, `(example,)`."""

    column: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class CategoricalResponse:
    """Responses of a test whether a category has one value.

    Attributes
    ----------
    name : the category column.
    codes : the code of the value of each example, `(example,)`.
    size : the number of values.
    value : the code that the test is true of.
    """

    name: str
    codes: Array
    size: int
    value: int


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilisticResponse:
    """Responses of a test that is true of each example with a probability, `(example,)`."""

    column: npt.NDArray[np.float32]


Response = BooleanResponse | CategoricalResponse | ProbabilisticResponse


class Responses:
    """The responses of several tests for all examples: a Boolean, a code or a float each, whichever is smallest."""

    def __init__(self, responses: Sequence[Response]) -> None:
        self._responses = responses
        boolean = [
            (i, response.column) for i, response in enumerate(responses) if isinstance(response, BooleanResponse)
        ]
        probabilistic = [
            (i, response.column) for i, response in enumerate(responses) if isinstance(response, ProbabilisticResponse)
        ]
        self._tables = [_table(indexed) for indexed in (boolean, probabilistic) if indexed]
        by_column: dict[str, list[tuple[int, CategoricalResponse]]] = {}
        for i, response in enumerate(responses):
            if isinstance(response, CategoricalResponse):
                by_column.setdefault(response.name, []).append((i, response))
        self._histograms = {name: _Histogram.of(indexed) for name, indexed in by_column.items()}

    def certain(self, test: int, rows: Any) -> npt.NDArray[np.bool_] | None:
        """The Boolean responses of a test for these rows; None where they are probabilistic."""
        match self._responses[test]:
            case BooleanResponse(column):
                return np.asarray(column[rows])
            case CategoricalResponse(name=name, value=value):
                return np.asarray(self._histograms[name].codes[rows] == value)
            case ProbabilisticResponse():
                return None

    def yes_sums(self, rows: Any, target: Target) -> Floats:
        """The statistics of the examples for which each test is true, `(test, statistic)`; the target is that of these rows."""
        yes = np.empty((len(self._responses), target.width))
        for tests, table in self._tables:
            yes[tests] = _product(table, rows, target)
        for histogram in self._histograms.values():
            yes[histogram.tests] = histogram.yes_sums(rows, target)
        return yes


@dataclass(frozen=True, slots=True, eq=False)
class _Histogram:
    """The values of a category column: one histogram serves all tests of it."""

    tests: npt.NDArray[np.intp]
    values: npt.NDArray[np.intp]
    codes: Array
    size: int

    @classmethod
    def of(cls, indexed: Sequence[tuple[int, CategoricalResponse]]) -> _Histogram:
        first = indexed[0][1]
        codes = first.codes.astype(np.min_scalar_type(first.size))
        tests, values = zip(*((i, response.value) for i, response in indexed), strict=True)
        return cls(np.array(tests, dtype=np.intp), np.array(values, dtype=np.intp), codes, first.size)

    def yes_sums(self, rows: Any, target: Target) -> Floats:
        return target.sums_by_code(self.codes[rows], self.size)[self.values]


def _table(indexed: Sequence[tuple[int, Array]]) -> tuple[npt.NDArray[np.intp], Array]:
    tests, columns = zip(*indexed, strict=True)
    return np.array(tests, dtype=np.intp), stack_columns(columns)


def _product(table: Array, rows: Any, target: Target) -> Floats:
    """Σ of response times statistics over these rows, `(test, statistic)`; by blocks, so that few responses are floats."""
    total = np.zeros((table.shape[1], target.width))
    for start in range(0, len(rows), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        total += table[rows[block]].T.astype(np.float64) @ target[block].statistics()
    return total
