"""The rows of `python -m benchmarks`: which there are, and how they are measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from neuid3.errors import DataError, did_you_mean

Row = dict[str, Any]

# Packages that rows are compared with; they need not be installed.
OPTIONAL = ("deepproblog", "klay", "pysdd")
RECORDED_PACKAGES = ("neuid3", "torch", "numpy", "scikit-learn", "problog", "deepproblog", "klaycircuits")


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A row, or several rows that are measured together.

    Attributes
    ----------
    function : "module:function" that measures them.
    slow : whether it runs only by name.
    """

    function: str
    slow: bool = False

    def measure(self, quick: bool) -> Iterator[Row]:
        module, name = self.function.split(":")
        measure: Callable[[bool], Iterator[Row]] = getattr(import_module(f"benchmarks.{module}"), name)
        yield from measure(quick)


BENCHMARKS: Mapping[str, Benchmark] = {
    "training_vs_torch": Benchmark("learning:one_test"),
    "training_vs_deepproblog": Benchmark("learning:against_deepproblog"),
    "candidates_vs_one_by_one": Benchmark("learning:candidates"),
    "two_workers_vs_one": Benchmark("learning:workers"),
    "tables_vs_network": Benchmark("learning:tables"),
    "eleusis_vs_44m": Benchmark("learning:eleusis"),
    "facts_vs_sklearn": Benchmark("symbols:million"),
    "forest_vs_sklearn": Benchmark("symbols:forest_of_a_million"),
    "expressions": Benchmark("expressions:million"),
    "predict_vs_forward": Benchmark("tree:against_forward"),
    "growth": Benchmark("growth:growth"),
    "gt_rank_vs_torch": Benchmark("gt_rank:against_torch"),
    "gt_rank_vs_deepproblog": Benchmark("gt_rank:against_deepproblog"),
    "tree_vs_problog": Benchmark("tree:against_problog"),
    "addition_with_carry": Benchmark("addition:with_carry"),
    "circuit_vs_klay": Benchmark("evaluators:against_klay"),
    "halving": Benchmark("halving:halving", slow=True),
}


def select(names: Iterable[str]) -> list[str]:
    """The named benchmarks, or all but the slow ones where none is named."""
    selected = list(names)
    for name in selected:
        if name not in BENCHMARKS:
            raise DataError(f"There is no row {name!r}.{did_you_mean(name, BENCHMARKS)}")
    return selected or [name for name, benchmark in BENCHMARKS.items() if not benchmark.slow]


def measure(names: Iterable[str], quick: bool = False) -> Iterator[Row]:
    """Measure benchmarks one after the other.

    Parameters
    ----------
    names : names in `BENCHMARKS`; none: all but the slow ones.
    quick : use small sizes, which show that rows run, not how fast.
    """
    environment = {"versions": _versions(), "cores": os.cpu_count(), "python": platform.python_version()}
    for name in select(names):
        try:
            for row in BENCHMARKS[name].measure(quick):
                # Bars are for full sizes.
                result = {**row, "met": None, "quick": True} if quick else row
                yield {**result, "date": datetime.now(UTC).isoformat(timespec="seconds"), **environment}
        except ModuleNotFoundError as error:
            if error.name is None or error.name.split(".")[0] not in OPTIONAL:
                raise
            yield {"name": name, "skipped": f"{error.name} is not installed", **environment}


def _versions() -> dict[str, str]:
    versions = {}
    for package in RECORDED_PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
