"""Which cells does a file hold? CSV in its dialects, or Parquet, as named columns of text."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from neuid3.data.columns import is_absent
from neuid3.data.examples import named_columns
from neuid3.errors import DamagedFileError, DataError, MissingFileError, MissingPackageError
from neuid3.utils.files import read_file

DELIMITERS = ",;\t|"

# What people and programs write where there is nothing to be written.
MISSING = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "null", "NULL", "Null", "<NA>", "?"}
)  # not "None", which often is a value


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Named columns of text, all of one length.

    `lines` says in which line of the file each row begins, where the file has lines. `commas` is whether 1,5 may be a
    number. A column that is None holds what text cannot say, such as lists.
    """

    path: Path
    columns: Mapping[str, Sequence[str] | None]
    lines: Sequence[int] | None
    commas: bool

    def __len__(self) -> int:
        return next((len(cells) for cells in self.columns.values() if cells is not None), 0)

    def place(self, row: int) -> str:
        """How we tell people where a row is.

        >>> Sheet(Path("cards.csv"), {"suit": ["clubs"]}, [2], False).place(0)
        'cards.csv, line 2'
        """
        where = f"row {row} (counted from 0)" if self.lines is None else f"line {self.lines[row]}"
        return f"{self.path.name}, {where}"

    def only(self, rows: Sequence[int]) -> Sheet:
        """The same sheet with these rows only."""
        columns = {name: cells and [cells[row] for row in rows] for name, cells in self.columns.items()}
        return Sheet(self.path, columns, self.lines and [self.lines[row] for row in rows], self.commas)


def open_sheet(path: Path | str) -> Sheet:
    """All cells of a CSV or Parquet file, stripped of spaces around them."""
    path = Path(path)
    content = read_file(path, "table")
    sheet = _parquet(path) if content.startswith(b"PAR1") else _csv(path, _text(path, content))
    if not len(sheet):
        raise DamagedFileError(f"{path} names columns and has no rows; add some.")
    return sheet


def frame_sheet(frame: Any, folder: Path | str) -> Sheet:
    """The cells of a DataFrame as text; paths in it start at `folder`."""
    folder = Path(folder)
    if not folder.is_dir():
        raise MissingFileError(f"{folder} is no folder; give the one where the paths of images start.")
    columns = {name: _cells(values) for name, values in named_columns(frame).items()}
    lengths = {name: len(cells) for name, cells in columns.items() if cells is not None}
    if len(set(lengths.values())) > 1 or not any(lengths.values()):
        raise DataError(f"The columns have {sorted(set(lengths.values()))} rows; give all one length, and some rows.")
    return Sheet(folder / "DataFrame", columns, None, commas=False)


def _cells(values: Any) -> list[str] | None:
    """The entries of a column as text; None where an entry is neither text nor a number nor a truth value."""
    cells = []
    for entry in values:
        plain = entry.item() if isinstance(entry, np.generic) else entry
        if is_absent(plain):
            cells.append("")
        elif isinstance(plain, (bool, int, float)):
            cells.append(repr(plain))
        elif isinstance(plain, str):
            cells.append(plain.strip())
        else:
            return None
    return cells


# CSV ------------------------------------------------------------------------------------------------


def _text(path: Path, content: bytes) -> str:
    encoding = "utf-16" if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    if encoding == "utf-8-sig" and b"\0" in content:
        raise DamagedFileError(f"{path} is no table of text; give a CSV or Parquet file.")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DamagedFileError(
            f"{path} is not UTF-8 text (byte 0x{content[error.start]:02x} in line {line}); save it as UTF-8."
        ) from None


