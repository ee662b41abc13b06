"""What does a test mean here? Its formula, the networks it looks through, and what of it is uncertain."""

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
    """What tests mean under a program, for these examples; nothing here changes while a tree is learned."""

    def __init__(self, program: Program, examples: Examples, tests: Sequence[NodeTest]) -> None:
        self.program, self.examples = program, examples
        self.formulas: dict[NodeTest, Formula] = {test: test.formula(program) for test in tests}
        self.doubts: dict[NodeTest, frozenset[Source]] = {}

    def formula(self, test: NodeTest) -> Formula:
        if test not in self.formulas:
            self.formulas[test] = test.formula(self.program)
        return self.formulas[test]

    def is_neural(self, test: NodeTest) -> bool:
        return any(isinstance(source, NeuralVariable) for source in sources(self.formula(test)))

    def looks(self, test: NodeTest) -> list[NetworkCall]:
        """Which networks a test looks through, and at what."""
        return sorted(calls_in(self.formula(test), self.program))

    def look(self, variable: NeuralVariable) -> NetworkCall:
        """How the network of a variable has to look."""
        return NetworkCall(variable.network, variable.inputs, self.program.declarations[variable.declaration].width)

    def networks_on(self, path: Path) -> set[str]:
        return {look.network for test, _ in path for look in self.looks(test)}

    def use(self, variable: Variable) -> NetworkOutput:
        """What a network has to do for a variable while it is trained."""
        assert isinstance(variable, NeuralVariable)
        declaration = self.program.declarations[variable.declaration]
        return NetworkOutput(variable.network, variable.inputs, declaration.width, declaration.values is None)

    def uncertain(self, test: NodeTest) -> frozenset[Source]:
        """The variables of a test that are not known for every example."""
        if test not in self.doubts:
            self.doubts[test] = frozenset(
                source for source in sources(self.formula(test)) if not self._is_certain(source)
            )
        return self.doubts[test]

    def _is_certain(self, source: Source) -> bool:
        match source:
            case str(name) | ColumnVariable(name):
                column = self.examples.column(name)
                return column.missing is None and not isinstance(column.kind, (Probability, Distribution))
            case _:
                return False

    def sides(self, path: Path, test: NodeTest) -> Conjunctions:
        """κ∧τ and κ∧¬τ as far as κ shares variables with τ: what is independent of τ cancels out."""
        formulas = [self.formula(asked) for asked in (*(asked for asked, _ in path), test)]
        near = _connected([sources(formula) for formula in formulas])
        last = len(path)
        answers = [(i, path[i][1]) for i in sorted(near - {last})]
        return self.factored(formulas, [[*answers, (last, True)], [*answers, (last, False)]])

    def conjunctions(self, paths: Sequence[Path]) -> Conjunctions:
        """The tests and answers of each path, compiled together."""
        tests = list(dict.fromkeys(test for path in paths for test, _ in path))
        number = {test: i for i, test in enumerate(tests)}
        answers = [[(number[test], answer) for test, answer in path] for path in paths]
        return self.factored([self.formula(test) for test in tests], answers)

    def factored(self, formulas: Sequence[Formula], answers: Sequence[Sequence[tuple[int, bool]]]) -> Conjunctions:
        """Conjunctions of answers as circuits, within the program's limits."""
        return factorise(formulas, answers, self.program.limits)


def variables_of(factored: Conjunctions) -> list[Variable]:
    return list(dict.fromkeys(variable for circuit in factored.circuits for variable in circuit.variables))


def _connected(needs: Sequence[frozenset[Source]]) -> set[int]:
    """The members that are tied to the last one by shared variables, directly or through others."""
    reached = set(needs[-1])
    near = {len(needs) - 1}
    grew = True
    while grew:
        grew = False
        for i, need in enumerate(needs):
            if i not in near and need & reached:
                near.add(i)
                reached |= need
                grew = True
    return near
