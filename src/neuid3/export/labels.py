"""Text labels of nodes: class names, class shares, numbers, masses and network statistics."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from neuid3.tree.goals import GoalLeaf
from neuid3.tree.tree import Branch, Label, Leaf, LeafNode, Node, Tree, preorder


def printable(text: object) -> str:
    """A name on one line; characters that are invisible or change the direction of text are escaped.

    >>> printable("two\\nlines")
    'two\\\\nlines'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


_NUMBER_OR_SPACED = re.compile(r"|[-+.]?\d.*|['\"\s].*|.*\s|.*\s\s.*|(?:mass|gain) .*", re.DOTALL)


def class_name(label: object) -> str:
    """The name of a class in a line of text; one that could be mistaken for a number or for a neighbouring field is quoted.

    >>> class_name("holds"), class_name(5), class_name("mass 240")
    ('holds', "'5'", "'mass 240'")
    """
    name = printable(label)
    return repr(name) if _NUMBER_OR_SPACED.fullmatch(name) else name


def text_cells(text: str) -> int:
    """The width of a text in a monospaced font, in character cells.

    >>> text_cells("leaf"), text_cells("葉")
    (4, 2)
    """
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def class_shares(node: Node) -> tuple[float, ...] | None:
    """The share of each class at a node.

    Returns
    -------
    The class probabilities of a leaf, the normalized class masses of a branch, or None if a branch has no masses.
    """
    match node:
        case GoalLeaf(otherwise=Leaf(probabilities)) | Leaf(probabilities):
            return probabilities
        case Branch(summary=Leaf(masses=masses)) if masses is not None and sum(masses) > 0:
            return tuple(mass / sum(masses) for mass in masses)
        case _:
            return None


def mass_formatter(root: Node) -> Callable[[Node], str]:
    """A function that formats the mass of a node of this tree.

    Masses are written as whole numbers if all of them are whole, otherwise with one decimal; an unknown mass is "".
    """
    masses = [sum(visit.node.masses) for visit in preorder(root) if visit.node.masses is not None]
    decimals = 0 if all(abs(mass - round(mass)) < 1e-6 for mass in masses) else 1
    return lambda node: "" if node.masses is None else f"{sum(node.masses):.{decimals}f}"


def is_near_chance(node: Node) -> bool:
    """Whether a node is a test whose networks are close to chance."""
    return isinstance(node, Branch) and node.statistics is not None and node.statistics.near_chance


def network_summary(node: Node, decimals: int = 2) -> str:
    """The network statistics of a test: decidedness, and gains in bits on unseen and on training examples; "" if unknown.

    A test that is close to chance is marked with `(!)`.

    >>> from neuid3.tree.tree import NetworkStatistics
    >>> network_summary(Branch("odd(card)", Leaf(1.0), Leaf(0.0), statistics=NetworkStatistics(0.1, 0.8, 0.25, 40.0)))
    'decided 0.10 (!)  unseen 0.25, trained 0.80'
    """
    if isinstance(node, LeafNode) or node.statistics is None:
        return ""
    statistics = node.statistics
    decided = [] if statistics.decided is None else [f"decided {statistics.decided:.{decimals}f}"]
    decided += ["(!)"] if statistics.near_chance else []
    gains = (("unseen", statistics.unseen_gain), ("trained", statistics.trained_gain))
    bits = [f"{name} {gain:.{decimals}f}" for name, gain in gains if gain is not None]
    return "  ".join(part for part in (" ".join(decided), ", ".join(bits)) if part)


def ranked_classes(shares: Sequence[float], classes: Sequence[Label]) -> list[tuple[str, float]]:
    """Class names with their shares, largest share first."""
    pairs = zip(map(class_name, classes), shares, strict=True)
    return sorted(pairs, key=lambda pair: -pair[1])


