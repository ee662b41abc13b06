"""Formulas of tests, their network calls, and compiled conjunctions of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple, cast

from neuid3.circuits.conjunctions import Conjunctions, factorise
from neuid3.logic.formula import (
    Boundary,
    CompareExpression,
    Formula,
    NeuralVariable,
    QueryVariable,
    Source,
    boundaries_of,
    sources,
)
from neuid3.logic.program import GoalValue, OpenGoal, Program
from neuid3.tree.determined import check_determined
from neuid3.tree.goals import Goal
from neuid3.tree.node_tests import AtomTest, NodeTest
from neuid3.tree.tree import Path


class NetworkCall(NamedTuple):
    """An instance of a network applied to input columns.

    Attributes
    ----------
    network : the name of the instance.
    inputs : the columns that it reads, in the order of its arguments.
    width : how many numbers it returns for an example.
    """

    network: str
    inputs: tuple[str, ...]
    width: int


class Semantics:
    """The formulas of tests under a program, as a cache; independent of examples and of trained networks.

    Parameters
    ----------
    program : the background knowledge.
    tests : tests that are grounded at once, which is faster than one by one.
    complete : number columns that are missing in none of the examples that circuits will be evaluated for.
    """

    def __init__(
        self, program: Program, tests: Iterable[NodeTest] = (), complete: frozenset[str] = frozenset()
    ) -> None:
        self.program, self.complete = program, complete
        tests = list(tests)
        # One request to the grounder for all atoms; the tests then find their formulas in the program's cache.
        program.formulas([atom for test in tests for atom in test.atoms])
        self._determined: set[str] = set()  # goals that were checked
        self._formulas: dict[NodeTest, Formula] = {test: test.formula(program) for test in tests}
        self._sources: dict[NodeTest, frozenset[Source]] = {}

    def formula(self, test: NodeTest) -> Formula:
        """The formula of a test.

        Parameters
        ----------
        test : a test.

        Returns
        -------
        The formula, over the random variables of the program.
        """
        if test not in self._formulas:
            self._formulas[test] = test.formula(self.program)
        return self._formulas[test]

    def open_goal(self, goal: Goal) -> OpenGoal:
        """The values of a goal, which has exactly one of them in every world.

        Parameters
        ----------
        goal : a goal with one open argument.

        Returns
        -------
        Its variable, values and expression.

        Raises
        ------
        NodeTestError : where it cannot be grounded, or has no value or two values in some world.
        """
        (opened,) = self.program.open_goals([goal.text])
        if goal.text not in self._determined:
            check_determined(goal.text, opened, self.program)
            self._determined.add(goal.text)
        return opened

    def value_tests(self, goal: Goal) -> list[tuple[GoalValue, AtomTest]]:
        """The values of a goal, each with the test that the goal has this value.

        Parameters
        ----------
        goal : a goal with one open argument.

        Returns
        -------
        Values and tests, with the instances of the goal.
        """
        return [(value, goal.test(value.atom)) for value in self.open_goal(goal).values]

    def goal_calls(self, goal: Goal) -> list[NetworkCall]:
        """The network calls of a goal, sorted.

        Parameters
        ----------
        goal : a goal with one open argument.

        Returns
        -------
        The calls, each once.
        """
        return sorted({call for _, test in self.value_tests(goal) for call in self.calls(test)})

    def with_complete(self, complete: frozenset[str]) -> Semantics:
        """The same formulas, for examples in which these number columns are complete.

        Parameters
        ----------
        complete : the names of the columns.

        Returns
        -------
        The semantics, with the cache of this one.
        """
        other = Semantics(self.program, complete=complete)
        other._formulas = self._formulas
        return other

    def sources(self, test: NodeTest) -> frozenset[Source]:
        """The random variables that a test depends on.

        Parameters
        ----------
        test : a test.

        Returns
        -------
        The variables; a number column counts as one.
        """
        if test not in self._sources:
            self._sources[test] = sources(self.formula(test))
        return self._sources[test]

    def is_neural(self, test: NodeTest) -> bool:
        """Whether a test calls a network.

        Parameters
        ----------
        test : a test.

        Returns
        -------
        True if its formula depends on the output of a network.
        """
        return any(isinstance(source, NeuralVariable) for source in self.sources(test))

    def calls(self, test: NodeTest) -> list[NetworkCall]:
        """The network calls of a test, sorted.

        Parameters
        ----------
        test : a test.

        Returns
        -------
        The calls, each once.
        """
        return sorted({self.call(variable) for variable in self.sources(test) if isinstance(variable, NeuralVariable)})

    def call(self, variable: NeuralVariable) -> NetworkCall:
        """The network call of a variable.

        Parameters
        ----------
        variable : the output of a network as a random variable.

        Returns
        -------
        The call.
        """
        return NetworkCall(variable.network, variable.inputs, self.program.declarations[variable.declaration].width)

    def networks_on(self, path: Path) -> set[str]:
        """The instances that the tests of a path call.

        Parameters
        ----------
        path : tests with their responses.

        Returns
        -------
        The names of the instances.
        """
        return {call.network for test, _ in path for call in self.calls(test)}

    def conjunctions(self, paths: Sequence[Path]) -> Conjunctions:
        """The conjunction of each path's tests with their outcomes, compiled together.

        Parameters
        ----------
        paths : the paths, each a sequence of tests with their responses.

        Returns
        -------
        The compiled conjunctions, in the order of the paths.
        """
        tests = list(dict.fromkeys(test for path in paths for test, _ in path))
        number = {test: i for i, test in enumerate(tests)}
        signed_tests = [[(number[test], outcome) for test, outcome in path] for path in paths]
        return factorise([self.formula(test) for test in tests], signed_tests, self.program.limits, self.complete)

    def split_conjunctions(self, path: Path, test: NodeTest) -> Conjunctions:
        """κ∧τ and κ∧¬τ, with only those tests of κ that are connected to τ by variables: the others cancel out.

        Parameters
        ----------
        path : the path κ.
        test : the test τ.

        Returns
        -------
        The two compiled conjunctions.
        """
        tests = [*(other for other, _ in path), test]
        formulas = [self.formula(other) for other in tests]
        # What is certain for each example makes no test depend on another.
        needs = [frozenset(s for s in self.sources(t) if not isinstance(s, QueryVariable)) for t in tests]
        connected = _connected(needs)
        index = len(path)
        literals = _without_implied(formulas, [(i, path[i][1]) for i in sorted(connected - {index})])
        number = {i: position for position, (i, _) in enumerate(literals)}
        above = [(number[i], outcome) for i, outcome in literals]
        sides = [[*above, (len(above), True)], [*above, (len(above), False)]]
        formulas = [formulas[i] for i in (*number, index)]
        return factorise(formulas, sides, self.program.limits, self.complete)


def _without_implied(formulas: Sequence[Formula], literals: list[tuple[int, bool]]) -> list[tuple[int, bool]]:
    """The signed tests of a path without comparisons of expressions that closer bounds of the same expression imply.

    A deep path may compare one expression many times, and a circuit of all these comparisons is slow to build.
    """
    kept: dict[Hashable, tuple[int, bool]] = {}
    bounds: dict[Hashable, Boundary] = {}
    for i, outcome in literals:
        formula, key = formulas[i], cast("Hashable", i)
        if isinstance(formula, CompareExpression) and len(boundaries_of(formula)) == 1:
            is_upper = (formula.operator in ("<", "=<")) == outcome
            (boundary,) = boundaries_of(formula)
            key = (formula.expression, is_upper)
            closest = (min if is_upper else max)(boundary, bounds.get(key, boundary))
            if key in kept and closest == bounds[key]:
                continue
            bounds[key] = closest
        kept[key] = (i, outcome)
    return sorted(kept.values())


def _connected(sources_of: Sequence[frozenset[Hashable]]) -> set[int]:
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