def _csv(path: Path, text: str) -> Sheet:
    with _cells_as_long_as(text):
        delimiter = _delimiter(text)
        lines: list[int] = []
        rows: list[list[str]] = []
        for line, row in _rows(path, text, delimiter):
            if rows and len(row) != len(rows[0]):
                raise DamagedFileError(
                    f"{path.name}, line {line}: {len(row)} cells, and the first line names {len(rows[0])} columns; "
                    f"a cell with {_spoken(delimiter)} in it must stand in quotes."
                )
            lines.append(line)
            rows.append(row)
    if not rows or not text.strip():
        raise DamagedFileError(f"{path} is empty; give a table whose first line names its columns.")
    header, *body = rows
    names = checked_names([name.strip() for name in header], path)
    columns = zip(*body, strict=True) if body else [()] * len(names)
    cells = {name: [cell.strip() for cell in column] for name, column in zip(names, columns, strict=True)}
    return Sheet(path, cells, lines[1:], commas=delimiter != ",")


@contextmanager
def _cells_as_long_as(text: str) -> Iterator[None]:
    """Let a cell be as long as the whole text; Python's own limit is 131,072 characters, and it is one for all readers."""
    before = csv.field_size_limit()
    csv.field_size_limit(max(before, min(len(text), 2**31 - 1)))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _delimiter(text: str) -> str:
    """The separator that gives the first rows one width, the widest; where none does, the first row decides."""

    def width(delimiter: str) -> tuple[bool, int]:
        try:
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
            widths = [len(row) for row in islice(filter(None, rows), 20)]
        except csv.Error:
            widths = []
        return (len(set(widths)) == 1 and widths[0] > 1, widths[0]) if widths else (False, 0)

    return max(DELIMITERS, key=width)


def _rows(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not blank, with the line it begins in; a cell in quotes may go over several."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
    line = 1
    try:
        for row in reader:
            if row:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise DamagedFileError(
            f"{path.name}, line {line}: the quotes do not add up ({error}); close them, or double those inside a cell."
        ) from None


def _spoken(delimiter: str) -> str:
    return "a tab" if delimiter == "\t" else repr(delimiter)


def checked_names(names: list[str], path: Path) -> list[str]:
    seen: set[str] = set()
    for number, name in enumerate(names, start=1):
        if not name:
            raise DamagedFileError(
                f"{path}: column {number} has no name in the first line; name it, or delete it "
                "(in pandas: to_csv(…, index=False))."
            )
        if name in seen:
            raise DamagedFileError(f"{path}: two columns are called {name!r}; rename one of them.")
        seen.add(name)
        if _is_fraction(name):
            raise DamagedFileError(f"{path}: the first line has {name!r} in it; it must name the columns.")
    return names


def _is_fraction(name: str) -> bool:
    whole, dot, part = name.lstrip("-").partition(".")
    return bool(dot) and whole.isdecimal() and part.isdecimal()


# Parquet --------------------------------------------------------------------------------------------


def _parquet(path: Path) -> Sheet:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise MissingPackageError('Parquet files need pyarrow: pip install "neuid3[tables]".') from None
    try:
        table = parquet.read_table(path)
    except (OSError, arrow.ArrowException) as error:
        raise DamagedFileError(f"{path} is a damaged Parquet file ({' '.join(str(error).split())[:200]}).") from None
    try:
        names = checked_names(list(table.column_names), path)
    except UnicodeDecodeError:
        raise DamagedFileError(f"{path} has a column whose name is not UTF-8 text; rename it.") from None
    columns = {}
    for number, name in enumerate(names):
        try:
            columns[name] = _said(table.column(number), arrow)
        except UnicodeDecodeError:
            raise DamagedFileError(
                f"{path}: column {name!r} holds strings that are not UTF-8 text; write them as UTF-8, or leave it out."
            ) from None
    return Sheet(path, columns, None, commas=False)


def _said(column: Any, arrow: Any) -> list[str] | None:
    """A column in words; None where arrow has no words for it."""
    try:
        cells = column.cast(arrow.string()).to_pylist()
    except arrow.ArrowException:
        return None
    return ["" if cell is None else cell.strip() for cell in cells]
