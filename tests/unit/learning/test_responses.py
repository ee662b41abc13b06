"""Symbolic tests, scored in one pass, against a slow count of one example after the other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuid3 import Branch, Examples, Leaf, NeuID3Classifier
from neuid3.binned.cuts import shortest_cut
from neuid3.data.columns import stack_columns
from neuid3.learning.cuts import SORT_DIVISOR, SortedColumn
from neuid3.learning.grow import OpenNode, full_reach
from neuid3.learning.responses import (
    BooleanResponse,
    CategoricalResponse,
    ProbabilisticResponse,
    Response,
    Responses,
)
from neuid3.tree.criteria import ClassCriterion, Target
from neuid3.tree.tree import Node

Row = dict[str, object]


SlowTest = tuple[str, Callable[[Row], bool]]


def slow_bits(weighted: Sequence[tuple[int, float]]) -> float:
    masses: Counter[int] = Counter()
    for label, weight in weighted:
        masses[label] += weight
    total = sum(masses.values())
    return -sum(m / total * math.log2(m / total) for m in masses.values() if m > 0) if total > 0 else 0.0


def slow_gain(rows: Sequence[tuple[Row, int, float]], holds: Callable[[Row], bool]) -> float:
    sides: tuple[list[tuple[int, float]], ...] = ([], [])
    for row, label, weight in rows:
        sides[holds(row)].append((label, weight))
    total = sum(weight for _, _, weight in rows)
    after = sum(sum(w for _, w in side) / total * slow_bits(side) for side in sides)
    return slow_bits([(label, weight) for _, label, weight in rows]) - after


def all_tests_of(rows: Sequence[tuple[Row, int, float]]) -> list[SlowTest]:
    """Every fact, every value of the category, and every cut between two neighbouring numbers."""
    found: list[SlowTest] = [("a", lambda row: bool(row["a"])), ("b", lambda row: bool(row["b"]))]
    found += [(f"s({value})", lambda row, value=value: row["s"] == value) for value in "xyz"]
    numbers = sorted({row["h"] for row, _, _ in rows})
    for low, high in pairwise(numbers):
        cut = shortest_cut(low, high)
        found.append((f"h =< {cut!r}", lambda row, cut=cut: row["h"] <= cut))
    return found


def check(node: Node, rows: list[tuple[Row, int, float]], depth: int) -> None:
    """Every branch has a test of the highest gain, and every leaf is where no test has any."""
    gains = {name: slow_gain(rows, holds) for name, holds in all_tests_of(rows)}
    if isinstance(node, Leaf):
        pure = len({label for _, label, _ in rows}) == 1
        assert depth == 0 or pure or max(gains.values(), default=0.0) < 1e-7
        return
    assert node.gain == pytest.approx(max(gains.values()), abs=1e-9)
    assert gains[str(node.test)] == pytest.approx(node.gain, abs=1e-9)
    holds = dict(all_tests_of(rows))[str(node.test)]
    check(node.yes, [row for row in rows if holds(row[0])], depth - 1)
    check(node.no, [row for row in rows if not holds(row[0])], depth - 1)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Row], list[int], list[float]]:
    n = draw(st.integers(4, 24))
    row = st.fixed_dictionaries(
        {
            "a": st.booleans(),
            "b": st.booleans(),
            "s": st.sampled_from("xyz"),
            "h": st.sampled_from([0.5, 1.25, 2.0, 7.0]),
        }
    )
    rows = draw(st.lists(row, min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n).filter(lambda found: len(set(found)) > 1))
    return rows, labels, draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n))


def columns_of(rows: Sequence[Row]) -> Examples:
    kinds = {"a": "boolean", "b": "boolean", "s": ("x", "y", "z"), "h": "number"}
    named = {name: [row[name] for row in rows] for name in kinds}
    return Examples({**named, "s": np.array(named["s"])}, {name: k for name, k in kinds.items() if name != "s"})


@given(tables())
def test_every_test_of_a_tree_is_the_best_by_a_slow_count(table: tuple[list[Row], list[int], list[float]]) -> None:
    rows, labels, weights = table
    clf = NeuID3Classifier(max_depth=3, min_mass=0.0, pruning=0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)  # a single leaf is fine here
        clf.fit(columns_of(rows), labels, sample_weight=weights)
    numbers = {label: i for i, label in enumerate(sorted(set(labels)))}
    values = [(row, numbers[label], weight) for row, label, weight in zip(rows, labels, weights, strict=True)]
    check(clf.tree_.root, values, 3)


@given(st.integers(0, 10_000))
def test_all_kinds_of_responses_are_counted_as_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(1, 60)), int(rng.integers(2, 4))
    codes = rng.integers(0, 3, n)
    given_responses: list[Response] = [
        CategoricalResponse("s", codes, 3, 2),
        BooleanResponse(rng.random(n) < 0.5),
        ProbabilisticResponse(rng.random(n).astype(np.float32)),
        CategoricalResponse("s", codes, 3, 0),
        BooleanResponse(rng.random(n) < 0.1),
    ]
    rows = np.flatnonzero(rng.random(n) < 0.7).astype(np.int32)
    labels, masses = rng.integers(0, classes, n)[rows], rng.random(len(rows))
    responses = Responses(given_responses)
    yes = responses.yes_sums(rows, Target(labels, masses, ClassCriterion(classes)))
    for i, response in enumerate(given_responses):
        wanted = np.zeros(classes)
        for row, label, mass in zip(rows, labels, masses, strict=True):
            values = (
                response.codes[row] == response.value
                if isinstance(response, CategoricalResponse)
                else response.column[row]
            )
            wanted[label] += mass * float(values)
        np.testing.assert_allclose(yes[i], wanted, atol=1e-12)
        certain = responses.certain(i, rows)
        assert (certain is None) == isinstance(response, ProbabilisticResponse)
        if isinstance(response, CategoricalResponse):
            assert (certain == (codes[rows] == response.value)).all()


@given(st.integers(0, 10_000))
def test_a_column_is_cut_alike_whether_its_rows_are_picked_or_sorted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 6, 40 * SORT_DIVISOR).astype(float)
    values[rng.random(len(values)) < 0.1] = np.nan
    ordered = SortedColumn(Examples({"h": values}, {"h": "number"}).column("h"), "h")
    rows = np.sort(rng.choice(len(values), 30, replace=False)).astype(np.int32)
    criterion = ClassCriterion(2)
    statistics = criterion.statistics(rng.integers(0, 2, len(rows)), rng.random(len(rows)))
    sorted_anew = ordered.best_cut(rows, statistics, criterion, (), 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("neuid3.learning.cuts.SORT_DIVISOR", 1)
        assert ordered.best_cut(rows, statistics, criterion, (), 0.0) == sorted_anew


@pytest.mark.parametrize("order", ["C", "F"])
def test_columns_side_by_side_are_the_table_they_came_from(order: str) -> None:
    table = np.asarray(np.random.default_rng(0).random((10_000, 5)) < 0.5, order=order)
    found = stack_columns([table[:, i] for i in range(5)])
    assert (found == table).all()
    assert found.flags.c_contiguous
    assert np.shares_memory(found, table) == (order == "C")
    some = stack_columns([table[:, i] for i in (0, 3, 1)])
    assert (some == table[:, [0, 3, 1]]).all()


def test_importances_are_gain_times_mass_of_each_column() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((400, 4)) < 0.5
    y = np.where(X[:, 2], X[:, 0], X[:, 3])
    clf = NeuID3Classifier(max_depth=2).fit(X, y)
    root = clf.tree_.root
    assert isinstance(root, Branch)
    bits = dict.fromkeys(range(4), 0.0)
    sides = {None: np.ones(400, dtype=bool), True: X[:, int(str(root.test)[1:])], False: ~X[:, int(str(root.test)[1:])]}
    for side, node in ((None, root), (True, root.yes), (False, root.no)):
        if isinstance(node, Branch):
            bits[int(str(node.test)[1:])] += sides[side].sum() * node.gain
    np.testing.assert_allclose(clf.feature_importances_, np.array(list(bits.values())) / sum(bits.values()))


def test_certain_examples_take_no_memory_for_their_reach() -> None:
    node = OpenNode.root(1000)
    assert node.reach_of_rows.strides == (0,)
    assert (node.reach == 1.0).all()
    assert full_reach(3).tolist() == [1.0, 1.0, 1.0]


def test_a_node_of_symbolic_columns_reads_only_the_examples_that_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def everybody(_: OpenNode) -> np.ndarray:
        raise AssertionError("every example of the table was read, not only those that reach the node")

    rng = np.random.default_rng(0)
    X = rng.random((200, 4)) < 0.5
    monkeypatch.setattr(OpenNode, "reach", property(everybody))
    clf = NeuID3Classifier(random_state=0).fit(X, (X[:, 0] & X[:, 1]).astype(int))
    assert len(clf.tree_.leaves) == 3
