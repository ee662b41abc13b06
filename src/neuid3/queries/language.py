"""The language of queries: conjunctions with variables over parts, their text and their parser."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from neuid3.data.dates import date_text, parse_dates
from neuid3.errors import NodeTestError
from neuid3.logic.quoting import atom_text, number_text


@dataclass(frozen=True, slots=True, order=True)
class Var:
    """A variable that stands for a part."""

    name: str

    def __str__(self) -> str:
        return self.name


class Day(float):
    """A number of days since 1970-01-01, written as a date."""

    def __str__(self) -> str:
        text = date_text(self)
        days = parse_dates([text])
        # A time between two microseconds has no text that reads back as the same number.
        return text if days is not None and days[0] == self else number_text(self)


Constant: TypeAlias = "str | int | float"
Argument: TypeAlias = "Var | str | int | float"


@dataclass(frozen=True, slots=True)
class Field:
    """A number column of a part, as in `size(C)`."""

    column: str
    part: Var

    def __str__(self) -> str:
        return f"{atom_text(self.column)}({self.part})"


@dataclass(frozen=True, slots=True)
class Atom:
    """A part, a property of a part, or a tuple of a relation: `car(C)`, `roof(C, flat)`, `contact(P, P2)`."""

    predicate: str
    arguments: tuple[Argument, ...]

    def __str__(self) -> str:
        return f"{atom_text(self.predicate)}({', '.join(map(_argument_text, self.arguments))})"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two numbers compared: columns of parts or constants, as in `size(C) > 3` or `x(A) =:= x(B)`."""

    left: Field
    operator: str
    right: Field | float

    def __str__(self) -> str:
        right = str(self.right) if isinstance(self.right, (Field, Day)) else number_text(self.right)
        return f"{self.left} {self.operator} {right}"


@dataclass(frozen=True, slots=True)
class Different:
    """Two variables stand for different parts: `A \\= B`."""

    left: Var
    right: Var

    def __str__(self) -> str:
        return f"{self.left} \\= {self.right}"


@dataclass(frozen=True, slots=True)
class Negation:
    """No binding of further variables makes a conjunction true: `\\+ (load(C, L), triangle(L))`."""

    query: Query

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.query.literals))
        return f"\\+ {inner}" if len(self.query.literals) == 1 else f"\\+ ({inner})"


