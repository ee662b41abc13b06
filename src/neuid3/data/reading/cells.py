"""Kinds of text columns, and their conversion to typed columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import (
    IMAGE_SUFFIXES,
    Array,
    Boolean,
    Category,
    Column,
    Date,
    Number,
    Probability,
    Series,
    Value,
    are_image_names,
    is_free_text,
)
from neuid3.data.dates import date_text, day_stands_first, parse_dates
from neuid3.data.reading.sheet import MISSING, TextTable, path_inside
from neuid3.data.series import are_series_lengths, are_series_names, parse_series, read_series_file, series_column
from neuid3.data.texts import are_notes, text_column, words
from neuid3.errors import DataError

BOOLEAN_SPELLINGS = (("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"), ("1", "0"))
_BOOLEAN_VALUES = {word: word == yes for yes, no in BOOLEAN_SPELLINGS for word in (yes, no)}


@dataclass(frozen=True, slots=True)
class InferredKind:
    """The inferred kind of a text column, and the reason for it."""

    kind: str
    reason: str


def infer_kind(name: str, table: TextTable) -> InferredKind:
    """The kind of a text column that is not declared."""
    cells = table.columns[name]
    if cells is None:
        return InferredKind("ignore", "neither text nor numbers")
    counts = Counter(cells)
    missing = sum(counts.pop(mark, 0) for mark in MISSING)
    if not counts:
        return InferredKind("ignore", "every cell is empty")
    inferred = _infer_from_counts(counts, table.commas)
    exception = _single_exception(counts, table) if inferred.kind in ("category", "ignore") else ""
    return InferredKind(inferred.kind, inferred.reason + exception + (f"; {missing:,} missing" if missing else ""))


def _infer_from_counts(counts: Counter[str], commas: bool) -> InferredKind:
    lowercase = {value.lower() for value in counts}
    pair = next((pair for pair in BOOLEAN_SPELLINGS if lowercase <= set(pair)), None)
    if pair is not None:
        return InferredKind(
            "boolean", " and ".join(sorted(counts)) if len(counts) > 1 else f"always {next(iter(counts))}"
        )
    if are_image_names(lowercase):
        return InferredKind("image", f"{len(counts):,} files, such as {next(iter(counts))}")
    numbers = as_numbers(counts, commas)
    if numbers is not None:
        if set(numbers.tolist()) <= {0.0, 1.0}:
            return InferredKind("boolean", "only 0 and 1")
        return InferredKind("number", f"from {numbers.min():g} to {numbers.max():g}")
    days = parse_dates(counts)
    if days is not None:
        return InferredKind("date", f"from {date_text(float(days.min()))} to {date_text(float(days.max()))}")
    if are_series_names(lowercase):
        return InferredKind("series", f"{len(counts):,} files, such as {next(iter(counts))}")
    if all(cell.startswith("[") for cell in counts):
        lists = [numbers for cell in counts if (numbers := parse_series(cell)) is not None]
        if len(lists) == len(counts) and are_series_lengths(numbers.shape[1] for numbers in lists):
            return InferredKind("series", f"lists of numbers, such as {next(iter(counts))!s:.40}")
        return InferredKind("ignore", "neither text nor numbers")
    if is_free_text(len(counts), counts.total()):
        if are_notes(list(counts)):
            average = sum(len(words(text)) for text in counts) / len(counts)
            return InferredKind("text", f"{average:.0f} words on average, such as {next(iter(counts))!r:.40}")
        return InferredKind("ignore", f"text that differs from row to row, such as {next(iter(counts))!r:.40}")
    return InferredKind("category", summarize_values(counts))


def summarize_values(values: Collection[str]) -> str:
    """The number of values and the first five of them.

    >>> summarize_values(["clubs", "hearts"])
    '2 values: clubs, hearts'
    """
    shown = ", ".join(sorted(values)[:5]) + (", …" if len(values) > 5 else "")
    return f"{len(values):,} value{'s' if len(values) > 1 else ''}: {shown}"


def _single_exception(counts: Counter[str], table: TextTable) -> str:
    """The one value that prevents a column from being one of numbers, images, dates or series; empty where there are more."""
    if len(counts) < 3:
        return ""
    is_of_kind: dict[str, Callable[[str], bool]] = {
        "numbers": lambda value: as_numbers((value,), table.commas) is not None,
        "images": lambda value: value.lower().endswith(IMAGE_SUFFIXES),
        "dates": lambda value: any(parse_dates([value], day_first) is not None for day_first in (True, False)),
        "series": lambda value: parse_series(value) is not None,
    }
    for kind, is_of in is_of_kind.items():
        exceptions = list(islice((value for value in counts if not is_of(value)), 2))
        if len(exceptions) == 1:
            return f"; no {kind} because of {exceptions[0]!r:.40}"
    return ""


def as_numbers(cells: Collection[str], commas: bool) -> npt.NDArray[np.float64] | None:
    """Cells as finite numbers; None where a cell is not a finite number, or is an integer that no 64-bit float equals.

    >>> as_numbers(["1,5", "2"], commas=True).tolist()
    [1.5, 2.0]
    >>> as_numbers(["9007199254740993"], commas=True)
    """
    if any("_" in cell for cell in cells):  # Python parses 1_000 as a number; in a table it is text
        return None
    plain = [cell.replace(",", ".") for cell in cells] if commas else cells
    try:
        numbers = np.fromiter(map(float, plain), dtype=np.float64, count=len(plain))
    except ValueError:
        return None
    if not np.isfinite(numbers).all():
        return None
    large = np.flatnonzero(np.abs(numbers) >= 2**53)
    if large.size and not all(map(_is_exact, np.array(list(cells), dtype=object)[large])):
        return None
    return numbers


def _is_exact(cell: str) -> bool:
    return not _is_whole(cell) or int(float(cell)) == int(cell)


# Columns of a kind ----------------------------------------------------------------------------------


def boolean_column(name: str, table: TextTable) -> Column:
    """A Boolean column, from any of the spellings in `BOOLEAN_SPELLINGS`."""
    cells, missing = cells_and_missing(name, table)
    parsed = {cell: _parse_boolean(cell, table.commas) for cell in set(cells) - MISSING}
    if None in parsed.values():
        invalid = next(row for row, cell in enumerate(cells) if parsed.get(cell, True) is None)
        _refuse(name, table, invalid, "true or false, yes or no, 1 or 0 is needed")
    values = np.fromiter((parsed.get(cell, False) for cell in cells), dtype=bool, count=len(cells))
    return Column(Boolean(), values, missing)


def _parse_boolean(cell: str, commas: bool) -> bool | None:
    if cell.lower() in _BOOLEAN_VALUES:
        return _BOOLEAN_VALUES[cell.lower()]
    numbers = as_numbers((cell,), commas)
    return bool(numbers[0]) if numbers is not None and numbers[0] in (0.0, 1.0) else None


def number_column(name: str, table: TextTable) -> Column:
    """A number column."""
    cells, missing = cells_and_missing(name, table)
    values = np.full(len(cells), np.nan)
    rows = np.flatnonzero(~missing)
    numbers = as_numbers([cells[row] for row in rows.tolist()], table.commas)
    if numbers is None:
        invalid = next(row for row in rows.tolist() if as_numbers((cells[row],), table.commas) is None)
        is_inexact = _is_whole(cells[invalid]) and not _is_exact(cells[invalid])
        restriction = " that a 64-bit float equals" if is_inexact else ""
        _refuse(name, table, invalid, f"a number{restriction} is needed, or an empty cell")
    values[rows] = numbers
    return Column(Number(), values, missing)


def date_column(name: str, table: TextTable, day_first: bool | None = None) -> Column:
    """A column of dates and times, in days since 1970-01-01.

    Parameters
    ----------
    name, table : the column.
    day_first : whether the day stands before the month in `01/03/2024`, where no cell tells; None where it is not known.
    """
    cells, missing = cells_and_missing(name, table)
    distinct = list(dict.fromkeys(cells[row] for row in np.flatnonzero(~missing).tolist()))
    day_first = day_stands_first(distinct, day_first)
    days = parse_dates(distinct, day_first)
    if days is None and distinct:
        row = next((r for r, cell in enumerate(cells) if not missing[r] and parse_dates([cell], day_first) is None), 0)
        _refuse(
            name, table, row, "a date is needed that tells day and month apart, such as 2024-03-01 or 2024-03-01 14:30"
        )
    by_cell = dict(zip(distinct, [] if days is None else days.tolist(), strict=True))
    values = np.fromiter((by_cell.get(cell, np.nan) for cell in cells), dtype=np.float64, count=len(cells))
    return Column(Date(day_first), values, missing)


def note_column(name: str, table: TextTable) -> Column:
    """A column of texts."""
    cells, missing = cells_and_missing(name, table)
    return text_column(list(cells), missing)


def series_cells(name: str, table: TextTable, like: Series | None = None) -> Column:
    """A column of series, from lists of numbers or from files in the folder of the table.

    Parameters
    ----------
    name, table : the column.
    like : the kind of the column in an earlier table.
    """
    cells, missing = cells_and_missing(name, table)
    entries: list[Array | None] = []
    for row, cell in enumerate(cells):
        if missing[row]:
            entries.append(None)
        elif (listed := parse_series(cell)) is not None:
            entries.append(listed)
        else:
            if not are_series_names([cell]):
                _refuse(name, table, row, "a list of numbers, [70, 72.5], or a file of one is needed")
            path = path_inside(table.path.parent, cell)
            if path is None:
                _refuse(name, table, row, "the path leads out of the folder of the table")
            entries.append(read_series_file(path))
    return series_column(name, entries, like)


def probability_column(name: str, table: TextTable) -> Column:
    """A column of probabilities, numbers in [0, 1]."""
    column = number_column(name, table)
    invalid = np.flatnonzero((column.values < 0.0) | (column.values > 1.0))
    if invalid.size:
        _refuse(name, table, int(invalid[0]), "a probability from 0 to 1 is needed")
    values = column.values if column.missing is None else np.where(column.missing, 0.0, column.values)
    return Column(Probability(), values, column.missing)


def category_column(name: str, table: TextTable, known: Sequence[Value] = ()) -> Column:
    """A category column.

    Parameters
    ----------
    name, table : the column.
    known : values with the types they have in a schema; any other value is the text of its cell. Without known values,
        cells that are all whole numbers become numbers, as in `rank(3)`.
    """
    cells, missing = cells_and_missing(name, table)
    distinct = sorted({cells[row] for row in np.flatnonzero(~missing).tolist()})
    names: dict[str, Value] = {str(value): value for value in known}
    if not known and all(_is_whole(cell) for cell in distinct):
        distinct.sort(key=int)
        names = {cell: int(cell) for cell in distinct}
    codes = {cell: code for code, cell in enumerate(distinct)}
    values = np.fromiter((codes.get(cell, 0) for cell in cells), dtype=np.int64, count=len(cells))
    return Column(Category(tuple(names.get(cell, cell) for cell in distinct)), values, missing)


def _is_whole(cell: str) -> bool:
    """Whether this is how Python writes a whole number; 007 is not."""
    return cell.lstrip("-").isdecimal() and cell.isascii() and str(int(cell)) == cell


def cells_and_missing(name: str, table: TextTable) -> tuple[Sequence[str], Array]:
    """The cells of a column, and the mask of its missing cells."""
    cells = table.columns[name]
    if cells is None:
        raise DataError(f"{table.path}: column {name!r} holds neither text nor numbers; leave it out.")
    return cells, np.fromiter((cell in MISSING for cell in cells), dtype=bool, count=len(cells))


def _refuse(name: str, table: TextTable, row: int, requirement: str) -> NoReturn:
    cells = table.columns[name]
    assert cells is not None
    raise DataError(f"{table.location(row)}: column {name!r} has {cells[row]!r:.60}; {requirement}.")
