"""Monotone constraints and interaction constraints on the columns of a tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from neuid3.circuits.compile import compile_formulas
from neuid3.circuits.diagram import FALSE
from neuid3.data.columns import Boolean, Kind, Number, Probability, Schema, kind_name
from neuid3.errors import NodeTestError, ParameterError, did_you_mean
from neuid3.logic.formula import (
    And,
    CellVariable,
    ColumnVariable,
    Formula,
    Literal,
    Not,
    Truth,
    Variable,
    bottom_up,
    columns_of,
    draw_cells,
    rebuild,
)
from neuid3.logic.program import Program
from neuid3.logic.sandbox import DEFAULT_LIMITS, Limits
from neuid3.tree.node_tests import CutTest, NodeTest

# The groups of columns that names of `interaction_cst` stand for have this many columns each.
NAMED_INTERACTIONS = {"no_interactions": 1, "pairwise": 2}


@dataclass(frozen=True, slots=True)
class Constraints:
    """What a tree must keep to: columns that raise or lower its prediction, and columns that may stand on one path.

    Growers of single trees, forests and sums take the same object. Where every tree of a sum keeps to it, the sum does.

    Attributes
    ----------
    directions : pairs of a column and 1, where the prediction never falls as the column rises, or -1, where it never rises.
    groups : sets of columns that may be tested on one path; None where all may.

    >>> Constraints((("age", 1),)).direction("age"), Constraints().is_empty
    (1, True)
    >>> Constraints(groups=(frozenset({"a", "b"}), frozenset({"c"}))).may_interact({"a", "c"})
    False
    """

    directions: tuple[tuple[str, int], ...] = ()
    groups: tuple[frozenset[str], ...] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether every tree keeps to it."""
        return not self.directions and self.groups is None

    def direction(self, column: str) -> int:
        """1 or -1 for a column that is constrained, otherwise 0.

        Parameters
        ----------
        column : the name of a column.

        Returns
        -------
        The direction.
        """
        return dict(self.directions).get(column, 0)

    def may_interact(self, columns: Iterable[str]) -> bool:
        """Whether tests of all these columns may stand on one path.

        Parameters
        ----------
        columns : the names of columns.

        Returns
        -------
        True where one group has all of them.
        """
        together = frozenset(columns)
        return self.groups is None or any(together <= group for group in self.groups)


# No constraints.
FREE = Constraints()


# The reading of parameters --------------------------------------------------------------------------


def read_constraints(monotonic_cst: Any, interaction_cst: Any, schema: Schema) -> Constraints:
    """The constraints that the parameters of an estimator stand for.

    Parameters
    ----------
    monotonic_cst : for columns by name, 1, -1 or 0; or one of these for each column; or None.
    interaction_cst : groups of columns, by name or number, "no_interactions", "pairwise", or None. Columns that are in no
        group form one more group.
    schema : the kinds of the columns.

    Returns
    -------
    The constraints.

    Raises
    ------
    ParameterError : where a column does not exist or has no order, a direction is not -1, 0 or 1, or two contradict.

    >>> read_constraints({"age": 1, "dose": 0}, "no_interactions", {"age": Number(), "dose": Number()}).directions
    (('age', 1),)
    """
    directions: dict[str, int] = {}
    for name, direction in _pairs(monotonic_cst, schema):
        if directions.setdefault(name, direction) != direction:
            raise ParameterError(
                f"monotonic_cst constrains column {name!r} to {directions[name]} and to {direction}; give one of them."
            )
    constrained = tuple((name, direction) for name, direction in directions.items() if direction)
    for name, _ in constrained:
        if not _is_ordered(schema[name]):
            raise ParameterError(
                f"monotonic_cst constrains column {name!r} of kind {kind_name(schema[name])}, which has no order; "
                "constrain numbers, Booleans and probabilities only."
            )
    return Constraints(constrained, _groups(interaction_cst, list(schema)))


def _is_ordered(kind: Kind) -> bool:
    """Whether the values of a column have an order: numbers, and facts, where true is more than false."""
    return isinstance(kind, (Number, Boolean, Probability))


def _pairs(monotonic_cst: Any, schema: Schema) -> list[tuple[str, int]]:
    """The pairs of a column and its direction, checked."""
    if monotonic_cst is None:
        return []
    if isinstance(monotonic_cst, Mapping):
        pairs = list(monotonic_cst.items())
    elif isinstance(monotonic_cst, str):
        raise ParameterError(f"monotonic_cst={monotonic_cst!r} is no constraint; give a dict such as {{'age': 1}}.")
    else:
        entries = list(monotonic_cst)
        if entries and all(isinstance(entry, tuple) and len(entry) == 2 for entry in entries):
            pairs = entries
        elif len(entries) != len(schema):
            raise ParameterError(
                f"monotonic_cst has {len(entries)} entries and X has {len(schema)} columns; give one for each column, or "
                "a dict by name."
            )
        else:
            pairs = list(zip(schema, entries, strict=True))
    return [(_column(name, schema, "monotonic_cst"), _direction(name, value)) for name, value in pairs]


