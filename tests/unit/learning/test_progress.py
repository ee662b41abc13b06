"""Progress reports of a fit."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from neuid3 import NeuID3Classifier
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
