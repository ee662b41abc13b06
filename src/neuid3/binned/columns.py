"""Coded columns: facts, categories and numbers as small integers, coded once for all trees of an ensemble."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Boolean, Category, Column, Date, Distribution, Number, Probability, Tensor, Value
from neuid3.data.derived import column_text
from neuid3.data.examples import Examples
from neuid3.data.parts import Parts, Relation
from neuid3.errors import DataError
from neuid3.tree.node_tests import CutTest, DateCutTest, FactTest, NodeTest, ValueTest

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[Any]

_NO_NUMBERS = np.empty(0)

# The most codes of a column; one more stands for missing entries.
MAX_BINS = 65_535


class BinKind(IntEnum):
    """How the codes of a column are tested; the numbers are those of the kernel."""

    FACT = 0
    CATEGORY = 1
    NUMBER = 2
    DISTRIBUTION = 3


@dataclass(frozen=True, slots=True, eq=False)
class BinnedColumn:
    """A column as codes from 0, with `size` for a missing entry.

    Attributes
    ----------
    name : the name of the column.
    kind : how its codes are tested.
    codes : the code of each row, `(row,)`; of a distribution its probabilities, `(value, row)`.
    size : the number of codes.
    prior : the probability of each code, which stands for missing entries, `(code,)`.
    lows, highs : the least and the largest number with each code, `(code,)`; of other columns the code itself.
    values : the values of a category or distribution by code; empty for other columns.
    fact : the test of a fact; None where it is the test of the column itself.
    has_missing : whether an entry is missing.
    is_date : whether its numbers are days, so that thresholds are written as dates.
    """

    name: str
    kind: BinKind
    codes: Codes
    size: int
    prior: Floats
    lows: Floats
    highs: Floats
    values: tuple[Value, ...] = ()
    fact: NodeTest | None = None
    has_missing: bool = False
    is_date: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether every code is one number."""
        return bool(np.array_equal(self.lows, self.highs))

    @property
    def below(self) -> Floats:
        """The prior probability of all codes up to each, `(code,)`."""
        return np.cumsum(self.prior)

    def label(self, code: int) -> str:
        """The test of a code as text; of a number column its name, whatever the threshold.

        Parameters
        ----------
        code : the code.

        Returns
        -------
        The text.
        """
        return column_text(self.name) if self.kind is BinKind.NUMBER else str(self.test(code, 0.0))

    def without_rows(self) -> BinnedColumn:
        """The same column without the codes of its rows, for trees that are applied to other rows."""
        return replace(self, codes=self.codes[..., :0], lows=_NO_NUMBERS, highs=_NO_NUMBERS)

    def test(self, code: int, threshold: float) -> NodeTest:
        """The test of a branch.

        Parameters
        ----------
        code : the code of a value, for facts, categories and distributions.
        threshold : the threshold of a number.

        Returns
        -------
        The test.
        """
        match self.kind:
            case BinKind.NUMBER:
                return (DateCutTest if self.is_date else CutTest)(self.name, float(threshold))
            case _ if self.fact is not None:
                return self.fact
            case _ if not self.values:  # a Boolean or probability column
                return FactTest(self.name)
            case _:
                return ValueTest(self.name, self.values[code])


@dataclass(frozen=True, slots=True, eq=False)
class BinnedTable:
    """Coded columns of one length, over which trees are grown.

    Attributes
    ----------
    columns : the columns.
    rows : the number of rows.
    """

    columns: tuple[BinnedColumn, ...]
    rows: int

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)


def bin_columns(
    examples: Examples,
    weights: Floats | None = None,
    *,
    names: Iterable[str] | None = None,
    facts: Mapping[NodeTest, npt.NDArray[Any]] | None = None,
    max_bins: int = MAX_BINS,
) -> BinnedTable:
    """The columns of a table as codes; tensors, and columns without a known entry, are left out.

    Parameters
    ----------
    examples : the table.
    weights : sample weights, which the distributions of missing entries are estimated with, `(row,)`.
    names : the columns; by default all.
    facts : further tests with the response of each row, Boolean or P(τ | e), `(row,)`.
    max_bins : a number column with more distinct values is divided into so many quantiles.

    Returns
    -------
    The coded columns, followed by the further facts.

    Raises
    ------
    DataError : where `max_bins` is not in 2 … 65,535.
    """
    if not 2 <= max_bins <= MAX_BINS:
        raise DataError(f"max_bins={max_bins} is out of range; give a number from 2 to {MAX_BINS}.")
    mass = np.ones(len(examples)) if weights is None else np.asarray(weights, dtype=np.float64)
    columns = [_binned(name, examples.column(name), mass, max_bins) for name in names or examples.names]
    made = [column for column in columns if column is not None]
    made += [_fact_column(test, np.asarray(column), mass) for test, column in (facts or {}).items()]
    return BinnedTable(tuple(made), len(examples))


