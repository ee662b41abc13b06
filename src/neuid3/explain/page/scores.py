"""Scores of a tree on a table: rows that it was learned from and other rows, counted apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.errors import DataError, did_you_mean
from neuid3.tree.base_model import BaseModel
from neuid3.tree.record import (
    HELD_OUT,
    VALIDATION,
    AnyScore,
    Codes,
    ConceptScore,
    Mask,
    Score,
    TrainingRecord,
    concept_texts,
    number_score,
    score_of,
)
from neuid3.tree.reliability import Reliability, reliability


@dataclass(frozen=True, slots=True)
class RowGroup:
    """The number of rows of a group, and the score on them if their classes or numbers are known."""

    rows: int
    score: AnyScore | None


@dataclass(frozen=True, slots=True)
class RowGroups:
    """The rows of a table: those that the tree was learned from, and the others.

    If these cannot be distinguished, all rows are in `unknown`, and the other groups are None.
    """

    learned: RowGroup | None
    others: RowGroup | None
    unknown: RowGroup | None


def class_codes(classes: tuple[Any, ...], noun: str, y: Any, rows: int) -> Codes:
    """The index of the class of each row of a table.

    Parameters
    ----------
    classes : the classes of the model.
    noun : what the model is called.
    y : the classes.
    rows : the number of rows.

    Raises
    ------
    DataError : where there is not one class of the model for each row.
    """
    labels = np.asarray(y)
    if labels.shape != (rows,):
        raise DataError(f"y has shape {labels.shape} and the table {rows} examples; give one class each.")
    index = {label: i for i, label in enumerate(classes)}
    unknown = [label for label in dict.fromkeys(labels.tolist()) if label not in index]
    if unknown:
        hint = did_you_mean(str(unknown[0]), map(str, index))
        raise DataError(f"y has the class {str(unknown[0])!r}, which the {noun} does not know.{hint}")
    return np.array([index[label] for label in labels.tolist()], dtype=np.int64)


def learned_rows(model: BaseModel, table: Any, codes: Codes | None) -> Mask | None:
    """Whether the tree was learned from each row of a table; None if that is unknown."""
    record = model.training_record
    return None if record is None else record.learned(table, model.schema, codes)


def group_rows(learned: Mask | None, probabilities: npt.NDArray[np.float64], codes: Codes | None) -> RowGroups:
    """The rows of a table in groups, with their scores.

    Parameters
    ----------
    learned : whether the tree was learned from each row; None if that is unknown.
    probabilities : the predicted class probabilities, `(row, class)`.
    codes : the index of the class of each row, if known.
    """

    def score(rows: Mask) -> AnyScore | None:
        return None if codes is None else score_of("table", probabilities[rows], codes[rows])

    return _groups(learned, len(probabilities), score)


def group_numbers(
    learned: Mask | None, predictions: npt.NDArray[np.float64], numbers: npt.NDArray[np.float64] | None
) -> RowGroups:
    """The rows of a table in groups, with the scores of predicted numbers.

    Parameters
    ----------
    learned : whether the tree was learned from each row; None if that is unknown.
    predictions : the predicted numbers, `(row,)`.
    numbers : the true numbers, if known.
    """

    def score(rows: Mask) -> AnyScore | None:
        return None if numbers is None else number_score("table", predictions[rows], numbers[rows])

    return _groups(learned, len(predictions), score)


def _groups(learned: Mask | None, rows: int, score: Callable[[Mask], AnyScore | None]) -> RowGroups:
    def group(mask: Mask) -> RowGroup:
        count = int(mask.sum())
        return RowGroup(count, score(mask) if count else None)

    if learned is None:
        return RowGroups(None, None, group(np.ones(rows, dtype=bool)))
    return RowGroups(group(learned), group(~learned), None)


def page_reliability(
    learned: Mask | None, probabilities: npt.NDArray[np.float64], codes: Codes | None
) -> Reliability | None:
    """The reliability on the rows that the tree was not learned from, or on all if that is unknown; None without any.

    Parameters
    ----------
    learned : whether the tree was learned from each row; None if that is unknown.
    probabilities : the predicted class probabilities, `(row, class)`.
    codes : the index of the class of each row, if known.
    """
    if codes is None or not probabilities.shape[1]:
        return None
    others = np.ones(len(codes), dtype=bool) if learned is None else ~learned
    return reliability(probabilities[others], codes[others]) if others.any() else None


def score_sentences(
    groups: RowGroups, record: TrainingRecord | None, concepts: Iterable[ConceptScore] = ()
) -> tuple[str, ...]:
    """Sentences about the scores of a tree on a table and in its training record, training rows and others apart.

    Parameters
    ----------
    groups : the rows of the table.
    record : the training record of the tree.
    concepts : the concept accuracy of networks on the labels of the table.
    """
    of_labels = tuple(f"On labels of this table: {text}." for text in concept_texts(concepts))
    return (*_table_sentences(groups, record), *of_labels, *record_sentences(record))


def _table_sentences(groups: RowGroups, record: TrainingRecord | None) -> tuple[str, ...]:
    learned, others, unknown = groups.learned, groups.others, groups.unknown
    if unknown is not None:
        accuracy = "" if unknown.score is None else f"On these {_rows(unknown.rows)}: {_accuracy(unknown.score)}. "
        reason = "is not recorded" if record is None else "is unknown"
        return (f"{accuracy}Which of them it was learned from {reason}.",)
    assert learned is not None
    assert others is not None
    if not others.rows:
        score = "" if learned.score is None else f": {_accuracy(learned.score)}, which says little about others"
        held_out = None if record is None else record.score(HELD_OUT)
        other = "" if held_out is None else f" On {_rows(held_out.rows)} kept apart: {_accuracy(held_out)}."
        return (f"All of these {_rows(learned.rows)} are rows that it was learned from{score}.{other}",)
    if not learned.rows:
        score = "" if others.score is None else f": {_accuracy(others.score)}"
        return (f"None of these {_rows(others.rows)} was learned from{score}.",)
    scores = ["" if group.score is None else f": {_accuracy(group.score)}" for group in (learned, others)]
    verb = "was" if learned.rows == 1 else "were"
    both = _rows(learned.rows + others.rows)
    rest = f"the other {others.rows:,}{scores[1]}" if scores[1] else f"the other {others.rows:,} were not"
    return (f"Of these {both} {learned.rows:,} {verb} learned from{scores[0]}; {rest}.",)


def record_sentences(record: TrainingRecord | None) -> tuple[str, ...]:
    """Sentences about the training record of a tree: its rows and scores."""
    if record is None:
        return ("There is no record of the rows that the tree was learned from.",)
    held_out, validation = record.score(HELD_OUT), record.score(VALIDATION)
    lines = [f"Learned from {_rows(record.rows)}."]
    if held_out is not None:
        lines.append(f"On {_rows(held_out.rows)} that had no part in learning: {held_out}.")
    if validation is not None:
        lines.append(
            f"On {_rows(validation.rows)} that its networks were not trained on, and that chose its tests: {validation}."
        )
    if held_out is None:
        lines.append("No score on rows that had no part in learning is recorded.")
    lines += [f"Labels of {text}." for text in concept_texts(record.concepts)]
    return tuple(lines)


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"


def _accuracy(score: AnyScore) -> str:
    return f"accuracy {score.accuracy:.3f}" if isinstance(score, Score) else str(score)
