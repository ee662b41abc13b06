"""Diagnoses of plain tables: the right cause with its evidence, and none where nothing is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from neuid3 import Diagnosis, NeuID3Classifier, NeuID3Regressor
from neuid3.cli.main import main

pytestmark = pytest.mark.filterwarnings("ignore:No candidate test was good enough", "ignore:The rule")

N = 200


def columns(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"a": rng.normal(size=N), "b": rng.normal(size=N), "c": rng.integers(0, 2, N).astype(bool)}


def diagnosed(X: Any, y: Any, **parameters: Any) -> Diagnosis:
    return NeuID3Classifier(random_state=0, **parameters).fit(X, y).diagnose(X, y)


def noisy(truth: Any, rate: float = 0.1) -> Any:
    return truth ^ (np.random.default_rng(9).random(len(truth)) < rate)


def test_nothing_is_wrong_with_a_sound_problem() -> None:
    X = columns()
    found = diagnosed(X, noisy(X["a"] > 0))
    assert found.learned
    assert found.cause is None
    assert str(found).endswith("Nothing is wrong.")


def test_no_candidate_tells_random_classes_apart() -> None:
    found = diagnosed(columns(), np.random.default_rng(5).integers(0, 2, N))
    assert [finding.cause for finding in found.causes] == ["no_candidate"]
    evidence = found.causes[0].evidence
    assert evidence["candidates"] == 3
    assert evidence["probability"] > 0.01
    assert "pair" not in evidence
    assert not found.learned


def test_columns_that_tell_something_together_only_are_named() -> None:
    rng = np.random.default_rng(2)
    X = {name: rng.integers(0, 2, N).astype(bool) for name in "abcdef"}
    y = X["b"] ^ X["e"]
    found = diagnosed(X, y, max_depth=1)
    assert found.cause == "no_candidate"
    assert set(found.causes[0].evidence["pair"]) == {"b", "e"}
    assert "add a rule that combines" in found.causes[0].advice


def test_a_class_of_three_rows_has_too_few() -> None:
    y = np.zeros(N, dtype=int)
    y[[3, 50, 120]] = 1
    finding = diagnosed(columns(), y).causes[0]
    assert finding.cause == "few_rows"
    assert finding.evidence["rows"] == {"1": [3, 50, 120]}
    assert finding.evidence["needed"] >= 10


def test_a_rare_class_that_is_predicted_is_sound() -> None:
    X = columns()
    y = np.where(X["a"] > np.sort(X["a"])[-7], "rare", "usual")
    assert (y == "rare").sum() == 6
    assert diagnosed(X, y).cause is None


def test_values_of_a_goal_that_no_row_has_need_no_rows() -> None:
    zones = np.random.default_rng(0).choice(["a", "b"], 100)
    rules = "steps(a, 1). steps(b, 2). steps(other, 0). fare(Y) :- zone(Z), steps(Z, N), Y is 2 * N."
    X, y = {"zone": zones}, np.where(zones == "a", 2, 4)
    clf = NeuID3Classifier(background=rules, leaves=["fare(Y)"], random_state=0).fit(X, y)
    assert clf.classes_.tolist() == [0, 2, 4]
    assert "never predicts" not in str(clf.diagnose(X, y))


def test_copies_with_another_class_contradict_each_other() -> None:
    X = columns()
    y = X["a"] > 0
    doubled = {name: np.concatenate((values, values[:80])) for name, values in X.items()}
    finding = diagnosed(doubled, np.concatenate((y, ~y[:80]))).causes[0]
    assert finding.cause == "contradicting_labels"
    assert finding.evidence["contradicting_rows"] == 80
    assert all(abs(first - second) == N for first, second in finding.evidence["pairs"])


def test_columns_that_no_candidate_reads_do_not_tell_copies_apart() -> None:
    X = columns()
    y = X["a"] > 0
    doubled = {name: np.concatenate((values, values)) for name, values in X.items()}
    doubled["number"] = np.arange(2 * N) + 0.5
    found = diagnosed(doubled, np.concatenate((y, ~y)), tests=["a", "b", "c"])
    assert found.cause == "contradicting_labels"


def test_equal_rows_of_few_facts_are_no_contradiction() -> None:
    rng = np.random.default_rng(0)
    X = {name: rng.integers(0, 2, N).astype(bool) for name in "ab"}
    assert diagnosed(X, noisy(X["a"], 0.15)).cause is None


@pytest.mark.parametrize(("constant", "value"), [("-99", True), ("99", False)])
def test_a_rule_that_never_changes_is_named(constant: str, value: bool) -> None:
    X = columns()
    found = diagnosed(X, X["a"] > 0, background=f"high :- a > {constant}.", tests=["high"])
    assert found.cause == "constant_rule"
    assert found.causes[0].evidence == {"rule": "high", "value": value, "columns": ["a"]}


def test_a_rule_whose_result_is_undefined_in_every_row_is_named() -> None:
    X = columns()
    found = diagnosed(X, X["a"] > 0, background="high :- a / (a - a) > 1.", tests=["high"])
    assert found.cause == "constant_rule"
    assert "is unknown, with the probability" in found.causes[0].text
    assert found.causes[0].evidence == {"rule": "high", "value": None, "columns": ["a"]}


def test_a_rule_without_effect_is_a_note_where_other_tests_learn() -> None:
    X = columns()
    found = diagnosed(X, X["a"] > 0, background="high :- a > 99.")
    assert found.cause is None
    assert [note.cause for note in found.notes] == ["constant_rule"]


def test_a_penalty_that_is_too_high_is_named_with_a_lower_one() -> None:
    X = columns()
    y = noisy(X["a"] > 0, 0.25)
    found = diagnosed(X, y, pruning=50.0)
    assert found.cause == "penalty"
    lower = found.causes[0].evidence["pruning"]
    assert NeuID3Classifier(random_state=0, pruning=lower).fit(X, y).tree_.tests


def test_numbers_are_diagnosed_too() -> None:
    X, rng = columns(), np.random.default_rng(1)
    sound = X["a"] + rng.normal(size=N) * 0.1

    def cause(table: Any, y: Any) -> str | None:
        return NeuID3Regressor(random_state=0).fit(table, y).diagnose(table, y).cause

    assert cause(X, sound) is None
    assert cause(X, rng.normal(size=N)) == "no_candidate"
    doubled = {name: np.concatenate((values, values)) for name, values in X.items()}
    assert cause(doubled, np.concatenate((sound, sound + 9))) == "contradicting_labels"


@pytest.mark.parametrize(("telling", "cause"), [(True, None), (False, "no_candidate")])
def test_phrases_are_judged_on_other_rows_than_they_were_chosen_by(telling: bool, cause: str | None) -> None:
    rng = np.random.default_rng(0)
    words = ["pain", "chest", "mild", "cough", "fever", "rest", "tea", "walk", "sleep", "cold"]
    notes = [" ".join(rng.choice(words, 8)) for _ in range(N)]
    X = pd.DataFrame({"note": notes, "age": rng.normal(50, 10, N)})
    y = noisy(np.array(["fever" in note for note in notes]), 0.05) if telling else rng.integers(0, 2, N)
    assert diagnosed(X, y).cause == cause


def test_a_diagnosis_is_json() -> None:
    found = diagnosed(columns(), np.random.default_rng(5).integers(0, 2, N))
    assert json.loads(json.dumps(found.to_json()))["causes"][0]["cause"] == "no_candidate"


def test_the_fitted_estimator_stays_as_it_is() -> None:
    X = columns()
    clf = NeuID3Classifier(random_state=0, pruning=50.0).fit(X, noisy(X["a"] > 0, 0.25))
    before = clf.export_text()
    clf.diagnose(X, noisy(X["a"] > 0, 0.25), groups=np.arange(N) % 7)
    assert clf.export_text() == before
    assert clf.pruning == 50.0


@pytest.fixture
def model(tmp_path: Path) -> tuple[Path, Path]:
    X = columns()
    frame = pd.DataFrame(X).assign(result=np.where(X["a"] > 0, "wins", "loses"), deck=np.arange(N) % 5)
    doubled = pd.concat([frame, frame.assign(result=frame["result"].map({"wins": "loses", "loses": "wins"}))])
    doubled.to_csv(tmp_path / "cards.csv", index=False)
    made = tmp_path / "cards.neuid3"
    fit = ["fit", str(tmp_path / "cards.csv"), "--target", "result", "--groups", "deck", "--out", str(made)]
    assert CliRunner().invoke(main, fit).exit_code == 0
    return made, tmp_path / "cards.csv"


def test_the_command_names_lines_and_finds_the_target(model: tuple[Path, Path]) -> None:
    ended = CliRunner().invoke(main, ["diagnose", *map(str, model), "--groups", "deck"])
    assert ended.exit_code == 0, ended.output
    assert "line 2 and line 202" in ended.output or "line 202 and line 2" in ended.output
    frame = pd.read_csv(model[1]).assign(empty=None, remark="a remark")
    frame.to_csv(model[1], index=False)
    as_json = CliRunner().invoke(main, ["diagnose", *map(str, model), "--groups", "deck", "--json"])
    assert json.loads(as_json.output)["causes"][0]["cause"] == "contradicting_labels"


def test_wrong_targets_of_the_command_are_refused(model: tuple[Path, Path], tmp_path: Path) -> None:
    assert (
        "Did you mean 'result'?" in CliRunner().invoke(main, ["diagnose", *map(str, model), "--target", "reslt"]).output
    )
    frame = pd.read_csv(model[1]).assign(other=lambda table: table["result"])
    frame.to_csv(tmp_path / "two.csv", index=False)
    output = CliRunner().invoke(main, ["diagnose", str(model[0]), str(tmp_path / "two.csv")]).output
    assert "can be 'result' or 'other'; name it with --target" in output
