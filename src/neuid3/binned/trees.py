"""Trees over coded columns as arrays: what is counted, how far they grow, and their conversion to nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.binned.columns import BinnedTable
from neuid3.tree.tree import Branch, LeafNode, Node

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]


class BinnedCriterion(IntEnum):
    """What splits reduce; the numbers are those of the kernel."""

    ENTROPY = 0
    GINI = 1
    SQUARED_ERROR = 2
    NEWTON = 3


@dataclass(frozen=True, slots=True, eq=False)
class BinnedTarget:
    """The targets of all rows, and what is counted of them.

    The statistics of a node are one mass a class, (Σ w, Σ w·y, Σ w·y²) for numbers, or (Σ w, Σ w·g, Σ w·h) for gradients g
    and hessians h of a loss; with several scores, the gradients of all of them and then their hessians.

    Attributes
    ----------
    criterion : what splits reduce. The gain of a branch is the decrease of entropy in bits, of Gini impurity or of
        variance, per unit of mass; for gradients it is that of G² / (H + l2), not divided by the mass.
    weights : the weight of each row, 0 for those that are left out, `(row,)`.
    width : the number of statistics.
    classes : the number of the class of each row; empty for other targets.
    first, second : y and y², or gradients and hessians, `(row,)` or `(row, score)`; empty for classes.
    offset : what was subtracted from y, for precision.
    """

    criterion: BinnedCriterion
    weights: Floats
    width: int
    classes: Integers
    first: Floats
    second: Floats
    offset: float = 0.0

    @classmethod
    def of_classes(
        cls, classes: npt.NDArray[Any], width: int, weights: Floats, criterion: BinnedCriterion = BinnedCriterion.GINI
    ) -> BinnedTarget:
        """Classes, by the number of each.

        Parameters
        ----------
        classes : class numbers from 0, `(row,)`.
        width : the number of classes.
        weights : the weight of each row.
        criterion : entropy or Gini impurity.

        Returns
        -------
        The target.
        """
        return cls(criterion, _floats(weights), width, np.ascontiguousarray(classes, np.int32), _NONE, _NONE)

    @classmethod
    def of_numbers(cls, y: npt.NDArray[Any], weights: Floats) -> BinnedTarget:
        """Numbers, whose variance splits reduce.

        Parameters
        ----------
        y : the number of each row, `(row,)`.
        weights : the weight of each row.

        Returns
        -------
        The target.
        """
        weights, y = _floats(weights), _floats(y)
        offset = float(np.average(y, weights=weights)) if weights.sum() > 0 else 0.0
        centred = y - offset
        return cls(BinnedCriterion.SQUARED_ERROR, weights, 3, np.empty(0, np.int32), centred, centred**2, offset)

    @classmethod
    def of_gradients(cls, gradients: npt.NDArray[Any], hessians: npt.NDArray[Any], weights: Floats) -> BinnedTarget:
        """Gradients and hessians of a loss, for a step of boosting.

        Parameters
        ----------
        gradients : the derivative of the loss of each row by its score, `(row,)`, or by each score, `(row, score)`.
        hessians : the second derivatives, of the same shape.
        weights : the weight of each row; gradients and hessians are those of weight 1.

        Returns
        -------
        The target.
        """
        first, second = _floats(gradients), _floats(hessians)
        width = 1 + 2 * (first.shape[1] if first.ndim == 2 else 1)
        return cls(BinnedCriterion.NEWTON, _floats(weights), width, np.empty(0, np.int32), first, second)

    @property
    def scores(self) -> int:
        """The number of scores that gradients are taken by; 0 for classes and 1 for numbers."""
        return (self.width - 1) // 2 if self.criterion >= BinnedCriterion.SQUARED_ERROR else 0

    def weighted(self, weights: Floats) -> BinnedTarget:
        """The same targets with other weights, as of a bootstrap sample.

        Parameters
        ----------
        weights : the new weights, `(row,)`.

        Returns
        -------
        The target.
        """
        return BinnedTarget(
            self.criterion, _floats(weights), self.width, self.classes, self.first, self.second, self.offset
        )


@dataclass(frozen=True, slots=True)
class BinnedLimits:
    """Limits of the growth of a tree over coded columns.

    Attributes
    ----------
    max_depth : the longest path; None for no limit.
    max_splits : the most splits, which are then made in the order of their gain times mass; None for no limit.
    max_features : the number of columns that are drawn at each node; None for all. Where none of these splits the node,
        more are drawn until one does.
    min_mass : the least mass of a node that is split; each child needs half of it.
    min_gain : the least gain of a split.
    min_reach : rows with P(κ|e) below it are left out of a child.
    min_hessian : the least sum of hessians of a child.
    l2 : the constant that is added to the sum of hessians, λ.
    """

    max_depth: int | None = None
    max_splits: int | None = None
    max_features: int | None = None
    min_mass: float = 2.0
    min_gain: float = 0.0
    min_reach: float = 1e-3
    min_hessian: float = 0.0
    l2: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class BinnedTree:
    """A tree as arrays, its nodes in preorder: a parent before its children, yes before no.

    Attributes
    ----------
    column : the number of the column that a branch tests; -1 for a leaf, `(node,)`.
    code : the code that the test compares with: at most it for numbers, equal to it for others, `(node,)`.
    yes, no : the children of a branch; -1 for a leaf, `(node,)`.
    parent : the parent; -1 for the root, `(node,)`.
    threshold : the threshold of a number; otherwise the code, `(node,)`.
    gain : the gain of a branch, `(node,)`.
    fraction : P(yes | path) of a row whose entry is missing, `(node,)`.
    statistics : those of the rows that reach a node, `(node, statistic)`.
    """

    column: Integers
    code: Integers
    yes: Integers
    no: Integers
    parent: Integers
    threshold: Floats
    gain: Floats
    fraction: Floats
    statistics: Floats

    @property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """Whether each node is a leaf, `(node,)`."""
        return np.asarray(self.column < 0)

    @property
    def leaf_statistics(self) -> Floats:
        """The statistics of the leaves from left (all yes) to right (all no), `(leaf, statistic)`."""
        return self.statistics[self.is_leaf]

    @property
    def depth(self) -> int:
        """The longest path."""
        depth = np.zeros(len(self.column), dtype=np.int64)
        for node in range(1, len(depth)):
            depth[node] = depth[self.parent[node]] + 1
        return int(depth.max(initial=0))

    def column_gains(self, masses: Floats, columns: int) -> Floats:
        """The gain of each column, summed up over its branches times their mass, `(column,)`.

        Parameters
        ----------
        masses : the mass of each node, `(node,)`.
        columns : the number of columns.

        Returns
        -------
        Gains, `(column,)`.
        """
        branches = ~self.is_leaf
        return np.bincount(self.column[branches], (self.gain * masses)[branches], columns).astype(np.float64)


def tree_nodes(tree: BinnedTree, table: BinnedTable, leaf: Callable[[Floats], LeafNode]) -> Node:
    """The same tree as nodes with tests, for exact inference.

    Parameters
    ----------
    tree : the tree as arrays.
    table : the columns that it was grown over.
    leaf : makes a leaf of the statistics of a node; a branch has that leaf as its summary.

    Returns
    -------
    The root.
    """
    nodes: dict[int, Node] = {}
    for i in range(len(tree.column) - 1, -1, -1):  # children before their parents
        here = leaf(tree.statistics[i])
        if tree.column[i] < 0:
            nodes[i] = here
        else:
            test = table.columns[tree.column[i]].test(int(tree.code[i]), float(tree.threshold[i]))
            yes, no = nodes.pop(int(tree.yes[i])), nodes.pop(int(tree.no[i]))
            nodes[i] = Branch(test, yes, no, float(tree.gain[i]), summary=here)
    return nodes[0]


def _floats(array: Any) -> Floats:
    return np.ascontiguousarray(array, dtype=np.float64)


_NONE = np.empty(0)
