"""Arithmetic expressions over number columns, evaluated for all rows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.kinds import Date, Kind, Number, Schema
from neuid3.errors import DataError
from neuid3.logic.quoting import atom_text, entry_text

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# The functions that expressions are made of, with their numbers of arguments. Rules can calculate with nothing else.
FUNCTIONS = frozenset(
    {
        ("+", 2),
        ("-", 2),
        ("*", 2),
        ("/", 2),
        ("**", 2),
        ("mod", 2),
        ("min", 2),
        ("max", 2),
        ("-", 1),
        ("+", 1),
        ("abs", 1),
        ("round", 1),
        ("floor", 1),
        ("ceiling", 1),
        ("sqrt", 1),
        ("exp", 1),
        ("log", 1),
    }
)

# Functions that have no value for some numbers.
_PARTIAL = frozenset({"/", "**", "mod", "sqrt", "log"})

# The most columns, numbers and functions of one expression.
MAX_STEPS = 1000

# The priority of infix operators: a lower number binds more tightly.
_PRIORITY = {"**": 200, "*": 400, "/": 400, "mod": 400, "+": 500, "-": 500}


@dataclass(frozen=True, slots=True)
class ColumnStep:
    """The entries of a number column."""

    column: str


@dataclass(frozen=True, slots=True)
class NumberStep:
    """A constant."""

    number: float


@dataclass(frozen=True, slots=True)
class CallStep:
    """A function of the last results."""

    function: str
    arity: int


Step = ColumnStep | NumberStep | CallStep


@dataclass(frozen=True)
class Expression:
    """An arithmetic expression over number columns, as steps in postfix order: operands before their function.

    Attributes
    ----------
    steps : the columns, constants and functions.

    Raises
    ------
    ValueError : where the steps are no expression.

    >>> bmi = Expression((ColumnStep("weight"), ColumnStep("height"), NumberStep(2.0), CallStep("**", 2), CallStep("/", 2)))
    >>> str(bmi), bmi.columns
    ('weight / height ** 2', ('weight', 'height'))
    >>> bmi.evaluate({"weight": np.array([80.0, 70.0]), "height": np.array([2.0, 0.0])})[1]
    array([ True, False])
    """

    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        depth = 0
        for step in self.steps:
            if isinstance(step, CallStep):
                if (step.function, step.arity) not in FUNCTIONS or depth < step.arity:
                    raise ValueError(f"{step.function}/{step.arity} cannot be calculated with columns")
                depth -= step.arity
            depth += 1
        if depth != 1 or len(self.steps) > MAX_STEPS:
            raise ValueError("an expression has too many steps, or steps that do not make one number")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.steps)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns, in the order of their first use."""
        return tuple(dict.fromkeys(step.column for step in self.steps if isinstance(step, ColumnStep)))

    @property
    def column(self) -> str | None:
        """The column, where the expression is nothing else; otherwise None."""
        return self.steps[0].column if len(self.steps) == 1 and isinstance(self.steps[0], ColumnStep) else None

    @property
    def number(self) -> float | None:
        """The constant, where the expression is nothing else; otherwise None."""
        return self.steps[0].number if len(self.steps) == 1 and isinstance(self.steps[0], NumberStep) else None

    @property
    def is_partial(self) -> bool:
        """Whether the expression may have no value for some numbers, as a quotient has none for a divisor of 0."""
        return any(isinstance(step, CallStep) and step.function in _PARTIAL for step in self.steps)

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        stack: list[tuple[str, int]] = []  # texts with their priorities
        for step in self.steps:
            match step:
                case ColumnStep(column):
                    stack.append((atom_text(column), 0))
                case NumberStep(number):
                    stack.append((entry_text(number), 0 if number >= 0 else _PRIORITY["-"]))
                case CallStep(function, arity):
                    operands = [stack.pop() for _ in range(arity)][::-1]
                    stack.append(_call_text(function, operands))
        return stack[0][0]

    def evaluate(self, columns: Mapping[str, Floats]) -> tuple[Floats, Mask]:
        """The values of the expression, and where it has one.

        Parameters
        ----------
        columns : the numbers of each column, arrays that can be broadcast to one shape; NaN where an entry is missing.

        Returns
        -------
        The values, and a mask of those that are defined: no operand is missing, no divisor is 0, and no root, logarithm
        or power of a negative number would be no real number.

        Raises
        ------
        DataError : where a value is too large for a 64-bit float.
        """
        stack: list[Any] = []
        with np.errstate(all="ignore"):
            for step in self.steps:
                match step:
                    case ColumnStep(column):
                        stack.append(columns[column])
                    case NumberStep(number):
                        stack.append(np.float64(number))
                    case CallStep(function, arity):
                        operands = stack[len(stack) - arity :]
                        del stack[len(stack) - arity :]
                        result = _OPERATIONS[function, arity](*operands)
                        if np.isinf(result).any():
                            self._refuse_overflow(np.asarray(result), columns)
                        stack.append(result)
        values = np.asarray(stack[0], dtype=np.float64)
        return values, ~np.isnan(values)

    def _refuse_overflow(self, values: Floats, columns: Mapping[str, Floats]) -> None:
        position = np.unravel_index(int(np.flatnonzero(np.isinf(values))[0]), values.shape)
        entries = ", ".join(
            f"{name} = {entry_text(float(np.broadcast_to(columns[name], values.shape)[position]))}"
            for name in self.columns
            if np.broadcast_shapes(np.shape(columns[name]), values.shape) == values.shape
        )
        raise DataError(
            f"'{self}' is too large for a 64-bit float where {entries}; measure the columns in larger units, or correct "
            "these entries."
        )


@lru_cache(maxsize=1 << 16)
def column_expression(name: str) -> Expression:
    """The expression that is one column."""
    return Expression((ColumnStep(name),))


