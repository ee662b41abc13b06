"""MNIST-EvenOdd: the sum of two digits is known for eight pairs, and says little about the digits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from experiments.datasets.images import Images, Labels, mnist
from experiments.datasets.problem import Labelled, Problem, Rules, TrueValues, one_label_per_value
from neuid3.data.examples import Examples
from neuid3.errors import DataError

PAIRS = ((0, 6), (2, 8), (4, 6), (4, 8), (1, 5), (3, 7), (1, 9), (3, 9))  # in both orders
SUMS = tuple(sorted({sum(pair) for pair in PAIRS}))

# 6,720, 1,920 and 960 rows: the pairs' share of rsbench's 42,000, 12,000 and 6,000 pairs of digits.
ROWS_PER_PAIR = {"train": 420, "validation": 120, "test": 60}
DRAWN_PAIRS = 10_000

BACKGROUND = """
nn(digit_net, [Image], D, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) :: digit(Image, D).
sum(A, B, S) :- digit(A, X), digit(B, Y), S is X + Y.
"""
TESTS = tuple(f"sum(first, second, {total})" for total in SUMS)
RULES = Rules(BACKGROUND, TESTS)


def even_odd(seed: int) -> Problem:
    """Rows of two digits, "first" and "second", with their sum as the class, and a label for one image of each digit.

    Rows are sixteen ordered pairs of digits, equally often. Training and validation rows have MNIST's training images and
    share none; test rows have its test images. So have the pairs with known values, which are drawn from all pairs of
    images.

    Parameters
    ----------
    seed : which images are drawn, and the order of rows.

    Returns
    -------
    The problem.
    """
    rng = np.random.default_rng([seed, len(PAIRS)])
    images, digits = mnist("train")
    held_out = _every_seventh(digits)
    train, (first, _) = _rows(images, digits, np.flatnonzero(~held_out), "train", rng)
    validation, _ = _rows(images, digits, np.flatnonzero(held_out), "validation", rng)
    images, digits = mnist("test")
    test, _ = _rows(images, digits, np.arange(len(digits)), "test", rng)
    drawn = rng.integers(0, len(digits), (2, DRAWN_PAIRS))
    shown = TrueValues(
        Examples({"first": images[drawn[0]], "second": images[drawn[1]]}),
        {"digit(first)": digits[drawn[0]], "digit(second)": digits[drawn[1]]},
    )
    return Problem(train, validation, test, {"digit(first)": one_label_per_value(first)}, shown)


def _every_seventh(digits: Labels) -> npt.NDArray[np.bool_]:
    """The images of validation rows: every seventh of each digit."""
    held_out = np.zeros(len(digits), dtype=bool)
    for digit in range(10):
        held_out[np.flatnonzero(digits == digit)[::7]] = True
    return held_out


def _rows(
    images: Images, digits: Labels, available: npt.NDArray[np.int64], part: str, rng: np.random.Generator
) -> tuple[Labelled, tuple[Labels, Labels]]:
    """The examples of a part with their classes, and the digits of the first and second images."""
    ordered = np.array([*PAIRS, *(pair[::-1] for pair in PAIRS)])
    wanted = rng.permutation(np.repeat(ordered, ROWS_PER_PAIR[part], axis=0))  # (row, first or second)
    chosen = np.empty_like(wanted)
    for digit in range(10):
        rows = available[digits[available] == digit]
        if not len(rows):
            raise DataError(f"There is no image of digit {digit} for the {part} rows; the files hold too few images.")
        chosen[wanted == digit] = rng.choice(rows, int((wanted == digit).sum()))
    examples = Examples({"first": images[chosen[:, 0]], "second": images[chosen[:, 1]]})
    return (examples, wanted.sum(axis=1).astype(str)), (wanted[:, 0], wanted[:, 1])
