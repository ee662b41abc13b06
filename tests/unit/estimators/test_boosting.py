"""Boosted sums as scikit-learn estimators: scores, explanations, files and bad input."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import neuid3
from neuid3 import NeuID3BoostingClassifier, NeuID3BoostingRegressor, NeuID3Regressor, NeurosymbolicSum
from neuid3.errors import DataError, NeuID3Error, ParameterError

SMALL = {"max_trees": 8, "cv": 2, "patience": 3}


@parametrize_with_checks([NeuID3BoostingClassifier(**SMALL), NeuID3BoostingRegressor(**SMALL)])
def test_it_obeys_scikit_learns_contract(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def cards(n: int = 120, seed: int = 0) -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(seed)
    suit = rng.choice(["clubs", "hearts", "spades"], n).astype(object)
    rank, wild = rng.integers(1, 14, n).astype(float), rng.random(n) < 0.3
    y = np.where((suit == "hearts") & (rank > 6) | wild, "win", np.where(rank > 9, "draw", "lose"))
    return {"suit": suit, "rank": rank, "wild": wild}, y


def with_gaps(columns: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    gaps = {name: rng.random(len(values)) < 0.2 for name, values in columns.items()}
    return {name: np.where(gaps[name], None, values) for name, values in columns.items()}


def test_explanations_add_up_to_the_scores() -> None:
    X, y = cards()
    for columns in (X, with_gaps(X, np.random.default_rng(1))):
        for labels in (y, np.where(y == "win", "win", "lose")):
            clf = NeuID3BoostingClassifier(random_state=0, max_trees=15).fit(columns, labels)
            scores = clf.decision_function(columns).reshape(len(y), -1)
            trees = clf.contributions(columns)
            np.testing.assert_allclose(trees.sum(axis=1) + clf.sum_.initial, scores, atol=1e-12)
            for row in range(0, len(y), 17):
                why = clf.explain(columns, row)
                total = np.array(why.start) + np.sum([c.scores for c in why.contributions], axis=0)
                np.testing.assert_allclose(total, scores[row], atol=1e-12)
                np.testing.assert_allclose(np.sum(why.trees, axis=0) + why.initial, scores[row], atol=1e-12)
                listed = np.array(why.start) + np.sum([added for _, added in why.lines()], axis=0)
                np.testing.assert_allclose(listed, scores[row], atol=1e-12)
                assert why.prediction == clf.predict(columns)[row]


def test_probabilities_are_the_softmax_of_the_scores() -> None:
    X, y = cards()
    clf = NeuID3BoostingClassifier(random_state=0, max_trees=10).fit(X, y)
    powers = np.exp(clf.decision_function(X))
    np.testing.assert_allclose(clf.predict_proba(X), powers / powers.sum(axis=1, keepdims=True), atol=1e-12)
    binary = NeuID3BoostingClassifier(random_state=0, max_trees=10).fit(X, y == "win")
    odds = binary.predict_proba(X)
    np.testing.assert_allclose(np.log(odds[:, 1] / odds[:, 0]), binary.decision_function(X), atol=1e-9)


def test_one_tree_of_learning_rate_1_has_the_means_of_a_regression_tree() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    settings = {"max_depth": 2, "min_mass": 20.0}
    tree = NeuID3Regressor(pruning=0.0, **settings).fit(X, y)
    one = {"max_trees": 1, "learning_rate": 1.0, "l2": 0.0, "cv": None, "max_features": 1.0}
    reg = NeuID3BoostingRegressor(**one, **settings).fit(X, y)
    assert [str(test) for test in reg.sum_.tests] == [str(test) for test in tree.tree_.tests]
    np.testing.assert_allclose(reg.predict(X), tree.predict(X), rtol=1e-9)


def test_it_predicts_about_as_well_as_scikit_learns_boosting() -> None:
    X, y = load_diabetes(return_X_y=True)
    ours = cross_val_score(NeuID3BoostingRegressor(random_state=0, cv=2), X, y, cv=2).mean()
    theirs = cross_val_score(GradientBoostingRegressor(random_state=0), X, y, cv=2).mean()
    assert ours > theirs - 0.05


def test_a_scorecard_lists_each_column_once_and_the_picture_shows_it() -> None:
    data = load_breast_cancer(as_frame=True)
    clf = NeuID3BoostingClassifier(max_depth=1, max_splits=12, cv=None, random_state=0).fit(data.data, data.target)
    text = clf.export_text()
    lines = text.splitlines()
    titles = [line for line in lines[2:] if line and not line.startswith(" ")]
    assert len(titles) == len(set(titles)) == len({c for t in clf.sum_.tests for c in clf.model_.columns_of(t)})
    assert lines[0].startswith("The log-odds of '1' are the sum")
    svg = clf.export_svg()
    assert svg.startswith("<svg")
    assert all(title in svg for title in titles)
    assert "<svg" in clf._repr_html_inner()
    assert "… and" in clf.export_text(max_terms=1)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_a_saved_sum_is_the_same_when_loaded(tmp_path: Path, classes: int) -> None:
    X, y = cards()
    labels = np.where(y == "win", "win", "lose") if classes == 2 else y
    kind = NeuID3BoostingClassifier if classes else NeuID3BoostingRegressor
    fitted: Any = kind(random_state=0, max_trees=6, background="high :- rank > 9.").fit(
        X, labels if classes else X["rank"] * 2.0
    )
    loaded: Any = neuid3.load(fitted.save(tmp_path / "model"))
    assert type(loaded) is kind
    assert loaded.sum_ == fitted.sum_
    assert loaded.get_params() == fitted.get_params()
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(loaded.feature_importances_, fitted.feature_importances_)
    model = neuid3.load(fitted.model_.save(tmp_path / "sum"))
    assert isinstance(model, NeurosymbolicSum)
    np.testing.assert_array_equal(model.scores(X), fitted.model_.scores(X))


def test_validation_examples_choose_the_number_of_trees() -> None:
    X, y = cards()
    opposite = np.where(y == "win", "lose", "win")
    validated = NeuID3BoostingClassifier(random_state=0, max_features=1.0)
    with pytest.warns(UserWarning, match="No tree made unseen examples likelier"):
        validated.fit(X, opposite, validation=(cards(200, 3)[0], np.where(cards(200, 3)[1] == "win", "win", "lose")))
    assert not validated.sum_.trees
    assert len(set(validated.predict(X))) == 1
    record = validated.training_record_
    assert record is not None
    assert record.scores[0].rows == 200


def test_pipelines_searches_and_clones_work() -> None:
    X, y = load_wine(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), NeuID3BoostingClassifier(max_trees=5, cv=None, random_state=0)),
        {"neuid3boostingclassifier__max_depth": [1, 2], "neuid3boostingclassifier__training__epochs": [1]},
        cv=2,
    ).fit(X, y)
    assert search.best_score_ > 0.8
    first = clone(search.best_estimator_[-1]).fit(X, y)
    assert clone(first).fit(X, y).sum_ == first.sum_


def test_class_weights_move_the_predictions() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 1.5).astype(int)
    plain, balanced = (
        NeuID3BoostingClassifier(random_state=0, class_weight=weight, max_trees=20).fit(X, y)
        for weight in (None, "balanced")
    )
    assert balanced.predict(X).sum() > 2 * plain.predict(X).sum()
    assert plain.feature_importances_.argmax() == 0
    assert plain.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "parameters",
    [
        {"learning_rate": 0.0},
        {"learning_rate": -1.0},
        {"max_splits": 0},
        {"max_trees": 0},
        {"max_depth": 0},
        {"l2": -1.0},
        {"max_features": 0.0},
        {"max_features": 1.5},
        {"cv": 1},
        {"patience": 0},
    ],
)
def test_parameters_out_of_range_are_named(parameters: dict[str, Any]) -> None:
    X, y = cards()
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        NeuID3BoostingClassifier(**parameters).fit(X, y)


def test_targets_of_the_wrong_kind_are_refused() -> None:
    X, y = cards()
    with pytest.raises(DataError):
        NeuID3BoostingClassifier().fit(X, np.full(len(y), "win"))
    with pytest.raises(NeuID3Error):
        NeuID3BoostingRegressor().fit(X, y)
    with pytest.raises(NeuID3Error):
        NeuID3BoostingRegressor().fit(X, np.full(len(y), np.inf))
    with pytest.raises(DataError, match="no row 999"):
        NeuID3BoostingClassifier(max_trees=2, cv=None).fit(X, y).explain(X, 999)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([(np.arange(60), np.arange(60))], "60 of them the same"),
        ([(np.arange(60), np.arange(60, 120)), (np.arange(60), [])], "Split 1 .* 0 unseen rows"),
        ([], "cv has no splits"),
    ],
)
def test_splits_by_which_no_number_of_trees_can_be_chosen_are_refused(cv: Any, message: str) -> None:
    X, y = cards()
    with pytest.raises(ParameterError, match=message):
        NeuID3BoostingClassifier(cv=cv, max_trees=2).fit(X, y)


def test_a_sum_that_ran_out_of_time_says_so() -> None:
    X, y = cards()
    with pytest.warns(UserWarning, match="time_limit=0 was reached before the sum was finished; it has 0 trees"):
        NeuID3BoostingClassifier(time_limit=0.0).fit(X, y)


def test_a_class_of_validation_examples_alone_is_named() -> None:
    X, y = cards()
    with pytest.raises(DataError, match="validation examples have the class 2, which y does not have"):
        NeuID3BoostingClassifier().fit(X, (y == "win").astype(int), validation=(X, np.full(len(y), 2)))
