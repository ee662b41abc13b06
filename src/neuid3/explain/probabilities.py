"""How probable is it that some tests give some answers in this example, and can they at all?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from neuid3.circuits.compile import Circuit, compile_formulas
from neuid3.circuits.conjunctions import SignedTest, groups
from neuid3.circuits.diagram import FALSE
from neuid3.explain.example_view import Scene
from neuid3.logic.formula import And, Formula, Variable, negate


def count(circuit: Circuit, weights: Mapping[Variable, tuple[float, ...]]) -> list[float]:
    """The probability of every node of a circuit, by the node's number; 0 is false and 1 is true."""
    found = [0.0, 1.0]
    for level, children in zip(circuit.levels, circuit.children, strict=True):
        chances = weights[circuit.variables[level]]
        found.append(sum(chance * found[child] for chance, child in zip(chances, children, strict=True)))
    return found


@dataclass(slots=True)
class Odds:
    """Answers about conjunctions of answers; each is compiled once, when it is first asked for."""

    scene: Scene
    _chances: dict[frozenset[SignedTest], float] = field(default_factory=dict)
    _worlds: dict[frozenset[SignedTest], bool] = field(default_factory=dict)
    _parts: dict[frozenset[SignedTest], tuple[float, bool]] = field(default_factory=dict)

    def together(self, answers: Iterable[SignedTest]) -> list[frozenset[SignedTest]]:
        """The answers in parts that share no variable with each other, directly or through others."""
        return self._split(answers, self.scene.lonely_tests)

    def factors(self, answers: Iterable[SignedTest]) -> list[frozenset[SignedTest]]:
        """The answers in parts that are independent in this example, where a test whose variables are certain stands alone."""
        return self._split(answers, self.scene.lonely_tests | self.scene.certain_answers.keys())

    def _split(self, answers: Iterable[SignedTest], alone: Set[int]) -> list[frozenset[SignedTest]]:
        asked = sorted(frozenset(answers))
        shared = dict.fromkeys(test for test, _ in asked if test not in alone)
        parts = enumerate(groups(shared, self.scene.numbers_of))
        part_of = {test: number for number, members in parts for test in members}
        found: dict[int, list[SignedTest]] = {}
        for answer in asked:
            found.setdefault(part_of.get(answer[0], -1 - answer[0]), []).append(answer)
        return list(map(frozenset, found.values()))

    def probability(self, answers: Iterable[SignedTest]) -> float:
        """P(all these answers | e)."""
        asked = frozenset(answers)
        if asked not in self._chances:
            self._chances[asked] = math.prod(map(self._chance, self.factors(asked)))
        return self._chances[asked]

    def possible(self, answers: Iterable[SignedTest]) -> bool:
        """Is there any world, whatever the example, in which the tests give these answers?"""
        asked = frozenset(answers)
        if asked not in self._worlds:
            self._worlds[asked] = all(self._part(part)[1] for part in self.together(asked))
        return self._worlds[asked]

    def _chance(self, part: frozenset[SignedTest]) -> float:
        certain = self.scene.certain_answers
        if all(test in certain for test, _ in part):
            return float(all(certain[test] == answer for test, answer in part))
        return self._part(part)[0]

    def _part(self, part: frozenset[SignedTest]) -> tuple[float, bool]:
        if part not in self._parts:
            circuit = compile_formulas([conjunction(self.scene, part)], self.scene.limits)
            root = circuit.roots[0]
            self._parts[part] = count(circuit, self.scene.weights)[root], root != FALSE
        return self._parts[part]


def conjunction(scene: Scene, answers: Iterable[SignedTest]) -> Formula:
    """The formula that says that the tests give these answers."""
    return And(tuple(signed(scene, answer) for answer in sorted(answers)))


def signed(scene: Scene, answer: SignedTest) -> Formula:
    """The formula of a test, or its opposite."""
    test, wanted = answer
    return scene.formulas[test] if wanted else negate(scene.formulas[test])
