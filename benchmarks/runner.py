"""Which rows are there, and how are they run? Each is measured in this process, and tells when and with what."""

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

# What a row may be compared with and need not be installed.
OPTIONAL = ("deepproblog", "klay", "pysdd")
TOLD = ("neuid3", "torch", "numpy", "scikit-learn", "problog", "deepproblog", "klaycircuits")


@dataclass(frozen=True, slots=True)
class Claim:
    """A row, or several that are measured together: the function that measures it; `slow` ones run when asked for."""

    place: str
    slow: bool = False

    def measure(self, quick: bool) -> Iterator[Row]:
        module, function = self.place.split(":")
        found: Callable[[bool], Iterator[Row]] = getattr(import_module(f"benchmarks.{module}"), function)
        yield from found(quick)


CLAIMS: Mapping[str, Claim] = {
    "training_vs_torch": Claim("learning:one_test"),
    "training_vs_deepproblog": Claim("learning:against_deepproblog"),
    "candidates_vs_one_by_one": Claim("learning:candidates"),
    "two_workers_vs_one": Claim("learning:workers"),
    "tables_vs_network": Claim("learning:tables"),
    "eleusis_vs_44m": Claim("learning:eleusis"),
    "facts_vs_sklearn": Claim("symbols:million"),
    "predict_vs_forward": Claim("tree:against_forward"),
    "growth": Claim("growth:growth"),
    "gt_rank_vs_torch": Claim("gt_rank:against_torch"),
    "gt_rank_vs_deepproblog": Claim("gt_rank:against_deepproblog"),
    "tree_vs_problog": Claim("tree:against_problog"),
    "addition_with_carry": Claim("addition:with_carry"),
    "circuit_vs_klay": Claim("evaluators:against_klay"),
    "halving": Claim("halving:halving", slow=True),
}


def chosen(names: Iterable[str]) -> list[str]:
    """The rows asked for; all but the slow ones where none is."""
    asked = list(names)
    for name in asked:
        if name not in CLAIMS:
            raise DataError(f"There is no row {name!r}.{did_you_mean(name, CLAIMS)}")
    return asked or [name for name, claim in CLAIMS.items() if not claim.slow]


def measured(names: Iterable[str], quick: bool = False) -> Iterator[Row]:
    """The rows asked for, one after the other. `quick` shrinks everything: it shows that rows run, not how fast."""
    around = {"versions": _versions(), "cores": os.cpu_count(), "python": platform.python_version()}
    for name in chosen(names):
        try:
            for row in CLAIMS[name].measure(quick):
                # Small sizes say nothing about bars.
                found = {**row, "met": None, "quick": True} if quick else row
                yield {**found, "date": datetime.now(UTC).isoformat(timespec="seconds"), **around}
        except ModuleNotFoundError as error:
            if error.name is None or error.name.split(".")[0] not in OPTIONAL:
                raise
            yield {"name": name, "skipped": f"{error.name} is not installed", **around}


def _versions() -> dict[str, str]:
    found = {}
    for package in TOLD:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
