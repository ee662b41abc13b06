"""Formulas over finite-valued random variables."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol
from typing import Literal as OneOf

from neuid3.errors import NodeTestError
from neuid3.logic.expressions import Expression, column_expression, is_difference, operands
from neuid3.logic.quoting import number_text

Comparison = OneOf["<", "=<", ">", ">=", "=:=", "=\\="]

# The same comparison with its sides exchanged.
FLIPPED = {"<": ">", "=<": ">=", ">": "<", ">=": "=<", "=:=": "=:=", "=\\=": "=\\="}


# The comparison of two numbers.
HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "=<": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=:=": operator.eq,
    "=\\=": operator.ne,
}


@dataclass(frozen=True, slots=True)
class ColumnVariable:
    """The value of a Boolean, probability, category or distribution column."""

    column: str
    size: int


@dataclass(frozen=True, slots=True)
class ChoiceVariable:
    """One ground probabilistic fact or annotated disjunction of the program.

    Its values are the heads in their order, and, last, "none of them".

    Attributes
    ----------
    clause : the number of the clause.
    arguments : the terms that its variables stand for.
    weights : the probability of each value.
    """

    clause: int
    arguments: tuple[str, ...]
    weights: tuple[float, ...]

    @property
    def size(self) -> int:
        return len(self.weights)


@dataclass(frozen=True, slots=True)
class NeuralVariable:
    """The value of one network instance for one ground instance of a neural declaration.

    Two declarations of the same network share its weights and are different random variables, and so are
    two instances of a network that read the same image.

    Attributes
    ----------
    declaration : the number of the declaration.
    network : the name of the network instance.
    inputs : the columns that it reads.
    arguments : the terms that the variables of the declaration stand for.
    size : how many values there are.
    """

    declaration: int
    network: str
    inputs: tuple[str, ...]
    arguments: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True, order=True)
class Boundary:
    """A boundary between two cells of a number column: just below `at`, or just `above` it."""

    at: float
    above: bool


@dataclass(frozen=True, slots=True)
class CellVariable:
    """The cell between boundaries in which a number of a column lies."""

    column: str
    boundaries: tuple[Boundary, ...]

    @property
    def size(self) -> int:
        return len(self.boundaries) + 1


@dataclass(frozen=True, slots=True)
class CellPart:
    """An expression, the boundaries that it is compared with, and the cells between them."""

    expression: Expression
    boundaries: tuple[Boundary, ...]

    @property
    def size(self) -> int:
        return len(self.boundaries) + 1


@dataclass(frozen=True, slots=True)
class CalculatedVariable:
    """The cells in which several expressions lie together.

    Expressions that share a column are dependent where that column is missing, so they are one variable. Its values are
    the combinations of a cell of each part, the last part counted fastest.

    Attributes
    ----------
    parts : the expressions with their boundaries.
    """

    parts: tuple[CellPart, ...]

    @property
    def size(self) -> int:
        return math.prod(part.size for part in self.parts)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all parts."""
        return tuple(dict.fromkeys(column for part in self.parts for column in part.expression.columns))

    def cells(self, value: int) -> tuple[int, ...]:
        """The cell of each part in one of the combinations."""
        cells = []
        for part in reversed(self.parts):
            value, cell = divmod(value, part.size)
            cells.append(cell)
        return tuple(reversed(cells))


class Derivation(Protocol):
    """A Boolean that is computed from columns, such as a query over parts; a hashable value."""

    def holds(self, examples: Any) -> Any:
        """Whether it is true of each example, as a mask."""
        ...

    def witness(self, example: Any) -> str | None:
        """What makes it true of an example, in words of the program; None where it is false."""
        ...

    def facts(self, example: Any, priors: Any = None) -> list[str]:
        """What it is computed from, as Prolog facts; entries of parts that have priors are probabilistic ones."""
        ...


@dataclass(frozen=True, slots=True)
class QueryVariable:
    """A Boolean that is computed from columns and certain for every example, such as a query over parts.

    Attributes
    ----------
    query : computes it.
    columns : the columns that it is computed from.
    """

    query: Derivation
    columns: tuple[str, ...]

    @property
    def size(self) -> int:
        return 2


Variable = ColumnVariable | ChoiceVariable | NeuralVariable | CellVariable | CalculatedVariable | QueryVariable


