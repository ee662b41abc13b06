"""The option --groups of the command `fit`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import neuid3.cli.fit as fit_command
from neuid3.cli.main import main


@pytest.fixture
def cards(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"deck": [f"d{i}" for i in rng.integers(0, 12, 300)], "size": rng.normal(size=300)})
    frame["result"] = np.where(frame["size"] > 0, "wins", "loses")
    frame.to_csv(tmp_path / "cards.csv", index=False)
    return tmp_path / "cards.csv"


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("model", ["tree", "forest", "boosting"])
@pytest.mark.parametrize("seed", [0, 1])
def test_rows_of_a_group_are_held_out_together(
    cards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, seed: int
) -> None:
    seen = []
    learn = fit_command._learn
    monkeypatch.setattr(fit_command, "_learn", lambda e, data, given: seen.append(data) or learn(e, data, given))
    calibration = ["--calibration", "0.2"] if model == "tree" else []
    options = ["--target", "result", "--groups", "deck", "--seed", seed, "--model", model, *calibration]
    ended = run("fit", cards, *options, "--out", tmp_path / "m.neuid3")
    assert ended.exit_code == 0, ended.output
    assert "deck    groups   12 groups" in ended.output
    assert "deck =" not in ended.output
    data, decks = seen[0], pd.read_csv(cards)["deck"]
    parts = [set(decks[mask]) for mask in (data.training_rows, data.test_rows, data.calibration_rows)]
    assert len(parts[0] | parts[1] | parts[2]) == sum(map(len, parts)) == 12
    assert parts[0]
    assert parts[1]


def test_wrong_columns_of_groups_are_refused(cards: Path, tmp_path: Path) -> None:
    assert "Did you mean 'deck'?" in run("fit", cards, "--target", "result", "--groups", "dek").output
    assert "is the target" in run("fit", cards, "--target", "result", "--groups", "result").output
    lines = cards.read_text().splitlines()
    lines[3] = "," + lines[3].split(",", 1)[1]
    (tmp_path / "gap.csv").write_text("\n".join(lines))
    assert "no entry for line 4" in run("fit", tmp_path / "gap.csv", "--target", "result", "--groups", "deck").output
    two = pd.read_csv(cards).assign(deck=lambda frame: np.arange(len(frame)) % 2)
    two.to_csv(tmp_path / "two.csv", index=False)
    output = run("fit", tmp_path / "two.csv", "--target", "result", "--groups", "deck").output
    assert "leaves a single group to learn from" in output


def test_forests_have_no_monotone_constraints(cards: Path) -> None:
    output = run("fit", cards, "--target", "result", "--model", "forest", "--monotone", "size=1").output
    assert "--model forest learns a forest" in output
