"""Goals that teach networks: sums of digits without labels of digits, and leaves that apply to some examples only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from neuid3 import GoalLeaf, NeuID3Classifier, NeuID3Regressor, load
from neuid3.training import TrainingConfig
from neuid3.tree.tree import Branch

DIGITS = """
nn(digit_net, [Image], D, [0, 1, 2]) :: digit(Image, D).
even(Image) :- digit(Image, D), 0 =:= D mod 2.
plus(A, B, Y) :- digit(A, X), digit(B, Z), Y is X + Z.
product(A, B, Y) :- digit(A, X), digit(B, Z), Y is X * Z.
add(Image, K, Y) :- digit(Image, D), Y is D + K.
"""
QUICK = TrainingConfig(epochs=20, restarts=2, joint_epochs=5, rounds=1)


def pairs(n: int, seed: int = 0) -> tuple[dict[str, Any], Any, Any]:
    """Two images a row, a switch, and the digits that the images show."""
    digits = load_digits(n_class=3)
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, len(digits.images), (2, n))
    images = (digits.images / 16).astype(np.float32)
    X = {"first": images[first], "second": images[second], "switch": rng.random(n) < 0.5}
    return X, digits.target[first], digits.target[second]


def test_digits_are_learned_from_sums_by_one_leaf(tmp_path: Path) -> None:
    X, one, other = pairs(300)
    clf = NeuID3Classifier(
        background=DIGITS, tests=[], leaves=["plus(first, second, Y)"], training=QUICK, random_state=0
    )
    clf.fit(X, one + other)
    assert isinstance(clf.tree_.root, GoalLeaf)
    assert clf.tree_.root.goal.label == "Y = digit(first) + digit(second)"
    assert clf.score(X, one + other) > 0.95
    assert clf.model_.verify(X, rows=3) < 1e-6
    again = load(clf.save(tmp_path / "sums"))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert "fixed" in clf.export_text()
    assert clf.audit(X).networks[0].short_form == "fixed"
    why = clf.explain(X, 0)
    assert f"plus(first,second,{one[0] + other[0]})" in str(why)


def test_a_test_with_networks_separates_the_examples_of_two_goals() -> None:
    X, one, other = pairs(500)
    y = np.where(one % 2 == 0, other, 5 + other)
    clf = NeuID3Classifier(
        background=DIGITS,
        tests=["even(first)", "even(second)", "switch"],
        leaves=["digit(+tensor, -class)", "plus(first, second, Y)", "add(second, 5, Y)", "add(second, 3, Y)"],
        training=QUICK,
        random_state=0,
    )
    clf.fit(X, y)
    root = clf.tree_.root
    assert isinstance(root, Branch)
    assert str(root.test) == "even(first)"
    assert [goal.text for goal in clf.tree_.goals] == ["digit(second, Y)", "add(second, 5, Y)"]
    assert len(clf.networks_) == 1  # one instance for the test and both goals
    assert clf.score(X, y) > 0.95
    assert set(clf.classes_) == set(range(8))


def test_numbers_are_sums_or_products_as_a_column_says() -> None:
    X, one, other = pairs(400)
    y = np.where(X["switch"], one * other, one + other).astype(float)
    reg = NeuID3Regressor(
        background=DIGITS,
        tests=["switch", "even(first)"],
        leaves=["plus(first, second, Y)", "product(first, second, Y)"],
        training=QUICK,
        random_state=0,
    )
    reg.fit(X, y)
    assert [goal.text for goal in reg.tree_.goals] == ["product(first, second, Y)", "plus(first, second, Y)"]
    assert np.sqrt(np.mean((reg.predict(X) - y) ** 2)) < 0.25


@pytest.mark.parametrize("moment", [1, 2])
def test_a_fit_with_goals_is_resumed_from_its_checkpoint(tmp_path: Path, moment: int) -> None:
    X, one, other = pairs(200)
    parameters: dict[str, Any] = {
        "background": DIGITS,
        "tests": [],
        "leaves": ["plus(first, second, Y)"],
        "training": TrainingConfig(epochs=3, restarts=1, joint_epochs=2, rounds=1),
        "random_state": 0,
    }
    first = NeuID3Classifier(**parameters).fit(X, one + other, checkpoint=tmp_path / "fit")
    for path in sorted((tmp_path / "fit").glob("tree-*"))[-moment:]:
        path.unlink()
    second = NeuID3Classifier(**parameters).fit(X, one + other, checkpoint=tmp_path / "fit")
    assert second.tree_ == first.tree_
    np.testing.assert_array_equal(second.predict_proba(X), first.predict_proba(X))
