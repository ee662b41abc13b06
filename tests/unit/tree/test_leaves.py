"""Kinds of leaves: trees hold, compare, save and copy any of them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from neuid3 import Branch, Leaf, NumberLeaf, Tree
from neuid3.errors import ModelFileError, TreeError
from neuid3.io.serialize import tree_from_json, tree_to_json
from neuid3.tree import LeafNode, register_leaf_kind
from neuid3.tree.leaves import Masses, leaf_moments
from neuid3.tree.tree import paths, preorder


def number_tree() -> Tree:
    left = Branch("b", NumberLeaf(3.0, 0.5, 2), NumberLeaf(-1.0, 0.25, 3.0), 0.4, summary=NumberLeaf(0.6, 2.0, 5))
    return Tree(Branch("a", left, NumberLeaf(1e9, 1.0, (4.0,)), 0.9, summary=NumberLeaf(1.0, 3.0, (9.0,))))


def test_a_tree_of_numbers_has_no_classes_and_says_so() -> None:
    tree = number_tree()
    assert tree.predicts_numbers
    assert tree.classes == ()
    assert [leaf.value for leaf in tree.leaves] == [(3.0, 0.5), (-1.0, 0.25), (1e9, 1.0)]
    assert [visit.node.masses for visit in preorder(tree.root)] == [(9.0,), (5.0,), (2.0,), (3.0,), (4.0,)]
    assert not Tree(Leaf(0.5)).predicts_numbers


def test_trees_of_numbers_are_compared_hashed_pickled_copied_and_saved() -> None:
    tree = number_tree()
    other = Tree(Branch("a", NumberLeaf(3.0, 0.5), NumberLeaf(1e9, 1.0), 0.9))
    assert tree != other
    for same in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree), tree_from_json(tree_to_json(tree))):
        assert same == tree
        assert hash(same) == hash(tree)
        assert repr(same) == repr(tree)
        kept = [(visit.node.masses, getattr(visit.node, "summary", None)) for visit in preorder(same.root)]
        assert kept == [(visit.node.masses, getattr(visit.node, "summary", None)) for visit in preorder(tree.root)]


def test_masses_of_a_branch_of_classes_are_its_summary() -> None:
    branch = Branch("a", Leaf(0.9), Leaf(0.1), 0.5, (1.0, 3.0))
    assert branch.summary == Leaf(0.75)
    assert branch.masses == (1.0, 3.0)
    assert tree_to_json(Tree(branch))["nodes"][0]["masses"] == [1.0, 3.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NumberLeaf(np.inf), "The mean inf of a leaf is invalid"),
        (lambda: NumberLeaf("3"), "The mean '3' of a leaf is invalid"),  # type: ignore[arg-type]
        (lambda: NumberLeaf(1.0, -1.0), "The deviation -1.0 of a leaf is invalid; give a number that is 0 or more"),
        (lambda: NumberLeaf(1.0, 1.0, -2.0), "The masses"),
        (lambda: Tree(NumberLeaf(1.0), ("a", "b")), "says the number 1 and the tree has the classes"),
        (lambda: Tree(Branch("a", NumberLeaf(1.0), Leaf(0.5))), "at least two different classes"),
        (lambda: Tree(Leaf(0.5), ()), "at least two different classes"),
        (lambda: Tree(NumberLeaf(1.0, 1.0, (1.0, 2.0))), "has 2 masses; give it one mass"),
    ],
)
def test_leaves_that_do_not_fit_are_refused(make: Any, message: str) -> None:
    with pytest.raises(TreeError, match=message):
        make()


@register_leaf_kind("test_shifted")
@dataclass(frozen=True, slots=True)
class Shifted(LeafNode):
    """A kind of leaf of a test's own."""

    shift: float
    masses: Masses | None = None

    @property
    def value(self) -> tuple[float, ...]:
        return (0.5 + self.shift, 0.5 - self.shift)

    def check(self, classes: tuple[Any, ...], depth: int) -> None:
        if len(classes) != 2:
            raise TreeError(f"a shifted leaf at depth {depth} needs two classes")

    def to_json(self) -> dict[str, Any]:
        return {"test_shifted": self.shift}

    @classmethod
    def from_json(cls, json: Mapping[str, Any], masses: Masses | None) -> Shifted:
        return cls(float(json["test_shifted"]), masses)


def test_a_tree_takes_leaves_of_another_kind() -> None:
    tree = Tree(Branch("a", Shifted(0.25), Branch("b", Leaf(0.5), Shifted(-0.25, (1.0, 2.0)))))
    assert [leaf.value for _, leaf in paths(tree.root)] == [(0.75, 0.25), (0.5, 0.5), (0.25, 0.75)]
    for same in (pickle.loads(pickle.dumps(tree)), tree_from_json(tree_to_json(tree))):
        assert same == tree
        assert same.leaves[2].masses == (1.0, 2.0)
    with pytest.raises(TreeError, match="needs two classes"):
        Tree(Shifted(0.1), ("a", "b", "c"))
    with pytest.raises(TreeError, match="The kind of leaf 'number' belongs to NumberLeaf"):
        register_leaf_kind("number")(Shifted)


def test_a_kind_of_leaf_that_is_not_registered_is_named() -> None:
    json = tree_to_json(Tree(Leaf(0.5)))
    json["nodes"] = [{"novel": 3}]
    with pytest.raises(
        ModelFileError, match="A node has the fields novel, which are those of no registered kind of leaf"
    ):
        tree_from_json(json)


def test_moments_of_a_mixture_are_the_mixture_of_moments() -> None:
    rng = np.random.default_rng(0)
    leaves = [NumberLeaf(1e9 + mean, deviation) for mean, deviation in rng.uniform(0.0, 3.0, (4, 2))]
    weights = rng.dirichlet(np.ones(4))
    first, second = weights @ leaf_moments(leaves, 1e9)
    draws = np.concatenate(
        [rng.normal(leaf.mean - 1e9, leaf.deviation, int(4e5 * w)) for leaf, w in zip(leaves, weights, strict=True)]
    )
    assert first == pytest.approx(draws.mean(), abs=0.02)
    assert second - first**2 == pytest.approx(draws.var(), rel=0.02)
