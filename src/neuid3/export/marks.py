"""Drawing primitives of a tree picture, independent of the output format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from neuid3.export.labels import text_cells
from neuid3.utils.png import Pixels

# The advance width of a monospaced font, as a fraction of the font size. Only monospaced text can be measured without the font.
ADVANCE = 0.61


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A filled area with an optional border and tooltip (`hint`)."""

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
    """A line that runs straight down to y = `bend` and from there in a curve to its end."""

    x: float
    y: float
    bend: float
    end_x: float
    end_y: float
    width: float
    colour: str = "#9a9a9a"


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """A raster image with an optional tooltip (`hint`)."""

    x: float
    y: float
    width: float
    height: float
    pixels: Pixels
    hint: str = ""


Mark = Rectangle | Label | Curve | Image


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """Marks from back to front on a canvas; x grows to the right, y downward."""

    width: float
    height: float
    marks: tuple[Mark, ...]
    title: str


def text_width(text: str, size: float) -> float:
    """The width of a line of text in a monospaced font of this size.

    >>> text_width("four", 10.0)
    24.4
    """
    return size * ADVANCE * text_cells(text)
