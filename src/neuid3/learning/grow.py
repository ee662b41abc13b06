"""Top-down growth of a tree with fractional examples, and minimum-description-length pruning."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from neuid3.learning.node_bounds import NodeBounds
from neuid3.tree.criteria import Criterion
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Branch, Node, Path

Floats = npt.NDArray[Any]
Rows = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class GrowthLimits:
    """Stopping and pruning criteria of a tree.

    Attributes
    ----------
    max_depth : the longest path; None for no limit.
    min_mass : the least mass Σ P(κ|e) of a node that is split; each child needs half of it.
    min_gain : the least gain of a split, in the unit of the criterion: bits for entropy.
    min_reach : examples with P(κ|e) below it are left out of a child.
    pruning : the factor of the pruning penalty. A split that was chosen among M tests, T of which are as good, is
        pruned unless it shortens the code of the targets at its node by `pruning` · log₂ (M / T) bits; 0 keeps all splits.
    root_pruning : the higher factor with which a tree must keep a split, or it is a single leaf: small factors grow trees
        from noise. None where `pruning` is enough.
    """

    max_depth: int | None = None
    min_mass: float = 2.0
    min_gain: float = 1e-9
    min_reach: float = 1e-3
    pruning: float = 0.75
    root_pruning: float | None = None


@dataclass(frozen=True, eq=False)
class OpenNode:
    """A node that is still to be learned.

    Attributes
    ----------
    path : the path κ from the root.
    rows : indices of the examples that reach the node, in ascending order.
    reach_of_rows : P(κ | e) of each of `rows`.
    size : the number of all examples.
    used : the candidates that the path has used up.
    bounds : what monotone constraints leave to the leaves below; None where there are none.
    """

    path: Path
    rows: Rows
    reach_of_rows: Floats
    size: int
    used: frozenset[NodeTest] = frozenset()
    bounds: NodeBounds | None = None

    @classmethod
    def root(cls, size: int, bounds: NodeBounds | None = None) -> OpenNode:
        """The root: all examples reach it with probability 1.

        Parameters
        ----------
        size : the number of all examples.
        bounds : what monotone constraints leave to the leaves.

        Returns
        -------
        The open root.
        """
        return cls((), np.arange(size, dtype=np.int32), full_reach(size), size, bounds=bounds)

    @cached_property
    def reach(self) -> Floats:
        """P(κ | e) of every example, 0 for those that do not reach the node, `(example,)`."""
        reach = np.zeros(self.size)
        reach[self.rows] = self.reach_of_rows
        return reach


def full_reach(n: int) -> Floats:
    """`n` ones that take no memory: most examples reach a node with probability 1 or 0."""
    return np.broadcast_to(np.float64(1.0), n)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The best test at a node.

    Attributes
    ----------
    test : the test τ.
    responses : P(τ | κ, e) of the examples that reach the node, Boolean where all of them are certain.
    gain : its gain, in the unit of the criterion.
    validated : whether the gain was measured on validation examples.
    candidate : the candidate that is used up along the path; None where it may be chosen again, as a number column may.
    choices : the number of candidates that it was chosen from, divided by the number of those that are as good.
    """

    test: NodeTest
    responses: Floats
    gain: float
    validated: bool
    candidate: NodeTest | None
    choices: float = 1.0


class Learner(Protocol):
    """What `grow_tree` needs: the statistics of the targets at a node, and the best split of it.

    Attributes
    ----------
    criterion : counts the targets and makes the leaves.
    """

    @property
    def criterion(self) -> Criterion:
        """What is counted, how good a split is, and what a leaf says."""
        ...

    def leaf_statistics(self, node: OpenNode) -> Floats:
        """The statistics of the targets that a leaf at this node is estimated from, `(statistic,)`.

        Parameters
        ----------
        node : the node, with the rows that reach it and their P(κ|e).

        Returns
        -------
        Statistics, `(statistic,)`.
        """
        ...

    def best_split(self, node: OpenNode) -> Split | None:
        """The candidate with the highest gain, trained; None where no candidate is good enough.

        Parameters
        ----------
        node : the node, with the rows that reach it and their P(κ|e).

        Returns
        -------
        The split, or None.
        """
        ...


class TimedLearner:
    """A learner that returns no split once its time is up; the nodes that are still open become leaves."""

    def __init__(self, learner: Learner, is_out_of_time: Callable[[], bool]) -> None:
        self.learner, self.is_out_of_time = learner, is_out_of_time
        self.criterion = learner.criterion
        self.skipped_nodes = 0  # nodes that became leaves because time was up

    def leaf_statistics(self, node: OpenNode) -> Floats:
        return self.learner.leaf_statistics(node)

    def best_split(self, node: OpenNode) -> Split | None:
        if self.is_out_of_time():
            self.skipped_nodes += 1
            return None
        return self.learner.best_split(node)


@dataclass(frozen=True, slots=True)
class GrownSubtree:
    """A grown subtree with what pruning and feature importances need.

    Attributes
    ----------
    node : the subtree.
    penalty : the pruning penalties of its splits together, in bits.
    validated : whether one of its splits was scored on validation examples.
    test_gains : each test with its gain times the mass of its node.
    leaf_statistics : the statistics of the targets at each leaf, from left to right.
    """

    node: Node
    penalty: float
    validated: bool
    test_gains: tuple[tuple[NodeTest, float], ...]
    leaf_statistics: tuple[Floats, ...]


