"""Boosted sums with networks: perception is learned once, shared by all trees, and fine-tuned jointly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

import neuid3
from neuid3 import BoostedSum, NeuID3BoostingClassifier, NeuID3BoostingRegressor, TrainingConfig
from neuid3.learning.boosting import fine_tuning
from neuid3.learning.inference import ExactInference
from neuid3.tree import SumModel

RULES = "nn(net, [I], D, [0, 1, 2]) :: digit(I, D). one(I) :- digit(I, 1). zero(I) :- digit(I, 0)."
TRAINING = TrainingConfig(epochs=15, restarts=2, joint_epochs=6, rounds=1, pretrain=False)


def table(seed: int, n: int = 300) -> tuple[dict[str, Any], Any]:
    digits = load_digits(n_class=3)
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, len(digits.target), n)
    flag = rng.random(n) < 0.5
    return {"digit": (digits.images[rows] / 16).astype(np.float32), "flag": flag}, digits.target[rows]


@pytest.fixture(scope="module")
def fitted() -> NeuID3BoostingRegressor:
    X, digit = table(0)
    y = 3.0 * (digit == 1) + 2.0 * X["flag"]
    reg = NeuID3BoostingRegressor(background=RULES, training=TRAINING, max_trees=25, max_depth=2, random_state=0)
    return reg.fit(X, y)


def test_images_and_facts_are_added_up(fitted: NeuID3BoostingRegressor) -> None:
    X, digit = table(1)
    assert fitted.score(X, 3.0 * (digit == 1) + 2.0 * X["flag"]) > 0.85
    assert set(fitted.feature_importances_ > 0.1) == {True}
    record = fitted.training_record_
    assert record is not None
    assert record.scores[0].rows == 60


def test_all_trees_share_one_instance_of_the_network(fitted: NeuID3BoostingRegressor) -> None:
    assert len(fitted.networks_) == 1
    instances = {pair for test in fitted.sum_.tests for pair in test.instances}
    assert {network for network, _ in instances} == {"net"}
    assert {instance for _, instance in instances} == set(fitted.networks_)
    assert fitted.gradient_steps_ > 0


def test_explanations_with_networks_add_up(fitted: NeuID3BoostingRegressor) -> None:
    X, _ = table(2, 20)
    predictions = fitted.predict(X)
    for row in range(5):
        why = fitted.explain(X, row)
        total = why.start[0] + sum(one.scores[0] for one in why.contributions)
        assert total == pytest.approx(why.scores[0], abs=1e-9)
        assert why.scores[0] == pytest.approx(predictions[row], abs=1e-5)
    assert any(0.0 < one.probability < 1.0 for one in why.contributions)


def test_a_sum_with_a_network_is_saved_without_code(fitted: NeuID3BoostingRegressor, tmp_path: Path) -> None:
    X, _ = table(3, 30)
    loaded: Any = neuid3.load(fitted.save(tmp_path / "model"))
    np.testing.assert_allclose(loaded.predict(X), fitted.predict(X), atol=1e-6)
    missing = {**X, "digit": np.where(np.arange(30)[:, None, None] == 0, np.nan, X["digit"])}
    assert np.isfinite(fitted.predict(missing)).all()


def test_fine_tuning_is_kept_only_where_unseen_examples_become_likelier(monkeypatch: pytest.MonkeyPatch) -> None:
    losses: list[tuple[float, float, int]] = []
    tune = fine_tuning.fine_tuned

    def measured(
        model: SumModel, inference: ExactInference, config: TrainingConfig, seed: int
    ) -> fine_tuning.FineTuned:
        result = tune(model, inference, config, seed)
        rows = np.flatnonzero(inference.sample.unseen)
        examples, classes = inference.sample.examples[rows], inference.sample.target.values[rows]

        def loss(boosted_sum: BoostedSum, networks: Any) -> float:
            background, networks = model.program.text, {**model.networks, **networks}
            other = SumModel(boosted_sum, model.schema, background=background, networks=networks, priors=model.priors)
            return float(-np.log(other.predict_proba(examples)[np.arange(len(rows)), classes]).mean())

        losses.append((loss(model.boosted_sum, {}), loss(result.boosted_sum, result.networks), result.steps))
        return result

    monkeypatch.setattr(fine_tuning, "fine_tuned", measured)
    X, digit = table(4, 200)
    y = np.where((digit == 1) ^ X["flag"], "yes", "no")
    NeuID3BoostingClassifier(
        background=f"{RULES}\ndiffer(I) :- one(I), \\+ flag. differ(I) :- \\+ one(I), flag.",
        tests=["differ(digit)", "flag"],
        training=TRAINING,
        max_trees=8,
        max_depth=1,
        random_state=0,
    ).fit(X, y)
    ((before, after, steps),) = losses
    assert steps > 0
    assert after <= before + 1e-6


def test_a_given_network_is_used_as_it_is() -> None:
    import torch
    from torch import nn

    class Bright(nn.Module):
        def forward(self, image: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(20.0 * (image.flatten(1).mean(1, keepdim=True) - 0.5))

    rng = np.random.default_rng(0)
    images = rng.random((120, 8, 8)).astype(np.float32) * rng.choice([0.2, 1.6], 120)[:, None, None].astype(np.float32)
    X = {"picture": images, "flag": rng.random(120) < 0.5}
    bright = images.mean((1, 2)) > 0.5
    y = np.where(bright & X["flag"], "yes", "no")
    clf = NeuID3BoostingClassifier(
        background="nn(bright_net, [I]) :: bright(I).",
        networks={"bright_net": Bright()},
        tests=["bright(picture)", "flag"],
        max_trees=30,
        max_depth=2,
        random_state=0,
    ).fit(X, y)
    assert clf.score(X, y) > 0.95
    assert clf.gradient_steps_ == 0
