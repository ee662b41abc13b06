"""Derived columns of the training rows: those of dates and series, and the phrases of texts that tell most of the target."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

import numpy as np

from neuid3.data.columns import Column, Date, Series, Text
from neuid3.data.derived import Derived, derivable, mentioned
from neuid3.data.examples import Examples
from neuid3.data.texts import texts_of, words
from neuid3.tree.target import Target

# The most phrases of a text column that are candidates, and the most words of one.
MAX_PHRASES, MAX_WORDS = 256, 3

# A phrase is a candidate where at least so many training rows contain it, and so many do not.
MIN_ROWS = 3

# The most different phrases that are counted, the most frequent ones; it bounds the memory that a long text takes.
MAX_COUNTED = 50_000


def with_derived_columns(examples: Examples, target: Target, text: str, without: Container[str] = ()) -> Examples:
    """The examples with the derived columns that may be tested.

    Parameters
    ----------
    examples : the training rows.
    target : their targets, by which phrases are chosen.
    text : rules and tests, whose derived columns are added as well.
    without : columns of which only those are derived.

    Returns
    -------
    The examples with further columns; themselves where there is no date, text or series.
    """
    if not any(isinstance(kind, (Date, Text, Series)) for kind in examples.schema.values()):
        return examples
    columns = {name: column for name, column in examples.items() if name not in without}
    phrases = (
        Derived("contains", (name,), phrase=phrase)
        for name, column in columns.items()
        if isinstance(column.kind, Text)
        for phrase in telling_phrases(column, target)
    )
    return examples.with_derived([*derivable(columns), *phrases, *mentioned(text, examples.schema)])


def telling_phrases(column: Column, target: Target, most: int = MAX_PHRASES) -> Iterator[str]:
    """The words and phrases of a text column with the highest gain, the best first.

    Of phrases that the same rows contain the longest is chosen: `chest pain` rather than `chest`.

    Parameters
    ----------
    column : a text column.
    target : the targets of its rows.
    most : the most phrases.

    Returns
    -------
    The phrases.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    present = np.flatnonzero(np.ones(len(column), dtype=bool) if column.missing is None else ~column.missing)
    texts = texts_of(column)
    vectorizer = CountVectorizer(
        analyzer=_grams, binary=True, min_df=MIN_ROWS, max_features=MAX_COUNTED, dtype=np.float64
    )
    try:
        occurs: Any = vectorizer.fit_transform([texts[row] for row in present.tolist()])
    except ValueError:  # no phrase occurs in enough rows
        return
    names = vectorizer.get_feature_names_out()
    counts = np.asarray(occurs.sum(axis=0)).ravel()
    known = target[present]
    statistics = known.statistics()
    yes = occurs.T @ statistics  # (phrase, statistic)
    gains = np.where(len(present) - counts >= MIN_ROWS, known.criterion.gain(yes, known.sums() - yes), 0.0)
    order = np.lexsort((names, np.array([-len(name) for name in names]), -gains))
    seen: set[bytes] = set()
    by_phrase = occurs.tocsc()
    for index in order.tolist():
        if gains[index] <= 0.0 or len(seen) == most:
            return
        rows = np.sort(by_phrase.indices[by_phrase.indptr[index] : by_phrase.indptr[index + 1]]).tobytes()
        if rows not in seen:
            seen.add(rows)
            yield str(names[index])


def _grams(text: str) -> list[str]:
    """The phrases of a text of up to `MAX_WORDS` words."""
    tokens = words(text)
    return [
        " ".join(tokens[start : start + length])
        for length in range(1, MAX_WORDS + 1)
        for start in range(len(tokens) - length + 1)
    ]