def _column(name: Any, schema: Schema | Sequence[str], parameter: str) -> str:
    """The name of a column; an integer that is no name is its number."""
    names = list(schema)
    if name in names:
        return str(name)
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and 0 <= name < len(names):
        return names[int(name)]
    raise ParameterError(
        f"{parameter} names column {name!r}, which X does not have.{did_you_mean(str(name), map(str, names))}"
    )


def _direction(name: Any, value: Any) -> int:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, str) or number not in (-1.0, 0.0, 1.0):
        raise ParameterError(
            f"monotonic_cst[{name!r}] is {value!r}; give 1 (the prediction never falls as the column rises), -1 (it never "
            "rises) or 0 (no constraint)."
        )
    return int(number)


def _groups(interaction_cst: Any, names: list[str]) -> tuple[frozenset[str], ...] | None:
    """The groups of columns that may interact; None without constraints."""
    if interaction_cst is None:
        return None
    if isinstance(interaction_cst, str):
        if interaction_cst not in NAMED_INTERACTIONS:
            raise ParameterError(
                f"interaction_cst={interaction_cst!r} is not known; give 'no_interactions', 'pairwise', or a list of groups "
                "of columns."
            )
        size = min(NAMED_INTERACTIONS[interaction_cst], len(names))
        return tuple(frozenset(group) for group in combinations(names, size))
    groups = []
    for group in interaction_cst if isinstance(interaction_cst, Iterable) else [interaction_cst]:
        if isinstance(group, str) or not isinstance(group, Iterable):
            raise ParameterError(
                f"interaction_cst has {group!r} in the place of a group; give a list of groups, as in [['age', 'dose'], "
                "['weight']]."
            )
        members = frozenset(_column(name, names, "interaction_cst") for name in group)
        if not members:
            raise ParameterError("interaction_cst has an empty group; name the columns of each group.")
        groups.append(members)
    rest = frozenset(names).difference(*groups)
    return (*groups, *([rest] if rest else []))


# The direction of a test ----------------------------------------------------------------------------


def formula_direction(formula: Formula, column: str, limits: Limits = DEFAULT_LIMITS) -> int | None:
    """Whether a formula only becomes true, or only becomes false, as a column rises and all else stays as it is.

    Decided on the formula itself: with the column in each of its cells, the formula must imply that of the next cell.

    Parameters
    ----------
    formula : the formula of a test.
    column : the name of a number, Boolean or probability column.
    limits : the time and size that the circuits may take.

    Returns
    -------
    1 where it only becomes true, -1 where it only becomes false, 0 where it does not depend on the column, None where it
    does both, or reads the column through a network, a calculation or a query.

    >>> from neuid3.logic import Compare
    >>> old, young = Compare("age", ">", 60.0), Compare("age", "<", 18.0)
    >>> formula_direction(old, "age"), formula_direction(young, "age"), formula_direction(Not(And((old, young))), "age")
    (1, -1, 0)
    >>> print(formula_direction(And((Not(young), Not(old))), "age"))
    None
    """
    if column not in columns_of(formula):
        return 0
    (discrete,) = draw_cells([formula])
    variable = variable_of(discrete, column)
    if variable is None or is_derived(discrete, column):
        return None
    cofactors = [restricted(discrete, variable, value) for value in range(variable.size)]
    rises = all(_implies(low, high, limits) for low, high in pairwise(cofactors))
    falls = all(_implies(high, low, limits) for low, high in pairwise(cofactors))
    return 0 if rises and falls else 1 if rises else -1 if falls else None


def is_derived(formula: Formula, column: str) -> bool:
    """Whether a formula reads a column through something else than comparisons with constants: a network, a calculation.

    Parameters
    ----------
    formula : a formula without comparisons.
    column : the name of the column.

    Returns
    -------
    True where another variable than that of the column depends on it.
    """
    variables = {node.variable for node in bottom_up([formula]) if isinstance(node, Literal)}
    return any(
        column in columns_of(Literal(variable, frozenset()))
        for variable in variables
        if not isinstance(variable, (ColumnVariable, CellVariable))
    )


