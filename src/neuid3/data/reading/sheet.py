"""Tables of text cells, read from CSV files, Parquet files and DataFrames."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np

from neuid3.data.columns import is_missing
from neuid3.data.examples import named_columns
from neuid3.errors import DamagedFileError, DataError, MissingFileError, MissingPackageError
from neuid3.utils.files import read_file

DELIMITERS = ",;\t|"

# Spellings of a missing cell.
MISSING = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "null", "NULL", "Null", "<NA>", "NaT", "?"}
)  # not "None", which often is a value


@dataclass(frozen=True, slots=True, eq=False)
class AttachedTables:
    """The tables of parts and relations that belong to a table of examples.

    Attributes
    ----------
    parts : for each type of part its table, and the column of it that names the owner.
    relations : the table of tuples of each relation.
    """

    parts: Mapping[str, tuple[TextTable, str]]
    relations: Mapping[str, TextTable]


@dataclass(frozen=True, slots=True)
class TextTable:
    """Named columns of text cells, all of one length.

    Attributes
    ----------
    path : the file that the table was read from.
    columns : the cells of each column by its name; None where they have no text form, such as lists.
    lines : the line of the file in which each row begins; None for files without lines.
    commas : whether `1,5` may be a number.
    attached : the tables of the parts that rows own; None without any.
    """

    path: Path
    columns: Mapping[str, Sequence[str] | None]
    lines: Sequence[int] | None
    commas: bool
    attached: AttachedTables | None = None

    def __len__(self) -> int:
        return next((len(cells) for cells in self.columns.values() if cells is not None), 0)

    def location(self, row: int) -> str:
        """The position of a row, for error messages.

        Parameters
        ----------
        row : the row, counted from 0.

        Returns
        -------
        The file name with the line or the row.

        >>> TextTable(Path("cards.csv"), {"suit": ["clubs"]}, [2], False).location(0)
        'cards.csv, line 2'
        """
        where = f"row {row} (counted from 0)" if self.lines is None else f"line {self.lines[row]}"
        return f"{self.path.name}, {where}"

    def take(self, rows: Sequence[int]) -> TextTable:
        """The table restricted to these rows.

        Parameters
        ----------
        rows : row indices.

        Returns
        -------
        The table of these rows.
        """
        columns = {name: cells and [cells[row] for row in rows] for name, cells in self.columns.items()}
        lines = self.lines and [self.lines[row] for row in rows]
        return TextTable(self.path, columns, lines, self.commas, self.attached)


def path_inside(folder: Path, cell: str) -> Path | None:
    """The file that a cell names, with separators of any platform; None where the path leads out of the folder."""
    parts = PurePosixPath(cell.replace("\\", "/")).parts
    is_outside = PurePosixPath(cell).is_absolute() or bool(PureWindowsPath(cell).anchor) or ".." in parts
    return None if is_outside else folder.joinpath(*parts)


def open_text_table(path: Path | str, *, may_be_empty: bool = False) -> TextTable:
    """All cells of a CSV or Parquet file, without surrounding white space.

    Parameters
    ----------
    path : the file; its content, not its name, decides how it is read.
    may_be_empty : whether a table may have no row.

    Returns
    -------
    The table.

    Raises
    ------
    MissingFileError, UnreadableFileError, DamagedFileError
        Where the file is missing, unreadable or no table, or has no row.
    """
    path = Path(path)
    content = read_file(path, "table")
    table = _read_parquet(path) if content.startswith(b"PAR1") else _read_csv(path, _decode(path, content))
    if not len(table) and not may_be_empty:
        raise DamagedFileError(f"{path} names columns and has no rows; add some.")
    return table


def text_table_from_frame(frame: Any, folder: Path | str) -> TextTable:
    """The cells of a DataFrame as text; image paths in it are relative to `folder`."""
    folder = Path(folder)
    if not folder.is_dir():
        raise MissingFileError(f"{folder} is not a folder; give the folder that image paths are relative to.")
    columns = {name: _cells(values) for name, values in named_columns(frame).items()}
    lengths = {name: len(cells) for name, cells in columns.items() if cells is not None}
    if len(set(lengths.values())) > 1 or not any(lengths.values()):
        raise DataError(
            f"The columns have {sorted(set(lengths.values()))} rows; give all of them the same length, at least 1."
        )
    return TextTable(folder / "DataFrame", columns, None, commas=False)


def _cells(values: Any) -> list[str] | None:
    """The entries of a column as text, lists as `[70, 72.5]`, durations in days; None where an entry has no text form."""
    cells = []
    for entry in values:
        plain = _plain(entry)
        if is_missing(plain):
            cells.append("")
        elif isinstance(plain, (bool, int, float)):
            cells.append(repr(plain))
        elif isinstance(plain, str):
            cells.append(plain.strip())
        elif isinstance(plain, date):
            cells.append(plain.isoformat())
        elif isinstance(plain, timedelta):
            cells.append(repr(plain / timedelta(days=1)))
        elif isinstance(plain, (list, tuple, np.ndarray)):
            cells.append(json.dumps(np.asarray(plain).tolist()).replace("NaN", "null"))
        else:
            return None
    return cells


def _plain(entry: Any) -> Any:
    """An entry as Python's type; NumPy has whole numbers in place of times of nanoseconds."""
    if isinstance(entry, (np.datetime64, np.timedelta64)) and not np.isnat(entry):
        entry = entry.astype(f"{entry.dtype.kind}8[us]")
    return entry.item() if isinstance(entry, np.generic) else entry


