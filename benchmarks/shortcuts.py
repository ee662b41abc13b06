"""Study of the shortcuts of training: units of the experiments learned with and without them.

NEUID3_DATA=… python -m benchmarks.shortcuts results/shortcuts.jsonl; finished units are not repeated. Without shortcuts every
restart of every candidate is trained to the end, by plain torch where `NEUID3_KERNEL=off` is set.
python -m benchmarks.shortcuts --table results/shortcuts.jsonl PAGE draws the table; the numbers with the
shortcuts are read from the results of the experiments.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.rows import append_row, insert_table, read_rows
from experiments.learners import run
from experiments.units import Unit
from neuid3.training import halving

RESULTS = Path("results")
TO_THE_END = ((1.0, 0.0),)
FOLDS = (0, 1, 2)
TABLES = ("iris", "zoo", "wine", "congressional", "dermatology")
CONCEPTS = (
    "hidden_modulo_simple", "hidden_order_simple", "color_parity_rule", "increase_suits",
    "suit_order", "rank_order", "alternating_parity", "alternating_faces",
)  # fmt: skip


def units() -> Iterator[Unit]:
    """Five tables as images in three folds, and all concepts of cards with the rules made for them."""
    for fold in FOLDS:
        for table in TABLES:
            yield Unit("uci", table, "mnist", "tree", "default", fold)
    for concept in CONCEPTS:
        yield Unit("background", concept, "opt", "tree", "default", 0)


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    known = {row["unit"] for row in read_rows(path)}
    for unit in units():
        if str(unit) not in known:
            with patch.multiple(halving, ROUNDS=TO_THE_END, GRAYSCALE_ROUNDS=TO_THE_END):
                result = run(unit)
            append_row(path, _row(str(unit), result) | {"kernel": os.environ.get("NEUID3_KERNEL", "on")})


def _row(unit: str, result: dict[str, Any]) -> dict[str, Any]:
    return {
        "unit": unit,
        "accuracy": result["scores"]["accuracy"],
        "f1": result["scores"]["f1"],
        "gradient_steps": result["gradient_steps"],
        "seconds": result["seconds"]["fit"],
        "training": result["configuration"].get("training"),
    }


def table(path: str, page: str) -> None:
    """Insert the table into a page, from the units that were learned both ways with the same recipe."""
    whole = {row["unit"]: row for row in read_rows(path)}
    learned = [
        (_row(str(unit), json.loads((RESULTS / unit.path).read_text())), whole[str(unit)], unit)
        for unit in units()
        if str(unit) in whole and (RESULTS / unit.path).exists()
    ]
    both = [pair for pair in learned if pair[0]["training"] == pair[1].get("training")]
    lines = ["| | units | with shortcuts | without | steps with | steps without |", "|---|---|---|---|---|---|"]
    for name, experiment in (
        ("five tables as images, accuracy", "uci"),
        ("eight concepts, pool `opt`, F1", "background"),
    ):
        pairs = [(ours, other) for ours, other, unit in both if unit.experiment == experiment]
        if pairs:
            ours, others = zip(*pairs, strict=True)
            cells = [f"{_mean(side, experiment):.3f}" for side in (ours, others)]
            steps = [np.mean([row["gradient_steps"] for row in side]) for side in (ours, others)]
            cells += [f"{steps[0]:,.0f} ({steps[0] / steps[1]:.0%})", f"{steps[1]:,.0f}"]
            lines.append(f"| {name} | {len(pairs)} | {' | '.join(cells)} |")
    insert_table(page, "shortcuts", lines)


def _mean(rows: Sequence[dict[str, Any]], experiment: str) -> float:
    values = [row["accuracy"] if experiment == "uci" else np.mean(list(row["f1"].values())) for row in rows]
    return float(np.mean(values))


if __name__ == "__main__":
    table(*sys.argv[2:]) if sys.argv[1] == "--table" else main(*sys.argv[1:])
