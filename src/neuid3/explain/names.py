"""How is a variable called, and how do its values read?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from neuid3.data.columns import Boolean, Probability
from neuid3.explain.explanation import Assignment
from neuid3.logic.formula import Boundary, CellVariable, ChoiceVariable, ColumnVariable, NeuralVariable, Variable
from neuid3.logic.program import Program
from neuid3.logic.quoting import number_text

# The two values of what holds or not, in the order of columns and networks.
TRUTH = ("false", "true")


@dataclass(frozen=True, slots=True)
class Named:
    """A variable's name, its values, and how the variable reads with each of them."""

    name: str
    values: tuple[str, ...]
    phrases: tuple[str, ...]

    def taking(self, value: int) -> Assignment:
        return Assignment(self.name, self.values[value], self.phrases[value])


def name_all(variables: Iterable[Variable], program: Program) -> dict[Variable, Named]:
    """A name for each variable; two that would be called the same are told apart by what they differ in."""
    found = {variable: _named(variable, program) for variable in variables}
    for difference in (_instance, _origin):
        count = Counter(named.name for named in found.values())
        found = {v: _marked(n, difference(v)) if count[n.name] > 1 else n for v, n in found.items()}
    return found


def _named(variable: Variable, program: Program) -> Named:
    match variable:
        case ColumnVariable(column):
            kind = program.schema[column]
            if isinstance(kind, (Boolean, Probability)):
                return _fact(column)
            return _valued(column, [str(value) for value in kind.domain])  # type: ignore[union-attr]
        case CellVariable(column, boundaries):
            cells = list(zip((None, *boundaries), (*boundaries, None), strict=True))
            return Named(
                column, tuple(_interval(*cell) for cell in cells), tuple(_cell(column, *cell) for cell in cells)
            )
        case NeuralVariable(declaration=number):
            (head,), values = program.heads(variable), program.declarations[number].values
            return _fact(head) if values is None else _valued(head, values)
        case ChoiceVariable():
            return _choice(program.heads(variable))


def _fact(name: str) -> Named:
    return Named(name, TRUTH, (f"not {name}", name))


def _valued(name: str, values: Iterable[str]) -> Named:
    listed = tuple(values)
    return Named(name, listed, tuple(f"{name} = {value}" for value in listed))


def _choice(heads: tuple[str, ...]) -> Named:
    """A probabilistic fact, or a disjunction; its last value is that none of the heads is chosen."""
    if len(heads) == 1:
        return Named(heads[0], TRUTH[::-1], (heads[0], f"not {heads[0]}"))
    return Named("; ".join(heads), (*heads, "none"), (*heads, f"none of {', '.join(heads)}"))


def _interval(low: Boundary | None, high: Boundary | None) -> str:
    """The cell between two boundaries, as an interval.

    >>> _interval(Boundary(40.0, True), Boundary(60.0, True)), _interval(None, Boundary(40.0, False))
    ('(40.0, 60.0]', '(-inf, 40.0)')
    """
    start = "(-inf" if low is None else f"{'(' if low.above else '['}{number_text(low.at)}"
    end = "inf)" if high is None else f"{number_text(high.at)}{']' if high.above else ')'}"
    return f"{start}, {end}"


def _cell(column: str, low: Boundary | None, high: Boundary | None) -> str:
    """
    >>> _cell("age", Boundary(40.0, True), Boundary(60.0, True)), _cell("age", Boundary(40.0, False), None)
    ('40.0 < age ≤ 60.0', 'age ≥ 40.0')
    """
    if low is not None and high is not None:
        if low.at == high.at:
            return f"{column} = {number_text(low.at)}"
        return f"{number_text(low.at)} {'<' if low.above else '≤'} {column} {'≤' if high.above else '<'} {number_text(high.at)}"
    if low is not None:
        return f"{column} {'>' if low.above else '≥'} {number_text(low.at)}"
    assert high is not None, "a number that is never cut has no cells"
    return f"{column} {'≤' if high.above else '<'} {number_text(high.at)}"


def _instance(variable: Variable) -> str:
    """Which network says it, or for which values of the clause's variables it is chosen."""
    match variable:
        case NeuralVariable(network=network):
            return network
        case ChoiceVariable(arguments=arguments):
            return ", ".join(arguments)
        case ColumnVariable() | CellVariable():
            return "column"


def _origin(variable: Variable) -> str:
    """Which clause of the program, counted from its top, decides it."""
    match variable:
        case NeuralVariable(declaration=number) | ChoiceVariable(clause=number):
            return f"clause {number + 1}"
        case ColumnVariable() | CellVariable():
            return ""


def _marked(named: Named, mark: str) -> Named:
    if not mark:
        return named
    marked = f" [{mark}]"
    return replace(named, name=named.name + marked, phrases=tuple(phrase + marked for phrase in named.phrases))
