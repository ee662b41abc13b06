"""Study of joint training: learning curves of whole trees on unseen windows.

NEUID3_DATA=… python -m benchmarks.joint results/joint.jsonl; finished trees are not repeated. Trees of cards are grown and then
trained jointly for several numbers of epochs; after each epoch the likelihood of the 200 validation windows is recorded,
and the accuracy on 2,000 training windows of two other seeds. Test images are not used.
python -m benchmarks.joint --table results/joint.jsonl PAGE draws the table.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from benchmarks.rows import append_row, insert_table, read_rows
from experiments.datasets import eleusis, pool
from experiments.learners import make
from experiments.units import TREE, Unit
from neuid3.learning import node_learner as node
from neuid3.training.task import Restart, Task
from neuid3.training.threads import exclusive_training
from neuid3.training.trainer import BatchedTrainer

CONCEPTS = ("rank_order", "suit_order", "alternating_faces", "hidden_modulo_simple")
SEEDS = (10, 11)  # not among those of the reproduction tables
OTHERS = (60, 61)
EPOCHS = (30, 60, 90)


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    finished = {(row["concept"], row["seed"]) for row in read_rows(path)}
    for seed in SEEDS:
        for concept in CONCEPTS:
            if (concept, seed) not in finished:
                task, validation_rows = grown(concept, seed)
                curves = {str(epochs): curve(task, validation_rows, epochs) for epochs in EPOCHS}
                append_row(path, {"concept": concept, "seed": seed, "curves": curves})


def grown(concept: str, seed: int) -> tuple[Task, int]:
    """The joint training task of a grown tree, with windows of other seeds added to the validation split, and the size of the split before."""
    windows = eleusis(concept, seed)
    clf: Any = make(Unit("background", concept, "opt", TREE, "default", seed), list(pool(concept, "opt")))[0]
    tasks: list[Task] = []

    def caught(task: Task) -> tuple[None, int]:
        tasks.append(task)
        return None, 0

    with patch.object(node, "train_jointly", caught):
        clf.fit(*windows.train, validation=windows.validation)
    (task,) = tasks
    assert not task.fixed_weights, "every variable of these pools is a network's"
    others = [eleusis(concept, other).train for other in OTHERS]
    labels = np.concatenate([np.searchsorted(clf.classes_, y) for _, y in others])
    columns = {
        name: np.concatenate([values, *(X.column(name).values for X, _ in others)])
        for name, values in task.columns.items()
    }
    more = replace(
        task,
        columns=columns,
        target=task.target.concatenated(labels, np.ones(len(labels))),
        unseen=np.concatenate([task.unseen, np.ones(len(labels), dtype=bool)]),
    )
    return more, int((task.unseen & (task.target.weights > 0)).sum())


def curve(task: Task, validation_rows: int, epochs: int) -> list[tuple[float, float]]:
    """Before the first epoch and after each: the mean log-likelihood of the first rows, and the accuracy on the others."""
    points = []
    with exclusive_training():
        trainer = BatchedTrainer([Restart(replace(task, config=replace(task.config, epochs=epochs)), 0)])
        for epoch in range(epochs + 1):
            trainer.advance(epoch / epochs)
            log_likelihoods, _ = trainer.log_likelihoods()
            right = np.exp(log_likelihoods[validation_rows:]) > 0.5  # of two classes
            validation = float(log_likelihoods[:validation_rows].mean())
            points.append((round(validation, 4), round(float(right.mean()), 4)))
    return points


def table(path: str, page: str) -> None:
    rows = read_rows(path)
    lines = ["| | before | " + " | ".join(f"{epochs} epochs: best by validation, last" for epochs in EPOCHS) + " |"]
    lines.append("|---" * (len(EPOCHS) + 2) + "|")
    for concept in CONCEPTS:
        mine = [row["curves"] for row in rows if row["concept"] == concept]
        cells = [f"{np.mean([curves[str(EPOCHS[0])][0][1] for curves in mine]):.3f}"]
        for epochs in EPOCHS:
            of = [curves[str(epochs)] for curves in mine]
            cells.append(
                f"{np.mean([max(one, key=_validation_likelihood)[1] for one in of]):.3f}, {np.mean([one[-1][1] for one in of]):.3f}"
            )
        lines.append(f"| {concept}, {len(mine)} of {len(SEEDS)} seeds | " + " | ".join(cells) + " |")
    insert_table(page, "joint", lines)


def _validation_likelihood(point: tuple[float, Any]) -> float:
    return point[0]


if __name__ == "__main__":
    table(*sys.argv[2:]) if sys.argv[1] == "--table" else main(*sys.argv[1:])
