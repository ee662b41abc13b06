"""How is a picture painted as SVG? As text that shows in browsers and notebooks and holds nothing but shapes."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from neuid3.export.marks import Curve, Image, Label, Mark, Picture, Rectangle, text_width
from neuid3.export.picture import draw
from neuid3.utils.png import png

FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"


def export_svg(tree: Any, X: Any = None, *, max_depth: int | None = None, images: int = 3) -> str:
    """A tree, model or fitted classifier as the text of an SVG file, which is also HTML.

    With examples `X`, tests that look at images show up to `images` of those that reach them: to the left those whose
    answer is most surely yes, to the right those whose answer is most surely no. Tests deeper than `max_depth` (the root's
    depth is 0) are left out.

    >>> from neuid3 import Branch, Leaf, Tree
    >>> export_svg(Tree(Branch("alarm", Leaf(0.9), Leaf(0.2))))[:40]
    '<svg xmlns="http://www.w3.org/2000/svg" '
    """
    return paint(draw(tree, X, max_depth=max_depth, images=images))


def paint(picture: Picture) -> str:
    """A picture as SVG. It has no ids, styles or scripts, so that several may stand on one page."""
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
            drawn = {"x": x, "y": y, "width": width, "height": height, "fill": fill}
            drawn |= {"rx": radius} if radius else {}
            drawn |= {"stroke": stroke} if stroke else {}
            yield _hinted("rect", hint, **drawn)
        case Label(x, y, text, size, anchor, bold, colour):
            # Whatever font there is, the words take the room that was measured for them.
            wide = {"textLength": text_width(text, size), "lengthAdjust": "spacingAndGlyphs"}
            weight = {"font_weight": "bold"} if bold else {}
            opening = _tag("text", ">", x=x, y=y, font_size=size, text_anchor=anchor, fill=colour, **weight, **wide)
            yield f"{opening}{escape(text)}</text>"
        case Curve(x, y, bend, end_x, end_y, width, colour):
            middle = (bend + end_y) / 2
            falls = f"M{x:.1f} {y:.1f}V{bend:.1f}C{x:.1f} {middle:.1f} {end_x:.1f} {middle:.1f} {end_x:.1f} {end_y:.1f}"
            yield _tag("path", "/>", d=falls, fill="none", stroke=colour, stroke_width=width)
        case Image(x, y, width, height, pixels, hint):
            href = "data:image/png;base64," + b64encode(png(pixels)).decode()
            place = {"x": x, "y": y, "width": width, "height": height}
            yield _hinted("image", hint, **place, href=href, style="image-rendering:pixelated")


def _hinted(name: str, hint: str, **attributes: object) -> str:
    if not hint:
        return _tag(name, "/>", **attributes)
    return f"{_tag(name, '>', **attributes)}<title>{escape(hint)}</title></{name}>"


def _tag(name: str, end: str, **attributes: object) -> str:
    """An opening tag; `font_size` is written `font-size`, and numbers with one decimal."""
    told = (
        f"{key.replace('_', '-')}={quoteattr(f'{value:.1f}'.removesuffix('.0') if isinstance(value, float) else str(value))}"
        for key, value in attributes.items()
    )
    return f"<{name} {' '.join(told)}{end}"
