"""What is each part of the default recipe worth? One run a variant, problem and seed; one JSON line each.

NEUID3_DATA=… python -m benchmarks.worth results/worth.jsonl [problem …]; finished runs are not repeated.
python -m benchmarks.worth --table results/worth.jsonl docs/learning.md draws the table from the file.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import f1_score

from benchmarks.cards import BACKGROUND, CONCEPTS, idx, pick, windows
from neuid3 import Examples, NeuID3Classifier

PICTURES = "table as pictures"

VARIANTS: dict[str, dict[str, object]] = {
    "default": {},
    "paper": {"recipe": "paper"},
    "without the one-test-tree likelihood": {"loss": "branches"},
    "without restarts": {"restarts": 1},
    "without joint training": {"joint_epochs": 0},
    "without one-cycle rates": {"one_cycle": False},
    "without shifts and warps": {"augment": False},
    "without decided starts": {"sharpness": 1.0},
    "without warm starts": {"warm_starts": False},
}


def pictures(unseen: bool, seed: int) -> tuple[Examples, np.ndarray]:
    """A table as pictures: every 1 and 0 of 8 Boolean columns is an image of a 1 or a 0, the class a rule of depth 4."""
    rng = np.random.default_rng([seed, int(unseen), 7])
    table = rng.random((300, 8)) < 0.5
    a, b, c, d = table.T[:4]
    y = np.where(np.where(a, np.where(b, True, c), np.where(d, c, False)), "yes", "no")
    labels, images = idx("mnist/train-labels-idx1-ubyte.gz"), idx("mnist/train-images-idx3-ubyte.gz")
    columns = {f"x{i}": images[pick(labels, column.astype(np.int64), unseen, rng)] for i, column in enumerate(table.T)}
    return Examples(columns), y


def run(problem: str, variant: str, seed: int) -> dict[str, object]:
    """Learn one problem by one variant; scores on windows of validation images."""
    if problem in CONCEPTS:
        (X, y), V, (T, truth) = (
            windows(problem, n, unseen, s)
            for n, unseen, s in ((1000, False, seed), (200, True, seed), (1000, True, seed + 100))
        )
        arguments: dict[str, object] = {
            "background": BACKGROUND,
            "tests": CONCEPTS[problem][1],
            "pos_label": "holds",
            "max_depth": 3,
        }
    else:
        (X, y), V, (T, truth) = pictures(False, seed), None, pictures(True, seed + 100)
        arguments = {"max_depth": 5}
    started = time.monotonic()
    clf = NeuID3Classifier(**arguments, **VARIANTS[variant], random_state=seed).fit(X, y, validation=V)
    seconds = time.monotonic() - started
    answers = clf.predict(T)
    f1 = {str(label): round(float(f1_score(truth, answers, pos_label=label)), 4) for label in clf.classes_}
    return {
        "problem": problem,
        "variant": variant,
        "seed": seed,
        "f1": f1,
        "accuracy": round(float((answers == truth).mean()), 4),
        "leaves": len(clf.tree_.leaves),
        "gradient_steps": clf.gradient_steps_,
        "seconds": round(seconds, 1),
    }


def main(path: str, *problems: str, seeds: int = 2) -> None:
    """Run what is not in the file yet, all variants of one seed before the next."""
    warnings.simplefilter("ignore")
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    known = {(row["problem"], row["variant"], row["seed"]) for row in done}
    for seed in range(seeds):
        for variant in VARIANTS:
            for problem in problems or (*CONCEPTS, PICTURES):
                if (problem, variant, seed) not in known:
                    row = run(problem, variant, seed)
                    with file.open("a") as out:
                        out.write(json.dumps(row) + "\n")
                    print(json.dumps(row), flush=True)


def table(path: str, page: str) -> None:
    """Draw the table from the result file, between its two marks in a page; a cell says how many seeds it rests on."""
    rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    problems = [*CONCEPTS, PICTURES]
    lines = [f"| | {' | '.join(problems)} |", "|---|" + "---|" * len(problems)]
    for variant in VARIANTS:
        cells = [_cell([r for r in rows if r["variant"] == variant and r["problem"] == p]) for p in problems]
        lines.append(f"| {variant} | {' | '.join(cells)} |")
    before, rest = Path(page).read_text().split("<!-- worth -->")
    after = rest.split("<!-- /worth -->")[1]
    Path(page).write_text(f"{before}<!-- worth -->\n" + "\n".join(lines) + f"\n<!-- /worth -->{after}")


def _cell(rows: list[dict[str, object]]) -> str:
    if not rows:
        return "not run yet"
    scores = [list(row["f1"].values()) if "holds" in row["f1"] else [row["accuracy"]] for row in rows]
    means = " / ".join(f"{value:.3f}" for value in np.mean(scores, axis=0))
    return f"{means}, {np.mean([row['seconds'] for row in rows]):.0f} s ({len(rows)} of 2 seeds)"


if __name__ == "__main__":
    table(*sys.argv[2:]) if sys.argv[1] == "--table" else main(*sys.argv[1:])
