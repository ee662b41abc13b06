"""Dates from table to tree, text, explanation, ProbLog and file, in every estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from neuid3 import (
    NeuID3BoostingClassifier,
    NeuID3Classifier,
    NeuID3ForestClassifier,
    NeuID3ForestRegressor,
    NeuID3Regressor,
    load,
)
from neuid3.errors import NodeTestError, RuleError
from neuid3.export.problog import verify


def orders(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ordered = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D")
    shipped = ordered + pd.to_timedelta(rng.integers(0, 30, n), unit="D")
    frame = pd.DataFrame({"ordered": ordered, "shipped": shipped.strftime("%Y-%m-%d"), "price": rng.normal(size=n)})
    frame.loc[[3, 7], "ordered"] = pd.NaT
    return frame


def difference(frame: pd.DataFrame) -> Any:
    return (pd.to_datetime(frame["shipped"]) - frame["ordered"]).dt.days.fillna(0)


def test_a_cut_is_printed_as_a_date_and_exported_as_a_number(tmp_path: Any) -> None:
    frame = orders()
    y = np.where(frame["ordered"] > "2024-05-20", "new", "old")
    clf = NeuID3Classifier(max_depth=1).fit(frame, y)
    assert clf.export_text().startswith("ordered =< 2024-05-20?")
    assert "ordered =&lt; 2024-05-20" in clf.export_svg()
    assert "ordered: 2024-" in str(clf.model_.explain(frame, 0))
    assert "ordered > 2024-05-20 held" in str(clf.model_.explain(frame[frame["ordered"] < "2024-05-01"], 0))
    assert "'=<',19863.0" in clf.to_problog(frame, 0)
    assert verify(clf.model_, frame, rows=10) < 1e-6
    path = clf.save(tmp_path / "model")
    loaded = load(path)
    assert loaded.export_text() == clf.export_text()
    assert np.array_equal(loaded.predict_proba(frame), clf.predict_proba(frame))


def test_weekday_and_difference_are_found_and_their_gain_is_that_of_the_dates() -> None:
    frame = orders()
    y = np.where((difference(frame) > 14) | (frame["ordered"].dt.day_of_week == 6), "late", "in time")
    clf = NeuID3Classifier().fit(frame, y)
    assert {str(test) for test in clf.tree_.tests} == {"days(ordered, shipped) =< 14.5", "weekday(ordered, sunday)"}
    assert clf.score(frame.dropna(), y[frame["ordered"].notna()]) == 1.0
    assert set(clf.schema_) == {"ordered", "shipped", "price", "days(ordered, shipped)", "weekday(ordered)"}
    assert clf.feature_importances_.shape == (3,)
    assert clf.feature_importances_[2] == 0.0
    assert verify(clf.model_, frame, rows=5) < 1e-6  # row 3 has a missing date


def test_rules_calculate_with_dates_in_days() -> None:
    frame = orders()
    rules = """
        late :- shipped - ordered > 14.
        spring :- ordered >= 2024-03-01, ordered < '2024-06-01'.
        weekend :- weekday(ordered, saturday).
        weekend :- weekday(ordered, sunday).
        lag(D) :- D is days(ordered, shipped).
    """
    targets = {
        "late": difference(frame) > 14,
        "spring": (frame["ordered"] >= "2024-03-01") & (frame["ordered"] < "2024-06-01"),
        "weekend": frame["ordered"].dt.day_of_week >= 5,
    }
    for name, y in targets.items():
        clf = NeuID3Classifier(background=rules, tests=[name]).fit(frame, y)
        assert clf.score(frame.dropna(), y[frame["ordered"].notna()]) == 1.0, name
        assert verify(clf.model_, frame, rows=5) < 1e-6
    found = NeuID3Classifier(background=rules, tests=["lag"]).fit(frame, targets["late"])
    assert str(found.tree_.tests[0]) == "lag > 14.5"


def test_constants_that_are_compared_with_dates_are_found_and_printed_as_dates(tmp_path: Any) -> None:
    frame = orders()
    frame["shipped"] = pd.to_datetime(frame["shipped"]) + pd.to_timedelta(np.arange(len(frame)) % 24, unit="h")
    rules = """
        after(Day) :- ordered > Day.
        due(D) :- D is ordered + 14.
        last(D) :- D is max(ordered, shipped).
        noon(T) :- arrived >= T.
        lag(D) :- D is shipped - ordered.
    """
    frame["arrived"] = pd.Timestamp("2024-05-20") + pd.to_timedelta(np.arange(len(frame)) % 24, unit="h")
    new = frame["ordered"] > "2024-05-20"
    late = np.where(frame["shipped"] > "2024-05-20 12:30", "late", "early")
    for test, y, printed, explained in [
        ("after(Day)", new, "after(2024-05-20)", "ordered = 2024-"),
        ("due", new, "due > 2024-06-03", "ordered + 14 = 2024-"),
        ("last", late, "last > 2024-05-2", "max(ordered, shipped) = 2024-"),
        ("noon(T)", frame["arrived"].dt.hour > 12, "noon('2024-05-20 1", "arrived = 2024-05-20"),
        ("lag", difference(frame) > 14, "lag > 14.", "shipped - ordered = "),
    ]:
        clf = NeuID3Classifier(background=rules, tests=[test], max_depth=1, pruning=0).fit(frame, y)
        assert clf.export_text().startswith(printed)
        assert explained in str(clf.explain(frame, row=0))
        assert verify(clf.model_, frame, rows=8) < 1e-6
        loaded = load(clf.save(tmp_path / "model"))
        assert loaded.export_text() == clf.export_text()
        assert np.array_equal(loaded.predict_proba(frame), clf.predict_proba(frame))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("a :- ordered > 2024-02-30.", "Line 1: '2024-02-30' is no date of the calendar"),
        ("a :- ordered > '2024-02-30'.", "compares '2024-02-30', which is neither a column nor a date; write dates as"),
    ],
)
def test_dates_that_no_calendar_has_are_refused(rule: str, message: str) -> None:
    frame = orders()
    with pytest.raises(RuleError, match=message):
        NeuID3Classifier(background=rule).fit(frame, frame["ordered"] > "2024-05-20")
    with pytest.raises(NodeTestError, match="is no date of the calendar"):
        NeuID3Classifier(background="a :- price > 0.", tests=["ordered > 2024-13-01"]).fit(frame, frame["price"] > 0)


@pytest.mark.parametrize("estimator", [NeuID3ForestClassifier(n_estimators=5), NeuID3BoostingClassifier()])
def test_ensembles_cut_dates_and_survive_a_file(estimator: Any, tmp_path: Any) -> None:
    frame = orders()
    y = np.where(frame["ordered"] > "2024-05-20", "new", "old")
    estimator.fit(frame, y)
    assert estimator.score(frame.dropna(), y[frame["ordered"].notna()]) > 0.99
    assert "ordered =< 2024-05-2" in estimator.export_text()
    path = estimator.save(tmp_path / "model")
    loaded = load(path)
    assert loaded.export_text() == estimator.export_text()
    assert np.allclose(loaded.predict_proba(frame), estimator.predict_proba(frame))


@pytest.mark.parametrize("estimator", [NeuID3Regressor(), NeuID3ForestRegressor(n_estimators=5)])
def test_regressors_find_the_difference_of_dates(estimator: Any) -> None:
    frame = orders()
    y = difference(frame).to_numpy(float)
    known = frame["ordered"].notna().to_numpy()
    assert estimator.fit(frame, y).score(frame[known], y[known]) > 0.95


def test_a_monotone_date_is_only_cut() -> None:
    frame = orders().drop(columns="shipped")
    y = np.where(frame["ordered"] > "2024-05-20", 1, 0)
    clf = NeuID3Classifier(monotonic_cst={"ordered": 1}).fit(frame, y)
    assert set(clf.model_.columns) == {"ordered"}
