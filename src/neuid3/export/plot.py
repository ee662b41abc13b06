"""Plots of trees with matplotlib."""

from __future__ import annotations

import math
from typing import Any

from neuid3.errors import ExportError
from neuid3.export.marks import Curve, Image, Label, Mark, Picture, Rectangle
from neuid3.export.picture import LARGE, draw_tree

# The font size of tests, in points, in a figure that is made to fit the tree.
FONTSIZE = 9.0

# The most pixels of such a figure: matplotlib draws no longer sides, and 100 million pixels take 400 MB.
MAX_SIDE_PIXELS, MAX_PIXELS = 2**16 - 1, 1e8


def plot_tree(
    tree: Any,
    X: Any = None,
    *,
    max_depth: int | None = None,
    images: int = 3,
    ax: Any = None,
    fontsize: float | None = None,
) -> list[Any]:
    """A drawing of a tree with matplotlib.

    Parameters
    ----------
    tree : a `Tree`, a model or a fitted classifier.
    X, max_depth, images : as in `export_svg`.
    ax : the axes that the tree fills; without them a new figure of fitting size is made.
    fontsize : the font size of tests in points; by default 9 in a new figure, and what fits in given axes.

    Returns
    -------
    The matplotlib artists.

    Raises
    ------
    ExportError : if matplotlib is not installed.
    """
    picture = draw_tree(tree, X, max_depth=max_depth, images=images)
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ExportError('Plots need matplotlib; install it with: pip install "neuid3[plots]".') from None
    if ax is None:
        points = font_scale = _bounded_scale(picture, (fontsize or FONTSIZE) / LARGE, pyplot.rcParams["figure.dpi"])
        figure = pyplot.figure(figsize=(picture.width * points / 72, picture.height * points / 72))
        ax = figure.add_axes((0, 0, 1, 1))
    else:
        points = _filling_scale(picture, ax)
        font_scale = points if fontsize is None else fontsize / LARGE
    artists = [_artist(mark, ax, points, font_scale, order) for order, mark in enumerate(picture.marks)]
    ax.set(xlim=(0, picture.width), ylim=(picture.height, 0), aspect="equal")
    ax.set_axis_off()
    return artists


def _bounded_scale(picture: Picture, points: float, dpi: float) -> float:
    """The points for a unit of the picture, reduced if the figure would have more pixels than can be drawn."""
    scale = points * dpi / 72
    side, area = max(picture.width, picture.height) * scale, picture.width * picture.height * scale**2
    return points * min(1.0, MAX_SIDE_PIXELS / side, math.sqrt(MAX_PIXELS / area))


def _filling_scale(picture: Picture, ax: Any) -> float:
    """The points for a unit of the picture with which it fills the axes."""
    extent = ax.get_window_extent()
    return float(min(extent.width / picture.width, extent.height / picture.height) * 72 / ax.figure.dpi)


def _artist(mark: Mark, ax: Any, points: float, font_scale: float, order: int) -> Any:
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
            # Names are not formulas: a dollar sign stands for itself.
            plain = {"parse_math": False, "usetex": False, "family": "monospace", "va": "baseline", "ha": align}
            weight = "bold" if bold else "normal"
            return ax.text(x, y, text, size=size * font_scale, weight=weight, color=colour, zorder=order, **plain)
        case Curve(x, y, bend, end_x, end_y, width, colour):
            middle = (bend + end_y) / 2
            curve = Path(
                [(x, y), (x, bend), (x, middle), (end_x, middle), (end_x, end_y)],
                [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
            )
            line = PathPatch(curve, facecolor="none", edgecolor=colour, linewidth=width * points, zorder=order)
            return ax.add_patch(line)
        case Image(x, y, width, height, pixels):
            extent = (x, x + width, y + height, y)
            return ax.imshow(pixels, extent=extent, interpolation="nearest", zorder=order)
