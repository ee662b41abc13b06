"""The shapes that pictures of trees consist of."""

from __future__ import annotations

from xml.etree import ElementTree

SHAPES = {"svg", "title", "rect", "text", "path", "image"}
ATTRIBUTES = {
    "width", "height", "viewBox", "role", "font-family", "x", "y", "rx", "fill", "stroke", "stroke-width", "d", "href",
    "font-size", "font-weight", "text-anchor", "textLength", "lengthAdjust", "style",
}  # fmt: skip


def checked(svg: str) -> ElementTree.Element:
    """The parsed SVG, which holds nothing but shapes."""
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        assert element.tag.removeprefix("{http://www.w3.org/2000/svg}") in SHAPES
        assert set(element.attrib) <= ATTRIBUTES
        assert element.attrib.get("style", "image-rendering:pixelated") == "image-rendering:pixelated"
        assert element.attrib.get("href", "data:image/png;base64,").startswith("data:image/png;base64,")
    return root
