"""Regrowing of a tree from the predictions of its networks, compared on validation examples."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from sklearn.base import clone
from small_data import pictures

from neuid3 import Examples, LeNet, NeuID3Classifier, TrainingConfig, load
from neuid3.learning.alternation import Alternation
from neuid3.learning.grow import GrowthLimits
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.regrow import Regrower
from neuid3.learning.responses import BooleanResponse, ProbabilisticResponse
from neuid3.tree.tree import Branch, Node


def noisy_rule(n: int, seed: int, columns: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Zeros and ones, and a class that the first three columns decide, each less than the one before, but for some noise."""
    rng = np.random.default_rng(seed)
    symbols = rng.random((n, columns)) < np.array([0.5, 0.5, 0.25, *[0.5] * (columns - 3)])
    holds = symbols[:, 0] & (symbols[:, 1] | symbols[:, 2])
    return symbols, holds ^ (rng.random(n) < 0.05)


def structure(node: Node) -> Any:
    """The columns of a tree as nested sets: the same for trees that differ in the order of children."""
    if not isinstance(node, Branch):
        return None
    column = str(node.test).split("(")[-1].rstrip(")")
    return column, frozenset({structure(node.yes), structure(node.no)})


def regrowers(monkeypatch: pytest.MonkeyPatch) -> list[Regrower]:
    """The learners that regrow trees, collected as they are made."""
    found: list[Regrower] = []
    before = NodeLearner.regrower

    def regrower(self: NodeLearner) -> Regrower | None:
        learner = before(self)
        found.extend([learner] if learner is not None else [])
        return learner

    monkeypatch.setattr(NodeLearner, "regrower", regrower)
    return found


def likelihoods_of(learner: Regrower, root: Node) -> np.ndarray:
    """The log-likelihoods of validation examples that an alternation compares trees by."""
    nodes = SimpleNamespace(inference=learner.inference, progress=None, goals=None)
    return Alternation(cast("NodeLearner", nodes), GrowthLimits(), lambda: False).log_likelihoods(root)


Problem = tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]


@pytest.fixture(scope="module")
def problem() -> Problem:
    symbols, y = noisy_rule(240, 0)
    return symbols, pictures(symbols, 0), y


@pytest.fixture(scope="module")
def learned(problem: Problem) -> tuple[NeuID3Classifier, Regrower]:
    _, images, y = problem
    with pytest.MonkeyPatch.context() as patch:
        found = regrowers(patch)
        clf = NeuID3Classifier(max_depth=4, random_state=0).fit(Examples(images), y)
    return clf, found[-1]


def test_it_is_the_tree_of_the_rule(learned: tuple[NeuID3Classifier, Regrower]) -> None:
    fitted = learned[0]
    none = frozenset({None})
    assert structure(fitted.tree_.root) == ("c0", frozenset({None, ("c1", frozenset({None, ("c2", none)}))}))
    unseen, labels = noisy_rule(300, 1)
    assert fitted.score(Examples(pictures(unseen, 1)), labels) > 0.88
    assert fitted.feature_importances_.argmax() in (0, 1, 2)


def test_the_same_examples_give_the_same_tree_with_a_checkpoint(
    tmp_path: Path, learned: tuple[NeuID3Classifier, Regrower], problem: Problem
) -> None:
    fitted, (_, images, y) = learned[0], problem
    X = Examples(images)
    for _ in range(2):  # the second time all nodes are loaded, and the tree is still regrown
        resumed = clone(fitted).fit(X, y, checkpoint=tmp_path)
        assert resumed.tree_ == fitted.tree_
        assert np.array_equal(resumed.predict_proba(X), fitted.predict_proba(X))


def test_a_regrown_tree_that_is_worse_on_validation_examples_is_dropped(
    monkeypatch: pytest.MonkeyPatch, problem: Problem
) -> None:
    _, images, y = problem
    trees: list[Node] = []

    def likelihoods(self: Alternation, root: Node) -> np.ndarray:
        if isinstance(root, Branch):
            trees.append(root)
        surer = len(trees) == 1  # the tree before is scored first
        return np.log(np.where(surer, 0.9, 0.5) * np.ones(self.sample.unseen.sum()))

    monkeypatch.setattr(Alternation, "log_likelihoods", likelihoods)
    found = regrowers(monkeypatch)
    clf = NeuID3Classifier(max_depth=4, random_state=0).fit(Examples(images), y)
    assert len(found) == 1
    assert clf.tree_.root == trees[0]
    assert clf.score(Examples(images), y) > 0.85


