"""How is a node told in words?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from neuid3.tree import Branch, Label, Leaf, Node, preorder


def printable(text: object) -> str:
    """Any name on one line: what is not to be seen, or would turn the reading round, is spelled out.

    >>> printable("two\\nlines")
    'two\\\\nlines'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def cells(text: str) -> int:
    """How many letters wide a text stands in a monospaced font.

    >>> cells("leaf"), cells("葉")
    (4, 2)
    """
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


_QUOTED_OR_LONG_NUMBER = re.compile(r"('(?:\\.|[^'\\])*')|(?<![\w.])\d+\.\d{5,}(?:e[+-]?\d+)?")


def short_numbers(test: str) -> str:
    """A test whose numbers have no more digits than a picture needs; names are left as they are.

    >>> short_numbers("width =< 0.30000000000000004"), short_numbers("'at 1.23456' =< 1234567.125")
    ('width =< 0.3', "'at 1.23456' =< 1234567.125")
    """
    return _QUOTED_OR_LONG_NUMBER.sub(lambda found: found.group(1) or _short(found.group(0)), test)


def _short(number: str) -> str:
    return f"{float(number):.4g}" if float(number) < 10.0 else f"{float(number):.2f}"


def shares(node: Node) -> tuple[float, ...] | None:
    """The share of each class at a node: what a leaf answers, or what reached a branch (None where nobody counted)."""
    match node:
        case Leaf(probabilities):
            return probabilities
        case Branch(masses=masses) if masses is not None and sum(masses) > 0:
            return tuple(mass / sum(masses) for mass in masses)
        case _:
            return None


def mass_writer(root: Node) -> Callable[[Node], str]:
    """How masses are written in this tree: whole numbers where all of them are, else one decimal; "" where unknown."""
    known = [sum(visit.node.masses) for visit in preorder(root) if visit.node.masses is not None]
    decimals = 0 if all(abs(mass - round(mass)) < 1e-6 for mass in known) else 1
    return lambda node: "" if node.masses is None else f"{sum(node.masses):.{decimals}f}"


def ranked(given: Sequence[float], classes: Sequence[Label]) -> list[tuple[str, float]]:
    """The classes and their shares, the largest first."""
    named = zip(map(printable, classes), given, strict=True)
    return sorted(named, key=lambda pair: -pair[1])


def share_text(label: str, share: float, decimals: int = 2) -> str:
    """A class and its share; a name that ends like a number is set apart from it.

    >>> share_text("holds", 0.5), share_text("1", 0.5)
    ('holds 0.50', '1: 0.50')
    """
    return f"{label}{':' if label[-1:].isdigit() else ''} {share:.{decimals}f}"
