"""Forests over images: perception is trained once, and scores never count rows that networks were trained on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from neuid3 import NeuID3BoostingClassifier, NeuID3ForestClassifier
from neuid3.learning import forest_fit, perception
from neuid3.training import TrainingConfig

DIGITS = load_digits(n_class=2)
IMAGES = (DIGITS.images / 16).astype(np.float32)
QUICK = TrainingConfig(epochs=20, restarts=2, joint_epochs=0, rounds=0, pretrain=False)


def one_image(rows: int, seed: int = 0) -> tuple[dict[str, Any], np.ndarray]:
    """An image of 0 or 1 and a fact; the class follows the image in nine of ten rows."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(IMAGES), rows)
    flipped = rng.random(rows) < 0.1
    return {"image": IMAGES[drawn], "fact": rng.random(rows) < 0.5}, (DIGITS.target[drawn] == 1) ^ flipped


def test_out_of_bag_predictions_come_from_networks_that_were_trained_on_other_rows() -> None:
    X, y = one_image(240)
    forest = NeuID3ForestClassifier(n_estimators=10, oob_score=True, training=QUICK, random_state=0).fit(X, y)
    assert forest.networks_
    assert np.isfinite(forest.oob_decision_function_).all()  # also of rows that networks were trained on
    assert 0.75 < forest.oob_score_ <= 0.95  # one in ten classes is noise
    unseen, truth = one_image(200, seed=1)
    assert abs(forest.score(unseen, truth) - forest.oob_score_) < 0.1


def test_a_number_of_samples_above_half_of_the_rows_has_an_out_of_bag_score() -> None:
    X, y = one_image(120)
    forest = NeuID3ForestClassifier(n_estimators=4, oob_score=True, max_samples=100, training=QUICK, random_state=0)
    forest.fit(X, y)
    assert forest.networks_
    assert np.isfinite(forest.oob_decision_function_).all()


def test_an_out_of_bag_score_for_which_no_time_is_left_is_not_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = one_image(120)
    monkeypatch.setattr(forest_fit, "time", SimpleNamespace(monotonic=lambda: np.inf))
    forest = NeuID3ForestClassifier(n_estimators=4, oob_score=True, time_limit=1e6, training=QUICK, random_state=0)
    with pytest.warns(UserWarning, match="before all rows were predicted by networks that have not seen them"):
        forest.fit(X, y)
    assert np.isnan(forest.oob_score_)


def weak_images(rows: int, seed: int) -> tuple[dict[str, Any], np.ndarray]:
    """Sixteen images of 0 or 1, each of which follows the class in two of three rows."""
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.5
    pools = [np.flatnonzero(digit == DIGITS.target) for digit in (0, 1)]
    shown = np.where(rng.random((16, rows)) < 2 / 3, y, ~y)
    chosen = np.where(shown, rng.choice(pools[1], shown.shape), rng.choice(pools[0], shown.shape))
    return {f"i{j}": IMAGES[images] for j, images in enumerate(chosen)}, y


@pytest.mark.parametrize("kind", [NeuID3ForestClassifier, NeuID3BoostingClassifier])
def test_where_a_single_tree_trains_no_network_columns_share_one(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    grown: list[int] = []
    learn_tree = perception.learn_tree

    def recorded(learner: Any, *arguments: Any) -> Any:
        learned = learn_tree(learner, *arguments)
        grown.append(len(learned.test_gains))
        return learned

    monkeypatch.setattr(perception, "learn_tree", recorded)
    many = kind(random_state=0, training=QUICK).fit(*weak_images(60, 0))
    assert grown == [0]  # one tree, without a test
    assert many.networks_
    assert many.score(*weak_images(300, 1)) > 0.75
