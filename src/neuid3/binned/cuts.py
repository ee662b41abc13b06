"""Thresholds between two neighbouring numbers."""

from __future__ import annotations

import math

from neuid3.data.columns import Date, Kind
from neuid3.data.dates import date_cut

# From here on Python prints a float with an exponent, and every digit after the point makes it longer.
POSITIONAL = 1e16


def shortest_cut(low: float, high: float) -> float:
    """The number with the fewest decimal places in `[low, high)`; of several, the one nearest to the midpoint.

    It separates two neighbouring values of a column, `low =< cut < high`, and is short enough to be
    printed exactly. One decimal place costs nothing, since every float prints one, except with an exponent.

    >>> shortest_cut(30.0, 40.0), shortest_cut(0.1423, 0.1424), shortest_cut(0.1031, 0.1034), shortest_cut(1e20, 9e20)
    (35.0, 0.1423, 0.1033, 5e+20)
    """
    middle = middle_of(low, high)
    largest = max(abs(low), abs(high))
    decimals = 1 if largest < POSITIONAL else -math.floor(math.log10(largest))
    while True:
        # Where the number nearest to the midpoint lies on an end, or by rounding just outside, one near an end may fit.
        for near in (middle, low, high):
            cut = _rounded(near, decimals)
            if low <= cut < high:
                return cut + 0.0  # never -0.0
        decimals += 1


def readable_cut(low: float, high: float, kind: Kind | None) -> float:
    """The cut between two neighbouring entries of a column that is shortest to print: a date, or a number.

    >>> readable_cut(19782.0, 19785.0, Date())
    19783.0
    """
    return date_cut(low, high) if isinstance(kind, Date) else shortest_cut(low, high)


def _rounded(number: float, decimals: int) -> float:
    """The nearest number with so many decimal places, as a float."""
    try:
        return round(number, decimals)
    except OverflowError:  # the nearest one is larger than all floats
        return math.copysign(math.inf, number)


def middle_of(low: float, high: float) -> float:
    """The midpoint of two numbers, or the lower one where no float lies between them.

    >>> middle_of(1.0, 2.0)
    1.5
    """
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low
