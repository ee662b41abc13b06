"""Where is a number best cut? All thresholds of a column scored at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Column
from neuid3.tree.criteria import information_gain
from neuid3.tree.node_tests import CutTest
from neuid3.tree.tree import Path

Floats = npt.NDArray[Any]

# A part of the examples as small as this is sorted anew; a larger one is picked from the order of all.
FEW = 16

# From here on Python prints a float with an exponent, and no digit behind the point is free any more.
POSITIONAL = 1e16


def shortest_cut(low: float, high: float) -> float:
    """The number with the fewest decimal places in `[low, high)`; of several, the one nearest to the midpoint.

    It separates two neighbouring values of a column, `low =< cut < high`, and prints short, so that it can be printed as it
    is. One decimal place is free, since every float prints one; numbers that print with an exponent have none for free.

    >>> shortest_cut(30.0, 40.0), shortest_cut(0.1423, 0.1424), shortest_cut(0.1031, 0.1034), shortest_cut(1e20, 9e20)
    (35.0, 0.1423, 0.1033, 5e+20)
    """
    middle = low / 2 + high / 2
    middle = middle if low <= middle < high else low
    largest = max(abs(low), abs(high))
    places = 1 if largest < POSITIONAL else -math.floor(math.log10(largest))
    while True:
        # Where the one nearest to the midpoint lies on an end, or just outside for rounding, one at the other end may do.
        for near in (middle, low, high):
            cut = _rounded(near, places)
            if low <= cut < high:
                return cut + 0.0  # never -0.0
        places += 1


def _rounded(number: float, places: int) -> float:
    """The float of the nearest decimal number with so many places behind the point."""
    try:
        return round(number, places)
    except OverflowError:  # the nearest one is larger than all floats
        return math.copysign(math.inf, number)


class SortedColumn:
    """A number column in order, ready to be cut anywhere."""

    def __init__(self, column: Column, name: str, weights: Floats | None = None) -> None:
        self.name = name
        self.column = column
        known = np.ones(len(column), dtype=bool) if column.missing is None else ~column.missing
        rows = np.flatnonzero(known)
        self.order = rows[np.argsort(column.values[rows], kind="stable")]
        self.values = column.values[self.order]
        shares = np.ones(len(self.order)) if weights is None else weights[self.order]
        self.below = np.concatenate(([0.0], np.cumsum(shares) / max(float(shares.sum()), 1e-300)))

    def best_cut(self, rows: Any, spread: Floats, path: Path, least: float) -> tuple[float, float, int] | None:
        """The threshold with the highest gain, that gain, and of how many; missing entries go both ways, as the known ones would here.

        Cuts are scored at the midpoints between neighbouring values, and the best becomes the `shortest_cut` there: it
        sends every known value to the same side. `spread` is the mass of these rows by class, `(row, class)`.
        """
        order = self._in_order(rows)
        order = order[spread[order].sum(1) > 0]
        values = self.column.values[rows[order]]
        ends = np.flatnonzero(np.diff(values) > 0)  # a cut may lie behind these
        if not len(ends):
            return None
        low, high = values[ends], values[ends + 1]
        middle = low / 2 + high / 2
        thresholds = np.where((low <= middle) & (middle < high), middle, low)
        below = np.cumsum(spread[order], axis=0)[ends]  # (cut, class)
        total = spread.sum(0)
        gone = np.zeros(1) if self.column.missing is None else spread[self.column.missing[rows]].sum(0)
        yes = below + self._share(thresholds, path)[:, None] * gone
        large = np.minimum(yes.sum(1), total.sum() - yes.sum(1)) >= least
        gains = np.where(large, information_gain(yes, total - yes), 0.0)
        best = int(np.argmax(gains))
        if gains[best] <= 0:
            return None
        cut, gain = shortest_cut(float(low[best]), float(high[best])), float(gains[best])
        if (
            self.column.missing is not None
        ):  # values that do not reach this node may lie between the midpoint and the cut
            sent = below[best] + self._share(np.array([cut]), path) * gone
            gain = float(information_gain(sent, total - sent))
        return (cut, gain, len(ends)) if gain > 0 else None

    def _in_order(self, rows: Any) -> npt.NDArray[np.int64]:
        """The places among these rows of the known numbers, from low to high."""
        if len(rows) < len(self.order) // FEW:
            known = np.arange(len(rows)) if self.column.missing is None else np.flatnonzero(~self.column.missing[rows])
            return known[np.argsort(self.column.values[rows[known]], kind="stable")]
        places = np.full(len(self.column), -1)
        places[rows] = np.arange(len(rows))
        found = places[self.order]
        return found[found >= 0]

    def _share(self, thresholds: Floats, path: Path) -> Floats:
        """How much of the known values that the path leaves possible lies below each threshold."""

        def below(threshold: Any) -> Any:
            return self.below[np.searchsorted(self.values, threshold, side="right")]

        low, high = 0.0, 1.0
        for test, answer in path:
            if isinstance(test, CutTest) and test.column == self.name:
                at = float(below(test.threshold))
                low, high = (low, min(high, at)) if answer else (max(low, at), high)
        share: Floats = np.clip((below(thresholds) - low) / max(high - low, 1e-300), 0.0, 1.0)
        return share
