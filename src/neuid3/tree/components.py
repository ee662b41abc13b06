"""The components of a tree: a plain leaf is one, and a leaf with a goal has one for each value of the goal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.errors import TreeError
from neuid3.tree.goals import Goal, GoalLeaf, class_of_value
from neuid3.tree.leaves import Leaf, LeafNode, NumberLeaf, leaf_moments
from neuid3.tree.semantics import Semantics
from neuid3.tree.tree import Branch, Node, Path, Visit, fold, paths

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Components:
    """Conjunctions that exclude each other and exhaust the examples; each has a distribution of its own.

    P(class | e) = Σ P(component | e) · P(class | component). A leaf with a goal is divided by the value of the goal:
    P(κ ∧ Y = y | e) is exact where path and goal share variables, because both are compiled as one conjunction.

    Attributes
    ----------
    leaves : the leaves, from left to right.
    paths : the conjunction of each component.
    leaf_numbers : the leaf of each component, `(component,)`.
    values : the value of the goal in each component; None for plain leaves.
    """

    leaves: tuple[LeafNode, ...]
    paths: tuple[Path, ...]
    leaf_numbers: npt.NDArray[np.int64]
    values: tuple[int | float | str | None, ...]

    @property
    def compute(self) -> bool:
        """Whether some leaf has a goal."""
        return any(isinstance(leaf, GoalLeaf) for leaf in self.leaves)

    @property
    def plain_values(self) -> Floats:
        """What the plain leaf of each component says, `(component, value)`."""
        values: Floats = np.array([leaf.value for leaf in self.leaves])[self.leaf_numbers]
        return values

    @cached_property
    def noises(self) -> Floats:
        """The probability with which each component follows the plain leaf, `(component,)`; 1 for plain leaves."""
        noises = [leaf.noise if isinstance(leaf, GoalLeaf) else 1.0 for leaf in self.leaves]
        of_components: Floats = np.array(noises)[self.leaf_numbers]
        return of_components

    @cached_property
    def leaf_sums(self) -> Floats:
        """P(leaf | e) is P(component | e) times this matrix of 0 and 1, `(component, leaf)`."""
        sums: Floats = (self.leaf_numbers[:, None] == np.arange(len(self.leaves))).astype(np.float64)
        return sums

    def classes_of_values(self, classes: Sequence[Any]) -> npt.NDArray[np.int64]:
        """The number of the class that each component's value stands for, `(component,)`; −1 for plain leaves.

        Parameters
        ----------
        classes : the labels of the classes.

        Returns
        -------
        Class numbers, `(component,)`.

        Raises
        ------
        TreeError : where a value is none of the classes.
        """
        numbers = np.full(len(self.paths), -1)
        for i, value in enumerate(self.values):
            if value is not None:
                number = class_of_value(value, classes)
                if number is None:
                    leaf = self.leaves[self.leaf_numbers[i]]
                    assert isinstance(leaf, GoalLeaf)
                    raise TreeError(
                        f"Leaf '{leaf.goal}' has the value {value!r}, which is none of the tree's classes "
                        f"{tuple(classes)}; add it to the classes."
                    )
                numbers[i] = number
        return numbers

    def class_probabilities(self, classes: Sequence[Any]) -> Floats:
        """P(class | component), `(component, class)`.

        Parameters
        ----------
        classes : the labels of the classes.

        Returns
        -------
        Probabilities.

        Raises
        ------
        TreeError : where a value of a goal is none of the classes.
        """
        plain = self.plain_values
        if not self.compute:
            return plain
        computed = self.classes_of_values(classes)[:, None] == np.arange(len(classes))
        mixture: Floats = self.noises[:, None] * plain + (1.0 - self.noises[:, None]) * computed
        return mixture

    def plain_leaves(self, classes: Sequence[Any]) -> list[LeafNode]:
        """A plain leaf for each component, with its class probabilities, or with the mean and deviation of its number.

        Parameters
        ----------
        classes : the labels of the classes; none for a tree that predicts numbers.

        Returns
        -------
        The leaves, one for each component.
        """
        if not self.compute:
            return list(self.leaves)
        if not classes:
            return _of_numbers(self.moments(0.0))
        return [Leaf(tuple(row)) for row in self.class_probabilities(classes).tolist()]

    def moments(self, center: float) -> Floats:
        """The first two moments about `center` of the number in each component, `(component, 2)`.

        Parameters
        ----------
        center : the number that the moments are about.

        Returns
        -------
        Moments.

        Raises
        ------
        TreeError : where a value of a goal is no number.
        """
        plain = leaf_moments(self.leaves, center)[self.leaf_numbers]
        if not self.compute:
            return plain
        means = np.array([_number(value) for value in self.values]) - center
        deviations = np.array([leaf.deviation if isinstance(leaf, GoalLeaf) else 0.0 for leaf in self.leaves])
        computed = np.stack((means, deviations[self.leaf_numbers] ** 2 + means**2), axis=1)
        return self.noises[:, None] * plain + (1.0 - self.noises[:, None]) * computed


def _of_numbers(moments: Floats) -> list[LeafNode]:
    """Leaves with these first two moments of a number."""
    deviations = np.sqrt(np.maximum(moments[:, 1] - moments[:, 0] ** 2, 0.0))
    return [
        NumberLeaf(float(mean), float(deviation)) for mean, deviation in zip(moments[:, 0], deviations, strict=True)
    ]


def _number(value: float | str | None) -> float:
    """The value of a goal as a number; 0 for plain leaves, which do not use it."""
    if isinstance(value, str):
        raise TreeError(f"The name {value!r} is the value of a leaf's goal, and the tree predicts numbers.")
    return 0.0 if value is None else float(value)


def components(root: Node, semantics: Semantics) -> Components:
    """The components of a tree.

    Parameters
    ----------
    root : the root of the tree.
    semantics : the values of goals.

    Returns
    -------
    The components, from left to right; those of a goal in the order of its values.

    Raises
    ------
    NodeTestError : where a goal cannot be grounded or does not have exactly one value in every world.
    """
    leaves: list[LeafNode] = []
    conjunctions: list[Path] = []
    numbers: list[int] = []
    values: list[int | float | str | None] = []
    for number, (path, leaf) in enumerate(paths(root)):
        leaves.append(leaf)
        parts = (
            [(value.value, (*path, (test, True))) for value, test in semantics.value_tests(leaf.goal)]
            if isinstance(leaf, GoalLeaf)
            else [(None, path)]
        )
        for value, conjunction in parts:
            values.append(value)
            conjunctions.append(conjunction)
            numbers.append(number)
    return Components(tuple(leaves), tuple(conjunctions), np.array(numbers, dtype=np.int64), tuple(values))


def with_expressions(root: Node, semantics: Semantics) -> Node:
    """The tree with what each goal computes, for texts and pictures.

    Parameters
    ----------
    root : the root of the tree.
    semantics : the values and expressions of goals.

    Returns
    -------
    The root of an equal tree.
    """

    def described(visit: Visit, below: tuple[Node, Node] | None) -> Node:
        node = visit.node
        if isinstance(node, Branch):
            assert below is not None
            return Branch(node.test, *below, node.gain, statistics=node.statistics, summary=node.summary)
        if not isinstance(node, GoalLeaf):
            return node
        goal = replace(node.goal, expression=semantics.open_goal(node.goal).expression)
        return GoalLeaf(goal, node.otherwise, node.noise, node.deviation)

    return fold(root, described)


def goals_of(root: Node) -> tuple[Goal, ...]:
    """The distinct goals of a tree's leaves, from left to right."""
    return tuple(dict.fromkeys(leaf.goal for _, leaf in paths(root) if isinstance(leaf, GoalLeaf)))
