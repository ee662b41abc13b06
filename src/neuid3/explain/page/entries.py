"""Entries and columns of a table as text."""

from __future__ import annotations

import math
from textwrap import shorten
from typing import Any

import numpy as np

from neuid3.data.columns import Boolean, Category, Column, Distribution, Kind, Number, Probability, Tensor, Text
from neuid3.data.parts import Parts, Relation
from neuid3.data.texts import texts_of, words
from neuid3.explain.page.responses import MIN_REACH, Floats
from neuid3.logic.quoting import value_text

# A tensor of at most this many numbers is written as numbers.
FEW_NUMBERS = 4

# Longer texts are cut.
MAX_CHARACTERS = 200


def is_textual(column: Column) -> bool:
    """Whether the entries of a column are written as text instead of drawn."""
    if isinstance(column.kind, Text):
        return True
    return not isinstance(column.kind, Tensor) or math.prod(column.kind.shape) <= FEW_NUMBERS


def entry_summary(column: Column, row: int) -> str:
    """One entry as text."""
    if column.missing is not None and column.missing[row]:
        return "missing"
    value: Any = None if isinstance(column.kind, Text) else column.values[row]
    match column.kind:
        case Boolean():
            return "true" if value else "false"
        case Category() as kind:
            return str(kind.domain[int(value)])
        case Distribution(values):
            return f"{values[int(value.argmax())]} ({value.max():.0%})"
        case Number():
            return value_text(float(value), column.kind)
        case Probability():
            return f"{value:.4g}"
        case Text():
            return shorten(texts_of(column.take([row]))[0], MAX_CHARACTERS, placeholder=" …")
        case Tensor():
            return ", ".join(f"{number:.3g}" for number in np.ravel(value))
        case Parts() | Relation():
            return f"{value.total}"


def column_summary(column: Column, mass: Floats, max_values: int = 4) -> str:
    """A summary of a symbolic column over weighted examples.

    Parameters
    ----------
    column : the column.
    mass : the weight of each example.
    max_values : the most values that are listed.

    >>> column_summary(Column(Number(), np.array([1.0, 5.0, 9.0, 2.0])), np.array([1.0, 1.0, 1.0, 0.0]))
    '1 to 9, median 5'
    >>> column_summary(Column(Boolean(), np.array([True, False, True])), np.array([1.0, 1.0, 2.0]))
    'true 75%, false 25%'
    """
    present = mass if column.missing is None else np.where(column.missing, 0.0, mass)
    total = float(present.sum())
    if total <= MIN_REACH:
        return "missing" if float(mass.sum()) > MIN_REACH else "no examples"
    match column.kind:
        case Boolean() | Probability():
            true_share = float(present @ column.values.astype(np.float64)) / total
            return _shares({"true": true_share, "false": 1.0 - true_share}, max_values)
        case Category() as kind:
            frequencies = np.bincount(column.values, present, len(kind.domain)) / total
            return _shares(dict(zip(map(str, kind.domain), frequencies.tolist(), strict=True)), max_values)
        case Distribution(values):
            means = (present @ np.nan_to_num(column.values)) / total
            return _shares(dict(zip(map(str, values), means.tolist(), strict=True)), max_values)
        case Number():
            return _range(column.values, present, column.kind)
        case Parts() | Relation():
            return f"{float(present @ column.values.counts) / total:.3g} on average"  # type: ignore[attr-defined]
        case Text():
            return f"{float(present @ [len(words(text)) for text in texts_of(column)]) / total:.0f} words on average"
        case Tensor():
            raise AssertionError("a tensor column is not symbolic")


def _shares(shares: dict[str, float], max_values: int) -> str:
    ranked = [(name, share) for name, share in sorted(shares.items(), key=lambda pair: -pair[1]) if share >= 0.005]
    rest = f", {len(ranked) - max_values} more" if len(ranked) > max_values else ""
    return ", ".join(f"{name} {share:.0%}" for name, share in ranked[:max_values]) + rest


def _range(values: Floats, mass: Floats, kind: Kind) -> str:
    rows = np.flatnonzero(mass > MIN_REACH)
    order = rows[np.argsort(values[rows], kind="stable")]
    half = np.searchsorted(np.cumsum(mass[order]), mass[order].sum() / 2)
    low, middle, high = (float(values[order[i]]) for i in (0, min(half, len(order) - 1), -1))
    return f"{value_text(low, kind)} to {value_text(high, kind)}, median {value_text(middle, kind)}"
