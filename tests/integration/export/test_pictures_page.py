"""The page about pictures shows what the exports draw."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib import pyplot
from PIL import Image as Photo

# Pictures ---------------------------------------------------------------------------------------


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


# Notebooks and the classifier -------------------------------------------------------------------


def test_what_the_page_about_pictures_shows_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pyplot.switch_backend("Agg")
    page = (Path(__file__).resolve().parents[3] / "docs" / "pictures.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found: dict[str, object] = {"__name__": "pictures"}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "pictures.md", "exec"), found)
    assert capsys.readouterr().out in page
    checked((tmp_path / "iris.svg").read_text(encoding="utf-8"))
    assert Photo.open(tmp_path / "digits.png").size > (200, 200)
    pyplot.close("all")
