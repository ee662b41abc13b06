"""Checks of training tables, labels and weights, and stratified splits."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from neuid3.data.columns import (
    BLOCK_ROWS,
    LEARN_NUMBERS,
    Boolean,
    Category,
    Column,
    Number,
    Text,
    Value,
    convert,
    is_free_text,
    is_missing,
    looks_like_quantity,
)
from neuid3.data.dates import parse_dates
from neuid3.data.examples import Examples
from neuid3.data.parts import GroupedRows, structure_of
from neuid3.data.texts import are_notes
from neuid3.errors import DataError
from neuid3.utils.quoting import atom_text

# Larger sums of weights overflow in logarithms of factorials.
MAX_TOTAL_WEIGHT = 1e100


def refuse_missing_labels(y: Any, kind: str = "class") -> None:
    """Refuse labels of which some are missing; `kind` says what every example needs."""
    if y is not None and has_missing_labels(np.asarray(y)):
        raise DataError(f"Input y contains NaN: every example needs a {kind}; drop the rows without one.")


def has_missing_labels(labels: npt.NDArray[Any]) -> bool:
    """Whether a label is None, NaN or NA."""
    if labels.dtype == object:
        return any(map(is_missing, labels.ravel()))
    return labels.dtype.kind == "f" and bool(np.isnan(labels).any())


def check_target(y: npt.NDArray[Any]) -> None:
    """Refuse labels that are not classes; warn of integers that look like a quantity."""
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError(
            "Input y contains infinity or a value too large for dtype('float64'); every example needs a class. Drop the rows "
            "with infinity, or name their class."
        )
    kind = type_of_target(y, input_name="y")
    if kind == "continuous":
        raise DataError(f"Unknown label type: continuous. y holds quantities such as {y[0]:g}. {LEARN_NUMBERS}")
    check_classification_targets(y)
    if y.dtype.kind in "iuf" and looks_like_quantity(len(np.unique(y)), len(y)):
        warnings.warn(
            f"y holds {len(np.unique(y)):,} different numbers in {len(y):,} rows, each of which is learned as a class of "
            f"its own. {LEARN_NUMBERS}",
            UserWarning,
            stacklevel=6,
        )


def check_weights(weights: npt.NDArray[np.float64]) -> None:
    """Refuse weights that sum to more than `MAX_TOTAL_WEIGHT` or to zero."""
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not total <= MAX_TOTAL_WEIGHT:
        raise DataError(
            f"The weights of the examples sum to {total:g}, which is too large to compute with; divide sample_weight and "
            "class_weight by a common factor."
        )
    if total == 0.0:
        raise DataError("Every example has weight 0; give some of them a positive sample_weight and class_weight.")


def encode_classes(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The sorted classes, and the index of each label's class: `(class,)`, `(example,)`."""
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise DataError(
            f"y has one class only, {str(classes[0])!r}; a classifier needs examples of at least two classes."
        )
    return classes, labels


def class_index(label: Any, classes: npt.NDArray[Any]) -> int:
    """The index of the positive class."""
    indices = np.flatnonzero(classes == label)
    if not len(indices):
        raise DataError(f"pos_label={label!r} is not a class of y; the classes are {classes.tolist()}.")
    return int(indices[0])


