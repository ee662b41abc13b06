"""Training on rows with missing images: accuracy and gain beside blank images, dropped rows and complete rows.

python -m benchmarks.missing results/missing.jsonl runs the fits; those that are finished are not repeated.
python -m benchmarks.missing --table results/missing.jsonl docs/learning.md draws the tables.
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

from benchmarks.rows import Row, draw, keep, kept
from neuid3 import Examples, NeuID3Classifier, company
from neuid3.tree import Branch

ROWS, TEST_ROWS, SEEDS = 600, 2000, (0, 1, 2)
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
DECAYS = {"minibatch": 0.0, "running, 0.9": company.DECAY, "running, 0.99": 0.99}


def drawn(truth: Callable[[Any], Any], rows: int, seed: int, part: slice) -> tuple[Any, Any, np.random.Generator]:
    """Three images a row and the class; `part` keeps images of training and test rows apart."""
    digits, rng = load_digits(), np.random.default_rng(seed)
    shown = rng.choice(np.flatnonzero(digits.target < 5)[part], (3, rows))
    return (digits.images / 16).astype(np.float32)[shown], truth(digits.target[shown]), rng


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


def fit(rule: str, where: str, treatment: str, seed: int) -> Row:
    background, truth = RULES[rule]
    images, y, rng = drawn(truth, ROWS, seed, slice(0, 600))
    gone = holes(where, ROWS, rng)
    used = ~gone.any(0) if treatment == "dropped" else np.ones(ROWS, dtype=bool)
    clf = NeuID3Classifier(
        background=NETWORK + background,
        tests=["rule(i0, i1, i2)"],
        max_depth=1,
        epochs=20,
        joint_epochs=20,
        random_state=seed,
    )
    shown, classes, rng = drawn(truth, TEST_ROWS, seed + 100, slice(600, None))
    lost = holes(where, TEST_ROWS, rng)
    found: Row = {"gain": 0.0, "complete": None, "holes": None}
    if used.any():
        clf.fit(columns(images, gone, treatment)[used], y[used])
        root = clf.tree_.root
        found["gain"] = root.gain if isinstance(root, Branch) else 0.0
        found["complete"] = clf.score(Examples({f"i{k}": column for k, column in enumerate(shown)}), classes)
        found["holes"] = clf.score(columns(shown, lost, treatment), classes)
    return found


def settings() -> Iterator[tuple[str, str, str, str, int]]:
    for rule, where, treatment, seed in product(RULES, HOLES, TREATMENTS, SEEDS):
        if treatment != "complete" or where == HOLES[0]:  # complete rows are the same everywhere
            yield rule, where, treatment, "running, 0.9", seed
    for rule, where, average, seed in product(RULES, HOLES, DECAYS, SEEDS):
        if average != "running, 0.9":
            yield rule, where, "marginalised", average, seed


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    names = ("rule", "where", "treatment", "average", "seed")
    known = {tuple(row[name] for name in names) for row in kept(path)}
    for setting in settings():
        if setting not in known:
            rule, where, treatment, average, seed = setting
            with patch.object(company, "DECAY", DECAYS[average]):
                keep(path, dict(zip(names, setting, strict=True)) | fit(rule, where, treatment, seed))


def table(path: str, page: str) -> None:
    rows = kept(path)
    draw(page, "missing", _lines(rows, "treatment", TREATMENTS, {"average": "running, 0.9"}))
    draw(page, "averages", _lines(rows, "average", tuple(DECAYS), {"treatment": "marginalised"}))


def _lines(rows: Sequence[Row], axis: str, values: Sequence[str], fixed: Row) -> list[str]:
    lines = [f"| rule | missing | {' | '.join(values)} |", "|---|---|" + "---|" * len(values)]
    for rule, where in product(RULES, HOLES):
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
    told = [row for row in rows if row["complete"] is not None]
    if not told:
        return "nothing to train on"
    return ", ".join(f"{mean(row[name] for row in told):.3f}" for name in ("gain", "complete", "holes"))


if __name__ == "__main__":
    if sys.argv[1] == "--table":
        table(*sys.argv[2:])
    else:
        main(sys.argv[1])
