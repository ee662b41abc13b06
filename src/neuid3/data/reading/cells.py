"""What kind is a column of text, and what does it say?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import (
    IMAGES,
    Array,
    Boolean,
    Category,
    Column,
    Number,
    Probability,
    Value,
    is_free_text,
    names_images,
)
from neuid3.data.reading.sheet import MISSING, Sheet
from neuid3.errors import DataError

YES_AND_NO = (("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"), ("1", "0"))
_SAYS = {word: word == yes for yes, no in YES_AND_NO for word in (yes, no)}


@dataclass(frozen=True, slots=True)
class InferredKind:
    """What a column seems to be, and what made us think so."""

    kind: str
    why: str


def infer_kind(name: str, sheet: Sheet) -> InferredKind:
    """The kind of a column that nobody declared."""
    cells = sheet.columns[name]
    if cells is None:
        return InferredKind("ignore", "neither text nor numbers")
    counts = Counter(cells)
    gone = sum(counts.pop(mark, 0) for mark in MISSING)
    if not counts:
        return InferredKind("ignore", "every cell is empty")
    found = _guess(counts, sheet.commas)
    stray = _stray(counts, sheet) if found.kind in ("category", "ignore") else ""
    return InferredKind(found.kind, found.why + stray + (f"; {gone:,} missing" if gone else ""))


def _guess(counts: Counter[str], commas: bool) -> InferredKind:
    low = {value.lower() for value in counts}
    pair = next((pair for pair in YES_AND_NO if low <= set(pair)), None)
    if pair is not None:
        return InferredKind(
            "boolean", " and ".join(sorted(counts)) if len(counts) > 1 else f"always {next(iter(counts))}"
        )
    if names_images(low):
        return InferredKind("image", f"{len(counts):,} files, such as {next(iter(counts))}")
    numbers = as_numbers(counts, commas)
    if numbers is not None:
        if set(numbers.tolist()) <= {0.0, 1.0}:
            return InferredKind("boolean", "only 0 and 1")
        return InferredKind("number", f"from {numbers.min():g} to {numbers.max():g}")
    if is_free_text(len(counts), counts.total()):
        return InferredKind("ignore", f"text that differs from row to row, such as {next(iter(counts))!r:.40}")
    return InferredKind("category", told_values(counts))


def told_values(values: Collection[str]) -> str:
    """A few values of many.

    >>> told_values(["clubs", "hearts"])
    '2 values: clubs, hearts'
    """
    shown = ", ".join(sorted(values)[:5]) + (", …" if len(values) > 5 else "")
    return f"{len(values):,} value{'s' if len(values) > 1 else ''}: {shown}"


def _stray(counts: Counter[str], sheet: Sheet) -> str:
    """What keeps a column from being one of numbers or images, where that is a single value."""
    if len(counts) < 3:
        return ""
    no_numbers = [value for value in counts if as_numbers((value,), sheet.commas) is None]
    no_images = [value for value in counts if not value.lower().endswith(IMAGES)]
    for strange, kind in ((no_numbers, "numbers"), (no_images, "images")):
        if len(strange) == 1:
            return f"; no {kind} because of {strange[0]!r:.40}"
    return ""


def as_numbers(cells: Collection[str], commas: bool) -> npt.NDArray[np.float64] | None:
    """Cells as finite numbers; None where one of them is none, or is an integer that no float equals.

    >>> as_numbers(["1,5", "2"], commas=True).tolist()
    [1.5, 2.0]
    >>> as_numbers(["9007199254740993"], commas=True)
    """
    if any("_" in cell for cell in cells):  # Python reads 1_000 as a number, and people do not
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


def boolean(name: str, sheet: Sheet) -> Column:
    """Truth values, in whatever words."""
    cells, gone = present(name, sheet)
    says = {cell: _truth(cell, sheet.commas) for cell in set(cells) - MISSING}
    if None in says.values():
        wrong = next(row for row, cell in enumerate(cells) if says.get(cell, True) is None)
        _refuse(name, sheet, wrong, "true or false, yes or no, 1 or 0 is needed")
    values = np.fromiter((says.get(cell, False) for cell in cells), dtype=bool, count=len(cells))
    return Column(Boolean(), values, gone)


def _truth(cell: str, commas: bool) -> bool | None:
    if cell.lower() in _SAYS:
        return _SAYS[cell.lower()]
    numbers = as_numbers((cell,), commas)
    return bool(numbers[0]) if numbers is not None and numbers[0] in (0.0, 1.0) else None


def number(name: str, sheet: Sheet) -> Column:
    """Quantities."""
    cells, gone = present(name, sheet)
    values = np.full(len(cells), np.nan)
    rows = np.flatnonzero(~gone)
    found = as_numbers([cells[row] for row in rows.tolist()], sheet.commas)
    if found is None:
        wrong = next(row for row in rows.tolist() if as_numbers((cells[row],), sheet.commas) is None)
        exact = _is_whole(cells[wrong]) and not _is_exact(cells[wrong])
        also = " that a 64-bit float equals" if exact else ""
        _refuse(name, sheet, wrong, f"a number{also} is needed, or an empty cell")
    values[rows] = found
    return Column(Number(), values, gone)


def probability(name: str, sheet: Sheet) -> Column:
    """Numbers from 0 to 1."""
    column = number(name, sheet)
    wrong = np.flatnonzero((column.values < 0.0) | (column.values > 1.0))
    if wrong.size:
        _refuse(name, sheet, int(wrong[0]), "a probability from 0 to 1 is needed")
    values = column.values if column.missing is None else np.where(column.missing, 0.0, column.values)
    return Column(Probability(), values, column.missing)


def category(name: str, sheet: Sheet, known: Sequence[Value] = ()) -> Column:
    """One of a few values: those that are `known`, and any other as it is written.

    Where none are known, and all of them are whole numbers, they are numbers, as in `rank(3)`.
    """
    cells, gone = present(name, sheet)
    here = sorted({cells[row] for row in np.flatnonzero(~gone).tolist()})
    names: dict[str, Value] = {str(value): value for value in known}
    if not known and all(_is_whole(cell) for cell in here):
        here.sort(key=int)
        names = {cell: int(cell) for cell in here}
    codes = {cell: code for code, cell in enumerate(here)}
    values = np.fromiter((codes.get(cell, 0) for cell in cells), dtype=np.int64, count=len(cells))
    return Column(Category(tuple(names.get(cell, cell) for cell in here)), values, gone)


def _is_whole(cell: str) -> bool:
    """Is this how Python writes a whole number? 007 is not."""
    return cell.lstrip("-").isdecimal() and cell.isascii() and str(int(cell)) == cell


def present(name: str, sheet: Sheet) -> tuple[Sequence[str], Array]:
    """The cells of a column, and which of them are missing."""
    cells = sheet.columns[name]
    if cells is None:
        raise DataError(f"{sheet.path}: column {name!r} holds neither text nor numbers; leave it out.")
    return cells, np.fromiter((cell in MISSING for cell in cells), dtype=bool, count=len(cells))


def _refuse(name: str, sheet: Sheet, row: int, wanted: str) -> NoReturn:
    cells = sheet.columns[name]
    assert cells is not None
    raise DataError(f"{sheet.place(row)}: column {name!r} has {cells[row]!r:.60}; {wanted}.")