def variable_of(formula: Formula, column: str) -> Variable | None:
    """The variable of a column in a formula whose comparisons are cells; None where there is none.

    Parameters
    ----------
    formula : a formula without comparisons.
    column : the name of the column.

    Returns
    -------
    The variable, or None.
    """
    for node in bottom_up([formula]):
        match node:
            case Literal(ColumnVariable(name) | CellVariable(name) as variable) if name == column:
                return variable
            case _:
                pass
    return None


def restricted(formula: Formula, variable: Variable, value: int) -> Formula:
    """The formula with a variable set to one of its values.

    Parameters
    ----------
    formula : a formula without comparisons.
    variable : the variable.
    value : the index of its value.

    Returns
    -------
    A formula in which the variable does not occur.
    """

    def decided(node: Formula) -> Formula:
        match node:
            case Literal(other, values) if other == variable:
                return Truth(value in values)
            case _:
                return node

    return rebuild([formula], decided)[0]


def is_satisfiable(formula: Formula, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether some values of the variables make a formula true.

    Parameters
    ----------
    formula : the formula.
    limits : the time and size that its circuit may take.

    Returns
    -------
    True if there are such values.
    """
    return compile_formulas([formula], limits).roots[0] != FALSE


def _implies(premise: Formula, conclusion: Formula, limits: Limits) -> bool:
    return not is_satisfiable(And((premise, Not(conclusion))), limits)


class TestOrders:
    """The order in which constraints put the two sides of each test, as a cache.

    Parameters
    ----------
    constraints : the constraints.
    program : background knowledge, which gives the tests their formulas.
    """

    __test__ = False  # no test case

    def __init__(self, constraints: Constraints, program: Program) -> None:
        self.constraints, self.program = constraints, program
        self._orders: dict[NodeTest, int | None] = {}
        self._columns: dict[NodeTest, frozenset[str]] = {}

    def of(self, test: NodeTest) -> int | None:
        """The order of the sides of a test.

        Parameters
        ----------
        test : the test.

        Returns
        -------
        1 where the yes side must not predict less than the no side, -1 where it must not predict more, 0 where there is no
        constraint, None where both hold, so that the test cannot be used.
        """
        if test not in self._orders:
            self._orders[test] = self._order(test)
        return self._orders[test]

    def of_cut(self, column: str) -> int:
        """The order of the sides of a cut `column =< threshold`: the yes side has the lower numbers.

        Parameters
        ----------
        column : the name of a number column.

        Returns
        -------
        1, -1 or 0, see `of`.
        """
        return -self.constraints.direction(column)

    def columns(self, test: NodeTest) -> frozenset[str]:
        """The columns that a test reads.

        Parameters
        ----------
        test : the test.

        Returns
        -------
        The names of the columns.
        """
        if test not in self._columns:
            self._columns[test] = test.columns(self.program)
        return self._columns[test]

    def _order(self, test: NodeTest) -> int | None:
        if isinstance(test, CutTest):
            return self.of_cut(test.column)
        orders: set[int] = set()
        for column, direction in self.constraints.directions:
            if column in self.columns(test):
                of_formula = formula_direction(test.formula(self.program), column, self.program.limits)
                if of_formula is None:
                    return None
                orders.add(direction * of_formula)
        orders.discard(0)
        return None if len(orders) > 1 else next(iter(orders), 0)

    def check(self, tests: Iterable[NodeTest]) -> None:
        """Raise an error for a test that no tree which keeps to the constraints can have.

        Parameters
        ----------
        tests : the candidates that are known before a tree is grown.

        Raises
        ------
        NodeTestError : where a test has no order, or reads columns that may not interact.
        """
        for test in tests:
            columns = self.columns(test)
            if not self.constraints.may_interact(columns):
                raise NodeTestError(
                    f"Test '{test}' reads the columns {', '.join(sorted(columns))}, which no group of interaction_cst has "
                    "together; leave the test out of `tests`, or add a group with them."
                )
            if self.of(test) is None:
                raise NodeTestError(self._without_order(test))

    def _without_order(self, test: NodeTest) -> str:
        """Why a test has no order."""
        formula, advice = test.formula(self.program), "leave the test out of `tests`, or"
        rising: list[str] = []
        for column, direction in self.constraints.directions:
            of_formula = formula_direction(formula, column, self.program.limits)
            if of_formula is None:
                return (
                    f"Test '{test}' is neither true only above nor true only below some value of column {column!r}, which "
                    f"monotonic_cst constrains; {advice} the column out of monotonic_cst."
                )
            if of_formula:
                rising.append(f"{column!r} ({direction * of_formula:+d})")
        return (
            f"monotonic_cst contradicts itself about test '{test}': its columns {' and '.join(rising)} would have it raise "
            f"and lower the prediction; {advice} one of the columns out of monotonic_cst."
        )