# CSV ------------------------------------------------------------------------------------------------


def _decode(path: Path, content: bytes) -> str:
    encoding = "utf-16" if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    if encoding == "utf-8-sig" and b"\0" in content:
        raise DamagedFileError(f"{path} is not a text table; give a CSV or Parquet file.")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DamagedFileError(
            f"{path} is not UTF-8 text (byte 0x{content[error.start]:02x} in line {line}); save it as UTF-8."
        ) from None


def _read_csv(path: Path, text: str) -> TextTable:
    with _field_size_limit(len(text)):
        delimiter = _delimiter(text)
        lines: list[int] = []
        rows: list[list[str]] = []
        for line, row in _rows(path, text, delimiter):
            if rows and len(row) != len(rows[0]):
                raise DamagedFileError(
                    f"{path.name}, line {line}: {len(row)} cells, but the first line names {len(rows[0])} columns; "
                    f"put cells that contain {_delimiter_name(delimiter)} in quotes."
                )
            lines.append(line)
            rows.append(row)
    if not rows or not text.strip():
        raise DamagedFileError(f"{path} is empty; give a table whose first line names its columns.")
    header, *body = rows
    names = checked_names([name.strip() for name in header], path)
    columns = zip(*body, strict=True) if body else [()] * len(names)
    cells = {name: [cell.strip() for cell in column] for name, column in zip(names, columns, strict=True)}
    return TextTable(path, cells, lines[1:], commas=delimiter != ",")


@contextmanager
def _field_size_limit(characters: int) -> Iterator[None]:
    """Raise the limit of the csv module, 131,072 characters a cell, to at least this many; it is global to the process."""
    before = csv.field_size_limit()
    csv.field_size_limit(max(before, min(characters, 2**31 - 1)))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _delimiter(text: str) -> str:
    """The separator that splits the first rows into most cells of equal number; where none does, the first row decides."""

    def width(delimiter: str) -> tuple[bool, int]:
        try:
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
            widths = [len(row) for row in islice(filter(None, rows), 20)]
        except csv.Error:
            widths = []
        return (len(set(widths)) == 1 and widths[0] > 1, widths[0]) if widths else (False, 0)

    return max(DELIMITERS, key=width)


def _rows(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not blank, with the line in which it begins; a quoted cell may span several lines."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
    line = 1
    try:
        for row in reader:
            if row:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise DamagedFileError(
            f"{path.name}, line {line}: the quotes are unbalanced ({error}); close them, or double those inside a cell."
        ) from None


def _delimiter_name(delimiter: str) -> str:
    return "a tab" if delimiter == "\t" else repr(delimiter)


def checked_names(names: list[str], path: Path) -> list[str]:
    """The column names of a file; missing, repeated and numeric ones are refused."""
    seen: set[str] = set()
    for number, name in enumerate(names, start=1):
        if not name:
            raise DamagedFileError(
                f"{path}: column {number} has no name in the first line; name it, or delete it "
                "(in pandas: to_csv(…, index=False))."
            )
        if name in seen:
            raise DamagedFileError(f"{path}: two columns are named {name!r}; rename one of them.")
        seen.add(name)
        if _is_fraction(name):
            raise DamagedFileError(f"{path}: the first line contains {name!r}; it must name the columns.")
    return names


def _is_fraction(name: str) -> bool:
    whole, dot, part = name.lstrip("-").partition(".")
    return bool(dot) and whole.isdecimal() and part.isdecimal()


# Parquet --------------------------------------------------------------------------------------------


def _read_parquet(path: Path) -> TextTable:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise MissingPackageError('Parquet files need pyarrow: pip install "neuid3[tables]".') from None
    try:
        arrow_table = parquet.read_table(path)
    except (OSError, arrow.ArrowException) as error:
        raise DamagedFileError(f"{path} is a damaged Parquet file ({' '.join(str(error).split())[:200]}).") from None
    try:
        names = checked_names(list(arrow_table.column_names), path)
    except UnicodeDecodeError:
        raise DamagedFileError(f"{path} has a column whose name is not UTF-8 text; rename it.") from None
    columns = {}
    for number, name in enumerate(names):
        try:
            columns[name] = _cells_as_text(arrow_table.column(number), arrow)
        except UnicodeDecodeError:
            raise DamagedFileError(
                f"{path}: column {name!r} holds strings that are not UTF-8 text; write them as UTF-8, or leave it out."
            ) from None
    return TextTable(path, columns, None, commas=False)


def _cells_as_text(column: Any, arrow: Any) -> list[str] | None:
    """The cells of an Arrow column as text, lists as `[70, 72.5]`, durations in days; None where there is no text form."""
    types = arrow.types
    if types.is_list(column.type) or types.is_large_list(column.type) or types.is_fixed_size_list(column.type):
        try:
            return ["" if cell is None else json.dumps(cell).replace("NaN", "null") for cell in column.to_pylist()]
        except TypeError:  # lists of something else than numbers and text
            return None
    if types.is_duration(column.type):
        ticks = column.cast(arrow.duration("us"), safe=False).cast(arrow.int64()).to_pylist()
        return ["" if tick is None else repr(timedelta(microseconds=tick) / timedelta(days=1)) for tick in ticks]
    try:
        cells = column.cast(arrow.string()).to_pylist()
    except arrow.ArrowException:
        return None
    return ["" if cell is None else cell.strip() for cell in cells]
