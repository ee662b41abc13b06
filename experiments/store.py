"""Result files: one JSON file per unit, written atomically."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.units import Unit, unit_from_json
from neuid3.errors import DataError
from neuid3.utils.files import read_text, write_atomically


@dataclass(frozen=True, slots=True)
class Result:
    """The content of a result file."""

    unit: Unit
    record: Mapping[str, Any]

    @property
    def accuracy(self) -> float:
        return float(self.record["scores"]["accuracy"])

    def f1(self, label: str) -> float:
        return float(self.record["scores"]["f1"][label])

    @property
    def seconds(self) -> float:
        """Processor time of learning in seconds, on one thread, including reused tests that had to be learned before."""
        processor_seconds = self.record["processor_seconds"]
        return float(sum(seconds for what, seconds in processor_seconds.items() if what != "predict"))


def is_done(folder: Path, unit: Unit) -> bool:
    return (folder / unit.path).exists()


def write(folder: Path, unit: Unit, record: Mapping[str, Any]) -> Path:
    """Write the record of a unit atomically."""
    path = folder / unit.path
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**unit.to_json(), **record}, indent=1, ensure_ascii=False) + "\n"
    return write_atomically(path, text.encode())


def _checked_scores(scores: Mapping[str, Any]) -> Mapping[str, Any]:
    """Scores of classes or of numbers; a KeyError or TypeError where one is missing or no number."""
    for names in (("r2", "mean_absolute_error"), ("rmse", "mae")):
        if names[0] in scores:
            return {name: float(scores[name]) for name in names}
    return {"accuracy": float(scores["accuracy"]), "f1": dict(scores["f1"])}


def read(folder: Path) -> dict[Unit, Result]:
    """All results in a folder, by unit."""
    if not folder.is_dir():
        raise DataError(
            f"There is no folder {folder} with results; name another with --results, or run some units first."
        )
    results = {}
    next(folder.iterdir(), None)  # unlike glob, it raises where the folder may not be read
    for path in sorted(folder.glob("*/**/*.json")):
        try:
            record = json.loads(read_text(path, "result"))
            result = Result(unit_from_json(record), record)
            _ = result.seconds, dict(record["configuration"]), _checked_scores(record["scores"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path} is no result of a unit ({error}); delete it and run its unit again.") from None
        results[result.unit] = result
    return results
