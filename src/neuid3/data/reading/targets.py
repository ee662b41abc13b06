"""The target of a table: classes, or numbers to predict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import FEW_VALUES, LEARN_NUMBERS, looks_like_quantity
from neuid3.data.reading.cells import as_numbers, cells_and_missing
from neuid3.data.reading.sheet import TextTable
from neuid3.errors import DataError, did_you_mean

Task = Literal["classification", "regression"]
TASKS = ("auto", "classification", "regression")

Labels = npt.NDArray[np.str_] | npt.NDArray[np.float64]


def labelled_rows(table: TextTable, target: str, kind: str = "class") -> tuple[TextTable, int]:
    """The rows that have a target, and the number of rows without one; `kind` is what they have, for messages."""
    _, missing = cells_and_missing(target, table)
    if missing.all():
        raise DataError(f"{table.path}: no row has a {kind} in column {target!r}; name another target.")
    if not missing.any():
        return table, 0
    return table.take(np.flatnonzero(~missing).tolist()), int(missing.sum())


def task_of(table: TextTable, target: str, task: str) -> Task:
    """Whether the column is read as classes or as numbers.

    With "auto", it is read as numbers where every cell is one, and some are not whole or more than 20 are different.

    Raises
    ------
    DataError : where `task` is unknown.
    """
    match task:
        case "classification" | "regression":
            return task
        case "auto":
            cells, missing = cells_and_missing(target, table)
            distinct = {cell for cell, is_missing in zip(cells, missing, strict=True) if not is_missing}
            numbers = as_numbers(distinct, table.commas) if distinct else None
            if numbers is None:
                return "classification"
            are_quantities = len(np.unique(numbers)) > FEW_VALUES or bool((numbers != np.round(numbers)).any())
            return "regression" if are_quantities else "classification"
        case _:
            raise DataError(f"task={task!r} is unknown; give one of {', '.join(TASKS)}.{did_you_mean(task, TASKS)}")


def class_labels(table: TextTable, target: str) -> npt.NDArray[np.str_]:
    """The class of each row.

    Raises
    ------
    DataError : where there is one class only, or the cells are quantities.
    """
    cells, _ = cells_and_missing(target, table)
    counts = Counter(cells)
    if len(counts) == 1:
        raise DataError(
            f"{table.path}: every row has the class {cells[0]!r} in column {target!r}; at least two classes are needed."
        )
    numbers = as_numbers(counts, table.commas)
    if numbers is not None and bool((numbers != np.round(numbers)).any()):
        raise DataError(f"{table.path}: column {target!r} holds quantities such as {cells[0]}. {LEARN_NUMBERS}")
    if len(counts) > max(2, len(cells) // 2):
        hint = _almost_numbers(cells, table) if numbers is None else f" {LEARN_NUMBERS}"
        raise DataError(
            f"{table.path}: column {target!r} has {len(counts):,} different values in {len(cells):,} rows; "
            f"classes that most rows share are needed.{hint}"
        )
    return np.array(cells)


def _almost_numbers(cells: Sequence[str], table: TextTable) -> str:
    """A sentence about the first cell that is no finite number, where most cells are numbers; otherwise nothing."""
    others = [row for row, cell in enumerate(cells) if as_numbers([cell], table.commas) is None]
    if not others or 2 * len(others) > len(cells):
        return ""
    return (
        f" Most cells are numbers, but row {others[0]} has {cells[others[0]]!r:.40}, which is no finite number; to predict "
        "numbers, mend such cells or empty them."
    )


def number_labels(table: TextTable, target: str) -> npt.NDArray[np.float64]:
    """The number of each row.

    Raises
    ------
    DataError : where a cell is no finite number, or all are equal.
    """
    cells, _ = cells_and_missing(target, table)
    numbers = as_numbers(cells, table.commas)
    if numbers is None:
        row = next(i for i, cell in enumerate(cells) if as_numbers([cell], table.commas) is None)
        raise DataError(
            f"{table.path}: row {row} has {cells[row]!r:.40} in column {target!r}, which is no finite number, and numbers are "
            "to be predicted; mend the cell, or predict classes with --task classification."
        )
    if len(np.unique(numbers)) == 1:
        raise DataError(
            f"{table.path}: every row has the number {cells[0]} in column {target!r}; at least two different ones are needed."
        )
    return numbers


def target_notes(labels: Labels, target: str, table: TextTable, task: Task, inferred: bool) -> list[str]:
    """Sentences about a target that may be meant otherwise."""
    different = set(labels.tolist())
    if task == "regression":
        if not inferred:
            return []
        return [
            f"{target!r} holds {len(different):,} different numbers, so numbers are predicted (regression); --task "
            "classification predicts classes."
        ]
    if as_numbers(different, table.commas) is None or not looks_like_quantity(len(different), len(labels)):
        return []
    return [
        f"{target!r} holds {len(different):,} different numbers in {len(labels):,} rows, each of which is learned as a "
        f"class of its own. {LEARN_NUMBERS}"
    ]
