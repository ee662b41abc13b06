"""What does a file say of a classifier beside its tree? Parameters, labels, names of columns, and what they were worth."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from typing import Any

import numpy as np

from neuid3.errors import ModelFileError
from neuid3.io.serialize import Json, as_count, as_number, as_text, labels_from_json, labels_to_json


def classifier_to_json(classifier: Any) -> Json:
    """Parameters that are plain values, and what was learned; the tree is kept by its model."""
    parameters = classifier.get_params(deep=False)
    names = getattr(classifier, "feature_names_in_", None)
    return {
        "parameters": {name: value for name, value in parameters.items() if _is_plain(value)},
        "labels": labels_to_json(classifier.classes_),
        "features": int(classifier.n_features_in_),
        "names": None if names is None else names.tolist(),
        "importances": classifier.feature_importances_.tolist(),
        "steps": int(classifier.gradient_steps_),
    }


def parameters_from_json(words: Mapping[str, Any], known: Container[str]) -> dict[str, Any]:
    """The parameters of a classifier that this version knows."""
    found = {name: value for name, value in words["parameters"].items() if name in known}
    for name, value in found.items():
        if not _is_plain(value):
            raise ValueError(f"its parameter {name} is {value!r:.40}")
    return found


def learned_from_json(words: Mapping[str, Any], classes: tuple[Any, ...], columns: int) -> dict[str, Any]:
    """What a classifier with a tree of these classes over so many columns had learned, by the names of its attributes."""
    labels = labels_from_json(words["labels"])
    if tuple(labels.tolist()) != classes:
        raise ModelFileError("The classes of the classifier are not those of its tree; save the model again.")
    learned: dict[str, Any] = {"classes_": labels, "n_features_in_": as_count(words["features"])}
    importances = [float(as_number(share)) for share in words["importances"]]
    lengths = {columns, learned["n_features_in_"], len(importances)}
    if words["names"] is not None:
        names = list(map(as_text, words["names"]))
        learned["feature_names_in_"] = np.array(names, dtype=object)
        lengths.add(len(names))
    if len(lengths) > 1:
        raise ValueError(f"it speaks of {' and of '.join(map(str, sorted(lengths)))} columns")
    if not all(0.0 <= share <= 1.0 + 1e-6 for share in importances):
        raise ValueError("the importance of a column is no share")
    learned["feature_importances_"] = np.array(importances, dtype=float)
    learned["gradient_steps_"] = as_count(words["steps"])
    return learned


def _is_plain(value: Any) -> bool:
    """Can JSON hold this as it is?"""
    if isinstance(value, (list, tuple)):
        return all(isinstance(item, str) for item in value)
    return value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))
