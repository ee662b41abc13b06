"""Cuts of numbers are short decimal numbers that split the training values as their midpoints do."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import neuid3
from neuid3 import Branch, Examples, Leaf, NeuID3Classifier, NeurosymbolicTree, Tree
from neuid3.binned.cuts import shortest_cut
from neuid3.data.columns import Column, Number
from neuid3.explain.page import evidence_page
from neuid3.learning.cuts import SortedColumn
from neuid3.tree.criteria import ClassCriterion
from neuid3.tree.node_tests import CutTest
from neuid3.tree.tree import branches

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


WHOLE = st.integers(-(2**70), 2**70).map(float)


DECIMALS = st.tuples(st.integers(-(10**6), 10**6), st.integers(0, 8)).map(lambda pair: pair[0] / 10 ** pair[1])


TINY = st.floats(-1e-300, 1e-300)


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[float, float]:
    """Two different numbers, the smaller first, often close to each other."""
    one = draw(st.one_of(FLOATS, WHOLE, DECIMALS, TINY))
    steps = draw(st.sampled_from((0, 0, 0, 1, 2, 3, 10, 1000)))
    other = draw(st.one_of(FLOATS, WHOLE, DECIMALS, TINY))
    if steps:
        other = one
        for _ in range(steps):
            other = math.nextafter(other, math.inf)
    low, high = sorted((one, other))
    return (low, high) if low < high and math.isfinite(high) else (0.25, 0.5)


def decimals(low: float, high: float, places: int) -> list[float]:
    """The floats in [low, high) that decimal numbers with so many places stand for, those at the ends and amid."""
    step = Fraction(10) ** -places
    middle = Fraction(low) / 2 + Fraction(high) / 2
    near = {math.floor(Fraction(x) / step) + k for x in (low, high, middle) for k in range(-2, 4)}
    return sorted({_float(n * step) for n in near if low <= _float(n * step) < high})


def _float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def places_of(number: float) -> int:
    """How many places behind the point a number has as it is printed; below zero where it ends in zeros before the point."""
    return -1000 if number == 0 else -int(Decimal(repr(number)).normalize().as_tuple().exponent)


@given(neighbours())
@example((0.1423, 0.1424))
@example((0.1 + 0.2, math.nextafter(0.1 + 0.2, 1.0)))
@example((0.3, 0.1 + 0.2))
@example((-5e-324, 5e-324))
@example((-5e-324, 0.0))
@example((2.0**53, 2.0**53 + 2))
@example((9.99e22, 1e23))
@example((-1.7976931348623157e308, 1.7976931348623157e308))
@example((1e15, 1e17))
@example((1.7, 1.8))
def test_a_cut_separates_its_neighbours_and_no_number_with_fewer_decimals_does(pair: tuple[float, float]) -> None:
    low, high = pair
    cut = shortest_cut(low, high)
    assert low <= cut < high
    assert not repr(cut).startswith("-0.0") or cut < 0
    largest = max(abs(low), abs(high))
    free = 1 if largest < 1e16 else -math.floor(math.log10(largest))
    if places_of(cut) > free:
        assert decimals(low, high, places_of(cut) - 1) == []
        assert decimals(low, high, free) == []


@given(neighbours())
def test_of_the_shortest_cuts_the_one_nearest_to_the_midpoint_is_chosen(pair: tuple[float, float]) -> None:
    low, high = pair
    cut, middle = Fraction(shortest_cut(low, high)), (Fraction(low) + Fraction(high)) / 2
    largest = max(abs(low), abs(high))
    free = 1 if largest < 1e16 else -math.floor(math.log10(largest))
    others = decimals(low, high, max(places_of(float(cut)), free))
    spare = Fraction(math.ulp(largest))  # midpoints are floats, too
    assert abs(cut - middle) <= min(abs(Fraction(other) - middle) for other in others) + spare


values = st.lists(st.one_of(FLOATS, WHOLE, DECIMALS), min_size=2, max_size=30)


@given(values, st.randoms(use_true_random=False))
def test_a_column_is_split_as_the_old_midpoints_split_it(numbers: list[float], random: np.random.RandomState) -> None:
    column = Column(Number(), np.array(numbers))
    labels = np.array([random.randint(0, 1) for _ in numbers])
    spread = np.eye(2)[labels]
    found = SortedColumn(column, "x").best_cut(np.arange(len(numbers)), spread, ClassCriterion(2), (), 0.0)
    if found is None:
        return
    cut = found[0]
    known = np.unique(column.values)
    low, high = known[known <= cut].max(), known[known > cut].min()
    middle = low / 2 + high / 2
    middle = middle if low <= middle < high else low
    assert ((column.values <= cut) == (column.values <= middle)).all()
    assert cut == shortest_cut(float(low), float(high))


@pytest.fixture(scope="module")
def flowers() -> tuple[NeuID3Classifier, Examples]:
    """A tree whose midpoints would be long: 0.14235 between 0.1423 and 0.1424, 0.10325000000000001 elsewhere."""
    size = np.array([0.1, 0.1031, 0.1034, 0.1423, 0.1424, 0.2, 0.21, 0.22] * 6)
    label = np.where(size <= 0.1031, "small", np.where(size <= 0.1423, "middle", "large"))
    X = Examples({"size": size}, kinds={"size": "number"})
    return NeuID3Classifier(random_state=0, pruning=0).fit(X, label), X


def cuts_of(tree: Tree) -> list[float]:
    return [branch.test.threshold for branch in branches(tree.root) if isinstance(branch.test, CutTest)]


def test_a_cut_reads_the_same_wherever_it_is_printed(flowers: tuple[NeuID3Classifier, Examples]) -> None:
    clf, X = flowers
    cuts = cuts_of(clf.tree_)
    assert sorted(cuts) == [0.1033, 0.1423]
    shown = {
        "text": clf.export_text(),
        "svg": " ".join(ElementTree.fromstring(clf.export_svg()).itertext()),
        "dot": neuid3.export_graphviz(clf),
        "page": evidence_page(clf, X),
        "problog": clf.to_problog(X, 0),
        "explanation": str(clf.explain(X, 3)),
    }
    for name, text in shown.items():
        printed = set(map(float, re.findall(r"(?<![\d.])0\.1[0-9]{2,}(?![\d.])", text)))
        assert set(cuts) <= printed, name
        assert printed <= {*cuts, 0.1031, 0.1034, 0.1423, 0.1424}, name


@pytest.mark.parametrize("cut", [0.14235, 0.10325000000000001, 1 / 3, 1234567.1234567, 1e22, -2.5e-8, 5e-324])
def test_cuts_that_were_chosen_otherwise_are_printed_exactly(cut: float) -> None:
    X = Examples({"size": [cut, math.nextafter(cut, math.inf)]}, kinds={"size": "number"})
    tree = Tree(Branch(CutTest("size", np.float64(cut)), Leaf(0.9), Leaf(0.2)), ("small", "large"))
    model = NeurosymbolicTree(tree, X.schema)
    svg = " ".join(ElementTree.fromstring(neuid3.export_svg(tree)).itertext())
    shown = [
        neuid3.export_text(tree),
        neuid3.export_graphviz(tree),
        svg,
        evidence_page(model, X),
        model.to_problog(X, 0),
    ]
    assert all(f"{cut!r}" in text for text in shown)
    why = model.explain(X, 1)
    assert f"{cut!r}" in why.other_facts.changes[0].text
    assert f"size: {math.nextafter(cut, math.inf)!r}" in str(why)
    assert model.verify(X) < 1e-6


def test_numbers_of_examples_stand_on_the_right_side_of_the_cut_beside_them() -> None:
    X = Examples({"size": [0.14240001, 0.1424, 35.0]}, kinds={"size": "number"})
    model = NeurosymbolicTree(Tree(Branch(CutTest("size", 0.1424), Leaf(0.9), Leaf(0.2))), X.schema)
    assert '"size":"0.14240001"' in evidence_page(model, X)
    assert "size: 0.14240001" in str(model.explain(X, 0))
    assert "size: 35\n" in str(model.explain(X, 2))


def test_missing_numbers_are_divided_between_the_sides_of_a_cut() -> None:
    """Values of other branches may lie between midpoint and cut, and the gain is that of the cut itself."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 700, 300) / 7
    x[rng.random(300) < 0.2] = np.nan
    group = rng.random(300) < 0.5
    y = np.where(group, x > 50, x > 90) & (rng.random(300) < 0.9)
    clf = NeuID3Classifier(random_state=0, pruning=0).fit(Examples({"x": x, "group": group}, kinds={"x": "number"}), y)
    nodes = list(branches(clf.tree_.root))
    assert len(cuts_of(clf.tree_)) > 5
    for branch in nodes:
        yes, no = np.array(branch.yes.masses), np.array(branch.no.masses)
        assert branch.gain == pytest.approx(float(ClassCriterion(len(yes)).gain(yes, no)), abs=1e-4)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_a_tree_splits_its_training_rows_as_with_midpoints(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load(return_X_y=True)
    clf = NeuID3Classifier(random_state=0, pruning=0).fit(X, y)
    monkeypatch.setattr("neuid3.learning.cuts.readable_cut", lambda low, high, _kind: low / 2 + high / 2)
    before = NeuID3Classifier(random_state=0, pruning=0).fit(X, y)
    assert cuts_of(clf.tree_) != cuts_of(before.tree_)
    assert (clf.leaf_probabilities(X) == before.leaf_probabilities(X)).all()
    assert (clf.predict_proba(X) == before.predict_proba(X)).all()
    assert [b.gain for b in branches(clf.tree_.root)] == [b.gain for b in branches(before.tree_.root)]
    printed = [sum(len(repr(cut)) for cut in cuts_of(tree)) for tree in (clf.tree_, before.tree_)]
    assert printed[0] < printed[1]
