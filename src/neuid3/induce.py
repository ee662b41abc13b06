"""NeuID3: which tree, given a learner that trains and scores tests?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from neuid3.nodetest import NodeTest
from neuid3.score import entropy, leaf_estimate
from neuid3.tree import Branch, Leaf, Node, Path

Floats = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """When does a tree stop growing?

    `max_depth`; `min_mass`, the least Σ P(κ|e) that a node needs to be split, half of it for each child; `min_gain`, in bits; `epsilon`: examples
    with P(κ|e) below it are left out of a child; `pruning`: how many bits about the classes of all examples that
    reach it a split must save, or be cut off again.
    """

    max_depth: int | None = None
    min_mass: float = 2.0
    min_gain: float = 1e-9
    epsilon: float = 1e-3
    pruning: float = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A node to be: the path κ to it, P(κ | e) for every example, and the tests that may still be asked."""

    path: Path
    reach: Floats
    tests: frozenset[NodeTest]


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The best test at a place: P(τ | κ, e), its gain in bits, and whether unseen examples vouched for it.

    `asked` is the candidate that is used up along the path; None where it may be asked again, as a number may.
    """

    test: NodeTest
    answers: Floats
    gain: float
    vouched: bool
    asked: NodeTest | None


class Learner(Protocol):
    """Trains the candidates at a node and scores them."""

    def masses(self, place: Place) -> Floats:
        """Σ P(κ|e) of each class, as far as the learner believes it."""
        ...

    def best(self, place: Place) -> Split | None:
        """The candidate with the highest information gain, trained; None where no test is worth asking."""
        ...


@dataclass(frozen=True, slots=True)
class _Grown:
    """A subtree, how many bits its leaves leave open, and how many of its splits nobody vouched for."""

    node: Node
    open_bits: float
    splits: int
    vouched: bool


def induce(
    learner: Learner, root: Place, settings: Settings, told: Callable[[Place, Split | None], None] | None = None
) -> Node:
    """Grow a tree from the top: the best test at each node, every example split fractionally, and so on down."""
    return _grow(learner, root, settings, told or (lambda *_: None)).node


def _grow(learner: Learner, place: Place, settings: Settings, told: Callable[[Place, Split | None], None]) -> _Grown:
    masses = learner.masses(place)
    leaf = _Grown(Leaf(leaf_estimate(masses)), float(masses.sum() * entropy(masses)), 0, False)
    if _stops(masses, place, settings):
        return leaf
    split = learner.best(place)
    told(place, split)
    if split is None or split.gain < settings.min_gain:
        return leaf
    yes, no = children(place, split, settings.epsilon)
    if min(learner.masses(yes).sum(), learner.masses(no).sum()) < settings.min_mass / 2:
        return leaf
    left, right = _grow(learner, yes, settings, told), _grow(learner, no, settings, told)
    grown = _Grown(
        Branch(split.test, left.node, right.node, split.gain),
        left.open_bits + right.open_bits,
        left.splits + right.splits + 1,
        split.vouched or left.vouched or right.vouched,
    )
    return grown if grown.vouched or _pays(leaf, grown, settings.pruning) else leaf


def _stops(masses: Floats, place: Place, settings: Settings) -> bool:
    deep = settings.max_depth is not None and len(place.path) >= settings.max_depth
    pure = np.count_nonzero(masses > 1e-9 * max(float(masses.sum()), 1e-300)) <= 1
    return deep or bool(pure) or float(masses.sum()) < settings.min_mass


def _pays(leaf: _Grown, grown: _Grown, price: float) -> bool:
    """Do the splits of a subtree save more bits about the training classes than they cost?"""
    return leaf.open_bits - grown.open_bits > price * grown.splits


def children(place: Place, split: Split, epsilon: float) -> tuple[Place, Place]:
    """κ∧τ and κ∧¬τ: every example goes both ways, in shares; what falls below ε stays out."""
    tests = place.tests - {split.asked} if split.asked is not None else place.tests
    sides = []
    for answer, share in ((True, split.answers), (False, 1.0 - split.answers)):
        reach = place.reach * share
        reach = np.where(reach >= epsilon, reach, 0.0)
        sides.append(replace(place, path=(*place.path, (split.test, answer)), reach=reach, tests=tests))
    return sides[0], sides[1]
