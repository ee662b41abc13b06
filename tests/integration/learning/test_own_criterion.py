"""Criteria as an extender writes them: Gini impurity for classes, and variance for numbers."""

from __future__ import annotations

import math
import pickle
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import neuid3
from neuid3 import Examples, NeuID3Classifier, Priors
from neuid3.circuits.conjunctions import factorise
from neuid3.errors import CheckpointError, DataError
from neuid3.learning import Candidates, NodeLearner, Sample
from neuid3.logic.formula import Literal, NeuralVariable
from neuid3.logic.program import Program
from neuid3.networks.defaults import Dense
from neuid3.training import Task, TrainingConfig, successive_halving
from neuid3.training.task import NetworkOutput, RestartVariant
from neuid3.tree import Branch, ClassCriterion, Criterion, CutTest, FactTest, Leaf, NodeTest, Target, ValueTest

# Classes ------------------------------------------------------------------------------------------


class OwnGini(ClassCriterion):
    """Gini impurity: all that differs from entropy is one method."""

    def impurity(self, statistics: np.ndarray) -> np.ndarray:
        frequencies = self.frequencies(statistics)
        return frequencies.sum(axis=-1) - (frequencies**2).sum(axis=-1)


UNPRUNED: dict[str, Any] = {"criterion": OwnGini(), "pruning": 0, "min_mass": 0, "min_gain": 0}


def table(seed: int, n: int = 60, classes: int = 3) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Columns of facts and numbers, the same as a matrix, classes that depend on them, and weights."""
    rng = np.random.default_rng(seed)
    facts = rng.random((n, 3)) < 0.5
    numbers = rng.integers(0, 400, (n, 3)) / 8  # exact in 32 bits, in which scikit-learn compares
    noise = rng.random(n) < 0.3
    y = np.where(noise, rng.integers(0, classes, n), (facts[:, 0] + (numbers[:, 0] > 20)) % classes)
    columns = {f"f{i}": facts[:, i] for i in range(3)} | {f"n{i}": numbers[:, i] for i in range(3)}
    return columns, np.hstack((facts, numbers)), y, rng.uniform(0.2, 2.0, n)


def impurity_decrease(fitted: DecisionTreeClassifier | DecisionTreeRegressor) -> float:
    """The decrease of impurity by scikit-learn's root split, per unit of weight; 0 where there is none."""
    tree = fitted.tree_
    if tree.node_count == 1:
        return 0.0
    children = [tree.children_left[0], tree.children_right[0]]
    weighted = sum(tree.weighted_n_node_samples[child] * tree.impurity[child] for child in children)
    return float(tree.impurity[0] - weighted / tree.weighted_n_node_samples[0])


