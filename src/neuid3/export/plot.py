"""How is a picture painted with matplotlib?"""

from __future__ import annotations

import math
from typing import Any

from neuid3.errors import ExportError
from neuid3.export.marks import Curve, Image, Label, Mark, Picture, Rectangle
from neuid3.export.picture import LARGE, draw

# The size of a test's words, in points, where the figure may be as large as it needs to be.
FONTSIZE = 9.0

# A figure of our own has no more pixels: matplotlib draws no longer sides, and 100 million of them take 400 MB.
PIXELS_A_SIDE, PIXELS = 2**16 - 1, 1e8


def plot_tree(
    tree: Any,
    X: Any = None,
    *,
    max_depth: int | None = None,
    images: int = 3,
    ax: Any = None,
    fontsize: float | None = None,
) -> list[Any]:
    """Draw a tree, model or fitted classifier with matplotlib; returns the artists.

    `X`, `max_depth` and `images` are those of `export_svg`. Without `ax` a figure is made in which words have the size
    `fontsize`; with it, the tree fills these axes, and words are as large as fits unless `fontsize` says otherwise.
    """
    picture = draw(tree, X, max_depth=max_depth, images=images)
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ExportError('Plots need matplotlib; install it with: pip install "neuid3[plots]".') from None
    if ax is None:
        points = letters = _fitting(picture, (fontsize or FONTSIZE) / LARGE, pyplot.rcParams["figure.dpi"])
        figure = pyplot.figure(figsize=(picture.width * points / 72, picture.height * points / 72))
        ax = figure.add_axes((0, 0, 1, 1))
    else:
        points = _points(picture, ax)
        letters = points if fontsize is None else fontsize / LARGE
    artists = [_artist(mark, ax, points, letters, order) for order, mark in enumerate(picture.marks)]
    ax.set(xlim=(0, picture.width), ylim=(picture.height, 0), aspect="equal")
    ax.set_axis_off()
    return artists


def _fitting(picture: Picture, points: float, dpi: float) -> float:
    """So many points for a unit of the picture, or fewer where it would have more pixels than can be drawn."""
    scale = points * dpi / 72
    side, area = max(picture.width, picture.height) * scale, picture.width * picture.height * scale**2
    return points * min(1.0, PIXELS_A_SIDE / side, math.sqrt(PIXELS / area))


def _points(picture: Picture, ax: Any) -> float:
    """How many points a unit of the picture is when it fills the axes."""
    room = ax.get_window_extent()
    return float(min(room.width / picture.width, room.height / picture.height) * 72 / ax.figure.dpi)


def _artist(mark: Mark, ax: Any, points: float, letters: float, order: int) -> Any:
    from matplotlib.patches import FancyBboxPatch, PathPatch
    from matplotlib.path import Path

    match mark:
        case Rectangle(x, y, width, height, fill, stroke, radius):
            style = f"round,pad=0,rounding_size={radius}" if radius else "square,pad=0"
            area = FancyBboxPatch((x, y), width, height, boxstyle=style, facecolor=fill, zorder=order)
            area.set(edgecolor=stroke or "none", linewidth=points)
            return ax.add_patch(area)
        case Label(x, y, text, size, anchor, bold, colour):
            align = {"start": "left", "middle": "center", "end": "right"}[anchor]
            # Names are not formulas: a dollar sign is a dollar sign.
            plain = {"parse_math": False, "usetex": False, "family": "monospace", "va": "baseline", "ha": align}
            weight = "bold" if bold else "normal"
            return ax.text(x, y, text, size=size * letters, weight=weight, color=colour, zorder=order, **plain)
        case Curve(x, y, bend, end_x, end_y, width, colour):
            middle = (bend + end_y) / 2
            falls = Path(
                [(x, y), (x, bend), (x, middle), (end_x, middle), (end_x, end_y)],
                [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
            )
            line = PathPatch(falls, facecolor="none", edgecolor=colour, linewidth=width * points, zorder=order)
            return ax.add_patch(line)
        case Image(x, y, width, height, pixels):
            extent = (x, x + width, y + height, y)
            return ax.imshow(pixels, extent=extent, interpolation="nearest", zorder=order)
