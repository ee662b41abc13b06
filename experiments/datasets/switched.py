"""Sums and products of two digits: a Boolean column says which of them the number is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from experiments.datasets.images import Images, Labels, mnist
from experiments.datasets.problem import Labelled, Problem, Rules, TrueValues
from neuid3.data.examples import Examples

ROWS = {"train": 5000, "validation": 1000, "test": 2000}
IMAGES = ("first", "second")

BACKGROUND = """
nn(digit_net, [Image], D, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) :: digit(Image, D).
even(Image) :- digit(Image, D), 0 =:= D mod 2.
less(A, B) :- digit(A, X), digit(B, Y), X < Y.
sum(A, B, S) :- digit(A, X), digit(B, Y), S is X + Y.
difference(A, B, S) :- digit(A, X), digit(B, Y), S is X - Y.
product(A, B, S) :- digit(A, X), digit(B, Y), S is X * Y.
"""
# What one would try without knowing the rule: the column, properties of the digits, and as leaves a digit or one of three
# operations on both.
TESTS = ("switch", "even(first)", "even(second)", "less(first, second)", "less(second, first)")
LEAVES = (
    *(f"digit({image}, Y)" for image in IMAGES),
    "sum(first, second, Y)",
    "difference(first, second, Y)",
    "product(first, second, Y)",
)
RULES = Rules(BACKGROUND, TESTS, LEAVES)


def switched(seed: int) -> Problem:
    """Rows of two digits, "first" and "second", and the Boolean "switch": the number is their product where it is true.

    Training and validation rows have MNIST's training images and share none; test rows have its test images.

    Parameters
    ----------
    seed : which images are drawn.

    Returns
    -------
    The problem, with the true values of all test images.
    """
    rng = np.random.default_rng([seed, 9])
    images, digits = mnist("train")
    order = rng.permutation(len(images))
    held_out = len(images) // 6
    train, _ = _rows(images, digits, order[held_out:], "train", rng)
    validation, _ = _rows(images, digits, order[:held_out], "validation", rng)
    images, digits = mnist("test")
    test, values = _rows(images, digits, np.arange(len(images)), "test", rng)
    return Problem(train, validation, test, shown=TrueValues(test[0], values))


def _rows(
    images: Images, digits: Labels, available: npt.NDArray[np.int64], part: str, rng: np.random.Generator
) -> tuple[Labelled, dict[str, npt.NDArray[np.int64]]]:
    """The examples and numbers of a part, and the true values of its images."""
    first, second = rng.choice(available, (2, ROWS[part]))
    switch = rng.random(ROWS[part]) < 0.5
    one, other = digits[first].astype(np.int64), digits[second].astype(np.int64)
    numbers = np.where(switch, one * other, one + other).astype(np.float64)
    examples = Examples({"first": images[first], "second": images[second], "switch": switch})
    return (examples, numbers), {"digit(first)": one, "digit(second)": other}
