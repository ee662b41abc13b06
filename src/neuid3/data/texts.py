"""Text columns: the words and phrases of each entry, and the bag of n-grams that networks read."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np

from neuid3.data.kinds import TEXT_FEATURES, Array, Column, Text
from neuid3.data.stores import Rows, StoredRows, stored_entries

# Text of this many words an entry, on average, is a note; shorter text names things.
WORDS_OF_A_NOTE = 3.0

_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation.

    >>> words("Chest pain, since 2 days.")
    ['chest', 'pain', 'since', '2', 'days']
    """
    return _WORD.findall(text.lower())


def contains_phrase(column: Column, phrase: str) -> Array:
    """Whether each text of a column contains the words of a phrase in sequence, `(text,)`.

    >>> contains_phrase(text_column(["Chest pain.", "pain in the chest"]), "chest pain").tolist()
    [True, False]
    """
    sought = f" {' '.join(words(phrase))} "
    spaced = _spaced_words(column)
    return np.fromiter((sought in text for text in spaced), dtype=bool, count=len(spaced))


_SIGN = re.compile(r"\s*(?:^|\s)([+-])\s+")
_WEIGHT = re.compile(r"(\d+)\s*\*\s*(.+)", re.DOTALL)


def score_terms(score: str) -> dict[str, int]:
    """The phrases of a score and their weights.

    >>> score_terms("2*chest pain + nausea - feels well")
    {'chest pain': 2, 'nausea': 1, 'feels well': -1}
    """
    first, *rest = _SIGN.split(score.strip())
    signs = ["+", *rest[0::2]]
    weights: dict[str, int] = {}
    for sign, term in zip(signs, [first, *rest[1::2]], strict=True):
        match = _WEIGHT.fullmatch(term.strip())
        phrase = " ".join(words(term if match is None else match[2]))
        if phrase:
            weight = 1 if match is None else int(match[1])
            weights[phrase] = weights.get(phrase, 0) + (weight if sign == "+" else -weight)
    return weights


def score_text(weights: Mapping[str, int]) -> str:
    """Weighted phrases as the text of a score.

    >>> score_text({"chest pain": 2, "feels well": -1, "nausea": 1})
    '2*chest pain - feels well + nausea'
    """
    parts: list[str] = []
    for phrase, weight in weights.items():
        sign = "- " if weight < 0 else "+ " if parts else ""
        parts.append(f"{sign}{f'{abs(weight)}*' if abs(weight) != 1 else ''}{phrase}")
    return " ".join(parts)


def phrase_score(column: Column, score: str) -> Array:
    """The sum of the weights of the phrases that each text contains, `(text,)`.

    >>> phrase_score(text_column(["Chest pain, nausea.", "Feels well."]), "2*chest pain + nausea - feels well").tolist()
    [3.0, -1.0]
    """
    total = np.zeros(len(column))
    for phrase, weight in score_terms(score).items():
        total += weight * contains_phrase(column, phrase)
    return total


def _spaced_words(column: Column) -> list[str]:
    """The words of each text with a space before and after each; those of a store are found once."""
    values: Any = column.values
    if not isinstance(values.store, TextStore):
        return [_spaced(text) for text in texts_of(column)]
    return [values.store.spaced[row] for row in np.asarray(values.rows).tolist()]


def _spaced(text: str) -> str:
    return f" {' '.join(words(text))} "


def quotation(text: str, phrase: str, around: int = 40) -> str:
    """The part of a text around the first occurrence of a phrase; empty where it does not occur.

    >>> quotation("He came in the morning with severe Chest-pain, and went home.", "chest pain", around=8)
    '… with severe Chest-pain, and went …'
    """
    pattern = r"\W+".join(map(re.escape, words(phrase)))
    match = re.search(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE) if pattern else None
    if match is None:
        return ""
    start, end = match.start(), match.end()
    first = text.rfind(" ", 0, max(start - around, 0)) + 1 if start > around else 0
    last = text.find(" ", end + around) if end + around < len(text) else -1
    last = len(text) if last < 0 else last
    shown = " ".join(text[first:last].split())
    return f"{'… ' if first > 0 else ''}{shown}{' …' if last < len(text) else ''}"


def quoted_score(text: str, score: str) -> str:
    """The weighted phrases of a score that a text contains, those that count most first.

    >>> quoted_score("No nausea, feels well.", "2*chest pain + nausea - feels well")
    'nausea - feels well'
    """
    spaced = _spaced(text)
    found = {phrase: weight for phrase, weight in score_terms(score).items() if f" {phrase} " in spaced}
    return score_text(dict(sorted(found.items(), key=lambda item: -abs(item[1]))))


def are_notes(texts: Sequence[str]) -> bool:
    """Whether different texts are notes rather than names: several words each, on average.

    >>> are_notes(["patient has chest pain", "feels well today"]), are_notes(["scans/ward-3/17.gif"])
    (True, False)
    """
    return bool(texts) and sum(len(text.split()) for text in texts) >= WORDS_OF_A_NOTE * len(texts)


class TextStore:
    """Texts, fetched as bags of words and pairs of words: an entry for each of `TEXT_FEATURES` hashes, of length 1.

    Attributes
    ----------
    entries : the texts, `(row,)`.
    """

    def __init__(self, entries: Array) -> None:
        self.entries = entries

    def __str__(self) -> str:
        return "a text column"

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.entries), TEXT_FEATURES)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32)

    def fetch(self, rows: Rows) -> Array:
        bags = np.zeros((len(rows), TEXT_FEATURES), dtype=np.float32)
        for index, row in enumerate(rows.tolist()):
            features, weights = self._bags[row]
            bags[index, features] = weights
        return bags

    @cached_property
    def spaced(self) -> list[str]:
        """The words of each text with a space before and after each."""
        return [_spaced(text) for text in self.entries.tolist()]

    @cached_property
    def _bags(self) -> list[tuple[Array, Array]]:
        return [_bag(text) for text in self.entries.tolist()]

    def __reduce__(self) -> tuple[Any, ...]:
        return TextStore, (self.entries,)


def _bag(text: str) -> tuple[Array, Array]:
    """The hashed features of a text and their weights, whose squares sum to 1."""
    tokens = words(text)
    grams = [*tokens, *(f"{one} {other}" for one, other in pairwise(tokens))]
    counts: Counter[int] = Counter(crc32(gram.encode()) % TEXT_FEATURES for gram in grams)
    weights = np.array([1.0 + math.log(count) for count in counts.values()], dtype=np.float32)
    length = float(np.linalg.norm(weights)) or 1.0
    return np.array(list(counts), dtype=np.intp), weights / np.float32(length)


def text_column(texts: Sequence[str | None], missing: Array | None = None) -> Column:
    """A text column.

    Parameters
    ----------
    texts : the entries; None where one is missing.
    missing : a mask of further missing entries.
    """
    absent = np.fromiter((text is None for text in texts), dtype=bool, count=len(texts))
    absent = absent if missing is None else absent | missing
    entries = np.empty(len(texts), dtype=object)
    entries[:] = ["" if gone else str(text) for text, gone in zip(texts, absent.tolist(), strict=True)]
    return Column(Text(), StoredRows(TextStore(entries)), absent)  # type: ignore[arg-type]


def texts_of(column: Column) -> list[str]:
    """The texts of a column; empty where one is missing."""
    return [str(text) for text in stored_entries(column.values).tolist()]
