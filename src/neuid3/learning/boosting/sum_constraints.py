"""Constraints of the trees of a sum: which candidates a node may have, and scores of leaves that keep to directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.learning.candidates import Candidates
from neuid3.learning.generators import NodeCandidates
from neuid3.learning.grow import OpenNode
from neuid3.learning.node_bounds import NodeBounds
from neuid3.tree.constraints import TestOrders
from neuid3.tree.monotone import monotone_values
from neuid3.tree.sums import with_scores
from neuid3.tree.tree import Node, paths

Floats = npt.NDArray[np.float64]


class SumConstraints:
    """Constraints of every tree of a sum; where each keeps to them, the sum does.

    Parameters
    ----------
    orders : the constraints, with the order of the sides of each test.
    candidates : the candidates of every node, of which constraints leave some.
    """

    def __init__(self, orders: TestOrders, candidates: NodeCandidates) -> None:
        self.orders, self.candidates = orders, candidates

    @property
    def bounds(self) -> NodeBounds | None:
        """What monotone constraints leave to the leaves below a root: the order of both sides of each test."""
        return NodeBounds(self.orders) if self.orders.constraints.directions else None

    def allowed(self, node: OpenNode, candidates: Candidates) -> Candidates:
        """Those of the candidates that a node may be split by.

        Parameters
        ----------
        node : the node, with its path.
        candidates : tests and number columns.

        Returns
        -------
        The candidates that remain.
        """
        return self.candidates.keeping(node, candidates)

    def scores(self, root: Node, scores: Any) -> Floats:
        """The nearest scores of the leaves that keep to monotone constraints, `(leaf, score)`.

        Parameters
        ----------
        root : the tree; where its leaves have masses, these are the weights.
        scores : what its leaves would add, `(leaf, 1)`.

        Returns
        -------
        Scores, `(leaf, 1)`.
        """
        values = np.asarray(scores, dtype=np.float64)
        if not self.orders.constraints.directions:
            return values
        masses = [leaf.mass for _, leaf in paths(root)]
        weights = np.array([1.0 if mass is None else mass for mass in masses])
        ordered = monotone_values(root, self.orders, values[:, 0], weights)
        return ordered[:, None]

    def ordered(self, root: Node) -> Node:
        """The tree with the nearest scores that keep to monotone constraints.

        Parameters
        ----------
        root : a tree of a sum.

        Returns
        -------
        The root of the new tree.
        """
        return with_scores(root, self.scores(root, [leaf.value for _, leaf in paths(root)]))
