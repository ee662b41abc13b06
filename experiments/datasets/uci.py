"""UCI tables: named columns and a target, without rows with missing values."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from experiments.datasets.files import Official, damage_in, find, locate
from experiments.datasets.tables import UCI, UCI_URL, TableSpec, plain
from neuid3.errors import DamagedFileError, DataError, did_you_mean

Rows: TypeAlias = list[tuple[str, ...]]

# These come with scikit-learn and need neither folder nor download.
BUNDLED = ("iris", "wine")


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns by name (numbers are float arrays, categories arrays of str) and the class of every row."""

    name: str
    columns: Mapping[str, npt.NDArray[Any]]
    target: npt.NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.target)

    @property
    def positive(self) -> str:
        """The most frequent class; of several, the first in sort order."""
        classes, counts = np.unique(self.target, return_counts=True)
        return str(classes[counts.argmax()])

    @property
    def labels(self) -> npt.NDArray[np.str_]:
        """`positive` for the most frequent class, `negative` for all others."""
        return np.where(self.target == self.positive, "positive", "negative")


def spec_of(name: str) -> TableSpec:
    if name not in UCI:
        raise DataError(f"There is no table {name!r}.{did_you_mean(name, UCI)}")
    return UCI[name]


def uci_table(name: str, base: str = UCI_URL) -> Table:
    """A table of the UCI repository without rows with missing values; downloaded from `base` if there is no file.

    iris and wine also come with scikit-learn, whose copy is used if no file is found. Its wine is the same; its iris
    has two corrected rows (35 and 38, which UCI's file has always had wrong), so cuts may differ a little.
    """
    spec = spec_of(name)
    if name in BUNDLED and find(spec.file) is None:
        return _table(spec, _bundled(name))
    path = locate(spec.file, Official(f"{base}/{spec.source}", lambda raw: {spec.file: converted(raw, spec)}))
    return _read(path, spec)


@cache
def _read(path: Path, spec: TableSpec) -> Table:
    with damage_in(path):
        return _table(spec, _verified(parse(path.read_bytes(), spec), spec))


def parse(content: bytes, spec: TableSpec) -> Rows:
    """The rows of our own CSV: a header, inputs in order, then the class; missing values are empty."""
    header, *rows = list(csv.reader(io.StringIO(_text(content)))) or [[]]
    if tuple(plain(column) for column in header) != (*spec.inputs, "class"):
        raise DamagedFileError(f"its header does not name the {len(spec.inputs)} columns and the class of {spec.name}")
    return _checked(rows, spec)


def converted(raw: Path, spec: TableSpec) -> bytes:
    """The official file as our own CSV."""
    lines = [line.strip() for line in _text(raw.read_bytes()).splitlines() if line.strip()]
    fields = [[field.strip() for field in line.split(spec.delimiter)] for line in lines[spec.header :]]
    _checked(fields, spec, len(spec.columns))
    order = [spec.columns.index(column) for column in (*spec.inputs, "class")]
    rows: Rows = [tuple("" if row[index] == "?" else row[index] for index in order) for row in fields]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([(*spec.inputs, "class"), *_verified(rows, spec)])
    return text.getvalue().encode()


def _verified(rows: Rows, spec: TableSpec) -> Rows:
    """The rows, if their digest is that of the table in our results; a single changed value is an error."""
    if digest(rows, spec) != spec.digest:
        raise DamagedFileError(f"its rows are not those of {spec.name} as we know it")
    return rows


def digest(rows: Rows, spec: TableSpec) -> str:
    """A checksum of the values, independent of the order of rows and of the notation of numbers."""
    contents = sorted(repr(tuple(map(str, _values(row, spec)))) for row in rows)
    return hashlib.sha256("\n".join(contents).encode()).hexdigest()[:16]


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise DamagedFileError(f"it is not text ({error})") from None


def _checked(rows: Sequence[Sequence[str]], spec: TableSpec, width: int | None = None) -> Rows:
    width = len(spec.inputs) + 1 if width is None else width
    if len(rows) != spec.rows:
        raise DamagedFileError(f"it has {len(rows)} rows instead of {spec.rows}")
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise DamagedFileError(f"row {number} has {len(row)} fields instead of {width}")
    return [tuple(row) for row in rows]


def _values(row: Sequence[str], spec: TableSpec) -> list[str | float]:
    """The fields of one row, those of numeric columns as floats."""
    named = zip((*spec.inputs, "class"), row, strict=True)
    try:
        return [float(field) if column in spec.numbers and field else field for column, field in named]
    except ValueError as error:
        raise DamagedFileError(f"a number is none ({error})") from None


def _table(spec: TableSpec, rows: Rows) -> Table:
    complete = [_values(row, spec) for row in rows if all(row)]
    *columns, target = zip(*complete, strict=True)
    named = zip(spec.inputs, columns, strict=True)
    read = {name: np.array(column, dtype=float if name in spec.numbers else str) for name, column in named}
    classes = np.array(target, dtype=str)
    for array in (*read.values(), classes):
        array.flags.writeable = False  # the table is read once and shared
    return Table(spec.name, read, classes)


def _bundled(name: str) -> Rows:
    from sklearn.datasets import load_iris, load_wine

    loaded = load_iris() if name == "iris" else load_wine()
    classes = [f"Iris-{kind}" for kind in loaded.target_names] if name == "iris" else ["1", "2", "3"]
    pairs = zip(loaded.data, loaded.target, strict=True)
    return [(*map(str, row.tolist()), classes[label]) for row, label in pairs]
