"""Trees deeper than Python's stack: all that can be done with a tree can be done with them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from deep_trees import DEEP, chain, cuts, leaf_of_a_walk

from neuid3 import Branch, Leaf, Tree
from neuid3.circuits.conjunctions import factorise
from neuid3.circuits.reach import Reach
from neuid3.circuits.torch_arrays import torch_arrays
from neuid3.learning.joint import with_leaves
from neuid3.logic.formula import ColumnVariable, Literal
from neuid3.tree.criteria import ClassCriterion
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import branches, fold, node_paths, paths, preorder


# Nodes ----------------------------------------------------------------------------------------------
def test_a_deep_tree_is_compared_hashed_printed_pickled_and_copied() -> None:
    tree = chain([f"a{i}" for i in range(DEEP)])
    unpickled, copied = pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)
    assert unpickled == copied == tree
    assert hash(unpickled) == hash(copied) == hash(tree)
    assert repr(unpickled) == repr(tree)
    assert [branch.masses for branch in branches(unpickled.root)] == [branch.masses for branch in branches(tree.root)]
    assert tree.depth == len(tree.tests) == len(tree.leaves) - 1 == DEEP
    other = chain([f"a{i}" for i in range(DEEP - 1)] + ["b"])
    assert other != tree
    assert copy.copy(tree.root) is tree.root


def test_branches_are_compared_printed_and_copied_like_the_dataclasses_they_are() -> None:
    leaf = Leaf(0.5)
    branch = Branch("a", leaf, Branch("b", leaf, Leaf(0.25)), 0.5, (1.0, 2.0))
    assert branch == Branch("a", Leaf(0.5), Branch("b", Leaf(0.5), Leaf(0.25)), 0.5), "masses do not count"
    for other in (
        Branch("a", leaf, Branch("b", leaf, Leaf(0.25)), 0.25),
        Branch("c", leaf, Branch("b", leaf, Leaf(0.25)), 0.5),
        Branch("a", leaf, Branch("b", leaf, Leaf(0.75)), 0.5),
        Branch("a", leaf, leaf, 0.5),
        Branch("a", Branch("b", leaf, Leaf(0.25)), leaf, 0.5),
        leaf,
        "a",
    ):
        assert branch != other
        assert other != branch
    assert repr(Branch("a", Leaf(0.5), Leaf(1.0))) == (
        "Branch(test=AtomTest(atom='a', instances=()), yes=Leaf(probabilities=(0.5, 0.5)), "
        "no=Leaf(probabilities=(0.0, 1.0)), gain=None)"
    )
    unpickled = pickle.loads(pickle.dumps(branch))
    assert unpickled.yes is unpickled.no.yes, "what is shared stays shared"
    assert (unpickled.masses, unpickled.gain, unpickled.no.masses) == ((1.0, 2.0), 0.5, None)


def test_walks_number_nodes_from_the_root_and_agree_with_the_paths() -> None:
    root = Branch("a", Branch("b", Leaf(0.1), Leaf(0.2)), Leaf(0.3))
    visits = list(preorder(root))
    assert [visit.number for visit in visits] == [0, 1, 2, 3, 4]
    assert [visit.parent for visit in visits] == [None, 0, 1, 1, 0]
    assert [visit.depth for visit in visits] == [len(path) for path, _ in node_paths(root)] == [0, 1, 2, 2, 1]
    assert [node for _, node in node_paths(root)] == [visit.node for visit in visits]
    assert [[response for _, response in path] for path, _ in paths(root)] == [[True, True], [True, False], [False]]
    assert len(list(preorder(root, max_depth=1))) == 3
    shape = fold(root, lambda _, below: "." if below is None else f"({below[0]}{below[1]})")
    assert shape == "((..).)"
    assert fold(root, lambda _, below: 1 + sum(below or ()), max_depth=1) == 3


def test_leaves_are_replaced_from_left_to_right_at_any_depth() -> None:
    tree = chain([f"a{i}" for i in range(DEEP)])
    rows = np.stack((np.arange(DEEP + 1.0), np.full(DEEP + 1, 7.0)), axis=1)
    replaced = Tree(with_leaves(tree.root, rows, ClassCriterion(2)))
    expected = [tuple((row / row.sum()).tolist()) for row in rows]
    assert [leaf.probabilities for leaf in replaced.leaves] == expected
    assert replaced.tests == tree.tests


# Models ---------------------------------------------------------------------------------------------


def test_a_chain_of_cuts_predicts_what_a_walk_finds() -> None:
    model, X = cuts(300, rows=40)
    found = model.predict_proba(X)
    for row in range(len(X)):
        values: dict[NodeTest, bool] = {
            test: bool(X.column(test.column).values[row] <= test.threshold)  # type: ignore[attr-defined]
            for test in model.tree.tests
        }
        assert found[row].tolist() == pytest.approx(leaf_of_a_walk(model.tree, values))


# Products of many factors ---------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_products_with_common_beginnings_have_the_bits_of_products_one_by_one(dtype: torch.dtype) -> None:
    variables = [ColumnVariable(f"a{i}", 2) for i in range(60)]
    tests = [Literal(variable, frozenset({1})) for variable in variables]
    rng = np.random.default_rng(0)
    ways = [[(i, False) for i in range(k)] + [(k, True)] for k in range(59)]
    ways += [[(int(i), bool(i % 3)) for i in rng.permutation(60)[:40]] for _ in range(5)]

    class Weights:
        def __len__(self) -> int:
            return 7

        def weights(self, variable: Any) -> torch.Tensor:
            p = torch.tensor(np.random.default_rng(int(variable.column[1:])).random(7), dtype=dtype)
            return torch.stack((1 - p, p))

    reach = Reach(factorise(tests, ways), torch_arrays(dtype))
    one_by_one = reach(Weights())
    with torch.no_grad():
        assert reach.shared_steps is not None
        assert torch.equal(reach(Weights()), one_by_one.detach())