def number_format(leaves: Iterable[LeafNode], decimals: int = 2) -> Callable[[float], str]:
    """A function that writes numbers with the digits in which leaves differ: `decimals` + 2 of their largest difference.

    >>> from neuid3 import NumberLeaf
    >>> number_format([NumberLeaf(108.80459), NumberLeaf(268.87)])(178.21212)
    '178.2'
    >>> number_format([NumberLeaf(1e9), NumberLeaf(1e9 + 0.5)])(1e9 + 0.25)
    '1000000000.2500'
    """
    values = [leaf.value for leaf in leaves]
    means = [mean for mean, _ in values]
    spread = max(max(means) - min(means), max(deviation for _, deviation in values))
    largest = max(map(abs, means), default=0.0)
    places = decimals + 1 - math.floor(math.log10(spread or largest or 1.0))
    if largest >= 1e15 or (largest and places > 12):
        digits = min(17, decimals + 2 + max(0, math.ceil(math.log10(largest / (spread or largest)))))
        return lambda number: f"{number:.{digits}g}"
    return lambda number: f"{number + 0.0:.{min(max(places, 0), 15)}f}"


def amount_format(amounts: Iterable[float], decimals: int = 2) -> Callable[[float], str]:
    """A function that writes signed parts of a number: with more decimals where all are below 1, fewer where some are large.

    Parameters
    ----------
    amounts : the parts that are shown.
    decimals : the decimals of amounts from 1 to 10,000.

    Returns
    -------
    The function.

    >>> amount_format([12.5, -3.0])(12.5), amount_format([0.00125, -0.0003])(0.00125), amount_format([2.5e7])(2.5e7)
    ('+12.50', '+0.00125', '+25000000')
    """
    largest = max(map(abs, amounts), default=0.0)
    exponent = math.floor(math.log10(largest)) if largest else 0
    places = max(decimals - (exponent if exponent < 0 else max(exponent - 3, 0)), 0)
    if places > 15:
        return lambda amount: f"{amount:+.{decimals + 1}g}"
    return lambda amount: f"{amount:+.{places}f}"


def distribution_text(leaf: LeafNode, write: Callable[[float], str]) -> str:
    """The mean and the deviation of a leaf that holds a number.

    >>> from neuid3 import NumberLeaf
    >>> distribution_text(NumberLeaf(2.5, 0.5), "{:.1f}".format)
    '2.5 ± 0.5'
    """
    mean, deviation = leaf.value
    return f"{write(mean)} ± {write(deviation)}"


def leaf_name(leaf: LeafNode, tree: Tree, write: Callable[[float], str] = "{:.6g}".format) -> str:
    """What a leaf predicts: the name of its most probable class, its number, or what its goal computes.

    >>> from neuid3.tree.leaves import NumberLeaf
    >>> leaf_name(Leaf(0.9), Tree(Leaf(0.9))), leaf_name(NumberLeaf(2.5), Tree(NumberLeaf(2.5)))
    ('pos', '2.5')
    """
    if isinstance(leaf, GoalLeaf):
        return f"→ {printable(leaf.goal.label)}"
    return write(leaf.value[0]) if tree.predicts_numbers else ranked_classes(leaf.value, tree.classes)[0][0]


def noise_text(leaf: GoalLeaf, decimals: int = 2) -> str:
    """The noise of a leaf with a goal, and for numbers the deviation around its value.

    >>> noise_text(GoalLeaf("digit(second, Y)", Leaf(0.5), 0.02))
    'noise 0.02'
    """
    deviation = f"± {leaf.deviation:.3g}  " if leaf.predicts_numbers else ""
    return f"{deviation}noise {leaf.noise:.{decimals}f}"


def share_text(label: str, share: float, decimals: int = 2) -> str:
    """A class name and its share; a colon separates a name that ends in a digit.

    >>> share_text("holds", 0.5), share_text("group 1", 0.5)
    ('holds 0.50', 'group 1: 0.50')
    """
    return f"{label}{':' if label[-1:].isdigit() else ''} {share:.{decimals}f}"
