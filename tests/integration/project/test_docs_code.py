"""The code on the pages of the documentation."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_iris

import neuid3

ROOT = Path(__file__).resolve().parents[3]


DOCS = ROOT / "docs"


PAGES = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))

# The tutorial is run by test_tutorial.py, with the files that it writes. The page about decks reads the model of a fit that takes
# minutes; test_anchors.py has its steps with less data.
ELSEWHERE = {"tutorial.md", "cards.md"}
WITH_PYTHON = [page for page in PAGES if page not in ELSEWHERE and "```python" in (DOCS / page).read_text("utf-8")]

# Where no network is trained, every digit is as it is shown.
UNTRAINED = {
    "background.md",
    "explaining.md",
    "extending.md",
    "index.md",
    "inside.md",
    "models.md",
    "pictures.md",
    "settings.md",
}


_STEP = re.compile(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", flags=re.DOTALL)


_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def page_text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def page_names(page: str) -> dict[str, Any]:
    """Names that a page uses without defining them: a tree and examples."""
    if page not in ("pages.md", "speed.md"):
        return {}
    table = load_iris(as_frame=True)
    names = table.target_names[table.target]
    clf = neuid3.NeuID3Classifier(max_depth=2, random_state=0).fit(table.data, names)
    return {"clf": clf, "X": table.data, "X_test": table.data, "y_test": names}


def assert_alike(shown: str, printed: str) -> None:
    """The same words in the same places; numbers may differ a little, as they do from machine to machine."""
    assert _NUMBER.sub("0", shown).split() == _NUMBER.sub("0", printed).split()
    pairs = zip(map(float, _NUMBER.findall(shown)), map(float, _NUMBER.findall(printed)), strict=True)
    for number, found in pairs:
        assert found == pytest.approx(number, rel=0.15, abs=0.1), f"{number} is shown in\n{shown}\nand it is\n{printed}"


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_the_code_of_a_page_runs_and_prints_what_is_shown_below_it(
    page: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page == "datasets.md" and not os.environ.get("NEUID3_DATA"):
        pytest.skip("NEUID3_DATA names no folder with the real data")
    names: dict[str, Any] = {"__name__": page, **page_names(page)}
    monkeypatch.chdir(tmp_path)  # pages save files
    for code, shown in _STEP.findall(page_text(page)):
        # As a reader's own file: the `annotations` of this one would make the fields of dataclasses text.
        exec(compile(code, page, "exec", dont_inherit=True), names)
        printed = capsys.readouterr().out
        if shown and page in UNTRAINED:
            assert printed == shown
        elif shown:
            assert_alike(shown, printed)