@dataclass(frozen=True, slots=True)
class Truth:
    """A constant formula.

    Attributes
    ----------
    value : true or false.
    """

    value: bool


@dataclass(frozen=True, slots=True)
class Literal:
    """The variable has one of these values (by their indices).

    Attributes
    ----------
    variable : the variable.
    values : the indices of the values.
    """

    variable: Variable
    values: frozenset[int]


def equals_float(number: int) -> bool:
    """Whether a 64-bit float has exactly this value.

    >>> equals_float(2**53), equals_float(2**53 + 1), equals_float(10**400)
    (True, False, False)
    """
    return abs(number) <= sys.float_info.max and int(float(number)) == number


@dataclass(frozen=True, slots=True)
class Compare:
    """A number column compared with a constant; `draw_cells` replaces it when all comparisons are known.

    Attributes
    ----------
    column : the name of the number column.
    operator : the comparison, in the syntax of Prolog.
    constant : the number on its right side, as a float: number columns hold floats, and Prolog tells 20 from 20.0.

    Raises
    ------
    NodeTestError
        Where the constant is nan, or an integer that no float equals.

    >>> Compare("age", ">=", 20).constant
    20.0
    """

    column: str
    operator: Comparison
    constant: float

    def __post_init__(self) -> None:
        _check_constant(f"Column {self.column!r}", self.constant)
        object.__setattr__(self, "constant", float(self.constant))


def _check_constant(compared: str, constant: float) -> None:
    if math.isnan(constant):
        raise NodeTestError(
            f"{compared} is compared with nan, which no number is below, above or equal to; compare it with a number."
        )
    if isinstance(constant, int) and not equals_float(constant):
        raise NodeTestError(
            f"{compared} is compared with {constant}, which no float equals, and number columns hold "
            "floats; compare it with a neighbouring number."
        )


@dataclass(frozen=True, slots=True)
class CompareExpression:
    """An expression of number columns compared with a constant; `draw_cells` replaces it as it does `Compare`.

    Attributes
    ----------
    expression : the expression, of one or more columns.
    operator : the comparison, in the syntax of Prolog.
    constant : the number on its right side.

    Raises
    ------
    NodeTestError
        Where the constant is nan, or an integer that no float equals.
    """

    expression: Expression
    operator: Comparison
    constant: float

    def __post_init__(self) -> None:
        _check_constant(f"'{self.expression}'", self.constant)
        object.__setattr__(self, "constant", float(self.constant))

    def __str__(self) -> str:
        if self.constant == 0.0 and is_difference(self.expression):  # a > b is calculated as a - b > 0
            left, right = operands(self.expression)
            return f"{left} {self.operator} {right}"
        return f"{self.expression} {self.operator} {number_text(self.constant)}"


@dataclass(frozen=True, slots=True)
class OpenCompare:
    """A comparison of an expression with the open constant of a family of tests, which no circuit can have.

    Attributes
    ----------
    expression : the expression.
    operator : the comparison, with the open constant on its right side.
    """

    expression: Expression
    operator: Comparison


@dataclass(frozen=True, slots=True, eq=False)
class Not:
    """The negation of a formula.

    Attributes
    ----------
    part : the formula that is negated.
    """

    part: Formula


@dataclass(frozen=True, slots=True, eq=False)
class And:
    """The conjunction of formulas.

    Attributes
    ----------
    parts : the formulas; true if there are none.
    """

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Or:
    """The disjunction of formulas.

    Attributes
    ----------
    parts : the formulas; false if there are none.
    """

    parts: tuple[Formula, ...]


# A formula is a directed acyclic graph: parts are shared, so connectives are compared by identity and visited once.
Formula = Truth | Literal | Compare | CompareExpression | OpenCompare | Not | And | Or

# A source of dependence between tests: a random variable, the name of a number column, or an expression that may have no
# value and is then unknown.
Source = ColumnVariable | ChoiceVariable | NeuralVariable | QueryVariable | Expression | str


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    """The formulas directly inside this one."""
    match formula:
        case And(parts) | Or(parts):
            return parts
        case Not(part):
            return (part,)
        case _:
            return ()


