"""How is one unit run? Its data, its model, and what is written down about both."""

from __future__ import annotations

import hashlib
import platform
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from time import perf_counter, process_time
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import sklearn
import torch
from sklearn.metrics import f1_score
from threadpoolctl import threadpool_limits

from experiments import baselines, datasets, settings
from experiments.baselines import NetworkClassifier, Training
from experiments.units import GIVERS, TREE, Unit
from neuid3 import Examples, NeuID3Classifier, __version__
from neuid3.estimators.parameters import training_config
from neuid3.io.trained_tests import TrainedTest
from neuid3.learning import restarts
from neuid3.networks.kernel import kernel, processor
from neuid3.training import halving
from neuid3.training.train import one_thread
from neuid3.tree.tree import Branch, Node, preorder

Labels = npt.NDArray[Any]
Labelled = tuple[Examples, Labels]


class Learner(Protocol):
    """Whatever learns and answers; our tree and every baseline."""

    def fit(self, X: Examples, y: Labels, *, validation: Labelled | None = None) -> Any: ...

    def predict(self, X: Examples) -> Labels: ...


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What a unit learns from and is judged on."""

    train: Labelled
    validation: Labelled | None
    test: Labelled


def run(unit: Unit) -> dict[str, Any]:
    """Learn and judge one unit on one thread."""
    with one_thread(), threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(unit.number)
        problem = load(unit)
        _warm_up()
        clock = [_clock()]
        tests = reused_tests(unit)
        clock.append(_clock())
        learner, configuration = make(unit, tests)
        learner.fit(*problem.train, validation=problem.validation)
        clock.append(_clock())
        answers = learner.predict(problem.test[0])
        clock.append(_clock())
    seconds, processor = (
        dict(zip(("prepare", "fit", "predict"), np.diff(times), strict=True)) for times in zip(*clock, strict=True)
    )
    return {
        "configuration": configuration,
        "examples": _sizes(problem),
        "scores": scores(problem.test[1], answers) | {"default_accuracy": _default(problem)},
        "seconds": {what: round(float(spent), 3) for what, spent in seconds.items()},
        "processor_seconds": {what: round(float(spent), 3) for what, spent in processor.items()},
        **described(learner),
        "versions": _versions(),
        "machine": _machine(),
        "threads": 1,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _clock() -> tuple[float, float]:
    """The time on the wall, and that of this process alone: what a unit takes where others share the machine."""
    return perf_counter(), process_time()


def load(unit: Unit) -> Problem:
    """The examples of a unit."""
    if unit.experiment == "uci":
        fold = datasets.uci_fold(unit.problem, str(unit.setting), unit.number, settings.FOLDS)
        return Problem(fold.train, None, fold.test)
    windows = datasets.eleusis(unit.problem, unit.number)
    return Problem(windows.train, windows.validation, windows.test)


def _warm_up() -> None:
    """Let PyTorch load what it loads at a first step, so that no unit's time depends on which one came first."""
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.AdamW([parameter], fused=True)
    parameter.sum().backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def make(unit: Unit, tests: list[Any]) -> tuple[Learner, dict[str, Any]]:
    """The model of a unit, not yet fitted, and the settings it was made with."""
    match unit.model:
        case "mlp":
            return _network(baselines.mlp, settings.MLP, settings.MLP_TRAINING[str(unit.setting)], unit)
        case "nn44m":
            return _network(baselines.large, settings.LARGE, settings.LARGE_TRAINING, unit)
        case "lean":
            return _network(baselines.lean, settings.LEAN, settings.LEAN_TRAINING, unit)
        case "soft":
            return _network(baselines.soft, settings.SOFT, settings.SOFT_TRAINING[unit.experiment], unit)
        case "sklearn":
            return baselines.SymbolTree(unit.number), {"random_state": unit.number}
    chosen = _tree_settings(unit)
    if unit.experiment == "uci":
        tree = NeuID3Classifier(**chosen)
        return tree, chosen | _spelled_out(tree)
    named: dict[str, Any] = {"tests": [str(test) for test in tests]}
    if unit.experiment == "reuse":
        named["handed_in"] = [str(test) for test in tests if isinstance(test, TrainedTest)]
        named["frozen"] = settings.REUSED_FROZEN
    tree = NeuID3Classifier(**chosen, background=datasets.POOL_BACKGROUND, tests=tests)
    return tree, chosen | named | _spelled_out(tree)


