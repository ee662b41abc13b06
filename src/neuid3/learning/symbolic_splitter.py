"""Symbolic tests and number cuts at a node, all scored in one pass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Boolean, Category
from neuid3.data.derived import describes_series
from neuid3.learning.candidates import Candidates
from neuid3.learning.cuts import SortedColumn
from neuid3.learning.families import Family
from neuid3.learning.family_cuts import SortedFamily
from neuid3.learning.grow import OpenNode
from neuid3.learning.inference import ExactInference
from neuid3.learning.responses import (
    BooleanResponse,
    CategoricalResponse,
    ProbabilisticResponse,
    Response,
    Responses,
)
from neuid3.learning.sample import Floats
from neuid3.learning.splitter import CUT_EXPONENT, GAIN_TOLERANCE, ScoredCandidate
from neuid3.logic.formula import ColumnVariable, Compare, Literal, Source, sources
from neuid3.tree.criteria import Criterion, Target
from neuid3.tree.node_tests import NodeTest, cut_test
from neuid3.tree.tree import Path


class _Cut(NamedTuple):
    """The best cut of a number column at a node."""

    column: str
    threshold: float
    scored: ScoredCandidate


class SymbolicSplitter:
    """Scores tests whose responses do not change while the tree is grown, the cuts of number columns, and families.

    Parameters
    ----------
    inference : exact inference.
    candidates : the candidates that are known before the tree is grown; others may come up at nodes. Of its tests, those
        without networks are scored, and those of `known_responses`.
    min_child_mass : the least mass of each child.
    known_responses : responses that need not be computed, by test.
    """

    def __init__(
        self,
        inference: ExactInference,
        candidates: Candidates,
        min_child_mass: float,
        known_responses: Mapping[NodeTest, Response] | None = None,
    ) -> None:
        self.inference, self.sample, self.semantics = inference, inference.sample, inference.semantics
        self.min_child_mass = min_child_mass
        self.tests: tuple[NodeTest, ...] = ()
        self.numbers: dict[str, SortedColumn] = {}
        self.families: dict[Family, SortedFamily] = {}
        self._known_responses = known_responses or {}
        self._responses: list[Response] = []
        self._indices: dict[NodeTest, int] = {}
        self._neural: set[NodeTest] = set()  # tests that this splitter does not score
        self._last_offer: tuple[Candidates, list[int]] | None = None
        self.add(candidates)

    def add(self, offered: Candidates) -> None:
        """Compute the responses of tests that were not offered before, and sort the number columns."""
        unknown = [test for test in offered.tests if test not in self._indices and test not in self._neural]
        scored = [test for test in unknown if test in self._known_responses or not self.semantics.is_neural(test)]
        self._neural.update(unknown)
        self._neural.difference_update(scored)
        if scored or not self._responses:
            self._indices.update((test, len(self.tests) + i) for i, test in enumerate(scored))
            self.tests = (*self.tests, *scored)
            self._responses += [
                self._known_responses[test] if test in self._known_responses else self._response(test)
                for test in scored
            ]
            self.responses = Responses(self._responses)
        for family in offered.families:
            if family not in self.families:
                self.families[family] = SortedFamily(family, self.inference)
        for name in offered.numbers:
            if name not in self.numbers:
                column = self.sample.examples.column(name)
                self.numbers[name] = SortedColumn(column, name, self.sample.weights, self._shortened_prior(name))

    def _shortened_prior(self, name: str) -> tuple[Floats, Floats] | None:
        """The values of a missing entry, where these are quantiles because rules calculate with the column."""
        column, priors = self.sample.examples.column(name), self.inference.priors
        if column.missing is None or name not in priors.columns:
            return None
        values, weights = priors.sample(name)
        return (values, weights) if len(values) < len(np.unique(column.values[~column.missing])) else None

    def _left_out(self, node: OpenNode, offered: Candidates) -> list[int]:
        """The indices of the tests that are not offered, or that the path has used up."""
        if self._last_offer is None or self._last_offer[0] is not offered:
            self.add(offered)
            indices = {self._indices[test] for test in offered.tests if test in self._indices}
            self._last_offer = offered, [i for i in range(len(self.tests)) if i not in indices]
        used = [self._indices[test] for test in node.used if test in self._indices]
        return list({*self._last_offer[1], *used})

    def _response(self, test: NodeTest) -> Response:
        """P(τ | e) of a test without networks, for every example; Boolean or categorical where it is certain."""
        if self.inference.uncertain(test):
            return ProbabilisticResponse(self.inference.conditional((), test).astype(np.float32))
        formula = self.semantics.formula(test)
        if isinstance(formula, Literal) and isinstance(formula.variable, ColumnVariable) and len(formula.values) == 1:
            column, (value,) = self.sample.examples.column(formula.variable.column), formula.values
            match column.kind:
                case Boolean() if value == 1:
                    return BooleanResponse(column.values)
                case Category():
                    return CategoricalResponse(formula.variable.column, column.values, formula.variable.size, value)
        return BooleanResponse(self.inference.conditional((), test) > 0.5)

    def candidates(self, node: OpenNode, offered: Candidates) -> Iterator[ScoredCandidate]:
        """The best test that is offered and that the path has not used up, and the best cut of each column and family."""
        target = self.sample.target_at(node)
        total = target.sums()
        left_out = self._left_out(node, offered)
        if len(left_out) < len(self.tests):
            yield self._best(node, target, total, left_out)
        if offered.numbers or offered.families:
            statistics = target.statistics()
            path = [(self.semantics.formula(test), response) for test, response in node.path]
            kinds = self.semantics.program.schema
            cuts: list[_Cut] = []
            for name in offered.numbers:
                cut = self.numbers[name].best_cut(
                    node.rows, statistics, target.criterion, path, self.min_child_mass, node.bounds
                )
                if cut is not None:
                    threshold, gain, count = cut
                    test = cut_test(name, threshold, kinds.get(name))
                    scored = ScoredCandidate(test, gain, math.nan, None, False, count**CUT_EXPONENT)
                    cuts.append(_Cut(name, threshold, scored))
            yield from self._widest_first(node, cuts)
            for family in offered.families:
                yield from self._best_of_family(node, self.families[family], target)

    def _widest_first(self, node: OpenNode, cuts: list[_Cut]) -> list[ScoredCandidate]:
        """The cuts; of equally good ones of series, the one whose sides lie farthest apart stands first.

        Few series are often told apart by many of the numbers that describe them, and the wider gap divides unseen ones better.
        """
        schema, highest = self.semantics.program.schema, max((cut.scored.gain for cut in cuts), default=0.0)
        tied = [
            cut for cut in cuts if cut.scored.gain >= highest - GAIN_TOLERANCE and describes_series(cut.column, schema)
        ]
        if len(tied) < 2:
            return [cut.scored for cut in cuts]
        widest = max(tied, key=lambda cut: self._separation(node, cut))
        return [replace(widest.scored, gain=highest), *(cut.scored for cut in cuts if cut is not widest)]

    def _separation(self, node: OpenNode, cut: _Cut) -> float:
        """The distance between the means of both sides of a cut, in standard deviations within them."""
        values = self.sample.examples.column(cut.column).values[node.rows]
        values, weights = values[~np.isnan(values)], self.sample.target_at(node).weights[~np.isnan(values)]
        is_low = values <= cut.threshold
        means = np.array([np.average(values[side], weights=weights[side]) for side in (is_low, ~is_low)])
        variance = np.average((values - np.where(is_low, means[0], means[1])) ** 2, weights=weights)
        return float((means[1] - means[0]) / max(math.sqrt(variance), 1e-300))

    def _best_of_family(self, node: OpenNode, family: SortedFamily, target: Target) -> Iterator[ScoredCandidate]:
        """The test of a family with the best constant, which is scored exactly where some responses are uncertain."""
        cut = family.sorted.best_cut(
            node.rows, target.statistics(), target.criterion, (), self.min_child_mass, node.bounds
        )
        if cut is None:
            return
        threshold, gain, cuts = cut
        test = family.family.test(family.constant(threshold), self.semantics.program)
        if not family.is_certain:
            responses = self.inference.conditional(node.path, test, node.rows)
            gain = float(_gain(node, target.criterion, *target.sides(responses), 0))
        if gain > 0:
            yield ScoredCandidate(test, gain, math.nan, None, False, cuts**CUT_EXPONENT)

    def _best(self, node: OpenNode, target: Target, total: Floats, left_out: list[int]) -> ScoredCandidate:
        """The test with the highest gain."""
        gains, is_large = self._gains(node, target, total, left_out)
        gains[left_out], is_large[left_out] = -1.0, False
        best = int(np.argmax(gains))
        test, gain = self.tests[best], float(gains[best])
        choices, ties = max(int(is_large.sum()), 1), int((gains >= gain - GAIN_TOLERANCE).sum())
        return ScoredCandidate(test, gain, math.nan, test, False, choices, ties)

    def _gains(
        self, node: OpenNode, target: Target, total: Floats, left_out: list[int]
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The gain of every test at a node, and whether both children have enough mass, `(test,)` each."""
        criterion = target.criterion
        yes = self.responses.yes_sums(node.rows, target)
        is_large = self._is_large(yes, total)
        orders = self._orders(node)
        gains = np.where(is_large, _gain(node, criterion, yes, total - yes, orders), 0.0)
        shared = set(self._shared(node.path)) - set(left_out)
        for variable, possible in self._narrowed(node.path).items():
            indices = sorted(i for i in shared if self._value_of(i, variable))
            if indices:
                by_value = self._by_value(node, variable, possible, target.statistics())
                counted = np.array([by_value[list(self._value_of(i, variable))].sum(0) for i in indices])
                gains[indices], is_large[indices] = (
                    _gain(node, criterion, counted, total - counted, orders[indices]),
                    True,
                )
                shared -= set(indices)
        for i in shared:
            responses = self.inference.conditional(node.path, self.tests[i], node.rows)
            gains[i], is_large[i] = float(_gain(node, criterion, *target.sides(responses), orders[i])), True
        return gains, is_large

    def _orders(self, node: OpenNode) -> npt.NDArray[np.int64]:
        """The order in which constraints put the sides of each test, 0 without constraints, `(test,)`."""
        if node.bounds is None:
            return np.zeros(len(self.tests), dtype=np.int64)
        return np.array([node.bounds.orders.of(test) or 0 for test in self.tests])

    def _is_large(self, yes: Floats, total: Floats) -> Any:
        """Whether both children have enough mass, `(test,)`."""
        criterion = self.sample.growth_criterion
        mass = criterion.mass(yes)
        return np.minimum(mass, criterion.mass(total) - mass) >= self.min_child_mass

    def _shared(self, path: Path) -> list[int]:
        """Tests that share an uncertain variable with the path: their responses depend on the path."""
        before = frozenset[Source]().union(*(self.inference.uncertain(test) for test, _ in path))
        return [i for i, test in enumerate(self.tests) if before & self.inference.uncertain(test)] if before else []

    def _narrowed(self, path: Path) -> dict[ColumnVariable, Floats]:
        """Masks of the values that a path leaves possible, for columns that occur in none of its rules."""
        remaining: dict[ColumnVariable, Floats] = {}
        formulas = [(self.semantics.formula(test), response) for test, response in path]
        for formula, response in formulas:
            match formula:
                case Literal(ColumnVariable() as variable, values):
                    named = np.isin(np.arange(variable.size), list(values))
                    remaining[variable] = remaining.get(variable, np.ones(variable.size, dtype=bool)) & (
                        named == response
                    )
        in_rules = frozenset[Source]().union(*(sources(f) for f, _ in formulas if not isinstance(f, Literal)))
        return {variable: mask for variable, mask in remaining.items() if variable not in in_rules}

    def _value_of(self, test: int, variable: ColumnVariable) -> frozenset[int]:
        """The values of this column for which a test is true; empty where it is a test of something else."""
        formula = self.semantics.formula(self.tests[test])
        return formula.values if isinstance(formula, Literal) and formula.variable == variable else frozenset()

    def _by_value(self, node: OpenNode, variable: ColumnVariable, possible: Floats, statistics: Floats) -> Floats:
        """The statistics for each value of a column, given those that are still `possible`, `(value, statistic)`."""
        sums = np.zeros((variable.size, statistics.shape[1]))
        for chunk, weights in self.inference.value_probabilities(variable, node.rows):
            remaining = weights * possible[:, None]
            total = remaining.sum(0)
            sums += np.divide(remaining, total, out=np.zeros_like(remaining), where=total > 0) @ statistics[chunk]
        return sums

    def certain_responses(self, node: OpenNode, test: NodeTest) -> Floats | None:
        """Boolean responses for the examples that reach a node; None where they are uncertain."""
        match self.semantics.formula(test):
            case Compare(column, "=<", threshold) if not self.inference.uncertain(test):
                below: Floats = self.sample.examples.column(column).values[node.rows] <= threshold
                return below
        return self.responses.certain(self._indices[test], node.rows) if test in self._indices else None


def _gain(node: OpenNode, criterion: Criterion, yes: Floats, no: Floats, orders: Any) -> Floats:
    """The gains of splits at a node, within the bounds of monotone constraints where there are any."""
    return criterion.gain(yes, no) if node.bounds is None else node.bounds.gain(criterion, yes, no, orders)
