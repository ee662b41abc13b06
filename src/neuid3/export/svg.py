"""Export of a tree to SVG."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from neuid3.export.marks import Curve, Image, Label, Mark, Picture, Rectangle, text_width
from neuid3.export.picture import draw_tree
from neuid3.export.unwrap import is_sum
from neuid3.utils.png import png

FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"


def export_svg(tree: Any, X: Any = None, *, max_depth: int | None = None, images: int = 3) -> str:
    """The text of an SVG file, which can also stand in an HTML page.

    Parameters
    ----------
    tree : a `Tree`, a model or a fitted estimator; a boosted sum is drawn as a scorecard.
    X : examples. Tests that read images show some of those that reach them: to the left those whose response is most
        certainly yes, to the right those whose response is most certainly no.
    max_depth : the depth of the deepest tests that are drawn (the root has depth 0); None for all.
    images : the most examples for each response of a test.

    Returns
    -------
    The text of the file.

    >>> from neuid3 import Branch, Leaf, Tree
    >>> export_svg(Tree(Branch("alarm", Leaf(0.9), Leaf(0.2))))[:40]
    '<svg xmlns="http://www.w3.org/2000/svg" '
    """
    if is_sum(tree):
        from neuid3.export.sums import sum_svg  # it needs this module

        return sum_svg(tree)
    return to_svg(draw_tree(tree, X, max_depth=max_depth, images=images))


def to_svg(picture: Picture) -> str:
    """A picture as SVG without ids, styles or scripts, so that one page can hold several."""
    width, height = f"{picture.width:.0f}", f"{picture.height:.0f}"
    opening = _tag(
        "svg",
        ">",
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        role="img",
        font_family=FONT,
    )
    body = (element for mark in picture.marks for element in _elements(mark))
    return "\n".join([opening + f"<title>{escape(picture.title)}</title>", *body, "</svg>"])


def _elements(mark: Mark) -> Iterator[str]:
    match mark:
        case Rectangle(x, y, width, height, fill, stroke, radius, hint):
            attributes = {"x": x, "y": y, "width": width, "height": height, "fill": fill}
            attributes |= {"rx": radius} if radius else {}
            attributes |= {"stroke": stroke} if stroke else {}
            yield _with_title("rect", hint, **attributes)
        case Label(x, y, text, size, anchor, bold, colour):
            # In whatever font, the text takes the width that was measured for it.
            length = {"textLength": text_width(text, size), "lengthAdjust": "spacingAndGlyphs"}
            weight = {"font_weight": "bold"} if bold else {}
            opening = _tag("text", ">", x=x, y=y, font_size=size, text_anchor=anchor, fill=colour, **weight, **length)
            yield f"{opening}{escape(text)}</text>"
        case Curve(x, y, bend, end_x, end_y, width, colour):
            middle = (bend + end_y) / 2
            line = f"M{x:.1f} {y:.1f}V{bend:.1f}C{x:.1f} {middle:.1f} {end_x:.1f} {middle:.1f} {end_x:.1f} {end_y:.1f}"
            yield _tag("path", "/>", d=line, fill="none", stroke=colour, stroke_width=width)
        case Image(x, y, width, height, pixels, hint):
            href = "data:image/png;base64," + b64encode(png(pixels)).decode()
            area = {"x": x, "y": y, "width": width, "height": height}
            yield _with_title("image", hint, **area, href=href, style="image-rendering:pixelated")


def _with_title(name: str, hint: str, **attributes: object) -> str:
    if not hint:
        return _tag(name, "/>", **attributes)
    return f"{_tag(name, '>', **attributes)}<title>{escape(hint)}</title></{name}>"


def _tag(name: str, end: str, **attributes: object) -> str:
    """An opening tag; `font_size` is written `font-size`, and numbers with one decimal."""
    written = (
        f"{key.replace('_', '-')}={quoteattr(f'{value:.1f}'.removesuffix('.0') if isinstance(value, float) else str(value))}"
        for key, value in attributes.items()
    )
    return f"<{name} {' '.join(written)}{end}"
