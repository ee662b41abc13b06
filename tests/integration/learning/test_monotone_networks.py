"""Monotone constraints with networks: trees stay monotone through joint training and regrowing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from neuid3 import NeuID3Classifier, NeuID3Error, TrainingConfig, check_monotone

RULES = """
nn(one_net, [I]) :: one(I).
alert(I) :- age > 50, one(I).
alert(I) :- age > 75.
"""


def table(seed: int, n: int = 240) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Digits 0 and 1 with an age; who is alert is so by the rule, and the noise falls with age, against the constraint."""
    rng = np.random.default_rng(seed)
    digits = load_digits(n_class=2)
    rows = rng.integers(0, len(digits.target), n)
    age = rng.integers(20, 95, n).astype(float)
    alert = ((age > 50) & (digits.target[rows] == 1)) | (age > 75)
    y = np.where(rng.random(n) < 0.15, age < 35, alert)
    return {"image": (digits.images[rows] / 16).astype(np.float32), "age": age}, y


@pytest.mark.parametrize("tests", ["auto", ["alert(image)", "one(image)", "age > 30", "age > 60"]])
def test_trees_with_networks_stay_monotone_after_joint_training(tests: str | list[str]) -> None:
    X, y = table(0)
    clf = NeuID3Classifier(
        background=RULES,
        tests=tests,
        monotonic_cst={"age": 1},
        training=TrainingConfig(epochs=6, restarts=2, joint_epochs=3),
        random_state=0,
    ).fit(X, y)
    assert clf.gradient_steps_ > 0
    assert check_monotone(clf) is None
    images = X["image"][:8]
    ages = np.arange(15.0, 100.0, 2.5)
    grid = {"image": np.repeat(images, len(ages), axis=0), "age": np.tile(ages, len(images))}
    by_age = clf.predict_proba(grid)[:, 1].reshape(len(images), len(ages))
    assert (np.diff(by_age, axis=1) >= -1e-6).all()
    assert len(clf.tree_.leaves) > 1


def test_a_network_that_reads_a_constrained_number_is_refused() -> None:
    X, y = table(1, 60)
    rules = "nn(risk_net, [A]) :: risky(A)."
    with pytest.raises(NeuID3Error, match=r"risky\(age\).*monotonic_cst"):
        NeuID3Classifier(background=rules, tests=["risky(age)"], monotonic_cst={"age": 1}).fit(X, y)