Growing: TypeAlias = "Generator[Growing, GrownSubtree | None, GrownSubtree]"


def grow_tree(
    learner: Learner,
    root: OpenNode,
    limits: GrowthLimits,
    on_node: Callable[[OpenNode, Split | None], None] | None = None,
    is_leaf: Callable[[OpenNode], bool] = lambda _: False,
) -> GrownSubtree:
    """A tree grown from the root: the best test at each node, examples passed on fractionally to both children.

    Parameters
    ----------
    learner : finds the best split of each node.
    root : the root, with all examples.
    limits : stopping and pruning criteria.
    on_node : called with each node that was learned and its split, None where there is none.
    is_leaf : whether a node is to be a leaf, whatever splits it could have.

    Returns
    -------
    The tree, with the penalties, gains and leaf statistics of its splits.
    """
    # An explicit stack of generators: Python's call stack is too short for the deepest trees.
    waiting = [_grow(learner, root, learner.leaf_statistics(root), limits, on_node or (lambda *_: None), is_leaf)]
    grown: GrownSubtree | None = None
    while True:
        try:
            waiting.append(waiting[-1].send(grown))
            grown = None
        except StopIteration as finished:
            grown = finished.value
            waiting.pop()
            if not waiting:
                return cast("GrownSubtree", grown)


def _grow(
    learner: Learner,
    node: OpenNode,
    statistics: Floats,
    limits: GrowthLimits,
    on_node: Callable[[OpenNode, Split | None], None],
    is_leaf: Callable[[OpenNode], bool],
) -> Growing:
    """Grow a node: a generator that yields the growth of each child in turn and is sent the grown child."""
    criterion = learner.criterion
    as_leaf = criterion.leaf(statistics)
    leaf = GrownSubtree(as_leaf, 0.0, False, (), (statistics,))
    mass = float(criterion.mass(statistics))
    is_deep = limits.max_depth is not None and len(node.path) >= limits.max_depth
    if is_deep or is_leaf(node) or criterion.is_pure(statistics) or mass < limits.min_mass:
        return leaf
    split = learner.best_split(node)
    on_node(node, split)
    if split is None or split.gain < limits.min_gain:
        return leaf
    yes, no = split_node(node, split, limits.min_reach)
    yes_statistics, no_statistics = learner.leaf_statistics(yes), learner.leaf_statistics(no)
    if min(criterion.mass(yes_statistics), criterion.mass(no_statistics)) < limits.min_mass / 2:
        return leaf
    if node.bounds is not None:
        bounds = node.bounds.children(criterion, split.test, yes_statistics, no_statistics)
        if bounds is None:
            return leaf
        yes, no = replace(yes, bounds=bounds[0]), replace(no, bounds=bounds[1])
    left = cast("GrownSubtree", (yield _grow(learner, yes, yes_statistics, limits, on_node, is_leaf)))
    right = cast("GrownSubtree", (yield _grow(learner, no, no_statistics, limits, on_node, is_leaf)))
    grown = GrownSubtree(
        Branch(split.test, left.node, right.node, split.gain, summary=as_leaf),
        limits.pruning * math.log2(max(split.choices, 1)) + left.penalty + right.penalty,
        split.validated or left.validated or right.validated,
        ((split.test, split.gain * mass), *left.test_gains, *right.test_gains),
        (*left.leaf_statistics, *right.leaf_statistics),
    )
    is_kept = grown.validated or limits.pruning == 0 or _saves_bits(statistics, grown, criterion)
    return grown if is_kept else leaf


def _saves_bits(statistics: Floats, grown: GrownSubtree, criterion: Criterion) -> bool:
    """Whether the code of the targets is shorter leaf by leaf, with the penalty of the splits, than at the node as a leaf."""
    leaf_bits = criterion.description_length(grown.leaf_statistics, statistics)
    return leaf_bits + grown.penalty < criterion.code_length(statistics, statistics)


def split_node(node: OpenNode, split: Split, min_reach: float) -> tuple[OpenNode, OpenNode]:
    """The children κ∧τ and κ∧¬τ of a node.

    Every example reaches both with its probabilities; where these are below `min_reach`, it is left out.
    """
    used = node.used | {split.candidate} if split.candidate is not None else node.used
    children = []
    for response in (True, False):
        rows, reach_of_rows = _child_rows(node, split.responses, response, min_reach)
        children.append(
            replace(node, path=(*node.path, (split.test, response)), rows=rows, reach_of_rows=reach_of_rows, used=used)
        )
    return children[0], children[1]


def _child_rows(node: OpenNode, responses: Floats, response: bool, min_reach: float) -> tuple[Rows, Floats]:
    """Rows that reach a child, and their reach."""
    if responses.dtype == bool:
        mask = responses if response else ~responses
        rows = node.rows[mask]
        return rows, full_reach(len(rows)) if node.reach_of_rows.strides == (0,) else node.reach_of_rows[mask]
    reach = node.reach_of_rows * (responses if response else 1.0 - responses)
    mask = (reach >= min_reach) & (reach > 0.0)
    return node.rows[mask], reach[mask]
