"""Training record of a tree: digests of its training rows, and its scores on held-out rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Boolean, Category, Column, Distribution, Number, Probability, Schema, Tensor
from neuid3.data.derived import table_columns
from neuid3.data.examples import Examples
from neuid3.data.parts import GroupedRows, Parts, RelatedRows, Relation
from neuid3.errors import NeuID3Error
from neuid3.tree.instance_names import display_names

# Above this many rows, or bytes of tensor columns, a record holds only the number of rows: digests of all of them would
# take more than 1.2 MB in the file, or another pass over images that may not fit in memory.
MOST_ROWS = 100_000
MOST_BYTES = 1 << 30

# Rows that are hashed, and fetched from a store, at a time.
BLOCK = 512

# The least probability in the log-loss.
MIN_LOG_LOSS_PROBABILITY = 1e-15

HELD_OUT, VALIDATION, OUT_OF_BAG = "held-out", "validation", "out-of-bag"

Codes = npt.NDArray[np.int64]
Digests = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Score:
    """Accuracy and log-loss of a tree on rows of one kind.

    Attributes
    ----------
    kind : "held-out" for rows that were not used in `fit`; "validation" for rows that networks were not trained on, and
        that selected tests and estimated leaves.
    rows : how many rows there are.
    accuracy : the fraction of rows whose most probable class is correct.
    log_loss : the mean of −ln P(class | e).
    """

    kind: str
    rows: int
    accuracy: float
    log_loss: float

    def __str__(self) -> str:
        return f"accuracy {self.accuracy:.3f}, log-loss {self.log_loss:.3f}"


def score_of(kind: str, probabilities: npt.NDArray[Any], codes: Codes) -> Score:
    """The score of class probabilities, `(row, class)`, on rows whose classes have these codes.

    >>> score_of("held-out", np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([0, 1]))
    Score(kind='held-out', rows=2, accuracy=1.0, log_loss=0.34657359027997264)
    """
    likelihoods = np.clip(probabilities[np.arange(len(codes)), codes], MIN_LOG_LOSS_PROBABILITY, 1.0)
    correct = probabilities.argmax(axis=1) == codes
    return Score(kind, len(codes), float(correct.mean()), float(0.0 - np.log(likelihoods).mean()))


@dataclass(frozen=True, slots=True)
class NumberScore:
    """Errors of a tree that predicts numbers, on rows of one kind.

    Attributes
    ----------
    kind : as in `Score`.
    rows : how many rows there are.
    r2 : the coefficient of determination R², the fraction of the variance of the numbers that is explained; NaN where all
        numbers are equal.
    mean_absolute_error : the mean of |prediction − number|.
    root_mean_squared_error : the square root of the mean of (prediction − number)².
    """

    kind: str
    rows: int
    r2: float
    mean_absolute_error: float
    root_mean_squared_error: float

    def __str__(self) -> str:
        return f"R² {self.r2:.3f}, mean absolute error {self.mean_absolute_error:.4g}"


AnyScore: TypeAlias = Score | NumberScore


def number_score(kind: str, predictions: npt.NDArray[Any], targets: npt.NDArray[Any]) -> NumberScore:
    """The score of predicted numbers, `(row,)`, on rows with these numbers.

    >>> number_score("held-out", np.array([1.0, 3.0]), np.array([1.0, 5.0]))
    NumberScore(kind='held-out', rows=2, r2=0.5, mean_absolute_error=1.0, root_mean_squared_error=1.4142135623730951)
    """
    errors = predictions - targets
    squared, variance = float(np.mean(errors**2)), float(np.var(targets))
    r2 = 1.0 - squared / variance if variance > 0 else float("nan")
    return NumberScore(kind, len(targets), r2, float(np.abs(errors).mean()), math.sqrt(squared))


@dataclass(frozen=True, slots=True)
class ConceptScore:
    """Concept accuracy of a network of the tree: how often its most probable value is that of a label.

    Attributes
    ----------
    network : the instance of the network.
    concept : the neural predicate that it stands for.
    trained : the number of labels that it was trained on.
    labels : the number of labels that the accuracy is measured on; it was not trained on these.
    accuracy : the fraction of these whose value is the most probable one; None without any.
    """

    network: str
    concept: str
    trained: int
    labels: int
    accuracy: float | None

    def __str__(self) -> str:
        if self.accuracy is None:
            return f"{self.concept} ({self.network}): trained on {self.trained:,} labels, none held out"
        return f"{self.concept} ({self.network}): concept accuracy {self.accuracy:.3f} on {self.labels:,} labels"


def concept_texts(scores: Iterable[ConceptScore]) -> list[str]:
    """The text of each score of a tree's networks, in which instances have numbers only if a network has several.

    Parameters
    ----------
    scores : the scores of all networks of a tree.

    Returns
    -------
    The texts.
    """
    listed = list(scores)
    names = display_names(dict.fromkeys(score.network for score in listed))
    return [str(replace(score, network=names[score.network])) for score in listed]


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRecord:
    """The training rows of a tree, as digests, and its scores on held-out rows.

    Attributes
    ----------
    rows : the number of training rows, validation rows included.
    salt : a number that is hashed with every row, so that digests of two fits cannot be compared.
    digests : 64 bits for each row, in ascending order; None where there are more than `MOST_ROWS` rows.
    labels : the code of the class of each of these rows; 0 for rows with numbers.
    scores : one for each kind of held-out rows.
    concepts : one for each network of the tree that has labels.
    """

    rows: int
    salt: int
    digests: Digests | None = None
    labels: Codes | None = None
    scores: tuple[AnyScore, ...] = ()
    concepts: tuple[ConceptScore, ...] = ()

    @classmethod
    def of(cls, examples: Examples, codes: Codes, salt: int) -> TrainingRecord:
        """The record of a fit on these rows, whose classes have these codes.

        Parameters
        ----------
        examples : the training rows.
        codes : the class number of each row, `(row,)`.
        salt : a number that enters the digests.

        Returns
        -------
        The record, without scores.
        """
        if len(examples) > MOST_ROWS or _tensor_bytes(examples) > MOST_BYTES:
            return cls(len(examples), salt)
        try:
            digests = row_digests(examples, salt)
        except NeuID3Error:  # an image of a store that no test reads, and that cannot be read
            return cls(len(examples), salt)
        order = np.lexsort((codes, digests))
        return cls(len(examples), salt, digests[order], codes[order])

    def score(self, kind: str) -> AnyScore | None:
        """The score on rows of this kind; None where there is none.

        Parameters
        ----------
        kind : the kind of rows, such as held-out rows or the validation split.

        Returns
        -------
        The score, or None.
        """
        return next((score for score in self.scores if score.kind == kind), None)

    def with_score(self, score: AnyScore) -> TrainingRecord:
        """The same record with this score, which replaces an earlier one of its kind.

        Parameters
        ----------
        score : the score.

        Returns
        -------
        The new record.
        """
        return replace(self, scores=(*(known for known in self.scores if known.kind != score.kind), score))

    def with_concepts(self, concepts: tuple[ConceptScore, ...]) -> TrainingRecord:
        """The same record with these concept scores in place of earlier ones.

        Parameters
        ----------
        concepts : one score for each network that has labels.

        Returns
        -------
        The new record.
        """
        return replace(self, concepts=concepts)

    def without_rows(self) -> TrainingRecord:
        """The same record without digests."""
        return replace(self, digests=None, labels=None)

    def learned(self, X: Any, schema: Schema, codes: Codes | None = None) -> Mask | None:
        """The mask of the rows of a table that are training rows, `(row,)`; None where that is unknown.

        A row is recognised as often as it occurs among the training rows: of two equal rows, one of which is a training
        row, one is recognised. With `codes` of the classes, rows with the class of the training row come first. A table
        without some column of the schema cannot be recognised, nor one with more than `MOST_BYTES` of tensor columns.

        Parameters
        ----------
        X : a table.
        schema : the schema of the fit.
        codes : the class number of each row, if known, `(row,)`.

        Returns
        -------
        A Boolean mask, `(row,)`, or None.
        """
        if self.digests is None or self.labels is None:
            return None
        try:
            with warnings.catch_warnings():  # the caller's own reading of the table warns
                warnings.simplefilter("ignore")
                examples = Examples.read(X, schema)
            if _tensor_bytes(examples) > MOST_BYTES:
                return None
            digests = row_digests(examples, self.salt)
        except NeuID3Error:
            return None
        known = len(self.digests)
        learned, left = np.zeros(len(digests), dtype=bool), np.ones(known, dtype=bool)
        same = _groups(np.concatenate((self.digests, digests)))
        if codes is not None:
            alike = _groups(np.concatenate((self.digests, digests)), np.concatenate((self.labels, codes)))
            learned, left = _matched(alike[known:], alike[:known]), ~_matched(alike[:known], alike[known:])
        rest = np.flatnonzero(~learned)
        learned[rest] = _matched(same[known:][rest], same[:known][left])
        if not learned.any() and any(c.missing is not None and c.missing.all() for _, c in examples.items()):
            return None  # a different table, or one without this column
        return learned


def _groups(*keys: npt.NDArray[Any]) -> Codes:
    """For each position the number of its group; positions with equal keys have one group."""
    order = np.lexsort(keys)
    differs = np.zeros(len(order), dtype=np.int64)
    for key in keys:
        differs[1:] |= key[order][1:] != key[order][:-1]
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.cumsum(differs)
    return groups


def _matched(ones: Codes, others: Codes) -> Mask:
    """The mask of `ones` that can be paired with one of `others` of the same group, each of which is paired once.

    >>> _matched(np.array([3, 5, 3, 3]), np.array([3, 3, 4])).tolist()
    [True, False, True, False]
    """
    if not len(ones):
        return np.zeros(0, dtype=bool)
    order = np.argsort(ones, kind="stable")
    starts = np.searchsorted(ones[order], ones[order])
    rank = np.empty(len(ones), dtype=np.int64)
    rank[order] = np.arange(len(ones)) - starts
    available = np.bincount(others, minlength=int(ones.max()) + 1)
    matched: Mask = rank < available[ones]
    return matched


# Digests --------------------------------------------------------------------------------------------


def row_digests(examples: Examples, salt: int) -> Digests:
    """64 bits of a cryptographic hash for each row, over all of its entries as the schema reads them.

    >>> one, other = Examples({"age": [31, 47]}, {"age": "number"}), Examples({"age": [47.0]}, {"age": "number"})
    >>> [int(row_digests(one, 1)[1]) == int(row_digests(other, salt)[0]) for salt in (1, 2)]
    [True, False]
    """
    examples = examples.select(table_columns(examples.schema))
    key = blake2b(repr(examples.names).encode(), digest_size=16).digest()
    digests = b"".join(
        blake2b(row, digest_size=8, key=key, salt=salt.to_bytes(8, "little")).digest() for row in _rows(examples)
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _rows(examples: Examples) -> Iterator[bytes]:
    for start in range(0, len(examples), BLOCK):
        block = slice(start, start + BLOCK)
        table = np.hstack([_bytes_of(column, block) for _, column in examples.items()])
        data, width = table.tobytes(), table.shape[1]
        yield from (data[offset : offset + width] for offset in range(0, len(data), width))


def _bytes_of(column: Column, block: slice) -> npt.NDArray[np.uint8]:
    """Some entries of a column as bytes, `(row, byte)`; equal entries have equal bytes, whatever the table's dtype."""
    grouped: Any = column.values
    if isinstance(grouped, GroupedRows):
        return _group_digests(grouped[block])
    entries = np.asarray(column.values[block])
    values: npt.NDArray[Any]
    match column.kind:
        case Boolean():
            values = entries.astype(np.uint8)
        case Category():
            values = entries.astype("<i8")
        case Number() | Probability() | Distribution():
            values = entries.astype("<f8") + 0.0  # -0.0 becomes 0.0
        case Tensor() | Parts() | Relation():
            values = entries.astype("<f4") / np.float32(255) if entries.dtype == np.uint8 else entries.astype("<f4")
            values = values + 0.0
    flat = np.ascontiguousarray(values.reshape(len(values), -1))
    missing = np.zeros(len(flat), dtype=bool) if column.missing is None else column.missing[block]
    if missing.any():
        flat = np.where(missing[:, None], np.zeros((), flat.dtype), flat)
    return np.hstack([flat.view(np.uint8).reshape(len(flat), -1), missing[:, None].view(np.uint8)])


def _group_digests(groups: GroupedRows) -> npt.NDArray[np.uint8]:
    """16 bytes of a cryptographic hash for each example, over its parts or tuples, `(row, byte)`."""
    rows = [b""] * groups.total if groups.table is None else list(_rows(groups.table))
    if isinstance(groups, RelatedRows):
        rows = [row + arguments.tobytes() for row, arguments in zip(rows, groups.arguments.astype("<i8"), strict=True)]
    digests = [
        blake2b(b"".join(len(row).to_bytes(8, "little") + row for row in rows[start:end]), digest_size=16).digest()
        for start, end in pairwise(groups.offsets.tolist())
    ]
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(groups), 16)


def _tensor_bytes(examples: Examples) -> int:
    shapes = [c.kind.shape for _, c in examples.items() if isinstance(c.kind, Tensor)]
    return len(examples) * sum(4 * prod(shape) for shape in shapes)
