"""NeuID3: which tree, given a learner that trains and scores tests?"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from neuid3.tree.criteria import code_length, leaf_estimate
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Branch, Leaf, Node, Path, paths

Floats = npt.NDArray[Any]
Rows = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class GrowthLimits:
    """When does a tree stop growing?

    `max_depth`; `min_mass`, the least Σ P(κ|e) that a node needs to be split, half of it for each child; `min_gain`, in bits; `epsilon`: examples
    with P(κ|e) below it are left out of a child; `pruning`: a split that was chosen among M tests, T of which would do as
    well, must save `pruning` · log₂ (M / T) bits in telling the classes of all examples that reach it, or be cut off
    again; 0 keeps all splits.
    """

    max_depth: int | None = None
    min_mass: float = 2.0
    min_gain: float = 1e-9
    epsilon: float = 1e-3
    pruning: float = 0.75


@dataclass(frozen=True, eq=False)
class OpenNode:
    """A node to be: the path κ to it, the examples that reach it, and the tests that may still be asked."""

    path: Path
    rows: Rows  # which of the examples reach it, in order
    shares: Floats  # P(κ | e) of each of them
    size: int  # how many examples there are in all
    tests: frozenset[NodeTest]

    @classmethod
    def root(cls, size: int, tests: frozenset[NodeTest]) -> OpenNode:
        """Where all examples start."""
        return cls((), np.arange(size, dtype=np.int32), certainty(size), size, tests)

    @cached_property
    def reach(self) -> Floats:
        """P(κ | e) for every example, also those that do not reach it."""
        reach = np.zeros(self.size)
        reach[self.rows] = self.shares
        return reach


def certainty(n: int) -> Floats:
    """Ones that take no memory: most examples reach a node for certain or not at all."""
    return np.broadcast_to(np.float64(1.0), n)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The best test at a place: P(τ | κ, e), its gain in bits, and whether unseen examples vouched for it.

    `answers` are those of the examples that reach the place, as truth values where all of them are certain. `asked` is
    the candidate that is used up along the path; None where it may be asked again, as a number may. `among` is how many
    tests it was chosen from, for each one that would have done as well.
    """

    test: NodeTest
    answers: Floats
    gain: float
    vouched: bool
    asked: NodeTest | None
    among: float = 1.0


class Learner(Protocol):
    """Trains the candidates at a node and scores them."""

    def masses(self, place: OpenNode) -> Floats:
        """Σ P(κ|e) of each class, as far as the learner believes it."""
        ...

    def best(self, place: OpenNode) -> Split | None:
        """The candidate with the highest information gain, trained; None where no test is worth asking."""
        ...


class TimedLearner:
    """A learner that finds no test worth asking once its time is up: the tree stays as it has grown until then."""

    def __init__(self, learner: Learner, is_late: Callable[[], bool]) -> None:
        self.learner, self.is_late = learner, is_late
        self.given_up = 0  # nodes that were left as they are

    def masses(self, place: OpenNode) -> Floats:
        return self.learner.masses(place)

    def best(self, place: OpenNode) -> Split | None:
        if self.is_late():
            self.given_up += 1
            return None
        return self.learner.best(place)


@dataclass(frozen=True, slots=True)
class GrownSubtree:
    """A subtree, how many bits its splits must save, and whether unseen examples vouched for one of them.

    `worth` lists its tests with the bits that each told about the examples that reached it: gain times mass.
    """

    node: Node
    price: float
    vouched: bool
    worth: tuple[tuple[NodeTest, float], ...]


Growing: TypeAlias = "Generator[Growing, GrownSubtree | None, GrownSubtree]"


def grow_tree(
    learner: Learner,
    root: OpenNode,
    settings: GrowthLimits,
    told: Callable[[OpenNode, Split | None], None] | None = None,
) -> GrownSubtree:
    """Grow a tree from the top: the best test at each node, every example split fractionally, and so on down."""
    # Nodes wait for their children on a stack of our own: Python's is too short for the deepest trees.
    waiting = [_grow(learner, root, learner.masses(root), settings, told or (lambda *_: None))]
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
    place: OpenNode,
    masses: Floats,
    settings: GrowthLimits,
    told: Callable[[OpenNode, Split | None], None],
) -> Growing:
    """A node: yields its children, one after the other, and is sent what became of each."""
    reached = tuple(masses.tolist())
    leaf = GrownSubtree(Leaf(leaf_estimate(masses), reached), 0.0, False, ())
    if _stops(masses, place, settings):
        return leaf
    split = learner.best(place)
    told(place, split)
    if split is None or split.gain < settings.min_gain:
        return leaf
    yes, no = split_node(place, split, settings.epsilon)
    of_yes, of_no = learner.masses(yes), learner.masses(no)
    if min(of_yes.sum(), of_no.sum()) < settings.min_mass / 2:
        return leaf
    left = cast("GrownSubtree", (yield _grow(learner, yes, of_yes, settings, told)))
    right = cast("GrownSubtree", (yield _grow(learner, no, of_no, settings, told)))
    grown = GrownSubtree(
        Branch(split.test, left.node, right.node, split.gain, reached),
        settings.pruning * math.log2(max(split.among, 1)) + left.price + right.price,
        split.vouched or left.vouched or right.vouched,
        ((split.test, split.gain * float(masses.sum())), *left.worth, *right.worth),
    )
    return grown if grown.vouched or settings.pruning == 0 or _pays(masses, grown) else leaf


def _pays(masses: Floats, grown: GrownSubtree) -> bool:
    """Are the classes at a node told in fewer bits leaf by leaf, with what its splits cost, than all at once?

    They are told among those that are there: a node of two classes is not charged for the third.
    """
    there = masses > 0
    leaves = sum(code_length(np.array(leaf.masses)[there]) for _, leaf in paths(grown.node))
    return leaves + grown.price < code_length(masses[there])


def _stops(masses: Floats, place: OpenNode, settings: GrowthLimits) -> bool:
    deep = settings.max_depth is not None and len(place.path) >= settings.max_depth
    pure = np.count_nonzero(masses > 1e-9 * max(float(masses.sum()), 1e-300)) <= 1
    return deep or bool(pure) or float(masses.sum()) < settings.min_mass


def split_node(place: OpenNode, split: Split, epsilon: float) -> tuple[OpenNode, OpenNode]:
    """κ∧τ and κ∧¬τ: every example goes both ways, in shares; what falls below ε stays out."""
    tests = place.tests - {split.asked} if split.asked is not None else place.tests
    sides = []
    for answer in (True, False):
        rows, shares = _side(place, split.answers, answer, epsilon)
        sides.append(replace(place, path=(*place.path, (split.test, answer)), rows=rows, shares=shares, tests=tests))
    return sides[0], sides[1]


def _side(place: OpenNode, answers: Floats, answer: bool, epsilon: float) -> tuple[Rows, Floats]:
    if answers.dtype == bool:
        kept = answers if answer else ~answers
        rows = place.rows[kept]
        return rows, certainty(len(rows)) if place.shares.strides == (0,) else place.shares[kept]
    reach = place.shares * (answers if answer else 1.0 - answers)
    kept = (reach >= epsilon) & (reach > 0.0)
    return place.rows[kept], reach[kept]