@dataclass(frozen=True, slots=True)
class AtLeast:
    """So many distinct bindings of further variables make a conjunction true: `at_least(2, car(C), long(C))`."""

    count: int
    query: Query

    def __str__(self) -> str:
        return f"at_least({self.count}, {', '.join(map(str, self.query.literals))})"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A number of all parts that a conjunction finds, compared: `sum(charge(A), atom(A)) > 0.5`.

    Attributes
    ----------
    function : "sum", "mean", "min" or "max", over distinct bindings; no part gives no number, and the comparison is false.
    field : the column.
    query : the parts.
    operator, constant : the comparison.
    """

    function: str
    field: Field
    query: Query
    operator: str
    constant: float

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.query.literals))
        constant = str(self.constant) if isinstance(self.constant, Day) else number_text(self.constant)
        return f"{self.function}({self.field}, {inner}) {self.operator} {constant}"


Literal: TypeAlias = "Atom | Comparison | Different | Negation | AtLeast | Aggregate"
OPEN_COUNT = 0  # of an `AtLeast` whose count is to be found; an open number is NaN
FUNCTIONS = ("sum", "mean", "min", "max")
OPERATORS = ("=<", ">=", "=:=", "=\\=", "<", ">")


@dataclass(frozen=True)
class Query:
    """A conjunction whose variables are bound by some parts of an example.

    Attributes
    ----------
    literals : the conjuncts, in the order in which they are joined; a variable is bound where it first occurs.

    >>> print(Query((Atom("car", (Var("C"),)), Atom("long", (Var("C"),)))))
    car(C), long(C)
    """

    literals: tuple[Literal, ...] = ()

    def __str__(self) -> str:
        return ", ".join(map(str, self.literals))

    def __len__(self) -> int:
        return len(self.literals)

    @cached_property
    def variables(self) -> tuple[Var, ...]:
        """The variables that it binds, in the order of their first occurrence; not those inside negations and counts."""
        return tuple(dict.fromkeys(v for literal in self.literals for v in binding_variables(literal)))

    @cached_property
    def all_variables(self) -> frozenset[Var]:
        """All variables, also those inside negations and counts."""
        return frozenset(v for literal in self.literals for v in all_variables(literal))

    def extended(self, literals: Iterable[Literal]) -> Query:
        """This query with further conjuncts.

        Parameters
        ----------
        literals : the conjuncts to add.

        Returns
        -------
        The longer query.
        """
        return Query((*self.literals, *literals))


def binding_variables(literal: Literal) -> Iterator[Var]:
    """The variables that a literal can bind: those of an atom."""
    if isinstance(literal, Atom):
        yield from (argument for argument in literal.arguments if isinstance(argument, Var))


def all_variables(literal: Literal) -> Iterator[Var]:
    """All variables of a literal."""
    match literal:
        case Atom(_, arguments):
            yield from (argument for argument in arguments if isinstance(argument, Var))
        case Comparison(left, _, right):
            yield left.part
            if isinstance(right, Field):
                yield right.part
        case Different(left, right):
            yield from (left, right)
        case Negation(query) | AtLeast(_, query):
            yield from query.all_variables
        case Aggregate(_, field, query):
            yield field.part
            yield from query.all_variables


def _argument_text(argument: Argument) -> str:
    match argument:
        case Var(name):
            return name
        case str():
            return atom_text(argument)
        case _:
            return number_text(argument)


# Parsing --------------------------------------------------------------------------------------------


def token_pattern(variable: str) -> re.Pattern[str]:
    """The pattern of a token, in which variables are written so.

    Parameters
    ----------
    variable : a regular expression of a variable.

    Returns
    -------
    The pattern; the name of the group that matches is the kind of the token.
    """
    return re.compile(
        r"\s*(?:(?P<date>\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d(?:\.\d+)?)?)?)|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<quoted>'(?:[^'\\]|\\.|'')*')"
        rf"|(?P<var>{variable})"
        r"|(?P<name>[^\W\d_A-Z]\w*)|(?P<op>=:=|=\\=|=<|>=|\\\+|\\=|[<>(),]))"
    )


_TOKEN = token_pattern(r"[A-Z_]\w*")


def parse_query(text: str) -> Query:
    """The query of a text, as `str` writes it.

    Parameters
    ----------
    text : a conjunction of literals.

    Returns
    -------
    The query.

    Raises
    ------
    NodeTestError : where the text is no query.

    >>> str(parse_query("car(C), \\\\+ (load(C, L), triangle(L)), wheels(C) >= 3"))
    'car(C), \\\\+ (load(C, L), triangle(L)), wheels(C) >= 3.0'
    """
    return QueryParser(text, tokens_of(text, _TOKEN, "query")).whole()


def tokens_of(text: str, token: re.Pattern[str], what: str) -> list[tuple[str, str]]:
    """The tokens of a text, each with its kind: a named group of the pattern.

    Parameters
    ----------
    text : the text; a full stop at its end is left out.
    token : the pattern of a token.
    what : what the text should be, for an error.

    Returns
    -------
    Pairs of a kind and what was matched.

    Raises
    ------
    NodeTestError : where something is no token.
    """
    tokens: list[tuple[str, str]] = []
    position = 0
    stripped = text.strip().removesuffix(".").rstrip()
    while position < len(stripped):
        match = token.match(stripped, position)
        if match is None:
            raise NodeTestError(f"The {what} {text!r:.120} has {stripped[position:][:20]!r}, which cannot be read.")
        tokens.append((str(match.lastgroup), match.group(str(match.lastgroup))))
        position = match.end()
    return tokens


class QueryParser:
    """A recursive-descent parser of queries.

    Parameters
    ----------
    text : what is parsed, for errors.
    tokens : its tokens.
    """

    what, example = "query", "car(C), long(C)"

    def __init__(self, text: str, tokens: list[tuple[str, str]]) -> None:
        self.text, self.tokens, self.at = text, tokens, 0

    def error(self) -> NodeTestError:
        found = repr(self.tokens[self.at][1]) if self.at < len(self.tokens) else "its end"
        return NodeTestError(
            f"The {self.what} {self.text!r:.120} cannot be read at {found}; write a conjunction such as '{self.example}'."
        )

    def whole(self) -> Query:
        """The query that all tokens make.

        Returns
        -------
        The query.

        Raises
        ------
        NodeTestError : where they make none.
        """
        query = self.conjunction()
        if self.at != len(self.tokens) or not query.literals:
            raise self.error()
        return query

    def peek(self, text: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at] == ("op", text)

    def take(self, text: str) -> None:
        if not self.peek(text):
            raise self.error()
        self.at += 1

    def next(self, kind: str) -> str:
        if self.at >= len(self.tokens) or self.tokens[self.at][0] != kind:
            raise self.error()
        self.at += 1
        return self.tokens[self.at - 1][1]

    def is_kind(self, kind: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at][0] == kind

    def conjunction(self) -> Query:
        literals = [self.literal()]
        while self.peek(","):
            self.at += 1
            literals.append(self.literal())
        return Query(tuple(literals))

    def literal(self) -> Literal:
        if self.peek("\\+"):
            self.at += 1
            if self.peek("("):
                self.at += 1
                query = self.conjunction()
                self.take(")")
                return Negation(query)
            return Negation(Query((self.literal(),)))
        if self.is_kind("var"):
            left = Var(self.next("var"))
            self.take("\\=")
            return Different(left, Var(self.next("var")))
        name = self.name()
        self.take("(")
        if name == "at_least" and self.is_number():
            count = self.number()
            if not math.isnan(count) and (count < 1 or not count.is_integer()):
                raise NodeTestError(
                    f"The {self.what} {self.text!r:.120} counts to {number_text(count)}; give at_least a whole number from 1."
                )
            self.take(",")
            query = self.conjunction()
            self.take(")")
            return AtLeast(OPEN_COUNT if math.isnan(count) else int(count), query)
        if name in FUNCTIONS and self.is_kind("name"):
            return self.aggregate(name)
        arguments = [self.argument()]
        while self.peek(","):
            self.at += 1
            arguments.append(self.argument())
        self.take(")")
        if any(self.peek(operator) for operator in OPERATORS):
            return self.comparison(name, arguments)
        return Atom(name, tuple(arguments))

    def aggregate(self, function: str) -> Aggregate:
        field = self.field()
        self.take(",")
        query = self.conjunction()
        self.take(")")
        operator = self.operator()
        return Aggregate(function, field, query, operator, self.number())

    def is_number(self) -> bool:
        """Whether the next token is a number."""
        return self.is_kind("number") or self.is_kind("date")

    def number(self) -> float:
        """The next token as a number; a date is its number of days."""
        if self.is_kind("date"):
            days = parse_dates([self.next("date")])
            if days is None:
                self.at -= 1
                raise self.error()
            return Day(days[0])
        return float(self.next("number"))

    def field(self) -> Field:
        name = self.name()
        self.take("(")
        part = Var(self.next("var"))
        self.take(")")
        return Field(name, part)

    def operator(self) -> str:
        operator = self.next("op")
        if operator not in OPERATORS:
            self.at -= 1
            raise self.error()
        return operator

    def comparison(self, name: str, arguments: list[Argument]) -> Comparison:
        if len(arguments) != 1 or not isinstance(arguments[0], Var):
            raise self.error()
        operator = self.operator()
        right = self.number() if self.is_number() else self.field()
        return Comparison(Field(name, arguments[0]), operator, right)

    def name(self) -> str:
        if self.is_kind("quoted"):
            return _unquoted(self.next("quoted"))
        return self.next("name")

    def argument(self) -> Argument:
        if self.is_kind("var"):
            return Var(self.next("var"))
        if self.is_kind("number"):
            text = self.next("number")
            return float(text) if any(mark in text for mark in ".eE") else int(text)
        return self.name()


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1].replace("''", "'"))


def compared_columns(queries: Iterable[Query]) -> dict[str, list[float] | None]:
    """The names that queries ask about as columns may, with the numbers that each is compared with.

    Parameters
    ----------
    queries : the queries.

    Returns
    -------
    Numbers by name; None where every value matters, as for a column that is compared with another or summed.

    >>> compared_columns([parse_query("car(C), axles(C) > 3, long(C)"), parse_query("car(C), axles(C) =< 5")])["axles"]
    [3.0, 5.0]
    """
    found: dict[str, list[float] | None] = {}

    def add(name: str, number: float | None) -> None:
        known = found.setdefault(name, [])
        found[name] = None if number is None or known is None else [*known, number]

    waiting = [literal for query in queries for literal in query.literals]
    while waiting:
        match waiting.pop(0):
            case Atom(predicate, arguments):
                constants = [float(argument) for argument in arguments if not isinstance(argument, (Var, str))]
                for constant in constants:
                    add(predicate, constant)
                if not constants:
                    add(predicate, None)
            case Comparison(left, _, right):
                for column in (left, right) if isinstance(right, Field) else (left,):
                    add(column.column, None if isinstance(right, Field) else float(right))
            case Negation(inner) | AtLeast(_, inner):
                waiting += inner.literals
            case Aggregate(_, field, inner):
                add(field.column, None)
                waiting += inner.literals
            case _:
                pass
    return found
