"""Checked values of JSON files: each function returns its argument, or raises an error that says what it is not."""

from __future__ import annotations

import math
from typing import Any


def as_text(value: Any) -> str:
    """The value, if it is a string."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not a string")
    return value


def as_list(value: Any) -> list[Any]:
    """The value, if it is a list."""
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.40} is not a list")
    return value


def as_texts(value: Any) -> list[str]:
    """The value, if it is a list of strings."""
    return list(map(as_text, as_list(value)))


def as_number(value: Any) -> Any:
    """The value, if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise TypeError(f"{value!r:.40} is not a finite number")
    return value


def as_count(value: Any) -> int:
    """The value, if it is a non-negative integer below 2**63."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise TypeError(f"{value!r:.40} is not a non-negative integer")
    return value


def as_boolean(value: Any) -> bool:
    """The value, if it is true or false."""
    if not isinstance(value, bool):
        raise TypeError(f"{value!r:.40} is neither true nor false")
    return value


def as_category(value: Any) -> str | int:
    """The value, if a category can have it: a string or an integer of 64 bits."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise TypeError(f"{value!r:.40} is not a value of a category")
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise ValueError("a value of a category is too large a number")
    return value
