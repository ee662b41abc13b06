"""The page about pictures shows what the exports draw."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from matplotlib import pyplot
from PIL import Image as Photo
from svg_shapes import checked


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
