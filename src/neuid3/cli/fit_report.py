"""Scores and the JSON report of the command `fit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

    from neuid3.cli.fit_data import FitData
    from neuid3.data.reading import TableData
    from neuid3.tree.record import ConceptScore, NumberScore, Score


def held_out_scores(estimator: Any, fit_data: FitData) -> Mapping[str, Any] | None:
    """The scores of the tree on held-out rows, and of the majority class or the mean; they are stored in the model."""
    if not fit_data.test_rows.any():
        return None
    from neuid3.tree.record import NumberScore

    examples, targets, _ = fit_data.rows(fit_data.test_rows)
    recorded = estimator.record_score(examples, targets)
    if isinstance(recorded, NumberScore):
        return _number_scores(recorded, fit_data)
    return _class_scores(recorded, estimator.model_.predict(examples), estimator.model_.classes, fit_data)


def _number_scores(recorded: NumberScore, fit_data: FitData) -> Mapping[str, Any]:
    import numpy as np

    mean = float(fit_data.targets[fit_data.training_rows].mean())
    errors = np.abs(fit_data.targets[fit_data.test_rows] - mean)
    return {
        "rows": recorded.rows,
        "r2": recorded.r2 if np.isfinite(recorded.r2) else None,
        "mean_absolute_error": recorded.mean_absolute_error,
        "root_mean_squared_error": recorded.root_mean_squared_error,
        "training_mean": {"number": mean, "mean_absolute_error": float(errors.mean())},
    }


def _class_scores(
    recorded: Score, predictions: npt.NDArray[Any], classes: Sequence[Any], fit_data: FitData
) -> Mapping[str, Any]:
    import numpy as np
    from sklearn.metrics import f1_score

    labels = fit_data.targets[fit_data.test_rows]
    names, counts = np.unique(fit_data.targets[fit_data.training_rows], return_counts=True)
    majority = names[counts.argmax()]
    f1 = f1_score(labels, predictions, labels=list(classes), average=None, zero_division=0.0)
    return {
        "rows": len(labels),
        "accuracy": float((predictions == labels).mean()),
        "log_loss": recorded.log_loss,
        "most_frequent": {"class": str(majority), "accuracy": float((labels == majority).mean())},
        "classes": [
            {"class": str(label), "rows": int((labels == label).sum()), "f1": float(score)}
            for label, score in zip(classes, f1, strict=True)
        ],
    }


def scores_text(scores: Mapping[str, Any] | None) -> str:
    """The scores as lines for people."""
    if scores is None:
        return "No row was held out, so there is no score on unseen rows."
    if "r2" in scores:
        return _number_scores_text(scores)
    from neuid3.export.labels import class_name

    majority = scores["most_frequent"]
    names = [class_name(score["class"]) for score in scores["classes"]]
    width = max(5, *map(len, names))
    rows = [
        f"  {name:<{width}}  {score['f1']:.3f}  {score['rows']:>6,}"
        for name, score in zip(names, scores["classes"], strict=True)
    ]
    head = (
        f"On {scores['rows']:,} held-out rows: accuracy {scores['accuracy']:.3f} "
        f"(majority class {majority['class']!r}: {majority['accuracy']:.3f})"
    )
    return "\n".join([head, f"  {'class':<{width}}  F1       rows", *rows])


def _number_scores_text(scores: Mapping[str, Any]) -> str:
    r2 = "" if scores["r2"] is None else f"R² {scores['r2']:.3f}, "
    mean = scores["training_mean"]
    return (
        f"On {scores['rows']:,} held-out rows: {r2}mean absolute error {scores['mean_absolute_error']:.4g} (always the mean "
        f"{mean['number']:.4g}: {mean['mean_absolute_error']:.4g}), root mean squared error "
        f"{scores['root_mean_squared_error']:.4g}"
    )


def fit_report(
    estimator: Any,
    data: TableData,
    scores: Mapping[str, Any] | None,
    concepts: Sequence[ConceptScore],
    out: Path,
    seconds: float,
) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "model": str(out),
        "rows": len(data.examples),
        "columns": [{"name": c.name, "kind": c.kind, "found": c.details} for c in data.columns],
        "notes": list(data.notes),
        "task": data.task,
        "classes": list(estimator.model_.classes),
        "tree": estimator.export_text(),
        "networks": sorted(estimator.networks_),
        "held_out": scores,
        **({"concepts": [asdict(score) for score in concepts]} if concepts else {}),
        "seconds": round(seconds, 3),
    }
