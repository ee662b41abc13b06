"""Boosted sums of trees as immutable values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from neuid3.errors import TreeError
from neuid3.tree.leaves import LeafNode, Masses, checked_masses, register_leaf_kind
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Branch, Label, Node, Visit, branches, fold, preorder, test_names_of
from neuid3.utils.json_values import as_number

Floats = npt.NDArray[np.float64]


@register_leaf_kind("scores")
@dataclass(frozen=True, slots=True)
class ScoreLeaf(LeafNode):
    """A leaf of a tree in a sum, with what it adds to each score.

    Parameters
    ----------
    scores : what the leaf adds: to the log-odds of the second class, to the score of each of more than two classes, or to
        a number.
    masses : the mass Σ P(κ|e) of the training examples at the leaf, as a tuple with one number.

    >>> ScoreLeaf(0.25)
    ScoreLeaf(scores=(0.25,))
    """

    predicts_numbers: ClassVar[bool] = True

    scores: tuple[float, ...]
    masses: Masses | None = field(default=None, repr=False, compare=False)

    def __init__(self, scores: float | Sequence[float], masses: Masses | float | None = None) -> None:
        given = (scores,) if isinstance(scores, (int, float)) else tuple(scores)
        if not given or not all(isinstance(score, (int, float)) and math.isfinite(score) for score in given):
            raise TreeError(f"The scores {given!r:.80} of a leaf are invalid; give finite numbers.")
        object.__setattr__(self, "scores", tuple(float(score) for score in given))
        mass = (masses,) if isinstance(masses, (int, float)) else masses
        object.__setattr__(self, "masses", checked_masses(mass, "a leaf"))

    @property
    def value(self) -> tuple[float, ...]:
        """The scores."""
        return self.scores

    def check(self, classes: tuple[Any, ...], depth: int) -> None:
        """Raise a `TreeError`: a tree by itself has no scores.

        Parameters
        ----------
        classes : the classes of the tree.
        depth : its depth in the tree.

        Raises
        ------
        TreeError : always.
        """
        raise TreeError(
            f"A leaf at depth {depth} of a tree with classes {classes} adds to scores; put such a tree into a BoostedSum."
        )

    def to_json(self) -> dict[str, Any]:
        """The scores, as the field `scores`."""
        return {"scores": list(self.scores)}

    @classmethod
    def from_json(cls, json: Mapping[str, Any], masses: Masses | None) -> ScoreLeaf:
        """The inverse of `to_json`."""
        return cls(tuple(map(as_number, json["scores"])), masses)


@dataclass(frozen=True, slots=True)
class BoostedSum:
    """A sum of small trees: F(e) = F₀ + Σ_trees Σ_leaf P(leaf | e) · v, for each score.

    With two classes there is one score, the log-odds of the second; with more, one a class, whose softmax is the
    distribution of the classes; without classes, one, the number that is predicted.

    Parameters
    ----------
    trees : the roots of the trees; their leaves are `ScoreLeaf`s, which the learning rate is already part of.
    initial : F₀, one number a score.
    classes : the labels; empty for a sum that predicts numbers.
    learning_rate : the factor by which each tree was shrunk when it was learned.

    Raises
    ------
    TreeError : where there is one class, two are equal, or a leaf has another number of scores.

    >>> stump = Branch("alarm", ScoreLeaf(1.5), ScoreLeaf(-0.5))
    >>> BoostedSum((stump,), (0.25,), ("no", "yes")).splits
    1
    """

    trees: tuple[Node, ...]
    initial: tuple[float, ...]
    classes: tuple[Label, ...] = ()
    learning_rate: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "trees", tuple(self.trees))
        object.__setattr__(self, "classes", tuple(self.classes))
        object.__setattr__(self, "initial", tuple(float(score) for score in self.initial))
        object.__setattr__(self, "learning_rate", float(self.learning_rate))
        if len(self.classes) == 1 or len(set(self.classes)) < len(self.classes):
            raise TreeError(f"A sum has two or more different classes, or none for numbers; found {self.classes}.")
        if not all(math.isfinite(score) for score in self.initial):
            raise TreeError(f"The initial scores {self.initial} of a sum are not all finite; give finite numbers.")
        expected = len(self.classes) if len(self.classes) > 2 else 1
        if len(self.initial) != expected:
            raise TreeError(
                f"The sum has {len(self.initial)} initial scores; {len(self.classes)} classes need {expected}."
            )
        for root in self.trees:
            for visit in preorder(root):
                leaf = visit.node.summary if isinstance(visit.node, Branch) else visit.node
                if leaf is not None and not (isinstance(leaf, ScoreLeaf) and len(leaf.scores) == expected):
                    raise TreeError(
                        f"A tree of the sum holds {leaf!r:.60}; give each leaf a ScoreLeaf with {expected} scores."
                    )

    @property
    def predicts_numbers(self) -> bool:
        """Whether it predicts numbers; otherwise it predicts classes."""
        return not self.classes

    @property
    def score_names(self) -> tuple[str, ...]:
        """What each score is about: the class whose score it is; for two classes the second; empty for a number."""
        return tuple(map(str, self.classes if len(self.classes) > 2 else self.classes[1:])) or ("",)

    @property
    def tests(self) -> tuple[NodeTest, ...]:
        """The distinct tests of all trees, in the order of the trees."""
        return tuple(dict.fromkeys(branch.test for root in self.trees for branch in branches(root)))

    @property
    def test_names(self) -> dict[NodeTest, str]:
        """The name of each test, with the instances of networks that the sum has several of."""
        return test_names_of(self.tests)

    @property
    def splits(self) -> int:
        """The number of splits of all trees."""
        return sum(1 for root in self.trees for _ in branches(root))

    @property
    def depth(self) -> int:
        """The most tests on a path of a tree."""
        return max((visit.depth for root in self.trees for visit in preorder(root)), default=0)

    def merged(self) -> BoostedSum:
        """The same sum, in which trees that ask the same tests in the same places are one tree.

        Their leaves are added up, which changes no score. Trees without a test become part of F₀.

        Returns
        -------
        The sum, with its trees in the order in which each form first occurs.
        """
        forms: dict[tuple[Any, ...], list[Node]] = {}
        initial = np.array(self.initial)
        for root in self.trees:
            if isinstance(root, Branch):
                forms.setdefault(_form(root), []).append(root)
            else:
                initial += np.array(root.value)
        trees = tuple(_added(alike) for alike in forms.values())
        return replace(self, trees=trees, initial=tuple(initial.tolist()))


def _form(root: Node) -> tuple[Any, ...]:
    """The tests of a tree in preorder, None for a leaf; it determines the tree without its leaves' scores."""
    return tuple(v.node.test if isinstance(v.node, Branch) else None for v in preorder(root))


