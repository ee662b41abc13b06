"""The experiment with parts that are pictures: first-order trees beside deep sets, recurrent networks and trees of symbols."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from time import perf_counter, process_time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.baselines import Training
from experiments.cells import Results, finished
from experiments.datasets.pictured import PROBLEMS, background_of, pictured
from experiments.datasets.relational import relational
from experiments.environment import machine, versions
from experiments.learners import scores
from experiments.set_baselines import SetClassifier
from experiments.settings import PICTURED_TREE, SEEDS_OF, SET_NETWORK, SET_TRAINING
from experiments.store import Result
from experiments.tables import Cell, Entry, Table
from experiments.units import PICTURED_PEERS, TREE, Unit
from neuid3 import NeuID3Classifier
from neuid3.training.threads import one_thread

# A tree is to be so much better than its peer, or to reach this accuracy; trains may be so far behind symbols.
MARGIN, ENOUGH, BEHIND = 0.03, 0.97, 0.02


def run(unit: Unit) -> dict[str, Any]:
    """Learn and test the model of a unit on one thread; the record that is written as JSON."""
    with one_thread(), threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        symbolic = unit.model == "symbols"
        problem = relational("trains1", "folds", unit.number) if symbolic else pictured(unit.problem, unit.number)
        learner = _learner(unit)
        times = [(perf_counter(), process_time())]
        learner.fit(*problem.train)
        times.append((perf_counter(), process_time()))
        predictions = learner.predict(problem.test[0])
        times.append((perf_counter(), process_time()))
    seconds, processor = (
        dict(zip(("fit", "predict"), np.diff(column).round(3).tolist(), strict=True))
        for column in zip(*times, strict=True)
    )
    is_tree = isinstance(learner, NeuID3Classifier)
    return {
        "configuration": PICTURED_TREE if unit.model == TREE else {} if is_tree else {**SET_NETWORK, **SET_TRAINING},
        "examples": {"train": len(problem.train[1]), "test": len(problem.test[1])},
        "scores": scores(problem.test[1], predictions),
        **({"tree": learner.export_text().splitlines()} if isinstance(learner, NeuID3Classifier) else {}),
        "seconds": seconds,
        "processor_seconds": processor,
        "versions": versions(),
        "machine": machine(),
        "threads": 1,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _learner(unit: Unit) -> NeuID3Classifier | SetClassifier:
    if unit.model in (TREE, "symbols"):
        of_pictures = {"background": background_of(unit.problem), **PICTURED_TREE} if unit.model == TREE else {}
        return NeuID3Classifier(**of_pictures, pos_label=_positive(unit), random_state=unit.number, n_jobs=1)
    training = Training(**SET_TRAINING)
    recurrent = unit.model == "recurrent"
    return SetClassifier(**SET_NETWORK, recurrent=recurrent, training=training, random_state=unit.number)


def _positive(unit: Unit) -> str:
    return "pos" if unit.problem == "trains" else "holds"


# Report ----------------------------------------------------------------------------------------------


def pictured_report(results: Results) -> tuple[list[Table], list[str]]:
    """Accuracies of trees and of their peers, and the times of both."""
    rows: list[tuple[Entry, ...]] = []
    for problem in PROBLEMS:
        peer = PICTURED_PEERS[problem]
        expected = SEEDS_OF["pictured"]
        of_peer = Cell(tuple(map(_accuracy, finished(results, _unit(problem, peer)))), expected)
        reference = of_peer.mean
        bar = None
        if reference is not None:
            bar = reference - BEHIND if problem == "trains" else min(reference + MARGIN, ENOUGH)
        of_tree = Cell(tuple(map(_accuracy, finished(results, _unit(problem, TREE)))), expected, bar=bar)
        times = [
            Cell(tuple(r.seconds for r in finished(results, _unit(problem, model))), expected, decimals=None)
            for model in (TREE, peer)
        ]
        rows.append((problem, peer, of_peer, of_tree, *times))
    columns = (
        "problem",
        "peer",
        "accuracy of the peer",
        "accuracy of the tree",
        "seconds of the tree",
        "seconds of the peer",
    )
    note = (
        f"Hands of 3 to 7 and histories of 3 to 10 real cards, 1,000 to learn from and 1,000 to test, classes balanced; only the "
        f'class of a whole hand or history is known. Trees read the vectors of encoder="self", which is learned from the pictures of '
        f"the training rows in the time of the fit; peers are trained on the pictures themselves. Bars: the peer + {MARGIN}, or {ENOUGH}; for trains, whose loads and wheels are "
        f"pictures, the tree of symbols − {BEHIND}."
    )
    return [Table("Parts that are pictures", columns, tuple(rows))], [note]


def _unit(problem: str, model: str) -> Unit:
    return Unit("pictured", problem, None, model, "default" if model == TREE else None, 0)


def _accuracy(result: Result) -> float:
    return float(result.record["scores"]["accuracy"])
