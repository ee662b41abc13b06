"""Allowed values of the fields of configurations, checked in one place for Python and for the command line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

from neuid3.errors import ParameterError


class FieldRule(Protocol):
    """The values that a field may have."""

    def __str__(self) -> str:
        """A noun phrase that says which values are allowed."""
        ...

    def read(self, value: Any) -> Any:
        """The value as a plain Python object; a `ValueError` where it is not allowed."""
        ...


@dataclass(frozen=True, slots=True)
class IntegerField:
    """An integer of at least `least`."""

    least: int

    def __str__(self) -> str:
        return f"an integer of at least {self.least}"

    def read(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, Integral) or value < self.least:
            raise ValueError
        return int(value)


@dataclass(frozen=True, slots=True)
class NumberField:
    """A finite number from `least` to `below`, which is excluded; with `is_open`, `least` is excluded too."""

    least: float = 0.0
    below: float = math.inf
    is_open: bool = False

    def __str__(self) -> str:
        start = f"a number {'above' if self.is_open else 'of at least'} {self.least:g}"
        return start if math.isinf(self.below) else f"{start} and below {self.below:g}"

    def read(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ValueError
        number = float(value)
        if not (number > self.least if self.is_open else number >= self.least) or not number < self.below:
            raise ValueError  # also where it is not a number
        return number


@dataclass(frozen=True, slots=True)
class FlagField:
    """True or False."""

    def __str__(self) -> str:
        return "True or False"

    def read(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError
        return value


@dataclass(frozen=True, slots=True)
class TextField:
    """Text; one of `choices` where there are any."""

    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " or ".join(map(repr, self.choices)) or "text"

    def read(self, value: Any) -> str:
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            raise ValueError
        return value


@dataclass(frozen=True, slots=True)
class OptionalField:
    """None, or a value that another rule allows."""

    rule: FieldRule

    def __str__(self) -> str:
        return f"{self.rule}, or None"

    def read(self, value: Any) -> Any:
        return None if value is None else self.rule.read(value)


def read_field(name: str, value: Any, rule: FieldRule) -> Any:
    """The value of a field as a plain Python object; scalars of NumPy and torch become Python's.

    Parameters
    ----------
    name : the name of the field, for the error.
    value : the value that was given.
    rule : the values that are allowed.

    Raises
    ------
    ParameterError : where the value is not allowed.

    >>> read_field("epochs", 0, IntegerField(1))
    Traceback (most recent call last):
    neuid3.errors.ParameterError: epochs=0 is not allowed; give an integer of at least 1.
    """
    plain = value.item() if getattr(value, "shape", None) == () and hasattr(value, "item") else value
    try:
        return rule.read(plain)
    except ValueError:
        raise ParameterError(f"{name}={plain!r:.60} is not allowed; give {rule}.") from None
