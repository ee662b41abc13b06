"""Queries and the parts of an example as Prolog clauses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from neuid3.data.columns import Boolean, Category, Column, Number, Probability
from neuid3.data.examples import Examples
from neuid3.data.parts import structure_of
from neuid3.data.priors import Priors, part_kinds
from neuid3.data.slots import slot_name
from neuid3.data.worlds import OpenEntries, open_entries
from neuid3.logic.quoting import atom_text, number_text
from neuid3.queries.language import (
    Aggregate,
    AtLeast,
    Atom,
    Comparison,
    Different,
    Field,
    Literal,
    Negation,
    Query,
    Var,
    all_variables,
)


def query_clauses(query: Query, name: str, predicates: Mapping[Atom, str] | None = None) -> list[str]:
    """Clauses that define an atom to be true where some binding makes a query true.

    Parameters
    ----------
    query : the query.
    name : the atom.
    predicates : the predicates of the atoms that are atoms of the program.

    Returns
    -------
    The clauses; that of the atom is the last.
    """
    return _Writer(name, predicates or {}).clauses(query, name, ())


class _Writer:
    """Clauses of a query; negations and counts become predicates of their own."""

    def __init__(self, name: str, predicates: Mapping[Atom, str]) -> None:
        self.name, self.predicates, self.count = name, predicates, 0

    def _fresh(self) -> str:
        self.count += 1
        return f"{self.name}_{self.count}"

    def clauses(self, query: Query, head: str, above: tuple[Var, ...]) -> list[str]:
        before: list[str] = []
        goals: list[str] = []
        bound = list(above)
        for literal in query.literals:
            goals += self._goals(literal, tuple(bound), before)
            bound += [v for v in all_variables(literal) if isinstance(literal, Atom) and v not in bound]
        return [*before, f"{head} :- {', '.join(goals) or 'true'}."]

    def _goals(self, literal: Literal, bound: tuple[Var, ...], before: list[str]) -> list[str]:
        match literal:
            case Atom(predicate, arguments):
                called = self.predicates.get(literal, part_name(predicate))
                return [f"{called}({', '.join(map(_argument, arguments))})" if arguments else called]
            case Comparison(left, operator, right):
                goals = [self._field(left)]
                other = number_text(right) if not isinstance(right, Field) else self._value(right)
                goals += [self._field(right)] if isinstance(right, Field) else []
                return [*goals, f"{self._value(left)} {operator} {other}"]
            case Different(left, right):
                return [f"{left} \\= {right}"]
            case Negation(query):
                return [f"\\+ {self._defined(query, bound, before)}"]
            case AtLeast(count, query) if any(_atoms(query, self.predicates)):
                return self._ordered(count, query, bound, before)
            case AtLeast(count, query):
                inner = self._defined(query, bound, before, query.variables)
                new = [str(v) for v in query.variables if v not in bound]
                found, distinct, size = (f"{prefix}{self.count}" for prefix in ("L_", "S_", "N_"))
                return [
                    f"findall([{', '.join(new)}], {inner}, {found})",
                    f"sort({found}, {distinct})",
                    f"length({distinct}, {size})",
                    f"{size} >= {count}",
                ]
            case Aggregate():
                return self._aggregate(literal, bound, before)

    def _ordered(self, count: int, query: Query, bound: tuple[Var, ...], before: list[str]) -> list[str]:
        """So many bindings, each after the one before in the order of terms: uncertain ones cannot be listed and counted."""
        inner = self._defined(query, bound, before, query.variables)
        name = inner.split("(", 1)[0]
        arguments = [v for v in bound if v in query.all_variables]
        new = [v for v in query.variables if v not in bound]
        goals, last = [], ""
        for number in range(1, count + 1):
            own = [f"{v}_{self.count}_{number}" for v in new]
            goals.append(f"{name}({', '.join([*map(str, arguments), *own])})" if arguments or own else name)
            tuple_ = own[0] if len(own) == 1 else f"[{', '.join(own)}]"
            if last:
                goals.append(f"{last} @< {tuple_}")
            last = tuple_
        return goals

    def _aggregate(self, literal: Aggregate, bound: tuple[Var, ...], before: list[str]) -> list[str]:
        part = literal.field.part
        inner = self._defined(literal.query.extended(()), bound, before, (*literal.query.variables, part))
        found, distinct, values, size = (f"{prefix}{self.count}" for prefix in ("L_", "S_", "V_", "N_"))
        helper = self._fresh()
        column = part_name(literal.field.column)
        before += [
            f"{helper}([], []).",
            f"{helper}([P|Ps], [V|Vs]) :- {column}_of(P, V), {helper}(Ps, Vs).",
            f"{helper}([P|Ps], Vs) :- \\+ {column}_of(P, _), {helper}(Ps, Vs).",
        ]
        goals = [f"findall({part}, {inner}, {found})", f"sort({found}, {distinct})", f"{helper}({distinct}, {values})"]
        total = f"{helper}_of"
        step = f"{literal.function}(V, T)" if literal.function in ("min", "max") else "V + T"
        before += [f"{total}([V], V).", f"{total}([V|Vs], N) :- Vs = [_|_], {total}(Vs, T), N is {step}."]
        goals += [f"{total}({values}, T{size})"]
        if literal.function == "mean":
            goals += [f"length({values}, C{size})", f"{size} is T{size} / C{size}"]
        else:
            goals += [f"{size} is T{size}"]
        return [*goals, f"{size} {literal.operator} {number_text(literal.constant)}"]

    def _defined(self, query: Query, bound: tuple[Var, ...], before: list[str], outputs: tuple[Var, ...] = ()) -> str:
        """An atom of its own for a query inside another; its arguments are the variables that both have, and `outputs`."""
        shared = [v for v in bound if v in query.all_variables]
        arguments = list(dict.fromkeys([*shared, *(v for v in outputs if v not in bound)]))
        name = self._fresh()
        head = f"{name}({', '.join(map(str, arguments))})" if arguments else name
        before += self.clauses(query, head, tuple(shared))
        return head

    @staticmethod
    def _value(field: Field) -> str:
        return f"V_{field.part}_{''.join(c for c in field.column if c.isalnum())}"

    def _field(self, field: Field) -> str:
        return f"{part_name(field.column)}_of({field.part}, {self._value(field)})"


def _atoms(query: Query, known: Mapping[Atom, str]) -> Iterator[Atom]:
    """The atoms of a query that are among some, also inside negations and counts."""
    for literal in query.literals:
        if isinstance(literal, Atom) and literal in known:
            yield literal
        elif isinstance(literal, (Negation, AtLeast)):
            yield from _atoms(literal.query, known)


def part_name(name: str) -> str:
    """The predicate of a type of part, a column of parts or a relation in exported programs.

    >>> part_name("car"), part_name("Big car")
    ('part_car', 'part_Big_car')
    """
    return "part_" + "".join(c if c.isascii() and c.isalnum() else "_" for c in name)


def _argument(argument: Any) -> str:
    match argument:
        case Var(name):
            return name
        case str():
            return atom_text(argument)
        case _:
            return number_text(argument)


def part_clauses(example: Examples, priors: Priors | None = None) -> Iterator[str]:
    """The parts of one example as facts; a predicate without facts gets a clause that fails, so that it is known.

    Parameters
    ----------
    example : one example.
    priors : the distributions of missing entries, which become probabilistic facts; without them, they have no facts.

    Yields
    ------
    The clauses.
    """
    structure = structure_of(example)
    open_of = {} if priors is None else {(e.table, e.column): e for e in entries_with_priors(example, priors)}
    for name, parts in structure.parts.items():
        head = part_name(name)
        yield f"{head}(_) :- fail."
        if parts.owner_type is not None:
            yield f"{head}(_, _) :- fail."
        for number in range(len(parts)):
            yield f"{head}({_constant(name, number)})."
            if parts.owner_type is not None:
                yield f"{head}({_constant(parts.owner_type, int(parts.owner[number]))}, {_constant(name, number)})."
        if parts.table is not None:
            for column_name, column in parts.table.items():
                yield from _column_clauses(column_name, column, name, open_of.get((name, column_name)))
    for name, relation in structure.relations.items():
        columns = [] if relation.table is None else list(relation.table.items())
        widths = range(len(relation.types), len(relation.types) + len(columns) + 1)
        yield from (f"{part_name(name)}({', '.join('_' * width)}) :- fail." for width in widths)
        for row, arguments in enumerate(relation.arguments.tolist()):
            parts_of_row = [_constant(kind, n) for kind, n in zip(relation.types, arguments, strict=True)]
            tuple_ = f"{part_name(name)}_{row + 1}"
            values: list[str] = []
            for column_name, column in columns:
                weights = _weights_of(open_of.get((name, column_name)), row, column)
                values.append(_value_text(column, row) if weights is None else f"V_{len(values)}")
                if weights is not None:
                    yield _alternatives(f"{tuple_}_{part_name(column_name)}({{}})", weights)
            open_goals = [
                f"{tuple_}_{part_name(n)}({v})" for (n, _), v in zip(columns, values, strict=True) if v[0] == "V"
            ]
            for width in widths:
                own = [
                    goal for goal in open_goals if goal.rsplit("(", 1)[1][:-1] in values[: width - len(parts_of_row)]
                ]
                body = f" :- {', '.join(own)}" if own else ""
                yield f"{part_name(name)}({', '.join([*parts_of_row, *values][:width])}){body}."


def entries_with_priors(example: Examples, priors: Priors) -> list[OpenEntries]:
    """The open entries of an example, in columns that have priors or hold probabilities.

    Parameters
    ----------
    example : one example.
    priors : the distributions of missing entries.

    Returns
    -------
    One item for each column.
    """
    probable = {n.rsplit(".", 1)[1] for n, kind in part_kinds(example.schema).items() if isinstance(kind, Probability)}
    known = {name.rsplit(".", 1)[1] for name in part_kinds(example.schema) if name in priors.columns}
    return open_entries(example, priors, dict.fromkeys(known | probable))


def _weights_of(entries: OpenEntries | None, row: int, column: Column) -> list[tuple[str, float]] | None:
    """The values that an entry may have, as terms, with their probabilities; None where it is known."""
    if entries is None or row not in entries.rows:
        return None
    at = np.flatnonzero(entries.rows == row)
    texts = [_term(column, value) for value in entries.values[at[0]]]
    return [(text, float(p)) for text, p in zip(texts, entries.weights[at[0]], strict=True) if p > 0.0]


def _alternatives(atom: str, weights: Sequence[tuple[str, float]]) -> str:
    """An annotated disjunction of an atom with each of its values."""
    return "; ".join(f"{number_text(p)} :: {atom.format(text)}" for text, p in weights) + "."


def _constant(kind: str, number: int) -> str:
    return atom_text(slot_name(kind, number + 1))


def _value_text(column: Column, row: int) -> str:
    if column.missing is not None and column.missing[row]:
        return "missing"
    return _term(column, column.values[row])


def _term(column: Column, entry: Any) -> str:
    """An entry of a column as a term."""
    match column.kind:
        case Boolean() | Probability():
            return "true" if entry else "false"
        case Category() as kind:
            value = kind.domain[int(entry)]
            return str(value) if isinstance(value, int) else atom_text(value)
        case _:
            return number_text(float(entry))


def _column_clauses(name: str, column: Column, kind: str, entries: OpenEntries | None) -> Iterator[str]:
    """The facts of a symbolic column of parts; nothing for others."""
    head = part_name(name)
    match column.kind:
        case Boolean() | Probability():
            yield f"{head}(_) :- fail."
        case Category():
            yield f"{head}(_, _) :- fail."
        case Number():
            yield f"{head}_of(_, _) :- fail."
            yield f"{head}(_, _) :- fail."
        case _:
            return
    for number in range(len(column)):
        part, weights = _constant(kind, number), _weights_of(entries, number, column)
        is_fact = isinstance(column.kind, (Boolean, Probability))
        if weights is not None:
            if is_fact:
                yield from (f"{number_text(p)} :: {head}({part})." for text, p in weights if text == "true")
            else:
                of_value = f"{head}_of" if isinstance(column.kind, Number) else head
                yield _alternatives(f"{of_value}({part}, {{}})", weights)
                if isinstance(column.kind, Number):
                    yield f"{head}({part}, V) :- {head}_of({part}, V)."
        elif column.missing is not None and column.missing[number]:
            continue
        elif not is_fact:
            value = _value_text(column, number)
            yield f"{head}({part}, {value})."
            if isinstance(column.kind, Number):
                yield f"{head}_of({part}, {value})."
        elif column.values[number]:
            yield f"{head}({part})."
