"""Colours of classes: the colour-blind safe palette of Okabe and Ito."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuid3.tree.tree import LeafNode, Tree

OKABE_ITO = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#555555")

# For translucent bands on white, where the yellow is hard to see.
FLOW_COLOURS = (*OKABE_ITO[:6], "#999933", "#777777")

# Numbers in the middle between small (blue) and large (orange) ones.
NEUTRAL = "#bbbbbb"

# For text and frames of warnings, which also say in words what the warning is.
WARNING = "#b03a00"


def class_colours(classes: int) -> tuple[str, ...]:
    """A colour for each class; with more classes than colours, the palette repeats in paler tones.

    >>> class_colours(2)
    ('#0072b2', '#e69f00')
    """
    rounds = -(-classes // len(OKABE_ITO))
    return tuple(paler(OKABE_ITO[i % len(OKABE_ITO)], i // len(OKABE_ITO) / rounds) for i in range(classes))


def leaf_colours(tree: Tree) -> Callable[[LeafNode], str]:
    """A function from a leaf to its pale colour: of its class, or between blue for small and orange for large numbers.

    >>> from neuid3.tree.tree import Leaf, Tree
    >>> leaf_colours(Tree(Leaf(0.9)))(Leaf(0.9))
    '#fbf1d9'
    """
    if tree.predicts_numbers:
        return lambda leaf: paler(number_colour(leaf.value[0], tree), 0.7)
    colours = class_colours(len(tree.classes))
    return lambda leaf: paler(colours[max(range(len(colours)), key=leaf.value.__getitem__)])


def number_colour(number: float, tree: Tree) -> str:
    """The colour of a number, from blue for the smallest mean of a leaf over grey to orange for the largest."""
    means = [leaf.value[0] for leaf in tree.leaves]
    low, high = min(means), max(means)
    position = min(max((number - low) / (high - low), 0.0), 1.0) if high > low else 0.5
    ends = (OKABE_ITO[0], NEUTRAL) if position < 0.5 else (NEUTRAL, OKABE_ITO[1])
    return _mixed(*ends, 2.0 * position % 1.0 if position < 1.0 else 1.0)


def _mixed(one: str, other: str, fraction: float) -> str:
    """The first colour with this fraction of the second."""
    pairs = ((int(one[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + (b - a) * fraction):02x}" for a, b in pairs)


def paler(colour: str, white: float = 0.85) -> str:
    """A colour mixed with this fraction of white."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * white):02x}" for part in parts)


def darker(colour: str, black: float = 0.2) -> str:
    """A colour mixed with this fraction of black."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part * (1.0 - black)):02x}" for part in parts)


def css_variables() -> str:
    """The colours as CSS variables: `--class-0` and so on, `--class-0-dark` for stripes, and `--warning`.

    >>> css_variables()[:44]
    ':root { --class-0: #0072b2; --class-0-dark: '
    """
    colours = [f"--class-{i}: {c}; --class-{i}-dark: {darker(c)};" for i, c in enumerate(OKABE_ITO)]
    warnings = f"--warning: {WARNING}; --warning-dark: {darker(WARNING)}; --warning-pale: {paler(WARNING, 0.93)};"
    return f":root {{ {' '.join(colours)} {warnings} }}\n"
