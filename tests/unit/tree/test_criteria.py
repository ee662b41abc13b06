"""Bits, counted plainly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuid3.tree.criteria import PRIOR_STRENGTH, code_length, entropy, information_gain, leaf_estimate

masses = st.lists(st.floats(0, 100), min_size=3, max_size=3).map(np.array)


def plain_entropy(counts: list[float]) -> float:
    total = sum(counts)
    return -sum(c / total * math.log2(c / total) for c in counts if c / total > 0) if total > 0 else 0.0


@given(masses)
def test_entropy_is_what_the_formula_says(counts: np.ndarray) -> None:
    assert float(entropy(counts)) == pytest.approx(plain_entropy(counts.tolist()), abs=1e-9)


@given(masses, masses)
def test_gain_is_entropy_before_less_entropy_after(yes: np.ndarray, no: np.ndarray) -> None:
    total = float((yes + no).sum())
    if total == 0:
        assert float(information_gain(yes, no)) == 0.0
        return
    after = (yes.sum() * plain_entropy(yes.tolist()) + no.sum() * plain_entropy(no.tolist())) / total
    expected = max(plain_entropy((yes + no).tolist()) - after, 0.0)
    assert float(information_gain(yes, no)) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.tuples(masses, masses), min_size=1, max_size=5))
def test_many_tests_are_scored_at_once(pairs: list[tuple[np.ndarray, np.ndarray]]) -> None:
    together = information_gain(np.stack([yes for yes, _ in pairs]), np.stack([no for _, no in pairs]))
    np.testing.assert_allclose(together, [float(information_gain(yes, no)) for yes, no in pairs])


def test_leaves_hold_the_shares_of_the_mass_that_reaches_them() -> None:
    assert leaf_estimate(np.array([1.0, 3.0])) == (0.25, 0.75)
    assert leaf_estimate(np.zeros(2)) == (0.5, 0.5)


@given(st.lists(st.integers(0, 3), max_size=30))
def test_the_code_tells_one_example_after_the_other_with_the_shares_so_far(classes: list[int]) -> None:
    seen, bits = [0, 0, 0, 0], 0.0
    for label in classes:
        bits -= math.log2((seen[label] + PRIOR_STRENGTH / 4) / (sum(seen) + PRIOR_STRENGTH))
        seen[label] += 1
    assert code_length(np.array(seen, dtype=float)) == pytest.approx(bits, abs=1e-9)
