"""Monotone constraints at a node that is grown: the order of its children, and bounds on the leaves below it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.tree.constraints import TestOrders
from neuid3.tree.criteria import Criterion
from neuid3.tree.node_tests import NodeTest

Floats = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class NodeBounds:
    """What monotone constraints leave to the leaves below a node.

    Where a test puts its two children in an order, the leaves of one stay below the midpoint of what both children
    predict, and those of the other above it. These bounds guide the choice of tests; the values of the finished tree are
    those of `tree.monotone.monotone_tree`, which are at least as near to the data.

    Attributes
    ----------
    orders : the order of the sides of each test.
    low, high : the least and the greatest prediction of a leaf.
    """

    orders: TestOrders
    low: float = -math.inf
    high: float = math.inf

    def gain(self, criterion: Criterion, yes: Floats, no: Floats, order: Any) -> Floats:
        """The gain of splits whose children predict what the bounds allow; 0 where their order is wrong.

        Parameters
        ----------
        criterion : what is counted.
        yes, no : statistics of the children, along the last axis; other axes are candidates.
        order : the order of each candidate, see `TestOrders.of`.

        Returns
        -------
        Gains, one for each candidate.
        """
        gains = criterion.gain(yes, no)
        of_yes, of_no = self._clipped(criterion, yes), self._clipped(criterion, no)
        if self.low > -math.inf or self.high < math.inf:
            both = yes + no
            total = criterion.mass(both)
            fraction = np.divide(criterion.mass(yes), total, out=np.zeros_like(total), where=total > 0)
            gains = gains + criterion.excess(both, self._clipped(criterion, both))
            gains = gains - fraction * criterion.excess(yes, of_yes) - (1.0 - fraction) * criterion.excess(no, of_no)
        return np.where(np.asarray(order) * (of_yes - of_no) < 0, 0.0, np.maximum(gains, 0.0))

    def _clipped(self, criterion: Criterion, statistics: Floats) -> Floats:
        return np.clip(criterion.number(statistics), self.low, self.high)

    def children(
        self, criterion: Criterion, test: NodeTest, yes: Floats, no: Floats
    ) -> tuple[NodeBounds, NodeBounds] | None:
        """The bounds of both children of a split; None where their order is wrong.

        Parameters
        ----------
        criterion : what is counted.
        test : the test.
        yes, no : the statistics of the children, `(statistic,)` each.

        Returns
        -------
        The bounds of yes and of no, or None.
        """
        order = self.orders.of(test)
        if order is None:
            return None
        if order == 0:
            return self, self
        of_yes, of_no = float(self._clipped(criterion, yes)), float(self._clipped(criterion, no))
        if order * (of_yes - of_no) < 0:
            return None
        middle = (of_yes + of_no) / 2
        below, above = replace(self, high=middle), replace(self, low=middle)
        return (above, below) if order > 0 else (below, above)
