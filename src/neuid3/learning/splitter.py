"""Scored candidates, the protocol of splitters, which score them at a node, and a plain splitter to check others against."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np

from neuid3.binned.cuts import readable_cut
from neuid3.learning.candidates import Candidates
from neuid3.learning.families import Family
from neuid3.learning.grow import OpenNode
from neuid3.learning.inference import ExactInference
from neuid3.learning.sample import Instance
from neuid3.logic.formula import expressions_in
from neuid3.tree.calculations import expression_values
from neuid3.tree.node_tests import CutTest, NodeTest, cut_test

# The number of cuts of a column counts to this power in the pruning penalty: a column of noise has many cuts, and the best
# would be accepted if they counted like other choices.
CUT_EXPONENT = 4 / 3


# Gains that differ by no more than this count as equal: the rest is rounding.
GAIN_TOLERANCE = 1e-12


@dataclass(slots=True)
class ScoredCandidate:
    """A test at a node with its score.

    Attributes
    ----------
    test : the test, with the network instances that it calls.
    gain : its gain per example, in the unit of the criterion.
    bits : information gain times the mass of the examples that it was measured on, for tests with networks; NaN for
        others, which are pruned by description length.
    candidate : the candidate that the test stands for; None where it may be chosen again further down.
    validated : whether the gain was measured on validation examples.
    choices : the number of candidates of which this is the best.
    ties : how many of these have the same gain.
    tolerance : other candidates whose gain is lower by no more than this count as equal.
    instances : newly trained networks of the test.
    """

    test: NodeTest
    gain: float
    bits: float
    candidate: NodeTest | None
    validated: bool
    choices: float = 1
    ties: int = 1
    tolerance: float = GAIN_TOLERANCE
    instances: dict[str, Instance] = field(default_factory=dict)


def best_candidate(candidates: Sequence[ScoredCandidate], penalty: float = 0.0) -> tuple[ScoredCandidate, float] | None:
    """The candidate with the highest gain, and the number of candidates per tie; None where none is good enough.

    Candidates that were scored on validation examples must have at least `penalty` bits.
    """
    worthwhile = [candidate for candidate in candidates if not candidate.validated or candidate.bits >= penalty]
    if not worthwhile:
        return None
    chosen = max(worthwhile, key=lambda candidate: candidate.gain)
    ties = sum(candidate.ties for candidate in candidates if candidate.gain >= chosen.gain - chosen.tolerance)
    return chosen, sum(candidate.choices for candidate in candidates) / ties


class Splitter(Protocol):
    """Scores the candidates that it can score at a node; a `NodeLearner` asks several, and takes the best of all.

    Laws: candidates that a splitter cannot score, and tests that the path has used up (`node.used`), are left out. A test
    may be offered that no node was offered before. Of tests that compete, it may return the best only, with the number of
    those that it was chosen from (`choices`) and of those that are as good (`ties`).
    """

    def candidates(self, node: OpenNode, offered: Candidates) -> Iterable[ScoredCandidate]:
        """The scores of candidates at a node.

        Parameters
        ----------
        node : the node, with the rows that reach it and their P(κ|e).
        offered : the candidates of the node.

        Returns
        -------
        A score for each candidate that this splitter handles.
        """
        ...


class ReferenceSplitter:
    """Tests without networks and number cuts, one at a time, by exact inference and sums over the examples one by one.

    `SymbolicSplitter` scores the same candidates in one pass over the examples.

    Parameters
    ----------
    inference : exact inference.
    min_child_mass : the least mass Σ P(κ|e) of each child.
    """

    def __init__(self, inference: ExactInference, min_child_mass: float) -> None:
        self.inference, self.min_child_mass = inference, min_child_mass

    def candidates(self, node: OpenNode, offered: Candidates) -> Iterator[ScoredCandidate]:
        """The score of every test, and the best cut of each number column and family.

        Parameters
        ----------
        node : the node, with the rows that reach it and their P(κ|e).
        offered : the candidates of the node.

        Returns
        -------
        A score for each test without networks, for each number column and for each family.
        """
        for test in offered.tests:
            if test not in node.used and not self.inference.semantics.is_neural(test):
                gain, is_large = self._gain(node, test)
                yield ScoredCandidate(test, gain, math.nan, test, False, int(is_large))
        for family in offered.families:
            scored = [(self._gain(node, test)[0], test) for test in self._family_tests(node, family)]
            if scored and max(gain for gain, _ in scored) > 0:
                gain, test = max(scored, key=lambda pair: pair[0])
                yield ScoredCandidate(test, gain, math.nan, None, False, len(scored) ** CUT_EXPONENT)
        for column in offered.numbers:
            thresholds = self._thresholds(node, column)
            gains = [self._gain(node, CutTest(column, (low + high) / 2))[0] for low, high in thresholds]
            if gains and max(gains) > 0:
                kind = self.inference.semantics.program.schema.get(column)
                cut = cut_test(column, readable_cut(*thresholds[gains.index(max(gains))], kind), kind)
                gain = self._gain(node, cut)[0]
                yield ScoredCandidate(cut, gain, math.nan, None, False, len(gains) ** CUT_EXPONENT)

    def _family_tests(self, node: OpenNode, family: Family) -> Iterator[NodeTest]:
        """The tests of a family with a constant between any two numbers that are compared with it at this node.

        Left out are constants that are below or above all of these numbers for every example.
        """
        program, examples = self.inference.semantics.program, self.inference.sample.examples
        numbers: set[float] = set()
        for expression in expressions_in([family.formula]):
            values, defined = expression_values(expression, examples)
            numbers.update(values[node.rows][defined[node.rows]].tolist())
        ends = [family.test(constant, program) for constant in (-sys.float_info.max, sys.float_info.max)]
        constant_responses = [self.inference.conditional(node.path, test, node.rows) for test in ends]
        for low, high in pairwise(sorted(numbers)):
            test = family.test((low + high) / 2, program)
            responses = self.inference.conditional(node.path, test, node.rows)
            if not any(np.array_equal(responses, other) for other in constant_responses):
                yield test

    def _thresholds(self, node: OpenNode, name: str) -> list[tuple[float, float]]:
        """Neighbouring values of a number column among the examples of a node."""
        column = self.inference.sample.examples.column(name)
        masses = self.inference.sample.target_at(node).weights
        values = {
            float(column.values[row])
            for row, mass in zip(node.rows, masses, strict=True)
            if mass > 0 and (column.missing is None or not column.missing[row])
        }
        return list(pairwise(sorted(values)))

    def _gain(self, node: OpenNode, test: NodeTest) -> tuple[float, bool]:
        """The gain of a test, 0 where a child has too little mass; and whether both have enough."""
        target = self.inference.sample.target_at(node)
        criterion = target.criterion
        yes, no = np.zeros(target.width), np.zeros(target.width)
        responses = self.inference.conditional(node.path, test, node.rows)
        for statistics, response in zip(target.statistics(), responses, strict=True):
            yes += statistics * response
            no += statistics * (1.0 - response)
        is_large = bool(min(criterion.mass(yes), criterion.mass(no)) >= self.min_child_mass)
        if node.bounds is None:
            gain = float(criterion.gain(yes, no))
        else:
            gain = float(node.bounds.gain(criterion, yes, no, node.bounds.orders.of(test)))
        return (max(gain, 0.0) if is_large else 0.0), is_large
