"""How is a node told in words?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from neuid3.tree.tree import Branch, Label, Leaf, Node, preorder


def printable(text: object) -> str:
    """Any name on one line: what is not to be seen, or would turn the reading round, is spelled out.

    >>> printable("two\\nlines")
    'two\\\\nlines'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


_NUMBER_OR_SPACED = re.compile(r"|[-+.]?\d.*|['\"\s].*|.*\s|.*\s\s.*|(?:mass|gain) .*", re.DOTALL)


def class_name(label: object) -> str:
    """A class in a line of text; a name that could be taken for a number, or for what stands beside it, is quoted.

    >>> class_name("holds"), class_name(5), class_name("mass 240")
    ('holds', "'5'", "'mass 240'")
    """
    name = printable(label)
    return repr(name) if _NUMBER_OR_SPACED.fullmatch(name) else name


def text_cells(text: str) -> int:
    """How many letters wide a text stands in a monospaced font.

    >>> text_cells("leaf"), text_cells("葉")
    (4, 2)
    """
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def shares(node: Node) -> tuple[float, ...] | None:
    """The share of each class at a node: what a leaf answers, or what reached a branch (None where nobody counted)."""
    match node:
        case Leaf(probabilities):
            return probabilities
        case Branch(masses=masses) if masses is not None and sum(masses) > 0:
            return tuple(mass / sum(masses) for mass in masses)
        case _:
            return None


def mass_formatter(root: Node) -> Callable[[Node], str]:
    """How masses are written in this tree: whole numbers where all of them are, else one decimal; "" where unknown."""
    known = [sum(visit.node.masses) for visit in preorder(root) if visit.node.masses is not None]
    decimals = 0 if all(abs(mass - round(mass)) < 1e-6 for mass in known) else 1
    return lambda node: "" if node.masses is None else f"{sum(node.masses):.{decimals}f}"


def is_near_chance(node: Node) -> bool:
    """Is this a test whose networks are hardly better than chance?"""
    return isinstance(node, Branch) and node.statistics is not None and node.statistics.near_chance


def network_summary(node: Node, decimals: int = 2) -> str:
    """How decided the networks of a test are, and the bits it tells of unseen and of training examples; "" where unknown.

    A test that is close to chance bears the mark `(!)`.

    >>> from neuid3.tree.tree import NetworkStatistics
    >>> network_summary(Branch("odd(card)", Leaf(1.0), Leaf(0.0), statistics=NetworkStatistics(0.1, 0.8, 0.25, 40.0)))
    'decided 0.10 (!)  unseen 0.25, trained 0.80'
    """
    if isinstance(node, Leaf) or node.statistics is None:
        return ""
    known = node.statistics
    decided = [] if known.decided is None else [f"decided {known.decided:.{decimals}f}"]
    decided += ["(!)"] if known.near_chance else []
    gains = (("unseen", known.unseen_gain), ("trained", known.trained_gain))
    bits = [f"{name} {gain:.{decimals}f}" for name, gain in gains if gain is not None]
    return "  ".join(part for part in (" ".join(decided), ", ".join(bits)) if part)


def ranked(given: Sequence[float], classes: Sequence[Label]) -> list[tuple[str, float]]:
    """The classes and their shares, the largest first."""
    named = zip(map(class_name, classes), given, strict=True)
    return sorted(named, key=lambda pair: -pair[1])


def share_text(label: str, share: float, decimals: int = 2) -> str:
    """A class and its share; a name that ends like a number is set apart from it.

    >>> share_text("holds", 0.5), share_text("group 1", 0.5)
    ('holds 0.50', 'group 1: 0.50')
    """
    return f"{label}{':' if label[-1:].isdigit() else ''} {share:.{decimals}f}"