def _spelled_out(tree: NeuID3Classifier) -> dict[str, Any]:
    """All parameters, what a recipe says in full, and how restarts compete: a later version may say something else."""
    told = {
        name: value for name, value in tree.get_params().items() if name not in ("tests", "background", "random_state")
    }
    return {
        "parameters": {name: value for name, value in told.items() if isinstance(value, str | int | float | None)},
        "training": asdict(training_config(tree.get_params(), 2)),
        "judged": {
            "images": halving.ROUNDS,
            "colours": halving.GRAYSCALE_ROUNDS,
            "at_least": restarts.MIN_ROOT_RESTARTS,
        },
    }


def _network(
    build: Any, shape: Mapping[str, Any], how: Mapping[str, Any], unit: Unit
) -> tuple[Learner, dict[str, Any]]:
    training = Training(**how)
    configuration = {**shape, **asdict(training), "random_state": unit.number}
    return NetworkClassifier(build(**shape), training, unit.number), configuration


def _tree_settings(unit: Unit) -> dict[str, Any]:
    by_recipe = settings.UCI_TREE if unit.experiment == "uci" else settings.ELEUSIS_TREE
    return {**by_recipe[str(unit.recipe)], "random_state": unit.number}


def reused_tests(unit: Unit) -> list[Any]:
    """The tests a tree may ask: the atoms of its pool, trained ones in place of those that another tree hands over."""
    if unit.model != TREE or unit.experiment == "uci":
        return []
    if unit.experiment == "background":
        return list(datasets.pool(unit.problem, str(unit.setting)))
    trained: dict[str, Any] = {}
    for concept in GIVERS[str(unit.setting)]:
        giver = Unit("background", concept, "opt", TREE, unit.recipe, unit.number)
        learner, _ = make(giver, reused_tests(giver))
        problem = load(giver)
        learner.fit(*problem.train, validation=problem.validation)
        trained |= {str(test): test if settings.REUSED_FROZEN else test.thawed() for test in learner.tests_}  # type: ignore[attr-defined]
    return [trained.get(atom, atom) for atom in datasets.pool(unit.problem, "opt")]


def scores(truth: Labels, answers: Labels) -> dict[str, Any]:
    """Accuracy, and F1 of every class by its name."""
    labels = np.unique(truth)
    f1 = f1_score(truth, answers, labels=labels, average=None, zero_division=0.0)
    named = {str(label): float(value) for label, value in zip(labels, f1, strict=True)}
    return {"accuracy": float((truth == answers).mean()), "f1": named}


def described(learner: Any) -> dict[str, Any]:
    """What there is to read about a fitted model: its size, its steps, and of a tree its text and its tests."""
    match learner:
        case NeuID3Classifier(tree_=tree):
            return {
                "tree": learner.export_text().splitlines(),
                "tests": _asked(tree.root),
                "leaves": len(tree.leaves),
                "gradient_steps": learner.gradient_steps_,
            }
        case NetworkClassifier():
            return {"parameters": learner.parameters, "gradient_steps": learner.gradient_steps_}
        case baselines.SymbolTree():
            return {"chosen": learner.search.best_params_}
    return {}


def _asked(root: Node) -> list[Mapping[str, Any]]:
    """Every inner node's test, the root's first and at depth 1."""
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


def _default(problem: Problem) -> float:
    """The accuracy of always answering the most frequent class of the training examples."""
    labels, counts = np.unique(problem.train[1], return_counts=True)
    return float((problem.test[1] == labels[counts.argmax()]).mean())


def _machine() -> dict[str, Any]:
    """A mark of the kind of processor, and whether it ran compiled code: another one rounds otherwise, and takes another time."""
    mark = hashlib.sha256(processor().encode()).hexdigest()[:8]
    return {"processor": f"{platform.machine()} {mark}", "kernel": kernel(torch.float32) is not None}


def _versions() -> dict[str, str]:
    return {
        "neuid3": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "problog": version("problog"),
        "python": platform.python_version(),
    }
