"""Forests and boosted sums over parts of examples: queries, missing entries, numbers, files, explanations, pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from neuid3 import (
    Examples,
    NeuID3BoostingClassifier,
    NeuID3BoostingRegressor,
    NeuID3ForestClassifier,
    NeuID3ForestRegressor,
    load,
)
from neuid3.tree.query_tests import QueryTest

CLASSIFIERS = (
    NeuID3ForestClassifier(n_estimators=10, random_state=0),
    NeuID3BoostingClassifier(max_trees=20, random_state=0),
)
REGRESSORS = (
    NeuID3ForestRegressor(n_estimators=10, random_state=0),
    NeuID3BoostingRegressor(max_trees=40, random_state=0),
)
each_classifier = pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda one: type(one).__name__)
each_regressor = pytest.mark.parametrize("estimator", REGRESSORS, ids=lambda one: type(one).__name__)


def trains(rows: int, seed: int, missing: float = 0.0) -> tuple[Examples, np.ndarray, np.ndarray]:
    """Trains, whether some long car has a flat roof, and the number of long cars with noise; some roofs are missing."""
    rng = np.random.default_rng(seed)
    train = np.repeat(np.arange(rows), rng.integers(1, 5, rows))
    long = rng.random(len(train)) < 0.5
    roof = rng.choice(["flat", "open", "arc"], len(train)).astype(object)
    east = np.bincount(train[long & (roof == "flat")], minlength=rows) > 0
    number = np.bincount(train[long], minlength=rows) + rng.normal(0, 0.1, rows)
    roof[rng.random(len(train)) < missing] = None
    cars = {"train": train, "long": long, "roof": roof}
    X = Examples({"train": np.arange(rows)}, parts={"car": (cars, "train")})
    return X, np.where(east, "east", "west"), number


@each_classifier
def test_classes_that_depend_on_one_part_are_learned(estimator: Any, tmp_path: Path) -> None:
    X, y, _ = trains(300, 0)
    new, truth, _ = trains(200, 1)
    clf = clone(estimator).fit(X, y)
    assert clf.score(new, truth) == 1.0
    assert "roof(C, flat)" in str(clf.explain(new, 0))
    clf.save(tmp_path / "model.neuid3")
    np.testing.assert_array_equal(load(tmp_path / "model.neuid3").predict_proba(new), clf.predict_proba(new))
    assert cross_val_score(clone(estimator), X, y, cv=3).min() > 0.9


@each_classifier
def test_missing_entries_are_summed_out(estimator: Any) -> None:
    X, y, _ = trains(300, 0, missing=0.1)
    clf = clone(estimator).fit(X, y)
    new, truth, _ = trains(200, 1)
    assert clf.score(new, truth) > 0.95

    one, _, _ = trains(1, 4)
    row = dict(one.column("car").values[0].table.items())
    roofs = np.array(["flat", "open", "arc"])

    def with_roof(roof: Any) -> Examples:
        roofs_of_cars = np.array(row["roof"].kind.domain, dtype=object)[row["roof"].values]
        roofs_of_cars[0] = roof
        cars = {"train": np.zeros(len(roofs_of_cars), dtype=int), "long": row["long"].values, "roof": roofs_of_cars}
        return Examples({"train": [0]}, parts={"car": (cars, "train")}, kinds={"car": {"roof": X_roof}})

    X_roof = dict(X.schema["car"].columns)["roof"]
    prior = clf.model_.priors.columns["car.roof"]
    weights = [prior[roof] if hasattr(prior, "keys") else prior[X_roof.domain.index(roof)] for roof in roofs]
    # The score of a boosted sum is the expected score, of which the probability is computed.
    expect = clf.model_.scores if hasattr(clf.model_, "scores") else clf.predict_proba
    expected = sum(w * expect(with_roof(roof)) for w, roof in zip(weights, roofs, strict=True))
    np.testing.assert_allclose(expect(with_roof(None)), expected, atol=1e-9)


@each_regressor
def test_numbers_are_learned_from_parts(estimator: Any) -> None:
    X, _, y = trains(400, 0)
    new, _, truth = trains(200, 1)
    assert clone(estimator).fit(X, y).score(new, truth) > 0.85


def test_the_queries_of_a_forest_stand_alone() -> None:
    X, y, _ = trains(200, 0)
    clf = clone(CLASSIFIERS[0]).fit(X, y)
    tests = [test for test in clf.forest_.tests if isinstance(test, QueryTest)]
    assert tests
    assert all(test.inherited == 0 and test.added == test.query for test in tests)
    assert len({str(test) for test in tests}) == len(tests)


def test_modes_say_which_queries_a_forest_may_ask() -> None:
    X, y, _ = trains(200, 0)
    clf = clone(CLASSIFIERS[0]).set_params(modes=["car(-car)", "long(+car)"]).fit(X, y)
    assert any("long" in str(test) for test in clf.forest_.tests)
    assert not any("roof" in str(test) for test in clf.forest_.tests)