def _binned(name: str, column: Column, mass: Floats, max_bins: int) -> BinnedColumn | None:
    missing = column.missing if column.missing is not None and column.missing.any() else None
    match column.kind:
        case Tensor() | Parts() | Relation():
            return None
        case Number():
            numbers = _number_column(name, column.values, missing, mass, max_bins)
            return None if numbers is None else replace(numbers, is_date=isinstance(column.kind, Date))
        case Boolean():
            return _coded(name, BinKind.FACT, column.values.astype(np.int64), 2, (), missing, mass)
        case Category() as kind:
            return _coded(name, BinKind.CATEGORY, column.values, len(kind.domain), kind.domain, missing, mass)
        case Probability():
            true = column.values.astype(np.float64)
            return _distribution(name, np.stack((1.0 - true, true)), (), missing, mass)
        case Distribution(values):
            return _distribution(name, column.values.T.astype(np.float64), values, missing, mass)


def _number_column(
    name: str, values: Codes, missing: npt.NDArray[np.bool_] | None, mass: Floats, max_bins: int
) -> BinnedColumn | None:
    known = values.astype(np.float64) if missing is None else values[~missing].astype(np.float64)
    if not len(known):
        return None
    distinct, ranks = np.unique(known, return_inverse=True)
    known_mass = mass if missing is None else mass[~missing]
    lows = highs = distinct
    if len(distinct) > max_bins:
        # Quantiles: a bin ends where its share of the mass is reached, so that bins are about equally large.
        below = np.cumsum(np.bincount(ranks, known_mass, len(distinct)))
        bins = np.minimum((below - below[0]) * max_bins / max(float(below[-1]), 1e-300), max_bins - 1).astype(np.int64)
        _, first, of_rank = np.unique(bins, return_index=True, return_inverse=True)
        lows, highs = distinct[first], distinct[np.append(first[1:], len(distinct)) - 1]
        ranks = of_rank[ranks]
    size = len(lows)
    codes = np.full(len(values), size, dtype=_code_type(size))
    codes[slice(None) if missing is None else ~missing] = ranks
    prior = _normalised(np.bincount(ranks, known_mass, size).astype(np.float64))
    return BinnedColumn(name, BinKind.NUMBER, codes, size, prior, lows, highs, has_missing=missing is not None)


def _coded(
    name: str,
    kind: BinKind,
    values: Codes,
    size: int,
    domain: Sequence[Value],
    missing: npt.NDArray[np.bool_] | None,
    mass: Floats,
    fact: NodeTest | None = None,
) -> BinnedColumn | None:
    if size > MAX_BINS:
        return None
    counted = mass if missing is None else np.where(missing, 0.0, mass)
    codes = values.astype(_code_type(size)) if missing is None else np.where(missing, size, values)
    numbers = np.arange(size, dtype=np.float64)
    prior = _normalised(np.bincount(values, counted, size).astype(np.float64))
    packed = np.ascontiguousarray(codes.astype(_code_type(size), copy=False))
    return BinnedColumn(name, kind, packed, size, prior, numbers, numbers, tuple(domain), fact, missing is not None)


def _distribution(
    name: str,
    probabilities: Floats,
    values: tuple[Value, ...],
    missing: npt.NDArray[np.bool_] | None,
    mass: Floats,
    fact: NodeTest | None = None,
) -> BinnedColumn:
    """A column of probabilities; a missing entry has the average."""
    counted = mass if missing is None else np.where(missing, 0.0, mass)
    filled = probabilities if missing is None else np.where(missing, 0.0, probabilities)
    prior = _normalised(filled @ counted)
    if missing is not None:
        filled = np.where(missing, prior[:, None], probabilities)
    numbers = np.arange(len(prior), dtype=np.float64)
    packed = np.ascontiguousarray(filled)
    return BinnedColumn(name, BinKind.DISTRIBUTION, packed, len(prior), prior, numbers, numbers, values, fact)


def _fact_column(test: NodeTest, responses: npt.NDArray[Any], mass: Floats) -> BinnedColumn:
    if responses.dtype == bool:
        column = _coded(str(test), BinKind.FACT, responses.astype(np.int64), 2, (), None, mass, test)
        assert column is not None
        return column
    true = responses.astype(np.float64)
    return _distribution(str(test), np.stack((1.0 - true, true)), (), None, mass, test)


def _code_type(size: int) -> type[np.uint8] | type[np.uint16]:
    return np.uint8 if size < 256 else np.uint16


def _normalised(masses: Floats) -> Floats:
    total = float(masses.sum())
    return masses / total if total > 0 else np.full(len(masses), 1.0 / max(len(masses), 1))
