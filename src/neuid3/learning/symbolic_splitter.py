"""Which test without networks is the best at a node? All of them are counted at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Boolean, Category
from neuid3.learning.cuts import SortedColumn
from neuid3.learning.grow import OpenNode
from neuid3.learning.inference import ExactInference
from neuid3.learning.responses import (
    BooleanResponse,
    CategoricalResponse,
    ProbabilisticResponse,
    Response,
    Responses,
    by_class,
)
from neuid3.learning.sample import TIE, Floats, ScoredCandidate
from neuid3.logic.formula import ColumnVariable, Literal, Source, sources
from neuid3.tree.criteria import gain_of, information_gain
from neuid3.tree.node_tests import CutTest, NodeTest
from neuid3.tree.tree import Path

# The cuts of a number count with this power when a test is chosen among them.
CUTS = 4 / 3


class SymbolicSplitter:
    """Tests whose answers are known before the tree is grown, and the cuts of numbers.

    Those are tests without networks, and others whose answers are given.
    """

    def __init__(
        self,
        exact: ExactInference,
        tests: Sequence[NodeTest],
        numbers: Sequence[str],
        least: float,
        given: Mapping[NodeTest, Response] | None = None,
    ) -> None:
        self.exact, self.sample, self.meaning = exact, exact.sample, exact.meaning
        self.least = least
        self.tests = tuple(tests)
        self.every = frozenset(tests)
        self.places = {test: i for i, test in enumerate(self.tests)}
        given = given or {}
        self.answers = Responses([given[test] if test in given else self._answer(test) for test in self.tests])
        sample = self.sample
        self.numbers = {name: SortedColumn(sample.examples.column(name), name, sample.weights) for name in numbers}

    def _answer(self, test: NodeTest) -> Response:
        """P(τ | e) of a test without networks, for every example: truth values where they are certain."""
        if self.meaning.uncertain(test):
            return ProbabilisticResponse(self.exact.conditional((), test).astype(np.float32))
        formula = self.meaning.formula(test)
        if isinstance(formula, Literal) and isinstance(formula.variable, ColumnVariable) and len(formula.values) == 1:
            column, (value,) = self.sample.examples.column(formula.variable.column), formula.values
            match column.kind:
                case Boolean() if value == 1:
                    return BooleanResponse(column.values)
                case Category():
                    return CategoricalResponse(formula.variable.column, column.values, formula.variable.size, value)
        return BooleanResponse(self.exact.conditional((), test) > 0.5)

    def options(self, place: OpenNode) -> Iterator[ScoredCandidate]:
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
                    yield ScoredCandidate(
                        CutTest(name, threshold), gain, gain * float(total.sum()), None, False, cuts**CUTS
                    )

    def _best(self, place: OpenNode, labels: Any, masses: Floats, total: Floats, used: list[int]) -> ScoredCandidate:
        gains, large = self._gains(place, labels, masses, total, used)
        gains[used], large[used] = -1.0, False
        best = int(np.argmax(gains))
        test, gain = self.tests[best], float(gains[best])
        among, tied = max(int(large.sum()), 1), int((gains >= gain - TIE).sum())
        return ScoredCandidate(test, gain, gain * float(total.sum()), test, False, among, tied)

    def _gains(
        self, place: OpenNode, labels: Any, masses: Floats, total: Floats, used: list[int]
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """What every test tells at a place, and whether both of its sides are large enough."""
        classes = self.sample.classes
        yes = self.answers.yes_masses(place.rows, labels, masses, classes)
        large = self._large(yes, total)
        gains = np.where(large, information_gain(yes, total - yes), 0.0)
        shared = set(self._shared(place.path)) - set(used)
        for variable, possible in self._narrowed(place.path).items():
            about = sorted(i for i in shared if self._value_of(i, variable))
            if about:
                by_value = self._by_value(place, variable, possible, by_class(labels, masses, classes))
                counted = np.array([by_value[list(self._value_of(i, variable))].sum(0) for i in about])
                gains[about], large[about] = information_gain(counted, total - counted), True
                shared -= set(about)
        for i in shared:
            said = self.exact.conditional(place.path, self.tests[i], place.rows)
            gains[i], large[i] = gain_of(said, masses, labels, classes), True
        return gains, large

    def _large(self, yes: Floats, total: Floats) -> Any:
        """Do both sides get the mass that a child needs?"""
        mass = yes.sum(-1)
        return np.minimum(mass, total.sum() - mass) >= self.least

    def _shared(self, path: Path) -> list[int]:
        """Tests that share an uncertain variable with the path: their answers depend on what was answered before."""
        before = frozenset[Source]().union(*(self.meaning.uncertain(test) for test, _ in path))
        return [i for i, test in enumerate(self.tests) if before & self.meaning.uncertain(test)] if before else []

    def _narrowed(self, path: Path) -> dict[ColumnVariable, Floats]:
        """Columns of values of which a path says only which ones are left, as a mask; no rule of it is about them."""
        left: dict[ColumnVariable, Floats] = {}
        formulas = [(self.meaning.formula(test), answer) for test, answer in path]
        for formula, answer in formulas:
            match formula:
                case Literal(ColumnVariable() as variable, values):
                    named = np.isin(np.arange(variable.size), list(values))
                    left[variable] = left.get(variable, np.ones(variable.size, dtype=bool)) & (named == answer)
        tied = frozenset[Source]().union(*(sources(f) for f, _ in formulas if not isinstance(f, Literal)))
        return {variable: mask for variable, mask in left.items() if variable not in tied}

    def _value_of(self, test: int, variable: ColumnVariable) -> frozenset[int]:
        """The values of this column for which a test is true; none where it asks for something else."""
        formula = self.meaning.formula(self.tests[test])
        return formula.values if isinstance(formula, Literal) and formula.variable == variable else frozenset()

    def _by_value(self, place: OpenNode, variable: ColumnVariable, possible: Floats, spread: Floats) -> Floats:
        """How much of each class has each value of a column, of which only some are still possible, `(value, class)`."""
        masses = np.zeros((variable.size, spread.shape[1]))
        for part, weights in self.exact.values(variable, place.rows):
            left = weights * possible[:, None]
            total = left.sum(0)
            masses += np.divide(left, total, out=np.zeros_like(left), where=total > 0) @ spread[part]
        return masses

    def said(self, place: OpenNode, test: NodeTest) -> Floats | None:
        """What a test says of the examples that reach a place, as truth values; None where it is not certain."""
        if isinstance(test, CutTest) and not self.meaning.uncertain(test):
            below: Floats = self.sample.examples.column(test.column).values[place.rows] <= test.threshold
            return below
        return self.answers.certain(self.places[test], place.rows) if test in self.places else None
