"""Progress reports of a fit."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from rich.console import Console

from neuid3 import AtomTest, NeuID3Classifier
from neuid3.learning.grow import OpenNode, Split
from neuid3.learning.progress import ProgressBar


@pytest.mark.parametrize(("limit", "words"), [(None, " s so far"), (90.0, " of 90 s")])
def test_lines_name_the_time_limit_where_there_is_one(
    limit: float | None, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    X = np.random.default_rng(0).normal(size=(80, 2))
    NeuID3Classifier(random_state=0, verbose=1, time_limit=limit).fit(X, X[:, 0] > 0)
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("node")]
    assert lines
    assert all(line.endswith(words) for line in lines)


def test_the_bar_shows_the_time_limit() -> None:
    bar = ProgressBar(time_limit=120.0)
    bar.stage("joint training")
    console = Console(file=io.StringIO(), width=120)
    console.print(bar.bar.get_renderable())
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "joint training" in shown
    assert "0 of 120 s" in shown


LONG = "higher(second_picture_of_the_row, first_picture_of_the_row)"


def shown(monkeypatch: pytest.MonkeyPatch, width: int, terminal: bool, color: bool = True) -> str:
    """What a bar prints about two nodes with long tests and a stage, on a terminal of this width or into a file."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1") if not color else monkeypatch.delenv("NO_COLOR", raising=False)
    out = io.StringIO()
    out.isatty = lambda: terminal  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stderr", out)
    with ProgressBar(gains=True, time_limit=600.0) as bar:
        bar.expanded([LONG, "same(first, second)"] * 3)
        root = OpenNode.root(10)
        bar.training(root, LONG, 3, 10)
        bar.compared(root, [(LONG, 0.25), ("same(first, second)", 0.125)])
        bar.node(root, Split(AtomTest(LONG), np.ones(10), 0.25, True, None))
        bar.node(root, None)
        bar.stage("joint training of the whole tree with all of its networks")
        bar.tree("after joint training of the whole tree with all of its networks", 12, 0.5)
    return out.getvalue()


_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("color", [True, False])
def test_lines_fit_a_terminal(monkeypatch: pytest.MonkeyPatch, width: int, color: bool) -> None:
    text = shown(monkeypatch, width, terminal=True, color=color)
    lines = [line for part in text.split("\n") for line in _CONTROL.sub("", part).split("\r")]
    assert max(map(len, lines)) <= width
    assert any("of 600 s" in line for line in lines)
    colors = re.findall(r"\x1b\[[0-9;]*m", text)
    assert any(re.search(r"3\d|9\d", code) for code in colors) == color


def test_lines_of_a_log_are_whole_and_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, 40, terminal=False)
    assert "\x1b" not in text
    assert f"(root): {LONG}, gain 0.250; " in text
    assert "after joint training of the whole tree with all of its networks: 12 leaves" in text
