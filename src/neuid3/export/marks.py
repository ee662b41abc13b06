"""What is a picture made of? Rectangles, words, curves and images, which every painter can draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from neuid3.export.labels import text_cells
from neuid3.utils.png import Pixels

# How wide a letter of a monospaced font is, in shares of its size: the only fonts whose words can be measured unseen.
ADVANCE = 0.61


@dataclass(frozen=True, slots=True)
class Rectangle:
    """An area, with a hint for those who point at it."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    stroke: str | None = None
    radius: float = 0.0
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """One line of text on its baseline."""

    x: float
    y: float
    text: str
    size: float
    anchor: Literal["start", "middle", "end"] = "middle"
    bold: bool = False
    colour: str = "#222222"


@dataclass(frozen=True, slots=True)
class Curve:
    """A line that falls straight to `bend` and from there in a curve to its end."""

    x: float
    y: float
    bend: float
    end_x: float
    end_y: float
    width: float
    colour: str = "#9a9a9a"


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """A picture in the picture."""

    x: float
    y: float
    width: float
    height: float
    pixels: Pixels
    hint: str = ""


Mark = Rectangle | Label | Curve | Image


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """Marks from back to front on paper of this size; x grows to the right, y downward."""

    width: float
    height: float
    marks: tuple[Mark, ...]
    title: str


def text_width(text: str, size: float) -> float:
    """How much room a line takes.

    >>> text_width("four", 10.0)
    24.4
    """
    return size * ADVANCE * text_cells(text)
