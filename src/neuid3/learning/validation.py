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
from neuid3.data.splits import held_out_rows
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
    groups: npt.NDArray[np.int64] | None = None,
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
    groups : the number of each training example's group, which the split does not divide, `(example,)`.
    """
    sample = Sample(examples, target, np.zeros(len(target), dtype=bool), groups=groups)
    if fraction is not None and validation is not None:
        sample = with_validation(sample, *validation)
    elif fraction is not None:
        sample = validation_split(sample, fraction, seed, anchored_rows(anchors, len(sample)) if anchors else None)
    if not anchors:
        return sample
    training, held_out = split_anchors(anchors, sample.unseen, seed, sample.groups)
    return replace(sample, anchors=training, held_out_anchors=held_out)


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
    weights, groups = weights / weights.mean() * float(sample.weights.mean()), sample.groups
    return replace(
        sample,
        examples=sample.examples.concatenate(added),
        target=sample.target.concatenated(targets, weights),
        unseen=np.concatenate((sample.unseen, np.ones(len(added), dtype=bool))),
        groups=None if groups is None else np.concatenate((groups, groups.max() + 1 + np.arange(len(added)))),
    )


def validation_split(sample: Sample, fraction: float, seed: int, kept: npt.NDArray[np.bool_] | None = None) -> Sample:
    """The sample with a stratified fraction of examples as validation split; warns where that is empty.

    Parameters
    ----------
    sample : the examples, with their groups where there are any.
    fraction : the fraction of each class.
    seed : seed of the split.
    kept : the mask of the examples that must be trained on, if any, `(example,)`.
    """
    strata = sample.criterion.strata(sample.target.values)
    unseen = held_out_rows(strata, fraction, seed, kept=kept, groups=sample.groups)
    if unseen.any():
        return replace(sample, unseen=unseen)
    reason = "" if sample.groups is None else " without splitting a group or taking all rows of a class"
    warnings.warn(
        f"validation_fraction={fraction:g} keeps no example for validation{reason}: networks are scored on their training "
        "examples, which they may have memorised; raise it, add examples, or give validation examples (in Python, "
        "fit(…, validation=(X, y))).",
        UserWarning,
        stacklevel=5,
    )
    return sample
