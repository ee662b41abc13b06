"""Which units are still to be run, and who runs them? Finished ones never again; a failing one stops no other."""

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
    """What became of a unit: its scores, or why it failed; neither when somebody else had finished it meanwhile."""

    unit: Unit
    seconds: float
    scores: Mapping[str, Any] | None = None
    error: str | None = None

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.unit}  failed: {self.error}"
        if self.scores is None:
            return f"{self.unit}  finished elsewhere"
        f1 = ", ".join(f"{label} {value:.3f}" for label, value in self.scores["f1"].items())
        return f"{self.unit}  accuracy {self.scores['accuracy']:.3f}  f1 {f1}  {self.seconds:.1f} s"


def run_units(
    units: Sequence[Unit], folder: Path, work: Work, jobs: int = 1, told: Callable[[str], None] = print
) -> list[Outcome]:
    """Run what is not finished yet, `jobs` units side by side, and keep every result the moment it is there."""
    if jobs == 0:
        raise DataError("0 jobs do nothing; give 1 or more, or -1 for one on each core.")
    waiting = [unit for unit in units if not is_done(folder, unit)]
    told(f"{len(units)} unit{'' if len(units) == 1 else 's'}, {len(units) - len(waiting)} of them finished before.")
    done: list[Outcome] = []
    with parallel_config(backend="loky", inner_max_num_threads=1):
        ending = ending_with_this_process(get_active_backend()[0])
        running = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1, **ending)(
            delayed(_attempt)(unit, folder, work, os.getpid()) for unit in waiting
        )
        for outcome in running:
            done.append(outcome)
            told(f"[{len(units) - len(waiting) + len(done)} of {len(units)}] {outcome}")
    return done


def _attempt(unit: Unit, folder: Path, work: Work, starter: int) -> Outcome:
    if starter not in (os.getpid(), os.getppid()):
        os._exit(1)  # the run that started this worker was killed; its next run must not find us at the same units
    if is_done(folder, unit):
        return Outcome(unit, 0.0)
    started = perf_counter()
    try:
        record = work(unit)
        write(folder, unit, record)
    except NeuID3Error as error:  # says all there is to say
        return Outcome(unit, perf_counter() - started, error=str(error))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        return Outcome(unit, perf_counter() - started, error=said)
    return Outcome(unit, perf_counter() - started, record["scores"])
