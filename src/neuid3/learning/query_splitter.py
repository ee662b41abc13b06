"""Queries over parts at a node: the refinements of its query, scored for all examples at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.learning.candidates import Candidates
from neuid3.learning.cuts import shortest_cut
from neuid3.learning.grow import OpenNode
from neuid3.learning.inference import ExactInference
from neuid3.learning.splitter import CUT_EXPONENT, GAIN_TOLERANCE, ScoredCandidate
from neuid3.queries.joins import Bindings, grouped, parts_index
from neuid3.queries.language import Literal, Query, Var
from neuid3.queries.refine import Language, Refinement, Refiner, at_least, with_threshold
from neuid3.tree.criteria import Target
from neuid3.tree.query_tests import QueryTest
from neuid3.tree.tree import Path

Floats = npt.NDArray[Any]


class QuerySplitter:
    """Scores the refinements of a node's query.

    Parameters
    ----------
    inference : exact inference.
    language : what queries may be made of.
    min_child_mass : the least mass of each child.
    """

    def __init__(self, inference: ExactInference, language: Language, min_child_mass: float) -> None:
        self.inference, self.sample = inference, inference.sample
        self.refiner, self.min_child_mass = Refiner(language), min_child_mass
        self.index = parts_index(self.sample.examples)

    def candidates(self, node: OpenNode, offered: Candidates) -> Iterator[ScoredCandidate]:  # noqa: ARG002
        """The best refinement of the node's query.

        Parameters
        ----------
        node : the node, with the rows that reach it and their P(κ|e).
        offered : the other candidates of the node, which other splitters score.

        Yields
        ------
        The refinement with the highest gain, if any has gain.
        """
        query = query_of(node.path)
        target = self.sample.target_at(node)
        scores = _Scores(target, self.min_child_mass)
        bindings = self.index.bindings(query, self.index.start(node.rows))
        position = np.full(self.index.size, -1)
        position[node.rows] = np.arange(len(node.rows))
        for refinement in self.refiner.refinements(query, bindings.types):
            self._score(scores, bindings, refinement, position)
        if scores.best is not None:
            literals, gain = scores.best
            test = QueryTest(query.extended(literals), len(query))
            yield ScoredCandidate(test, gain, math.nan, None, False, max(scores.choices, 1.0), scores.ties)

    def _score(self, scores: _Scores, bindings: Bindings, refinement: Refinement, position: Floats) -> None:
        if refinement.open_count:
            counts = self.index.counts(bindings, Query(refinement.literals)).astype(np.float64)
            most = grouped("max", position[bindings.example], counts, len(scores.target))
            scores.add_counts(np.nan_to_num(most, nan=0.0), refinement)
            return
        extended = self.index.bindings(Query(refinement.literals), bindings)
        rows = position[extended.example]
        if refinement.open_field is None:
            responses = np.zeros(len(scores.target), dtype=bool)
            responses[rows] = True
            scores.add(responses, refinement.literals)
            return
        values = self.index.field(extended, refinement.open_field)
        for function, operator in (("min", "=<"), ("max", ">")):
            numbers = grouped(function, rows, values, len(scores.target))
            scores.add_thresholds(numbers, operator, refinement)


def query_of(path: Path) -> Query:
    """The query of a node: that of the last query test above it whose yes-branch it is in.

    Parameters
    ----------
    path : the tests above the node with their responses.

    Returns
    -------
    The query; empty at the root, and below no-branches only.
    """
    for test, response in reversed(path):
        if response and isinstance(test, QueryTest):
            return test.query
    return Query()


class _Scores:
    """The best of many scored refinements, and how many there were."""

    def __init__(self, target: Target, min_child_mass: float) -> None:
        self.target, self.min_child_mass = target, min_child_mass
        self.statistics, self.criterion = target.statistics(), target.criterion
        self.total = self.statistics.sum(0)
        self.best: tuple[tuple[Literal, ...], float] | None = None
        self.choices, self.ties = 0.0, 1

    def _offer(self, literals: tuple[Literal, ...], gain: float) -> None:
        if gain <= 0.0:
            return
        if self.best is None or gain > self.best[1] + GAIN_TOLERANCE:
            self.best, self.ties = (literals, gain), 1
        elif gain >= self.best[1] - GAIN_TOLERANCE:
            self.ties += 1

    def _gains(self, yes: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
        mass = self.criterion.mass(yes)
        is_large = np.minimum(mass, self.criterion.mass(self.total) - mass) >= self.min_child_mass
        return np.where(is_large, self.criterion.gain(yes, self.total - yes), 0.0), is_large

    def add(self, responses: npt.NDArray[np.bool_], literals: tuple[Literal, ...]) -> None:
        """Score a conjunction with these responses."""
        gain, is_large = self._gains(responses.astype(np.float64) @ self.statistics)
        self.choices += float(is_large)
        self._offer(literals, float(gain))

    def add_counts(self, counts: Floats, refinement: Refinement) -> None:
        """Score the counts from two on."""
        for count in range(2, int(counts.max(initial=0)) + 1):
            self.add(counts >= count, at_least(count, refinement))

    def add_thresholds(self, numbers: Floats, operator: str, refinement: Refinement) -> None:
        """Score all thresholds of a number; examples without one are on the no side."""
        known = np.flatnonzero(~np.isnan(numbers))
        order = known[np.argsort(numbers[known], kind="stable")]
        values = numbers[order]
        ends = np.flatnonzero(np.diff(values) > 0)
        if not len(ends):
            return
        below = np.cumsum(self.statistics[order], axis=0)
        yes = below[ends] if operator == "=<" else below[-1] - below[ends]
        gains, is_large = self._gains(yes)
        self.choices += float(is_large.sum()) ** CUT_EXPONENT if is_large.any() else 0.0
        best = int(np.argmax(gains))
        threshold = shortest_cut(float(values[ends[best]]), float(values[ends[best] + 1]))
        self._offer(with_threshold(refinement, operator, threshold), float(gains[best]))


def typed_variables(bindings: Bindings) -> dict[Var, str]:
    """The types of the variables of bindings."""
    return dict(bindings.types)
