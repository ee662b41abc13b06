"""The experiment with relational data: first-order trees from symbols, beside what TILDE and Popper found."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from time import perf_counter, process_time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.cells import Results, finished
from experiments.datasets.relational import SETTINGS, relational
from experiments.environment import machine, versions
from experiments.tables import Cell, Entry, Table
from experiments.units import RELATIONAL_MODELS, TREE, Unit
from neuid3 import NeuID3BoostingClassifier, NeuID3Classifier, NeuID3ForestClassifier
from neuid3.queries.language import AtLeast, Negation, Query
from neuid3.tree.query_tests import QueryTest

# Popper's structures and the drawings follow exact rules, so that nothing is noise; molecules do not.
PRUNING: dict[str, float | str] = {"mutagenesis": "auto"}
EXACT_PRUNING = 0.0


def run(unit: Unit) -> dict[str, Any]:
    """Learn and test the tree of a unit on one thread; the record that is written as JSON."""
    problem = relational(unit.problem, str(unit.setting), unit.number)
    (X, y), (test, truth) = problem.train, problem.test
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = [(perf_counter(), process_time())]
        clf = _learner(unit).fit(X, y)
        times.append((perf_counter(), process_time()))
        predicted = clf.predict(test)
        times.append((perf_counter(), process_time()))
    seconds, processor = (
        dict(zip(("fit", "predict"), np.diff(column).round(3).tolist(), strict=True))
        for column in zip(*times, strict=True)
    )
    right = predicted == truth
    described = {}
    if isinstance(clf, NeuID3Classifier):
        queries = [test for test in clf.tree_.tests if isinstance(test, QueryTest)]
        described = {
            "tests": len(clf.tree_.tests),
            "literals": sum(literals(test.added) for test in queries),
            "tree": clf.export_text().splitlines(),
        }
    return {
        "configuration": {"pruning": clf.pruning} if isinstance(clf, NeuID3Classifier) else {},
        "examples": {"train": len(y), "test": len(truth)},
        "scores": {
            "accuracy": float(right.mean()),
            "right": int(right.sum()),
            "f1": {str(label): float(_f1(predicted, truth, label)) for label in clf.classes_},
        },
        **described,
        "seconds": seconds,
        "processor_seconds": processor,
        "versions": versions(),
        "machine": machine(),
        "threads": 1,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _learner(unit: Unit) -> Any:
    match unit.model:
        case "forest":
            return NeuID3ForestClassifier(random_state=unit.number, n_jobs=1)
        case "boosting":
            return NeuID3BoostingClassifier(random_state=unit.number, n_jobs=1)
        case _:
            return NeuID3Classifier(pruning=PRUNING.get(unit.problem, EXACT_PRUNING), random_state=unit.number)


def _f1(predicted: Any, truth: Any, label: Any) -> float:
    both = float(((predicted == label) & (truth == label)).sum())
    return 2 * both / max(float((predicted == label).sum() + (truth == label).sum()), 1.0)


def literals(query: Query) -> int:
    """The number of literals of a query, those inside negations and counts included."""
    inner = [literal.query for literal in query.literals if isinstance(literal, (Negation, AtLeast))]
    return len(query.literals) - len(inner) + sum(map(literals, inner))


# Report ----------------------------------------------------------------------------------------------

# What a unit is compared with: a sentence, and the least accuracy.
REFERENCES: dict[tuple[str, str], tuple[str, float]] = {
    ("bongard", "all"): ("TILDE 2.2: 7 tests, 392 of 392", 1.0),
    ("mutagenesis", "atoms"): ("TILDE in Python .654 on these folds", 0.72),
    ("mutagenesis", "full"): ("published .75–.86 on 188 of these molecules", 0.82),
    ("trains1", "folds"): ("Popper's target rule is exact", 0.98),
    ("trains1", "all"): ("Popper's target rule is exact", 1.0),
    ("trains2", "all"): ("Popper's target rule is exact", 1.0),
    ("trains2", "folds"): ("reported", 0.0),
    ("zendo1", "all"): ("a small piece touches a red one", 1.0),
    ("zendo1", "folds"): ("reported", 0.0),
    ("zendo2", "all"): ("two rules of three pieces or fewer", 1.0),
    ("zendo2", "folds"): ("reported", 0.0),
}


def relational_report(results: Results) -> tuple[list[Table], list[str]]:
    """Accuracies, sizes and times of all problems, beside their references."""
    rows: list[tuple[Entry, ...]] = []
    for problem, settings in SETTINGS.items():
        for setting, folds in settings.items():
            done = finished(results, _first(problem, setting, TREE))
            reference, bar = REFERENCES[problem, setting]

            def cell(field: str, values: Any = done, expected: int = folds, **options: Any) -> Cell:
                return Cell(tuple(float(r.record[field]) for r in values), expected, **options)

            accuracy = _accuracy(done, folds, bar or None)
            ensembles = [
                _accuracy(finished(results, _first(problem, setting, model)), folds) if folds > 1 else ""
                for model in RELATIONAL_MODELS[1:]
            ]
            time = Cell(tuple(float(r.record["seconds"]["fit"]) for r in done), folds, decimals=1)
            name = f"{problem}, {setting}"
            rows.append(
                (name, reference, accuracy, cell("tests", decimals=1), cell("literals", decimals=1), time, *ensembles)
            )
    columns = (
        "problem",
        "reference",
        "accuracy",
        "tests",
        "literals",
        "seconds of a fit, one thread",
        *(f"accuracy of a {model}" for model in ("forest", "boosted sum")),
    )
    note = (
        "*all* learns from all examples and counts those that are right; *folds* and molecules are cross-validated. Molecules: "
        "230, the ten folds of the data, *atoms* without and *full* with lumo and logp. Problems with exact rules are learned "
        "without pruning."
    )
    return [Table("First-order trees from symbols", columns, tuple(rows))], [note]


def _first(problem: str, setting: str, model: str) -> Unit:
    return Unit("relational", problem, setting, model, "default" if model == TREE else None, 0)


def _accuracy(done: Any, expected: int, bar: float | None = None) -> Cell:
    return Cell(tuple(float(r.record["scores"]["accuracy"]) for r in done), expected, bar=bar)
