"""Records that units of the experiments might have written."""

from __future__ import annotations

from typing import Any

from experiments.units import Unit

UNION = Unit("background", "rank_order", "union", "tree", "default", 0)


def record(violates: float = 0.9, holds: float = 0.8, fit: float = 10.0, **more: Any) -> dict[str, Any]:
    """What a unit might have written."""
    return {
        "configuration": {"max_depth": 3, "random_state": 0},
        "scores": {"accuracy": 0.85, "f1": {"holds": holds, "violates": violates}, "default_accuracy": 0.5},
        "processor_seconds": {"fit": fit, "predict": 1.0},
        "tests": [],
        **more,
    }
