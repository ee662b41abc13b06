"""Which of several contestants is faster? They take turns, and the median counts."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

Row = dict[str, Any]


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


def _row(name: str, ours: float, other: float, ratio: float, bar: str, met: bool, more: Row) -> Row:
    told = {"ours_seconds": rounded(ours), "other_seconds": rounded(other), "ratio": rounded(ratio)}
    return {"name": name, **told, "bar": bar, "met": bool(met), **more}


def rounded(number: float) -> float:
    """Three significant digits; more would be noise."""
    return float(f"{number:.3g}")
