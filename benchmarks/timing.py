"""Which of several contestants is faster? They take turns, and the median counts."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]

# Where Linux tells how many pages a process holds.
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def interleaved(contestants: Mapping[str, Callable[[], Any]], rounds: int, warmup: int = 2) -> dict[str, float]:
    """The median seconds of each contestant; all run once in every round, so noise hits them alike."""
    for run in contestants.values():
        for _ in range(warmup):
            run()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    order = list(contestants)
    gc.collect()
    for turn in range(rounds):
        # Whoever follows a cold cache changes from round to round.
        for name in order[turn % len(order) :] + order[: turn % len(order)]:
            seconds[name].append(seconds_of(contestants[name]))
    return {name: statistics.median(found) for name, found in seconds.items()}


def seconds_of(run: Callable[[], Any]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def no_slower(name: str, ours: float, other: float, at_most: float, **more: Any) -> Row:
    """A row that is met when we take at most `at_most` times as long as the other; `ratio` is ours / other."""
    ratio = ours / other
    return _row(name, ours, other, ratio, f"ours / other <= {at_most:g}", ratio <= at_most, more)


def faster(name: str, ours: float, other: float, at_least: float, **more: Any) -> Row:
    """A row that is met when the other takes at least `at_least` times as long as we do; `ratio` is other / ours."""
    ratio = other / ours
    return _row(name, ours, other, ratio, f"other / ours >= {at_least:g}", ratio >= at_least, more)


def within(name: str, ratio: float, at_most: float, what: str, **more: Any) -> Row:
    """A row that is met when something that is no time is at most so large."""
    return _row(name, None, None, ratio, f"{what} <= {at_most:g}", ratio <= at_most, more)


def skipped(name: str, why: str) -> Row:
    """A row that cannot be measured here."""
    return {"name": name, "skipped": why}


def slope(seconds: Mapping[int, float]) -> float:
    """By which power of its size something grows: the slope of a line through log size and log seconds.

    >>> round(slope({1: 0.5, 10: 5.0, 100: 50.0}), 6)
    1.0
    """
    sizes, times = zip(*((math.log(size), math.log(spent)) for size, spent in seconds.items()), strict=True)
    return float(np.polyfit(sizes, times, 1)[0])


def peak_memory_of(run: Callable[[], Any]) -> int:
    """How many bytes the process holds at most while something runs, above what it held before; Linux only."""
    gc.collect()
    RESET.write_text("5")  # the peak is counted from now on
    before = _held("VmRSS")
    run()
    return _held("VmHWM") - before


def _held(what: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) * 1024


def _row(
    name: str, ours: float | None, other: float | None, ratio: float, bar: str, met: bool, more: Mapping[str, Any]
) -> Row:
    told = {
        "ours_seconds": None if ours is None else rounded(ours),
        "other_seconds": None if other is None else rounded(other),
        "ratio": rounded(ratio),
    }
    return {"name": name, **told, "bar": bar, "met": bool(met), **more}


def rounded(number: float) -> float:
    """Three significant digits; more would be noise."""
    return float(f"{number:.3g}")