def _added(alike: Sequence[Node]) -> Node:
    """One tree for several of the same form."""
    if len(alike) == 1:
        return alike[0]
    totals = np.sum([[leaf.value for leaf in score_leaves(root)] for root in alike], axis=0)
    return with_scores(alike[0], totals)


def score_leaves(root: Node) -> Iterator[LeafNode]:
    """The leaves of a tree from left (all yes) to right (all no)."""
    return (visit.node for visit in preorder(root) if not isinstance(visit.node, Branch))


def with_scores(root: Node, scores: Floats, masses: Sequence[float] | None = None) -> Node:
    """A tree with these scores in its leaves, and in its branches the mean of those below, weighted by mass.

    Parameters
    ----------
    root : the tree; gains and network statistics stay as they are.
    scores : what each leaf adds, from left to right, `(leaf, score)`.
    masses : the mass of each leaf; by default those that the leaves have.

    Returns
    -------
    The new tree.
    """
    own = [leaf.mass or 0.0 for leaf in score_leaves(root)] if masses is None else masses
    reversed_leaves = iter(list(zip(scores.tolist(), own, strict=True))[::-1])

    def replaced(visit: Visit, below: tuple[Node, Node] | None) -> Node:
        node = visit.node
        if not isinstance(node, Branch):
            values, mass = next(reversed_leaves)
            return ScoreLeaf(tuple(values), float(mass))
        assert below is not None
        summary = mean_leaf([_summary(child) for child in below])
        return Branch(node.test, *below, node.gain, statistics=node.statistics, summary=summary)

    return fold(root, replaced)


def _summary(node: Node) -> LeafNode:
    if isinstance(node, Branch):
        assert node.summary is not None
        return node.summary
    return node


def mean_leaf(leaves: Sequence[LeafNode]) -> ScoreLeaf:
    """The mean of the scores of some leaves, weighted by their masses, or equally where there are none; and their mass."""
    masses = np.array([leaf.mass or 0.0 for leaf in leaves])
    total = float(masses.sum())
    weights = masses / total if total > 0 else np.full(len(leaves), 1.0 / len(leaves))
    return ScoreLeaf(tuple((weights @ np.array([leaf.value for leaf in leaves])).tolist()), total)


def with_summaries(root: Node) -> Node:
    """The same tree with a summary in every branch, which explanations compare its children with."""
    return with_scores(root, np.array([leaf.value for leaf in score_leaves(root)]))
