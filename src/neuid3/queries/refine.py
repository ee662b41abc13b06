"""Refinements of a query: the conjunctions that may be added to it, from the schema or from modes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from neuid3.data.columns import Boolean, Category, Date, Kind, Number, Probability, Schema
from neuid3.data.parts import Relation, part_schemas
from neuid3.queries.language import (
    Aggregate,
    AtLeast,
    Atom,
    Comparison,
    Day,
    Different,
    Field,
    Literal,
    Negation,
    Query,
    Var,
)

if TYPE_CHECKING:
    from neuid3.queries.modes import QueryMode, Signature


@dataclass(frozen=True)
class Language:
    """What queries over a schema may be made of.

    Attributes
    ----------
    schema : the kinds of the columns of examples.
    max_variables : the most variables of a query.
    counts : whether `at_least`, and sums and means of number columns, are tried.
    negations : whether negated conjunctions are tried.
    modes : the modes that take the place of what the schema allows, counts and negations included; None where none are given.
    signatures : the atoms of the program that modes may name.
    max_refinements : the most refinements of one query.
    """

    schema: Schema = field(hash=False)
    max_variables: int = 4
    counts: bool = True
    negations: bool = True
    modes: tuple[QueryMode, ...] | None = None
    signatures: tuple[Signature, ...] = field(default=(), repr=False)
    max_refinements: int = 100_000

    @property
    def parts(self) -> dict[str, tuple[str | None, dict[str, Kind]]]:
        """The types of parts, each with the type of its owners and its columns."""
        return {name: (owner, kind.schema) for name, owner, kind in part_schemas(self.schema)}

    @property
    def relations(self) -> dict[str, Relation]:
        """The relations between parts."""
        return {name: kind for name, kind in self.schema.items() if isinstance(kind, Relation)}


@dataclass(frozen=True, slots=True)
class Refinement:
    """Literals that may be added to a query.

    Attributes
    ----------
    literals : the literals, of which the last may be open.
    open_field : the number column whose threshold is to be found; None where nothing is open.
    open_count : whether the number of bindings of the literals is compared with a count that is to be found.
    open_aggregate : a function and the number column of the parts that the literals find, whose threshold is to be found.
    operators : the comparisons with a threshold that are tried.
    is_date : whether the open number is a date.
    """

    literals: tuple[Literal, ...]
    open_field: Field | None = None
    open_count: bool = False
    open_aggregate: tuple[str, Field] | None = None
    operators: tuple[str, ...] = ("=<", ">")
    is_date: bool = False


class Refiner:
    """The refinements of queries over a schema, shorter ones first.

    Parameters
    ----------
    language : what they may be made of.
    """

    def __init__(self, language: Language) -> None:
        self.language = language
        self.parts, self.relations = language.parts, language.relations

    def refinements(self, query: Query, types: Mapping[Var, str]) -> Iterator[Refinement]:
        """The conjunctions that may be added to a query.

        One step of lookahead: a literal that binds a new variable is also tried together with a property of what it binds.

        Parameters
        ----------
        query : the query so far.
        types : the type of each of its variables.

        Yields
        ------
        Refinements, those of one literal first.
        """
        seen = set(query.literals)
        for variable in types:
            for refinement in self.properties(variable, types):
                if not seen.intersection(refinement.literals):
                    yield refinement
        introductions = list(self.introductions(types))
        for literals, _ in introductions:
            yield Refinement(literals)
        for literals, new in introductions:
            yield from self._with_lookahead(literals, new, types)

    def _with_lookahead(
        self, literals: tuple[Literal, ...], new: Mapping[Var, str], types: Mapping[Var, str]
    ) -> Iterator[Refinement]:
        together = {**types, **new}
        if self.language.counts:
            yield Refinement(literals, open_count=True)
        if self.language.negations and types:
            yield Refinement((Negation(Query(literals)),))
        for variable in new if self.language.counts and len(new) == 1 else ():
            for name, kind in self.parts[new[variable]][1].items():
                if isinstance(kind, Number):
                    is_date = isinstance(kind, Date)
                    for function in ("mean",) if is_date else ("sum", "mean"):
                        yield Refinement(literals, open_aggregate=(function, Field(name, variable)), is_date=is_date)
        for variable in new:
            for property_ in self.properties(variable, together):
                joined = (*literals, *property_.literals)
                yield Refinement(joined, property_.open_field, is_date=property_.is_date)
                if property_.open_field is None:
                    if self.language.counts and len(new) == 1:
                        yield Refinement(joined, open_count=True)
                    if self.language.negations and types:
                        yield Refinement((Negation(Query(joined)),))

    def properties(self, variable: Var, types: Mapping[Var, str]) -> Iterator[Refinement]:
        """Literals about one variable, and about its relation to others, that bind nothing.

        Parameters
        ----------
        variable : the variable.
        types : the types of all variables.

        Yields
        ------
        Refinements of one literal each.
        """
        _, columns = self.parts[types[variable]]
        for name, kind in columns.items():
            match kind:
                case Boolean() | Probability():
                    literal = Atom(name, (variable,))
                    yield Refinement((literal,))
                    if self.language.negations:
                        yield Refinement((Negation(Query((literal,))),))
                case Category(values):
                    for value in values:
                        yield Refinement((Atom(name, (variable, value)),))
                case Number():
                    yield Refinement((), Field(name, variable), is_date=isinstance(kind, Date))
        for other in types:
            if other == variable:
                continue
            yield from self._comparisons(variable, other, columns, self.parts[types[other]][1])
            yield from self._related(variable, other, types)

    def _comparisons(
        self, variable: Var, other: Var, columns: Mapping[str, Kind], others: Mapping[str, Kind]
    ) -> Iterator[Refinement]:
        for name, kind in columns.items():
            if isinstance(kind, Number) and isinstance(others.get(name), Number):
                left, right = Field(name, variable), Field(name, other)
                for operator in ("=:=", "<", ">"):
                    yield Refinement((Comparison(left, operator, right),))

    def _related(self, variable: Var, other: Var, types: Mapping[Var, str]) -> Iterator[Refinement]:
        for name, relation in self.relations.items():
            if relation.types == (types[variable], types[other]):
                literal = Atom(name, (variable, other))
                yield Refinement((literal,))
                yield Refinement((Negation(Query((literal,))),))

    def introductions(self, types: Mapping[Var, str]) -> Iterator[tuple[tuple[Literal, ...], dict[Var, str]]]:
        """Literals that bind new variables: parts of examples, parts of parts, and what relations lead to.

        Parameters
        ----------
        types : the types of the variables so far.

        Yields
        ------
        The literals, and the types of the new variables.
        """
        if len(types) >= self.language.max_variables:
            return
        for name, (owner, _) in self.parts.items():
            new = new_variable(name, types)
            if owner is None:
                yield (Atom(name, (new,)), *different_parts(new, name, types)), {new: name}
                continue
            for variable in [v for v, kind in types.items() if kind == owner]:
                yield (Atom(name, (variable, new)), *different_parts(new, name, types)), {new: name}
            if not any(kind == owner for kind in types.values()):
                yield (Atom(name, (new,)), *different_parts(new, name, types)), {new: name}
        for name, relation in self.relations.items():
            yield from self._neighbours(name, relation, types)

    def _neighbours(
        self, name: str, relation: Relation, types: Mapping[Var, str]
    ) -> Iterator[tuple[tuple[Literal, ...], dict[Var, str]]]:
        if len(relation.types) != 2:
            return
        for values in self._value_choices(relation):
            for variable, kind in types.items():
                for argument in (0, 1):
                    if relation.types[argument] == kind:
                        other = relation.types[1 - argument]
                        new = new_variable(other, types)
                        pair = (variable, new) if argument == 0 else (new, variable)
                        yield (Atom(name, (*pair, *values)),), {new: other}
            if not types and self.language.max_variables >= 2:
                first = new_variable(relation.types[0], types)
                second = new_variable(relation.types[1], {first: relation.types[0]})
                yield (
                    (Atom(name, (first, second, *values)),),
                    {first: relation.types[0], second: relation.types[1]},
                )

    @staticmethod
    def _value_choices(relation: Relation) -> Iterator[tuple[str | int, ...]]:
        """No values, and each value of the first column of a relation's tuples where that is a category."""
        yield ()
        if relation.columns and isinstance(relation.columns[0][1], Category):
            for value in relation.columns[0][1].values:
                yield (value,)


