"""Pruning by cross-validation: the sequence of smaller trees, folds by content, and which tree is kept."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from neuid3 import Branch, Leaf, NeuID3Classifier, NeuID3Regressor
from neuid3.data.examples import Examples
from neuid3.errors import NeuID3Error
from neuid3.learning.grow import GrownSubtree, GrowthLimits, OpenNode, Split, grow_tree
from neuid3.learning.pruning import PruningSequence, content_folds, grow_worthwhile
from neuid3.learning.sample import Sample
from neuid3.tree.criteria import ClassCriterion, Target
from neuid3.tree.node_tests import AtomTest
from neuid3.tree.tree import Node


def grown_tree(rng: np.random.Generator, depth: int) -> GrownSubtree:
    """A random tree with random class masses at its leaves."""
    masses: list[np.ndarray] = []

    def node(left: int) -> Node:
        if left == 0 or rng.random() < 0.25:
            masses.append(rng.integers(0, 6, 3) + np.array([1.0, 0.0, 0.0]))
            return Leaf((1.0, 0.0, 0.0))
        return Branch(f"t{rng.integers(10**9)}", node(left - 1), node(left - 1))

    return GrownSubtree(node(depth), 0.0, False, (), tuple(masses))


def prunings(sequence: PruningSequence, node: int = 0) -> list[tuple[int, ...]]:
    """The leaves of every subtree that pruning can leave, by enumeration."""
    children = np.flatnonzero(sequence.parents == node)
    if not len(children):
        return [(node,)]
    below = product(*(prunings(sequence, int(child)) for child in children))
    return [(node,), *(tuple(leaf for part in parts for leaf in part) for parts in below)]


@given(st.integers(0, 10**6), st.floats(0.0, 4.0))
def test_the_tree_of_a_penalty_has_the_least_error_plus_penalty(seed: int, penalty: float) -> None:
    sequence = PruningSequence(grown_tree(np.random.default_rng(seed), 3), ClassCriterion(3))
    errors = ClassCriterion(3).squared_errors(sequence.statistics)
    costs = [errors[list(leaves)].sum() + penalty * len(leaves) for leaves in prunings(sequence)]
    chosen = sequence.leaves_at(penalty)
    assert errors[chosen].sum() + penalty * len(chosen) == pytest.approx(min(costs), abs=1e-9)


def test_penalties_are_those_of_scikit_learn() -> None:
    """Its cost-complexity path of the same tree, of which each step makes a node a leaf."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] + rng.normal(size=150) > 0)
    own = NeuID3Classifier(max_depth=4, pruning=0.0, criterion="gini").fit(X, y)
    leaves = tuple(np.array(leaf.masses) for leaf in own.tree_.leaves)
    sequence = PruningSequence(GrownSubtree(own.tree_.root, 0.0, False, (), leaves), ClassCriterion(3))
    found = np.unique(sequence.penalties[np.isfinite(sequence.penalties)] / 150)
    path = DecisionTreeClassifier(max_depth=4).cost_complexity_pruning_path(X, y).ccp_alphas
    np.testing.assert_allclose(found, np.unique(path[path > 0].round(12)), atol=1e-9)


def sample_of(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> Sample:
    examples = Examples({f"x{j}": column for j, column in enumerate(X.T)}, dict.fromkeys(("x0", "x1"), "number"))
    weights = np.ones(len(y)) if weights is None else weights
    return Sample(examples, Target(y, weights, ClassCriterion(2)), np.zeros(len(y), dtype=bool))


def test_folds_do_not_depend_on_how_often_or_where_a_row_stands() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 300, (60, 2)).astype(float), rng.integers(0, 2, 60)
    counts = rng.integers(1, 3, 60)
    folds = content_folds(sample_of(X, y, counts.astype(float)))
    assert folds is not None
    assert np.bincount(folds).min() >= 8
    order = rng.permutation(np.repeat(np.arange(60), counts))
    found = content_folds(sample_of(X[order], y[order]))
    assert found is not None
    assert (found == folds[order]).all()


def test_rows_with_equal_columns_are_in_one_fold_whatever_their_class() -> None:
    X = np.repeat(np.arange(40.0)[:, None], 2, axis=0).repeat(2, axis=1)
    folds = content_folds(sample_of(X, np.arange(80) % 2))
    assert folds is not None
    assert (folds[::2] == folds[1::2]).all()


def test_a_table_of_a_few_codes_has_no_folds() -> None:
    X = np.repeat(np.arange(30.0)[:, None], 9, axis=0).repeat(2, axis=1)
    assert content_folds(sample_of(X, np.arange(270) % 2)) is None


