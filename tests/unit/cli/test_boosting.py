"""The commands with boosted sums."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from neuid3.cli.main import main


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    age, member = rng.integers(18, 80, 120), rng.random(120) < 0.5
    rows = [
        f"{a},{'yes' if m else 'no'},{'buys' if (a > 40 and m) or a > 65 else 'leaves'}"
        for a, m in zip(age, member, strict=True)
    ]
    path = tmp_path / "shop.csv"
    path.write_text("age,member,result\n" + "\n".join(rows) + "\n")
    return path


def run(*arguments: object) -> str:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_boosted_sum_is_fitted_shown_explained_and_reported(table: Path, tmp_path: Path) -> None:
    model, page = tmp_path / "shop.neuid3", tmp_path / "shop.html"
    fitted = run("fit", table, "--target", "result", "--model", "boosting", "--max-splits", 30, "--out", model)
    assert "The sum, learned in" in fitted
    assert "The log-odds of 'leaves' are the sum" in fitted
    shown = run("show", model)
    assert "The log-odds of 'leaves'" in shown
    assert run("show", model, "--format", "svg").startswith("<svg")
    assert json.loads(run("show", model, "--json"))["sum"]["trees"]
    explained = json.loads(run("explain", model, table, "--row", 3, "--json"))
    total = explained["start"][0] + sum(c["scores"][0] for c in explained["contributions"])
    assert total == pytest.approx(explained["scores"][0], abs=1e-12)
    assert "the sum of" in run("explain", model, table, "--row", 3)
    predicted = list(csv.DictReader(io.StringIO(run("predict", model, table))))
    assert len(predicted) == 120
    assert float(predicted[3]["p_leaves"]) == pytest.approx(explained["probabilities"][1], abs=1e-6)
    report = run("report", model, table, "--target", "result", "--out", page)
    assert "accuracy" in report
    text = page.read_text()
    assert "Rows, explained" in text
    assert "<script" not in text


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--model", "boosting", "--pruning", "1"], "--pruning is for one tree"),
        (["--model", "boosting", "--leaf", "age(Y)"], "--leaf is for one tree"),
        (["--max-splits", "3"], "--max-splits limits a boosted sum"),
    ],
)
def test_options_of_another_model_are_refused(table: Path, options: list[str], sentence: str) -> None:
    result = CliRunner().invoke(main, ["fit", str(table), "--target", "result", *options])
    assert result.exit_code != 0
    assert sentence in result.output


def test_commands_for_one_tree_refuse_a_sum(table: Path, tmp_path: Path) -> None:
    model = tmp_path / "shop.neuid3"
    run("fit", table, "--target", "result", "--model", "boosting", "--max-splits", 3, "--out", model)
    for arguments in (
        ["audit", model, table],
        ["show", model, "--format", "dot"],
    ):
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert result.exit_code != 0
        assert "sum" in result.output


def test_a_target_of_numbers_is_fitted_as_such(table: Path, tmp_path: Path) -> None:
    model, page = tmp_path / "age.neuid3", tmp_path / "age.html"
    fitted = run("fit", table, "--target", "age", "--task", "regression", "--model", "boosting", "--out", model)
    assert "The prediction is the sum of the start" in fitted
    predicted = list(csv.DictReader(io.StringIO(run("predict", model, table))))
    explained = json.loads(run("explain", model, table, "--row", 0, "--json"))
    assert float(predicted[0]["prediction"]) == pytest.approx(explained["scores"][0], abs=1e-9)
    run("report", model, table, "--target", "age", "--out", page)
    assert "Rows, explained" in page.read_text()
