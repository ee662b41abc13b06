"""Serialization of an estimator's parameters and fitted attributes; its tree is serialized by its model."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from typing import Any

import numpy as np

from neuid3.encoders.encoder import Encoder
from neuid3.errors import BackendError, ModelFileError, ParameterError
from neuid3.io.serialize import Json, labels_from_json, labels_to_json
from neuid3.logic.sandbox import Limits
from neuid3.training.config import TrainingConfig, changed_training, read_training
from neuid3.tree.criterion import Criterion
from neuid3.utils.json_values import as_count, as_number, as_text, as_texts

# The parameters of early versions that are fields of `TrainingConfig` now.
_EARLY_NAMES = {
    "augment": "augment",
    "batch_size": "batch_size",
    "device": "device",
    "epochs": "epochs",
    "epsilon": "min_reach",
    "joint_epochs": "joint_epochs",
    "learning_rate": "learning_rate",
    "loss": "loss",
    "one_cycle": "one_cycle",
    "read_together": "shared",
    "restarts": "restarts",
    "sharpness": "sharpness",
    "validation_fraction": "validation_fraction",
    "warm_starts": "reuse",
    "weight_decay": "weight_decay",
}

# Those that had no effect with `recipe="paper"`.
_NOT_IN_PAPER = frozenset({"augment", "reuse", "validation_fraction"})


# The limits that a fit depends on; others are those of the machine.
_SAVED_LIMITS = ("max_candidates", "max_variables")

# Parameters that may be more than plain values.
_CONSTRAINTS = frozenset({"monotonic_cst", "interaction_cst"})


def estimator_to_json(estimator: Any) -> Json:
    """The parameters that JSON can represent, and the fitted attributes."""
    parameters = estimator.get_params(deep=False)
    if isinstance(parameters["training"], TrainingConfig):
        parameters["training"] = parameters["training"].to_json()
    if parameters["limits"] is not None:
        for name in _SAVED_LIMITS:
            parameters[name] = getattr(parameters["limits"], name)
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "parameters": {name: value for name, value in map(_by_name, parameters.items()) if _is_saved(name, value)},
        # A regressor has no classes.
        **({"labels": labels_to_json(estimator.classes_)} if hasattr(estimator, "classes_") else {}),
        "features": int(estimator.n_features_in_),
        "names": None if names is None else names.tolist(),
        "importances": estimator.feature_importances_.tolist(),
        "steps": int(estimator.gradient_steps_),
        # An estimator of a file of an early version has none.
        **({"rule_tests": list(estimator.rule_tests_)} if hasattr(estimator, "rule_tests_") else {}),
    }


def parameters_from_json(fields: Mapping[str, Any], known: Container[str]) -> dict[str, Any]:
    """The parameters of an estimator that this version has; those of early versions under their present names."""
    saved = dict(fields["parameters"])
    training = saved.pop("training", None)
    for name, value in saved.items():
        if not _is_saved(name, value):
            raise ValueError(f"its parameter {name} is {value!r:.40}")
    parameters = {name: value for name, value in saved.items() if name in known}
    try:
        parameters["training"] = _early_training(saved) if training is None else _training(training)
        limits = {name: saved[name] for name in _SAVED_LIMITS if name in saved}
        if Limits(**limits) != Limits():
            parameters["limits"] = Limits(**limits)
    except (BackendError, ParameterError) as error:
        raise ValueError(f"of its parameters, {error}") from None
    return parameters


def _training(saved: Any) -> str | TrainingConfig:
    """The parameter `training` of a file: a name, or the fields of a configuration."""
    if isinstance(saved, str):
        read_training(saved)  # raises an error where it is no name of a configuration
        return saved
    if not isinstance(saved, dict):
        raise TypeError(f"its parameter training is {saved!r:.40}")
    if not isinstance(saved.get("backend", "auto"), str):
        raise TypeError(f"the backend of its training is {saved['backend']!r:.40}")
    return changed_training("default", saved)


def _early_training(saved: Mapping[str, Any]) -> str | TrainingConfig:
    """The parameter `training` that the flat parameters of early versions stand for."""
    recipe = saved.get("recipe", "default")
    given = {field: saved[name] for name, field in _EARLY_NAMES.items() if saved.get(name) is not None}
    base = read_training(recipe)
    if recipe == "paper":  # which took no notice of these
        given = {field: value for field, value in given.items() if field not in _NOT_IN_PAPER}
    changes = {field: value for field, value in given.items() if value != getattr(base, field)}
    return changed_training(recipe, changes) if changes else recipe


def learned_from_json(fields: Mapping[str, Any], classes: tuple[Any, ...], columns: int) -> dict[str, Any]:
    """The fitted attributes of an estimator, by name.

    Parameters
    ----------
    fields : as `estimator_to_json` returns them.
    classes : the classes of its tree; none where it predicts numbers.
    columns : the number of columns of its model, without derived ones.
    """
    learned: dict[str, Any] = {"n_features_in_": as_count(fields["features"])}
    if classes or "labels" in fields:
        labels = labels_from_json(fields["labels"])
        if tuple(labels.tolist()) != classes:
            raise ModelFileError("The classes of the estimator are not those of its tree; save the model again.")
        learned["classes_"] = labels
    importances = [float(as_number(importance)) for importance in fields["importances"]]
    lengths = {columns, learned["n_features_in_"], len(importances)}
    if fields["names"] is not None:
        names = list(map(as_text, fields["names"]))
        learned["feature_names_in_"] = np.array(names, dtype=object)
        lengths.add(len(names))
    if len(lengths) > 1:
        raise ValueError(f"its numbers of columns differ: {' and '.join(map(str, sorted(lengths)))}")
    if not all(0.0 <= importance <= 1.0 + 1e-6 for importance in importances):
        raise ValueError("the importance of a column is not in [0, 1]")
    learned["feature_importances_"] = np.array(importances, dtype=float)
    learned["gradient_steps_"] = as_count(fields["steps"])
    if "rule_tests" in fields:
        learned["rule_tests_"] = as_texts(fields["rule_tests"])
    return learned


def _by_name(parameter: tuple[str, Any]) -> tuple[str, Any]:
    """A parameter with the name of a criterion, and the source of an encoder, in place of the object itself."""
    name, value = parameter
    value = value.source if isinstance(value, Encoder) else value
    return name, value.name if isinstance(value, Criterion) else value


def _is_plain(value: Any) -> bool:
    """Whether JSON represents this value exactly."""
    if isinstance(value, (list, tuple)):
        return all(isinstance(item, str) for item in value)
    return value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))


def _is_constraint(value: Any) -> bool:
    """Whether JSON represents constraints exactly: directions by column or in a list, or groups of columns."""
    if isinstance(value, dict):
        return all(isinstance(name, str) and isinstance(direction, int) for name, direction in value.items())
    if isinstance(value, (list, tuple)):
        return all(
            isinstance(item, (str, int)) or (isinstance(item, (list, tuple)) and _is_constraint(item)) for item in value
        )
    return _is_plain(value)


def _is_saved(name: str, value: Any) -> bool:
    """Whether a file holds this parameter."""
    return name == "training" or (_is_constraint(value) if name in _CONSTRAINTS else _is_plain(value))
