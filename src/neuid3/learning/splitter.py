"""The protocol of splitters, which score candidates at a node, and a plain implementation that others are checked against."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Protocol

import numpy as np

from neuid3.learning.candidates import Candidates
from neuid3.learning.cuts import shortest_cut
from neuid3.learning.grow import OpenNode
from neuid3.learning.inference import ExactInference
from neuid3.learning.sample import ScoredCandidate
from neuid3.tree.node_tests import CutTest, NodeTest

# The number of cuts of a column counts to this power in the pruning penalty: a column of noise has many cuts, and the best
# would be accepted if they counted like other choices.
CUT_EXPONENT = 4 / 3


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
        """The score of every test, and the best cut of each number column.

        Parameters
        ----------
        node : the node, with the rows that reach it and their P(κ|e).
        offered : the candidates of the node.

        Returns
        -------
        A score for each test without networks and for each number column.
        """
        for test in offered.tests:
            if test not in node.used and not self.inference.semantics.is_neural(test):
                gain, is_large = self._gain(node, test)
                yield ScoredCandidate(test, gain, math.nan, test, False, int(is_large))
        for column in offered.numbers:
            thresholds = self._thresholds(node, column)
            gains = [self._gain(node, CutTest(column, (low + high) / 2))[0] for low, high in thresholds]
            if gains and max(gains) > 0:
                cut = CutTest(column, shortest_cut(*thresholds[gains.index(max(gains))]))
                gain = self._gain(node, cut)[0]
                yield ScoredCandidate(cut, gain, math.nan, None, False, len(gains) ** CUT_EXPONENT)

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
        return (max(float(criterion.gain(yes, no)), 0.0) if is_large else 0.0), is_large
