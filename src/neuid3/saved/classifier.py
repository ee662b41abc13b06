"""What does a file say of a classifier beside its tree? Parameters, labels, names of columns, and what they were worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from neuid3.errors import ModelFileError
from neuid3.saved.words import Words, labels_from_words, labels_to_words


def classifier_to_words(classifier: Any) -> Words:
    """Parameters that are plain values, and what was learned; the tree is kept by its model."""
    parameters = classifier.get_params(deep=False)
    names = getattr(classifier, "feature_names_in_", None)
    return {
        "parameters": {name: value for name, value in parameters.items() if _is_plain(value)},
        "labels": labels_to_words(classifier.classes_),
        "features": int(classifier.n_features_in_),
        "names": None if names is None else names.tolist(),
        "importances": classifier.feature_importances_.tolist(),
        "steps": int(classifier.gradient_steps_),
    }


def learned_from_words(words: Mapping[str, Any], classes: tuple[Any, ...]) -> dict[str, Any]:
    """What a classifier with a tree of these classes had learned, by the names of its attributes."""
    labels = labels_from_words(words["labels"])
    if tuple(labels.tolist()) != classes:
        raise ModelFileError("The classes of the classifier are not those of its tree; save the model again.")
    learned: dict[str, Any] = {"classes_": labels, "n_features_in_": int(words["features"])}
    if words["names"] is not None:
        learned["feature_names_in_"] = np.array(words["names"], dtype=object)
    learned["feature_importances_"] = np.array(words["importances"], dtype=float)
    learned["gradient_steps_"] = int(words["steps"])
    return learned


def _is_plain(value: Any) -> bool:
    """Can JSON hold this as it is?"""
    if isinstance(value, (list, tuple)):
        return all(isinstance(item, str) for item in value)
    return value is None or isinstance(value, (str, bool, int, float))
