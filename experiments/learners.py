"""Runs of single units: examples, model, and the record of scores, times and settings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from time import perf_counter, process_time
from typing import Any, Protocol

import numpy as np
import torch
from sklearn.metrics import f1_score
from threadpoolctl import threadpool_limits

from experiments import baselines, datasets, settings
from experiments.baselines import NetworkClassifier, Training
from experiments.configuration import AnyTree, classifier, recorded_parameters, recorded_training, regressor
from experiments.datasets.decks import RULES as DECK_RULES
from experiments.datasets.e9p import RULES as E9P_RULES
from experiments.datasets.even_odd import RULES as EVEN_ODD_RULES
from experiments.datasets.hitting_sets import RULES as HITTING_SETS_RULES
from experiments.datasets.keel import keel_fold
from experiments.datasets.problem import Classes, Labelled, Problem, Rules
from experiments.datasets.switched import RULES as SWITCHED_RULES
from experiments.environment import machine, versions
from experiments.keel import make_model
from experiments.number_baselines import NetworkRegressor
from experiments.readings import network_counts, readings
from experiments.units import REUSED_FROM, TREE, Unit
from neuid3 import Examples, NeuID3Classifier, NeuID3Regressor
from neuid3.io.trained_tests import TrainedTest
from neuid3.learning import restarts
from neuid3.training import halving
from neuid3.training.threads import one_thread
from neuid3.tree.tree import Branch, Node, preorder

# The background knowledge and the candidate tests of the trees that are not learned from a pool.
RULES: Mapping[str, Rules] = {
    "hitting-sets": HITTING_SETS_RULES,
    "even-odd": EVEN_ODD_RULES,
    "decks": DECK_RULES,
    "e9p": E9P_RULES,
    "switched": SWITCHED_RULES,
}

# The experiments whose targets are numbers.
NUMBERS = frozenset({"switched"})


class Learner(Protocol):
    """A classifier or regressor: our tree or a baseline."""

    def fit(self, X: Examples, y: Classes, *, validation: Labelled | None = None) -> Any: ...

    def predict(self, X: Examples) -> Classes: ...


def run(unit: Unit) -> dict[str, Any]:
    """Train and test the model of a unit on one thread.

    Returns
    -------
    The record that is written as JSON.
    """
    with one_thread(), threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(unit.number)
        problem = load(unit)
        _warm_up()
        times = [_clock()]
        tests = reused_tests(unit)
        times.append(_clock())
        learner, configuration = make(unit, tests)
        fit(learner, problem)
        times.append(_clock())
        predictions = learner.predict(problem.test[0])
        times.append(_clock())
        if unit.experiment in NUMBERS:
            measured = number_scores(problem, predictions)
        else:
            measured = scores(problem.test[1], predictions) | {"default_accuracy": _majority_accuracy(problem)}
        if problem.unseen is not None:
            measured["unseen_accuracy"] = float((learner.predict(problem.unseen[0]) == problem.unseen[1]).mean())
        described = description(learner) | _read_images(learner, problem)
    seconds, processor = (
        dict(zip(("prepare", "fit", "predict"), np.diff(column), strict=True)) for column in zip(*times, strict=True)
    )
    return {
        "configuration": configuration,
        "examples": _sizes(problem),
        "scores": measured,
        "seconds": {phase: round(float(spent), 3) for phase, spent in seconds.items()},
        "processor_seconds": {phase: round(float(spent), 3) for phase, spent in processor.items()},
        **described,
        "versions": versions(),
        "machine": machine(),
        "threads": 1,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def fit(learner: Learner, problem: Problem) -> None:
    """Fit a model to the training examples, with the labels of images where the problem has some."""
    labels: dict[str, Any] = {"concepts": problem.concepts} if problem.concepts else {}
    learner.fit(*problem.train, validation=problem.validation, **labels)


def _read_images(learner: Learner, problem: Problem) -> dict[str, Any]:
    """What the networks of a tree read in images with known values."""
    if problem.shown is None or not isinstance(learner, (NeuID3Classifier, NeuID3Regressor)):
        return {}
    return {"readings": [reading.to_json() for reading in readings(learner.model_, problem.shown)]}


def _clock() -> tuple[float, float]:
    """Wall-clock time and processor time of this process, in seconds; the second is comparable where others share the machine."""
    return perf_counter(), process_time()


def load(unit: Unit) -> Problem:
    """The examples of a unit."""
    match unit.experiment:
        case "uci":
            fold = datasets.uci_fold(unit.problem, str(unit.setting), unit.number, settings.FOLDS)
            return Problem(fold.train, None, fold.test)
        case "image-ensembles":
            variant = "onehot" if unit.model == "sklearn-forest" else "mnist"
            fold = datasets.uci_fold(unit.problem, variant, unit.number, settings.FOLDS)
            return Problem(fold.train, None, fold.test)
        case "keel":
            return keel_fold(unit.problem, unit.number)
        case "hitting-sets":
            return datasets.hitting_sets(unit.problem)
        case "even-odd":
            return datasets.even_odd(unit.number)
        case "decks":
            return datasets.decks(unit.problem, unit.number, int(unit.setting or 0))
        case "e9p":
            return datasets.e9p(str(unit.setting))
        case "switched":
            return datasets.switched(unit.number)
        case "labels":
            return datasets.labelled_eleusis(unit.problem, unit.number)
    windows = datasets.eleusis(unit.problem, unit.number)
    return Problem(windows.train, windows.validation, windows.test)


def _warm_up() -> None:
    """Take one optimizer step, so that what PyTorch loads at the first one is not part of the time of a unit."""
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.AdamW([parameter], fused=True)
    parameter.sum().backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def make(unit: Unit, tests: list[Any]) -> tuple[Learner, dict[str, Any]]:
    """The unfitted model of a unit, and its settings for the record."""
    if unit.experiment in ("keel", "image-ensembles"):
        return make_model(unit.model, unit.number)
    match unit.model:
        case "mlp":
            return _network(baselines.mlp, settings.MLP, settings.MLP_TRAINING[str(unit.setting)], unit)
        case "nn44m":
            return _network(baselines.large, settings.LARGE, settings.LARGE_TRAINING, unit)
        case "lean":
            return _network(baselines.lean, settings.LEAN, settings.LEAN_TRAINING, unit)
        case "soft":
            return _network(baselines.soft, settings.SOFT, settings.SOFT_TRAINING[unit.experiment], unit)
        case "cnn":
            training = Training(**settings.NUMBER_CNN_TRAINING)
            network = NetworkRegressor(**settings.NUMBER_CNN, training=training, random_state=unit.number)
            return network, {**settings.NUMBER_CNN, **training.to_json(), "random_state": unit.number}
        case "sklearn":
            return baselines.SymbolTree(unit.number), {"random_state": unit.number}
    parameters = _tree_settings(unit)
    if unit.experiment == "uci":
        tree = classifier(parameters)
        return tree, parameters | _full_configuration(tree, unit)
    named: dict[str, Any] = {"tests": [str(test) for test in tests]}
    if unit.experiment == "reuse":
        named["handed_in"] = [str(test) for test in tests if isinstance(test, TrainedTest)]
        named["frozen"] = settings.REUSED_FROZEN
    background = RULES[unit.experiment].background if unit.experiment in RULES else datasets.POOL_BACKGROUND
    leaves = list(RULES[unit.experiment].leaves) if unit.experiment in RULES else []
    if leaves:
        named["leaves"] = leaves
    build = regressor if unit.experiment in NUMBERS else classifier
    tree = build(parameters, background=background, tests=tests, leaves=leaves or None)
    return tree, parameters | named | _full_configuration(tree, unit)


def _full_configuration(tree: AnyTree, unit: Unit) -> dict[str, Any]:
    """All parameters, the training configuration, and the rounds of successive halving, as of this version."""
    return {
        "parameters": recorded_parameters(tree, str(unit.recipe)),
        "training": recorded_training(tree),
        "judged": {
            "images": halving.ROUNDS,
            "colours": halving.GRAYSCALE_ROUNDS,
            "at_least": restarts.MIN_ROOT_RESTARTS,
        },
    }


def _network(
    build: Any, shape: Mapping[str, Any], training_settings: Mapping[str, Any], unit: Unit
) -> tuple[Learner, dict[str, Any]]:
    training = Training(**training_settings)
    configuration = {**shape, **training.to_json(), "random_state": unit.number}
    return NetworkClassifier(build(**shape), training, unit.number), configuration


def _tree_settings(unit: Unit) -> dict[str, Any]:
    match unit.experiment:
        case "uci":
            by_recipe = settings.UCI_TREE
        case "hitting-sets" | "even-odd" | "decks" | "e9p" | "switched":
            by_recipe = settings.RULES_TREE
        case _:
            by_recipe = settings.ELEUSIS_TREE
    return {**by_recipe[str(unit.recipe)], "random_state": unit.number}


def reused_tests(unit: Unit) -> list[Any]:
    """The candidate tests of a tree: the atoms of its pool, replaced by trained tests where other trees provide them."""
    if unit.model != TREE or unit.experiment in ("uci", "keel", "image-ensembles"):
        return []
    if unit.experiment == "background":
        return list(datasets.pool(unit.problem, str(unit.setting)))
    if unit.experiment == "labels":
        return list(datasets.pool(unit.problem, "union"))
    if unit.experiment in RULES:
        return list(RULES[unit.experiment].tests)
    trained: dict[str, Any] = {}
    for concept in REUSED_FROM[str(unit.setting)]:
        source = Unit("background", concept, "opt", TREE, unit.recipe, unit.number)
        learner, _ = make(source, reused_tests(source))
        fit(learner, load(source))
        trained |= {str(test): test if settings.REUSED_FROZEN else test.thawed() for test in learner.tests_}  # type: ignore[attr-defined]
    return [trained.get(atom, atom) for atom in datasets.pool(unit.problem, "opt")]


def scores(labels: Classes, predictions: Classes) -> dict[str, Any]:
    """Accuracy, and F1 by class."""
    classes = np.unique(labels)
    f1 = f1_score(labels, predictions, labels=classes, average=None, zero_division=0.0)
    by_class = {str(label): float(value) for label, value in zip(classes, f1, strict=True)}
    return {"accuracy": float((labels == predictions).mean()), "f1": by_class}


def number_scores(problem: Problem, predictions: Classes) -> dict[str, Any]:
    """The root mean squared and the mean absolute error, and the former of the mean of the training targets."""
    errors = predictions - problem.test[1]
    default = problem.test[1] - problem.train[1].mean()
    return {
        "rmse": float(np.sqrt(np.mean(errors**2))),
        "mae": float(np.abs(errors).mean()),
        "default_rmse": float(np.sqrt(np.mean(default**2))),
    }


def description(learner: Any) -> dict[str, Any]:
    """The size and the gradient steps of a fitted model; of a tree also its text, its tests, and the number of its networks."""
    match learner:
        case NeuID3Classifier(tree_=tree) | NeuID3Regressor(tree_=tree):
            return {
                "tree": learner.export_text().splitlines(),
                "tests": _tests_with_depth(tree.root),
                "leaves": len(tree.leaves),
                **network_counts(learner.model_),
                "gradient_steps": learner.gradient_steps_,
            }
        case NetworkClassifier() | NetworkRegressor():
            return {"parameters": learner.parameters, "gradient_steps": learner.gradient_steps_}
        case baselines.SymbolTree():
            return {"chosen": learner.search.best_params_}
    return {}


def _tests_with_depth(root: Node) -> list[Mapping[str, Any]]:
    """The tests of all inner nodes in preorder; the root has depth 1."""
    return [
        {"test": str(visit.node.test), "depth": visit.depth + 1}
        for visit in preorder(root)
        if isinstance(visit.node, Branch)
    ]


def _sizes(problem: Problem) -> dict[str, int]:
    parts = {"train": problem.train, "validation": problem.validation, "test": problem.test}
    return {name: len(part[0]) for name, part in parts.items() if part is not None} | {
        "columns": problem.train[0].shape[1]
    }


def _majority_accuracy(problem: Problem) -> float:
    """The accuracy of always predicting the most frequent class of the training examples."""
    labels, counts = np.unique(problem.train[1], return_counts=True)
    return float((problem.test[1] == labels[counts.argmax()]).mean())