def bottom_up(roots: Iterable[Formula]) -> Iterator[Formula]:
    """The formulas in these graphs, each once, parts before wholes, left before right."""
    visited: set[int] = set()
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        formula, expanded = stack.pop()
        if expanded:
            yield formula
        elif id(formula) not in visited:
            visited.add(id(formula))
            stack.append((formula, True))
            stack.extend((part, False) for part in reversed(parts_of(formula)))


def variables_in(formulas: Iterable[Formula]) -> list[Variable]:
    """The variables of these formulas, in order of occurrence."""
    return list(dict.fromkeys(node.variable for node in bottom_up(formulas) if isinstance(node, Literal)))


def sources(formula: Formula) -> frozenset[Source]:
    """The random variables that a formula depends on; a number column counts as one variable."""
    variables: set[Source] = set()
    for node in bottom_up([formula]):
        match node:
            case Literal(CellVariable(column)) | Compare(column):
                variables.add(column)
            case CompareExpression(expression) | OpenCompare(expression):
                variables.update(_sources_of(expression))
            case Literal(CalculatedVariable(parts)):
                variables.update(source for part in parts for source in _sources_of(part.expression))
            case Literal(variable) if not isinstance(variable, (CellVariable, CalculatedVariable)):
                variables.add(variable)
            case _:
                pass
    return frozenset(variables)


def _sources_of(expression: Expression) -> tuple[Source, ...]:
    return (*expression.columns, expression) if expression.is_partial else expression.columns


def expressions_in(formulas: Iterable[Formula]) -> tuple[Expression, ...]:
    """The expressions that are compared in these formulas, each once."""
    found = (node.expression for node in bottom_up(formulas) if isinstance(node, (CompareExpression, OpenCompare)))
    return tuple(dict.fromkeys(found))


def columns_of(formula: Formula) -> frozenset[str]:
    """The columns that a formula depends on, directly and through networks."""
    return columns_read(sources(formula))


def columns_read(variables: Iterable[Source]) -> frozenset[str]:
    """The columns that variables are read from, directly and through networks."""
    columns: set[str] = set()
    for source in variables:
        match source:
            case NeuralVariable(inputs=inputs) | QueryVariable(columns=inputs):
                columns.update(inputs)
            case ColumnVariable(column) | str(column):
                columns.add(column)
            case _:
                pass
    return frozenset(columns)


def rebuild(roots: Iterable[Formula], leaf: Callable[[Formula], Formula]) -> list[Formula]:
    """The same formulas with every literal, comparison and constant replaced by `leaf` of it."""
    roots = list(roots)
    rebuilt: dict[int, Formula] = {}
    for node in bottom_up(roots):
        match node:
            case And(parts):
                rebuilt[id(node)] = And(tuple(rebuilt[id(part)] for part in parts))
            case Or(parts):
                rebuilt[id(node)] = Or(tuple(rebuilt[id(part)] for part in parts))
            case Not(part):
                rebuilt[id(node)] = Not(rebuilt[id(part)])
            case _:
                rebuilt[id(node)] = leaf(node)
    return [rebuilt[id(root)] for root in roots]


def constant_value(formula: Formula) -> bool | None:
    """The value of a formula whose constants decide it; None for any other.

    >>> constant_value(Or((Compare("age", ">", 40.0), And((Truth(True),)))))
    True
    """
    values: dict[int, bool | None] = {}
    for node in bottom_up([formula]):
        parts = [values[id(part)] for part in parts_of(node)]
        match node:
            case Truth(value):
                values[id(node)] = value
            case Not():
                values[id(node)] = None if parts[0] is None else not parts[0]
            case And():
                values[id(node)] = False if False in parts else None if None in parts else True
            case Or():
                values[id(node)] = True if True in parts else None if None in parts else False
            case _:
                values[id(node)] = None
    return values[id(formula)]


def bind(formula: Formula, instances: Mapping[str, str]) -> Formula:
    """The formula with every network replaced by the instance that `instances` names."""

    def bound(node: Formula) -> Formula:
        match node:
            case Literal(NeuralVariable() as variable, values) if variable.network in instances:
                return Literal(replace(variable, network=instances[variable.network]), values)
            case _:
                return node

    return rebuild([formula], bound)[0]


