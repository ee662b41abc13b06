"""Forests over images: perception is trained once, and scores never count rows that networks were trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from neuid3 import NeuID3BoostingClassifier, NeuID3ForestClassifier
from neuid3.learning import perception
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


@pytest.mark.parametrize("kind", [NeuID3ForestClassifier, NeuID3BoostingClassifier])
def test_where_a_single_tree_trains_no_network_columns_share_one(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six columns of images that say little each: a tree has no test, and many trees share one network."""
    tried: list[bool] = []
    learn_tree = perception.learn_tree

    def recorded(learner: Any, *arguments: Any) -> Any:
        tried.append(learner.config.shared)
        return learn_tree(learner, *arguments)

    monkeypatch.setattr(perception, "learn_tree", recorded)
    rng = np.random.default_rng(0)
    X = {f"i{j}": rng.random((60, 8, 8)).astype(np.float32) for j in range(4)}
    kind(random_state=0, training=QUICK).fit(X, rng.random(60) < 0.5)
    assert tried == [False, True]
