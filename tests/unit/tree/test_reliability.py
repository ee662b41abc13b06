"""Reliability of class probabilities: bins, calibration error, and what chance alone shows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuid3.tree.reliability import reliability


def predictions(seed: int, n: int, skill: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of two classes with few distinct values, and classes drawn from them, or from something flatter."""
    rng = np.random.default_rng(seed)
    positive = rng.choice([0.05, 0.2, 0.35, 0.6, 0.8, 0.9, 0.99], n)
    truth = 0.5 + skill * (positive - 0.5)
    return np.stack((1 - positive, positive), axis=1), (rng.random(n) < truth).astype(np.int64)


@given(st.integers(0, 2**32 - 1), st.integers(1, 200), st.integers(1, 12))
def test_bins_hold_every_row_once_in_ascending_order(seed: int, n: int, bins: int) -> None:
    probabilities, codes = predictions(seed, n)
    found = reliability(probabilities, codes, bins)
    assert sum(b.rows for b in found.bins) == found.rows == n
    assert len(found.bins) <= bins
    confidences = [b.confidence for b in found.bins]
    assert confidences == sorted(confidences)
    right = sum(b.rows * b.accuracy for b in found.bins)
    assert right == pytest.approx((probabilities.argmax(axis=1) == codes).sum())
    assert found.calibration_error == pytest.approx(
        sum(b.rows * abs(b.accuracy - b.confidence) for b in found.bins) / n
    )


def test_chance_alone_shows_what_a_calibrated_model_shows_on_average() -> None:
    for n in (40, 400):
        found = [reliability(*predictions(seed, n)) for seed in range(300)]
        shown = np.mean([each.calibration_error for each in found])
        assert shown == pytest.approx(np.mean([each.by_chance for each in found]), rel=0.15)


def test_an_overconfident_model_shows_more_than_chance() -> None:
    found = reliability(*predictions(0, 2000, skill=0.5))
    assert found.calibration_error > found.by_chance + 5 * found.error
    assert found.to_json()["bins"][0]["rows"] == found.bins[0].rows
    assert "2,000 rows" in str(found)


def test_a_bin_without_mistakes_is_not_certain_to_have_none() -> None:
    found = reliability(np.array([[0.0, 1.0]] * 5), np.ones(5, dtype=np.int64))
    assert found.bins[0].accuracy == 1.0
    assert found.bins[0].error > 0.05
