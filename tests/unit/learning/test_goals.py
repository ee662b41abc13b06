"""Goals in leaves: scores of splits, the choice of leaves, classes that join, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuid3 import GoalLeaf, Leaf, NeuID3Classifier, NeuID3Regressor, load
from neuid3.errors import DataError, NeuID3Error, NodeTestError
from neuid3.learning.goals import GoalCriterion, Option
from neuid3.tree.criteria import ClassCriterion
from neuid3.tree.goals import Goal
from neuid3.tree.tree import Branch

RULES = """
steps(a, 1). steps(b, 2). steps(c, 4). steps(other, 0).
fare(Y) :- zone(Z), steps(Z, N), Y is 2 * N.
late_fare(Y) :- fare(F), Y is F + 3.
"""
LEAVES = ["fare(Y)", "late_fare(Y)"]


def trips(n: int = 300, wrong: float = 0.0, seed: int = 0) -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(seed)
    X = {"zone": rng.choice(["a", "b", "c"], n), "late": rng.random(n) < 0.3, "member": rng.random(n) < 0.5}
    steps = np.array([{"a": 1, "b": 2, "c": 4}[zone] for zone in X["zone"]])
    y = 2 * steps + np.where(X["late"], 3, 0)
    return X, np.where(rng.random(n) < wrong, rng.permutation(y), y)


def fitted(leaves: list[str] | None = None, wrong: float = 0.0, labels: Any = None, **more: Any) -> NeuID3Classifier:
    X, y = trips(wrong=wrong)
    y = y if labels is None else labels(y)
    return NeuID3Classifier(background=RULES, leaves=LEAVES if leaves is None else leaves, random_state=0, **more).fit(
        X, y
    )


# What is learned ------------------------------------------------------------------------------------


def test_a_test_separates_the_examples_of_two_goals() -> None:
    root = fitted().tree_.root
    assert isinstance(root, Branch)
    assert str(root.test) == "late"
    assert isinstance(root.yes, GoalLeaf)
    assert isinstance(root.no, GoalLeaf)
    assert [leaf.goal.text for leaf in (root.yes, root.no)] == ["late_fare(Y)", "fare(Y)"]


def test_noise_is_the_share_of_examples_that_do_not_fit() -> None:
    clf = fitted(wrong=0.2)
    X, y = trips(wrong=0.2)
    goal = [leaf for leaf in clf.tree_.leaves if isinstance(leaf, GoalLeaf)]
    assert len(goal) == 2
    # A permuted label is right by chance sometimes, and the class distribution of the node explains some of the others.
    for leaf, late in zip(goal, (True, False), strict=True):
        rows = X["late"] == late
        agree = np.mean(y[rows] == trips()[1][rows])
        assert 1.0 - agree <= leaf.noise <= 2.0 * (1.0 - agree)


def test_goals_that_fit_nothing_leave_the_tree_as_it_is() -> None:
    rng = np.random.default_rng(1)
    X, _ = trips()
    y = np.where(X["late"], 4, np.where(X["member"], 2, 8))
    y = np.where(rng.random(300) < 0.1, 2, y)
    with_goals = NeuID3Classifier(background=RULES, leaves=["fare(Y)"], random_state=0).fit(X, y)
    assert not with_goals.tree_.goals
    assert {str(test) for test in with_goals.tree_.tests} == {"late", "member"}


def test_one_leaf_with_a_goal_is_a_tree() -> None:
    X, _ = trips()
    y = 2 * np.array([{"a": 1, "b": 2, "c": 4}[zone] for zone in X["zone"]])
    clf = NeuID3Classifier(background=RULES, tests=[], leaves=["fare(Y)"]).fit(X, y)
    assert isinstance(clf.tree_.root, GoalLeaf)
    assert clf.score(X, y) == 1.0


def test_modes_with_a_class_stand_for_goals() -> None:
    rng = np.random.default_rng(0)
    X = {name: rng.choice(["low", "high"], 100) for name in ("left", "right")}
    rules = "level(low, 1). level(high, 2). level(other, 3). of(left, Y) :- left(V), level(V, Y)."
    rules += " of(right, Y) :- right(V), level(V, Y)."
    y = np.where(X["right"] == "low", 1, 2)
    for parameters in ({"leaves": ["of(+category, -class)"]}, {"modes": ["of(+[left, right], -class)"]}):
        clf = NeuID3Classifier(background=rules, **parameters).fit(X, y)
        assert clf.tree_.goals == (Goal("of(right, Y)"),)


# Classes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (lambda y: y, [0, 2, 3, 4, 5, 7, 8, 11]),
        (lambda y: y.astype(float), [0.0, 2.0, 3.0, 4.0, 5.0, 7.0, 8.0, 11.0]),
        (lambda y: y.astype(str), ["0", "11", "2", "3", "4", "5", "7", "8"]),
        (lambda y: y.astype(str).astype(object), ["0", "11", "2", "3", "4", "5", "7", "8"]),
    ],
)
def test_values_without_a_row_join_the_classes(labels: Any, expected: list[Any]) -> None:
    clf = fitted(labels=labels)
    X, y = trips()
    assert clf.classes_.tolist() == expected
    assert clf.classes_.dtype.kind == labels(y).dtype.kind
    assert clf.predict_proba(X).shape == (300, 8)
    np.testing.assert_array_equal(clf.predict(X), labels(y))
    unseen = clf.predict({"zone": ["nowhere"], "late": [True], "member": [False]})
    assert str(unseen[0]).removesuffix(".0") == "3"


def test_class_weights_and_the_positive_label_keep_their_classes() -> None:
    clf = fitted(class_weight={2: 3.0, 4: 1.0, 5: 1.0, 7: 1.0, 8: 1.0, 11: 1.0}, pos_label=4)
    assert dict(zip(clf.classes_.tolist(), clf.class_weights_.tolist(), strict=True))[2] == 3.0
    X, y = trips()
    assert clf.score(X, y) == 1.0


# Files --------------------------------------------------------------------------------------------------


def test_a_classifier_with_goals_is_saved_exported_and_resumed(tmp_path: Path) -> None:
    X, y = trips(wrong=0.1)
    clf = NeuID3Classifier(background=RULES, leaves=LEAVES, random_state=0)
    clf.fit(X, y, checkpoint=tmp_path / "fit")
    again = NeuID3Classifier(background=RULES, leaves=LEAVES, random_state=0).fit(X, y, checkpoint=tmp_path / "fit")
    loaded = load(clf.save(tmp_path / "model"))
    for other in (again, loaded):
        assert other.tree_ == clf.tree_
        np.testing.assert_array_equal(other.predict_proba(X), clf.predict_proba(X))
    assert loaded.leaves == LEAVES
    assert clf.model_.verify(X, rows=3) < 1e-9
    with pytest.raises(NeuID3Error):
        NeuID3Classifier(background=RULES, leaves=LEAVES[:1], random_state=0).fit(X, y, checkpoint=tmp_path / "fit")


# Numbers ------------------------------------------------------------------------------------------------


def test_a_regressor_predicts_the_expected_value_of_its_goals() -> None:
    X, y = trips()
    rng = np.random.default_rng(2)
    reg = NeuID3Regressor(background=RULES, leaves=LEAVES, random_state=0).fit(X, y + rng.normal(0.0, 0.2, 300))
    leaves = reg.tree_.leaves
    assert all(isinstance(leaf, GoalLeaf) for leaf in leaves)
    for leaf in leaves:
        assert isinstance(leaf, GoalLeaf)
        assert 0.1 < leaf.deviation < 0.3
    means, deviations = reg.predict(X, return_std=True)
    np.testing.assert_allclose(means, y, atol=0.3)
    assert (deviations >= 0.1).all()


# What is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("leaves", "message"),
    [
        ("fare(Y)", "must be an instance of 'list'"),
        ([3], r"leaves\[0\] is a int; give a goal as a string"),
        (["fare(2)"], "has no variable; leave one argument open"),
        (["price(Y)"], "uses 'price/1', which nothing defines"),
        (["steps(b, Y)"], "gives no|has the values 2"),
        (["zone(Y)"], "has the values a, b, c, other, and none of them is a class of y"),
        (["fare(-class, -class)"], "has several -class"),
    ],
)
def test_bad_leaves_are_refused(leaves: Any, message: str) -> None:
    X, y = trips()
    if leaves == ["steps(b, Y)"]:
        y = y + 100
    with pytest.raises((NodeTestError, DataError, ValueError), match=message):
        NeuID3Classifier(background=RULES, leaves=leaves).fit(X, y)


def test_names_cannot_join_numbers() -> None:
    X, y = trips()
    rules = RULES + "odd(Y) :- fare(Y), Y > 0. odd(none) :- fare(0)."
    with pytest.raises(DataError, match="has the value 'none', which cannot be a class beside 2"):
        NeuID3Classifier(background=rules, leaves=["odd(Y)"]).fit(X, y)
    with pytest.raises(NodeTestError, match="has the value 'none', and a regressor predicts numbers"):
        NeuID3Regressor(background=rules, leaves=["odd(Y)"]).fit(X, y)


# The criterion ------------------------------------------------------------------------------------------


def criterion() -> GoalCriterion:
    options = (Option(Goal("one(Y)"), 0.1, 0.0), Option(Goal("other(Y)"), 0.1, 0.0))
    return GoalCriterion(ClassCriterion(3), options, 2, "int64")


@pytest.mark.parametrize("seed", range(5))
def test_gains_are_never_negative_and_statistics_add_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    targets = np.column_stack((rng.integers(0, 3, 50), rng.exponential(1.0, (50, 2))))
    weights, responses = rng.random(50), rng.random((20, 50))
    scored = criterion()
    total = scored.sums(targets, weights)
    for response in responses:
        yes, no = scored.sums(targets, weights * response), scored.sums(targets, weights * (1.0 - response))
        np.testing.assert_allclose(yes + no, total)
        plain = [scored.base.entropy(side[:3]) for side in (yes, no)]
        bits = [min(p, *(side[3:] / side[:3].sum())) for p, side in zip(plain, (yes, no), strict=True)]
        mass = np.array([yes[:3].sum(), no[:3].sum()])
        before = min(scored.base.entropy(total[:3]), *(total[3:] / total[:3].sum()))
        gain = float(scored.gain(yes, no))
        assert gain == pytest.approx(before - mass @ bits / mass.sum(), abs=1e-9)
        assert gain >= 0.0


def test_the_leaf_of_a_node_has_the_goal_of_the_fewest_bits() -> None:
    scored = criterion()
    goal = scored.leaf(np.array([2.0, 2.0, 2.0, 9.0, 1.0]))
    assert isinstance(goal, GoalLeaf)
    assert goal.goal == Goal("other(Y)")
    assert goal.otherwise == Leaf((1 / 3, 1 / 3, 1 / 3))
    assert isinstance(scored.leaf(np.array([6.0, 0.0, 0.0, 9.0, 1.0])), Leaf)
