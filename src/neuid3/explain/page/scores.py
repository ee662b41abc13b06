"""Scores of a tree on a table: rows that it was learned from and other rows, counted apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.tree.model import TreeModel
from neuid3.tree.record import HELD_OUT, VALIDATION, Codes, Mask, Score, TrainingRecord, score_of


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows there are of one kind, and the score on them where their classes are known."""

    rows: int
    score: Score | None


@dataclass(frozen=True, slots=True)
class Tallies:
    """The rows of a table: those that the tree was learned from, and the others.

    Where that cannot be told, `unknown` counts all of them, and the others are None.
    """

    learned: Tally | None
    others: Tally | None
    unknown: Tally | None


def learned_rows(model: TreeModel, table: Any, codes: Codes | None) -> Mask | None:
    """Which rows of a table the tree was learned from; None where that cannot be told."""
    record = model.training_record
    return None if record is None else record.learned(table, model.schema, codes)


def tallied(learned: Mask | None, probabilities: npt.NDArray[np.float64], codes: Codes | None) -> Tallies:
    """The rows of a table with these class probabilities, and classes of these codes, counted apart."""

    def tally(rows: Mask) -> Tally:
        count = int(rows.sum())
        score = None if codes is None or not count else score_of("table", probabilities[rows], codes[rows])
        return Tally(count, score)

    if learned is None:
        return Tallies(None, None, tally(np.ones(len(probabilities), dtype=bool)))
    return Tallies(tally(learned), tally(~learned), None)


def sentences(tallies: Tallies, record: TrainingRecord | None) -> tuple[str, ...]:
    """What a reader is to know of these scores before any other number, training rows and others never mixed."""
    return (*_of_table(tallies, record), *remembered(record))


def _of_table(tallies: Tallies, record: TrainingRecord | None) -> tuple[str, ...]:
    learned, others, unknown = tallies.learned, tallies.others, tallies.unknown
    if unknown is not None:
        right = "" if unknown.score is None else f"On these {_rows(unknown.rows)}: {_accuracy(unknown.score)}. "
        what = "is not remembered" if record is None else "cannot be told"
        return (f"{right}Which of them it was learned from {what}.",)
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
    scores = ["" if tally.score is None else f": {_accuracy(tally.score)}" for tally in (learned, others)]
    verb = "was" if learned.rows == 1 else "were"
    both = _rows(learned.rows + others.rows)
    rest = f"the other {others.rows:,}{scores[1]}" if scores[1] else f"the other {others.rows:,} were not"
    return (f"Of these {both} {learned.rows:,} {verb} learned from{scores[0]}; {rest}.",)


def remembered(record: TrainingRecord | None) -> tuple[str, ...]:
    """What a tree remembers of its learning, in sentences."""
    if record is None:
        return ("Nothing is remembered of the rows that the tree was learned from.",)
    held_out, validation = record.score(HELD_OUT), record.score(VALIDATION)
    lines = [f"Learned from {_rows(record.rows)}."]
    if held_out is not None:
        lines.append(f"On {_rows(held_out.rows)} that had no part in learning: {held_out}.")
    if validation is not None:
        lines.append(
            f"On {_rows(validation.rows)} that its networks were not trained on, and that chose its tests: {validation}."
        )
    if held_out is None:
        lines.append("No score on rows without a part in learning is remembered.")
    return tuple(lines)


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"


def _accuracy(score: Score) -> str:
    return f"accuracy {score.accuracy:.3f}"
