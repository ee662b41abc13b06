"""Isotonic regression against the formula over all upper and lower sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuid3.tree.isotonic import isotonic, transitive_closure


def by_definition(values: np.ndarray, weights: np.ndarray, below: np.ndarray) -> list[float]:
    """For each item the greatest, over upper sets, of the least mean over the lower sets that have it too."""
    n = len(values)
    masks = [np.array([number >> i & 1 for i in range(n)], dtype=bool) for number in range(1, 2**n)]
    upper = [mask for mask in masks if not (below & mask[:, None] & ~mask[None, :]).any()]
    lower = [mask for mask in masks if not (below & ~mask[:, None] & mask[None, :]).any()]

    def mean(one: np.ndarray, other: np.ndarray) -> float:
        return float(np.average(values[one & other], weights=weights[one & other]))

    return [max(min(mean(u, w) for w in lower if w[i]) for u in upper if u[i]) for i in range(n)]


@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.sampled_from([0.1, 0.3, 0.8]))
def test_values_are_the_nearest_that_keep_to_the_order(seed: int, n: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    below = np.zeros((n, n), dtype=bool)
    below[np.ix_(order, order)] = np.triu(rng.random((n, n)) < density, 1)
    closed = transitive_closure(below)
    values, weights = rng.random(n).round(1), rng.integers(1, 5, n).astype(float)
    found = isotonic(values, weights, below)
    assert not (closed & (found[:, None] > found[None, :])).any()
    assert found == pytest.approx(by_definition(values, weights, closed))


def test_values_without_conflict_stay_bit_by_bit() -> None:
    values = np.array([0.1, 1 / 3, 0.7])
    below = np.triu(np.ones((3, 3), dtype=bool), 1)
    assert isotonic(values, np.ones(3), below).tobytes() == values.tobytes()


def test_a_cycle_makes_values_equal() -> None:
    below = np.array([[False, True], [True, False]])
    assert isotonic(np.array([0.0, 1.0]), np.array([1.0, 3.0]), below).tolist() == [0.75, 0.75]


def test_items_without_weight_follow_the_others() -> None:
    below = np.triu(np.ones((3, 3), dtype=bool), 1)
    found = isotonic(np.array([0.9, 0.1, 0.2]), np.array([0.0, 1.0, 1.0]), below)
    assert found.tolist() == [0.1, 0.1, 0.2]
