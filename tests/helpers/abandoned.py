"""A process with busy children, to be killed: `python abandoned.py KIND FOLDER`; every child leaves a file named by its pid."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from experiments.runner import run_units
from experiments.units import Unit
from neuid3.logic import sandbox
from neuid3.training.parallel.pool import WorkerPool
from neuid3.training.parallel.shared import RowSubset, SharedColumns

FOREVER = 10**9


def work(kind: str, folder: str, columns: RowSubset | None = None) -> None:
    """Be busy for ever, as soon as this process is known to whoever watches."""
    assert columns is None or len(columns["image"])
    (Path(folder) / str(os.getpid())).touch()
    if kind == "locked":
        sum(range(FOREVER**2))  # one call into C that keeps the interpreter's lock
    while kind != "idle":
        np.linalg.svd(np.ones((200, 200)))
    while not (Path(folder) / "idle").exists():
        time.sleep(0.05)


def worker_pool(kind: str, folder: str) -> None:
    shared = SharedColumns({"image": np.zeros((64, 256, 256))})  # large enough to be shared as a file in memory
    with WorkerPool(2, shared) as workers:
        calls = [joblib.delayed(work)(kind, folder, RowSubset(shared, ("image",), np.arange(64))) for _ in range(2)]
        list(workers(calls))
        print("idle", flush=True)
        time.sleep(FOREVER)


def problog(folder: str) -> None:
    popen = subprocess.Popen

    def noted(*given: Any, **named: Any) -> Any:
        child = popen(*given, **named)
        (Path(folder) / str(child.pid)).touch()
        return child

    sandbox.subprocess.Popen = noted  # type: ignore[misc, assignment]
    endless = "count(N) :- M is N + 1, count(M). test :- count(0)."
    sandbox.send_request(
        {"do": "ground", "program": endless, "columns": {}, "tests": ["test"]}, sandbox.Limits(FOREVER / 1e4, 100_000)
    )


if __name__ == "__main__":
    kind, folder = sys.argv[1:]
    match kind:
        case "problog":
            problog(folder)
        case "units":
            units = [Unit("uci", "zoo", "onehot", "tree", "default", number) for number in range(2)]
            run_units(units, Path(folder, "results"), lambda _: work(kind, folder), jobs=2)  # type: ignore[arg-type, return-value]
        case "multiprocessing":
            with joblib.parallel_config(backend="multiprocessing"):
                worker_pool(kind, folder)
        case _:
            worker_pool(kind, folder)
