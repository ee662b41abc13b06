"""NSIL's E9P: two digits, and the second of them, or 9 more where the first is odd, as the class."""

from __future__ import annotations

import csv
import io

import numpy as np
import numpy.typing as npt

from experiments.datasets.files import damage_in, local
from experiments.datasets.images import mnist
from experiments.datasets.problem import Labelled, Problem, Rules, TrueValues
from neuid3.data.examples import Examples
from neuid3.errors import DamagedFileError, DataError, did_you_mean

PARTS = ("train", "validation", "test")
COLUMNS = ("digit_1", "digit_2", "label")
IMAGES = ("first", "second")
ROWS_FROM = "its rows are those of github.com/DanCunnington/NSIL, see docs/datasets.md"

# The fraction of the training and of the validation rows, by setting.
FRACTIONS = {"100": 1.0, "10": 0.1, "5": 0.05}

BACKGROUND = """
nn(digit_net, [Image], D, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) :: digit(Image, D).
even(Image) :- digit(Image, D), 0 =:= D mod 2.
less(A, B) :- digit(A, X), digit(B, Y), X < Y.
equal(A, B) :- digit(A, D), digit(B, D).
sum(A, B, S) :- digit(A, X), digit(B, Y), S is X + Y.
add(Image, K, S) :- digit(Image, D), S is D + K.
"""
# What one would try without knowing the rule: properties and values of each digit, comparisons of both; and as leaves a
# digit, both together, or a digit and a constant.
TESTS = (
    *(f"even({image})" for image in IMAGES),
    "less(first, second)",
    "less(second, first)",
    "equal(first, second)",
    *(f"digit({image}, {value})" for image in IMAGES for value in range(10)),
)
LEAVES = (
    *(f"digit({image}, Y)" for image in IMAGES),
    "sum(first, second, Y)",
    *(f"add({image}, {constant}, Y)" for image in IMAGES for constant in range(1, 11)),
)
RULES = Rules(BACKGROUND, TESTS, LEAVES)


def e9p(setting: str) -> Problem:
    """Rows of two digits, "first" and "second": the class is the second digit, and 9 more where the first is odd.

    The rows are NSIL's and the same for every seed; of fewer than all, the first ones are taken.

    Parameters
    ----------
    setting : the percentage of the training and validation rows, "100", "10" or "5".

    Returns
    -------
    The problem, with the true values of all test images.
    """
    if setting not in FRACTIONS:
        raise DataError(f"There are no {setting!r} per cent of the rows of E9P.{did_you_mean(setting, FRACTIONS)}")
    (train, _), (validation, _), (test, values) = (_rows(part, FRACTIONS[setting]) for part in PARTS)
    return Problem(train, validation, test, shown=TrueValues(test[0], values))


def row_file(part: str) -> str:
    """The name of the file of rows."""
    return f"nsil/e9p/{part}.csv"


def _rows(part: str, fraction: float) -> tuple[Labelled, dict[str, npt.NDArray[np.int64]]]:
    """The examples and classes of a part, and the true values of its images."""
    path = local(row_file(part), ROWS_FROM)
    images, digits = mnist("test" if part == "test" else "train")
    with damage_in(path):
        table = _numbers(path.read_bytes())
        if table[:, :2].max(initial=0) >= len(images):
            raise DamagedFileError(f"it names an image beyond the {len(images):,} of the file")
    if part != "test":
        table = table[: round(fraction * len(table))]
    first, second, classes = table.T
    values = {"digit(first)": digits[first], "digit(second)": digits[second]}
    return (Examples({"first": images[first], "second": images[second]}), classes), values


def _numbers(content: bytes) -> npt.NDArray[np.int64]:
    """The rows of a table of whole numbers from 0, `(row, column)`."""
    try:
        header, *rows = csv.reader(io.StringIO(content.decode()))
        table = np.array(rows, dtype=np.int64).reshape(len(rows), len(header))
    except ValueError as error:
        raise DamagedFileError(f"it is no table of whole numbers ({error})") from None
    if tuple(header) != COLUMNS or not len(rows) or table.min() < 0:
        raise DamagedFileError(f"it does not have the columns {', '.join(COLUMNS)}, or no rows, or a negative number")
    return table
