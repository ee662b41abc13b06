"""What did the caller hand to the classifier? Tables with and without names, labels with holes, a share kept apart."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from neuid3.data.columns import (
    BLOCK,
    NO_REGRESSION,
    Boolean,
    Category,
    Column,
    Number,
    Value,
    is_absent,
    is_free_text,
    looks_like_quantity,
)
from neuid3.data.examples import Examples
from neuid3.errors import DataError

# Sums of weights beyond this overflow where logarithms of factorials are taken.
MOST_WEIGHT = 1e100

_HOLES = "Input y contains NaN: every example needs a class; drop the rows without one."


def refuse_holes(y: Any) -> None:
    if y is not None and has_holes(np.asarray(y)):
        raise DataError(_HOLES)


def has_holes(labels: npt.NDArray[Any]) -> bool:
    if labels.dtype == object:
        return any(map(is_absent, labels.ravel()))
    return labels.dtype.kind == "f" and bool(np.isnan(labels).any())


def check_target(y: npt.NDArray[Any]) -> None:
    """Refuse labels that are no classes; warn of whole numbers that look like a quantity."""
    kind = type_of_target(y, input_name="y")
    if kind == "continuous":
        raise DataError(f"Unknown label type: continuous. y holds quantities such as {y[0]:g}. {NO_REGRESSION}")
    check_classification_targets(y)
    if y.dtype.kind in "iuf" and looks_like_quantity(len(np.unique(y)), len(y)):
        warnings.warn(
            f"y holds {len(np.unique(y)):,} different numbers in {len(y):,} rows, each of which is learned as a class of "
            f"its own. {NO_REGRESSION}",
            UserWarning,
            stacklevel=5,
        )


def check_weights(weights: npt.NDArray[np.float64]) -> None:
    """Refuse weights whose sums are beyond what floating-point numbers can hold, or that are all zero."""
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not total <= MOST_WEIGHT:
        raise DataError(
            f"The weights of the examples sum to {total:g}, which is too large to compute with; divide sample_weight and "
            "class_weight by a common factor."
        )
    if total == 0.0:
        raise DataError("Every example has weight 0; give some of them a positive sample_weight and class_weight.")


def numbered(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The classes in order, and the number of each label's class."""
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise DataError(
            f"y has one class only, {str(classes[0])!r}; a classifier needs examples of at least two classes."
        )
    return classes, labels


def number_of(label: Any, classes: npt.NDArray[Any]) -> int:
    """Which class the caller calls positive."""
    found = np.flatnonzero(classes == label)
    if not len(found):
        raise DataError(f"pos_label={label!r} is no class of y; the classes are {classes.tolist()}.")
    return int(found[0])


def from_array(table: Any) -> Examples:
    """The columns of an array or of a sparse matrix: facts where all of it is 0 and 1, numbers otherwise.

    Columns of an array have no names to tell a pixel that happens to be 0 or 1 in training from a fact.
    """
    examples = Examples(table)
    kinds = {type(kind) for kind in examples.schema.values()}
    if Number in kinds and kinds <= {Boolean, Number}:
        return Examples(table, kinds=dict.fromkeys(examples.names, "number"))
    return examples


def without_free_text(examples: Examples, mentioned: str) -> Examples:
    """The examples without undeclared columns of free text, each with a warning; a column that is `mentioned` stays."""
    kept = []
    for name, column in examples.items():
        different, entries = _variety(column)
        if column.origin == "text" and is_free_text(different, entries) and name not in mentioned:
            assert isinstance(column.kind, Category)
            first = f"such as {column.kind.values[0]!r:.40}, and is left out"
            if _are_numbers(column.kind.values):
                told = f"holds numbers that are written as text, {first}; turn it into numbers, or declare it"
            else:
                told = f"is text that differs from row to row, {first}; declare it"
            warnings.warn(
                f"Column {name!r} {told} with Examples(X, kinds={{{name!r}: 'category'}}) to keep it, or as 'ignore' to be "
                "silent.",
                UserWarning,
                stacklevel=5,
            )
        else:
            kept.append(name)
    if not kept:
        raise DataError(
            f"There is no column to learn from: {examples.names[0]!r} is text that differs from row to row; declare it "
            f"with Examples(X, kinds={{{examples.names[0]!r}: 'category'}}) to keep it."
        )
    return examples if len(kept) == examples.shape[1] else examples.select(kept)


def _are_numbers(values: Iterable[Value]) -> bool:
    try:
        return all(np.isfinite(float(value)) for value in values)
    except ValueError:
        return False


def warn_of_names(examples: Examples) -> None:
    """Warn of categories that nobody declared and that have nearly as many values as there are rows."""
    for name, column in examples.items():
        different, entries = _variety(column)
        if different >= 10 and 4 * different > 3 * entries:
            warnings.warn(
                f"The category {name!r} has {different:,} values in {entries:,} rows, so that hardly two rows share one; leave "
                f"it out, or declare it if it is meant: Examples(X, kinds={{{name!r}: 'category'}}), or --type "
                f"{name}=category.",
                UserWarning,
                stacklevel=5,
            )


def _variety(column: Column) -> tuple[int, int]:
    """How many different values an undeclared category has, in how many entries; (0, 0) for all other columns."""
    if not column.origin or not isinstance(column.kind, Category):
        return 0, 0
    present = column.values if column.missing is None else column.values[~column.missing]
    return int(np.count_nonzero(np.bincount(present))), len(present)


def is_constant(column: Any) -> bool:
    if column.missing is not None and column.missing.all():
        return True
    if column.missing is not None or column.values.ndim > 1:
        return False
    first = column.values[0]
    return all(bool((part == first).all()) for part in (column.values[:BLOCK], column.values[BLOCK:]))


def stratified(labels: Any, fraction: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """A share of every class, at random; a class of one example is never taken away from training."""
    unseen = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        unseen[rows[: min(round(fraction * len(rows)), len(rows) - 1)]] = True
    return unseen
