"""Sets and intervals by split conformal prediction: their coverage, and the quantiles behind them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuid3 import NeuID3Classifier, NeuID3Error, NeuID3Regressor, load
from neuid3.tree.conformal import (
    Calibration,
    conformal_quantile,
    leaf_groups,
    required_rows,
    smoothed_leaves,
)


def table(seed: int, n: int, classes: int = 3) -> tuple[dict[str, Any], np.ndarray]:
    """Numbers and a category, some missing; classes that depend on them with noise, which differs between regions."""
    rng = np.random.default_rng(seed)
    a, b, kind = rng.normal(size=n), rng.normal(size=n), rng.choice(["x", "y"], n)
    noise = np.where(kind == "x", 0.05, 0.5)
    y = np.where(rng.random(n) < noise, rng.integers(0, classes, n), (a > 0).astype(int) + (b > 0.5) * (classes > 2))
    return {"a": np.where(rng.random(n) < 0.1, np.nan, a), "b": b, "kind": kind}, y


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0.01, 0.99))
def test_quantile_is_the_rank_of_the_definition(scores: list[float], coverage: float) -> None:
    rank = math.ceil((len(scores) + 1) * coverage - 1e-9)
    expected = sorted(scores)[rank - 1] if rank <= len(scores) else math.inf
    assert conformal_quantile(np.array(scores), coverage) == expected
    assert (expected < math.inf) == (len(scores) >= required_rows(coverage))


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_coverage_is_exact_for_exchangeable_scores(coverage: float) -> None:
    # Of n + 1 exchangeable scores each is the last with the same probability: all of these splits are counted.
    scores = np.random.default_rng(0).permutation(40).astype(float)
    covered = [scores[i] <= conformal_quantile(np.delete(scores, i), coverage) for i in range(len(scores))]
    assert np.mean(covered) == pytest.approx(math.ceil(len(scores) * coverage) / len(scores))


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12), st.integers(1, 30))
def test_leaf_groups_have_enough_rows_where_all_together_have(counts: list[int], needed: int) -> None:
    groups = leaf_groups(np.array(counts), needed)
    assert all(group in (-1, leaf) for leaf, group in enumerate(groups.tolist()))
    if sum(counts) >= needed:
        for group in set(groups.tolist()):
            assert sum(count for count, other in zip(counts, groups, strict=True) if other == group) >= needed


@pytest.mark.parametrize("by_leaf", [False, True])
@pytest.mark.parametrize("coverage", [0.8, 0.9])
def test_sets_have_the_true_class_as_often_as_asked(coverage: float, by_leaf: bool) -> None:
    X, y = table(0, 400)
    clf = NeuID3Classifier(random_state=0).fit(X, y)
    covered = []
    for seed in range(1, 9):
        clf.calibrate(*table(seed, 150))
        X_new, y_new = table(100 + seed, 500)
        sets = clf.predict_sets(X_new, coverage, by_leaf=by_leaf)
        assert sets[np.arange(len(sets)), [clf.classes_.tolist().index(c) for c in clf.predict(X_new)]].all()
        covered.append(sets[np.arange(len(sets)), y_new].mean())
    # The mean over calibrations is the coverage or more; its standard error is about 0.01.
    assert np.mean(covered) >= coverage - 0.025


def test_coverage_by_leaf_group_holds_where_that_of_all_rows_hides_a_bad_leaf() -> None:
    X, y = table(0, 1000, classes=2)
    clf = NeuID3Classifier(random_state=0).fit(X, y).calibrate(*table(1, 1500, classes=2))
    X_new, y_new = table(2, 4000, classes=2)
    leaves = clf.model_.apply(X_new)
    worst = {}
    for by_leaf in (False, True):
        sets = clf.predict_sets(X_new, 0.9, by_leaf=by_leaf)
        hit = sets[np.arange(len(sets)), y_new]
        worst[by_leaf] = min(hit[leaves == leaf].mean() for leaf in np.unique(leaves) if (leaves == leaf).sum() > 100)
    assert worst[True] >= 0.87
    assert worst[True] > worst[False] + 0.03


@pytest.mark.parametrize("by_leaf", [False, True])
def test_intervals_have_the_true_number_as_often_as_asked(by_leaf: bool) -> None:
    def numbers(seed: int, n: int) -> tuple[dict[str, Any], np.ndarray]:
        rng = np.random.default_rng(seed)
        a, wild = rng.normal(size=n), rng.random(n) < 0.5
        return {"a": a, "wild": wild}, 3.0 * (a > 0) + rng.normal(0, np.where(wild, 3.0, 0.3))

    reg = NeuID3Regressor(random_state=0).fit(*numbers(0, 500))
    covered, widths = [], []
    for seed in range(1, 6):
        reg.calibrate(*numbers(seed, 300))
        X_new, y_new = numbers(50 + seed, 1000)
        low, high = reg.predict_intervals(X_new, 0.9, by_leaf=by_leaf).T
        covered.append(((low <= y_new) & (y_new <= high)).mean())
        widths.append(len(np.unique((high - low).round(6))))
        assert (low + high) / 2 == pytest.approx(reg.predict(X_new))
    assert np.mean(covered) >= 0.88
    assert min(widths) > 1 if by_leaf else max(widths) == 1


def test_smoothing_ranks_classes_that_a_leaf_has_no_example_of_by_the_nodes_above() -> None:
    X, y = table(3, 300)
    clf = NeuID3Classifier(pruning=0, random_state=0).fit(X, y)
    smoothed = smoothed_leaves(clf.tree_.root)
    assert smoothed.sum(axis=1) == pytest.approx(1.0)
    assert (smoothed > 0).all()
    assert any(0.0 in leaf.probabilities for leaf in clf.tree_.leaves)


def test_calibration_is_saved_with_the_model_and_ends_with_the_next_fit(tmp_path: Path) -> None:
    X, y = table(0, 300)
    clf = NeuID3Classifier(random_state=0).fit(X, y).calibrate(*table(1, 100))
    loaded = load(clf.save(tmp_path / "model.neuid3"))
    X_new, _ = table(2, 100)
    assert (loaded.predict_sets(X_new, 0.8, by_leaf=True) == clf.predict_sets(X_new, 0.8, by_leaf=True)).all()
    with pytest.raises(NeuID3Error, match="calibrate"):
        clf.fit(X, y).predict_sets(X_new)


@pytest.mark.parametrize("coverage", [0, 1, -0.5, 90, float("nan"), "0.9", True, None])
def test_a_coverage_that_is_no_probability_is_an_error(coverage: Any) -> None:
    X, y = table(0, 100)
    clf = NeuID3Classifier(random_state=0).fit(X, y).calibrate(*table(1, 50))
    with pytest.raises(NeuID3Error, match="coverage"):
        clf.predict_sets(X, coverage)


def test_bad_calibrations_are_errors() -> None:
    X, y = table(0, 200)
    clf = NeuID3Classifier(random_state=0).fit(X, y)
    with pytest.raises(NeuID3Error, match="not calibrated"):
        clf.predict_sets(X)
    with pytest.raises(NeuID3Error, match=r"needs at least 99 calibration rows, and there are 30"):
        clf.calibrate(*table(1, 30)).predict_sets(X, 0.99)
    with pytest.raises(NeuID3Error, match="class 7"):
        clf.calibrate(X, np.full(len(y), 7))
    with pytest.raises(NeuID3Error):
        clf.calibrate(X, y[:10])
    with pytest.warns(UserWarning, match="training row"):
        clf.calibrate(X, y)


def test_thresholds_of_a_leaf_without_calibration_rows_are_those_of_its_group() -> None:
    calibration = Calibration(np.linspace(0, 1, 50), np.repeat([0, 1], 25))
    by_leaf = calibration.thresholds(0.8, np.array([0, 1, 2]))
    assert by_leaf[0] < by_leaf[1]
    assert np.isfinite(by_leaf).all()
