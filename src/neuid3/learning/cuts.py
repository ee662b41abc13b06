"""Thresholds of number columns: all cuts of a column scored in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from neuid3.binned.cuts import readable_cut
from neuid3.data.columns import Column
from neuid3.learning.node_bounds import NodeBounds
from neuid3.logic.formula import Compare, Formula
from neuid3.tree.criteria import Criterion

Floats = npt.NDArray[Any]

# The formulas of the tests on a path, with their responses.
SignedFormulas = Sequence[tuple[Formula, bool]]

# Fewer than 1 / SORT_DIVISOR of the rows of a column are sorted; more are picked from the order of the whole column.
SORT_DIVISOR = 16


class SortedColumn:
    """A number column with its sort order, for cuts at any node.

    Parameters
    ----------
    column : the number column.
    name : its name.
    weights : sample weights, by default 1 each, `(example,)`.
    prior : the sorted values that a missing entry may have, and their weights; by default those of the known entries.
    """

    def __init__(
        self, column: Column, name: str, weights: Floats | None = None, prior: tuple[Floats, Floats] | None = None
    ) -> None:
        self.name = name
        self.column = column
        known = np.ones(len(column), dtype=bool) if column.missing is None else ~column.missing
        rows = np.flatnonzero(known)
        self.order = rows[np.argsort(column.values[rows], kind="stable")]
        self.values = column.values[self.order]
        masses = np.ones(len(self.order)) if weights is None else weights[self.order]
        if prior is not None:
            self.values, masses = prior
        self.below = np.concatenate(([0.0], np.cumsum(masses) / max(float(masses.sum()), 1e-300)))

    def best_cut(
        self,
        rows: Any,
        statistics: Floats,
        criterion: Criterion,
        path: SignedFormulas,
        min_child_mass: float,
        bounds: NodeBounds | None = None,
    ) -> tuple[float, float, int] | None:
        """The threshold with the highest gain, its gain, and the number of thresholds; None where none has gain.

        Missing entries reach both children, in proportion to the known values that the path leaves possible. Cuts are
        scored at the midpoints between neighbouring values, and the best becomes the `readable_cut` there, which sends
        every known value to the same side.

        Parameters
        ----------
        rows : the examples at the node.
        statistics : those of their targets, `(row, statistic)`.
        criterion : scores the cuts.
        path : the path κ to the node, as formulas with responses.
        min_child_mass : the least mass of each child.
        bounds : what monotone constraints leave to the leaves below the node.
        """

        def gain_of(yes: Floats, no: Floats) -> Floats:
            if bounds is None:
                return criterion.gain(yes, no)
            return bounds.gain(criterion, yes, no, bounds.orders.of_cut(self.name))

        order = self._in_order(rows)
        order = order[criterion.mass(statistics[order]) > 0]
        values = self.column.values[rows[order]]
        # A cut may follow each of these. Examples whose response does not depend on the cut have infinite numbers.
        finite = np.isfinite(values)
        ends = np.flatnonzero((values[:-1] < values[1:]) & finite[:-1] & finite[1:])
        if not len(ends):
            return None
        low, high = values[ends], values[ends + 1]
        middle = low / 2 + high / 2
        thresholds = np.where((low <= middle) & (middle < high), middle, low)
        below = np.cumsum(statistics[order], axis=0)[ends]  # (cut, statistic)
        total = statistics.sum(0)
        missing = np.zeros(1) if self.column.missing is None else statistics[self.column.missing[rows]].sum(0)
        yes = below + self._fraction_below(thresholds, path)[:, None] * missing
        mass = criterion.mass(yes)
        large = np.minimum(mass, criterion.mass(total) - mass) >= min_child_mass
        gains = np.where(large, gain_of(yes, total - yes), 0.0)
        best = int(np.argmax(gains))
        if gains[best] <= 0:
            return None
        cut, gain = readable_cut(float(low[best]), float(high[best]), self.column.kind), float(gains[best])
        if self.column.missing is not None:
            # Values that do not reach this node may lie between the midpoint and the cut.
            of_cut = below[best] + self._fraction_below(np.array([cut]), path) * missing
            gain = float(gain_of(of_cut, total - of_cut))
        return (cut, gain, len(ends)) if gain > 0 else None

    def _in_order(self, rows: Any) -> npt.NDArray[np.int64]:
        """Positions in `rows` of the known numbers, in ascending order of the numbers."""
        if len(rows) < len(self.order) // SORT_DIVISOR:
            known = np.arange(len(rows)) if self.column.missing is None else np.flatnonzero(~self.column.missing[rows])
            return known[np.argsort(self.column.values[rows[known]], kind="stable")]
        positions = np.full(len(self.column), -1)
        positions[rows] = np.arange(len(rows))
        ordered = positions[self.order]
        return ordered[ordered >= 0]

    def _fraction_below(self, thresholds: Floats, path: SignedFormulas) -> Floats:
        """The fraction of the known values that the path leaves possible which lies below each threshold, `(threshold,)`."""

        def below(threshold: Any, side: Literal["left", "right"] = "right") -> Any:
            return self.below[np.searchsorted(self.values, threshold, side=side)]

        low, high = 0.0, 1.0
        for formula, response in path:
            match formula:
                case Compare(self.name, ("<" | "=<" | ">" | ">=") as operator, constant):
                    fraction_below = float(below(constant, "left" if operator in ("<", ">=") else "right"))
                    is_below = (operator in ("<", "=<")) == response
                    low, high = (low, min(high, fraction_below)) if is_below else (max(low, fraction_below), high)
        fraction: Floats = np.clip((below(thresholds) - low) / max(high - low, 1e-300), 0.0, 1.0)
        return fraction
