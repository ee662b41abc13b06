"""Which values of its variables settle a test, and how much of its probability does each of them carry?

A proof is a way through the decision diagram of a test to true. Ways exclude each other, so their probabilities sum to
that of the test. Where earlier answers share variables with the test, their diagram is walked along: P(proof | κ, e) is
what is left of it, summed over everything that the proof does not mention.

The k best are found without walking them all. For every place of the walk we know beforehand the most that a way on from
there can come to, and the most promising way is always the next to be followed. Without earlier answers that bound is
met, so the search takes no step in vain.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from itertools import count as numbers
from itertools import islice

from neuid3.circuits.compile import Circuit, compile_formulas
from neuid3.circuits.conjunctions import SignedTest
from neuid3.circuits.diagram import FALSE, TRUE
from neuid3.explain.example_view import Scene
from neuid3.explain.explanation import Proof
from neuid3.explain.probabilities import Odds, conjunction, count, signed
from neuid3.logic.formula import Variable

# A node in the diagram of the test, and one in that of the earlier answers.
Pair = tuple[int, int]

# The values that variables take along a way: the last one, and those before it.
Trail = tuple["Trail", Variable, int] | None


def proofs_of(
    scene: Scene, odds: Odds, path: tuple[SignedTest, ...], answer: SignedTest, most: int
) -> tuple[Proof, ...]:
    """The most probable proofs of this answer at the end of a path, given the path."""
    given = related(odds, path, answer)
    total = odds.probability(given)
    if total == 0.0:
        return ()
    # Answers that are certain hold wherever the others do, and take nothing away from them.
    open_answers = [earlier for earlier in given if earlier[0] not in scene.certain_answers]
    circuit = compile_formulas([signed(scene, answer), conjunction(scene, open_answers)], scene.limits)
    best = islice(_Walk(circuit, scene.weights).ways(), most)
    return tuple(Proof(tuple(scene.taking(*step) for step in way), mass / total) for way, mass in best)


def related(odds: Odds, path: tuple[SignedTest, ...], answer: SignedTest) -> tuple[SignedTest, ...]:
    """The answers on the path that have something to do with this one; the others are independent of it."""
    if answer[0] in odds.scene.lonely_tests:
        return tuple(earlier for earlier in dict.fromkeys(path) if earlier[0] == answer[0])
    mine = next(part for part in odds.together([*path, answer]) if answer in part)
    return tuple(earlier for earlier in dict.fromkeys(path) if earlier in mine)


class _Walk:
    """Ways through the first root of a circuit, weighed by what is left of the second."""

    def __init__(self, circuit: Circuit, weights: Mapping[Variable, tuple[float, ...]]) -> None:
        self.circuit = circuit
        self.weights = [weights[variable] for variable in circuit.variables]
        self.below = count(circuit, weights)
        self._bounds: dict[Pair, float] = {}

    def ways(self) -> Iterator[tuple[list[tuple[Variable, int]], float]]:
        """Every way to true, most probable first: its values, and P(way and the second root)."""
        test, rest = self.circuit.roots
        order = numbers()
        # The most a way can come to, a number that breaks ties, where it stands in both diagrams, and what it took. In
        # the second diagram it stands at several nodes at once, with a share at each.
        heap: list[tuple[float, int, int, dict[int, float], Trail]] = []
        heapq.heappush(heap, (-self.bound((test, rest)), next(order), test, {rest: 1.0}, None))
        while heap and heap[0][0] < 0.0:
            negative, _, node, shares, trail = heapq.heappop(heap)
            if node == TRUE:
                yield _taken(trail), -negative
                continue
            level = self._level(node)
            shares = self._sink(shares, level)
            for value, chance in enumerate(self.weights[level]):
                child = self.circuit.children[node - 2][value]
                moved = self._move(shares, level, value, chance)
                most = sum(share * self.bound((child, other)) for other, share in moved.items())
                if most > 0.0:
                    taken = (trail, self.circuit.variables[level], value)
                    heapq.heappush(heap, (-most, next(order), child, moved, taken))

    def _level(self, node: int) -> int:
        return self.circuit.levels[node - 2] if node > TRUE else len(self.circuit.variables)

    def _sink(self, shares: dict[int, float], level: int) -> dict[int, float]:
        """The shares summed over all variables above this level, which the test does not ask here."""
        waiting, sunk = dict(shares), dict[int, float]()
        while waiting:
            node = max(waiting)  # parents have larger numbers than their children
            share = waiting.pop(node)
            if self._level(node) >= level:
                sunk[node] = share
                continue
            for chance, child in zip(self.weights[self._level(node)], self.circuit.children[node - 2], strict=True):
                if chance > 0.0:
                    waiting[child] = waiting.get(child, 0.0) + share * chance
        return sunk

    def _move(self, shares: dict[int, float], level: int, value: int, chance: float) -> dict[int, float]:
        """The shares after the variable of this level took a value."""
        moved: dict[int, float] = {}
        for node, share in shares.items():
            after = self.circuit.children[node - 2][value] if self._level(node) == level else node
            moved[after] = moved.get(after, 0.0) + share * chance
        return moved

    def bound(self, pair: Pair) -> float:
        """The most that a way on from here can come to. An explicit stack, since rules may have thousands of variables."""
        stack = [pair]
        while stack:
            known = self._known(stack[-1])
            if known is not None:
                stack.pop()
                continue
            level, ahead, is_asked = self._ahead(stack[-1])
            found = [self._known(after) for after in ahead]
            missing = [after for after, bound in zip(ahead, found, strict=True) if bound is None]
            if missing:
                stack.extend(missing)
                continue
            parts = [chance * (bound or 0.0) for chance, bound in zip(self.weights[level], found, strict=True)]
            self._bounds[stack.pop()] = max(parts) if is_asked else sum(parts)
        return self._known(pair) or 0.0

    def _known(self, pair: Pair) -> float | None:
        test, rest = pair
        if FALSE in pair:
            return 0.0
        return self.below[rest] if test == TRUE else self._bounds.get(pair)

    def _ahead(self, pair: Pair) -> tuple[int, list[Pair], bool]:
        """The next variable of two diagrams, where its values lead, and whether it is the test that asks for it."""
        levels = [self._level(node) for node in pair]
        level = min(levels)
        sides = [
            self.circuit.children[node - 2] if here == level else (node,) * len(self.weights[level])
            for node, here in zip(pair, levels, strict=True)
        ]
        return level, list(zip(*sides, strict=True)), levels[0] == level


def _taken(trail: Trail) -> list[tuple[Variable, int]]:
    steps: list[tuple[Variable, int]] = []
    while trail is not None:
        trail, variable, value = trail
        steps.append((variable, value))
    return steps[::-1]
