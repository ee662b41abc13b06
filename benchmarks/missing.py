"""Training on rows with missing images: accuracy and gain beside blank images, dropped rows and complete rows.

python -m benchmarks.missing results/missing.jsonl runs the fits; those that are finished are not repeated.
python -m benchmarks.missing --table results/missing.jsonl PAGE draws the tables.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from statistics import mean
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.rows import Row, append_row, insert_table, read_rows
from neuid3 import Examples, NeuID3Classifier, TrainingConfig
from neuid3.training import trainer
from neuid3.tree.tree import Branch

ROWS, TEST_ROWS, SEEDS = 600, 2000, (0, 1)
NETWORK = "nn(net, [I], R, [0, 1, 2, 3, 4]) :: digit(I, R).\n"
RULES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "the sum of three digits is above 6": (
        "rule(A, B, C) :- digit(A, X), digit(B, Y), digit(C, Z), X + Y + Z > 6.",
        lambda digits: digits.sum(0) > 6,
    ),
    "one of three digits is 3 or 4": (
        "low(I) :- digit(I, R), R < 3.\nrule(A, B, C) :- \\+ (low(A), low(B), low(C)).",
        lambda digits: (digits >= 3).any(0),
    ),
}
HOLES = ("the third image in half of the rows", "the third image in 9 of 10 rows", "one image in every row")
TREATMENTS = ("complete", "dropped", "blank", "marginalised")
# Epochs of joint training: the default, and fewer where averages are compared.
JOINT, FEWER = 60, 20
DECAYS = {"minibatch": 0.0, "running, 0.9": trainer.DECAY, "running, 0.99": 0.99}


def drawn(rule: Callable[[Any], Any], rows: int, seed: int, part: slice) -> tuple[Any, Any, np.random.Generator]:
    """Three images a row and the class; `part` keeps images of training and test rows apart."""
    digits, rng = load_digits(), np.random.default_rng(seed)
    shown = rng.choice(np.flatnonzero(digits.target < 5)[part], (3, rows))
    return (digits.images / 16).astype(np.float32)[shown], rule(digits.target[shown]), rng


def holes(where: str, rows: int, rng: np.random.Generator) -> Any:
    """Which images are missing, `(image, row)`."""
    gone = np.zeros((3, rows), dtype=bool)
    if where == HOLES[2]:
        gone[rng.integers(0, 3, rows), np.arange(rows)] = True
    else:
        gone[2] = rng.random(rows) < (0.5 if where == HOLES[0] else 0.9)
    return gone


def columns(images: Any, gone: Any, treatment: str) -> Examples:
    empty = {"complete": images, "blank": 0.0}.get(treatment, np.nan)
    return Examples({f"i{k}": column for k, column in enumerate(np.where(gone[:, :, None, None], empty, images))})


def fit(rule: str, where: str, treatment: str, joint_epochs: int, seed: int) -> Row:
    background, holds = RULES[rule]
    images, y, rng = drawn(holds, ROWS, seed, slice(0, 600))
    gone = holes(where, ROWS, rng)
    used = ~gone.any(0) if treatment == "dropped" else np.ones(ROWS, dtype=bool)
    clf = NeuID3Classifier(
        background=NETWORK + background,
        tests=["rule(i0, i1, i2)"],
        max_depth=1,
        training=TrainingConfig(epochs=20, joint_epochs=joint_epochs),
        random_state=seed,
    )
    shown, classes, rng = drawn(holds, TEST_ROWS, seed + 100, slice(600, None))
    lost = holes(where, TEST_ROWS, rng)
    result: Row = {"gain": 0.0, "complete": None, "holes": None}
    if used.any():
        clf.fit(columns(images, gone, treatment)[used], y[used])
        root = clf.tree_.root
        result["gain"] = root.gain if isinstance(root, Branch) else 0.0
        result["complete"] = clf.score(Examples({f"i{k}": column for k, column in enumerate(shown)}), classes)
        result["holes"] = clf.score(columns(shown, lost, treatment), classes)
    return result


def settings() -> Iterator[tuple[str, str, str, str, int, int]]:
    for seed, rule, where, treatment in product(SEEDS, RULES, HOLES, TREATMENTS):
        if treatment != "complete" or where == HOLES[0]:  # complete rows are the same everywhere
            yield rule, where, treatment, "running, 0.9", JOINT, seed
    for where, average, seed in product(HOLES, DECAYS, (*SEEDS, 2)):
        yield next(iter(RULES)), where, "marginalised", average, FEWER, seed


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    names = ("rule", "where", "treatment", "average", "joint_epochs", "seed")
    finished = {tuple(row[name] for name in names) for row in read_rows(path)}
    for setting in settings():
        if setting not in finished:
            rule, where, treatment, average, joint_epochs, seed = setting
            with patch.object(trainer, "DECAY", DECAYS[average]):
                append_row(
                    path, dict(zip(names, setting, strict=True)) | fit(rule, where, treatment, joint_epochs, seed)
                )


def table(path: str, page: str) -> None:
    rows = read_rows(path)
    insert_table(page, "missing", _lines(rows, tuple(RULES), "treatment", TREATMENTS, {"joint_epochs": JOINT}))
    first = next(iter(RULES))
    insert_table(page, "averages", _lines(rows, (first,), "average", tuple(DECAYS), {"joint_epochs": FEWER}))


def _lines(rows: Sequence[Row], rules: Sequence[str], axis: str, values: Sequence[str], fixed: Row) -> list[str]:
    lines = [f"| rule | missing | {' | '.join(values)} |", "|---|---|" + "---|" * len(values)]
    for rule, where in product(rules, HOLES):
        here = [
            row
            for row in rows
            if row["rule"] == rule
            and fixed.items() <= row.items()
            and (row["where"] == where or row["treatment"] == "complete")
        ]
        cells = [_cell([row for row in here if row[axis] == value]) for value in values]
        lines.append(f"| {rule} | {where} | {' | '.join(cells)} |")
    return lines


def _cell(rows: Sequence[Row]) -> str:
    trained = [row for row in rows if row["complete"] is not None]
    if not trained:
        return "nothing to train on"
    return ", ".join(f"{mean(row[name] for row in trained):.3f}" for name in ("gain", "complete", "holes"))


if __name__ == "__main__":
    if sys.argv[1] == "--table":
        table(*sys.argv[2:])
    else:
        main(sys.argv[1])
