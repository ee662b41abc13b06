"""A table with a date, a note, a series and a number on the command line, from file to page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from neuid3.cli.main import main

FILLERS = [
    "patient",
    "reports",
    "feels",
    "since",
    "days",
    "mild",
    "severe",
    "morning",
    "evening",
    "arm",
    "leg",
    "cough",
    "fever",
    "tired",
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    n = 150
    ill = rng.random(n) < 0.5
    admitted = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    (tmp_path / "series").mkdir()
    notes = []
    for row in range(n):
        text = list(rng.choice(FILLERS, 8))
        notes.append(" ".join([*text[:3], *(["Chest pain,"] if ill[row] else []), *text[3:]]))
        np.save(tmp_path / "series" / f"{row}.npy", 70 + rng.normal(size=20))
    frame = pd.DataFrame(
        {
            "admitted": admitted.strftime("%d/%m/%Y"),
            "note": notes,
            "pulse": [f"series/{row}.npy" for row in range(n)],
            "age": rng.integers(20, 90, n),
            "class": np.where(ill & (admitted > "2024-06-01"), "alarm", "calm"),
        }
    )
    frame.to_csv(tmp_path / "clinic.csv", index=False)
    return tmp_path / "clinic.csv"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_tree_of_a_phrase_and_a_date_goes_from_file_to_page(table: Path) -> None:
    model, page = table.with_name("model.neuid3"), table.with_name("page.html")
    fitted = run("fit", table, "--target", "class", "--out", model)
    assert "admitted  date " in fitted
    assert "note      text " in fitted
    assert "pulse     series " in fitted
    assert "contains(note, 'chest pain')?" in fitted
    assert "admitted =< 2024-0" in fitted
    rows = run("predict", model, table).splitlines()
    expected = pd.read_csv(table)["class"].tolist()
    assert [row.split(",")[0] for row in rows[1:]] == expected
    explained = run("explain", model, table, "--row", expected.index("alarm"))
    assert "contains(note, 'chest pain'): true, \"" in explained
    assert "admitted: 2024-" in explained
    run("report", model, table, "--out", page)
    assert "Chest pain," in page.read_text(encoding="utf-8")
    without = table.with_name("without.csv")
    pd.read_csv(table).drop(columns="note").to_csv(without, index=False)
    result = CliRunner().invoke(main, ["predict", str(model), str(without)])
    assert result.exit_code == 2
    assert "has no column 'note', which the model needs" in result.output
