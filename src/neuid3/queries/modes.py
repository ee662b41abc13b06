"""Modes: which literals may refine a query, with TILDE's markers for bound variables, new ones and constants."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TypeAlias

from neuid3.data.columns import Boolean, Category, Date, Kind, Number, Probability, Schema
from neuid3.data.parts import Relation, part_schemas
from neuid3.errors import NodeTestError
from neuid3.logic.quoting import atom_text
from neuid3.queries.language import (
    OPEN_COUNT,
    Aggregate,
    AtLeast,
    Atom,
    Comparison,
    Different,
    Field,
    Literal,
    Negation,
    Query,
    QueryParser,
    Var,
    all_variables,
    token_pattern,
    tokens_of,
)
from neuid3.queries.mode_checks import check_modes, number_types
from neuid3.queries.refine import Language, Refinement, Refiner, different_parts, new_variable

# A bound variable, a new one, and a constant from the data; a minus before a digit is a number's.
_MARKED = token_pattern(r"[A-Z_]\w*|(?:\+|-(?!\d))\s*\w*|#")

# An argument of an atom: a type of part, or the constants that may stand there.
Argument: TypeAlias = "str | tuple[str | int | float, ...]"
Choice: TypeAlias = "Var | str | int | float"


@dataclass(frozen=True, slots=True)
class Signature:
    """What the arguments of a predicate may be.

    Attributes
    ----------
    predicate : its name.
    arguments : for each argument a type of part, or the constants from the data.
    in_program : whether it is an atom of the program, and not of the parts.
    """

    predicate: str
    arguments: tuple[Argument, ...]
    in_program: bool = False


@dataclass(frozen=True, slots=True)
class QueryMode:
    """A mode of queries: a conjunction whose variables are marked.

    Attributes
    ----------
    text : the mode as it was written.
    query : its literals; `+car` is a bound variable of a type, `+C` one that has this name in the mode, `-` a new one, `#`
        a constant. Thresholds to be found are NaN, and counts `OPEN_COUNT`.
    """

    text: str
    query: Query

    def __str__(self) -> str:
        return self.text


class _ModeParser(QueryParser):
    """Queries whose variables are marked, and whose numbers may be open."""

    what, example = "mode", "load(+car, -load)"

    def is_number(self) -> bool:
        return super().is_number() or self._is_open()

    def _is_open(self) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at] == ("var", "#")

    def number(self) -> float:
        if not self._is_open():
            return super().number()
        self.at += 1
        return math.nan


def read_query_mode(text: str) -> QueryMode:
    """The mode of a text.

    Parameters
    ----------
    text : literals with the markers `+` (a bound variable), `-` (a new one) and `#` (a constant).

    Returns
    -------
    The mode.

    Raises
    ------
    NodeTestError : where it cannot be read.

    >>> read_query_mode("load(+car, -L), shape(+L, #)").query.literals[1].arguments
    (Var(name='+L'), Var(name='#'))
    """
    tokens = [
        (kind, re.sub(r"\s", "", token) if kind == "var" else token) for kind, token in tokens_of(text, _MARKED, "mode")
    ]
    query = _ModeParser(text, tokens).whole()
    for variable in query.all_variables:
        if variable.name[0] not in "+-#":
            raise NodeTestError(
                f"Mode {text!r} has the variable {variable} without a marker; write +{variable} for a bound part, "
                f"-{variable} for a new one, or # for a constant."
            )
    return QueryMode(text, query)


def is_query_mode(text: str, schema: Schema) -> bool:
    """Whether a mode is about parts: it names a type of part, a relation or a column of parts, or marks variables.

    Parameters
    ----------
    text : a mode.
    schema : the kinds of the columns of examples.

    Returns
    -------
    False where examples have no parts, and for modes that fill arguments with columns, as `higher(+first, +second)`.
    """
    parts = {name: kind.schema for name, _, kind in part_schemas(schema)}
    if not parts:
        return False
    relations = [name for name, kind in schema.items() if isinstance(kind, Relation)]
    words = set(re.findall(r"\w+", text))
    if words & {*parts, *relations, *(column for columns in parts.values() for column in columns)}:
        return True
    return re.search(r"\\\+|\\=|#|[+-]\s*[A-Z_,)]", text) is not None or "at_least(" in text


def part_signatures(schema: Schema) -> list[Signature]:
    """The predicates of parts, of their columns and of relations.

    Parameters
    ----------
    schema : the kinds of the columns of examples.

    Returns
    -------
    A signature for each number of arguments.
    """
    signatures = []
    for name, owner, kind in part_schemas(schema):
        signatures.append(Signature(name, (name,)))
        if owner is not None:
            signatures.append(Signature(name, (owner, name)))
        for column, entry in kind.schema.items():
            if isinstance(entry, (Boolean, Probability)):
                signatures.append(Signature(column, (name,)))
            elif isinstance(entry, Category):
                signatures.append(Signature(column, (name, tuple(entry.values))))
    for name, relation in schema.items():
        if isinstance(relation, Relation):
            signatures += _of_relation(name, relation)
    return signatures


def _of_relation(name: str, relation: Relation) -> Iterator[Signature]:
    arguments: tuple[Argument, ...] = relation.types
    yield Signature(name, arguments)
    for _, kind in relation.columns:
        if not isinstance(kind, Category):
            return
        arguments = (*arguments, tuple(kind.values))
        yield Signature(name, arguments)


@dataclass(frozen=True)
class _State:
    """What expanding a mode has made so far.

    Attributes
    ----------
    literals : the literals.
    types : the types of all variables, those of the query first.
    names : the variables that the mode calls by a name.
    """

    literals: tuple[Literal, ...]
    types: Mapping[Var, str]
    names: Mapping[str, Var]


class ModeRefiner:
    """The refinements of queries that modes allow; shorter modes first, as they were given.

    A literal that binds a new variable is also tried together with each mode that takes this variable: one step of lookahead.
    A mode of several literals is its own lookahead.

    Parameters
    ----------
    modes : the modes.
    schema : the kinds of the columns of examples.
    max_variables : the most variables of a query.
    signatures : the atoms of the program that modes may name, besides those of parts.

    Raises
    ------
    NodeTestError : where a mode names what does not exist, or takes a variable that nothing binds.
    """

    def __init__(
        self, modes: Sequence[QueryMode], schema: Schema, max_variables: int, signatures: Sequence[Signature] = ()
    ) -> None:
        self.modes, self.max_variables = tuple(modes), max_variables
        self.columns = {name: kind.schema for name, _, kind in part_schemas(schema)}
        self.signatures: dict[tuple[str, int], list[Signature]] = {}
        for signature in (*part_signatures(schema), *signatures):
            self.signatures.setdefault((signature.predicate, len(signature.arguments)), []).append(signature)
        check_modes(self.modes, self.columns, self.signatures, max_variables)

    def symbolic(self) -> ModeRefiner:
        """The same without the modes that have atoms of the program.

        Returns
        -------
        A refiner whose queries joins can evaluate.
        """
        refiner = copy(self)
        refiner.modes = tuple(mode for mode in self.modes if not self._is_uncertain(mode.query))
        return refiner

    def _is_uncertain(self, query: Query) -> bool:
        for literal in query.literals:
            match literal:
                case Atom(predicate, arguments):
                    if all(signature.in_program for signature in self.signatures[predicate, len(arguments)]):
                        return True
                case Negation(inner) | AtLeast(_, inner) | Aggregate(query=inner):
                    if self._is_uncertain(inner):
                        return True
                case _:
                    pass
        return False

    def refinements(self, query: Query, types: Mapping[Var, str]) -> Iterator[Refinement]:
        """The conjunctions that may be added to a query.

        Parameters
        ----------
        query : the query so far.
        types : the type of each of its variables.

        Yields
        ------
        Refinements, those without lookahead first; each once.
        """
        known, seen = set(query.literals), set()
        found = [(mode, *expanded) for mode in self.modes for expanded in self._expanded(mode, types)]
        single = [(refinement, state) for mode, refinement, state in found if len(mode.query) == 1]
        refinements = [refinement for _, refinement, _ in found]
        for refinement in [*refinements, *self._with_lookahead(single, types)]:
            if refinement not in seen and not known.intersection(refinement.literals):
                seen.add(refinement)
                yield refinement

    def _with_lookahead(
        self, found: Sequence[tuple[Refinement, _State]], types: Mapping[Var, str]
    ) -> Iterator[Refinement]:
        for first, state in found:
            new = set(state.types) - set(types)
            if not new or not is_closed(first):
                continue
            for mode in self.modes:
                for second, after in self._expanded(mode, state.types):
                    literals = (*first.literals, *second.literals)
                    uses = new & {v for literal in second.literals for v in all_variables(literal)}
                    uses |= {second.open_field.part} & new if second.open_field else set()
                    if uses and len(after.types) == len(state.types) and not _is_counted(second):
                        yield replace(second, literals=literals)

    def _expanded(self, mode: QueryMode, types: Mapping[Var, str]) -> list[tuple[Refinement, _State]]:
        *before, last = mode.query.literals
        expanded = []
        for state in self._joined(before, _State((), types, {})):
            match last:
                case Comparison(field, operator, right) if not isinstance(right, Field) and math.isnan(right):
                    for part in self._bound(field.part, number_types(self.columns, field.column), state):
                        named = _named(state, field.part, part)
                        open_field = Field(field.column, part)
                        is_date = self._is_date(part, field.column, named)
                        refinement = Refinement(state.literals, open_field, operators=(operator,), is_date=is_date)
                        expanded.append((refinement, named))
                case AtLeast(count, query) if count == OPEN_COUNT:
                    counted = self._joined(query.literals, state)
                    expanded += [(Refinement(inner.literals, open_count=True), state) for inner in counted]
                case Aggregate(function, field, query, operator, constant) if math.isnan(constant):
                    for inner in self._joined(query.literals, state):
                        for part in self._bound(field.part, number_types(self.columns, field.column), inner):
                            aggregate = (function, Field(field.column, part))
                            is_date = function != "sum" and self._is_date(part, field.column, inner)
                            refinement = Refinement(
                                inner.literals, open_aggregate=aggregate, operators=(operator,), is_date=is_date
                            )
                            expanded.append((refinement, state))
                case _:
                    expanded += [(Refinement(after.literals), after) for after in self._literal(last, state)]
        return expanded

    def _is_date(self, part: Var, column: str, state: _State) -> bool:
        return isinstance(self.columns[state.types[part]][column], Date)

    def _joined(self, literals: Sequence[Literal], state: _State) -> Iterator[_State]:
        if not literals:
            yield state
            return
        for after in self._literal(literals[0], state):
            yield from self._joined(literals[1:], after)

    def _literal(self, literal: Literal, state: _State) -> Iterator[_State]:
        """The states after a literal, for each choice of variables and constants."""
        match literal:
            case Atom(predicate, arguments):
                for signature in self.signatures[predicate, len(arguments)]:
                    yield from self._atom(predicate, arguments, signature, state)
            case Comparison(left, operator, right):
                for first, after in self._fields(left, state):
                    if not isinstance(right, Field):
                        yield _with(after, Comparison(first, operator, right))
                        continue
                    for second, last in self._fields(right, after):
                        if first.part != second.part:
                            yield _with(last, Comparison(first, operator, second))
            case Different(left, right):
                for one in self._bound(left, tuple(self.columns), state):
                    named = _named(state, left, one)
                    for other in self._bound(right, (state.types[one],), named):
                        if one != other:
                            yield _with(_named(named, right, other), Different(one, other))
            case Negation(query):
                for inner in self._nested(query, state):
                    yield _with(state, Negation(Query(inner.literals)))
            case AtLeast(count, query):
                for inner in self._nested(query, state):
                    yield _with(state, AtLeast(count, Query(inner.literals)))
            case Aggregate(function, field, query, operator, constant):
                for inner in self._nested(query, state):
                    for column, _ in self._fields(field, inner):
                        yield _with(state, Aggregate(function, column, Query(inner.literals), operator, constant))

    def _nested(self, query: Query, state: _State) -> Iterator[_State]:
        yield from self._joined(query.literals, replace(state, literals=()))

    def _fields(self, field: Field, state: _State) -> Iterator[tuple[Field, _State]]:
        for part in self._bound(field.part, number_types(self.columns, field.column), state):
            yield Field(field.column, part), _named(state, field.part, part)

    def _bound(self, marked: Var, kinds: Sequence[str], state: _State) -> list[Var]:
        """The variables that a marked one may be: those of its name, or all bound ones of its type."""
        name = marked.name[1:]
        if name in state.names:
            return [state.names[name]]
        wanted = [name] if name in self.columns else kinds
        return [variable for variable, kind in state.types.items() if kind in wanted and kind in kinds]

    def _atom(
        self, predicate: str, arguments: Sequence[object], signature: Signature, state: _State
    ) -> Iterator[_State]:
        """The atom with all variables and constants that fit a signature."""
        states: list[tuple[tuple[Choice, ...], _State]] = [((), state)]
        for argument, kind in zip(arguments, signature.arguments, strict=True):
            states = [
                ((*chosen, choice), after)
                for chosen, before in states
                for choice, after in self._choices(argument, kind, before)
            ]
        is_part = predicate in self.columns and predicate == signature.arguments[-1]
        for chosen, after in states:
            variables = [choice for choice in chosen if isinstance(choice, Var)]
            if len(set(variables)) < len(variables) or len(after.types) > self.max_variables:
                continue
            new = [variable for variable in variables if variable not in state.types]
            others = different_parts(new[0], predicate, state.types) if is_part and new else ()
            yield replace(after, literals=(*after.literals, Atom(predicate, chosen), *others))

    def _choices(self, argument: object, kind: Argument, state: _State) -> list[tuple[Choice, _State]]:
        if isinstance(kind, tuple):
            if isinstance(argument, Var):
                return [(value, state) for value in kind] if argument.name == "#" else []
            return [(value, state) for value in kind if value == argument]  # as it is in the data
        if not isinstance(argument, Var) or argument.name == "#":
            return []
        name = argument.name[1:]
        if argument.name[0] == "-":
            if name in self.columns and name != kind:
                return []
            new = new_variable(kind, state.types)
            return [(new, _named(replace(state, types={**state.types, new: kind}), argument, new))]
        return [(part, _named(state, argument, part)) for part in self._bound(argument, (kind,), state)]


def is_closed(refinement: Refinement) -> bool:
    """Whether nothing of a refinement is to be found."""
    return refinement.open_field is None and not _is_counted(refinement)


def _is_counted(refinement: Refinement) -> bool:
    return refinement.open_count or refinement.open_aggregate is not None


def _with(state: _State, literal: Literal) -> _State:
    return replace(state, literals=(*state.literals, literal))


def _named(state: _State, marked: Var, variable: Var) -> _State:
    """The state in which a name of the mode, as C in `-C`, stands for a variable."""
    name = marked.name[1:]
    return replace(state, names={**state.names, name: variable}) if name[:1].isupper() else state


def refiner_of(language: Language, symbolic: bool = False) -> Refiner | ModeRefiner:
    """What refines queries of a language: its modes, or, without any, what its schema allows.

    Parameters
    ----------
    language : what queries may be made of.
    symbolic : whether modes with atoms of the program are left out.

    Returns
    -------
    The refiner.
    """
    if language.modes is None:
        return Refiner(language)
    refiner = ModeRefiner(language.modes, language.schema, language.max_variables, language.signatures)
    return refiner.symbolic() if symbolic else refiner


def derived_modes(schema: Schema) -> list[str]:
    """The modes by which queries are refined where none are given.

    Parameters
    ----------
    schema : the kinds of the columns of examples.

    Returns
    -------
    Modes as texts, to copy and shorten. Where a part is owned by another, it is also found without its owner.
    """
    binding: list[str] = []
    about: list[str] = []
    for name, owner, kind in part_schemas(schema):
        binding.append(f"{atom_text(name)}(-{name})" if owner is None else f"{atom_text(name)}(+{owner}, -{name})")
        about += _column_modes(name, kind.schema)
    for name, relation in schema.items():
        if isinstance(relation, Relation) and len(relation.types) == 2:
            first, second = relation.types
            has_values = bool(relation.columns) and isinstance(relation.columns[0][1], Category)
            for value in ("", ", #") if has_values else ("",):
                pairs = [(f"+{first}", f"-{second}"), (f"-{first}", f"+{second}")]
                binding += [f"{atom_text(name)}({a}, {b}{value})" for a, b in pairs]
            about += [f"{sign}{atom_text(name)}(+{first}, +{second})" for sign in ("", "\\+ ")]
    counted = [f"at_least(#, {mode})" for mode in binding]
    refuted = [f"\\+ {mode}" for mode in binding]
    return [*about, *binding, *counted, *refuted]


def _column_modes(part: str, columns: Mapping[str, Kind]) -> Iterator[str]:
    for column, kind in columns.items():
        name = atom_text(column)
        match kind:
            case Boolean() | Probability():
                yield from (f"{name}(+{part})", f"\\+ {name}(+{part})")
            case Category():
                yield f"{name}(+{part}, #)"
            case Number():
                yield from (f"{name}(+{part}) =< #", f"{name}(+{part}) > #")
                yield from (f"{name}(+{part}) {operator} {name}(+{part})" for operator in ("=:=", "<"))
