"""Scores and the JSON report of the command `fit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuid3.cli.fit_data import FitData
    from neuid3.data.reading import TableData
    from neuid3.estimators.classifier import NeuID3Classifier
    from neuid3.tree.record import ConceptScore


def held_out_scores(clf: NeuID3Classifier, fit_data: FitData) -> Mapping[str, Any] | None:
    """The scores of the tree on held-out rows, and of the majority class; the log loss and accuracy are stored in the model."""
    if not fit_data.test_rows.any():
        return None
    import numpy as np
    from sklearn.metrics import f1_score

    from neuid3.tree.record import Score

    examples, labels, _ = fit_data.rows(fit_data.test_rows)
    predictions = clf.predict(examples)
    recorded = clf.record_score(examples, labels)
    assert isinstance(recorded, Score)
    names, counts = np.unique(fit_data.classes[fit_data.training_rows], return_counts=True)
    majority = names[counts.argmax()]
    f1 = f1_score(labels, predictions, labels=clf.classes_, average=None, zero_division=0.0)
    return {
        "rows": len(labels),
        "accuracy": float((predictions == labels).mean()),
        "log_loss": recorded.log_loss,
        "most_frequent": {"class": str(majority), "accuracy": float((labels == majority).mean())},
        "classes": [
            {"class": str(label), "rows": int((labels == label).sum()), "f1": float(score)}
            for label, score in zip(clf.classes_, f1, strict=True)
        ],
    }


def scores_text(scores: Mapping[str, Any] | None) -> str:
    """The scores as lines for people."""
    if scores is None:
        return "No row was held out, so there is no score on unseen rows."
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


def fit_report(
    clf: NeuID3Classifier,
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
        "classes": clf.classes_.tolist(),
        "tree": clf.export_text(),
        "networks": sorted(clf.networks_),
        "held_out": scores,
        **({"concepts": [asdict(score) for score in concepts]} if concepts else {}),
        "seconds": round(seconds, 3),
    }
