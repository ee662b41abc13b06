"""How probable is it that some tests give some answers in this example, and can they at all?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from neuid3.circuit import FALSE, Circuit, compile_formulas
from neuid3.circuit.factor import Answer, groups
from neuid3.explain.scene import Scene
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
    _wholes: dict[frozenset[Answer], tuple[float, bool]] = field(default_factory=dict)
    _parts: dict[frozenset[Answer], tuple[float, bool]] = field(default_factory=dict)

    def together(self, answers: Iterable[Answer]) -> list[frozenset[Answer]]:
        """The answers in parts that share no variable with each other, directly or through others."""
        asked = frozenset(answers)
        parts = groups(sorted({test for test, _ in asked}), self.scene.variables_of)
        return [frozenset(answer for answer in asked if answer[0] in part) for part in parts]

    def probability(self, answers: Iterable[Answer]) -> float:
        """P(all these answers | e)."""
        return self._whole(frozenset(answers))[0]

    def possible(self, answers: Iterable[Answer]) -> bool:
        """Is there any world, whatever the example, in which the tests give these answers?"""
        return self._whole(frozenset(answers))[1]

    def _whole(self, answers: frozenset[Answer]) -> tuple[float, bool]:
        if answers not in self._wholes:
            parts = [self._part(part) for part in self.together(answers)]
            chances, worlds = [chance for chance, _ in parts], [some for _, some in parts]
            self._wholes[answers] = math.prod(chances), all(worlds)
        return self._wholes[answers]

    def _part(self, part: frozenset[Answer]) -> tuple[float, bool]:
        if part not in self._parts:
            circuit = compile_formulas([conjunction(self.scene, part)], self.scene.limits)
            root = circuit.roots[0]
            self._parts[part] = count(circuit, self.scene.weights)[root], root != FALSE
        return self._parts[part]


def conjunction(scene: Scene, answers: Iterable[Answer]) -> Formula:
    """The formula that says that the tests give these answers."""
    return And(tuple(signed(scene, answer) for answer in sorted(answers)))


def signed(scene: Scene, answer: Answer) -> Formula:
    """The formula of a test, or its opposite."""
    test, wanted = answer
    return scene.formulas[test] if wanted else negate(scene.formulas[test])
