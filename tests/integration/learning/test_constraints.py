"""Learned trees keep to monotone and interaction constraints, with missing entries and fractional examples."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from neuid3 import (
    Examples,
    NeuID3BoostingClassifier,
    NeuID3BoostingRegressor,
    NeuID3Classifier,
    NeuID3Error,
    NeuID3Regressor,
    RandomCandidates,
    check_monotone,
)
from neuid3.learning import NodeLearner, ReferenceSplitter
from neuid3.learning.grow import OpenNode
from neuid3.tree.tree import node_paths

KINDS = {"alarm": "probability"}
CONSTRAINTS = {"age": 1, "dose": -1, "smoker": 1, "alarm": 1}
BACKGROUND = "risk :- age > 40, smoker. risk :- age > 60, alarm. 0.7::weak :- dose < 2, smoker."


def table(seed: int, n: int = 80, missing: float = 0.2) -> tuple[dict[str, Any], np.ndarray]:
    """Numbers, a Boolean, a probability and a category, some of them missing; classes that keep to nothing in particular."""
    rng = np.random.default_rng(seed)
    age, dose, smoker = rng.integers(2, 8, n) * 10.0, rng.integers(0, 5, n) * 1.0, rng.random(n) < 0.5
    alarm, sex = rng.random(n).round(2), rng.choice(["f", "m"], n)
    score = 0.03 * (age - 50) - 0.3 * (dose - 2) * (sex == "f") + 0.8 * smoker * rng.choice([-1, 1], n) + alarm - 0.5
    y = score + rng.normal(0, 0.7, n) > 0

    def holes(values: Any) -> list[Any]:
        return [None if rng.random() < missing else value for value in values]

    columns = {name: holes(v.tolist()) for name, v in (("age", age), ("dose", dose), ("smoker", smoker), ("sex", sex))}
    return {**columns, "alarm": alarm.tolist()}, y


def grid() -> dict[str, list[Any]]:
    entries = {
        "age": [*range(15, 90, 10), None],
        "dose": [-1.0, 0.5, 2.5, 4.5, None],
        "smoker": [False, True, None],
        "sex": ["f", "m", None],
        "alarm": [0.2, 0.9],
    }
    rows = list(product(*entries.values()))
    return {name: [row[i] for row in rows] for i, name in enumerate(entries)}


def steps(values: np.ndarray, X: dict[str, list[Any]], column: str) -> np.ndarray:
    """Differences of predictions where a known entry of one column rises, and all others stay, missing ones too."""
    names = list(X)
    cube = values.reshape([len(dict.fromkeys(X[name])) for name in names])
    known = len([entry for entry in dict.fromkeys(X[column]) if entry is not None])
    return np.diff(np.take(cube, range(known), axis=names.index(column)), axis=names.index(column))


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3]), st.sampled_from(["entropy", "gini"]))
def test_learned_trees_are_monotone_everywhere(seed: int, pruning: float, criterion: str) -> None:
    X, y = table(seed)
    clf = NeuID3Classifier(
        background=BACKGROUND, monotonic_cst=CONSTRAINTS, pruning=pruning, criterion=criterion, random_state=0
    ).fit(Examples(X, kinds=KINDS), y)
    assert check_monotone(clf) is None
    table_of_all = grid()
    values = clf.predict_proba(Examples(table_of_all, kinds=KINDS))[:, 1]
    for column, direction in CONSTRAINTS.items():
        assert (direction * steps(values, table_of_all, column) >= -1e-9).all(), column


def test_trees_without_constraints_on_the_same_tables_are_not_monotone() -> None:
    X, y = table(0)
    clf = NeuID3Classifier(background=BACKGROUND, pruning=0, random_state=0).fit(Examples(X, kinds=KINDS), y)
    assert check_monotone(clf, CONSTRAINTS) is not None


def test_masses_of_leaves_stay_those_of_the_examples() -> None:
    X, y = table(1)
    clf = NeuID3Classifier(monotonic_cst={"age": -1}, pruning=0, random_state=0).fit(Examples(X, kinds=KINDS), y)
    assert sum(sum(leaf.masses or ()) for leaf in clf.tree_.leaves) == pytest.approx(len(y), abs=1.0)


def test_positive_class_is_that_of_pos_label() -> None:
    X, y = table(2, missing=0.0)
    for label in (False, True):
        clf = NeuID3Classifier(monotonic_cst={"age": 1}, pos_label=label, pruning=0.2, random_state=0)
        clf.fit(Examples(X, kinds=KINDS), y)
        assert check_monotone(clf) is None
        values = clf.predict_proba(Examples(grid(), kinds=KINDS))[:, int(label)]
        assert (steps(values, grid(), "age") >= -1e-9).all()


def test_accuracy_is_about_that_of_scikit_learn_under_the_same_constraints() -> None:
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(600, 3)), rng.normal(size=(2000, 3))
    y, y_new = (rng.random(len(x)) < 1 / (1 + np.exp(-2 * x[:, 0] + 2 * x[:, 1])) for x in (X, X_new))
    ours = NeuID3Classifier(monotonic_cst=[1, -1, 0], random_state=0).fit(X, y)
    theirs = DecisionTreeClassifier(max_leaf_nodes=len(ours.tree_.leaves), monotonic_cst=[1, -1, 0], random_state=0)
    assert ours.score(X_new, y_new) > theirs.fit(X, y).score(X_new, y_new) - 0.02


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1))
def test_fast_splitter_scores_under_bounds_as_the_reference_does(seed: int) -> None:
    X, y = table(seed, 40)
    gains: list[tuple[float, float]] = []
    best_split = NodeLearner.best_split

    def compared(self: NodeLearner, node: OpenNode) -> Any:
        offered = self.offered(node)
        fast, reference = (
            max((candidate.gain for candidate in splitter.candidates(node, offered)), default=0.0)
            for splitter in (self.symbolic, ReferenceSplitter(self.inference, 0.0))
        )
        gains.append((fast, reference))
        return best_split(self, node)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NodeLearner, "best_split", compared)
        clf = NeuID3Classifier(monotonic_cst=CONSTRAINTS, pruning=0, min_mass=0, max_depth=3, random_state=0)
        clf.fit(Examples(X, kinds=KINDS), y)
    assert gains
    for fast, reference in gains:
        assert fast == pytest.approx(reference, abs=1e-5)


# Interactions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", ["no_interactions", "pairwise", [["age", "smoker"], ["dose"]], [["age", 1, "sex"]]])
def test_paths_test_columns_of_one_group_only(groups: Any) -> None:
    X, y = table(3, 300)
    clf = NeuID3Classifier(interaction_cst=groups, pruning=0, random_state=0).fit(Examples(X, kinds=KINDS), y)
    names = list(clf.schema_)
    together = {
        frozenset(column for test, _ in path for column in clf.model_.columns_of(test))
        for path, _ in node_paths(clf.tree_.root)
    }
    match groups:
        case "no_interactions":
            assert max(map(len, together)) == 1
        case "pairwise":
            assert max(map(len, together)) == 2
        case _:
            listed = [frozenset(names[n] if isinstance(n, int) else n for n in group) for group in groups]
            rest = frozenset(names).difference(*listed)
            assert all(any(columns <= group for group in (*listed, rest)) for columns in together)
    assert clf.tree_.depth > 1


def test_constraints_hold_with_generators_and_are_cloned() -> None:
    X, y = table(4, 300)
    clf = NeuID3Classifier(
        tests=RandomCandidates(0.5), monotonic_cst={"age": 1}, interaction_cst="pairwise", pruning=0, random_state=0
    )
    clf = clone(clf).fit(Examples(X, kinds=KINDS), y)
    assert check_monotone(clf) is None
    for path, _ in node_paths(clf.tree_.root):
        assert len({column for test, _ in path for column in clf.model_.columns_of(test)}) <= 2


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"monotonic_cst": {"weight": 1}}, "weight"),
        ({"monotonic_cst": {"sex": 1}}, "category"),
        ({"monotonic_cst": {"age": 3}}, "3"),
        ({"monotonic_cst": {"age": 1}, "background": "middle :- age > 30, age < 50."}, "middle"),
        ({"monotonic_cst": {"age": 1, "dose": -1}, "background": "both :- age > 30, dose > 2."}, "contradicts"),
        ({"monotonic_cst": {"age": 1}, "background": "ahead :- age - dose > 40."}, "ahead"),
        ({"interaction_cst": "no_interactions", "background": "both :- age > 30, dose > 2."}, "both"),
        ({"interaction_cst": [["height"]]}, "height"),
    ],
)
def test_constraints_that_no_tree_can_keep_are_errors(parameters: dict[str, Any], named: str) -> None:
    X, y = table(5)
    with pytest.raises(NeuID3Error) as refused:
        NeuID3Classifier(**parameters).fit(Examples(X, kinds=KINDS), y)
    assert named in str(refused.value)


def test_more_than_two_classes_have_no_order() -> None:
    X, y = table(6)
    with pytest.raises(NeuID3Error, match="two classes"):
        NeuID3Classifier(monotonic_cst={"age": 1}).fit(Examples(X, kinds=KINDS), y + np.arange(len(y)) % 2)


def test_a_constraint_of_0_is_none() -> None:
    X, y = table(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        free = NeuID3Classifier(random_state=0).fit(Examples(X, kinds=KINDS), y)
        zero = NeuID3Classifier(monotonic_cst={"age": 0}, random_state=0).fit(Examples(X, kinds=KINDS), y)
    assert free.tree_ == zero.tree_


# Numbers -----------------------------------------------------------------------------------------


@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3]))
def test_predicted_numbers_are_monotone_everywhere(seed: int, pruning: float) -> None:
    X, y = table(seed)
    numbers = 10.0 * y + np.random.default_rng(seed).normal(0, 5, len(y))
    reg = NeuID3Regressor(background=BACKGROUND, monotonic_cst=CONSTRAINTS, pruning=pruning, random_state=0)
    reg.fit(Examples(X, kinds=KINDS), numbers)
    assert check_monotone(reg) is None
    table_of_all = grid()
    values = reg.predict(Examples(table_of_all, kinds=KINDS))
    for column, direction in CONSTRAINTS.items():
        assert (direction * steps(values, table_of_all, column) >= -1e-9).all(), column


def test_deviation_of_a_moved_leaf_is_that_of_its_examples_about_the_new_number() -> None:
    X = {"age": [1.0] * 4 + [2.0] * 4, "smoker": [True, True, False, False] * 2}
    y = np.array([5.0, 5.0, 0.0, 0.0, 2.0, 2.0, 9.0, 9.0])
    reg = NeuID3Regressor(
        monotonic_cst={"age": 1}, pruning=0, min_mass=0, tests=["age > 1.5", "smoker"], random_state=0
    )
    reg.fit(X, y)
    assert check_monotone(reg) is None
    deviations = {leaf.mean: leaf.deviation for leaf in reg.tree_.leaves}
    assert deviations[3.5] == pytest.approx(1.5, abs=1e-2)


# Sums of trees -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_sums_are_monotone_everywhere(seed: int) -> None:
    X, y = table(seed)
    given = Examples(X, kinds=KINDS)
    clf = NeuID3BoostingClassifier(
        background=BACKGROUND, monotonic_cst=CONSTRAINTS, max_splits=12, max_trees=6, cv=None, random_state=0
    ).fit(given, y)
    numbers = 10.0 * y + np.random.default_rng(seed).normal(0, 5, len(y))
    reg = NeuID3BoostingRegressor(monotonic_cst=CONSTRAINTS, max_splits=12, max_trees=6, cv=None, random_state=0)
    reg.fit(given, numbers)
    table_of_all = grid()
    X_all = Examples(table_of_all, kinds=KINDS)
    for estimator, values in ((clf, clf.predict_proba(X_all)[:, 1]), (reg, reg.predict(X_all))):
        assert check_monotone(estimator) is None
        assert len(estimator.sum_.trees) > 1
        for column, direction in CONSTRAINTS.items():
            assert (direction * steps(values, table_of_all, column) >= -1e-9).all(), column


def test_trees_of_a_sum_test_columns_of_one_group_only() -> None:
    X, y = table(3, 200)
    clf = NeuID3BoostingClassifier(interaction_cst="no_interactions", max_splits=20, cv=None, random_state=0)
    clf.fit(Examples(X, kinds=KINDS), y)
    for root in clf.sum_.trees:
        for path, _ in node_paths(root):
            assert len({column for test, _ in path for column in clf.model_.columns_of(test)}) <= 1


def test_sums_of_more_than_two_classes_have_no_order() -> None:
    X, y = table(6)
    with pytest.raises(NeuID3Error, match="two classes"):
        NeuID3BoostingClassifier(monotonic_cst={"age": 1}).fit(Examples(X, kinds=KINDS), y + np.arange(len(y)) % 2)
