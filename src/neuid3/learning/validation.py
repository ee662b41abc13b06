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
from neuid3.data.splits import exchanged, stratified
from neuid3.errors import DataError
from neuid3.learning.sample import Sample
from neuid3.tree.anchors import Anchors, anchored_rows, split_anchors
from neuid3.tree.criteria import Target


def training_sample(
    examples: Examples,
    target: Target,
    *,
    validation: tuple[Examples, npt.NDArray[Any], npt.NDArray[Any]] | None,
    fraction: float | None,
    seed: int,
    anchors: Anchors | None = None,
) -> Sample:
    """The examples of a fit with their targets and their validation split.

    Parameters
    ----------
    examples : the training examples.
    target : their targets and weights.
    validation : validation examples of the caller with their targets and relative weights, or None.
    fraction : the fraction of validation examples where the caller gives none; None for no validation split at all.
    seed : seed of the split.
    anchors : labels for images of the training examples, by network. Where a network has too few to hold some out, their
        rows are exchanged for others of the same class, so that none is in the validation split.
    """
    sample = Sample(examples, target, np.zeros(len(target), dtype=bool))
    if fraction is not None and validation is not None:
        sample = with_validation(sample, *validation)
    elif fraction is not None:
        sample = validation_split(sample, fraction, seed)
        if anchors:
            sample = _without_anchored_rows(sample, anchors, seed)
    if not anchors:
        return sample
    training, held_out = split_anchors(anchors, sample.unseen, seed)
    return replace(sample, anchors=training, held_out_anchors=held_out)


def _without_anchored_rows(sample: Sample, anchors: Anchors, seed: int) -> Sample:
    """The sample with labelled rows that must be trained on moved out of the validation split."""
    kept = anchored_rows(anchors, len(sample))
    strata = sample.criterion.strata(sample.target.values)
    return replace(sample, unseen=exchanged(sample.unseen, kept, strata, np.random.default_rng(seed)))


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


def with_validation(sample: Sample, added: Examples, targets: Any, weights: Any) -> Sample:
    """The sample with validation examples, which have the weight of the average example on average.

    Parameters
    ----------
    sample : the training examples.
    added : the validation examples.
    targets : their targets, as the criterion takes them, `(example,)`.
    weights : their weights relative to each other, `(example,)`.
    """
    weights = weights / weights.mean() * float(sample.weights.mean())
    return replace(
        sample,
        examples=sample.examples.concatenate(added),
        target=sample.target.concatenated(targets, weights),
        unseen=np.concatenate((sample.unseen, np.ones(len(added), dtype=bool))),
    )


def validation_split(sample: Sample, fraction: float, seed: int) -> Sample:
    """The sample with a stratified fraction of examples as validation split; warns where that is empty."""
    unseen = stratified(sample.criterion.strata(sample.target.values), fraction, np.random.default_rng(seed))
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
