"""What did the caller hand to the classifier? Tables with and without names, labels with holes, a share kept apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.columns import BLOCK, Boolean, Number, is_absent
from neuid3.data import Examples
from neuid3.errors import DataError

_HOLES = "Input y contains NaN: every example needs a class; drop the rows without one."


def refuse_holes(y: Any) -> None:
    if y is not None and has_holes(np.asarray(y)):
        raise DataError(_HOLES)


def has_holes(labels: npt.NDArray[Any]) -> bool:
    if labels.dtype == object:
        return any(map(is_absent, labels.ravel()))
    return labels.dtype.kind == "f" and bool(np.isnan(labels).any())


def has_names(X: Any) -> bool:
    """Does a table name its columns? A sparse matrix may be a mapping and does not."""
    return isinstance(X, Examples) or hasattr(X, "iloc") or (isinstance(X, Mapping) and not hasattr(X, "toarray"))


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


def from_array(table: npt.NDArray[Any]) -> Examples:
    """The columns of an array: facts where all of it is 0 and 1, numbers otherwise.

    Columns of an array have no names to tell a pixel that happens to be 0 or 1 in training from a fact.
    """
    examples = Examples(table)
    kinds = {type(kind) for kind in examples.schema.values()}
    if Number in kinds and kinds <= {Boolean, Number}:
        return Examples(table, kinds=dict.fromkeys(examples.names, "number"))
    return examples


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
