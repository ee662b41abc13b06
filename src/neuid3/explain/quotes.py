"""Texts, dates and series behind derived columns: quotations in explanations, and columns of a page."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from neuid3.data.derived import parse_derived, source_columns
from neuid3.data.examples import Examples
from neuid3.data.texts import quotation, quoted_score, texts_of
from neuid3.errors import DataError
from neuid3.explain.explanation import Reading
from neuid3.tree.model import TreeModel


def with_quotations(readings: Iterable[Reading], model: TreeModel, X: Any, row: int) -> tuple[Reading, ...]:
    """The readings, those of phrases with the part of the text that contains them, those of scores with
    the phrases that the text contains.

    Parameters
    ----------
    readings : the readings of an example.
    model : the tree.
    X : the table of the example; where it has no texts but the columns derived from them, nothing is quoted.
    row : the example.

    Returns
    -------
    The readings.
    """
    return tuple(_quoted(reading, model, X, row) for reading in readings)


def with_sources(model: TreeModel, examples: Examples, X: Any) -> Examples:
    """The examples that a tree reads, with the texts, dates and series that their columns are derived from, to be shown.

    Parameters
    ----------
    model : the tree.
    examples : the columns that it reads.
    X : the table; columns that it lacks are not shown.

    Returns
    -------
    The same rows, the further columns first.
    """
    sources = [name for name in source_columns(examples.names, model.schema) if name not in examples.names]
    for name in reversed(sources):
        with suppress(DataError):
            examples = Examples.read(X, model.schema, [name]).joined(examples)
    return examples


def _quoted(reading: Reading, model: TreeModel, X: Any, row: int) -> Reading:
    derived = parse_derived(reading.columns[0], model.schema) if len(reading.columns) == 1 else None
    if derived is None or derived.phrase is None or reading.missing:
        return reading
    with suppress(DataError):
        texts = Examples.read(X, model.schema, derived.columns)[row].column(derived.columns[0])
        quoted = quoted_score if derived.function == "score" else quotation
        return replace(reading, quotation=quoted(texts_of(texts)[0], derived.phrase))
    return reading