def test_a_tree_of_a_few_codes_is_not_pruned_by_folds_that_leave_out_whole_cells() -> None:
    """Folds of equal rows with their class once taught the opposite of what they held, and left a single leaf."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (2000, 3)).astype(float) + 2.0
    y = rng.random(2000) < np.where(X[:, 0] == 2, 0.3, 0.7)
    assert NeuID3Classifier(random_state=0).fit(X, y).score(X, y) > 0.65


@pytest.mark.parametrize("kind", [NeuID3Classifier, NeuID3Regressor])
def test_a_repeated_row_counts_as_a_row_of_double_weight(kind: Any) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 2)).round(1)
    y = (X[:, 0] > 0) ^ (rng.random(80) < 0.2) if kind is NeuID3Classifier else X[:, 0] + rng.normal(size=80).round(2)
    weights = rng.integers(1, 4, 80)
    weighted = kind(random_state=0).fit(X, y, sample_weight=weights)
    repeated = kind(random_state=0).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.tree_.tests == repeated.tree_.tests
    np.testing.assert_allclose(weighted.leaf_probabilities(X), repeated.leaf_probabilities(X))
    np.testing.assert_allclose(weighted.model_.predict(X).astype(float), repeated.model_.predict(X).astype(float))


def test_cross_validation_keeps_splits_that_bits_do_not_pay_for() -> None:
    """A checkerboard of 6 by 6 small fields: each cut is one of many, and no single one saves its bits."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 2))
    y = np.floor(X * 3).sum(1).astype(int) % 2
    short = NeuID3Classifier(pruning=0.75, random_state=0).fit(X, y)
    chosen = NeuID3Classifier(random_state=0).fit(X, y)
    new = rng.random((1000, 2))
    truth = np.floor(new * 3).sum(1).astype(int) % 2
    assert chosen.score(new, truth) >= short.score(new, truth)
    assert chosen.score(new, truth) > 0.85


def test_facts_and_given_numbers_are_pruned_by_description_length_alone() -> None:
    rng = np.random.default_rng(0)
    facts = {f"f{j}": rng.random(80) < 0.5 for j in range(4)}
    y = facts["f0"] ^ (rng.random(80) < 0.2)
    texts = {NeuID3Classifier(pruning=p, random_state=0).fit(facts, y).export_text() for p in (0.75, "auto")}
    assert len(texts) == 1
    with pytest.raises((NeuID3Error, ValueError), match="pruning"):
        NeuID3Classifier(pruning="cv").fit(facts, y)


class OfNoise:
    """The best of 20 random facts at each node, which counts each search."""

    def __init__(self, seed: int, signal: bool) -> None:
        rng = np.random.default_rng(seed)
        self.criterion, self.searches = ClassCriterion(2), 0
        self.labels = rng.integers(0, 2, 100)
        self.facts = rng.random((20, 100)) < 0.5
        if signal:
            self.facts[0] = (self.labels == 1) ^ (rng.random(100) < 0.2)

    def leaf_statistics(self, node: OpenNode) -> np.ndarray:
        return np.bincount(self.labels, node.reach, 2)

    def best_split(self, node: OpenNode) -> Split | None:
        self.searches += 1

        def gain(fact: int) -> float:
            held = self.facts[fact]
            yes, no = (np.bincount(self.labels, node.reach * part, 2) for part in (held, ~held))
            return float(self.criterion.gain(yes, no))

        best = max(range(20), key=gain)
        return Split(AtomTest(f"f{best}"), self.facts[best][node.rows], gain(best), False, None, 20)


def test_a_weak_penalty_grows_no_tree_where_a_strong_one_leaves_no_split() -> None:
    limits = GrowthLimits(min_mass=8.0, pruning=0.1)
    grew, kept = 0, 0  # trees of noise
    for seed in range(10):
        for signal in (False, True):
            learner = OfNoise(seed, signal)
            root = OpenNode.root(100)
            weak = grow_tree(learner, root, limits).node
            strong = grow_tree(learner, root, replace(limits, pruning=0.75)).node
            searches = learner.searches // 2
            found = grow_worthwhile(learner, root, limits, 0.75).node
            assert found == (weak if isinstance(strong, Branch) else strong)
            assert isinstance(found, Branch) or not signal
            assert learner.searches == 3 * searches  # each node is searched once for both penalties
            grew += isinstance(weak, Branch) and not signal
            kept += isinstance(found, Branch) and not signal
    assert kept < grew / 2
