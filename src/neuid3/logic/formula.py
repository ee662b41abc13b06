"""Formulas over finite-valued random variables."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol
from typing import Literal as OneOf

from neuid3.errors import NodeTestError

Comparison = OneOf["<", "=<", ">", ">=", "=:=", "=\\="]

# The same comparison with its sides exchanged.
FLIPPED = {"<": ">", "=<": ">=", ">": "<", ">=": "=<", "=:=": "=:=", "=\\=": "=\\="}


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


class Derivation(Protocol):
    """A Boolean that is computed from columns, such as a query over parts; a hashable value."""

    def holds(self, examples: Any) -> Any:
        """Whether it is true of each example, as a mask."""
        ...

    def clauses(self, name: str) -> list[str]:
        """Clauses that define an atom of this name to be the same Boolean."""
        ...

    def facts(self, example: Any) -> list[str]:
        """What the clauses need to know about an example."""
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


Variable = ColumnVariable | ChoiceVariable | NeuralVariable | CellVariable | QueryVariable


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
        if math.isnan(self.constant):
            raise NodeTestError(
                f"Column {self.column!r} is compared with nan, which no number is below, above or equal to; "
                "compare it with a number."
            )
        if isinstance(self.constant, int) and not equals_float(self.constant):
            raise NodeTestError(
                f"Column {self.column!r} is compared with {self.constant}, which no float equals, and number columns hold "
                "floats; compare it with a neighbouring number."
            )
        object.__setattr__(self, "constant", float(self.constant))


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
Formula = Truth | Literal | Compare | Not | And | Or

# A source of dependence between tests: a random variable, or the name of a number column.
Source = ColumnVariable | ChoiceVariable | NeuralVariable | QueryVariable | str


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


def sources(formula: Formula) -> frozenset[Source]:
    """The random variables that a formula depends on; a number column counts as one variable."""
    variables: set[Source] = set()
    for node in bottom_up([formula]):
        match node:
            case Literal(CellVariable(column)) | Compare(column):
                variables.add(column)
            case Literal(variable) if not isinstance(variable, CellVariable):
                variables.add(variable)
            case _:
                pass
    return frozenset(variables)


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


def boundaries_of(comparison: Compare) -> tuple[Boundary, ...]:
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


def draw_cells(roots: Iterable[Formula]) -> list[Formula]:
    """The formulas with comparisons replaced by literals of one cell variable for each number column.

    Its boundaries are those of all comparisons in `roots`. So `age > 40` and `age > 60` are literals of the same variable,
    and the probability of their conjunction is exact.
    """
    roots = list(roots)
    boundaries: dict[str, set[Boundary]] = {}
    for node in bottom_up(roots):
        if isinstance(node, Compare):
            boundaries.setdefault(node.column, set()).update(boundaries_of(node))
    variables = {column: CellVariable(column, tuple(sorted(known))) for column, known in boundaries.items()}

    def with_cells(node: Formula) -> Formula:
        return _cells(node, variables[node.column]) if isinstance(node, Compare) else node

    return rebuild(roots, with_cells)


def _cells(comparison: Compare, variable: CellVariable) -> Literal:
    """The literal of the cells in which a comparison is true; cell i lies between boundaries i-1 and i."""
    indices = [variable.boundaries.index(boundary) for boundary in boundaries_of(comparison)]
    low, high = min(indices), max(indices)
    all_cells = frozenset(range(variable.size))
    match comparison.operator:
        case "<" | "=<":
            return Literal(variable, frozenset(range(low + 1)))
        case ">" | ">=":
            return Literal(variable, all_cells - frozenset(range(high + 1)))
        case "=:=":
            return Literal(variable, frozenset(range(low + 1, high + 1)))
        case "=\\=":
            return Literal(variable, all_cells - frozenset(range(low + 1, high + 1)))


def negate(formula: Formula) -> Formula:
    """The negation of a formula, without double negations."""
    match formula:
        case Truth(value):
            return Truth(not value)
        case Not(part):
            return part
        case _:
            return Not(formula)
