"""Parallel runs of units: finished units are not repeated, and a failing unit stops no other."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from joblib import Parallel, delayed, parallel_config
from joblib.parallel import get_active_backend

from experiments.store import is_done, write
from experiments.units import Unit
from neuid3.errors import DataError, NeuID3Error
from neuid3.training.parallel.pool import ending_with_this_process

Work = Callable[[Unit], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a unit: its scores, or an error; neither where another process has finished it meanwhile."""

    unit: Unit
    seconds: float
    scores: Mapping[str, Any] | None = None
    error: str | None = None

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.unit}  failed: {self.error}"
        if self.scores is None:
            return f"{self.unit}  finished elsewhere"
        if "r2" in self.scores:
            return f"{self.unit}  R² {self.scores['r2']:.3f}  {self.seconds:.1f} s"
        if "rmse" in self.scores:
            return f"{self.unit}  error {self.scores['rmse']:.3f}  {self.seconds:.1f} s"
        f1 = ", ".join(f"{label} {value:.3f}" for label, value in self.scores["f1"].items())
        return f"{self.unit}  accuracy {self.scores['accuracy']:.3f}  f1 {f1}  {self.seconds:.1f} s"


def run_units(
    units: Sequence[Unit], folder: Path, work: Work, jobs: int = 1, log: Callable[[str], None] = print
) -> list[Outcome]:
    """Run the units that have no result yet, and write each result as soon as it is known.

    Parameters
    ----------
    units : the units to run, in this order.
    folder : the folder of all results.
    work : function that runs one unit and returns its record.
    jobs : number of units that run in parallel; -1 is one per core.
    log : receives one line per event.

    Returns
    -------
    The outcomes of the units that were run, in the order in which they ended.
    """
    if jobs == 0:
        raise DataError("0 jobs do nothing; give 1 or more, or -1 for one on each core.")
    pending = [unit for unit in units if not is_done(folder, unit)]
    log(f"{len(units)} unit{'' if len(units) == 1 else 's'}, {len(units) - len(pending)} of them finished before.")
    outcomes: list[Outcome] = []
    with parallel_config(backend="loky", inner_max_num_threads=1):
        ending = ending_with_this_process(get_active_backend()[0])
        running = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1, **ending)(
            delayed(attempt)(unit, folder, work, os.getpid()) for unit in pending
        )
        for outcome in running:
            outcomes.append(outcome)
            log(f"[{len(units) - len(pending) + len(outcomes)} of {len(units)}] {outcome}")
    return outcomes


def attempt(unit: Unit, folder: Path, work: Work, parent: int) -> Outcome:
    """Run a unit unless it is finished, for the process `parent`, with which its workers end."""
    if parent not in (os.getpid(), os.getppid()):
        os._exit(1)  # the run that started this worker was killed; its next run must not compete with this one
    if is_done(folder, unit):
        return Outcome(unit, 0.0)
    started = perf_counter()
    try:
        record = work(unit)
        write(folder, unit, record)
    except NeuID3Error as error:  # its message is complete
        return Outcome(unit, perf_counter() - started, error=str(error))
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
        return Outcome(unit, perf_counter() - started, error=message)
    return Outcome(unit, perf_counter() - started, record["scores"])
