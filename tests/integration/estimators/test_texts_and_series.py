"""Texts from table to tree, explanation, ProbLog and file, in every estimator; no network is trained."""

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
from neuid3.data.texts import score_terms
from neuid3.export.problog import verify
from neuid3.learning.derived_columns import telling_phrases
from neuid3.learning.phrase_scores import phrase_scores
from neuid3.tree.criteria import ClassCriterion
from neuid3.tree.target import Target

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
    X = X.drop(columns="pulse")
    clf = NeuID3Classifier().fit(X, ill)
    assert [str(test) for test in clf.tree_.tests] == ["contains(note, 'chest pain')"]
    assert set(clf.schema_) == {"note", "age", "contains(note, 'chest pain')"}
    explanation = str(clf.explain(X, int(np.flatnonzero(ill)[0])))
    assert "contains(note, 'chest pain'): true, \"" in explanation
    assert "Chest pain," in explanation
    assert verify(clf.model_, X, rows=7) < 1e-6  # row 5 has no note
    loaded = load(clf.save(tmp_path / "model"))
    assert np.array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    assert np.array_equal(loaded.predict(X), clf.predict(X))


def test_rules_mention_phrases_and_means() -> None:
    X, ill, fast = clinic()
    rules = "alarm :- contains(note, 'chest pain'), mean(pulse) > 82."
    clf = NeuID3Classifier(background=rules, tests=["alarm"]).fit(X, ill & fast)
    known = X.notna().all(axis=1).to_numpy()
    assert clf.score(X[known], (ill & fast)[known]) == 1.0
    assert verify(clf.model_, X, rows=7) < 1e-6
    assert set(clf.model_.columns) == {"contains(note, 'chest pain')", "mean(pulse)"}


@pytest.mark.parametrize("estimator", [NeuID3ForestClassifier(n_estimators=10), NeuID3BoostingClassifier(max_trees=20)])
def test_ensembles_read_texts(estimator: Any, tmp_path: Any) -> None:
    X, ill, _ = clinic()
    X = X.drop(columns="pulse")
    estimator.fit(X[:160], ill[:160])
    assert estimator.score(X[160:], ill[160:]) > 0.95
    loaded = load(estimator.save(tmp_path / "model"))
    assert np.allclose(loaded.predict_proba(X), estimator.predict_proba(X))


def test_a_regressor_chooses_phrases_by_the_variance_they_explain() -> None:
    X, ill, _ = clinic()
    X = X.drop(columns="pulse")
    reg = NeuID3Regressor().fit(X, 10.0 * ill + X["age"] / 100)
    assert str(reg.tree_.tests[0]) == "contains(note, 'chest pain')"


GOOD = ["fine", "well", "calm", "better", "strong", "eats", "walks", "laughs", "sleeps"]
BAD = ["pale", "weak", "dizzy", "sweats", "faints", "shivers", "vomits", "limps", "groans"]


def letters(n: int = 600) -> tuple[pd.DataFrame, Any]:
    """Notes with some good and some bad signs; a patient is ill who has more of the bad ones."""
    rng = np.random.default_rng(1)
    bad = rng.random((n, len(BAD))) < 0.35
    good = rng.random((n, len(GOOD))) < 0.35
    notes = [
        " ".join(rng.permutation([*np.array(BAD)[b], *np.array(GOOD)[g], *rng.choice(FILLERS, 5)]))
        for b, g in zip(bad, good, strict=True)
    ]
    return pd.DataFrame({"note": notes}), bad.sum(1) > good.sum(1)


def test_a_score_of_many_phrases_stands_in_one_test(tmp_path: Any) -> None:
    X, ill = letters()
    clf = NeuID3Classifier().fit(X[:400], ill[:400])
    assert str(clf.tree_.root.test).startswith("score(note, '")
    assert clf.score(X[400:], ill[400:]) > 0.9
    text = clf.export_text()
    assert max(map(len, text.splitlines())) < 120
    weights = score_terms(" ".join(text.split("Phrases of the scores:")[1].splitlines()[2:]))
    signs = {np.sign(weights[word]) for word in BAD if word in weights}
    assert len(signs) == 1
    assert {-np.sign(weights[word]) for word in GOOD if word in weights} == signs
    assert sum(word in weights for word in [*GOOD, *BAD]) >= 16
    row = int(np.flatnonzero(ill)[0])
    explanation = str(clf.explain(X, row))
    assert any(f"{sign}" in explanation for sign in BAD if sign in X["note"][row])
    assert verify(clf.model_, X, rows=7) < 1e-6
    loaded = load(clf.save(tmp_path / "model"))
    assert np.array_equal(loaded.predict_proba(X), clf.predict_proba(X))


def test_noise_has_no_score() -> None:
    X, ill = letters()
    for seed in range(5):
        noise = np.random.default_rng(seed).permutation(ill)
        target = Target(noise.astype(np.int64), np.ones(len(noise)), ClassCriterion(2))
        phrases, occurs = telling_phrases(X["note"].tolist(), target)
        assert len(phrases) > 20
        assert not list(phrase_scores(phrases, occurs, target))


def test_a_number_has_a_score_too() -> None:
    X, _ = letters()
    y = sum(X["note"].str.contains(word).astype(float) for word in BAD)
    reg = NeuID3Regressor().fit(X[:400], y[:400])
    assert str(reg.tree_.root.test).startswith("score(note, '")
    assert reg.score(X[400:], y[400:]) > 0.85


def test_of_equally_good_cuts_of_series_the_widest_is_chosen() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2 == 1
    level = np.where(y, 10.0, 0.0)[:, None]  # means lie far apart, deviations 1 and 2
    series = level + rng.normal(size=(40, 30)) * np.where(y, 2.0, 1.0)[:, None]
    X = pd.DataFrame({"pulse": [row.tolist() for row in series]})
    for names in (["deviation(pulse)", "mean(pulse)"], ["mean(pulse)", "deviation(pulse)"]):
        assert str(NeuID3Classifier(tests=names).fit(X, y).tree_.root.test).startswith("mean(pulse)")
