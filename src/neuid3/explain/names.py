"""Names of variables and of their values in explanations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from neuid3.data.columns import Boolean, Kind, Probability
from neuid3.explain.explanation import Assignment
from neuid3.logic.expressions import expression_kind, is_difference, operands
from neuid3.logic.formula import (
    Boundary,
    CalculatedVariable,
    CellPart,
    CellVariable,
    ChoiceVariable,
    ColumnVariable,
    NeuralVariable,
    QueryVariable,
    Variable,
)
from neuid3.logic.program import Program
from neuid3.logic.quoting import constant_text

# The two values of a fact, in the order of columns and networks.
TRUTH = ("false", "true")


@dataclass(frozen=True, slots=True)
class VariableNames:
    """The name of a variable, the names of its values, and a phrase for each value, such as `rank(card) = 3`."""

    name: str
    values: tuple[str, ...]
    phrases: tuple[str, ...]

    def assignment(self, value: int) -> Assignment:
        """The variable with one of its values."""
        return Assignment(self.name, self.values[value], self.phrases[value])


def name_variables(variables: Iterable[Variable], program: Program) -> dict[Variable, VariableNames]:
    """The names of each variable; equal names are distinguished by the network, the arguments or the clause."""
    names = {variable: _names(variable, program) for variable in variables}
    for distinction in (_instance, _origin):
        count = Counter(n.name for n in names.values())
        names = {v: _with_suffix(n, distinction(v)) if count[n.name] > 1 else n for v, n in names.items()}
    return names


def _names(variable: Variable, program: Program) -> VariableNames:
    match variable:
        case ColumnVariable(column):
            kind = program.schema[column]
            if isinstance(kind, (Boolean, Probability)):
                return _fact(column)
            return _valued(column, [str(value) for value in kind.domain])  # type: ignore[union-attr]
        case CellVariable(column, boundaries):
            cells, kind = list(zip((None, *boundaries), (*boundaries, None), strict=True)), program.schema[column]
            return VariableNames(
                column,
                tuple(_interval(*cell, kind) for cell in cells),
                tuple(_cell(column, *cell, kind) for cell in cells),
            )
        case CalculatedVariable(parts):
            intervals, phrases = [], []
            for value in range(variable.size):
                combination = list(zip(parts, variable.cells(value), strict=True))
                kinds = [expression_kind(part.expression, program.schema) for part in parts]
                ends = [_ends(part, cell) for part, cell in combination]
                intervals.append(", ".join(_interval(*cell, kind) for cell, kind in zip(ends, kinds, strict=True)))
                phrases.append(
                    ", ".join(_part_phrase(p, cell, kind) for (p, cell), kind in zip(combination, kinds, strict=True))
                )
            return VariableNames(" and ".join(str(part.expression) for part in parts), tuple(intervals), tuple(phrases))
        case NeuralVariable(declaration=number):
            (head,), values = program.heads(variable), program.declarations[number].values
            return _fact(head) if values is None else _valued(head, values)
        case ChoiceVariable():
            return _choice(program.heads(variable))
        case QueryVariable(query):
            return _fact(str(query))


def _ends(part: CellPart, cell: int) -> tuple[Boundary | None, Boundary | None]:
    """The boundaries below and above a cell."""
    return (None, *part.boundaries)[cell], (*part.boundaries, None)[cell]


def _part_phrase(part: CellPart, cell: int, kind: Kind) -> str:
    """An expression in one of its cells, as a comparison; a difference that is compared with 0 compares its sides."""
    low, high = _ends(part, cell)
    if all(boundary.at == 0.0 for boundary in part.boundaries) and is_difference(part.expression):
        left, right = operands(part.expression)
        if low is not None and high is not None:
            return f"{left} = {right}"
        sign = ("≤" if high.above else "<") if high is not None else (">" if low is not None and low.above else "≥")
        return f"{left} {sign} {right}"
    return _cell(str(part.expression), low, high, kind)


def _fact(name: str) -> VariableNames:
    return VariableNames(name, TRUTH, (f"not {name}", name))


def _valued(name: str, values: Iterable[str]) -> VariableNames:
    value_names = tuple(values)
    return VariableNames(name, value_names, tuple(f"{name} = {value}" for value in value_names))


def _choice(heads: tuple[str, ...]) -> VariableNames:
    """The names of a probabilistic fact or an annotated disjunction; in its last value no head is chosen."""
    if len(heads) == 1:
        return VariableNames(heads[0], TRUTH[::-1], (heads[0], f"not {heads[0]}"))
    return VariableNames("; ".join(heads), (*heads, "none"), (*heads, f"none of {', '.join(heads)}"))


def _interval(low: Boundary | None, high: Boundary | None, kind: Kind | None = None) -> str:
    """The cell between two boundaries, as an interval.

    >>> _interval(Boundary(40.0, True), Boundary(60.0, True)), _interval(None, Boundary(40.0, False))
    ('(40.0, 60.0]', '(-inf, 40.0)')
    """
    start = "(-inf" if low is None else f"{'(' if low.above else '['}{constant_text(low.at, kind)}"
    end = "inf)" if high is None else f"{constant_text(high.at, kind)}{']' if high.above else ')'}"
    return f"{start}, {end}"


def _cell(column: str, low: Boundary | None, high: Boundary | None, kind: Kind | None = None) -> str:
    """The cell between two boundaries, as a comparison.

    >>> _cell("age", Boundary(40.0, True), Boundary(60.0, True)), _cell("age", Boundary(40.0, False), None)
    ('40.0 < age ≤ 60.0', 'age ≥ 40.0')
    """
    if low is not None and high is not None:
        if low.at == high.at:
            return f"{column} = {constant_text(low.at, kind)}"
        start, end = constant_text(low.at, kind), constant_text(high.at, kind)
        return f"{start} {'<' if low.above else '≤'} {column} {'≤' if high.above else '<'} {end}"
    if low is not None:
        return f"{column} {'>' if low.above else '≥'} {constant_text(low.at, kind)}"
    assert high is not None, "a number that is never cut has no cells"
    return f"{column} {'≤' if high.above else '<'} {constant_text(high.at, kind)}"


def _instance(variable: Variable) -> str:
    """The network of a variable, or the arguments of a choice."""
    match variable:
        case NeuralVariable(network=network):
            return network
        case ChoiceVariable(arguments=arguments):
            return ", ".join(arguments)
        case ColumnVariable() | CellVariable() | CalculatedVariable() | QueryVariable():
            return "column"


def _origin(variable: Variable) -> str:
    """The clause of the program that a variable belongs to, counted from 1."""
    match variable:
        case NeuralVariable(declaration=number) | ChoiceVariable(clause=number):
            return f"clause {number + 1}"
        case ColumnVariable() | CellVariable() | CalculatedVariable() | QueryVariable():
            return ""


def _with_suffix(names: VariableNames, distinction: str) -> VariableNames:
    if not distinction:
        return names
    suffix = f" [{distinction}]"
    return replace(names, name=names.name + suffix, phrases=tuple(phrase + suffix for phrase in names.phrases))