def boundaries_of(comparison: Compare | CompareExpression) -> tuple[Boundary, ...]:
    """The boundaries at which a comparison changes its value.

    >>> boundaries_of(Compare("age", ">", 40.0))
    (Boundary(at=40.0, above=True),)
    """
    below, above = Boundary(comparison.constant, False), Boundary(comparison.constant, True)
    match comparison.operator:
        case "<" | ">=":
            return (below,)
        case "=<" | ">":
            return (above,)
        case _:
            return (below, above)


def draw_cells(roots: Iterable[Formula], complete: Container[str] = ()) -> list[Formula]:
    """The formulas with comparisons replaced by literals of one variable for each number column or expression.

    Its boundaries are those of all comparisons in `roots`. So `age > 40` and `age > 60` are literals of the same variable,
    and the probability of their conjunction is exact. Expressions that share a column which may be missing are one
    variable, and so are they and the column itself.

    Parameters
    ----------
    roots : the formulas.
    complete : number columns that are missing in no example, so that expressions of them are independent.
    """
    roots = list(roots)
    boundaries: dict[Expression, set[Boundary]] = {}
    for node in bottom_up(roots):
        if isinstance(node, (Compare, CompareExpression)):
            boundaries.setdefault(_compared(node), set()).update(boundaries_of(node))
    if not boundaries:
        return roots
    variables: dict[Expression, CellVariable | CalculatedVariable] = {}
    for together in _dependent(list(boundaries), complete):
        parts = tuple(CellPart(expression, tuple(sorted(boundaries[expression]))) for expression in together)
        column = together[0].column
        variable = (
            CellVariable(column, parts[0].boundaries)
            if len(together) == 1 and column is not None
            else CalculatedVariable(parts)
        )
        variables.update(dict.fromkeys(together, variable))

    def with_cells(node: Formula) -> Formula:
        return _cells(node, variables[_compared(node)]) if isinstance(node, (Compare, CompareExpression)) else node

    return rebuild(roots, with_cells)


def _compared(comparison: Compare | CompareExpression) -> Expression:
    return column_expression(comparison.column) if isinstance(comparison, Compare) else comparison.expression


def _dependent(expressions: list[Expression], complete: Container[str]) -> list[list[Expression]]:
    """The expressions in groups that share columns which may be missing, in the order of their first members."""
    group_of: dict[str, list[Expression]] = {}
    groups: list[list[Expression]] = []
    for expression in expressions:
        open_columns = [column for column in expression.columns if column not in complete]
        known = list({id(group_of[c]): group_of[c] for c in open_columns if c in group_of}.values())
        merged = known[0] if known else []
        for group in known[1:]:
            merged.extend(group)
            groups = [other for other in groups if other is not group]
        if not known:
            groups.append(merged)
        merged.append(expression)
        for member in merged:
            group_of.update((column, merged) for column in member.columns if column not in complete)
    return groups


def _cells(comparison: Compare | CompareExpression, variable: CellVariable | CalculatedVariable) -> Literal:
    """The literal of the cells in which a comparison is true; cell i lies between boundaries i-1 and i."""
    if isinstance(variable, CellVariable):
        return Literal(variable, _true_cells(comparison, variable.boundaries))
    index = next(i for i, part in enumerate(variable.parts) if part.expression == _compared(comparison))
    true = _true_cells(comparison, variable.parts[index].boundaries)
    size, stride = variable.parts[index].size, math.prod(part.size for part in variable.parts[index + 1 :])
    return Literal(variable, frozenset(v for v in range(variable.size) if v // stride % size in true))


def _true_cells(comparison: Compare | CompareExpression, boundaries: tuple[Boundary, ...]) -> frozenset[int]:
    indices = [boundaries.index(boundary) for boundary in boundaries_of(comparison)]
    low, high = min(indices), max(indices)
    all_cells = frozenset(range(len(boundaries) + 1))
    match comparison.operator:
        case "<" | "=<":
            return frozenset(range(low + 1))
        case ">" | ">=":
            return all_cells - frozenset(range(high + 1))
        case "=:=":
            return frozenset(range(low + 1, high + 1))
        case "=\\=":
            return all_cells - frozenset(range(low + 1, high + 1))


def negate(formula: Formula) -> Formula:
    """The negation of a formula, without double negations."""
    match formula:
        case Truth(value):
            return Truth(not value)
        case Not(part):
            return part
        case _:
            return Not(formula)
