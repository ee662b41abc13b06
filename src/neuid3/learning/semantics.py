"""Formulas of tests, their network calls and their uncertain variables."""

from __future__ import annotations

from collections.abc import Sequence

from neuid3.circuits.conjunctions import Conjunctions, factorise
from neuid3.data.columns import Distribution, Probability
from neuid3.data.examples import Examples
from neuid3.logic.formula import ColumnVariable, Formula, NeuralVariable, Source, Variable, sources
from neuid3.logic.program import Program
from neuid3.training.task import NetworkOutput
from neuid3.tree.descent import calls_in
from neuid3.tree.evidence import NetworkCall
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Path


class Semantics:
    """The formulas of tests under a program and for these examples; a cache, independent of trained networks."""

    def __init__(self, program: Program, examples: Examples, tests: Sequence[NodeTest]) -> None:
        self.program, self.examples = program, examples
        self.formulas: dict[NodeTest, Formula] = {test: test.formula(program) for test in tests}
        self._uncertain: dict[NodeTest, frozenset[Source]] = {}

    def formula(self, test: NodeTest) -> Formula:
        """The formula of a test."""
        if test not in self.formulas:
            self.formulas[test] = test.formula(self.program)
        return self.formulas[test]

    def is_neural(self, test: NodeTest) -> bool:
        """Whether a test calls a network."""
        return any(isinstance(source, NeuralVariable) for source in sources(self.formula(test)))

    def calls(self, test: NodeTest) -> list[NetworkCall]:
        """The network calls of a test, sorted."""
        return sorted(calls_in(self.formula(test), self.program))

    def call(self, variable: NeuralVariable) -> NetworkCall:
        """The network call of a variable."""
        return NetworkCall(variable.network, variable.inputs, self.program.declarations[variable.declaration].width)

    def networks_on(self, path: Path) -> set[str]:
        """The instances that the tests of a path call."""
        return {call.network for test, _ in path for call in self.calls(test)}

    def network_output(self, variable: Variable) -> NetworkOutput:
        """The network output of a variable, for training."""
        assert isinstance(variable, NeuralVariable)
        declaration = self.program.declarations[variable.declaration]
        return NetworkOutput(variable.network, variable.inputs, declaration.width, declaration.values is None)

    def uncertain(self, test: NodeTest) -> frozenset[Source]:
        """The variables of a test that are not certain for every example."""
        if test not in self._uncertain:
            self._uncertain[test] = frozenset(
                source for source in sources(self.formula(test)) if not self._is_certain(source)
            )
        return self._uncertain[test]

    def _is_certain(self, source: Source) -> bool:
        match source:
            case str(name) | ColumnVariable(name):
                column = self.examples.column(name)
                return column.missing is None and not isinstance(column.kind, (Probability, Distribution))
            case _:
                return False

    def split_conjunctions(self, path: Path, test: NodeTest) -> Conjunctions:
        """κ∧τ and κ∧¬τ, with only those tests of κ that are connected to τ by variables: the others cancel out."""
        formulas = [self.formula(other) for other in (*(other for other, _ in path), test)]
        connected = _connected([sources(formula) for formula in formulas])
        index = len(path)
        literals = [(i, path[i][1]) for i in sorted(connected - {index})]
        return self.factorise(formulas, [[*literals, (index, True)], [*literals, (index, False)]])

    def conjunctions(self, paths: Sequence[Path]) -> Conjunctions:
        """The conjunctions of several paths, compiled together."""
        tests = list(dict.fromkeys(test for path in paths for test, _ in path))
        indices = {test: i for i, test in enumerate(tests)}
        literals = [[(indices[test], response) for test, response in path] for path in paths]
        return self.factorise([self.formula(test) for test in tests], literals)

    def factorise(self, formulas: Sequence[Formula], literals: Sequence[Sequence[tuple[int, bool]]]) -> Conjunctions:
        """Conjunctions of formulas, each by index and sign, as circuits within the limits of the program."""
        return factorise(formulas, literals, self.program.limits)


def variables_of(factored: Conjunctions) -> list[Variable]:
    """The variables of conjunctions, without repetition."""
    return list(dict.fromkeys(variable for circuit in factored.circuits for variable in circuit.variables))


def _connected(sources_of: Sequence[frozenset[Source]]) -> set[int]:
    """Indices of the formulas that are connected to the last one by shared variables, directly or through others."""
    reached = set(sources_of[-1])
    connected = {len(sources_of) - 1}
    has_grown = True
    while has_grown:
        has_grown = False
        for i, variables in enumerate(sources_of):
            if i not in connected and variables & reached:
                connected.add(i)
                reached |= variables
                has_grown = True
    return connected
