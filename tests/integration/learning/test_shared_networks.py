"""Networks that many columns share: training, significance and scores."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from small_data import drawn, pictures, weak

from neuid3 import Examples, NeuID3Classifier
from neuid3.errors import ParameterError
from neuid3.training.config import TrainingConfig
from neuid3.tree.criteria import ClassCriterion, Target
from neuid3.tree.node_tests import AtomTest
from neuid3.tree.tree import Branch, Node


def networks_in(node: Node) -> set[str]:
    if not isinstance(node, Branch):
        return set()
    named = dict(node.test.instances).values() if isinstance(node.test, AtomTest) else ()
    return {*named, *networks_in(node.yes), *networks_in(node.no)}


def target_of(y: np.ndarray) -> Target:
    return Target(y.astype(np.int64), np.ones(len(y)), ClassCriterion(int(y.max()) + 1))


def test_a_signal_too_weak_in_each_column_is_learned_by_one_network_of_all() -> None:
    symbols, y = weak(300, 0, strength=0.25, columns=16)
    clf = NeuID3Classifier(
        max_depth=3, random_state=0, training=TrainingConfig(shared=True, epochs=20, joint_epochs=0)
    ).fit(Examples(pictures(symbols, 0)), y)
    assert 1 <= len(networks_in(clf.tree_.root)) <= 2, "the shared networks of the two halves, and no others"
    fresh, labels = weak(2000, 1, strength=0.25, columns=16)
    assert clf.score(Examples(pictures(fresh, 1)), labels) > 0.56  # a network for each column learns nothing: .5


def test_with_random_labels_no_shared_network_is_kept() -> None:
    columns, _ = drawn(120, 0)
    y = np.random.default_rng(7).random(120) < 0.5
    with pytest.warns(UserWarning, match="single leaf"):
        clf = NeuID3Classifier(max_depth=3, random_state=0, training=TrainingConfig(shared=True, epochs=15)).fit(
            Examples(columns), y
        )
    assert not clf.networks_


def test_images_of_another_kind_get_a_network_of_their_own() -> None:
    columns, y = drawn(300, 0)
    rng = np.random.default_rng(3)
    stripes = np.where((np.arange(8) % 2).astype(bool), 1.0, 0.0)
    upright = y ^ (rng.random(300) < 0.05)
    fields = np.where(upright[:, None, None], stripes[None, None, :], stripes[None, :, None])
    columns["other"] = np.clip(fields + rng.normal(0, 0.3, (300, 8, 8)), 0, 1).astype("float32")
    clf = NeuID3Classifier(max_depth=1, random_state=0, training=TrainingConfig(shared=True, joint_epochs=0)).fit(
        Examples(columns), y
    )
    assert str(clf.tree_.root.test) == "other_net(other)"
    assert clf.tree_.root.gain > 0.5


@pytest.mark.parametrize("base", ["paper", TrainingConfig(reuse=False)])
def test_settings_that_exclude_each_other_are_named(base: str | TrainingConfig) -> None:
    with pytest.raises(ParameterError, match=r"shared=True .* leave one of them out"):
        NeuID3Classifier(training=base).set_params(training__shared=True)


def test_a_fit_that_was_stopped_below_its_shared_networks_is_resumed_to_the_same_tree(tmp_path: Path) -> None:
    columns, y = drawn(300, 0)
    X = Examples(columns)

    def fit(folder: Path, jobs: int) -> NeuID3Classifier:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return NeuID3Classifier(
                max_depth=3, random_state=0, n_jobs=jobs, training=TrainingConfig(shared=True, epochs=15)
            ).fit(X, y, checkpoint=folder)

    whole = fit(tmp_path, 2)
    nodes = sorted(tmp_path.glob("node-*.neuid3"))
    assert len(nodes) > 2
    for path in (*nodes[2:], tmp_path / "tree-00.neuid3"):
        path.unlink()
    resumed = fit(tmp_path, 1)
    assert resumed.export_text() == whole.export_text()
    np.testing.assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))
