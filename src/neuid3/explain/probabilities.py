"""Joint probabilities of test responses in one example."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from neuid3.circuits.compile import Circuit, compile_formulas
from neuid3.circuits.conjunctions import SignedTest, groups
from neuid3.circuits.diagram import FALSE
from neuid3.explain.example_view import ExampleView
from neuid3.logic.formula import And, Formula, Variable, negate


def node_probabilities(circuit: Circuit, weights: Mapping[Variable, tuple[float, ...]]) -> list[float]:
    """The probability of every node of a circuit, by the node's number; node 0 is false and node 1 is true."""
    probabilities = [0.0, 1.0]
    for level, children in zip(circuit.levels, circuit.children, strict=True):
        values = zip(weights[circuit.variables[level]], children, strict=True)
        probabilities.append(sum(weight * probabilities[child] for weight, child in values))
    return probabilities


@dataclass(slots=True)
class JointProbabilities:
    """Probabilities of conjunctions of signed tests; each conjunction is compiled once, when it is first needed."""

    view: ExampleView
    _probabilities: dict[frozenset[SignedTest], float] = field(default_factory=dict)
    _satisfiable: dict[frozenset[SignedTest], bool] = field(default_factory=dict)
    _compiled: dict[frozenset[SignedTest], tuple[float, bool]] = field(default_factory=dict)

    def connected_parts(self, signed_tests: Iterable[SignedTest]) -> list[frozenset[SignedTest]]:
        """The signed tests in parts that share no variable with each other, directly or through others."""
        return self._split(signed_tests, self.view.isolated_tests)

    def independent_parts(self, signed_tests: Iterable[SignedTest]) -> list[frozenset[SignedTest]]:
        """The signed tests in parts that are independent in this example; a test of certain variables is a part by itself."""
        return self._split(signed_tests, self.view.isolated_tests | self.view.certain_responses.keys())

    def _split(self, signed_tests: Iterable[SignedTest], separate: Set[int]) -> list[frozenset[SignedTest]]:
        ordered = sorted(frozenset(signed_tests))
        shared = dict.fromkeys(test for test, _ in ordered if test not in separate)
        parts = enumerate(groups(shared, self.view.variable_indices_of))
        part_of = {test: number for number, members in parts for test in members}
        by_part: dict[int, list[SignedTest]] = {}
        for test, sign in ordered:
            by_part.setdefault(part_of.get(test, -1 - test), []).append((test, sign))
        return list(map(frozenset, by_part.values()))

    def probability(self, signed_tests: Iterable[SignedTest]) -> float:
        """P(all these responses | e)."""
        key = frozenset(signed_tests)
        if key not in self._probabilities:
            self._probabilities[key] = math.prod(map(self._part_probability, self.independent_parts(key)))
        return self._probabilities[key]

    def satisfiable(self, signed_tests: Iterable[SignedTest]) -> bool:
        """Whether there is any world, for whatever example, in which the tests give these responses."""
        key = frozenset(signed_tests)
        if key not in self._satisfiable:
            self._satisfiable[key] = all(self._compile(part)[1] for part in self.connected_parts(key))
        return self._satisfiable[key]

    def _part_probability(self, part: frozenset[SignedTest]) -> float:
        certain = self.view.certain_responses
        if all(test in certain for test, _ in part):
            return float(all(certain[test] == sign for test, sign in part))
        return self._compile(part)[0]

    def _compile(self, part: frozenset[SignedTest]) -> tuple[float, bool]:
        """The probability of a part, and whether it is satisfiable."""
        if part not in self._compiled:
            circuit = compile_formulas([conjunction(self.view, part)], self.view.limits)
            root = circuit.roots[0]
            self._compiled[part] = node_probabilities(circuit, self.view.weights)[root], root != FALSE
        return self._compiled[part]


def conjunction(view: ExampleView, signed_tests: Iterable[SignedTest]) -> Formula:
    """The conjunction of signed tests as a formula."""
    return And(tuple(signed_formula(view, signed_test) for signed_test in sorted(signed_tests)))


def signed_formula(view: ExampleView, signed_test: SignedTest) -> Formula:
    """The formula of a test, negated if its sign is false."""
    test, sign = signed_test
    return view.formulas[test] if sign else negate(view.formulas[test])
