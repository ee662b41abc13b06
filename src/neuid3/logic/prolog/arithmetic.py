"""Comparisons and arithmetic with number columns, while tests are grounded.

A number column is not known at that time, so `B is weight / height ** 2` binds B to the term itself, and a comparison of
such a term with a number becomes an atom of the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from problog.engine import DefaultEngine
from problog.engine_builtin import check_mode
from problog.engine_stack import SimpleBuiltIn, SimpleProbabilisticBuiltIn
from problog.errors import GroundingError
from problog.logic import Constant, Term, Var

from neuid3.logic.expressions import (
    FUNCTIONS,
    MAX_STEPS,
    CallStep,
    ColumnStep,
    Expression,
    NumberStep,
    Step,
    combine,
    expression_to_json,
)
from neuid3.logic.formula import FLIPPED, equals_float
from neuid3.logic.prolog.engine import number_value
from neuid3.logic.prolog.terms import COMPARISONS, PrologTerm, name_of, source
from neuid3.logic.quoting import atom_text

# The constant that stands for the open argument of a family of tests, `older_than('$open')`.
OPEN = "$open"


@dataclass(frozen=True, slots=True)
class RawComparison:
    """A comparison as it is called while a test is grounded: both sides as terms, and the node of the formula."""

    operator: str
    left: PrologTerm
    right: PrologTerm
    node: list[Any]


@dataclass(slots=True)
class Arithmetic:
    """The comparisons of one engine that accept number columns.

    Attributes
    ----------
    numbers : the names of the number columns.
    nodes : the comparisons so far as nodes of a formula, by their index.
    recorded : the comparisons that were called, while they are recorded for an export.
    """

    numbers: frozenset[str]
    nodes: list[list[Any]] = field(default_factory=list)
    recorded: list[RawComparison] | None = None
    _indices: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def install(self, engine: DefaultEngine) -> None:
        """Replace the comparisons of an engine, and `is`, by ones that accept number columns."""
        index = engine.get_builtins()
        for operator in COMPARISONS:
            original = engine.get_builtin(index[f"{operator}/2"])
            engine.add_builtin(operator, 2, self._comparison(operator, original))
        engine.add_builtin("is", 2, self._is(engine.get_builtin(index["is/2"])))

    def has_column(self, term: PrologTerm) -> bool:
        """Whether a number column, or the open constant, is part of a term."""
        waiting = [term]
        while waiting:
            part = waiting.pop()
            if isinstance(part, Term) and not isinstance(part, (Constant, Var)):
                if part.arity == 0 and self._is_number(part):
                    return True
                waiting.extend(part.args)
        return False

    def _is_number(self, atom: PrologTerm) -> bool:
        return name_of(atom) in self.numbers or name_of(atom) == OPEN

    def _comparison(self, operator: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def compare(left: PrologTerm, right: PrologTerm, target: Any, engine: Any, **context: Any) -> list[Any]:
            check_mode((left, right), ["gg"], functor=operator, **context)
            node = self._node(left, operator, right, engine)
            if self.recorded is not None:
                self.recorded.append(RawComparison(operator, left, right, node))
            key = tuple(map(repr, node))
            if key not in self._indices:
                self._indices[key] = len(self.nodes)
                self.nodes.append(node)
            weight = Term("'$compare'", Constant(self._indices[key]))
            return [((left, right), target.add_atom(("$compare", *key), weight))]

        probabilistic = SimpleProbabilisticBuiltIn(compare)

        def builtin(*arguments: PrologTerm, **context: Any) -> Any:
            if any(self.has_column(argument) for argument in arguments):
                return probabilistic(*arguments, **context)
            return original(*arguments, **context)

        return builtin

    def _node(self, left: PrologTerm, operator: str, right: PrologTerm, engine: DefaultEngine) -> list[Any]:
        """The comparison as a node of the formula: a column, an expression, or the open constant."""
        goal = f"{source(left)} {operator} {source(right)}"
        if _is_open(right) or _is_open(left):
            side, direction = (left, operator) if _is_open(right) else (right, FLIPPED[operator])
            return ["open", expression_to_json(self.expression(side, goal, engine)), direction]
        if not self.has_column(left):
            left, operator, right = right, FLIPPED[operator], left
        if not self.has_column(right):
            constant = column_constant(right, engine, goal)
            compared = self.expression(left, goal, engine)
        else:
            sides = sorted((self.expression(side, goal, engine) for side in (left, right)), key=str)
            # a > b is calculated as a - b > 0, which has the same sign for all floats.
            if sides[0] != self.expression(left, goal, engine):
                operator = FLIPPED[operator]
            compared, constant = combine("-", *sides), 0.0
        if compared.column is not None:
            return ["compare", compared.column, operator, constant]
        return ["calculate", expression_to_json(compared), operator, constant]

    def expression(self, term: PrologTerm, goal: str, engine: DefaultEngine) -> Expression:
        """An arithmetic term as an expression; parts without columns are calculated here."""
        steps = list(self._steps(term, goal, engine))
        if len(steps) > MAX_STEPS:
            raise GroundingError(f"an expression of more than {MAX_STEPS} columns, numbers and functions is compared")
        return Expression(tuple(steps))

    def _steps(self, term: PrologTerm, goal: str, engine: DefaultEngine) -> Iterator[Step]:
        waiting: list[Any] = [term]
        count = 0
        while waiting and count <= MAX_STEPS:
            part = waiting.pop()
            if isinstance(part, CallStep):
                count += 1
                yield part
            elif not self.has_column(part):
                count += 1
                yield NumberStep(column_constant(part, engine, goal))
            elif part.arity == 0:
                if _is_open(part):
                    raise GroundingError(f"'{goal}' calculates with a constant that is to be found")
                count += 1
                yield ColumnStep(name_of(part))
            else:
                name = "**" if name_of(part) == "^" else name_of(part)
                if (name, part.arity) not in FUNCTIONS:
                    raise GroundingError(
                        f"'{goal}' calculates {name}/{part.arity} of a column; columns can be calculated with "
                        f"{', '.join(sorted({function for function, _ in FUNCTIONS}))}"
                    )
                waiting.append(CallStep(name, part.arity))
                waiting.extend(reversed(part.args))

    def _is(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def assign(result: PrologTerm, term: PrologTerm, **context: Any) -> list[tuple[PrologTerm, ...]]:
            check_mode((result, term), ["*g"], functor="is", **context)
            engine = context["engine"]
            goal = f"{source(result)} is {source(term)}"
            self.expression(term, goal, engine)  # refuses what cannot be calculated
            if isinstance(result, Term) and not isinstance(result, Var):
                raise GroundingError(f"'{goal}' compares with a number column; write =:= in place of 'is'")
            return [(term, term)]

        symbolic = SimpleBuiltIn(assign)

        def builtin(*arguments: PrologTerm, **context: Any) -> Any:
            if self.has_column(arguments[1]):
                return symbolic(*arguments, **context)
            return original(*arguments, **context)

        return builtin


def _is_open(term: PrologTerm) -> bool:
    return (
        isinstance(term, Term) and not isinstance(term, (Constant, Var)) and term.arity == 0 and name_of(term) == OPEN
    )


def column_constant(term: PrologTerm, engine: DefaultEngine, goal: str | None = None) -> float:
    """The constant that a number column is compared with, as a float, the type of the column's entries."""
    try:
        value = number_value(term, engine)
    except (TypeError, ValueError, AttributeError, OverflowError):
        raise GroundingError(f"'{goal or source(term)}' does not compare a column with a number") from None
    if isinstance(value, int) and not equals_float(value):
        raise GroundingError(
            f"no float equals {source(term)}, and number columns hold floats; compare with a neighbouring number"
        )
    return float(value)


def open_atom() -> str:
    """The open constant as an atom in a program."""
    return atom_text(OPEN)
