"""A forest: trees over the same columns whose predictions are averaged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.binned.columns import BinnedColumn
from neuid3.binned.forest import BinnedForest
from neuid3.binned.trees import BinnedTree, tree_nodes
from neuid3.tree.criteria import ClassCriterion, NumberCriterion
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.number_criterion import RESOLUTION
from neuid3.tree.tree import Tree

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees over the same columns, whose predictions are averaged; the tests name networks and do not hold them.

    Attributes
    ----------
    trees : the trees as arrays.
    columns : the columns that their tests read; rows of the training table are not needed.
    classes : the labels of the classes; none where the trees predict numbers.
    center, scale : mean and standard deviation of the training targets, in whose unit statistics of numbers are.
    """

    trees: tuple[BinnedTree, ...]
    columns: tuple[BinnedColumn, ...]
    classes: tuple[Any, ...]
    center: float = 0.0
    scale: float = 1.0

    def __len__(self) -> int:
        return len(self.trees)

    @property
    def predicts_numbers(self) -> bool:
        """Whether the trees predict numbers."""
        return not self.classes

    @cached_property
    def applied(self) -> BinnedForest:
        """The trees in one set of arrays."""
        return BinnedForest(self.trees, self.columns)

    @cached_property
    def used(self) -> frozenset[int]:
        """The numbers of the columns that some tree tests."""
        numbers = np.unique(np.concatenate([tree.column for tree in self.trees]))
        return frozenset(numbers[numbers >= 0].tolist())

    @cached_property
    def tests(self) -> tuple[NodeTest, ...]:
        """The tests that are no plain columns: atoms of rules and networks, and other kinds."""
        facts = (self.columns[j].fact for j in sorted(self.used))
        return tuple(fact for fact in facts if fact is not None)

    @cached_property
    def column_names(self) -> frozenset[str]:
        """The plain columns that some tree tests."""
        return frozenset(self.columns[j].name for j in self.used if self.columns[j].fact is None)

    @cached_property
    def leaf_values(self) -> Floats:
        """What each leaf says: class probabilities, or the first two moments about the center, `(leaf, value)`."""
        statistics = self.applied.leaf_statistics
        if not self.predicts_numbers:
            mass = statistics.sum(1, keepdims=True)
            return np.where(mass > 0, statistics / np.where(mass > 0, mass, 1.0), 1.0 / statistics.shape[1])
        mass = np.where(statistics[:, 0] > 0, statistics[:, 0], 1.0)
        means = statistics[:, 1] / mass
        deviations = np.maximum(np.sqrt(np.maximum(statistics[:, 2] / mass - means**2, 0.0)), RESOLUTION)
        return np.stack((means * self.scale, (deviations**2 + means**2) * self.scale**2), axis=1)

    def tree(self, number: int) -> Tree:
        """One of the trees, as nodes with tests.

        Parameters
        ----------
        number : its number, from 0.

        Returns
        -------
        The tree.
        """
        criterion: Any = ClassCriterion(max(len(self.classes), 2))
        if self.predicts_numbers:
            criterion = NumberCriterion(self.center, self.scale)
        return Tree(tree_nodes(self.trees[number], self.columns, criterion.leaf), self.classes)

    def column_gains(self) -> Floats:
        """The gain of each column, averaged over the trees, as a fraction of the total, `(column,)`."""
        total = np.zeros(len(self.columns))
        for tree in self.trees:
            masses = tree.statistics[:, 0] if self.predicts_numbers else tree.statistics.sum(1)
            gains = tree.column_gains(masses, len(self.columns))
            total += gains / max(float(gains.sum()), 1e-300)
        whole = float(total.sum())
        return total / whole if whole > 0 else total
