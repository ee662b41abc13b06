"""What is a formula? Literals over finite-valued random variables, and the connectives."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
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

    Its values are the heads in the order written, and, last, "none of them".
    """

    clause: int
    arguments: tuple[str, ...]
    weights: tuple[float, ...]

    @property
    def size(self) -> int:
        return len(self.weights)


@dataclass(frozen=True, slots=True)
class NeuralVariable:
    """What one instance of a network says through one ground instance of one declaration.

    Two declarations that name the same network share its weights, not its outcomes, and
    two instances of a network that read the same image are different random variables.
    """

    declaration: int
    network: str
    inputs: tuple[str, ...]
    arguments: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True, order=True)
class Boundary:
    """A place where a number column is cut: just below `at`, or just above it."""

    at: float
    above: bool


@dataclass(frozen=True, slots=True)
class CellVariable:
    """In which of the cells between its boundaries does a number lie?"""

    column: str
    boundaries: tuple[Boundary, ...]

    @property
    def size(self) -> int:
        return len(self.boundaries) + 1


Variable = ColumnVariable | ChoiceVariable | NeuralVariable | CellVariable


@dataclass(frozen=True, slots=True)
class Truth:
    """A formula whose answer is known before any example is seen."""

    value: bool


@dataclass(frozen=True, slots=True)
class Literal:
    """The variable takes one of these values (by their index)."""

    variable: Variable
    values: frozenset[int]


def equals_float(number: int) -> bool:
    """Is there a 64-bit float of exactly this value?

    >>> equals_float(2**53), equals_float(2**53 + 1), equals_float(10**400)
    (True, False, False)
    """
    return abs(number) <= sys.float_info.max and int(float(number)) == number


@dataclass(frozen=True, slots=True)
class Compare:
    """A number column compared with a constant; the cells are drawn when all cuts are known."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Not:
    """The part does not hold."""

    part: Formula


@dataclass(frozen=True, slots=True, eq=False)
class And:
    """All parts hold."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Or:
    """At least one part holds."""

    parts: tuple[Formula, ...]


# A formula is a graph: parts are shared, so connectives are compared by identity and walked once.
Formula = Truth | Literal | Compare | Not | And | Or

# What two tests have in common when they are not independent: a variable, or a number column.
Source = ColumnVariable | ChoiceVariable | NeuralVariable | str


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
    """Every formula in these graphs once, parts before wholes, left before right."""
    seen: set[int] = set()
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        formula, expanded = stack.pop()
        if expanded:
            yield formula
        elif id(formula) not in seen:
            seen.add(id(formula))
            stack.append((formula, True))
            stack.extend((part, False) for part in reversed(parts_of(formula)))


def sources(formula: Formula) -> frozenset[Source]:
    """The random variables that a formula depends on; a number column is one of them."""
    found: set[Source] = set()
    for node in bottom_up([formula]):
        match node:
            case Literal(CellVariable(column)) | Compare(column):
                found.add(column)
            case Literal(variable) if not isinstance(variable, CellVariable):
                found.add(variable)
            case _:
                pass
    return frozenset(found)


def rebuild(roots: Iterable[Formula], leaf: Callable[[Formula], Formula]) -> list[Formula]:
    """The same formulas with every literal, comparison and constant replaced by `leaf` of it."""
    roots = list(roots)
    made: dict[int, Formula] = {}
    for node in bottom_up(roots):
        match node:
            case And(parts):
                made[id(node)] = And(tuple(made[id(part)] for part in parts))
            case Or(parts):
                made[id(node)] = Or(tuple(made[id(part)] for part in parts))
            case Not(part):
                made[id(node)] = Not(made[id(part)])
            case _:
                made[id(node)] = leaf(node)
    return [made[id(root)] for root in roots]


def bind(formula: Formula, instances: Mapping[str, str]) -> Formula:
    """The formula in which every network stands for the instance that `instances` names."""

    def bound(node: Formula) -> Formula:
        match node:
            case Literal(NeuralVariable() as variable, values) if variable.network in instances:
                return Literal(replace(variable, network=instances[variable.network]), values)
            case _:
                return node

    return rebuild([formula], bound)[0]


def boundaries_of(comparison: Compare) -> tuple[Boundary, ...]:
    """Where a comparison cuts its column.

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
    """Give every number column one variable whose cells are cut by all comparisons in `roots`.

    So `age > 40` and `age > 60` speak of the same variable and a conjunction of them is exact.
    """
    roots = list(roots)
    cuts: dict[str, set[Boundary]] = {}
    for node in bottom_up(roots):
        if isinstance(node, Compare):
            cuts.setdefault(node.column, set()).update(boundaries_of(node))
    variables = {column: CellVariable(column, tuple(sorted(found))) for column, found in cuts.items()}

    def celled(node: Formula) -> Formula:
        return _cells(node, variables[node.column]) if isinstance(node, Compare) else node

    return rebuild(roots, celled)


def _cells(comparison: Compare, variable: CellVariable) -> Literal:
    """The cells in which a comparison holds; cell i lies between boundaries i-1 and i."""
    places = [variable.boundaries.index(boundary) for boundary in boundaries_of(comparison)]
    low, high = min(places), max(places)
    everywhere = frozenset(range(variable.size))
    match comparison.operator:
        case "<" | "=<":
            return Literal(variable, frozenset(range(low + 1)))
        case ">" | ">=":
            return Literal(variable, everywhere - frozenset(range(high + 1)))
        case "=:=":
            return Literal(variable, frozenset(range(low + 1, high + 1)))
        case "=\\=":
            return Literal(variable, everywhere - frozenset(range(low + 1, high + 1)))


def negate(formula: Formula) -> Formula:
    """The opposite of a formula."""
    match formula:
        case Truth(value):
            return Truth(not value)
        case Not(part):
            return part
        case _:
            return Not(formula)
