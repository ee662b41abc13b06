"""Validation examples: a fraction of the sample, or those that the caller gives."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import column_or_1d

from neuid3.data.columns import Schema
from neuid3.data.examples import Examples
from neuid3.data.tables import stratified
from neuid3.errors import DataError
from neuid3.learning.sample import Sample


def training_sample(
    examples: Examples,
    labels: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    classes: npt.NDArray[Any],
    *,
    positive: int,
    validation: Any,
    class_weights: Any | None,
    fraction: float | None,
    seed: int,
) -> Sample:
    """The labelled examples of a fit with their validation split.

    Parameters
    ----------
    examples, labels, weights : the examples with the index of each one's class and its weight.
    classes : the labels of the classes.
    positive : the index of the positive class.
    validation : validation examples and labels of the caller, or None.
    class_weights : the weight of each class, or None.
    fraction : the fraction of validation examples where the caller gives none; None for no validation split at all.
    seed : seed of the split.
    """
    sample = Sample(examples, labels, weights, np.zeros(len(labels), dtype=bool), len(classes), positive)
    if fraction is None:
        return sample
    if validation is not None:
        return with_validation(sample, validation, classes, class_weights)
    return validation_split(sample, fraction, seed)


def read_validation(validation: Any, schema: Schema) -> tuple[Examples, Any]:
    """The validation examples and their labels, `(example,)`.

    Raises
    ------
    DataError : where `validation` is no pair, or their lengths differ.
    """
    try:
        table, labels = validation
    except (TypeError, ValueError):
        raise DataError(
            "`validation` must be a pair of examples and labels: fit(X, y, validation=(X_val, y_val))."
        ) from None
    examples, labels = Examples.read(table, schema), column_or_1d(labels)
    if len(examples) != len(labels):
        raise DataError(
            f"The validation examples have {len(examples)} rows and {len(labels)} labels; give one label each."
        )
    return examples, labels


def with_validation(sample: Sample, validation: Any, classes: Any, class_weights: Any | None) -> Sample:
    """The sample with validation examples, each with the weight of the average example.

    Raises
    ------
    DataError : where a label is none of `classes`.
    """
    added, labels = read_validation(validation, sample.examples.schema)
    indices = {label: i for i, label in enumerate(classes)}
    try:
        added_labels = np.array([indices[label] for label in labels], dtype=np.int64)
    except KeyError as error:
        raise DataError(f"The validation examples have the class {error}, which y does not have.") from None
    weights = _relative(class_weights, added_labels) * float(sample.weights.mean())
    return replace(
        sample,
        examples=sample.examples.concatenate(added),
        labels=np.concatenate((sample.labels, added_labels)),
        weights=np.concatenate((sample.weights, weights)),
        unseen=np.concatenate((sample.unseen, np.ones(len(added_labels), dtype=bool))),
    )


def _relative(class_weights: Any | None, labels: Any) -> Any:
    """The weight of each label's class, relative to the average example."""
    if class_weights is None:
        return np.ones(len(labels))
    weights = class_weights[labels]
    return weights / weights.mean()


def validation_split(sample: Sample, fraction: float, seed: int) -> Sample:
    """The sample with a stratified fraction of examples as validation split; warns where that is empty."""
    unseen = stratified(sample.labels, fraction, np.random.default_rng(seed))
    if unseen.any():
        return replace(sample, unseen=unseen)
    warnings.warn(
        f"validation_fraction={fraction:g} keeps no example for validation: networks are scored on their training examples, "
        "which they may have memorised; raise it, add examples, or give validation examples (in Python, "
        "fit(…, validation=(X, y))).",
        UserWarning,
        stacklevel=5,
    )
    return sample
