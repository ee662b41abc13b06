"""Times and memory of function calls, and the rows that compare them."""

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

# Files of Linux about the memory of this process.
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def interleaved(functions: Mapping[str, Callable[[], Any]], rounds: int, warmup: int = 2) -> dict[str, float]:
    """The median time of each function in seconds; all run once per round, so that noise affects them alike."""
    for run in functions.values():
        for _ in range(warmup):
            run()
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    order = list(functions)
    gc.collect()
    for turn in range(rounds):
        # The order rotates, so that no function always runs with a cold cache.
        for name in order[turn % len(order) :] + order[: turn % len(order)]:
            seconds[name].append(seconds_of(functions[name]))
    return {name: statistics.median(times) for name, times in seconds.items()}


def seconds_of(run: Callable[[], Any]) -> float:
    """The time of one call in seconds."""
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
    """A row that is met when a number other than a ratio of times is at most `at_most`."""
    return _row(name, None, None, ratio, f"{what} <= {at_most:g}", ratio <= at_most, more)


def skipped(name: str, why: str) -> Row:
    """A row that cannot be measured here."""
    return {"name": name, "skipped": why}


def slope(seconds: Mapping[int, float]) -> float:
    """The exponent with which times grow with the size: the slope of a line through log size and log seconds.

    >>> round(slope({1: 0.5, 10: 5.0, 100: 50.0}), 6)
    1.0
    """
    sizes, times = zip(*((math.log(size), math.log(spent)) for size, spent in seconds.items()), strict=True)
    return float(np.polyfit(sizes, times, 1)[0])


def peak_memory_of(run: Callable[[], Any]) -> int:
    """Peak resident memory during a call, in bytes above the memory before it; Linux only."""
    gc.collect()
    RESET.write_text("5")  # the peak is counted from now on
    before = _status_bytes("VmRSS")
    run()
    return _status_bytes("VmHWM") - before


def _status_bytes(what: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) * 1024


def _row(
    name: str, ours: float | None, other: float | None, ratio: float, bar: str, met: bool, more: Mapping[str, Any]
) -> Row:
    numbers = {
        "ours_seconds": None if ours is None else rounded(ours),
        "other_seconds": None if other is None else rounded(other),
        "ratio": rounded(ratio),
    }
    return {"name": name, **numbers, "bar": bar, "met": bool(met), **more}


def rounded(number: float) -> float:
    """A number with three significant digits; more are noise."""
    return float(f"{number:.3g}")
