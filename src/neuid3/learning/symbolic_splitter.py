"""Symbolic tests and number cuts at a node, all scored in one pass."""

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
from neuid3.learning.sample import GAIN_TOLERANCE, Floats, ScoredCandidate
from neuid3.logic.formula import ColumnVariable, Literal, Source, sources
from neuid3.tree.criteria import gain_of, information_gain
from neuid3.tree.node_tests import CutTest, NodeTest
from neuid3.tree.tree import Path

# The number of cuts of a column counts to this power in the pruning penalty.
CUT_EXPONENT = 4 / 3


class SymbolicSplitter:
    """Scores tests whose responses are known before the tree is grown, and the cuts of number columns.

    Parameters
    ----------
    inference : exact inference.
    tests : tests without networks, and those of `known_responses`.
    numbers : number columns.
    min_child_mass : the least mass of each child.
    known_responses : responses that need not be computed, by test.
    """

    def __init__(
        self,
        inference: ExactInference,
        tests: Sequence[NodeTest],
        numbers: Sequence[str],
        min_child_mass: float,
        known_responses: Mapping[NodeTest, Response] | None = None,
    ) -> None:
        self.inference, self.sample, self.semantics = inference, inference.sample, inference.semantics
        self.min_child_mass = min_child_mass
        self.tests = tuple(tests)
        self._test_set = frozenset(tests)
        self._indices = {test: i for i, test in enumerate(self.tests)}
        known_responses = known_responses or {}
        self.responses = Responses(
            [known_responses[test] if test in known_responses else self._response(test) for test in self.tests]
        )
        sample = self.sample
        self.numbers = {name: SortedColumn(sample.examples.column(name), name, sample.weights) for name in numbers}

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

    def candidates(self, node: OpenNode) -> Iterator[ScoredCandidate]:
        """The best test that the path of a node has not used up, and the best cut of each number column."""
        labels, masses = self.sample.labels_and_masses(node)
        total = np.bincount(labels, masses, self.sample.classes)
        used = [self._indices[test] for test in self._test_set - node.tests]
        if len(used) < len(self.tests):
            yield self._best(node, labels, masses, total, used)
        if self.numbers:
            spread = by_class(labels, masses, self.sample.classes)
            for name, column in self.numbers.items():
                cut = column.best_cut(node.rows, spread, node.path, self.min_child_mass)
                if cut is not None:
                    threshold, gain, cuts = cut
                    # A column of noise has many cuts; the best would be accepted if they counted like other choices.
                    yield ScoredCandidate(
                        CutTest(name, threshold), gain, gain * float(total.sum()), None, False, cuts**CUT_EXPONENT
                    )

    def _best(self, node: OpenNode, labels: Any, masses: Floats, total: Floats, used: list[int]) -> ScoredCandidate:
        """The test with the highest gain."""
        gains, is_large = self._gains(node, labels, masses, total, used)
        gains[used], is_large[used] = -1.0, False
        best = int(np.argmax(gains))
        test, gain = self.tests[best], float(gains[best])
        choices, ties = max(int(is_large.sum()), 1), int((gains >= gain - GAIN_TOLERANCE).sum())
        return ScoredCandidate(test, gain, gain * float(total.sum()), test, False, choices, ties)

    def _gains(
        self, node: OpenNode, labels: Any, masses: Floats, total: Floats, used: list[int]
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The gain of every test at a node, and whether both children have enough mass, `(test,)` each."""
        classes = self.sample.classes
        yes = self.responses.yes_masses(node.rows, labels, masses, classes)
        is_large = self._is_large(yes, total)
        gains = np.where(is_large, information_gain(yes, total - yes), 0.0)
        shared = set(self._shared(node.path)) - set(used)
        for variable, possible in self._narrowed(node.path).items():
            indices = sorted(i for i in shared if self._value_of(i, variable))
            if indices:
                by_value = self._by_value(node, variable, possible, by_class(labels, masses, classes))
                counted = np.array([by_value[list(self._value_of(i, variable))].sum(0) for i in indices])
                gains[indices], is_large[indices] = information_gain(counted, total - counted), True
                shared -= set(indices)
        for i in shared:
            responses = self.inference.conditional(node.path, self.tests[i], node.rows)
            gains[i], is_large[i] = gain_of(responses, masses, labels, classes), True
        return gains, is_large

    def _is_large(self, yes: Floats, total: Floats) -> Any:
        """Whether both children have enough mass, `(test,)`."""
        mass = yes.sum(-1)
        return np.minimum(mass, total.sum() - mass) >= self.min_child_mass

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

    def _by_value(self, node: OpenNode, variable: ColumnVariable, possible: Floats, spread: Floats) -> Floats:
        """Mass of each class for each value of a column, given the values that are still `possible`, `(value, class)`."""
        masses = np.zeros((variable.size, spread.shape[1]))
        for chunk, weights in self.inference.value_probabilities(variable, node.rows):
            remaining = weights * possible[:, None]
            total = remaining.sum(0)
            masses += np.divide(remaining, total, out=np.zeros_like(remaining), where=total > 0) @ spread[chunk]
        return masses

    def certain_responses(self, node: OpenNode, test: NodeTest) -> Floats | None:
        """Boolean responses for the examples that reach a node; None where they are uncertain."""
        if isinstance(test, CutTest) and not self.inference.uncertain(test):
            below: Floats = self.sample.examples.column(test.column).values[node.rows] <= test.threshold
            return below
        return self.responses.certain(self._indices[test], node.rows) if test in self._indices else None
