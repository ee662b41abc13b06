"""A unit is trained, tested and recorded."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score

from experiments import learners, settings
from experiments.datasets import Problem
from experiments.learners import run, scores
from experiments.units import Unit
from neuid3 import Examples


def table(n: int, seed: int) -> tuple[Examples, Any]:
    facts = np.random.default_rng(seed).random((n, 4)) < 0.5
    y = np.where(facts[:, 0] & facts[:, 1], "positive", "negative")
    return Examples({f"x{i}": column for i, column in enumerate(facts.T)}), y


def windows(concept: str, n: int, seed: int) -> tuple[Examples, Any]:
    """Small dark and bright cards, whose suit or rank is higher when it is bright."""
    rng = np.random.default_rng(seed)
    bright = rng.random((n, 4)) < 0.5
    images = (bright[:, :, None, None, None] * 200 + rng.integers(0, 50, (n, 4, 3, 8, 8))).astype(np.uint8)
    names = ("suit_1", "rank_1", "suit_2", "rank_2")
    suits, ranks = bright[:, 0] < bright[:, 2], bright[:, 1] < bright[:, 3]
    y = np.where({"suit_order": suits, "rank_order": ranks}.get(concept, suits | ranks), "holds", "violates")
    return Examples({name: images[:, i] for i, name in enumerate(names)}), y


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(unit: Unit) -> Problem:
        if unit.experiment == "uci":
            return Problem(table(80, 0), None, table(80, 1))
        return Problem(*(windows(unit.problem, n, seed) for n, seed in ((120, 0), (60, 1), (60, 2))))

    monkeypatch.setattr(learners, "load", load)
    quick = {"recipe": "default", "max_depth": 2, "pos_label": "holds", "epochs": 6, "restarts": 1, "joint_epochs": 0}
    monkeypatch.setattr(settings, "ELEUSIS_TREE", {"default": quick})


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("model", ["tree", "mlp", "sklearn"])
def test_a_record_says_what_was_learned_and_how(model: str) -> None:
    made = run(Unit("uci", "zoo", "onehot", model, "default" if model == "tree" else None, 3))
    made = json.loads(json.dumps(made))
    assert made["scores"]["accuracy"] > 0.9
    assert set(made["scores"]["f1"]) == {"positive", "negative"}
    assert made["scores"]["default_accuracy"] == pytest.approx((table(80, 1)[1] == "negative").mean())
    assert made["examples"] == {"train": 80, "test": 80, "columns": 4}
    assert made["configuration"]["random_state"] == 3
    assert set(made["versions"]) == {"neuid3", "torch", "numpy", "scikit-learn", "problog", "python"}
    assert made["threads"] == 1
    assert set(made["machine"]) == {"processor", "kernel"}
    assert set(made["seconds"]) == set(made["processor_seconds"]) == {"prepare", "fit", "predict"}
    if model == "tree":
        assert {(test["test"], test["depth"]) for test in made["tests"]} in (
            {("x0", 1), ("x1", 2)},
            {("x1", 1), ("x0", 2)},
        )
        assert made["tree"][0].startswith(made["tests"][0]["test"])


@pytest.mark.usefixtures("small")
def test_trained_tests_are_handed_over_and_not_trained_again() -> None:
    made = run(Unit("reuse", "hidden_order_simple", "both", "tree", "default", 0))
    assert made["configuration"]["handed_in"] == made["configuration"]["tests"]
    assert made["gradient_steps"] == 0
    assert made["configuration"]["tests"] == ["gt_rank(rank_1, rank_2)", "gt_suit(suit_1, suit_2)"]
    one = run(Unit("reuse", "hidden_order_simple", "rank", "tree", "default", 0))
    assert one["configuration"]["handed_in"] == ["gt_rank(rank_1, rank_2)"]
    assert one["gradient_steps"] > 0


def test_f1_is_reported_for_both_classes_by_name() -> None:
    labels = np.array(["holds", "holds", "violates", "violates", "violates"])
    predicted = np.array(["holds", "violates", "violates", "violates", "holds"])
    measured = scores(labels, predicted)
    assert measured["accuracy"] == pytest.approx(3 / 5)
    assert measured["f1"] == {
        label: pytest.approx(f1_score(labels, predicted, pos_label=label)) for label in ("holds", "violates")
    }
    assert scores(labels, np.full(5, "violates"))["f1"]["holds"] == 0.0
