"""Growth and pruning with a toy learner, whose test responses are given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from neuid3.learning.grow import GrowthLimits, OpenNode, Split, TimedLearner, grow_tree, split_node
from neuid3.tree.criteria import ClassCriterion
from neuid3.tree.node_tests import AtomTest
from neuid3.tree.tree import Branch, Leaf


@dataclass
class ToyLearner:
    """Tests are columns of probabilities; the best is the one with the highest gain."""

    responses: dict[AtomTest, np.ndarray]
    labels: np.ndarray
    validated: bool = False
    choices: int = 1
    classes: int = 2

    @property
    def criterion(self) -> ClassCriterion:
        return ClassCriterion(self.classes)

    def leaf_statistics(self, node: OpenNode) -> np.ndarray:
        return self._masses(node.reach)

    def _masses(self, reach: np.ndarray) -> np.ndarray:
        return np.bincount(self.labels, reach, self.classes)

    def best_split(self, node: OpenNode) -> Split | None:
        scored = []
        for test in sorted(self.responses.keys() - node.used, key=str):
            p = self.responses[test]
            scored.append(
                (float(self.criterion.gain(self._masses(node.reach * p), self._masses(node.reach * (1 - p)))), test)
            )
        if not scored:
            return None
        gain, test = max(scored, key=lambda pair: pair[0])
        return Split(test, self.responses[test][node.rows], gain, self.validated, test, self.choices)


A, B = AtomTest("a"), AtomTest("b")


AND = np.array([0, 0, 0, 1] * 4)


FACTS = {A: np.array([0.0, 0.0, 1.0, 1.0] * 4), B: np.array([0.0, 1.0, 0.0, 1.0] * 4)}


def root(learner: ToyLearner) -> OpenNode:
    return OpenNode.root(len(learner.labels))


def test_a_conjunction_is_found() -> None:
    learner = ToyLearner(FACTS, AND)
    tree = grow_tree(learner, root(learner), GrowthLimits()).node
    assert isinstance(tree, Branch)
    assert isinstance(tree.yes, Branch)
    assert {tree.test, tree.yes.test} == {A, B}
    assert tree.yes.yes == Leaf(1.0)
    assert tree.no == Leaf(0.0)


def test_a_used_test_is_no_candidate_below() -> None:
    noisy = {A: np.full(16, 0.5) + 0.4 * (AND - 0.5)}
    learner = ToyLearner(noisy, AND)
    tree = grow_tree(learner, root(learner), GrowthLimits(pruning=0.0)).node
    assert isinstance(tree, Branch)
    assert isinstance(tree.yes, Leaf)
    assert isinstance(tree.no, Leaf)


def test_depth_and_mass_stop_the_growth() -> None:
    learner = ToyLearner(FACTS, AND)
    assert isinstance(grow_tree(learner, root(learner), GrowthLimits(max_depth=0)).node, Leaf)
    shallow = grow_tree(learner, root(learner), GrowthLimits(max_depth=1, pruning=0.0)).node
    assert isinstance(shallow, Branch)
    assert isinstance(shallow.yes, Leaf)
    assert isinstance(grow_tree(learner, root(learner), GrowthLimits(min_mass=100.0)).node, Leaf)


def test_splits_that_save_too_few_bits_are_pruned_unless_they_are_validated() -> None:
    labels = np.array([0, 1] * 8)
    slight = {A: np.array([0.0, 1.0] * 2 + [0.0, 0.0, 1.0, 1.0] * 3)}
    learner = ToyLearner(slight, labels)
    assert isinstance(grow_tree(learner, root(learner), GrowthLimits(pruning=5.0)).node, Leaf)
    assert isinstance(grow_tree(learner, root(learner), GrowthLimits(pruning=0.0)).node, Branch)
    validated = ToyLearner(slight, labels, validated=True)
    assert isinstance(grow_tree(validated, root(validated), GrowthLimits(pruning=5.0)).node, Branch)


def test_every_example_reaches_both_children_fractionally_unless_below_epsilon() -> None:
    node = OpenNode.root(2)
    yes, no = split_node(node, Split(A, np.array([0.7, 0.9999]), 0.1, False, A), min_reach=1e-3)
    assert yes.reach == pytest.approx([0.7, 0.9999])
    assert no.reach == pytest.approx([0.3, 0.0])
    assert yes.path == ((A, True),)
    assert no.used == {A}


def test_a_split_chosen_among_many_must_save_more() -> None:
    labels = np.array([0] * 6 + [1] * 6)
    found = {A: np.array([1.0] * 5 + [0.0] * 6 + [1.0])}
    for choices, kept in ((2, True), (10_000, False)):
        learner = ToyLearner(found, labels, choices=choices)
        assert isinstance(grow_tree(learner, root(learner), GrowthLimits()).node, Branch) is kept


def test_a_node_of_two_classes_is_not_charged_for_the_others() -> None:
    """Ten classes are known, and two of them reach the node."""
    labels = np.array([0] * 4 + [1] * 4)
    for classes in (2, 10):
        learner = ToyLearner({A: (labels == 0).astype(float)}, labels, choices=8, classes=classes)
        assert isinstance(grow_tree(learner, root(learner), GrowthLimits()).node, Branch)


def test_a_learner_whose_time_is_up_splits_no_further() -> None:
    learner = ToyLearner(FACTS, AND)
    for nodes in (0, 1, 2):
        moments = iter([False] * nodes + [True] * 9)
        timed = TimedLearner(learner, lambda moments=moments: next(moments))
        tree = grow_tree(timed, root(learner), GrowthLimits(pruning=0.0)).node
        whole = grow_tree(learner, root(learner), GrowthLimits(pruning=0.0)).node
        if nodes == 0:
            assert isinstance(tree, Leaf)
            assert timed.skipped_nodes == 1
        elif nodes == 1:
            assert isinstance(tree, Branch)
            assert isinstance(whole, Branch)
            assert tree.test == whole.test
            assert isinstance(tree.yes, Leaf)
        else:
            assert tree == whole
            assert timed.skipped_nodes == 0
