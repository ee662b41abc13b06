"""Study of successive halving: learning curves of all restarts of a root, and the loss of earlier decisions.

NEUID3_DATA=… python -m benchmarks.curves results/curves.jsonl; finished roots are not repeated. Every restart of every test of
the union pool is trained to the end, and its gain on validation windows is written down on the way.
python -m benchmarks.curves --table results/curves.jsonl docs/notes/speed.md draws what the rounds of `successive_halving` and others make of them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from benchmarks.rows import append_row, insert_table, read_rows
from experiments.datasets import CONCEPTS, eleusis, pool
from experiments.learners import make
from experiments.units import TREE, Unit
from neuid3.training import halving
from neuid3.training.restart_run import GRAYSCALE_UNTIL
from neuid3.training.task import Restart
from neuid3.training.threads import exclusive_training
from neuid3.training.trainer import BatchedTrainer

SHARES = (1 / 8, 3 / 16, 1 / 4, 5 / 16, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 1.0)
Rounds = Sequence[tuple[float, float]]
Row = Mapping[str, Any]

# Schedules to compare: pairs of the fraction of the steps and the fraction of survivors, and whether warm-up restarts are ranked apart.
TRIED: tuple[tuple[Rounds, bool], ...] = (
    (((3 / 8, 1 / 2), (5 / 8, 1 / 6), (1.0, 0.0)), False),
    (((1 / 4, 2 / 3), (3 / 8, 1 / 4), (5 / 8, 1 / 12), (1.0, 0.0)), False),
    (((1 / 4, 1 / 2), (3 / 8, 1 / 4), (5 / 8, 1 / 12), (1.0, 0.0)), False),
    (halving.GRAYSCALE_ROUNDS, True),
)


class Enough(Exception):
    """The root's restarts are known, and nobody needs the tree."""


def roots() -> Iterator[tuple[str, int]]:
    """Every concept with one seed, and the harder ones with more."""
    yield from ((concept, 0) for concept in CONCEPTS)
    yield from ((concept, 1) for concept in CONCEPTS if concept not in ("increase_suits", "alternating_parity"))
    yield from (("hidden_modulo_simple", seed) for seed in range(2, 7))
    yield "hidden_order_simple", 2


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    finished = {(row["concept"], row["seed"]) for row in read_rows(path)}
    for concept, seed in roots():
        if (concept, seed) not in finished:
            append_row(path, {"concept": concept, "seed": seed, "restarts": learned(restarts(concept, seed))})


def restarts(concept: str, seed: int) -> list[Restart]:
    """All restarts that compete for the root of a tree from the union pool."""
    windows = eleusis(concept, seed)
    clf, _ = make(Unit("background", concept, "union", TREE, "default", seed), list(pool(concept, "union")))
    found: list[Restart] = []

    def caught(trials: Sequence[Restart]) -> Any:
        found.extend(trials)
        raise Enough

    with patch.object(halving, "restart_groups", caught):
        try:
            clf.fit(*windows.train, validation=windows.validation)
        except Enough:
            return found
    raise AssertionError("nothing was trained at the root")


def learned(trials: Sequence[Restart]) -> list[dict[str, Any]]:
    """What each restart tells on unseen windows after each of the shares of its steps."""
    tasks = list(dict.fromkeys(id(trial.task) for trial in trials))
    rows = []
    for group in halving.restart_groups(trials):
        with exclusive_training():
            trainer = BatchedTrainer(group)
            gains: list[list[float]] = [[] for _ in group]
            for fraction in SHARES:
                for network_group in trainer.network_groups:
                    network_group.networks.train()
                trainer.advance(fraction)
                for curve, (score, _) in zip(gains, trainer.scores(), strict=True):
                    curve.append(round(score, 4))
        for trial, curve in zip(group, gains, strict=True):
            variant = trial.task.variants[trial.number]
            rows.append(
                {
                    "task": tasks.index(id(trial.task)),
                    "grey": variant.grayscale_warmup,
                    "flipped": variant.flipped_polarity,
                    "gains": curve,
                }
            )
    return rows


def replayed(row: Row, rounds: Rounds, apart: bool) -> tuple[int, float, float]:
    """The winning task under this schedule, its final gain in bits, and the fraction of the steps that is taken."""
    tasks: dict[int, SimpleNamespace] = {}
    alive = []
    for restart in row["restarts"]:
        task = tasks.setdefault(restart["task"], SimpleNamespace(variants=[], min_gain=-np.inf, number=restart["task"]))
        task.variants.append(SimpleNamespace(grayscale_warmup=restart["grey"]))
        alive.append(SimpleNamespace(task=task, number=len(task.variants) - 1, gains=restart["gains"], score=0.0))
    everyone, steps, before = len(alive), 0.0, 0.0
    for number, (fraction, surviving) in enumerate(rounds):
        steps += len(alive) * (fraction - before)
        before = fraction
        for trial in alive:
            trial.score, trial.state = trial.gains[SHARES.index(fraction)], None
        if fraction < 1.0:
            count = halving.survivor_count(surviving, everyone)
            patient, by_warmup = number < halving.PATIENT_ROUNDS, apart and fraction < GRAYSCALE_UNTIL
            alive = halving.survivors(alive, count, patient, by_warmup)  # type: ignore[arg-type,assignment]
    best = max(alive, key=lambda trial: trial.score)
    return best.task.number, best.score, steps / everyone


def table(path: str, page: str) -> None:
    rows = read_rows(path)
    full = [replayed(row, ((1.0, 0.0),), False) for row in rows]
    lines = [
        "| compared after, continue | grayscale restarts | same test | same restart | most bits lost | steps |",
        "|---|---|---|---|---|---|",
    ]
    for rounds, apart in TRIED:
        outcomes = [replayed(row, rounds, apart) for row in rows]
        tests = sum(one[0] == other[0] for one, other in zip(outcomes, full, strict=True))
        lost = [other[1] - one[1] for one, other in zip(outcomes, full, strict=True)]
        schedule = ", ".join(
            f"{Fraction(fraction)}: {Fraction(surviving).limit_denominator(12)}" for fraction, surviving in rounds[:-1]
        )
        steps = float(np.mean([one[2] for one in outcomes]))
        lines.append(
            f"| {schedule} | {'apart' if apart else 'together'} | {tests} of {len(rows)} | {sum(loss == 0 for loss in lost)} "
            f"| {max(lost):.3f} | {steps:.0%} |"
        )
    insert_table(page, "curves", lines)


if __name__ == "__main__":
    table(*sys.argv[2:]) if sys.argv[1] == "--table" else main(*sys.argv[1:])
