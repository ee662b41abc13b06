"""Series columns: numbers in sequence, in one or several channels, also from files, and numbers that describe them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neuid3.data.kinds import Array, Column, Series
from neuid3.data.stores import Rows, StoredRows, stored_entries
from neuid3.errors import DamagedFileError, DataError
from neuid3.utils.files import read_file

# Undeclared lists of numbers are no series where all of them are shorter.
FEW_STEPS = 5

SERIES_SUFFIXES = (".npy", ".csv", ".tsv", ".txt")


class SeriesStore:
    """Series of one number of channels, fetched with gaps interpolated, and shorter ones continued by their last number.

    Attributes
    ----------
    entries : the numbers, NaN in gaps and after the end, `(row, channel, step)`.
    steps : the number of steps that networks read; later ones are left out.
    """

    is_image = False

    def __init__(self, entries: Array, steps: int | None = None) -> None:
        self.entries = entries
        self.steps = entries.shape[2] if steps is None else steps

    def __str__(self) -> str:
        return "a series column"

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.entries), self.entries.shape[1], self.steps)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32)

    def fetch(self, rows: Rows) -> Array:
        known = np.asarray(self.entries[rows][:, :, : self.steps], dtype=np.float64)
        filled = np.zeros((len(rows), self.entries.shape[1], self.steps), dtype=np.float32)
        filled[:, :, : known.shape[2]] = known
        filled[:, :, known.shape[2] :] = np.nan
        for row, channel in np.argwhere(np.isnan(filled).any(axis=2)).tolist():
            filled[row, channel] = _without_gaps(filled[row, channel])
        return filled

    def __reduce__(self) -> tuple[Any, ...]:
        return SeriesStore, (self.entries, self.steps)


def _without_gaps(series: Array) -> Array:
    """A series with gaps interpolated and its ends continued; zeros where it has no number."""
    known = np.flatnonzero(~np.isnan(series))
    if not known.size:
        return np.zeros_like(series)
    return np.interp(np.arange(len(series)), known, series[known]).astype(series.dtype)


def series_column(name: str, entries: Iterable[Any], like: Series | None = None) -> Column:
    """A column of series.

    Parameters
    ----------
    name : the name of the column, for error messages.
    entries : for each row an array of numbers, `(step,)` or `(channel, step)`, or None; NaN is a gap. An entry without any
        number is missing.
    like : the kind of the column in an earlier table, whose steps networks read; by default those of the longest series.

    Raises
    ------
    DataError
        Where an entry is no series, or series differ in their number of channels.

    >>> series_column("pulse", [[70, 72, 71], None, [80, 79]]).kind
    Series(shape=(1, 3))
    """
    read = [None if entry is None else _as_series(name, entry, row) for row, entry in enumerate(entries)]
    present = [entry for entry in read if entry is not None]
    if not present and like is not None:
        present = [np.full(like.shape, np.nan)]
    if not present:
        raise DataError(f"Column {name!r} has no series: every entry is missing; leave it out.")
    channels = sorted({len(entry) for entry in present})
    if len(channels) > 1:
        raise DataError(
            f"Column {name!r} has series of {' and '.join(map(str, channels))} channels; give all of them one number of channels."
        )
    longest = max(entry.shape[1] for entry in present)
    numbers = np.full((len(read), channels[0], longest), np.nan, dtype=np.float32)
    missing = np.ones(len(read), dtype=bool)
    for row, entry in enumerate(read):
        if entry is not None:
            numbers[row, :, : entry.shape[1]] = entry
            missing[row] = False
    store = SeriesStore(numbers, None if like is None else like.shape[1])
    return Column(Series(store.shape[1:]), StoredRows(store), missing)  # type: ignore[arg-type]


def _as_series(name: str, entry: Any, row: int) -> Array | None:
    """The numbers of an entry, `(channel, step)`; None where it has none."""
    try:
        numbers = np.asarray(entry, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"Column {name!r} has no series of numbers in row {row}: {entry!r:.60}.") from None
    numbers = numbers[None] if numbers.ndim == 1 else numbers
    if numbers.ndim != 2:
        raise DataError(
            f"Column {name!r} has an entry of shape {np.shape(entry)} in row {row}; a series is (step,) or (channel, step)."
        )
    if (np.abs(numbers) > np.finfo(np.float32).max).any():
        found = "infinity" if np.isinf(numbers).any() else "a number above 3.4e38"
        raise DataError(f"Column {name!r} contains {found} in row {row}; replace it by a number or NaN (a gap).")
    return None if np.isnan(numbers).all() else numbers


def series_of(column: Column) -> Array:
    """The numbers of a series column, NaN in gaps and where an entry is missing, `(row, channel, step)`."""
    numbers = np.asarray(stored_entries(column.values), dtype=np.float64)
    return numbers if column.missing is None else np.where(column.missing[:, None, None], np.nan, numbers)


def with_steps(column: Column, kind: Series) -> Column:
    """A series column that networks read in as many steps as another one."""
    store = SeriesStore(stored_entries(column.values), kind.shape[1])
    return Column(kind, StoredRows(store), column.missing)  # type: ignore[arg-type]


def are_series_names(values: Iterable[str]) -> bool:
    """Whether all of these are names of files that hold a series.

    >>> are_series_names(["ecg/1.npy", "ecg/2.NPY"]), are_series_names(["1.npy", "none"]), are_series_names([])
    (True, False, False)
    """
    named = [value.lower().endswith(SERIES_SUFFIXES) for value in values]
    return bool(named) and all(named)


def are_series_lengths(lengths: Iterable[int]) -> bool:
    """Whether lists of these lengths are series, where nothing declares them.

    >>> are_series_lengths([3, 7, 5]), are_series_lengths([2, 2])
    (True, False)
    """
    return max(lengths, default=0) >= FEW_STEPS


def parse_series(cell: str) -> Array | None:
    """A series in a cell, `[70, 72.5, null]`, or `[[…], […]]` for several channels; None where the text is none.

    >>> parse_series("[1, 2.5, null]"), parse_series("[]").shape
    (array([[1. , 2.5, nan]]), (1, 0))
    """
    if not (cell.startswith("[") and cell.endswith("]")):
        return None
    try:
        numbers = np.array(json.loads(cell), dtype=np.float64)
    except (ValueError, TypeError, RecursionError):
        return None
    numbers = numbers[None] if numbers.ndim == 1 else numbers
    return numbers if numbers.ndim == 2 else None


def read_series_file(path: Path) -> Array:
    """The series in a file, `(channel, step)`: an array of NumPy, or text with a row for each step and a column a channel.

    Raises
    ------
    DamagedFileError, MissingFileError
        Where there is no such file, or it holds no series.
    """
    content = read_file(path, "series")
    try:
        if content.startswith(b"\x93NUMPY"):
            numbers: Array = np.load(io.BytesIO(content), allow_pickle=False).astype(np.float64)
            numbers = numbers[None] if numbers.ndim == 1 else numbers
        else:
            numbers = _text_series(content.decode("utf-8-sig")).T
    except (ValueError, TypeError, UnicodeDecodeError, EOFError) as error:
        raise DamagedFileError(
            f"{path} holds no series ({' '.join(str(error).split())[:120]}); give a .npy file of shape (step,) or (channel, "
            "step), or a text file with a line for each step."
        ) from None
    if numbers.ndim != 2 or not numbers.size:
        raise DamagedFileError(f"{path} has an array of shape {numbers.shape}; a series is (step,) or (channel, step).")
    return numbers


def _text_series(text: str) -> Array:
    """The numbers of a text, `(step, channel)`; a first line without numbers names the channels."""
    lines = [line for line in text.splitlines() if line.strip()]
    mark = next((mark for mark in ",;\t" if lines and mark in lines[0]), None)
    rows = [[cell.strip() for cell in line.split(mark)] for line in lines]
    if rows and not any(map(_is_number, rows[0])):
        rows = rows[1:]
    if len(rows) == 1:  # all steps in one line
        rows = [[cell] for cell in rows[0]]
    numbers = [[float(cell) if cell and cell.lower() not in ("na", "nan") else np.nan for cell in row] for row in rows]
    return np.array(numbers, dtype=np.float64)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


# Numbers that describe a series ---------------------------------------------------------------------


def mean(series: Array) -> Array:
    """The mean of each series, `(row,)`; NaN where it has no number. Series are `(row, step)`, NaN in gaps."""
    counts = (~np.isnan(series)).sum(axis=1)
    return _divided(np.nansum(series, axis=1), counts)


def deviation(series: Array) -> Array:
    """The standard deviation of each series, `(row,)`."""
    return np.sqrt(mean((series - mean(series)[:, None]) ** 2))


def lowest(series: Array) -> Array:
    """The smallest number of each series, `(row,)`."""
    values: Array = np.where(np.isnan(series), np.inf, series).min(axis=1)
    return np.where(np.isinf(values), np.nan, values)


def highest(series: Array) -> Array:
    """The largest number of each series, `(row,)`."""
    return -lowest(-series)


def slope(series: Array) -> Array:
    """The slope of the line of least squares through each series, per step, `(row,)`."""
    known = ~np.isnan(series)
    steps = np.where(known, np.arange(series.shape[1], dtype=np.float64), np.nan)
    centred = steps - mean(steps)[:, None]
    products = np.nansum(centred * (series - mean(series)[:, None]), axis=1)
    return np.where(known.any(axis=1), _divided(products, np.nansum(centred**2, axis=1), 0.0), np.nan)


def roughness(series: Array) -> Array:
    """The mean absolute change from one step to the next of each series, `(row,)`; 0 for a single number."""
    changes = np.abs(np.diff(series, axis=1))
    return np.where(
        np.isnan(series).all(axis=1),
        np.nan,
        np.nan_to_num(mean(changes) if changes.shape[1] else np.zeros(len(series))),
    )


def peaks(series: Array) -> Array:
    """How often each series rises half a standard deviation above its mean after it was below its mean, `(row,)`."""
    scale = deviation(series)[:, None]
    centred = series - mean(series)[:, None]
    high, low = centred > 0.5 * scale, centred < 0.0
    counts, is_high = np.zeros(len(series)), np.zeros(len(series), dtype=bool)
    for step in range(series.shape[1]):
        rises = high[:, step] & ~is_high
        counts += rises
        is_high = (is_high | rises) & ~low[:, step]
    return np.where(np.isnan(series).all(axis=1), np.nan, counts)


def share_above(series: Array, level: float) -> Array:
    """The share of the numbers of each series above a level, `(row,)`."""
    known = (~np.isnan(series)).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return _divided((series > level).sum(axis=1), known)


def _divided(dividend: Array, divisor: Array, otherwise: float = np.nan) -> Array:
    quotient: Array = np.divide(dividend, divisor, out=np.full(len(dividend), otherwise), where=divisor != 0)
    return quotient


def channels_of(kind: Series) -> Sequence[int]:
    """The numbers of the channels of a series, from 1."""
    return range(1, kind.shape[0] + 1)
