"""Which colour does a class have? Those of Okabe and Ito, which also colour-blind readers tell apart."""

from __future__ import annotations

OKABE_ITO = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#555555")


# What is written or framed in it should not be overlooked; it stands beside words that say why.
WARNING = "#b03a00"


def class_colours(classes: int) -> tuple[str, ...]:
    """A colour for each class; where there are more classes than colours, they come again and paler.

    >>> class_colours(2)
    ('#0072b2', '#e69f00')
    """
    rounds = -(-classes // len(OKABE_ITO))
    return tuple(paler(OKABE_ITO[i % len(OKABE_ITO)], i // len(OKABE_ITO) / rounds) for i in range(classes))


def paler(colour: str, by: float = 0.85) -> str:
    """A colour mixed with this share of white."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * by):02x}" for part in parts)
