"""What estimators of many trees have in common: files, calibration, pictures, ONNX, commands, errors."""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

from neuid3 import (
    NeuID3BoostingClassifier,
    NeuID3BoostingRegressor,
    NeuID3ForestClassifier,
    NeuID3ForestRegressor,
    NeuID3Regressor,
    load,
)
from neuid3.cli.main import main
from neuid3.errors import DataError, NeuID3Error, ParameterError
from neuid3.explain.page.render import page_and_scores
from neuid3.tree.reliability import reliability

CLASSIFIERS = (
    NeuID3ForestClassifier(n_estimators=8, random_state=0),
    NeuID3BoostingClassifier(max_trees=8, random_state=0),
)
REGRESSORS = (
    NeuID3ForestRegressor(n_estimators=8, random_state=0),
    NeuID3BoostingRegressor(max_trees=8, random_state=0),
)
every_estimator = pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS, ids=lambda one: type(one).__name__)


def mixed_table(rows: int = 200, seed: int = 0) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Numbers with missing entries, facts and categories; three classes and a number that depend on them."""
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 10, rows).round()
    fever = rng.random(rows) < 0.4
    columns = {
        "age": np.where(rng.random(rows) < 0.15, np.nan, age),
        "fever": fever,
        "suit": rng.choice(["clubs", "hearts", "spades"], rows),
    }
    classes = np.where(fever, "ill", np.where(age > 52, "old", "well"))
    return columns, classes, 2 * age + 30 * fever + rng.normal(size=rows)


def fitted(estimator: Any, classes: int = 3) -> tuple[Any, dict[str, Any], np.ndarray]:
    X, labels, numbers = mixed_table()
    y = numbers if estimator in REGRESSORS else labels if classes == 3 else labels == "ill"
    return clone(estimator).fit(X, y), X, y


@every_estimator
@pytest.mark.parametrize("classes", [2, 3])
def test_an_onnx_file_predicts_the_same_also_for_missing_entries(estimator: Any, classes: int, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    model, X, _ = fitted(estimator, classes)
    session = runtime.InferenceSession(str(model.export_onnx(tmp_path / "model.onnx")))
    domain = model.schema_["suit"].domain
    codes = {**X, "fever": X["fever"].astype(float), "suit": np.array([domain.index(suit) for suit in X["suit"]])}
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, {i.name: codes[i.name] for i in session.get_inputs()}), strict=True))
    if estimator in CLASSIFIERS:
        np.testing.assert_allclose(found["class_probabilities"], model.predict_proba(X), atol=1e-12)
    else:
        np.testing.assert_allclose(found["predicted_mean"], model.predict(X), rtol=1e-12)
    if "predicted_std" in found:
        np.testing.assert_allclose(found["predicted_std"], model.predict(X, return_std=True)[1], rtol=1e-9)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda one: type(one).__name__)
def test_conformal_sets_cover_unseen_rows_and_are_saved(estimator: Any, tmp_path: Path) -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)
    noisy = np.where(np.random.default_rng(1).random(len(y)) < 0.25, (y + 1) % 3, y)
    learned, rest, of_learned, of_rest = train_test_split(X, noisy, test_size=0.6, random_state=0)
    held, new, of_held, of_new = train_test_split(rest, of_rest, test_size=0.5, random_state=0)
    model = clone(estimator).fit(learned, of_learned).calibrate(held, of_held)
    sets = model.predict_sets(new, coverage=0.8)
    covered = sets[np.arange(len(new)), of_new]
    assert covered.mean() > 0.7
    assert sets.mean() < 0.99
    assert sets[np.arange(len(new)), model.predict(new)].all()
    model.save(tmp_path / "model.neuid3")
    assert (load(tmp_path / "model.neuid3").predict_sets(new, coverage=0.8) == sets).all()
    with pytest.raises(ParameterError, match="by_leaf"):
        model.predict_sets(new, by_leaf=True)


@pytest.mark.parametrize("estimator", REGRESSORS, ids=lambda one: type(one).__name__)
def test_conformal_intervals_cover_unseen_rows(estimator: Any) -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = clone(estimator).fit(X[:200], y[:200]).calibrate(X[200:320], y[200:320])
    ends = model.predict_intervals(X[320:], coverage=0.8)
    assert 0.65 < ((ends[:, 0] <= y[320:]) & (y[320:] <= ends[:, 1])).mean() < 0.95
    with pytest.raises(DataError, match="not calibrated"):
        clone(estimator).fit(X[:200], y[:200]).predict_intervals(X)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda one: type(one).__name__)
def test_explanations_of_classes_that_are_dates_are_json(estimator: Any) -> None:
    X, labels, _ = mixed_table()
    days = pd.to_datetime(pd.Series(labels).map({"ill": "2026-01-01", "old": "2026-01-02", "well": "2026-01-03"}))
    explanation = clone(estimator).fit(X, days).explain(X, 0)
    assert len(json.loads(explanation.json())["classes"]) == 3


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda one: type(one).__name__)
def test_the_page_has_the_reliability_on_rows_that_were_not_learned_from(estimator: Any) -> None:
    X, labels, _ = mixed_table(300)
    table, y = pd.DataFrame(X).assign(size=np.linspace(0.0, 1.0, 300)), pd.Series(labels)  # no two rows are equal
    learned, unseen = table.index < 150, table.index >= 120
    model = clone(estimator).fit(table[learned], y[learned])
    page, sentences, found = page_and_scores(model, table[unseen], y[unseen])
    rows = table.index >= 150
    codes = np.searchsorted(model.classes_, y[rows])
    assert found == reliability(model.predict_proba(table[rows]), codes)
    assert "Reliability diagram" in page
    assert sentences[0].startswith("Of these 180 rows 30 were learned from: accuracy ")
    assert sentences[0].endswith(f"the other 150: accuracy {model.score(table[rows], y[rows]):.3f}.")
    with pytest.raises(DataError, match="does not know"):
        page_and_scores(model, table, np.full(300, "dead"))


@every_estimator
def test_a_picture_and_an_explanation_are_drawn(estimator: Any) -> None:
    model, X, _ = fitted(estimator)
    assert model.export_svg().startswith("<svg")
    assert "fever" in model.export_svg()
    assert model.explain(X, 3).svg().startswith("<svg")
    assert "<svg" in model._repr_html_inner()


@pytest.mark.parametrize("estimator", REGRESSORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(("offset", "factor"), [(0.0, 1e-9), (0.0, 1e140), (1e9, 1.0)])
def test_trees_do_not_depend_on_the_unit_of_the_target(estimator: Any, offset: float, factor: float) -> None:
    X, _, y = mixed_table()
    one, other = (clone(estimator).fit(X, target) for target in (y, offset + factor * y))
    np.testing.assert_allclose((other.predict(X) - offset) / factor, one.predict(X), atol=1e-5)


@pytest.mark.parametrize("estimator", REGRESSORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e9])
def test_amounts_are_written_with_digits_that_tell_them_apart(estimator: Any, factor: float) -> None:
    X, _, y = mixed_table()
    model = clone(estimator).fit(X, factor * y)
    text = str(model.explain(X, 0)).split("Tests that")[0]
    amounts = [float(amount) for amount in re.findall(r"  ([+-][0-9.]+)$", text, re.MULTILINE)]
    assert len({abs(amount) for amount in amounts}) >= 3
    assert max(map(abs, amounts)) > 0
    assert not re.search(r"\d{7}\.\d", text)  # no decimals behind millions
    predicted = float(re.findall(r"(?:here|Prediction:) ([-0-9.]+\d)", text)[0])
    assert predicted == pytest.approx(model.predict(X)[0], rel=0.01)


@pytest.mark.parametrize("estimator", [NeuID3Regressor(), *REGRESSORS], ids=lambda one: type(one).__name__)
def test_weights_that_sum_to_one_are_warned_of(estimator: Any) -> None:
    X, _, y = mixed_table()
    with pytest.warns(UserWarning, match="sum to 1, and nodes of less than min_mass=[0-9]+ are not split"):
        clone(estimator).fit(X, y, sample_weight=np.full(200, 1 / 200))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(estimator).fit(X, y, sample_weight=np.full(200, 0.5))


@every_estimator
def test_calibration_by_rows_most_of_which_were_learned_from_is_warned_of(estimator: Any) -> None:
    X, labels, numbers = mixed_table(100)
    table = pd.DataFrame(X).assign(size=np.linspace(0.0, 1.0, 100))  # no two rows are equal
    y = numbers if estimator in REGRESSORS else labels
    model = clone(estimator).fit(table[:60], y[:60])
    with pytest.warns(UserWarning, match="60 of these 100 rows are equal to a training row, so that sets"):
        model.calibrate(table, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.calibrate(table[30:], y[30:])


@every_estimator
def test_searches_and_pipelines_take_ensembles(estimator: Any) -> None:
    X, labels, numbers = mixed_table(80)
    y = numbers if estimator in REGRESSORS else labels
    search = GridSearchCV(
        make_pipeline(clone(estimator)), {f"{type(estimator).__name__.lower()}__max_depth": [1, 2]}, cv=2
    )
    assert search.fit(pd.DataFrame(X), y).best_params_


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (CLASSIFIERS[0], {"max_features": np.int64(2), "max_samples": np.int64(90), "max_depth": np.int64(3)}),
        (
            CLASSIFIERS[0],
            {"max_features": np.float32(0.5), "max_samples": np.float32(0.5), "min_mass": np.float32(4.0)},
        ),
        (CLASSIFIERS[1], {"learning_rate": np.float32(0.25), "l2": np.float32(2.0), "max_splits": np.int64(9)}),
    ],
)
def test_numbers_of_numpy_are_parameters_like_others(
    estimator: Any, parameters: dict[str, Any], tmp_path: Path
) -> None:
    X, y, _ = mixed_table()
    plain = clone(estimator).set_params(**{name: value.item() for name, value in parameters.items()}).fit(X, y)
    given = clone(estimator).set_params(**parameters).fit(X, y)
    np.testing.assert_array_equal(given.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(load(given.save(tmp_path / "model.neuid3")).predict_proba(X), plain.predict_proba(X))


@every_estimator
def test_numbers_that_rules_define_and_open_constants_are_tested_at_quantiles(estimator: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = {"weight": rng.normal(80, 15, 200).round(), "height": rng.normal(1.7, 0.1, 200).round(2)}
    bmi = X["weight"] / X["height"] ** 2
    X["weight"][:5] = np.nan
    rules = "bmi(B) :- B is weight / height ** 2. taller(H) :- height > H."
    trees = clone(estimator).set_params(background=rules, tests=["bmi", "taller(H)"])
    trees.fit(X, np.where(bmi > 28, 30.0, 20.0) if estimator in REGRESSORS else bmi > 28)
    assert "bmi > 2" in str(trees.explain(X, row=10))
    assert trees.rule_tests_ == ["bmi > …", "taller(…)"]
    assert (load(trees.save(tmp_path / "model")).predict(X) == trees.predict(X)).all()


def test_open_constants_of_a_constrained_column_are_not_tried() -> None:
    X = {"age": np.arange(60.0), "dose": np.arange(60.0) % 7}
    rules = "far(K) :- age * age > K. strong(K) :- dose > K."
    trees = NeuID3BoostingClassifier(max_trees=4, monotonic_cst={"age": 1}, background=rules)
    assert trees.fit(X, X["age"] > 30).rule_tests_ == ["strong(…)"]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("model", ["forest", "boosting"])
@pytest.mark.parametrize("target", ["state", "dose"])
def test_the_commands_fit_calibrate_and_predict_with_many_trees(tmp_path: Path, model: str, target: str) -> None:
    X, labels, numbers = mixed_table(150)
    table, file = tmp_path / "people.csv", tmp_path / "model.neuid3"
    pd.DataFrame({**X, "state": labels, "dose": numbers.round(2)}).to_csv(table, index=False)
    options = ["--model", model, "--max-depth", "3", "--calibration", "0.3", "--seed", "0", "--out", file]
    done = run("fit", table, "--target", target, *options)
    assert done.exit_code == 0, done.output
    for style in ("text", "svg", "json"):
        assert run("show", file, "--format", style).exit_code == 0
        assert run("explain", file, table, "--row", "2", "--format", style).exit_code == 0
    refused = run("show", file, "--format", "dot")
    assert refused.exit_code == 2
    assert "single trees" in refused.stderr
    lines = list(csv.reader(io.StringIO(run("predict", file, table, "--coverage", "0.8").stdout)))
    assert lines[0][-1] == ("set" if target == "state" else "high")
    assert "std" in lines[0] or target == "state" or model == "boosting"
    by_leaf = run("predict", file, table, "--coverage", "0.8", "--by-leaf")
    assert by_leaf.exit_code == 2
    assert "one tree" in by_leaf.stderr
    page = tmp_path / "page.html"
    assert run("report", file, table, "--target", target, "--out", page).exit_code == 0
    assert "<html" in page.read_text()


def test_a_monotone_forest_is_refused_by_the_command(tmp_path: Path) -> None:
    pd.DataFrame({"age": range(40), "ill": [i > 20 for i in range(40)]}).to_csv(tmp_path / "t.csv", index=False)
    done = run("fit", tmp_path / "t.csv", "--target", "ill", "--model", "forest", "--monotone", "age=1")
    assert done.exit_code == 2
    assert "--model boosting" in done.stderr


@every_estimator
@pytest.mark.parametrize("name", ["n_estimators", "max_trees"])
def test_no_trees_are_refused(estimator: Any, name: str) -> None:
    if name not in estimator.get_params():
        return
    X, labels, numbers = mixed_table(30)
    with pytest.raises((NeuID3Error, ValueError), match=name):
        clone(estimator).set_params(**{name: 0}).fit(X, numbers if estimator in REGRESSORS else labels)
