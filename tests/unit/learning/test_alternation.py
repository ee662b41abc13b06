"""Choices of the alternation between trees, with made-up likelihoods of validation examples."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from torch import nn

from neuid3 import Branch, Examples, Leaf, LeNet
from neuid3.learning.alternation import Alternation, TrainedTree
from neuid3.learning.grow import GrowthLimits
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.progress import SilentProgress
from neuid3.learning.sample import Instance, Sample
from neuid3.networks.residual import ResidualNet
from neuid3.tree.criteria import ClassCriterion, Target
from neuid3.tree.node_tests import AtomTest
from neuid3.tree.tree import Node

VALIDATION = 100


def tree(leaves: int, likelihood: float, spread: float = 0.1) -> TrainedTree:
    """A tree with so many leaves; validation examples have this mean log-likelihood, half of them `spread` more or less.

    Against a tree of spread 0, the standard error of the mean difference is a tenth of the spread.
    """
    root: Node = Leaf(0.5)
    for i in range(leaves - 1):
        root = Branch(f"fact{i}", Leaf(0.9), root)
    signs = np.where(np.arange(VALIDATION) % 2, 1.0, -1.0)
    return TrainedTree(root, (), {}, {}, likelihood + spread * signs)


class Scripted(Alternation):
    """An alternation whose regrown trees are given; None ends them."""

    def __init__(self, *regrown: TrainedTree | None, rounds: int = 4, seconds: int = 99) -> None:
        sample = Sample(
            Examples({"fact": np.arange(VALIDATION) % 2 == 0}),
            Target(np.arange(VALIDATION) % 2, np.ones(VALIDATION), ClassCriterion(2)),
            np.ones(VALIDATION, dtype=bool),
        )
        learner = SimpleNamespace(
            inference=SimpleNamespace(sample=sample), config=SimpleNamespace(rounds=rounds), progress=SilentProgress()
        )
        self.rounds_grown, self.restored, self.seconds = 0, cast("list[TrainedTree]", []), seconds
        self.script = regrown
        super().__init__(cast("NodeLearner", learner), GrowthLimits(), self._is_over)

    def _is_over(self) -> bool:
        self.seconds -= 1
        return self.seconds < 0

    def regrown(self, known: TrainedTree | None = None) -> TrainedTree | None:  # noqa: ARG002
        self.rounds_grown += 1
        return self.script[self.rounds_grown - 1]

    def restore(self, tree: TrainedTree) -> None:
        self.restored.append(tree)


BEFORE = tree(4, -0.5, 0.0)


@pytest.mark.parametrize(
    ("regrown", "is_better"),
    [
        (tree(4, -0.499), True),
        (tree(9, -0.499), True),
        (tree(4, -0.5, 0.0), False),
        (tree(4, -0.501), False),
        (tree(9, -0.501), False),
        (tree(3, -0.501), True),
        (tree(3, -0.519), True),
        (tree(3, -0.521), False),
        (tree(1, -0.501), False),
        (tree(1, -0.1), False),
    ],
    ids=[
        "likelier",
        "likelier and larger",
        "the same",
        "less likely",
        "less likely and larger",
        "smaller and hardly less likely",
        "smaller and not clearly less likely",
        "smaller and clearly less likely",
        "a leaf, hardly less likely",
        "a leaf, though likelier",
    ],
)
def test_a_regrown_tree_remains_where_it_is_likelier_or_smaller_and_not_clearly_worse(
    regrown: TrainedTree, is_better: bool
) -> None:
    alternation = Scripted(regrown, None)
    assert alternation.improved(BEFORE) is (regrown if is_better else BEFORE)
    assert alternation.rounds_grown == (2 if is_better else 1), "the first tree that is no better is the last"
    assert alternation.restored == [regrown if is_better else BEFORE], "with the networks of the tree that remains"


def test_there_are_no_more_rounds_than_allowed() -> None:
    trees = [tree(4, -0.4 + 0.01 * i) for i in range(5)]
    for rounds in range(4):
        alternation = Scripted(*trees, rounds=rounds)
        assert alternation.improved(BEFORE) is ([BEFORE, *trees][rounds])
        assert alternation.rounds_grown == rounds


def test_no_round_begins_when_time_is_up() -> None:
    trees = [tree(4, -0.4), tree(4, -0.3), tree(4, -0.2)]
    alternation = Scripted(*trees, seconds=2)
    assert alternation.improved(BEFORE) is trees[1]
    assert Scripted(*trees, seconds=0).improved(BEFORE) is BEFORE


@pytest.mark.parametrize(
    ("small", "large", "remains"),
    [
        (tree(3, -0.50, 0.0), tree(5, -0.495), "small"),
        (tree(3, -0.50, 0.0), tree(5, -0.485), "large"),
        (tree(3, -0.50, 0.0), tree(5, -0.6), "small"),
    ],
    ids=["by half a standard error", "by one and a half", "less likely"],
)
def test_of_two_starts_the_smaller_tree_remains_unless_the_larger_is_likelier_by_a_standard_error(
    small: TrainedTree, large: TrainedTree, remains: str
) -> None:
    chosen: Any = {"small": small, "large": large}[remains]
    assert Scripted().better(small, large) is chosen
    assert Scripted().better(large, small) is chosen


def test_a_second_start_that_ends_in_a_leaf_replaces_no_tree() -> None:
    assert Scripted().better(tree(1, -0.5, 0.0), BEFORE) is BEFORE
    leaf = tree(1, -0.6, 0.0)
    assert Scripted().better(tree(3, -0.5), leaf).size == 3


def test_a_tree_is_sufficient_that_explains_nine_tenths_of_the_entropy(monkeypatch: pytest.MonkeyPatch) -> None:
    alternation = Scripted()
    monkeypatch.setattr(alternation, "without_tree", lambda: tree(1, -1.0, 0.0))
    assert alternation.is_sufficient(tree(3, -0.099))
    assert not alternation.is_sufficient(tree(3, -0.101))


def with_network(module: nn.Module, likelihood: float, frozen: bool = False) -> TrainedTree:
    """A tree of one test, which calls this network."""
    root = Branch(AtomTest("red(photo)").bind({"red_net": "red_net#1"}), Leaf(0.9), Leaf(0.1))
    instances = {"red_net#1": Instance(module, "red_net", frozenset({"photo"}), frozen)}
    return TrainedTree(root, (), instances, {}, np.full(VALIDATION, likelihood))


def test_a_tree_of_networks_with_batch_normalisation_is_sufficient_where_it_explains_half_of_the_entropy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alternation = Scripted()
    monkeypatch.setattr(alternation, "without_tree", lambda: tree(1, -1.0, 0.0))
    for likelihood, is_enough in ((-0.49, True), (-0.51, False)):
        assert alternation.is_sufficient(with_network(ResidualNet(1), likelihood)) is is_enough
        assert not alternation.is_sufficient(with_network(LeNet(1), likelihood))
        assert not alternation.is_sufficient(with_network(ResidualNet(1), likelihood, frozen=True))
