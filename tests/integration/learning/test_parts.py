"""Trees over parts with pictures, learned from the classes of whole examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits

from neuid3 import Examples, NeuID3BoostingClassifier, NeuID3Classifier, NeuID3ForestClassifier, load
from neuid3.circuits import conjunctions
from neuid3.learning import inference
from neuid3.learning.progress import SilentProgress
from neuid3.training import TrainingConfig

FAST = TrainingConfig(epochs=25, restarts=2)

# Without modes, every node would train a dozen more queries.
MODES = ["item(-item)", "\\+ torn(+item)", "item_picture_net(+item)"]


def bags(size: int, seed: int, most: int = 4) -> tuple[Examples, np.ndarray]:
    """Bags of one to four pictures of zeros and ones, some of them torn; positive with a one that is not torn."""
    rng = np.random.default_rng(seed)
    digits = load_digits(n_class=2)
    owner = np.repeat(np.arange(size), rng.integers(1, most + 1, size))
    chosen = np.where(rng.random(len(owner)) < 0.3, 1, 0)
    rows = np.array([rng.choice(np.flatnonzero(digits.target == label)) for label in chosen])
    torn = rng.random(len(owner)) < 0.3
    pictures = (digits.images[rows] / 16).astype(np.float32)[:, None]
    X = Examples({"bag": np.arange(size)}, parts={"item": ({"bag": owner, "picture": pictures, "torn": torn}, "bag")})
    positive = np.zeros(size, dtype=bool)
    positive[owner[(chosen == 1) & ~torn]] = True
    return X, np.where(positive, "yes", "no")


@pytest.fixture(scope="module")
def fitted() -> NeuID3Classifier:
    X, y = bags(300, 0)
    return NeuID3Classifier(modes=MODES, random_state=0, training=FAST, n_jobs=1).fit(X, y)


def test_networks_of_parts_learn_from_the_class_of_the_whole_example(fitted: NeuID3Classifier) -> None:
    X, y = bags(200, 1)
    assert fitted.score(X, y) > 0.93
    assert len({name.split("#")[0] for name in fitted.networks_}) == 1


def test_queries_share_variables_with_pictures_and_columns(fitted: NeuID3Classifier) -> None:
    text = fitted.export_text()
    assert "∃ I: item(I)" in text
    assert "item_picture_net(I)" in text
    assert "\\+ torn(I)" in text


def test_a_saved_tree_predicts_examples_with_more_parts(fitted: NeuID3Classifier, tmp_path: Path) -> None:
    X, y = bags(60, 2, most=8)
    loaded = load(fitted.save(tmp_path / "bags.neuid3"))
    np.testing.assert_allclose(loaded.predict_proba(X), fitted.predict_proba(X), atol=1e-9)
    assert fitted.score(X, y) > 0.9
    assert fitted.model_.verify(X, rows=2) < 1e-6


def test_a_missing_picture_of_a_part_leaves_the_class_uncertain(fitted: NeuID3Classifier) -> None:
    pictures = np.full((1, 1, 8, 8), np.nan, dtype=np.float32)
    X = Examples({"bag": [0]}, parts={"item": ({"bag": [0], "picture": pictures, "torn": [False]}, "bag")})
    (probabilities,) = fitted.predict_proba(X)
    assert 0.02 < probabilities.min() < 0.5


def test_a_fit_that_is_repeated_gives_the_same_tree() -> None:
    X, y = bags(120, 3)
    fits = [
        NeuID3Classifier(modes=MODES, random_state=0, training=TrainingConfig(epochs=3, restarts=1), n_jobs=1).fit(X, y)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*(fit.predict_proba(X) for fit in fits))


@pytest.mark.parametrize(
    "estimator",
    [NeuID3ForestClassifier(n_estimators=10, random_state=0), NeuID3BoostingClassifier(max_trees=5, random_state=0)],
    ids=lambda one: type(one).__name__,
)
def test_many_trees_share_the_network_that_reads_parts(estimator: Any, tmp_path: Path) -> None:
    X, y = bags(300, 0)
    new, truth = bags(100, 1, most=6)
    clf = clone(estimator).set_params(modes=MODES, training=FAST, n_jobs=1).fit(X, y)
    assert clf.score(new, truth) > 0.9
    assert len({name.split("#")[0] for name in clf.networks_}) == 1
    assert "item_picture_net(I)" in str(clf.explain(new, 0))
    loaded = load(clf.save(tmp_path / "bags.neuid3"))
    np.testing.assert_allclose(loaded.predict_proba(new), clf.predict_proba(new), atol=1e-9)


def test_queries_teach_their_networks_together_before_the_tree_is_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    stages: list[str] = []
    monkeypatch.setattr(SilentProgress, "stage", lambda _, text: stages.append(text))
    X, y = bags(200, 4)
    clf = NeuID3Classifier(random_state=0, training=FAST, n_jobs=1).fit(X, y)
    assert stages[0] == "pretraining"
    assert clf.score(*bags(100, 5)) > 0.9


def test_queries_whose_circuits_are_large_are_no_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = bags(80, 6)
    one_step = TrainingConfig(epochs=1, restarts=1, joint_epochs=1)
    monkeypatch.setattr(conjunctions, "MAX_UNSHAPED_NODES", 1)  # each shape of example has a circuit of its own
    monkeypatch.setattr(inference, "MAX_NODES", 1)
    with pytest.warns(UserWarning, match="single leaf|No candidate"):
        clf = NeuID3Classifier(
            modes=["item(-item)", "item_picture_net(+item)"], random_state=0, training=one_step, n_jobs=1
        ).fit(X, y)
    assert clf.gradient_steps_ == 0


def test_an_encoder_reads_the_pictures_of_parts(tmp_path: Path) -> None:
    X, y = bags(200, 7)

    def encoder() -> torch.nn.Module:
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 80), torch.nn.ReLU())

    clf = NeuID3Classifier(modes=MODES, random_state=0, training=FAST, n_jobs=1, encoder=encoder()).fit(X, y)
    assert {type(network).__name__ for network in clf.networks_.values()} == {"VectorNet"}
    new, truth = bags(100, 8, most=6)
    assert clf.score(new, truth) > 0.85
    assert clf.model_.verify(new, rows=2) < 1e-6
    assert "item_picture_net(I)" in str(clf.explain(new, 0)) or len(clf.tree_.tests) > 1
    kept = load(clf.save(tmp_path / "bags.neuid3"), networks={"encoder": encoder})
    np.testing.assert_allclose(kept.predict_proba(new), clf.predict_proba(new), atol=1e-9)