def number_expression(number: float) -> Expression:
    """The expression that is one constant."""
    return Expression((NumberStep(float(number)),))


def combine(function: str, *operands: Expression) -> Expression:
    """A function of expressions.

    >>> str(combine("-", column_expression("systolic"), column_expression("diastolic")))
    'systolic - diastolic'
    """
    steps = tuple(step for operand in operands for step in operand.steps)
    return Expression((*steps, CallStep(function, len(operands))))


def expression_kind(expression: Expression, schema: Schema) -> Kind:
    """A date where the value of an expression is a moment, as of `ordered + 14`; otherwise a number.

    >>> columns = {"ordered": Date(), "shipped": Date()}
    >>> lag = combine("-", column_expression("shipped"), column_expression("ordered"))
    >>> expression_kind(lag, columns), expression_kind(combine("+", lag, column_expression("ordered")), columns)
    (Number(), Date(day_first=None))
    """
    moments: list[float] = []  # how many dates each operand counts: 1 for a date, 0 for days, NaN for anything else
    for step in expression.steps:
        match step:
            case ColumnStep(column):
                moments.append(float(isinstance(schema.get(column), Date)))
            case NumberStep():
                moments.append(0.0)
            case CallStep(function, arity):
                counts = [moments.pop() for _ in range(arity)][::-1]
                moments.append(_moments(function, counts))
    return Date() if moments == [1.0] else Number()


def _moments(function: str, counts: Sequence[float]) -> float:
    match function, counts:
        case "+", [left, right]:
            return left + right
        case "-", [left, right]:
            return left - right
        case (("min" | "max"), [left, right]) if left == right:
            return left
        case (("+" | "round" | "floor" | "ceiling"), [count]):
            return count
        case _:
            return 0.0 if not any(counts) else np.nan


def is_difference(expression: Expression) -> bool:
    """Whether the outermost function of an expression is a difference."""
    return expression.steps[-1] == CallStep("-", 2)


def operands(expression: Expression) -> list[Expression]:
    """The operands of the outermost function of an expression.

    >>> [str(part) for part in operands(combine("-", column_expression("a"), column_expression("b")))]
    ['a', 'b']
    """
    stack: list[tuple[Step, ...]] = []
    for step in expression.steps[:-1]:
        arity = step.arity if isinstance(step, CallStep) else 0
        parts = stack[len(stack) - arity :]
        del stack[len(stack) - arity :]
        stack.append((*(step for part in parts for step in part), step))
    return [Expression(steps) for steps in stack]


def _call_text(function: str, operands: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """The text of a function of operands, and its priority."""
    if function in _PRIORITY and len(operands) == 2:
        priority = _PRIORITY[function]
        (left, left_priority), (right, right_priority) = operands
        # All operators associate to the left; ** does not associate in Prolog.
        left_binds = left_priority < priority or (left_priority == priority and function != "**")
        left = left if left_binds else f"({left})"
        right = right if right_priority < priority else f"({right})"
        return f"{left} {function} {right}", priority
    if function in ("-", "+"):
        (operand, priority) = operands[0]
        return f"{function}{operand}" if priority == 0 else f"{function}({operand})", _PRIORITY["-"]
    return f"{function}({', '.join(text for text, _ in operands)})", 0


def _undefined_where(condition: Any, values: Any) -> Any:
    return np.where(condition, np.nan, values)


def _power(base: Any, exponent: Any) -> Any:
    # numpy has infinity for 0 ** -1, and NaN for (-8) ** 0.5, where the power is no real number.
    values = _undefined_where((base == 0) & (exponent < 0), np.power(base, exponent))
    return _undefined_where(np.isnan(base) | np.isnan(exponent), values)  # numpy has 1 for nan ** 0


# NaN in an operand makes the result NaN, so that a missing entry is never forgotten.
_OPERATIONS: Mapping[tuple[str, int], Callable[..., Any]] = {
    ("+", 2): np.add,
    ("-", 2): np.subtract,
    ("*", 2): np.multiply,
    ("/", 2): lambda a, b: _undefined_where(b == 0, np.divide(a, b)),
    ("**", 2): _power,
    ("mod", 2): lambda a, b: _undefined_where(b == 0, np.mod(a, b)),
    ("min", 2): np.minimum,
    ("max", 2): np.maximum,
    ("-", 1): np.negative,
    ("+", 1): np.positive,
    ("abs", 1): np.abs,
    ("round", 1): np.round,  # halves to the even number, as in ProbLog
    ("floor", 1): np.floor,
    ("ceiling", 1): np.ceil,
    ("sqrt", 1): lambda a: _undefined_where(a < 0, np.sqrt(a)),
    ("exp", 1): np.exp,
    ("log", 1): lambda a: _undefined_where(a <= 0, np.log(a)),
}


def expression_to_json(expression: Expression) -> list[list[Any]]:
    """The steps of an expression as JSON."""
    return [list(_step_to_json(step)) for step in expression.steps]


def _step_to_json(step: Step) -> Iterator[Any]:
    match step:
        case ColumnStep(column):
            yield from ("column", column)
        case NumberStep(number):
            yield from ("number", number)
        case CallStep(function, arity):
            yield from ("call", function, arity)


def expression_from_json(steps: Sequence[Sequence[Any]]) -> Expression:
    """The inverse of `expression_to_json`."""
    read: list[Step] = []
    for step in steps:
        match step:
            case ["column", str(column)]:
                read.append(ColumnStep(column))
            case ["number", int() | float() as number]:
                read.append(NumberStep(float(number)))
            case ["call", str(function), int(arity)]:
                read.append(CallStep(function, arity))
            case _:
                raise ValueError(f"{step!r:.40} is no step of an expression")
    return Expression(tuple(read))
