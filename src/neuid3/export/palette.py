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
