"""Which test without networks is the best at a node? All of them are counted at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from neuid3.answers import Answer, Answers, OneOf, Share, Truth, by_class
from neuid3.columns import Boolean, Category
from neuid3.cuts import SortedColumn
from neuid3.induce import Place
from neuid3.learn.exact import Exact
from neuid3.learn.sample import TIE, Floats, Option
from neuid3.logic.formula import ColumnVariable, Literal, Source
from neuid3.nodetest import CutTest, NodeTest
from neuid3.score import gain_of, information_gain
from neuid3.tree import Path

# The cuts of a number count with this power when a test is chosen among them.
CUTS = 4 / 3


class Symbolic:
    """Tests without networks, whose answers are known before the tree is grown, and the cuts of numbers."""

    def __init__(self, exact: Exact, tests: Sequence[NodeTest], numbers: Sequence[str], least: float) -> None:
        self.exact, self.sample, self.meaning = exact, exact.sample, exact.meaning
        self.least = least
        self.tests = tuple(tests)
        self.every = frozenset(tests)
        self.places = {test: i for i, test in enumerate(self.tests)}
        self.answers = Answers([self._answer(test) for test in self.tests])
        sample = self.sample
        self.numbers = {name: SortedColumn(sample.examples.column(name), name, sample.weights) for name in numbers}

    def _answer(self, test: NodeTest) -> Answer:
        """P(τ | e) of a test without networks, for every example: truth values where they are certain."""
        if self.meaning.uncertain(test):
            return Share(self.exact.conditional((), test).astype(np.float32))
        formula = self.meaning.formula(test)
        if isinstance(formula, Literal) and isinstance(formula.variable, ColumnVariable) and len(formula.values) == 1:
            column, (value,) = self.sample.examples.column(formula.variable.column), formula.values
            match column.kind:
                case Boolean() if value == 1:
                    return Truth(column.values)
                case Category():
                    return OneOf(formula.variable.column, column.values, formula.variable.size, value)
        return Truth(self.exact.conditional((), test) > 0.5)

    def options(self, place: Place) -> Iterator[Option]:
        """The best test that may still be asked at a place, and the best cut of each number."""
        labels, masses = self.sample.here(place)
        total = np.bincount(labels, masses, self.sample.classes)
        used = [self.places[test] for test in self.every - place.tests]
        if len(used) < len(self.tests):
            yield self._best(place, labels, masses, total, used)
        if self.numbers:
            spread = by_class(labels, masses, self.sample.classes)
            for name, ordered in self.numbers.items():
                found = ordered.best_cut(place.rows, spread, place.path, self.least)
                if found is not None:
                    threshold, gain, cuts = found
                    # Noise offers many cuts, and at the usual price of a choice the best of them would do.
                    yield Option(CutTest(name, threshold), gain, gain * float(total.sum()), None, False, cuts**CUTS)

    def _best(self, place: Place, labels: Any, masses: Floats, total: Floats, used: list[int]) -> Option:
        classes = self.sample.classes
        yes = self.answers.yes_masses(place.rows, labels, masses, classes)
        large = self._large(yes, total)
        gains = np.where(large, information_gain(yes, total - yes), 0.0)
        for i in set(self._shared(place.path)) - set(used):
            said = self.exact.conditional(place.path, self.tests[i])[place.rows]
            gains[i], large[i] = gain_of(said, masses, labels, classes), True
        gains[used], large[used] = -1.0, False
        best = int(np.argmax(gains))
        test, gain = self.tests[best], float(gains[best])
        among, tied = max(int(large.sum()), 1), int((gains >= gain - TIE).sum())
        return Option(test, gain, gain * float(total.sum()), test, False, among, tied)

    def _large(self, yes: Floats, total: Floats) -> Any:
        """Do both sides get the mass that a child needs?"""
        mass = yes.sum(-1)
        return np.minimum(mass, total.sum() - mass) >= self.least

    def _shared(self, path: Path) -> list[int]:
        """Tests that share an uncertain variable with the path: their answers depend on what was answered before."""
        before = frozenset[Source]().union(*(self.meaning.uncertain(test) for test, _ in path))
        return [i for i, test in enumerate(self.tests) if before & self.meaning.uncertain(test)] if before else []

    def said(self, place: Place, test: NodeTest) -> Floats | None:
        """What a test says of the examples that reach a place, as truth values; None where it is not certain."""
        if isinstance(test, CutTest) and not self.meaning.uncertain(test):
            below: Floats = self.sample.examples.column(test.column).values[place.rows] <= test.threshold
            return below
        return self.answers.certain(self.places[test], place.rows) if test in self.places else None
