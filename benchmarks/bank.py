"""Study of the bank: a second concept that shares a test with it, learned with and without the bank.

NEUID3_DATA=… python -m benchmarks.bank results/bank.jsonl; finished runs are not repeated. The numbers without the bank
are read from the results of the experiments (`python -m experiments reproduce background --pool union`).
python -m benchmarks.bank --table results/bank.jsonl PAGE draws the table.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import f1_score

from benchmarks.rows import append_row, insert_table, read_rows
from experiments import settings
from experiments.configuration import classifier
from experiments.datasets import POOL_BACKGROUND, eleusis, pool
from neuid3 import Bank, NeuID3Classifier

RESULTS = Path("results/background")

# Concepts that fill the bank, and one that shares tests with it. The second pair is the harder one: a test learned inside a
# hidden concept was trained on the examples of one branch only.
PAIRS = ((("rank_order", "suit_order"), "hidden_order_simple"), (("hidden_order_simple",), "rank_order"))
SEEDS = 5


def fitted(concept: str, tests: str, seed: int, bank: Bank | None = None) -> tuple[NeuID3Classifier, float]:
    """A tree for a concept, learned as in the experiments, and the seconds of its fit."""
    windows = eleusis(concept, seed)
    clf = classifier(
        settings.ELEUSIS_TREE["default"],
        background=POOL_BACKGROUND,
        tests=list(pool(concept, tests)),
        bank=bank,
        random_state=seed,
    )
    started = time.monotonic()
    clf.fit(*windows.train, validation=windows.validation)
    return clf, time.monotonic() - started


def run(first: tuple[str, ...], second: str, seed: int) -> dict[str, object]:
    """Fill a bank from some concepts, and learn another with all twelve rules and the bank."""
    with tempfile.TemporaryDirectory() as folder:
        bank = Bank(folder)
        for concept in first:
            for number, test in enumerate(fitted(concept, "opt", seed)[0].tests_):
                bank.add(f"{concept}-{number}", test)
        clf, seconds = fitted(second, "union", seed, bank)
    examples, labels = eleusis(second, seed).test
    predictions = clf.predict(examples)
    return {
        "bank": " and ".join(first),
        "concept": second,
        "seed": seed,
        "f1": {
            label: round(float(f1_score(labels, predictions, pos_label=label)), 4) for label in ("holds", "violates")
        },
        "gradient_steps": clf.gradient_steps_,
        "seconds": round(seconds, 1),
        "leaves": len(clf.tree_.leaves),
    }


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    finished = {(row["bank"], row["concept"], row["seed"]) for row in read_rows(path)}
    for seed in range(SEEDS):
        for first, second in PAIRS:
            if (" and ".join(first), second, seed) not in finished:
                append_row(path, run(first, second, seed))


def table(path: str, page: str) -> None:
    """Insert the table into a page: F1 and steps with the bank, and without it where that was run."""
    rows = read_rows(path)
    lines = [
        "| bank filled by | concept | seeds | F1 with the bank | F1 without | steps with | steps without |",
        "|---|---|---|---|---|---|---|",
    ]
    for first, second in PAIRS:
        files = {row["seed"]: RESULTS / second / "union" / "tree" / f"seed-{row['seed']}.json" for row in rows}
        both = [
            (row, json.loads(files[row["seed"]].read_text()))
            for row in rows
            if (row["bank"], row["concept"]) == (" and ".join(first), second) and files[row["seed"]].exists()
        ]
        if not both:
            continue
        ours = [np.mean([row["f1"][label] for row, _ in both]) for label in ("holds", "violates")]
        theirs = [np.mean([other["scores"]["f1"][label] for _, other in both]) for label in ("holds", "violates")]
        steps = [np.mean([r["gradient_steps"] for r in side]) for side in zip(*both, strict=True)]
        cells = [" / ".join(f"{value:.3f}" for value in means) for means in (ours, theirs)]
        counts = [f"{steps[0]:,.0f} ({steps[0] / steps[1]:.1%})", f"{steps[1]:,.0f}"]
        lines.append(f"| {' and '.join(first)} | {second} | {len(both)} of {SEEDS} | {' | '.join([*cells, *counts])} |")
    insert_table(page, "bank", lines)


if __name__ == "__main__":
    table(*sys.argv[2:]) if sys.argv[1] == "--table" else main(*sys.argv[1:])
