"""Checks of modes against a schema: what they name, and whether what they take is bound."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from neuid3.data.columns import Kind, Number
from neuid3.errors import NodeTestError, did_you_mean
from neuid3.queries.language import (
    FUNCTIONS,
    OPEN_COUNT,
    Aggregate,
    AtLeast,
    Atom,
    Comparison,
    Different,
    Field,
    Literal,
    Negation,
    Var,
)

if TYPE_CHECKING:
    from neuid3.queries.modes import QueryMode, Signature

# Thresholds are tried with these operators only: others cut the same values.
OPEN_OPERATORS = ("=<", ">")

Signatures: TypeAlias = "Mapping[tuple[str, int], Sequence[Signature]]"
Types: TypeAlias = "frozenset[str]"
Columns: TypeAlias = "Mapping[str, Mapping[str, Kind]]"  # of each type of part


def number_types(columns: Columns, column: str) -> tuple[str, ...]:
    """The types of parts that have a number column of this name.

    Parameters
    ----------
    columns : the columns of each type of part.
    column : the name.

    Returns
    -------
    The types.
    """
    return tuple(kind for kind, own in columns.items() if isinstance(own.get(column), Number))


def fits(arguments: Sequence[object], signature: Signature) -> bool:
    """Whether marked arguments are of the types and constants that a signature asks for.

    Parameters
    ----------
    arguments : the arguments of an atom of a mode.
    signature : what its predicate takes.

    Returns
    -------
    True if a part stands wherever one should, and a known constant or # everywhere else.
    """
    for argument, kind in zip(arguments, signature.arguments, strict=True):
        if isinstance(kind, tuple):
            if argument != Var("#") and argument not in kind:
                return False
        elif (
            not isinstance(argument, Var)
            or argument.name == "#"
            or ((name := argument.name[1:]) and not name[:1].isupper() and name != kind)
        ):
            return False
    return True


def check_modes(modes: Sequence[QueryMode], columns: Columns, signatures: Signatures, max_variables: int) -> None:
    """Check that modes name what exists, and that every variable that one takes can have been bound.

    Parameters
    ----------
    modes : the modes.
    columns : the columns of each type of part.
    signatures : what each predicate takes, by its name and the number of its arguments.
    max_variables : the most variables of a query.

    Raises
    ------
    NodeTestError : where a mode is wrong; the message says what would be right.
    """
    checks = [_ModeCheck(mode, columns, signatures, max_variables) for mode in modes]
    bound: frozenset[str] = frozenset()
    while True:
        ready = [check for check in checks if all(types & bound for types in check.taken)]
        after = bound.union(*(check.bound for check in ready))
        if after == bound:
            break
        bound = after
    for check in checks:
        for types in check.taken:
            if not types & bound:
                part = sorted(types)[0]
                raise NodeTestError(
                    f"Mode {check.mode.text!r} takes a bound {_one_of(types)}, and no mode binds one before; add a mode such "
                    f"as '{part}(-{part})'."
                )


@dataclass(frozen=True)
class _Scope:
    """What the literals of a mode have bound so far.

    Attributes
    ----------
    names : the types that each named variable may have.
    types : the types of all new variables.
    """

    names: Mapping[str, Types] = field(default_factory=dict)
    types: Types = frozenset()

    def with_name(self, name: str, types: Types) -> _Scope:
        return replace(self, names={**self.names, name: types}) if name[:1].isupper() else self


class _ModeCheck:
    """What one mode takes and binds.

    Attributes
    ----------
    taken : for each bound variable that the mode itself does not bind, the types that it may have.
    bound : the types of the new variables.
    """

    def __init__(self, mode: QueryMode, columns: Columns, signatures: Signatures, max_variables: int) -> None:
        self.mode, self.columns, self.signatures = mode, columns, signatures
        self.taken: list[Types] = []
        self.bound: Types = frozenset()
        new = sum(_occurrences(literal, "-") for literal in mode.query.literals)
        if new > max_variables:
            raise self._error(
                f"binds {new} variables, more than max_variables={max_variables}; shorten it, or raise the limit."
            )
        self.bound = self._conjunction(mode.query.literals, _Scope(), is_top=True).types

    def _error(self, text: str) -> NodeTestError:
        return NodeTestError(f"Mode {self.mode.text!r} {text}")

    def _conjunction(self, literals: Sequence[Literal], scope: _Scope, is_top: bool = False) -> _Scope:
        for number, literal in enumerate(literals):
            is_last = is_top and number == len(literals) - 1
            match literal:
                case Atom():
                    scope = self._atom(literal, scope)
                case Comparison(left, operator, right):
                    scope = self._field(left, scope)
                    if isinstance(right, Field):
                        scope = self._field(right, scope)
                    else:
                        self._open(math.isnan(right), is_last, operator)
                case Different(left, right):
                    for variable in (left, right):
                        scope = self._take(variable, frozenset(self.columns), scope)
                case Negation(query):
                    self._conjunction(query.literals, scope)
                case AtLeast(count, query):
                    self._open(count == OPEN_COUNT, is_last and len(literals) == 1)
                    self._conjunction(query.literals, scope)
                case Aggregate(_, column, query, operator, constant):
                    self._open(math.isnan(constant), is_last and len(literals) == 1, operator)
                    self._field(column, self._conjunction(query.literals, scope))
        return scope

    def _open(self, is_open: bool, may_be_open: bool, operator: str = OPEN_OPERATORS[0]) -> None:
        if is_open and not may_be_open:
            raise self._error(
                "has a # for a number before its end; let a comparison with # be its last literal, and a count or an "
                "aggregate its only one."
            )
        if is_open and operator not in OPEN_OPERATORS:
            raise self._error(f"has '{operator} #'; thresholds are found for =< and for >.")

    def _field(self, column: Field, scope: _Scope) -> _Scope:
        types = number_types(self.columns, column.column)
        if not types:
            known = [name for own in self.columns.values() for name in own if name != column.column]
            raise self._error(
                f"compares {column.column!r}, which is no number column of parts.{did_you_mean(column.column, known)}"
            )
        return self._take(column.part, frozenset(types), scope)

    def _take(self, marked: Var, types: Types, scope: _Scope) -> _Scope:
        """A bound variable: one that this mode binds, or of a type that other modes bind."""
        name = marked.name[1:]
        if marked.name[0] != "+":
            raise self._error(f"has {marked} where a bound variable stands; write +{name or 'C'}.")
        if name in scope.names:
            if not scope.names[name] & types:
                raise self._error(f"uses {name}, a {_one_of(scope.names[name])}, as a {_one_of(types)}.")
            return scope.with_name(name, scope.names[name] & types)
        if name[:1].isupper() and any(_occurrences(literal, f"-{name}") for literal in self.mode.query.literals):
            raise self._error(f"uses +{name} before -{name} binds it; put the literal with -{name} first.")
        wanted = types if not name or name[:1].isupper() else types & {name}
        if not wanted:
            raise self._error(f"has {marked} where a {_one_of(types)} stands.{did_you_mean(name, types)}")
        if not wanted & scope.types:
            self.taken.append(wanted)
        return scope.with_name(name, wanted)

    def _atom(self, atom: Atom, scope: _Scope) -> _Scope:
        signatures = self.signatures.get((atom.predicate, len(atom.arguments)), [])
        if not signatures:
            raise self._error(self._unknown(atom.predicate, len(atom.arguments)))
        fitting = [signature for signature in signatures if fits(atom.arguments, signature)]
        if not fitting:
            raise self._error(_misfit(signatures))
        after = scope
        for number, argument in enumerate(atom.arguments):
            types = frozenset(kind for s in fitting if isinstance(kind := s.arguments[number], str))
            if not types or not isinstance(argument, Var):
                continue
            if argument.name[0] == "-" and all(signature.in_program for signature in fitting):
                raise self._error(
                    f"binds {argument} by {atom.predicate!r}, a predicate of the program, which binds no part; bind it first, as "
                    f"in '{sorted(types)[0]}(-A), {atom.predicate}(…, +A, …)'."
                )
            if argument.name[0] == "-":
                after = replace(after, types=after.types | types).with_name(argument.name[1:], types)
            else:
                scope = self._take(argument, types, scope)
                after = replace(after, names={**scope.names, **after.names})
        return after

    def _unknown(self, predicate: str, count: int) -> str:
        if types := number_types(self.columns, predicate):
            return f"gives a number column a value; compare it, as in '{predicate}(+{types[0]}) > #'."
        if predicate in FUNCTIONS:
            return f"has {predicate!r} without a number column; write {predicate}(size(+C), car(-C)) > #."
        if arities := sorted(size for name, size in self.signatures if name == predicate):
            return f"gives {predicate!r} {count} arguments, and it has {' or '.join(map(str, arities))}."
        known = list(dict.fromkeys(name for name, _ in self.signatures))
        return (
            f"names {predicate!r}, which is no type of part, relation, column of parts or predicate over parts."
            f"{did_you_mean(predicate, known)}"
        )


def _occurrences(literal: Literal, marker: str) -> int:
    """How many variables of the atoms of a literal begin with a marker, or are marked so."""
    match literal:
        case Atom(_, arguments):
            names = [argument.name for argument in arguments if isinstance(argument, Var)]
            return sum(name[0] == marker if len(marker) == 1 else name == marker for name in names)
        case Negation(query) | AtLeast(_, query) | Aggregate(query=query):
            return sum(_occurrences(inner, marker) for inner in query.literals)
        case _:
            return 0


def _misfit(signatures: Sequence[Signature]) -> str:
    possible = " or ".join(
        f"{s.predicate}({', '.join(f'+{k}' if isinstance(k, str) else _constants(k) for k in s.arguments)})"
        for s in signatures[:3]
    )
    return f"does not fit its arguments; write {possible}, with - for a new part."


def _one_of(types: Types) -> str:
    return " or ".join(sorted(types))


def _constants(values: Sequence[object]) -> str:
    shown = ", ".join(map(str, values[:4]))
    return f"# for {shown}{', …' if len(values) > 4 else ''}"