@given(st.integers(0, 10_000), st.integers(2, 4))
def test_the_root_split_is_as_good_as_that_of_scikit_learn(seed: int, classes: int) -> None:
    columns, matrix, y, weights = table(seed, classes=classes)
    ours = NeuID3Classifier(max_depth=1, **UNPRUNED).fit(Examples(columns), y, sample_weight=weights)
    theirs = DecisionTreeClassifier(criterion="gini", max_depth=1).fit(matrix, y, sample_weight=weights)
    assert isinstance(ours.tree_.root, Branch)
    assert ours.tree_.root.gain == pytest.approx(impurity_decrease(theirs), abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_whole_trees_give_the_training_predictions_of_scikit_learn(seed: int) -> None:
    columns, matrix, y, weights = table(seed)  # random weights: two different splits are never equally good
    ours = NeuID3Classifier(max_depth=4, **UNPRUNED).fit(Examples(columns), y, sample_weight=weights)
    theirs = DecisionTreeClassifier(criterion="gini", max_depth=4).fit(matrix, y, sample_weight=weights)
    assert len(ours.tree_.leaves) > 4
    np.testing.assert_allclose(ours.predict_proba(Examples(columns)), theirs.predict_proba(matrix), atol=1e-9)


def test_the_own_criterion_chooses_other_splits_than_entropy() -> None:
    trees = []
    for criterion in ("entropy", "gini", OwnGini()):
        settings = {**UNPRUNED, "criterion": criterion, "max_depth": 4}
        trees.append([NeuID3Classifier(**settings).fit(Examples(t[0]), t[2]).tree_ for t in map(table, range(5))])
    entropy, gini, own = ([[str(test) for test in tree.tests] for tree in trees_of] for trees_of in trees)
    assert own == gini
    assert own != entropy


def images(n: int = 60) -> tuple[Examples, np.ndarray]:
    """Dark and bright images with a fact that is right in two of three rows; the class is the brightness."""
    rng = np.random.default_rng(0)
    bright = np.arange(n) % 2 == 0
    pixels = (rng.random((n, 8, 8)) * 0.4 + 0.5 * bright[:, None, None]).astype(np.float32)
    return Examples({"picture": pixels, "hint": bright ^ (rng.random(n) < 1 / 3)}), np.where(bright, "day", "night")


def image_classifier(**settings: Any) -> NeuID3Classifier:
    training = TrainingConfig(epochs=40, batch_size=16, restarts=2, joint_epochs=2)
    quick = {"training": training, "max_depth": 1, "random_state": 0}
    return NeuID3Classifier(criterion=OwnGini(), **{**quick, **settings})


def test_a_fit_with_an_image_column_trains_and_is_scored_by_the_own_criterion() -> None:
    X, y = images()
    classifier = clone(image_classifier()).fit(X, y)
    root = classifier.tree_.root
    assert "picture" in str(root.test)
    assert classifier.score(X, y) > 0.95
    assert root.gain == pytest.approx(0.5, abs=0.05), "a perfect split of two classes: 1 bit, and 0.5 of Gini impurity"
    assert root.statistics.unseen_gain == pytest.approx(0.5, abs=0.05)
    assert pickle.loads(pickle.dumps(classifier)).criterion == OwnGini(), "workers get the criterion in this way"


def test_a_criterion_is_saved_by_its_name_and_the_model_predicts_without_it(tmp_path: Path) -> None:
    columns, _, y, _ = table(0)
    own = NeuID3Classifier(**UNPRUNED).fit(Examples(columns), y)
    loaded = neuid3.load(own.save(tmp_path / "own.neuid3"))
    np.testing.assert_array_equal(loaded.predict_proba(Examples(columns)), own.predict_proba(Examples(columns)))
    assert loaded.criterion == "OwnGini"
    with pytest.raises(DataError, match=r"criterion='OwnGini' is not known; .*'entropy', 'gini'.*register_criterion"):
        loaded.fit(Examples(columns), y)
    known = neuid3.load(NeuID3Classifier(criterion="gini").fit(Examples(columns), y).save(tmp_path / "known.neuid3"))
    assert known.fit(Examples(columns), y).criterion == "gini"


def test_a_checkpoint_belongs_to_one_criterion(tmp_path: Path) -> None:
    columns, _, y, _ = table(0)
    first = NeuID3Classifier(**UNPRUNED, random_state=0).fit(Examples(columns), y, checkpoint=tmp_path)
    assert (
        NeuID3Classifier(**UNPRUNED, random_state=0).fit(Examples(columns), y, checkpoint=tmp_path).tree_ == first.tree_
    )
    with pytest.raises(CheckpointError, match=re.escape("parameter 'criterion' differs")):
        NeuID3Classifier(**{**UNPRUNED, "criterion": "entropy"}, random_state=0).fit(
            Examples(columns), y, checkpoint=tmp_path
        )


# Numbers ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NumberLeaf:
    mean: float
    variance: float
    masses: tuple[float, ...]


@dataclass(frozen=True)
class Numbers(Criterion):
    """Numbers, counted by (Σ w, Σ w·y, Σ w·y²); splits by variance, leaves with a mean and a variance."""

    name = "variance"
    floor: float = 1e-6  # of variances

    @property
    def degrees_of_freedom(self) -> int:
        return 2

    def statistics(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.stack((weights, weights * targets, weights * targets**2), axis=1)

    def mass(self, statistics: np.ndarray) -> np.ndarray:
        return statistics[..., 0]

    def impurity(self, statistics: np.ndarray) -> np.ndarray:
        mass = np.maximum(statistics[..., 0], 1e-300)
        return np.maximum(statistics[..., 2] / mass - (statistics[..., 1] / mass) ** 2, 0.0)

    def entropy(self, statistics: np.ndarray) -> np.ndarray:
        return 0.5 * np.log2(np.maximum(self.impurity(statistics), self.floor) / self.floor)

    def code_length(self, statistics: np.ndarray, node: np.ndarray) -> float:
        bits = float(self.mass(statistics) * self.entropy(statistics))
        return bits + 0.5 * self.degrees_of_freedom * math.log2(1.0 + float(self.mass(node)))

    def leaf(self, statistics: np.ndarray) -> Any:
        mean = float(statistics[1] / statistics[0])
        return NumberLeaf(mean, max(float(self.impurity(statistics)), self.floor), tuple(statistics.tolist()))

    def log_likelihoods(self, reach: np.ndarray, statistics: np.ndarray, targets: np.ndarray) -> np.ndarray:
        leaves = [self.leaf(row) for row in statistics]
        densities = [
            np.exp(-((targets - leaf.mean) ** 2) / (2 * leaf.variance)) / leaf.variance**0.5 for leaf in leaves
        ]
        return np.log(np.maximum((reach * np.stack(densities, axis=1)).sum(1), 1e-12))

    def initial_parameters(self, statistics: np.ndarray, paths: int, flipped: bool, coins: Any) -> np.ndarray:  # noqa: ARG002
        mean, deviation = statistics[1] / statistics[0], float(self.impurity(statistics)) ** 0.5
        shifts = np.zeros(paths) if paths > 2 else np.array([-1.0, 1.0]) if flipped else np.array([1.0, -1.0])
        return np.stack((mean + deviation * shifts, np.full(paths, math.log(deviation))), axis=1)

    def leaf_parameters(self, leaves: Any) -> np.ndarray:
        return np.array([(leaf.mean, 0.5 * math.log(leaf.variance)) for leaf in leaves])

    def likelihoods(self, parameters: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        means, scales = parameters.unbind(2)  # (restart, path) each
        deviations = scales.exp().T.unsqueeze(2)
        return (-((targets.float() - means.T.unsqueeze(2)) ** 2) / (2 * deviations**2)).exp() / deviations

    def leaf_values(self, parameters: torch.Tensor) -> np.ndarray:
        return torch.stack((parameters[:, 0], (2 * parameters[:, 1]).exp()), dim=1).double().numpy()

    def with_value(self, leaf: Any, value: np.ndarray) -> Any:
        return NumberLeaf(float(value[0]), float(value[1]), leaf.masses)

    def is_positive(self, targets: Any, flipped: Any = False) -> Any:
        return (targets > 0) ^ flipped

    def positive_fraction(self, statistics: np.ndarray) -> float | None:  # noqa: ARG002
        return None


def learner_of(X: Examples, target: Target, tests: list[NodeTest], numbers: list[str]) -> NodeLearner:
    sample = Sample(X, target, np.zeros(len(target), dtype=bool))
    candidates = Candidates(tuple(tests), tuple(numbers))
    options: dict[str, Any] = {"priors": Priors(), "penalty": 0.0, "adaptive": False, "seed": 0}
    return NodeLearner(sample, Program("", X.schema), candidates, {}, TrainingConfig(), **options)


def test_numbers_follow_the_protocol() -> None:
    assert isinstance(Numbers(), Criterion)
    assert isinstance(OwnGini(), Criterion)


@given(st.integers(0, 10_000))
def test_statistics_add_up_by_code_as_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes, numbers, weights = rng.integers(0, 3, 30), rng.normal(size=30), rng.random(30)
    for target in (Target(numbers, weights, Numbers()), Target(rng.integers(0, 4, 30), weights, OwnGini(4))):
        by_code = target.sums_by_code(codes, 4)
        for code in range(4):
            np.testing.assert_allclose(by_code[code], target[codes == code].statistics().sum(0), atol=1e-12)
        np.testing.assert_allclose(by_code.sum(0), target.sums(), atol=1e-12)
        np.testing.assert_allclose(target.criterion.mass(by_code).sum(), weights.sum())


@given(st.integers(0, 10_000))
def test_facts_and_cuts_for_numbers_are_split_as_scikit_learn_splits_them(seed: int) -> None:
    columns, matrix, y, weights = table(seed)
    target = y + np.random.default_rng(seed).normal(size=len(y))
    facts, numbers = ["f0", "f1", "f2"], ["n0", "n1", "n2"]
    learner = learner_of(
        Examples(columns), Target(target, weights, Numbers()), [FactTest(name) for name in facts], numbers
    )
    split = learner.best_split(learner.root)
    theirs = DecisionTreeRegressor(max_depth=1).fit(matrix, target, sample_weight=weights)
    assert split is not None
    assert split.gain == pytest.approx(impurity_decrease(theirs), abs=1e-9)
    ours = columns[split.test.column] <= split.test.threshold if isinstance(split.test, CutTest) else split.responses
    means = {learner.criterion.leaf(Target(target, weights, Numbers())[side].sums()).mean for side in (ours, ~ours)}
    assert sorted(means) == pytest.approx(sorted(theirs.tree_.value[1:, 0, 0]), abs=1e-9)


def test_values_of_a_category_and_uncertain_facts_are_split_for_numbers() -> None:
    rng = np.random.default_rng(0)
    kind, belief = rng.choice(["a", "b", "c"], 80), rng.random(80)
    y = np.where(kind == "b", 4.0, 0.0) + rng.normal(size=80)
    X = Examples({"kind": kind, "belief": belief}, {"belief": "probability"})
    target = Target(y, rng.uniform(0.5, 1.0, 80), Numbers())
    tests = [*(ValueTest("kind", value) for value in "abc"), FactTest("belief")]
    learner = learner_of(X, target, tests, [])
    split = learner.best_split(learner.root)
    assert split is not None
    assert str(split.test) == str(ValueTest("kind", "b"))
    assert split.gain == pytest.approx(target.gain((kind == "b") * 1.0), abs=1e-9)
    uncertain = learner_of(X, target, [FactTest("belief")], [])
    found = uncertain.best_split(uncertain.root)
    assert found is not None
    assert found.gain == pytest.approx(target.gain(belief.astype(np.float32)), abs=1e-6)


def test_a_network_is_trained_by_the_likelihood_of_numbers_at_its_leaves() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(240, 3)).astype(np.float32)
    y = np.where(x[:, 0] > 0, 3.0, -1.0) + 0.3 * rng.normal(size=240)
    variable = NeuralVariable(0, "net", ("x",), ("x",), 2)
    torch.manual_seed(0)
    task = Task(
        factorise([Literal(variable, frozenset({1}))], [[(0, True)], [(0, False)]]),
        {variable: NetworkOutput("net", ("x",), 1, True)},
        {},
        {"x": x},
        Target(y, np.ones(240), Numbers()),
        np.arange(240) % 6 == 0,
        ({"net": Dense(1, [3])}, {"net": Dense(1, [3])}),
        TrainingConfig(restarts=2, batch_size=16),
        0,
        variants=(RestartVariant(False), RestartVariant(True)),
    )
    (trained,), _ = successive_halving([task])
    assert trained is not None
    assert trained.failed is None
    side = x[task.unseen, 0] > 0
    best = task.target[task.unseen].gain(side * 1.0)
    assert trained.gain > 0.9 * best, "the network splits the examples nearly as well as the column that it is to find"
    assert sorted(trained.leaves[:, 0]) == pytest.approx([-1.0, 3.0], abs=0.3)
    assert np.sqrt(trained.leaves[:, 1]) == pytest.approx([0.3, 0.3], abs=0.15)


def test_a_leaf_below_trained_networks_follows_the_validation_examples() -> None:
    everyone, unseen = (
        Target(np.full(90, 2.0), np.ones(90), Numbers()),
        Target(np.full(10, 5.0), np.ones(10), Numbers()),
    )
    statistics = Numbers().leaf_statistics(everyone.sums() + unseen.sums(), unseen.sums())
    assert float(Numbers().mass(statistics)) == pytest.approx(100.0)
    assert Numbers().leaf(statistics).mean == pytest.approx((10 * 5.0 + 2 * 2.3) / 12)
    assert OwnGini().leaf_statistics(np.zeros(2), np.zeros(2)).tolist() == [0.0, 0.0]
    assert isinstance(OwnGini().leaf(np.zeros(2)), Leaf)
