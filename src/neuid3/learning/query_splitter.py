"""Queries over parts at a node: the refinements of its query, scored for all examples at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.binned.cuts import shortest_cut
from neuid3.data.dates import date_cut
from neuid3.errors import NodeTestError
from neuid3.learning.candidates import Candidates
from neuid3.learning.grow import OpenNode
from neuid3.learning.inference import ExactInference
from neuid3.learning.splitter import CUT_EXPONENT, GAIN_TOLERANCE, ScoredCandidate
from neuid3.queries.grounding import Vocabulary, renamed_literal
from neuid3.queries.joins import Bindings, PartsIndex, grouped, parts_index
from neuid3.queries.language import Different, Field, Literal, Query, Var, all_variables, binding_variables
from neuid3.queries.modes import derived_modes, refiner_of
from neuid3.queries.refine import Language, Refinement, at_least, with_threshold
from neuid3.tree.criteria import Target
from neuid3.tree.node_tests import Instances, NodeTest
from neuid3.tree.query_tests import QueryTest
from neuid3.tree.tree import Path

Floats = npt.NDArray[Any]

# Below so many refinements of a node a tree is grown greedily before one of them is chosen, as long as there are at most
# `ROLLOUT_ROWS` examples, parts and tuples for each, and until so many refinements were scored; and what it costs a split to
# name its test, in bits per bit of choice.
MAX_ROLLOUTS, ROLLOUT_ROWS, ROLLOUT_REFINEMENTS, BITS_PER_CHOICE = 20, 40_000, 40_000, 0.75

# The number among those of all bindings that decides whether one of them satisfies a comparison.
_EXTREME = {"=<": "min", ">": "max"}

# The number of the binding that an extension belongs to, as if it were a part.
ROW = Var("\x00row")


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
        self.refiner, self.min_child_mass = refiner_of(language, symbolic=True), min_child_mass
        self.language = language
        self.vocabulary = Vocabulary(language.schema)
        self.index = parts_index(self.sample.examples)
        structure = self.index.structure
        size = structure.size + sum(map(len, structure.parts.values()))
        size += sum(len(relation.example) for relation in structure.relations.values())
        self.rollouts = int(np.clip(ROLLOUT_ROWS // size, 1, MAX_ROLLOUTS))
        self._root_sums = self.sample.target.sums()
        self._known: dict[Any, _Scores] = {}  # by query, rows and weights: rollouts meet the same nodes again
        self._bits: dict[Any, tuple[float, int]] = {}

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
        whole = query_of(node.path)
        # Joins cannot evaluate a query with atoms of the program; what is asked below it are other parts.
        query = whole if self.vocabulary.is_symbolic_query(whole) else Query()
        target = self.sample.target_at(node)
        scores = self._scores(query, node.rows, target)
        if not scores.best:
            return
        chosen = self._shortest(query, node.rows, target, scores)
        literals = chosen.literals if query is whole else _apart(chosen.literals, whole)
        test = QueryTest(whole.extended(literals), len(whole), instances_of(node.path))
        ties = scores.ties(chosen.gain)
        yield ScoredCandidate(test, chosen.gain, math.nan, None, False, max(scores.choices, 1.0), ties)

    def best_refinements(
        self, query: Query, rows: Any, target: Target, most: int
    ) -> Iterator[tuple[tuple[Literal, ...], float, npt.NDArray[np.bool_]]]:
        """The refinements of a query with the highest gains, which have different responses.

        Parameters
        ----------
        query : the query.
        rows : the rows of the examples.
        target : their targets.
        most : the most refinements.

        Yields
        ------
        The literals that are added, the gain of the refined query, and for which rows it holds.
        """
        for scored in self._scored(query, rows, target, most).best:
            yield scored.literals, scored.gain, scored.responses

    def _scores(self, query: Query, rows: Any, target: Target) -> _Scores:
        """The scores of all refinements of a query for the examples in these rows."""
        key = (query, rows.tobytes(), target.weights.tobytes())
        if key not in self._known:
            self._known[key] = self._scored(query, rows, target, self.rollouts)
        return self._known[key]

    def _scored(self, query: Query, rows: Any, target: Target, most: int) -> _Scores:
        scores = _Scores(target, self.min_child_mass, most)
        bindings = self.index.bindings(query, self.index.start(rows))
        position = np.full(self.index.size, -1)
        position[rows] = np.arange(len(rows))
        joined = _Joined(self.index, bindings)
        for refinement in self.refiner.refinements(query, bindings.types):
            self._score(scores, joined, refinement, position)
            scores.count += 1
            if scores.count > self.language.max_refinements:
                raise too_many_refinements(query, self.language)
        scores.finish()
        return scores

    def _shortest(self, query: Query, rows: Any, target: Target, scores: _Scores) -> _Scored:
        """Of the best refinements, the one below which trees that are grown greedily describe the targets in fewest bits.

        They are tried in the order of their gains until `ROLLOUT_REFINEMENTS` refinements were scored; what is known from
        other nodes counts as if it were scored again, so that a fit that is resumed chooses the same.
        """
        chosen, fewest, cost = scores.best[0], math.inf, 0
        for scored in scores.best[: self.rollouts if self.rollouts > 1 else 0]:
            mask = scored.responses
            yes, yes_cost = self._greedy_bits(query.extended(scored.literals), rows[mask], target[mask])
            no, no_cost = self._greedy_bits(query, rows[~mask], target[~mask])
            if yes + no < fewest - GAIN_TOLERANCE:
                chosen, fewest = scored, yes + no
            cost += yes_cost + no_cost
            if cost > ROLLOUT_REFINEMENTS:
                break
        return chosen

    def _greedy_bits(self, query: Query, rows: Any, target: Target) -> tuple[float, int]:
        """The bits that describe the targets at a node under the tree that is grown greedily, and the refinements scored."""
        key = (query, rows.tobytes(), target.weights.tobytes())
        if key not in self._bits:
            self._bits[key] = self._computed_bits(query, rows, target)
        return self._bits[key]

    def _computed_bits(self, query: Query, rows: Any, target: Target) -> tuple[float, int]:
        criterion, sums = target.criterion, target.sums()
        as_leaf = criterion.code_length(sums, self._root_sums)
        if criterion.is_pure(sums):
            return as_leaf, 0
        scores = self._scores(query, rows, target)
        if not scores.best:
            return as_leaf, scores.count
        best = scores.best[0]
        penalty = BITS_PER_CHOICE * math.log2(max(scores.choices / scores.ties(best.gain), 1.0))
        mask = best.responses
        yes, yes_cost = self._greedy_bits(query.extended(best.literals), rows[mask], target[mask])
        no, no_cost = self._greedy_bits(query, rows[~mask], target[~mask])
        return min(as_leaf, penalty + yes + no), scores.count + yes_cost + no_cost

    def _score(self, scores: _Scores, joined: _Joined, refinement: Refinement, position: Floats) -> None:
        extended = joined.bindings(refinement.literals)
        rows = position[extended.example]
        if refinement.open_count:
            scores.add_counts(joined.most_extensions(extended, position, len(scores.target)), refinement)
        elif refinement.open_aggregate is not None:
            values = joined.aggregates(extended, *refinement.open_aggregate)
            examples = position[joined.query_bindings.example]
            for operator in refinement.operators:
                numbers = grouped(_EXTREME[operator], examples, values, len(scores.target))
                scores.add_thresholds(numbers, operator, refinement)
        elif refinement.open_field is None:
            responses = np.zeros(len(scores.target), dtype=bool)
            responses[rows] = True
            scores.add(responses, refinement.literals)
        else:
            values = self.index.field(extended, refinement.open_field)
            for operator in refinement.operators:
                scores.add_thresholds(
                    grouped(_EXTREME[operator], rows, values, len(scores.target)), operator, refinement
                )


class _Joined:
    """Extensions of the bindings of a query; those by all literals but the last are kept for the next refinements."""

    def __init__(self, index: PartsIndex, bindings: Bindings) -> None:
        self.index, self.query_bindings = index, bindings
        self.known: dict[tuple[Literal, ...], Bindings] = {(): bindings.with_part(ROW, "", np.arange(len(bindings)))}

    def bindings(self, literals: tuple[Literal, ...]) -> Bindings:
        """The extensions of the bindings by these literals."""
        if literals in self.known:
            return self.known[literals]
        extended = self.index.extend(self.bindings(literals[:-1]), literals[-1])
        if any(True for _ in binding_variables(literals[-1])) or isinstance(literals[-1], Different):
            self.known[literals] = extended
        return extended

    def aggregates(self, extended: Bindings, function: str, field: Field) -> Floats:
        """A number over the distinct parts that extend each binding of the query, `(binding,)`."""
        part = extended.parts[field.part]
        _, first = np.unique(extended.parts[ROW] * (int(part.max(initial=0)) + 1) + part, return_index=True)
        values = self.index.field(extended, field)[first]
        return grouped(function, extended.parts[ROW][first], values, len(self.query_bindings))

    def most_extensions(self, extended: Bindings, position: Floats, size: int) -> Floats:
        """The most distinct extensions of one binding, for each example."""
        new = [numbers for v, numbers in extended.parts.items() if v != ROW and v not in self.query_bindings.parts]
        key = extended.parts[ROW]
        for numbers in new:
            key = key * (int(numbers.max(initial=0)) + 1) + numbers
        _, first = np.unique(key, return_index=True)
        counts = np.bincount(extended.parts[ROW][first], minlength=len(self.query_bindings))
        most = np.zeros(size)
        np.maximum.at(most, position[self.query_bindings.example], counts)
        return most


def _apart(literals: tuple[Literal, ...], query: Query) -> tuple[Literal, ...]:
    """Literals whose variables have other names than those of a query."""
    taken = {variable.name for variable in query.all_variables}
    own = sorted({variable for literal in literals for variable in all_variables(literal)})
    names: dict[Var, Var] = {}
    for variable in own:
        letter = variable.name[0]
        free = (name for i in itertools.count(1) if (name := letter if i == 1 else f"{letter}{i}") not in taken)
        names[variable] = Var(next(free))
        taken.add(names[variable].name)
    return tuple(renamed_literal(literal, names) for literal in literals)


def too_many_refinements(query: Query, language: Language) -> NodeTestError:
    """The error that a query has more refinements than a fit may try.

    Parameters
    ----------
    query : the query.
    language : what it is refined by.

    Returns
    -------
    The error.
    """
    name = f"The query '{query}' of a node" if query.literals else "The root"
    modes = ", ".join(repr(mode) for mode in derived_modes(language.schema)[:2])
    return NodeTestError(
        f"{name} has more than {language.max_refinements:,} refinements; give modes that allow fewer, such as "
        f"modes=[{modes}], lower max_variables={language.max_variables}, or raise max_candidates."
    )


def query_of(path: Path) -> Query:
    """The query of a node: that of the last query test above it whose yes-branch it is in.

    Parameters
    ----------
    path : the tests above the node with their responses.

    Returns
    -------
    The query; empty at the root, and below no-branches only.
    """
    last = _last_query(path)
    return Query() if last is None or last.query is None else last.query


def instances_of(path: Path) -> Instances:
    """The network instances of a node's query, which a test that continues it calls too.

    Parameters
    ----------
    path : the tests above the node with their responses.

    Returns
    -------
    Pairs of a declared network and its instance.
    """
    last = _last_query(path)
    return () if last is None else last.instances


def _last_query(path: Path) -> NodeTest | None:
    return next((test for test, response in reversed(path) if response and test.query is not None), None)


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """A refinement with its gain and its responses for the examples of a node."""

    literals: tuple[Literal, ...]
    gain: float
    responses: npt.NDArray[np.bool_]


class _Scores:
    """The best of many scored refinements, and how many there were."""

    def __init__(self, target: Target, min_child_mass: float, most: int) -> None:
        self.target, self.min_child_mass, self.most = target, min_child_mass, most
        self.statistics, self.criterion = target.statistics(), target.criterion
        self.total = self.statistics.sum(0)
        self.best: list[_Scored] = []  # with different responses, the best first
        self.choices, self.count = 0.0, 0
        self._gains_of_all: list[float] = []
        self._waiting: list[tuple[tuple[Literal, ...], npt.NDArray[np.bool_]]] = []

    def ties(self, gain: float) -> int:
        """How many refinements have at least this gain."""
        return max(sum(other >= gain - GAIN_TOLERANCE for other in self._gains_of_all), 1)

    def _offer(self, literals: tuple[Literal, ...], gain: float, responses: npt.NDArray[np.bool_]) -> None:
        self._gains_of_all.append(gain)
        if gain <= 0.0 or (len(self.best) == self.most and gain <= self.best[-1].gain + GAIN_TOLERANCE):
            return
        for known in self.best:
            if abs(known.gain - gain) <= GAIN_TOLERANCE and np.array_equal(known.responses, responses):
                return  # an equivalent refinement came first, and is not longer
        self.best.append(_Scored(literals, gain, responses))
        self.best.sort(key=lambda scored: -scored.gain)
        del self.best[self.most :]

    def _gains(self, yes: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
        mass = self.criterion.mass(yes)
        is_large = np.minimum(mass, self.criterion.mass(self.total) - mass) >= self.min_child_mass
        return np.where(is_large, self.criterion.gain(yes, self.total - yes), 0.0), is_large

    def add(self, responses: npt.NDArray[np.bool_], literals: tuple[Literal, ...]) -> None:
        """Score a conjunction with these responses, together with others in `finish`."""
        self._waiting.append((literals, responses))

    def finish(self) -> None:
        """Score the conjunctions that are waiting."""
        if not self._waiting:
            return
        responses = np.stack([mask for _, mask in self._waiting])
        gains, is_large = self._gains(responses.astype(np.float64) @ self.statistics)
        self.choices += float(is_large.sum())
        for (literals, mask), gain in zip(self._waiting, gains.tolist(), strict=True):
            self._offer(literals, gain, mask)
        self._waiting.clear()

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
        cut = date_cut if refinement.is_date else shortest_cut
        threshold = cut(float(values[ends[best]]), float(values[ends[best] + 1]))
        with np.errstate(invalid="ignore"):
            responses = numbers <= threshold if operator == "=<" else numbers > threshold
        self._offer(with_threshold(refinement, operator, threshold), float(gains[best]), responses)
