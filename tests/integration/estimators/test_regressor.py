"""The regressor with networks: images and rules as tests of a number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from neuid3 import Bank, NeuID3Regressor, TrainingConfig, evidence_page, load

TRAINING = TrainingConfig(epochs=20, restarts=2, joint_epochs=5, rounds=1)
RULES = """
nn(light_net, [Image], L, [dark, grey, bright]) :: light(Image, L).
lighter(A, B) :- light(A, bright), light(B, grey).
lighter(A, B) :- light(A, bright), light(B, dark).
lighter(A, B) :- light(A, grey), light(B, dark).
"""


def images(levels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (levels[:, None, None] + rng.normal(0.0, 0.05, (len(levels), 6, 6))).astype(np.float32)


def table(n: int = 240, seed: int = 0) -> tuple[dict[str, Any], np.ndarray]:
    """One image and a fact: a bright image adds 5 and the fact adds 2."""
    rng = np.random.default_rng(seed)
    bright, fact = rng.random(n) < 0.5, rng.random(n) < 0.5
    y = 100.0 + 5.0 * bright + 2.0 * fact + rng.normal(0.0, 0.3, n)
    return {"image": images(np.where(bright, 0.8, 0.2), rng), "fact": fact}, y


@pytest.fixture(scope="module")
def fitted() -> NeuID3Regressor:
    return NeuID3Regressor(training=TRAINING, random_state=0, n_jobs=1).fit(*table())


def test_an_image_is_read_saved_exported_and_explained(fitted: NeuID3Regressor, tmp_path: Path) -> None:
    X, y = table(seed=1)
    assert fitted.score(X, y) > 0.95
    assert len(fitted.networks_) == 1
    means, deviations = fitted.predict(X, return_std=True)
    assert 0.2 < np.median(deviations) < 1.0
    loaded = load(fitted.save(tmp_path / "light"))
    assert isinstance(loaded, NeuID3Regressor)
    np.testing.assert_array_equal(loaded.predict(X), means)
    assert fitted.model_.verify(X, rows=3) < 1e-6
    assert fitted.training_record_ is not None
    (score,) = fitted.training_record_.scores
    assert score.kind == "validation"
    why = fitted.explain(X, 0, threshold=104)
    assert why.base + sum(move.amount for move in why.moves) == pytest.approx(why.prediction, rel=1e-3)
    assert "Predicted against true" in evidence_page(fitted, X, y)
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(fitted.export_onnx(tmp_path / "light.onnx")))
    inputs = {"image": X["image"], "fact": X["fact"].astype(np.float64)}
    mean, deviation = session.run(["predicted_mean", "predicted_std"], inputs)
    np.testing.assert_allclose(mean, means, rtol=1e-5)
    np.testing.assert_allclose(deviation, deviations, rtol=1e-3, atol=1e-3)


def test_workers_and_checkpoints_give_the_same_tree_bit_by_bit(fitted: NeuID3Regressor, tmp_path: Path) -> None:
    X, y = table()
    settings = {"training": TRAINING, "random_state": 0}
    others = [
        NeuID3Regressor(**settings, n_jobs=2).fit(X, y),
        NeuID3Regressor(**settings, n_jobs=1).fit(X, y, checkpoint=tmp_path / "fit"),
        NeuID3Regressor(**settings, n_jobs=1).fit(X, y, checkpoint=tmp_path / "fit"),  # all from the checkpoint
    ]
    for other in others:
        assert other.tree_ == fitted.tree_
        np.testing.assert_array_equal(other.predict(X), fitted.predict(X))


def test_dask_gives_the_same_tree(fitted: NeuID3Regressor) -> None:
    distributed = pytest.importorskip("distributed")
    from joblib import parallel_config

    X, y = table()
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        parallel_config(backend="dask"),
    ):
        other = NeuID3Regressor(training=TRAINING, random_state=0, n_jobs=2).fit(X, y)
    assert other.tree_ == fitted.tree_


def test_a_rule_over_two_images_is_learned_with_its_network() -> None:
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 3, (2, 400))
    y = np.where(levels[0] > levels[1], 40.0, 10.0) + rng.normal(0.0, 1.0, 400)
    X = {name: images(level / 2.5, rng) for name, level in zip(("left", "right"), levels, strict=True)}
    training = TrainingConfig(epochs=15, restarts=4)
    reg = NeuID3Regressor(background=RULES, tests=["lighter(left, right)"], training=training, random_state=0)
    reg.fit(X, y)
    assert [str(test) for test in reg.tree_.tests] == ["lighter(left, right)"]
    assert reg.score(X, y) > 0.9
    high, low = (leaf.value for leaf in reg.tree_.leaves)
    assert high[0] == pytest.approx(40.0, abs=2.0)
    assert low[0] == pytest.approx(10.0, abs=2.0)
    assert reg.audit(X).networks
    assert reg.suggest_labels(X, 2)


def test_missing_images_and_weights_are_taken(fitted: NeuID3Regressor) -> None:
    X, y = table()
    X["image"][::5] = np.nan
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 2.0)
    reg = NeuID3Regressor(training=TRAINING, random_state=0).fit(X, y, sample_weight=weights)
    means, deviations = reg.predict(X, return_std=True)
    assert np.isfinite(means).all()
    missing = np.isnan(X["image"]).all(axis=(1, 2))
    assert deviations[missing].mean() > 1.5 * deviations[~missing].mean()
    assert fitted.score(*table(seed=2)) > 0.95


def test_a_bank_of_trained_tests_saves_the_training(fitted: NeuID3Regressor, tmp_path: Path) -> None:
    bank = Bank(tmp_path / "bank")
    for test in fitted.tests_:
        bank.add("light", test)
    X, y = table(seed=3)
    reg = NeuID3Regressor(bank=bank, training=TRAINING, random_state=0).fit(X, y)
    assert reg.score(*table(seed=4)) > 0.95
    assert reg.gradient_steps_ < fitted.gradient_steps_


@parametrize_with_checks([NeuID3Regressor()])
def test_scikit_learn_takes_it_for_a_regressor(estimator: Any, check: Any) -> None:
    check(estimator)
