"""Which examples judge what networks learned? A share that is kept apart, or those that the caller gives."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from neuid3.data.columns import Schema
from neuid3.data.examples import Examples
from neuid3.data.tables import stratified
from neuid3.errors import DataError
from neuid3.learning.sample import Sample


def read_validation(validation: Any, schema: Schema) -> tuple[Examples, Any]:
    """The validation examples and their labels."""
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
    """The sample and, unseen by networks, the validation examples, each worth as much as the average example."""
    more, labels = read_validation(validation, sample.examples.schema)
    known = {label: i for i, label in enumerate(classes)}
    try:
        extra = np.array([known[label] for label in labels], dtype=np.int64)
    except KeyError as error:
        raise DataError(f"The validation examples have the class {error}, which y does not have.") from None
    weights = _relative(class_weights, extra) * float(sample.weights.mean())
    return replace(
        sample,
        examples=sample.examples.concatenate(more),
        labels=np.concatenate((sample.labels, extra)),
        weights=np.concatenate((sample.weights, weights)),
        unseen=np.concatenate((sample.unseen, np.ones(len(extra), dtype=bool))),
    )


def _relative(class_weights: Any | None, labels: Any) -> Any:
    """The weight of each label's class, relative to the average example."""
    if class_weights is None:
        return np.ones(len(labels))
    weights = class_weights[labels]
    return weights / weights.mean()


def validation_split(sample: Sample, fraction: float, seed: int) -> Sample:
    """The sample with a share of every class that networks do not train on; a warning where there is none."""
    unseen = stratified(sample.labels, fraction, np.random.default_rng(seed))
    if unseen.any():
        return replace(sample, unseen=unseen)
    warnings.warn(
        f"validation_fraction={fraction:g} keeps no example apart: networks are judged by the examples they were "
        "trained on, which they may know by heart; raise it or add examples (in Python, fit(…, validation=(X, y)) does "
        "as well).",
        UserWarning,
        stacklevel=5,
    )
    return sample