def new_variable(kind: str, types: Iterable[Var]) -> Var:
    """A variable that is not in use, called after the first letter of its type.

    >>> new_variable("car", [Var("C")])
    Var(name='C2')
    """
    taken = {variable.name for variable in types}
    letter = next((c for c in kind.upper() if c.isascii() and c.isalpha()), "X")
    names = (letter if i == 1 else f"{letter}{i}" for i in count(1))
    return Var(next(name for name in names if name not in taken))


def different_parts(new: Var, kind: str, types: Mapping[Var, str]) -> tuple[Different, ...]:
    """The literals that a new part is another one than those of its type that are bound already.

    Parameters
    ----------
    new : the variable of the new part.
    kind : its type.
    types : the types of the bound variables.

    Returns
    -------
    A literal for each of these.
    """
    return tuple(Different(new, variable) for variable, other in types.items() if other == kind)


def at_least(count: int, refinement: Refinement) -> tuple[Literal, ...]:
    """The literals of a refinement with an open count that was found."""
    return (AtLeast(count, Query(refinement.literals)),)


def with_threshold(refinement: Refinement, operator: str, threshold: float) -> tuple[Literal, ...]:
    """The literals of a refinement with an open number column or aggregate that was compared."""
    threshold = Day(threshold) if refinement.is_date else threshold
    if refinement.open_aggregate is not None:
        function, column = refinement.open_aggregate
        return (Aggregate(function, column, Query(refinement.literals), operator, threshold),)
    assert refinement.open_field is not None
    return (*refinement.literals, Comparison(refinement.open_field, operator, threshold))
