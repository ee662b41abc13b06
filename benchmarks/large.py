"""Memory of a fit and of predictions with a column that is larger than memory: one epoch of one test.

python -m benchmarks.large results/large.json [gigabytes] makes a `.npy` file of 28 × 28 images that is all hole but for its
first 1/64, white images of another class; fits and predicts in a process each; and keeps what the kernel says of them.
python -m benchmarks.large --table results/large.json PAGE draws the table.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rows import insert_table
from neuid3 import Examples, NeuID3Classifier, TrainingConfig, load
from neuid3.networks.defaults import Dense
from neuid3.utils.files import write_atomically

SIDE, WHITE = 28, 64

PEAK_LIMIT = 2 << 30  # bytes


def sparse(path: Path, count: int) -> None:
    """Write a sparse file of `count` images, of which only the first ones use disk space."""
    images = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=(count, SIDE, SIDE))
    images[: count // WHITE] = 255


def labels(count: int) -> np.ndarray:
    return np.arange(count) < count // WHITE


def measured(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of `work` with its seconds and its peak memory in bytes: resident, and anonymous."""
    anonymous, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            anonymous[0] = max(anonymous[0], _status("RssAnon"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    before, started = _status("VmHWM"), time.monotonic()
    try:
        result = work()
    finally:
        done.set()
        watcher.join()
    result |= {"seconds": round(time.monotonic() - started, 1), "resident_before": before}
    return result | {"peak_resident": _status("VmHWM"), "peak_anonymous": anonymous[0]}


def _status(name: str) -> int:
    """A line of /proc/self/status, in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def fit(images: str, model: str) -> dict[str, Any]:
    column = np.load(images, mmap_mode="r")
    clf = NeuID3Classifier(
        networks={"image_net": partial(Dense, 1, [SIDE**2], hidden=16)},
        training=TrainingConfig(epochs=1, restarts=1, joint_epochs=0, batch_size=1024, augment=False),
        max_depth=1,
        random_state=0,
    )
    clf.fit(Examples({"image": column}), labels(len(column)))
    clf.save(model)
    return {"tests": [str(test) for test in clf.tree_.tests], "gradient_steps": clf.gradient_steps_}


def predict(images: str, model: str) -> dict[str, Any]:
    column = np.load(images, mmap_mode="r")
    clf = load(model)
    assert isinstance(clf, NeuID3Classifier)
    probabilities = clf.predict_proba({"image": column})
    return {"accuracy": round(float(((probabilities[:, 1] > 0.5) == labels(len(column))).mean()), 6)}


def main(path: str, gigabytes: str = "8") -> None:
    count = int(float(gigabytes) * 2**30) // SIDE**2
    with tempfile.TemporaryDirectory() as folder:
        images, model = Path(folder) / "images.npy", Path(folder) / "model.neuid3"
        sparse(images, count)
        record: dict[str, Any] = {"examples": count, "bytes": images.stat().st_size, "bar": PEAK_LIMIT}
        for phase in ("fit", "predict"):
            process = subprocess.run(
                [sys.executable, "-m", "benchmarks.large", f"--{phase}", str(images), str(model)],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            record[phase] = json.loads(process.stdout.splitlines()[-1])
            print(phase, record[phase], flush=True)
    write_atomically(Path(path), (json.dumps(record, indent=1) + "\n").encode())


def table(path: str, page: str) -> None:
    """Insert the table into a page."""
    record = json.loads(Path(path).read_text())
    lines = ["| | column | peak resident | of it anonymous | bar | |", "|---|---|---|---|---|---|"]
    for phase, description in (("fit", "one epoch of one test"), ("predict", "a probability for each")):
        peak, own = record[phase]["peak_resident"], record[phase]["peak_anonymous"]
        sizes = " | ".join(f"{size / 2**30:.2f} GB" for size in (record["bytes"], peak, own, record["bar"]))
        lines.append(f"| {description} | {sizes} | {'met' if peak < record['bar'] else 'missed'} |")
    insert_table(page, "large", lines)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--fit", images, model]:
            print(json.dumps(measured(lambda: fit(images, model))))
        case ["--predict", images, model]:
            print(json.dumps(measured(lambda: predict(images, model))))
        case ["--table", *rest]:
            table(*rest)
        case rest:
            main(*rest)
