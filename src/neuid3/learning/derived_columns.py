"""Derived columns of the training rows: those of dates and series, and the phrases of texts that tell most of the target, with scores
made of them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np

from neuid3.data.columns import Column, Date, Series, Text
from neuid3.data.derived import Derived, derivable, mentioned
from neuid3.data.examples import Examples
from neuid3.data.texts import texts_of, words
from neuid3.learning.phrase_scores import phrase_scores
from neuid3.tree.target import Target

# The most phrases of a text column that are candidates, and the most words of one.
MAX_PHRASES, MAX_WORDS = 256, 3

# A phrase is a candidate where at least so many training rows contain it, and so many do not.
MIN_ROWS = 3

# The most different phrases that are counted, the most frequent ones; it bounds the memory that a long text takes.
MAX_COUNTED = 50_000


def with_derived_columns(
    examples: Examples, target: Target, text: str, without: Container[str] = (), *, scores: bool = True
) -> Examples:
    """The examples with the derived columns that may be tested.

    Parameters
    ----------
    examples : the training rows.
    target : their targets, by which phrases are chosen.
    text : rules and tests, whose derived columns are added as well.
    without : columns of which only those are derived.
    scores : whether texts have scores of phrases.

    Returns
    -------
    The examples with further columns; themselves where there is no date, text or series.
    """
    if not any(isinstance(kind, (Date, Text, Series)) for kind in examples.schema.values()):
        return examples
    columns = {name: column for name, column in examples.items() if name not in without}
    phrases = (
        derived
        for name, column in columns.items()
        if isinstance(column.kind, Text)
        for derived in _of_text(name, column, target, scores)
    )
    return examples.with_derived([*derivable(columns), *phrases, *mentioned(text, examples.schema)])


def _of_text(name: str, column: Column, target: Target, scores: bool) -> Iterator[Derived]:
    """The phrases of a text column, and the scores made of them."""
    present = np.flatnonzero(np.ones(len(column), dtype=bool) if column.missing is None else ~column.missing)
    phrases, occurs = telling_phrases([texts_of(column)[row] for row in present.tolist()], target[present])
    yield from (Derived("contains", (name,), phrase=phrase) for phrase in phrases)
    if scores:
        yield from (
            Derived("score", (name,), phrase=score) for score in phrase_scores(phrases, occurs, target[present])
        )


def telling_phrases(texts: Sequence[str], target: Target, most: int = MAX_PHRASES) -> tuple[list[str], Any]:
    """The words and phrases of some texts with the highest gain, the best first.

    Of phrases that the same rows contain the longest is chosen: `chest pain` rather than `chest`.

    Parameters
    ----------
    texts : the texts.
    target : their targets.
    most : the most phrases.

    Returns
    -------
    The phrases, and a sparse array that says which text contains which, `(text, phrase)`.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(
        analyzer=_grams, binary=True, min_df=MIN_ROWS, max_features=MAX_COUNTED, dtype=np.float64
    )
    try:
        occurs: Any = vectorizer.fit_transform(texts)
    except ValueError:  # no phrase occurs in enough rows
        return [], None
    names = vectorizer.get_feature_names_out()
    counts = np.asarray(occurs.sum(axis=0)).ravel()
    yes = occurs.T @ target.statistics()  # (phrase, statistic)
    gains = np.where(len(texts) - counts >= MIN_ROWS, target.criterion.gain(yes, target.sums() - yes), 0.0)
    order = np.lexsort((names, np.array([-len(name) for name in names]), -gains))
    seen: set[bytes] = set()
    chosen: list[int] = []
    by_phrase = occurs.tocsc()
    for index in order.tolist():
        if gains[index] <= 0.0 or len(chosen) == most:
            break
        rows = np.sort(by_phrase.indices[by_phrase.indptr[index] : by_phrase.indptr[index + 1]]).tobytes()
        if rows not in seen:
            seen.add(rows)
            chosen.append(index)
    return [str(names[index]) for index in chosen], by_phrase[:, chosen].tocsr()


def _grams(text: str) -> list[str]:
    """The phrases of a text of up to `MAX_WORDS` words."""
    tokens = words(text)
    return [
        " ".join(tokens[start : start + length])
        for length in range(1, MAX_WORDS + 1)
        for start in range(len(tokens) - length + 1)
    ]
