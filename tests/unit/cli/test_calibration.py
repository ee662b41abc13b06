"""Commands that calibrate: fit --calibration, predict --coverage, report --json; and fit --monotone."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from neuid3 import check_monotone, load
from neuid3.cli.main import main


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age, dose = rng.integers(20, 90, 300), rng.random(300).round(2)
    risk = np.where(rng.random(300) < 0.2, rng.random(300) < 0.5, (age > 55) & (dose < 0.8))
    pd.DataFrame({"age": age, "dose": dose, "risk": np.where(risk, "high", "low")}).to_csv("people.csv", index=False)
    return tmp_path


def test_a_calibrated_fit_predicts_sets(folder: Path) -> None:
    done = run("fit", "people.csv", "--target", "risk", "--calibration", "0.3", "--out", "model.neuid3")
    assert done.exit_code == 0, done.output
    assert "learned from 150 rows, calibrated by 90" in done.output
    lines = list(csv.reader(io.StringIO(run("predict", "model.neuid3", "people.csv", "--coverage", "0.8").stdout)))
    assert lines[0][-1] == "set"
    sets = [set(line[-1].split("|")) for line in lines[1:]]
    assert all(line[0] in found for line, found in zip(lines[1:], sets, strict=True))
    truth = pd.read_csv("people.csv")["risk"]
    assert np.mean([label in found for label, found in zip(truth, sets, strict=True)]) > 0.75
    by_leaf = run("predict", "model.neuid3", "people.csv", "--coverage", "0.8", "--by-leaf")
    assert by_leaf.exit_code == 0
    assert "set" not in run("predict", "model.neuid3", "people.csv").stdout.split("\n")[0]
    assert (folder / "model.neuid3").exists()


@pytest.mark.parametrize(
    ("fraction", "coverage", "named"), [("0", "0.9", "calibrat"), ("0.1", "1.5", "coverage"), ("0.05", "0.99", "99")]
)
def test_sets_that_cannot_be_are_one_line_of_error(folder: Path, fraction: str, coverage: str, named: str) -> None:
    run("fit", folder / "people.csv", "--target", "risk", "--calibration", fraction, "--out", "model.neuid3")
    done = run("predict", "model.neuid3", "people.csv", "--coverage", coverage)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert named in done.stderr
    assert done.stdout == ""


def test_no_row_may_be_left_to_learn_from(folder: Path) -> None:
    done = run("fit", folder / "people.csv", "--target", "risk", "--calibration", "0.8", "--held-out", "0.5")
    assert done.exit_code == 2
    assert "--calibration" in done.stderr


@pytest.mark.usefixtures("folder")
def test_report_has_the_reliability_as_json_and_on_the_page() -> None:
    run("fit", "people.csv", "--target", "risk", "--out", "model.neuid3")
    done = run("report", "model.neuid3", "people.csv", "--target", "risk", "--json")
    found = json.loads(done.stdout)
    assert found["reliability"]["rows"] == 60  # those held out
    assert sum(b["rows"] for b in found["reliability"]["bins"]) == 60
    assert '"by_chance"' in Path(found["page"]).read_text()
    assert "calibration error" in run("report", "model.neuid3", "people.csv", "--target", "risk").stdout
    assert json.loads(run("report", "model.neuid3", "people.csv", "--json").stdout)["reliability"] is None


@pytest.mark.usefixtures("folder")
def test_monotone_constraints_are_options() -> None:
    done = run(
        "fit", "people.csv", "--target", "risk", "--monotone", "age=-1", "--monotone", "dose=1", "--out", "model.neuid3"
    )
    assert done.exit_code == 0, done.output
    loaded = load("model.neuid3")
    assert loaded.monotonic_cst == {"age": -1, "dose": 1}
    assert check_monotone(loaded) is None


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("given", "named"),
    [(["agee=1"], "agee"), (["age=up"], "age=up"), (["age=1", "age=-1"], "'age' to 1 and to -1"), (["age"], "'age'")],
)
def test_bad_monotone_options_are_one_line_of_error(given: list[str], named: str) -> None:
    options = [part for entry in given for part in ("--monotone", entry)]
    done = run("fit", "people.csv", "--target", "risk", *options)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].startswith("Error: ")
    assert named in done.stderr
