"""Concepts of cards, and the units of the experiments with parts."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.datasets.pictured import (
    CONCEPTS,
    RANKS,
    SUITS,
    differs_from_last_run,
    has_odd_runs,
    has_pair,
    has_two_red_courts,
    is_of_one_suit,
)
from experiments.relational import literals
from experiments.units import PICTURED_PEERS, units
from neuid3.queries import parse_query


def cards(*names: str) -> np.ndarray:
    """Cards such as `hearts-12`."""
    return np.array([SUITS.index(n.split("-")[0]) * RANKS + int(n.split("-")[1]) - 1 for n in names])


def test_concepts_of_hands() -> None:
    assert has_pair(cards("hearts-3", "clubs-3", "clubs-5"))
    assert not has_pair(cards("hearts-3", "hearts-4", "hearts-5"))
    assert has_two_red_courts(cards("hearts-11", "diamonds-13", "clubs-1"))
    assert not has_two_red_courts(cards("hearts-11", "clubs-13", "diamonds-10"))
    assert is_of_one_suit(cards("spades-1", "spades-9"))
    assert not is_of_one_suit(cards("spades-1", "clubs-9"))


def test_concepts_of_histories() -> None:
    assert has_odd_runs(cards("hearts-1", "clubs-1", "spades-2", "clubs-3", "diamonds-1"))
    assert not has_odd_runs(cards("hearts-1", "diamonds-1", "clubs-1"))
    assert differs_from_last_run(cards("clubs-1", "hearts-1", "hearts-2", "diamonds-4"))
    assert not differs_from_last_run(cards("hearts-1", "diamonds-2", "hearts-4"))
    assert differs_from_last_run(cards("clubs-5", "hearts-1", "clubs-4"))


def test_literals_count_those_inside_negations() -> None:
    assert literals(parse_query("car(C), \\+ (load(C, L), disc(L)), at_least(2, car(D), long(D))")) == 5


def test_every_problem_of_pictures_has_a_peer() -> None:
    assert set(PICTURED_PEERS) == {"trains", *CONCEPTS}
    assert len({str(unit) for unit in units("pictured")}) == 2 * 5 * len(PICTURED_PEERS)
    assert len({str(unit) for unit in units("relational")}) == 45 + 2 * 40


@pytest.mark.parametrize("name", CONCEPTS)
def test_every_concept_can_be_satisfied_and_violated(name: str) -> None:
    rng = np.random.default_rng(0)
    low, high = CONCEPTS[name].sizes
    found = {CONCEPTS[name].holds(rng.choice(52, int(rng.integers(low, high + 1)), replace=False)) for _ in range(2000)}
    found |= {CONCEPTS[name].holds(np.arange(3))}
    assert found == {True, False}
