"""Leaks in long use: ten minutes of fits, predictions, saves and explanations of small random problems.

python -m benchmarks.soak [minutes] [results/soak.json]: memory, processes, threads and temporary files, after a warm-up and in
the end. Ends with 1 if memory grew by more than 5 % or something was left behind.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rows import insert_table
from neuid3 import Examples, NeuID3Classifier, TrainingConfig, load

RULES = "nn(eye, [I]) :: bright(I). both(A, B) :- bright(A), bright(B). 0.9 :: works. seen(A) :- bright(A), works."
GROWTH_LIMIT = 0.05  # of resident memory


def problem(rng: np.random.Generator) -> tuple[Examples, np.ndarray]:
    """Facts, values, numbers, missing entries and images in a random mixture, with a class that depends on some of them."""
    n = int(rng.integers(30, 120))
    columns = {
        "fact": rng.random(n) < rng.uniform(0.2, 0.8),
        "suit": rng.choice(["hearts", "clubs", "spades"], n),
        "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        "left": rng.random((n, 8, 8)).astype(np.float32),
        "right": rng.random((n, 8, 8)).astype(np.float32),
    }
    y = (columns["fact"] ^ (columns["left"].mean((1, 2)) > 0.5)).astype(int) + (columns["suit"] == "clubs")
    return Examples(columns), y if len(np.unique(y)) > 1 else rng.integers(0, 2, n)


def round_of_use(number: int, folder: Path) -> None:
    """One fit, prediction, save, load, explanation and export."""
    rng = np.random.default_rng(number)
    X, y = problem(rng)
    settings: dict[str, Any] = {
        "training": TrainingConfig(epochs=1, restarts=1, joint_epochs=1),
        "max_depth": 3,
        "pruning": 0.0,
        "random_state": number,
    }
    rules = number % 2 == 0
    clf = NeuID3Classifier(background=RULES if rules else "", n_jobs=1 + number % 2, **settings)
    clf.fit(X if rules else X.select(["fact", "suit", "size"]), y)
    loaded = load(clf.save(folder / "model.neuid3"))
    assert isinstance(loaded, NeuID3Classifier)
    expected = clf.predict_proba(X)
    with ThreadPoolExecutor(4) as pool:  # a model may be used by several threads at once
        predictions = list(pool.map(lambda _: loaded.predict_proba(X), range(8)))
    assert all((probabilities == expected).all() for probabilities in predictions)
    loaded.explain(X, 0).text()
    loaded.export_svg()


def resources() -> dict[str, int]:
    """Memory in KiB, threads, child processes, temporary files and open files of this process."""
    gc.collect()
    status = Path("/proc/self/status").read_text().splitlines()
    memory = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return {
        "memory_kib": memory,
        "threads": threading.active_count(),
        "processes": len(children),
        "files": len(list(Path(tempfile.gettempdir()).iterdir())),
        "open": len(list(Path("/proc/self/fd").iterdir())),
    }


def main(minutes: float = 10.0, path: str | None = None) -> int:
    warnings.simplefilter("ignore")
    started, number, first = time.monotonic(), 0, None
    with tempfile.TemporaryDirectory() as home:
        tempfile.tempdir = home  # all temporary files of this process are here
        folder = Path(home) / "models"
        folder.mkdir()
        while time.monotonic() - started < 60 * minutes or first is None:
            round_of_use(number, folder)
            number += 1
            if first is None and (time.monotonic() - started > 60 * minutes / 5):
                first = resources()  # after a warm-up of a fifth of the time
        last = resources()
    growth = last["memory_kib"] / first["memory_kib"] - 1
    left = {
        what: (first[what], last[what])
        for what in ("threads", "processes", "files", "open")
        if last[what] > first[what]
    }
    row = {
        "minutes": minutes,
        "rounds": number,
        "after_warm_up": first,
        "end": last,
        "growth": round(growth, 4),
        "left": left,
    }
    print(json.dumps(row, indent=1))
    if path is not None:
        Path(path).write_text(json.dumps(row, indent=1) + "\n")
    return int(growth > GROWTH_LIMIT or bool(left))


def table(path: str, page: str) -> None:
    """Insert the table into a page."""
    row = json.loads(Path(path).read_text())
    lines = [
        f"| {row['rounds']} rounds in {row['minutes']:.0f} minutes | after the warm-up | in the end | |",
        "|---|---|---|---|",
    ]
    before, after = row["after_warm_up"], row["end"]
    memory = [f"{side['memory_kib'] / 1024:.0f} MB" for side in (before, after)]
    lines.append(f"| memory | {memory[0]} | {memory[1]} | {row['growth']:+.1%} |")
    names = {"threads": "threads", "processes": "processes", "files": "temporary files", "open": "open files"}
    for what, name in names.items():
        lines.append(f"| {name} | {before[what]} | {after[what]} | {after[what] - before[what]:+d} |")
    insert_table(page, "soak", lines)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--table"]:
        table(*sys.argv[2:])
    else:
        minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
        sys.exit(main(minutes, *sys.argv[2:3]))
