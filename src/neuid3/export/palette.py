"""Colours of classes: the colour-blind safe palette of Okabe and Ito."""

from __future__ import annotations

OKABE_ITO = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#555555")

# For translucent bands on white, where the yellow is hard to see.
FLOW_COLOURS = (*OKABE_ITO[:6], "#999933", "#777777")

# For text and frames of warnings, which also say in words what the warning is.
WARNING = "#b03a00"


def class_colours(classes: int) -> tuple[str, ...]:
    """A colour for each class; with more classes than colours, the palette repeats in paler tones.

    >>> class_colours(2)
    ('#0072b2', '#e69f00')
    """
    rounds = -(-classes // len(OKABE_ITO))
    return tuple(paler(OKABE_ITO[i % len(OKABE_ITO)], i // len(OKABE_ITO) / rounds) for i in range(classes))


def paler(colour: str, white: float = 0.85) -> str:
    """A colour mixed with this fraction of white."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * white):02x}" for part in parts)
