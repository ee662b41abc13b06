"""Splits of rows, with and without groups that they keep together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuid3.data.examples import Examples
from neuid3.data.groups import group_numbers, take_groups
from neuid3.data.splits import drawn_rows, fold_numbers, held_out_rows, stratified
from neuid3.errors import DataError


@st.composite
def grouped_rows(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Classes and groups of some rows; at least two groups."""
    count = draw(st.integers(2, 60))
    groups = np.array(draw(st.lists(st.integers(0, 9), min_size=count, max_size=count)))
    groups[:2] = 0, 1
    return np.array(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))), groups


def are_divided(groups: np.ndarray[Any, Any], mask: np.ndarray[Any, Any]) -> bool:
    return bool(np.intersect1d(groups[mask], groups[~mask]).size)


@given(grouped_rows(), st.floats(0, 0.9), st.integers(0, 9), st.data())
def test_no_split_divides_a_group(rows: Any, fraction: float, seed: int, data: st.DataObject) -> None:
    labels, groups = rows
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(labels), max_size=len(labels))))
    for mask in (
        held_out_rows(labels, fraction, seed, groups=groups),
        held_out_rows(labels, fraction, seed, groups=groups, kept=kept),
    ):
        assert not are_divided(groups, mask)
        assert set(labels[~mask]) == set(labels)  # no class is left without training rows
    assert not (held_out_rows(labels, fraction, seed, groups=groups, kept=kept) & kept).any()
    test = held_out_rows(labels, fraction, seed, groups=groups)
    calibration = drawn_rows(fraction, np.random.default_rng(seed), ~test, groups)
    assert not are_divided(groups, calibration)
    assert not (calibration & test).any()


@given(grouped_rows(), st.integers(2, 5), st.integers(0, 9), st.booleans())
def test_no_fold_divides_a_group_and_none_is_empty(rows: Any, folds: int, seed: int, numeric: bool) -> None:
    labels, groups = rows
    targets = np.random.default_rng(seed).normal(size=len(labels)) if numeric else labels
    folds = min(folds, len(np.unique(groups)))
    numbers = fold_numbers(targets, folds, np.random.default_rng(seed), groups)
    assert all(len(np.unique(numbers[groups == group])) == 1 for group in np.unique(groups))
    assert set(numbers) == set(range(folds))


def test_many_small_groups_are_held_out_as_rows_are() -> None:
    rng = np.random.default_rng(0)
    labels, groups = rng.integers(0, 3, 3000), rng.integers(0, 500, 3000)
    mask = held_out_rows(labels, 0.2, 0, groups=groups)
    assert [mask[labels == label].mean() for label in range(3)] == pytest.approx([0.2] * 3, abs=0.03)
    folds = fold_numbers(labels, 5, rng, groups)
    shares = [[(folds[labels == label] == fold).mean() for label in range(3)] for fold in range(5)]
    assert np.allclose(shares, 0.2, atol=0.02)


def test_without_groups_rows_are_drawn_as_ever() -> None:
    labels = np.random.default_rng(1).integers(0, 2, 50)
    assert np.array_equal(held_out_rows(labels, 0.3, 7), stratified(labels, 0.3, np.random.default_rng(7)))


def test_of_two_large_groups_one_is_held_out() -> None:
    mask = held_out_rows([0, 1] * 10, 0.2, 0, groups=np.arange(20) // 10)
    assert mask.sum() == 10


def test_groups_that_are_classes_are_not_held_out() -> None:
    labels = np.arange(20) // 10
    assert not held_out_rows(labels, 0.2, 0, groups=labels).any()


def test_a_column_of_groups_is_taken_out_of_the_table() -> None:
    table = {"patient": ["a", "b", "a"], "age": [1.5, 2.5, 3.5]}
    for given_table in (table, Examples(table)):
        rest, groups = take_groups(given_table, "patient")
        assert list(rest.names if isinstance(rest, Examples) else rest) == ["age"]
        assert group_numbers(groups, np.ones(3, dtype=bool)).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], "2 entries and X has 3 rows"),
        ([1, None, 2], r"no entry for row 1 \(counted from 0\)"),
        (["a", "b", float("nan")], "no entry for row 2"),
        (np.ma.array([1, 2, 3], mask=[True, False, False]), "no entry for row 0"),
        (["a"] * 3, "a single group, 'a'"),
        (7, "is a int"),
        ([[1], [2], [3]], "is a list"),
    ],
)
def test_wrong_groups_are_refused(groups: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        group_numbers(groups, np.ones(3, dtype=bool))


def test_groups_of_rows_that_are_left_out_do_not_count() -> None:
    with pytest.raises(DataError, match="a single group"):
        group_numbers(["a", "a", "b"], np.array([True, True, False]))


def test_an_array_has_no_column_of_groups() -> None:
    with pytest.raises(DataError, match="names a column"):
        take_groups(np.zeros((3, 2)), "patient")
    with pytest.raises(DataError, match="Did you mean 'patient'"):
        take_groups({"patient": [1, 2]}, "pateint")