def test_likelihoods_are_those_of_leaves_estimated_from_training_examples(
    learned: tuple[NeuID3Classifier, Regrower], problem: Problem
) -> None:
    (clf, learner), (_, images, y) = learned, problem
    reach, unseen = clf.leaf_probabilities(Examples(images)), learner.sample.unseen
    expected = []
    for row in np.flatnonzero(unseen):
        probability = 0.0
        for leaf in range(reach.shape[1]):
            masses = [sum(reach[i, leaf] for i in np.flatnonzero(~unseen) if y[i] == label) for label in (False, True)]
            prior = np.mean(y[~unseen] == y[row])
            probability += reach[row, leaf] * (masses[int(y[row])] + 2.0 * prior) / (sum(masses) + 2.0)
        expected.append(np.log(probability))
    found = likelihoods_of(learner, clf.tree_.root)
    assert found == pytest.approx(np.array(expected), rel=1e-6)


def test_missing_images_have_the_average_response(monkeypatch: pytest.MonkeyPatch, problem: Problem) -> None:
    symbols, images, y = problem
    found = regrowers(monkeypatch)
    column = np.array([*images["c0"], None], dtype=object)[:-1]
    column[::10] = None
    clf = NeuID3Classifier(max_depth=4, random_state=0).fit(Examples({**images, "c0": column}), y)
    learner = found[-1]
    read = {str(test).split("(")[-1].rstrip(")"): responses for test, responses in learner.network_responses.items()}
    assert isinstance(read["c1"], BooleanResponse)
    assert np.mean(read["c1"].column == symbols[:, 1]) in (pytest.approx(0.0, abs=0.02), pytest.approx(1.0, abs=0.02))
    assert isinstance(read["c0"], ProbabilisticResponse)
    root = learner.best_split(learner.root)
    assert root is not None
    assert "c0_net" in str(root.test)
    assert len(np.unique(root.responses[::10])) == 1
    assert set(np.unique(np.delete(root.responses, np.s_[::10]))) == {0.0, 1.0}, (
        "where there is an image, the response is certain"
    )
    assert np.isfinite(clf.predict_proba(Examples({**images, "c0": column}))).all()


@pytest.mark.parametrize(
    ("columns", "settings"),
    [
        (6, {"training": TrainingConfig(rounds=0)}),
        (6, {"training": TrainingConfig(reuse=False)}),
        (6, {"training": TrainingConfig(validation_fraction=0.0)}),
        (6, {"time_limit": 0.001}),
    ],
    ids=["no rounds", "a network for each column", "no validation split", "no time"],
)
@pytest.mark.filterwarnings("ignore")
def test_otherwise_no_tree_is_regrown(monkeypatch: pytest.MonkeyPatch, columns: int, settings: dict[str, Any]) -> None:
    symbols, y = noisy_rule(240, 0, columns)
    found = regrowers(monkeypatch)
    clf = NeuID3Classifier(max_depth=2, random_state=0, **settings).fit(Examples(pictures(symbols, 0)), y)
    assert not found
    assert isinstance(clf.tree_.root, Branch) == ("time_limit" not in settings)


class Own(LeNet):
    """A network that only its factory can make."""

    def __init__(self) -> None:
        super().__init__(1, size=8)


def test_a_tree_of_own_networks_is_loaded_with_the_factories_it_was_learned_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Problem
) -> None:
    _, images, y = problem
    found = regrowers(monkeypatch)
    names = [f"c{j}_net" for j in range(6)]
    clf = NeuID3Classifier(max_depth=4, random_state=0, networks=dict.fromkeys(names, Own)).fit(Examples(images), y)
    assert found
    path = clf.save(tmp_path / "own.neuid3")
    declared = sorted({name for test in clf.tree_.tests for name, _ in test.instances})
    for given in (dict.fromkeys(declared, Own), *({name: Own} for name in declared)):
        if len(clf.networks_) == 1 or len(given) == len(declared):
            loaded = load(path, networks=given)
            assert np.array_equal(loaded.predict_proba(Examples(images)), clf.predict_proba(Examples(images)))


def test_facts_and_numbers_are_candidates_beside_network_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    symbols, y = noisy_rule(300, 0)
    more = {"number": np.random.default_rng(5).random(300), "fact": symbols[:, 1]}
    y = y & (more["number"] < 0.8)
    found = regrowers(monkeypatch)
    clf = NeuID3Classifier(max_depth=5, random_state=0).fit(Examples({**pictures(symbols, 0), **more}), y)
    assert found
    named = {str(test).split(" ")[0] for test in clf.tree_.tests}
    assert {"c0_net(c0)", "number", "fact"} <= named
    assert clf.score(Examples({**pictures(symbols, 3), **more}), y) > 0.88
