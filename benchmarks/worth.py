"""Ablation of the default training: one run per variant, problem and seed, one JSON line each.

NEUID3_DATA=… python -m benchmarks.worth results/worth.jsonl [problem …]; finished runs are not repeated.
python -m benchmarks.worth --table results/worth.jsonl PAGE draws the table from the file.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from benchmarks.rows import append_row, insert_table, read_rows
from experiments.datasets import CONCEPTS, POOL_BACKGROUND, cards, eleusis, mnist, pool
from neuid3 import Examples, NeuID3Classifier

# One order, one modulo, one parity.
CHOSEN = ("hidden_order_simple", "increase_suits", "alternating_parity")

PICTURES = "table as pictures"

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {"training": "paper"},
    "without the one-test-tree likelihood": {"training__loss": "branches"},
    "without restarts": {"training__restarts": 1},
    "without joint training": {"training__joint_epochs": 0},
    "without one-cycle rates": {"training__one_cycle": False},
    "without shifts and warps": {"training__augment": False},
    "without decided starts": {"training__sharpness": 1.0},
    "without warm starts": {"training__reuse": False},
}


def pictures(unseen: bool, seed: int) -> tuple[Examples, np.ndarray]:
    """A table as pictures: every 1 and 0 of 8 Boolean columns is an image of a 1 or a 0, the class a rule of depth 4.

    Made of MNIST's training images, a tenth of which is for scoring.
    """
    rng = np.random.default_rng([seed, int(unseen), 7])
    table = rng.random((300, 8)) < 0.5
    a, b, c, d = table.T[:4]
    y = np.where(np.where(a, np.where(b, True, c), np.where(d, c, False)), "yes", "no")
    images, labels = mnist("train")
    candidates = []
    for digit in (0, 1):
        rows = np.flatnonzero(labels == digit)
        candidates.append(rows[: len(rows) // 10] if unseen else rows[len(rows) // 10 :])
    drawn = [np.where(column, rng.choice(candidates[1], 300), rng.choice(candidates[0], 300)) for column in table.T]
    return Examples({f"x{i}": images[rows] for i, rows in enumerate(drawn)}), y


def scoring_windows(concept: str, seed: int) -> tuple[Examples, np.ndarray]:
    """1000 more windows of validation cards, to score on: test cards are for the tables of the experiments only."""
    deck = cards("validation")
    drawn = np.random.default_rng([seed, 11]).permutation(len(deck))[:2000]
    first, second = deck[drawn[:1000]], deck[drawn[1000:]]
    holds = CONCEPTS[concept].holds(first.suit, first.rank, second.suit, second.rank)
    columns = {
        "suit_1": first.suit_images(),
        "rank_1": first.rank_images(),
        "suit_2": second.suit_images(),
        "rank_2": second.rank_images(),
    }
    return Examples(columns), np.where(holds, "holds", "violates")


def run(problem: str, variant: str, seed: int) -> dict[str, Any]:
    """Learn one problem by one variant, from windows that no experiment has."""
    if problem in CONCEPTS:
        windows = eleusis(problem, 1000 + seed)
        (X, y), V, (T, labels) = windows.train, windows.validation, scoring_windows(problem, seed)
        arguments: dict[str, Any] = {
            "background": POOL_BACKGROUND,
            "tests": list(pool(problem, "opt")),
            "pos_label": "holds",
            "max_depth": 3,
        }
    else:
        (X, y), V, (T, labels) = pictures(False, seed), None, pictures(True, seed + 100)
        arguments = {"max_depth": 5}
    started = time.monotonic()
    clf = NeuID3Classifier(**arguments, random_state=seed).set_params(**VARIANTS[variant]).fit(X, y, validation=V)
    seconds = time.monotonic() - started
    predictions = clf.predict(T)
    f1 = {str(label): round(float(f1_score(labels, predictions, pos_label=label)), 4) for label in clf.classes_}
    return {
        "problem": problem,
        "variant": variant,
        "seed": seed,
        "f1": f1,
        "accuracy": round(float((predictions == labels).mean()), 4),
        "leaves": len(clf.tree_.leaves),
        "gradient_steps": clf.gradient_steps_,
        "seconds": round(seconds, 1),
    }


def main(path: str, *problems: str, seeds: int = 2) -> None:
    """Run what is not in the file yet, all variants of one seed before the next."""
    warnings.simplefilter("ignore")
    finished = {(row["problem"], row["variant"], row["seed"]) for row in read_rows(path)}
    for seed in range(seeds):
        for variant in VARIANTS:
            for problem in problems or (*CHOSEN, PICTURES):
                if (problem, variant, seed) not in finished:
                    append_row(path, run(problem, variant, seed))


def table(path: str, page: str) -> None:
    """Insert the table into a page; a cell says how many of the seeds are finished."""
    rows = read_rows(path)
    problems = [*CHOSEN, PICTURES]
    lines = [f"| | {' | '.join(problems)} |", "|---|" + "---|" * len(problems)]
    for variant in VARIANTS:
        cells = [_cell([r for r in rows if r["variant"] == variant and r["problem"] == p]) for p in problems]
        lines.append(f"| {variant} | {' | '.join(cells)} |")
    insert_table(page, "worth", lines)


def _cell(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "not run yet"
    scores = [list(row["f1"].values()) if "holds" in row["f1"] else [row["accuracy"]] for row in rows]
    means = " / ".join(f"{value:.3f}" for value in np.mean(scores, axis=0))
    return f"{means}, {np.mean([row['seconds'] for row in rows]):.0f} s ({len(rows)} of 2 seeds)"


if __name__ == "__main__":
    table(*sys.argv[2:]) if sys.argv[1] == "--table" else main(*sys.argv[1:])
