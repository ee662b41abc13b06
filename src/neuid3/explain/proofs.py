"""The k most probable proofs of a test response.

A proof is a path through the decision diagram of a test to true. Paths exclude each other, so their probabilities sum to
that of the response. Where earlier responses share variables with the test, their diagram is followed in parallel:
P(proof | κ, e) is its remaining probability, summed over all variables that the proof does not mention.

Best-first search finds the k best without visiting all paths: for every pair of nodes there is an upper bound on the
probability of a path onward from there. Without earlier responses the bound is tight, so that no step is wasted.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from itertools import count, islice

from neuid3.circuits.compile import Circuit, compile_formulas
from neuid3.circuits.conjunctions import SignedTest
from neuid3.circuits.diagram import FALSE, TRUE
from neuid3.explain.example_view import ExampleView
from neuid3.explain.explanation import Proof
from neuid3.explain.probabilities import JointProbabilities, conjunction, node_probabilities, signed_formula
from neuid3.logic.formula import Variable

# A node in the diagram of the test, and one in that of the earlier responses.
Pair = tuple[int, int]

# The values that variables take along a path, as a linked list from the last one.
Trail = tuple["Trail", Variable, int] | None


def proofs_of(
    view: ExampleView, joint: JointProbabilities, path: tuple[SignedTest, ...], signed_test: SignedTest, max_proofs: int
) -> tuple[Proof, ...]:
    """The most probable proofs of a test response, given the path to the test.

    Parameters
    ----------
    view : the example.
    joint : the joint probabilities of its test responses.
    path : the path to the test.
    signed_test : the test and its response.
    max_proofs : the most proofs.
    """
    given = related(joint, path, signed_test)
    total = joint.probability(given)
    if total == 0.0:
        return ()
    # Responses that are certain are true wherever the others are, and do not change their probability.
    uncertain = [earlier for earlier in given if earlier[0] not in view.certain_responses]
    circuit = compile_formulas([signed_formula(view, signed_test), conjunction(view, uncertain)], view.limits)
    best = islice(_ProofSearch(circuit, view.weights).paths(), max_proofs)
    return tuple(Proof(tuple(view.assignment(*step) for step in steps), mass / total) for steps, mass in best)


def related(joint: JointProbabilities, path: tuple[SignedTest, ...], signed_test: SignedTest) -> tuple[SignedTest, ...]:
    """The signed tests on a path that may depend on this one; the others are independent of it."""
    if signed_test[0] in joint.view.isolated_tests:
        return tuple(earlier for earlier in dict.fromkeys(path) if earlier[0] == signed_test[0])
    part = next(part for part in joint.connected_parts([*path, signed_test]) if signed_test in part)
    return tuple(earlier for earlier in dict.fromkeys(path) if earlier in part)


class _ProofSearch:
    """Best-first search of paths through the first root of a circuit, weighted by the second root."""

    def __init__(self, circuit: Circuit, weights: Mapping[Variable, tuple[float, ...]]) -> None:
        self.circuit = circuit
        self.weights = [weights[variable] for variable in circuit.variables]
        self.below = node_probabilities(circuit, weights)
        self._bounds: dict[Pair, float] = {}

    def paths(self) -> Iterator[tuple[list[tuple[Variable, int]], float]]:
        """Every path to true, most probable first: its values, and P(path and the second root)."""
        test, rest = self.circuit.roots
        order = count()
        # The negated bound, a number that breaks ties, the node in the first diagram, the nodes in the second one, and the
        # values so far. In the second diagram a path is at several nodes at once, each with its share of the probability.
        heap: list[tuple[float, int, int, dict[int, float], Trail]] = []
        heapq.heappush(heap, (-self.bound((test, rest)), next(order), test, {rest: 1.0}, None))
        while heap and heap[0][0] < 0.0:
            negative, _, node, shares, trail = heapq.heappop(heap)
            if node == TRUE:
                yield _steps(trail), -negative
                continue
            level = self._level(node)
            shares = self._sum_out(shares, level)
            for value, weight in enumerate(self.weights[level]):
                child = self.circuit.children[node - 2][value]
                child_shares = self._assign(shares, level, value, weight)
                bound = sum(share * self.bound((child, other)) for other, share in child_shares.items())
                if bound > 0.0:
                    extended = (trail, self.circuit.variables[level], value)
                    heapq.heappush(heap, (-bound, next(order), child, child_shares, extended))

    def _level(self, node: int) -> int:
        return self.circuit.levels[node - 2] if node > TRUE else len(self.circuit.variables)

    def _sum_out(self, shares: dict[int, float], level: int) -> dict[int, float]:
        """The shares summed over all variables above this level, on which the test does not depend here."""
        pending, summed = dict(shares), dict[int, float]()
        while pending:
            node = max(pending)  # parents have larger numbers than their children
            share = pending.pop(node)
            if self._level(node) >= level:
                summed[node] = share
                continue
            for weight, child in zip(self.weights[self._level(node)], self.circuit.children[node - 2], strict=True):
                if weight > 0.0:
                    pending[child] = pending.get(child, 0.0) + share * weight
        return summed

    def _assign(self, shares: dict[int, float], level: int, value: int, weight: float) -> dict[int, float]:
        """The shares after the variable of this level takes a value."""
        assigned: dict[int, float] = {}
        for node, share in shares.items():
            after = self.circuit.children[node - 2][value] if self._level(node) == level else node
            assigned[after] = assigned.get(after, 0.0) + share * weight
        return assigned

    def bound(self, pair: Pair) -> float:
        """An upper bound on the probability of a path onward. An explicit stack handles rules of thousands of variables."""
        stack = [pair]
        while stack:
            known = self._known(stack[-1])
            if known is not None:
                stack.pop()
                continue
            level, successors, of_test = self._successors(stack[-1])
            bounds = [self._known(after) for after in successors]
            missing = [after for after, bound in zip(successors, bounds, strict=True) if bound is None]
            if missing:
                stack.extend(missing)
                continue
            parts = [weight * (bound or 0.0) for weight, bound in zip(self.weights[level], bounds, strict=True)]
            self._bounds[stack.pop()] = max(parts) if of_test else sum(parts)
        return self._known(pair) or 0.0

    def _known(self, pair: Pair) -> float | None:
        test, rest = pair
        if FALSE in pair:
            return 0.0
        return self.below[rest] if test == TRUE else self._bounds.get(pair)

    def _successors(self, pair: Pair) -> tuple[int, list[Pair], bool]:
        """The level of the next variable, the pairs that its values lead to, and whether the test depends on it."""
        levels = [self._level(node) for node in pair]
        level = min(levels)
        children = [
            self.circuit.children[node - 2] if node_level == level else (node,) * len(self.weights[level])
            for node, node_level in zip(pair, levels, strict=True)
        ]
        return level, list(zip(*children, strict=True)), levels[0] == level


def _steps(trail: Trail) -> list[tuple[Variable, int]]:
    steps: list[tuple[Variable, int]] = []
    while trail is not None:
        trail, variable, value = trail
        steps.append((variable, value))
    return steps[::-1]
