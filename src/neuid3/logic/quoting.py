"""Names and numbers in Prolog's syntax."""

from __future__ import annotations

import math
import re

from neuid3.data.columns import Date, Kind
from neuid3.data.dates import date_text, parse_dates
from neuid3.utils.quoting import BARE, atom_name, atom_text, quoted

__all__ = [
    "BARE",
    "RESERVED",
    "atom_name",
    "atom_text",
    "constant_term",
    "constant_text",
    "entry_text",
    "number_text",
    "plain_name",
    "value_text",
]

# Names with a meaning of their own in ProbLog in any position.
RESERVED = frozenset({"true", "fail", "false", "is", "mod", "rem", "xor", "rdiv", "not", "query", "evidence"})


def number_text(number: float) -> str:
    """The shortest text that reads back as the same number; all tests, images and programs use it.

    ProbLog has no name for infinity, and reads 1e999 as infinity.

    Parameters
    ----------
    number : a number.

    Returns
    -------
    The number, as rules and goals spell it.

    >>> number_text(0.1 + 0.2), number_text(2.5), number_text(1e22), number_text(float("-inf"))
    ('0.30000000000000004', '2.5', '1e+22', '-1e999')
    """
    if isinstance(number, float) and math.isinf(number):
        return "1e999" if number > 0 else "-1e999"
    return repr(number) if isinstance(number, int) else repr(float(number))


def entry_text(number: float) -> str:
    """A number of an example: as exact as `number_text`, so that it compares with a cut as the number itself does.

    >>> entry_text(35.0), entry_text(0.14240001), entry_text(1e22)
    ('35', '0.14240001', '1e+22')
    """
    return number_text(number).removesuffix(".0")


def constant_text(number: float, kind: Kind | None) -> str:
    """A number that a column of this kind is compared with: a date where it holds dates, otherwise `number_text`.

    >>> from neuid3.data.columns import Number
    >>> constant_text(19783.0, Date()), constant_text(19783.0, Number())
    ('2024-03-01', '19783.0')
    """
    return date_text(number) if isinstance(kind, Date) else number_text(number)


def constant_term(number: float, kind: Kind) -> str:
    """A number as rules and tests write it, which reads back as the same number: a date where it is compared with dates.

    >>> constant_term(19783.0, Date()), constant_term(19783.5, Date()), constant_term(0.1234567890123, Date())
    ('2024-03-01', "'2024-03-01 12:00'", '0.1234567890123')
    """
    text = constant_text(number, kind)
    days = parse_dates([text]) if isinstance(kind, Date) else None
    if days is None or days[0] != number or not 1000 <= int(text[:4]) <= 9999:
        return number_text(number)
    return quoted(text) if " " in text else text


def value_text(number: float, kind: Kind | None) -> str:
    """A number of an example: a date where its column holds dates, otherwise `entry_text`.

    >>> value_text(19783.5, Date())
    '2024-03-01 12:00'
    """
    return date_text(number) if isinstance(kind, Date) else entry_text(number)


def plain_name(name: str) -> str:
    """A name that needs no quotes, derived from any name.

    >>> plain_name("rank_net#2"), plain_name("Ja!")
    ('rank_net_2', 'x_Ja_')
    """
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return plain if BARE.fullmatch(plain) else f"x_{plain}"