def class_numbers(labels: Any, classes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The number of the class of each validation example.

    Raises
    ------
    DataError : where a label is none of `classes`.
    """
    numbers = {label: i for i, label in enumerate(classes)}
    try:
        return np.array([numbers[label] for label in labels], dtype=np.int64)
    except KeyError as error:
        label = error.args[0]
        label = label.item() if isinstance(label, np.generic) else label
        raise DataError(f"The validation examples have the class {label!r}, which y does not have.") from None


def examples_from_array(table: Any) -> Examples:
    """The examples of an array or sparse matrix: Boolean columns where all of its entries are 0 or 1, otherwise numbers.

    The kind is common to all columns because an array cannot tell a pixel that is only 0 or 1 in training from a Boolean.
    """
    examples = Examples(table)
    kinds = {type(kind) for kind in examples.schema.values()}
    if Number in kinds and kinds <= {Boolean, Number}:
        return Examples(table, kinds=dict.fromkeys(examples.names, "number"))
    return examples


def read_free_text(examples: Examples, mentioned: str) -> Examples:
    """The examples with notes among undeclared strings as texts, and without strings that identify rows, with a warning.

    Parameters
    ----------
    examples : the examples.
    mentioned : text, such as rules and tests; a column of names that occurs in it stays a category, and so does any column
        of which it mentions a value, as in `note(urgent)`.
    """
    notes = {
        name: convert(name, column, Text(), {})
        for name, column in examples.items()
        if column.origin == "text"
        and isinstance(column.kind, Category)
        and is_free_text(*_distinct_values(column))
        and are_notes([str(value) for value in column.kind.values])
        and f"{atom_text(name)}(" not in mentioned
    }
    if notes:
        examples = Examples({name: notes.get(name, column) for name, column in examples.items()})
    selected = []
    for name, column in examples.items():
        distinct, entries = _distinct_values(column)
        if column.origin == "text" and is_free_text(distinct, entries) and name not in mentioned:
            assert isinstance(column.kind, Category)
            first = f"such as {column.kind.values[0]!r:.40}, and is left out"
            if _are_numbers(column.kind.values):
                reason = f"holds numbers that are written as text, {first}; convert it to numbers, or declare it"
            elif len(odd := _no_dates(column.kind.values)) == 1:
                reason = f"holds dates, except for {odd[0]!r:.40}, and is left out; correct that entry, or declare it"
            else:
                reason = f"is text that differs from row to row, {first}; declare it"
            warnings.warn(
                f"Column {name!r} {reason} with Examples(X, kinds={{{name!r}: 'category'}}) to keep it, or as 'ignore' to "
                "silence this warning.",
                UserWarning,
                stacklevel=5,
            )
        else:
            selected.append(name)
    if not selected:
        raise DataError(
            f"There is no column to learn from: {examples.names[0]!r} is text that differs from row to row; declare it "
            f"with Examples(X, kinds={{{examples.names[0]!r}: 'category'}}) to keep it."
        )
    return examples if len(selected) == examples.shape[1] else examples.select(selected)


def _no_dates(values: Iterable[Value]) -> list[str]:
    """The first two of these that are no dates, whichever of their numbers is the day."""
    texts = (str(value) for value in values)
    return list(islice((text for text in texts if all(parse_dates([text], d) is None for d in (True, False))), 2))


def _are_numbers(values: Iterable[Value]) -> bool:
    try:
        return all(np.isfinite(float(value)) for value in values)
    except ValueError:
        return False


def warn_of_identifiers(examples: Examples) -> None:
    """Warn of undeclared categories with nearly as many values as rows, also in tables of parts."""
    columns = [("", name, column) for name, column in examples.items()]
    columns += [(owner.name, *pair) for owner, table in structure_of(examples).tables for pair in table.items()]
    for owner, name, column in columns:
        distinct, entries = _distinct_values(column)
        if distinct >= 10 and 4 * distinct > 3 * entries:
            full, kinds = (f"{owner}.{name}", {owner: {name: "category"}}) if owner else (name, {name: "category"})
            warnings.warn(
                f"The category {full!r} has {distinct:,} values in {entries:,} rows, so that it nearly identifies rows; leave "
                f"it out, or declare it if it is meant: Examples(X, kinds={kinds}), or --type {full}=category.",
                UserWarning,
                stacklevel=5,
            )


def _distinct_values(column: Column) -> tuple[int, int]:
    """The numbers of distinct values and of entries of an undeclared category; (0, 0) for any other column."""
    if not column.origin or not isinstance(column.kind, Category):
        return 0, 0
    present = column.values if column.missing is None else column.values[~column.missing]
    return int(np.count_nonzero(np.bincount(present))), len(present)


def is_constant(column: Any) -> bool:
    """Whether all entries of a column are equal, or all are missing."""
    if column.missing is not None and column.missing.all():
        return True
    if column.missing is not None or isinstance(column.values, GroupedRows) or column.values.ndim > 1:
        return False
    first = column.values[0]
    return all(bool((part == first).all()) for part in (column.values[:BLOCK_ROWS], column.values[BLOCK_ROWS:]))
