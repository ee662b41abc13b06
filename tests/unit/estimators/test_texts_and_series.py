"""Texts and series from table to tree, explanation, ProbLog and file, in every estimator; no network is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from neuid3 import (
    NeuID3BoostingClassifier,
    NeuID3Classifier,
    NeuID3ForestClassifier,
    NeuID3Regressor,
    load,
)
from neuid3.export.problog import verify

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
    "headache",
]


def clinic(n: int = 240) -> tuple[pd.DataFrame, Any, Any]:
    rng = np.random.default_rng(0)
    ill, fast = rng.random(n) < 0.5, rng.random(n) < 0.5
    notes, pulses = [], []
    for row in range(n):
        text = list(rng.choice(FILLERS, rng.integers(5, 12)))
        told = ["Chest pain,"] if ill[row] else [["pain"], ["chest"], []][int(rng.integers(3))]
        position = int(rng.integers(len(text)))
        notes.append(" ".join([*text[:position], *told, *text[position:]]))
        pulses.append((70 + 25 * fast[row] + 3 * rng.normal(size=20)).round(1).tolist())
    notes[5] = None
    pulses[6] = None
    return pd.DataFrame({"note": notes, "pulse": pulses, "age": rng.integers(20, 90, n)}), ill, fast


def test_a_phrase_is_found_quoted_exported_and_saved(tmp_path: Any) -> None:
    X, ill, _ = clinic()
    clf = NeuID3Classifier().fit(X, ill)
    assert [str(test) for test in clf.tree_.tests] == ["contains(note, 'chest pain')"]
    assert set(clf.schema_) == {"note", "pulse", "age", "contains(note, 'chest pain')"}
    explanation = str(clf.explain(X, int(np.flatnonzero(ill)[0])))
    assert "contains(note, 'chest pain'): true, \"" in explanation
    assert "Chest pain," in explanation
    assert verify(clf.model_, X, rows=7) < 1e-6  # row 5 has no note
    loaded = load(clf.save(tmp_path / "model"))
    assert np.array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    assert np.array_equal(loaded.predict(X), clf.predict(X))


def test_a_series_is_tested_by_what_describes_it() -> None:
    X, _, fast = clinic()
    clf = NeuID3Classifier().fit(X, fast)
    assert len(clf.tree_.tests) == 1
    assert str(clf.tree_.tests[0]).split("(")[1].startswith("pulse")
    known = X["pulse"].notna().to_numpy()
    assert clf.score(X[known], fast[known]) == 1.0
    assert clf.feature_importances_.tolist() == [0.0, 1.0, 0.0]
    assert verify(clf.model_, X, rows=7) < 1e-6


def test_rules_mention_phrases_and_means() -> None:
    X, ill, fast = clinic()
    rules = "alarm :- contains(note, 'chest pain'), mean(pulse) > 82."
    clf = NeuID3Classifier(background=rules, tests=["alarm"]).fit(X, ill & fast)
    known = X.notna().all(axis=1).to_numpy()
    assert clf.score(X[known], (ill & fast)[known]) == 1.0
    assert verify(clf.model_, X, rows=7) < 1e-6
    assert set(clf.model_.columns) == {"contains(note, 'chest pain')", "mean(pulse)"}


@pytest.mark.parametrize("estimator", [NeuID3ForestClassifier(n_estimators=10), NeuID3BoostingClassifier(max_trees=20)])
def test_ensembles_read_texts_and_series(estimator: Any, tmp_path: Any) -> None:
    X, ill, fast = clinic()
    y = ill & fast
    estimator.fit(X[:160], y[:160])
    assert estimator.score(X[160:], y[160:]) > 0.95
    loaded = load(estimator.save(tmp_path / "model"))
    assert np.allclose(loaded.predict_proba(X), estimator.predict_proba(X))


def test_a_regressor_chooses_phrases_by_the_variance_they_explain() -> None:
    X, ill, _ = clinic()
    reg = NeuID3Regressor().fit(X, 10.0 * ill + X["age"] / 100)
    assert str(reg.tree_.tests[0]) == "contains(note, 'chest pain')"
