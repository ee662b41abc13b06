"""NSIL's hitting sets: four images and a template that says how they form sets."""

from __future__ import annotations

import csv
import io
from itertools import combinations

import numpy as np
import numpy.typing as npt

from experiments.datasets.files import damage_in, local
from experiments.datasets.images import fashion_mnist, mnist
from experiments.datasets.problem import Labelled, Problem, Rules, TrueValues
from neuid3.data.examples import Examples
from neuid3.errors import DamagedFileError, DataError, did_you_mean

VALUES = range(1, 6)
IMAGES = ("i1", "i2", "i3", "i4")
TEMPLATES = 8
PARTS = ("train", "validation", "test")
HIT, MISS = "hit", "miss"

# The images and the files of rows, by name of the problem.
SOURCES = {"mnist": (mnist, "mnist"), "fashion": (fashion_mnist, "fashion_mnist")}
ROWS_FROM = "its rows are those of github.com/DanCunnington/NSIL, see docs/datasets.md"

BACKGROUND = """
nn(net, [Image], V, [1, 2, 3, 4, 5]) :: shows(Image, V).
same(A, B) :- shows(A, V), shows(B, V).
"""
TESTS = (
    *(f"template(t{number})" for number in range(TEMPLATES)),
    *(f"same({one}, {other})" for one, other in combinations(IMAGES, 2)),
    *(f"shows({image}, {value})" for image in IMAGES for value in VALUES),
)
RULES = Rules(BACKGROUND, TESTS)


def hitting_sets(name: str) -> Problem:
    """Rows of four images, "i1" to "i4", and the category "template": is there a set of at most two elements that meets all sets?

    Images show the values 1 to 5. The rows of the three parts are NSIL's and the same for every seed.

    Parameters
    ----------
    name : "mnist" or "fashion".

    Returns
    -------
    The problem, with the true values of all test images.
    """
    if name not in SOURCES:
        raise DataError(f"There are no hitting sets of {name!r}.{did_you_mean(name, SOURCES)}")
    (train, _), (validation, _), (test, values) = (_rows(name, part) for part in PARTS)
    return Problem(train, validation, test, shown=TrueValues(test[0], values))


def row_file(name: str, part: str) -> str:
    """The name of the file of rows."""
    return f"nsil/hs/{SOURCES[name][1]}_{part}.csv"


def _rows(name: str, part: str) -> tuple[Labelled, dict[str, npt.NDArray[np.int64]]]:
    """The examples and classes of a part, and the true values of its images."""
    path = local(row_file(name, part), ROWS_FROM)
    images, labels = SOURCES[name][0]("test" if part == "test" else "train")
    listed = np.flatnonzero(np.isin(labels, VALUES))  # rows name positions in this list, in the order of the file
    with damage_in(path):
        table = _numbers(path.read_bytes())
        if any(table[column].max(initial=0) >= len(listed) for column in IMAGES):
            raise DamagedFileError(f"it names an image beyond the {len(listed):,} with labels 1 to 5")
    chosen = {column: listed[table[column]] for column in IMAGES}
    columns = {column: images[rows] for column, rows in chosen.items()}
    template = np.char.add("t", table["template"].astype(str))
    classes = np.where(table["label"] == 1, HIT, MISS)
    values = {f"shows({column})": labels[rows] for column, rows in chosen.items()}
    return (Examples({**columns, "template": template}), classes), values


def _numbers(content: bytes) -> dict[str, npt.NDArray[np.int64]]:
    """The columns of a table of whole numbers from 0."""
    try:
        header, *rows = csv.reader(io.StringIO(content.decode()))
        table = np.array(rows, dtype=np.int64).reshape(len(rows), len(header))
    except ValueError as error:
        raise DamagedFileError(f"it is no table of whole numbers ({error})") from None
    missing = {*IMAGES, "label", "template"} - set(header)
    if missing or not len(rows) or table.min() < 0:
        reason = f"it has no column {min(missing)!r}" if missing else "it has no rows, or a negative number"
        raise DamagedFileError(reason)
    return dict(zip(header, table.T, strict=True))
