"""Bits, counted plainly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuid3.errors import DataError
from neuid3.tree.criteria import (
    PRIOR_STRENGTH,
    ClassCriterion,
    GiniCriterion,
    criterion_of,
    register_criterion,
)

THREE = ClassCriterion(3)


masses = st.lists(st.floats(0, 100), min_size=3, max_size=3).map(np.array)


def plain_entropy(counts: list[float]) -> float:
    total = sum(counts)
    return -sum(c / total * math.log2(c / total) for c in counts if c / total > 0) if total > 0 else 0.0


@given(masses)
def test_entropy_is_what_the_formula_says(counts: np.ndarray) -> None:
    assert float(THREE.entropy(counts)) == pytest.approx(plain_entropy(counts.tolist()), abs=1e-9)


@given(masses, masses)
def test_gain_is_entropy_before_less_entropy_after(yes: np.ndarray, no: np.ndarray) -> None:
    total = float((yes + no).sum())
    if total == 0:
        assert float(THREE.gain(yes, no)) == 0.0
        return
    after = (yes.sum() * plain_entropy(yes.tolist()) + no.sum() * plain_entropy(no.tolist())) / total
    expected = max(plain_entropy((yes + no).tolist()) - after, 0.0)
    assert float(THREE.gain(yes, no)) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.tuples(masses, masses), min_size=1, max_size=5))
def test_many_tests_are_scored_at_once(pairs: list[tuple[np.ndarray, np.ndarray]]) -> None:
    together = THREE.gain(np.stack([yes for yes, _ in pairs]), np.stack([no for _, no in pairs]))
    np.testing.assert_allclose(together, [float(THREE.gain(yes, no)) for yes, no in pairs])


def test_leaves_hold_the_shares_of_the_mass_that_reaches_them() -> None:
    assert ClassCriterion(2).leaf(np.array([1.0, 3.0])).probabilities == (0.25, 0.75)
    assert ClassCriterion(2).leaf(np.zeros(2)).probabilities == (0.5, 0.5)


@given(st.lists(st.integers(0, 3), max_size=30))
def test_the_code_tells_one_example_after_the_other_with_the_shares_so_far(classes: list[int]) -> None:
    seen, bits = [0, 0, 0, 0], 0.0
    for label in classes:
        bits -= math.log2((seen[label] + PRIOR_STRENGTH / 4) / (sum(seen) + PRIOR_STRENGTH))
        seen[label] += 1
    assert ClassCriterion(4).code_length(np.array(seen, dtype=float), np.ones(4)) == pytest.approx(bits, abs=1e-9)


@given(masses)
def test_gini_impurity_is_the_chance_that_two_examples_differ(counts: np.ndarray) -> None:
    frequencies = counts / counts.sum() if counts.sum() > 0 else counts
    expected = sum(p * q for i, p in enumerate(frequencies) for j, q in enumerate(frequencies) if i != j)
    assert float(GiniCriterion(3).impurity(counts)) == pytest.approx(expected, abs=1e-9)


class Unnamed(ClassCriterion):
    pass


class Impostor(ClassCriterion):
    name = "gini"


def test_a_criterion_is_known_by_its_name_once_it_is_registered() -> None:
    with pytest.raises(DataError, match="criterion='Unnamed' is not known; give one of 'entropy', 'gini'"):
        criterion_of("Unnamed")
    own = register_criterion(Unnamed())
    assert criterion_of("Unnamed") is own
    assert criterion_of(own) is own


def test_a_name_belongs_to_one_criterion() -> None:
    with pytest.raises(DataError, match="'gini' belongs to GiniCriterion; give Impostor another `name`"):
        register_criterion(Impostor())
