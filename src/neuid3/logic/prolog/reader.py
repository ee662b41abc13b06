"""Parsing and checking of programs and tests."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from problog.errors import ProbLogError
from problog.logic import AnnotatedDisjunction, Clause, Constant, InstantiationError, Term, Var, is_list, term2list
from problog.program import PrologString

from neuid3.errors import RuleError, SyntaxErrorInProgram
from neuid3.logic.prolog.engine import CONTROL, DIRECTIVE, LIBRARIES, OPEN_BUILTINS
from neuid3.logic.prolog.library import COUNTING, LIBRARY, LIBRARY_START
from neuid3.logic.prolog.spelling import PLAIN, Spelling, spelling_of
from neuid3.logic.prolog.terms import (
    PrologTerm,
    canonical,
    heads_of,
    name_of,
    normalised,
    signature,
)

Columns = Mapping[str, Mapping[str, Any]]

# Built-in predicates that a program may define itself, since they are natural names of its rules. They are renamed, also in
# exported programs, because ProbLog would not let them be defined.
REDEFINABLE = frozenset({"plus/3", "succ/2"})

# ProbLog's internal names of library predicates: member/2 of library(lists) is '_lists_member'/2.
_IN_LIBRARY = re.compile(f"_({'|'.join(LIBRARIES)}|builtin)_")


@dataclass(frozen=True, slots=True)
class Neural:
    """The `nn(...)` annotation of a clause: a network, its inputs, its output variable and the values of that.

    `output` and `domain` are None for a neural fact.
    """

    network: str
    inputs: tuple[PrologTerm, ...]
    output: PrologTerm | None
    domain: tuple[PrologTerm, ...] | None

    @property
    def size(self) -> int:
        return 2 if self.domain is None else len(self.domain)


@dataclass(frozen=True, slots=True)
class Statement:
    """One clause of a program.

    Attributes
    ----------
    number : its number in the program, from 0.
    heads : its heads, without probabilities.
    probabilities : those of the heads; None where the head is certain.
    neural : its `nn(...)` annotation.
    body : its body; None for a fact.
    line : the line where it begins.
    variables : the names of its variables, without the output of a network.
    clause : the clause as ProbLog parses it.
    """

    number: int
    heads: tuple[PrologTerm, ...]
    probabilities: tuple[PrologTerm, ...] | None
    neural: Neural | None
    body: PrologTerm | None
    line: int
    variables: tuple[str, ...]
    clause: PrologTerm


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The predicates that a goal may call, and the predicates of ProbLog that are closed to programs."""

    known: frozenset[str]
    closed: frozenset[str]

    def with_known(self, predicates: frozenset[str]) -> Vocabulary:
        """The vocabulary with more predicates that may be called."""
        return replace(self, known=self.known | predicates)


@dataclass(frozen=True, slots=True)
class ParsedProgram:
    """A parsed program.

    Attributes
    ----------
    statements : its clauses.
    columns : the columns that it is parsed for.
    defined : the predicates that it defines, as `name/arity`.
    facts : the predicates that columns define, `suit/1`, and the names of these columns.
    library : the clauses of the library of counting predicates, without those that the program or a column defines.
    spelling : how terms of the program and of tests are rewritten.
    """

    statements: tuple[Statement, ...]
    columns: Columns
    defined: frozenset[str]
    facts: Mapping[str, str]
    library: tuple[Statement, ...] = ()
    spelling: Spelling = PLAIN

    def with_statements(self, statements: tuple[Statement, ...]) -> ParsedProgram:
        """The program with other clauses, which may call what is not defined."""
        defined = frozenset(signature(head) for statement in statements for head in statement.heads)
        return replace(self, statements=statements, defined=defined)

    @property
    def counting(self) -> frozenset[str]:
        """The counting predicates of the library, whose last argument is a list of goals."""
        return COUNTING & self.library_predicates

    @property
    def library_predicates(self) -> frozenset[str]:
        """The predicates that the library defines, as `name/arity`."""
        return frozenset(signature(statement.heads[0]) for statement in self.library)


def with_newlines(text: str) -> str:
    """The text with every line end as a newline, the only one at which ProbLog ends comments and counts lines."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read(text: str, columns: Columns) -> ParsedProgram:
    """The parsed program; a `SyntaxErrorInProgram` or `RuleError` where it is invalid."""
    spelling = spelling_of(columns, redefined_in(parse(text)))
    statements = tuple(_statements(text, spelling))
    facts = {
        predicate: name for name, column in columns.items() if (predicate := fact_signature(name, column)) is not None
    }
    check_collisions(statements, facts)
    defined = frozenset(signature(head) for statement in statements for head in statement.heads)
    library = tuple(_library_statements({*defined, *facts}))
    return ParsedProgram(statements, columns, defined, facts, library, spelling)


def _library_statements(taken: Iterable[str]) -> Iterable[Statement]:
    """The clauses of the library, numbered after all clauses of any program, without predicates that are `taken`."""
    own = set(taken)
    for statement in _statements(LIBRARY, PLAIN):
        if signature(statement.heads[0]) not in own:
            yield replace(statement, number=LIBRARY_START + statement.number, line=0)


def numbers_of(columns: Columns) -> frozenset[str]:
    """The names of the number columns."""
    return frozenset(name for name, column in columns.items() if column["kind"] == "number")


def parse(text: str) -> list[PrologTerm]:
    """The clauses of a text; a `SyntaxErrorInProgram` where it cannot be parsed."""
    try:
        return list(PrologString(text))
    except ProbLogError as error:
        line, column = syntax_position(error, text)
        position = f"line {line}, column {column}: " if line else ""
        raise SyntaxErrorInProgram(
            f"Syntax error in the background knowledge, {position}{error.base_message}.{head_hint(error)}"
        ) from None


# What ProbLog says of a clause whose head is no atom, of which it gives no position.
_WRONG_HEAD = re.compile(r"Unexpected clause head '(.*)'", re.DOTALL)


def head_hint(error: ProbLogError) -> str:
    """A sentence about a head that is a variable because it begins with a capital letter, or no atom; empty for other errors."""
    match = _WRONG_HEAD.search(str(getattr(error, "base_message", error)))
    if match is None:
        return ""
    if re.fullmatch(r"[A-Z_]\w*", match[1]):
        return f" A name that begins with a capital letter is a variable; write '{match[1].lower()}'."
    return " The head of a rule is one atom; write a rule for each."


def syntax_position(error: ProbLogError, text: str = "") -> tuple[int, int]:
    """The line and the column of a syntax error, from 1; 0 where they are not known.

    ProbLog's columns count from 0 on line 1 and from 1 on the other lines.
    """
    head = _WRONG_HEAD.search(str(getattr(error, "base_message", error)))
    if head is not None:
        letters = r"\s*".join(map(re.escape, "".join(head[1].split())))
        place = re.search(rf"(?:^|(?<=\.))\s*({letters})(?=\s*(:-|\.))", text, flags=re.MULTILINE)
        if place is not None:
            start = place.start(1)
            return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    if isinstance(error.location, tuple) and len(error.location) == 3:
        _, line, column = error.location
        return int(line), int(column) + 1 if line == 1 else int(column)
    return 0, 0


def _statements(text: str, spelling: Spelling) -> Iterable[Statement]:
    parser = PrologString(text)
    anonymous = itertools.count()
    for number, clause in enumerate(parse(text)):
        statement = read_clause(number, clause, _line(parser, clause), anonymous, spelling)
        if statement is not None:
            yield statement


def redefined_in(clauses: Iterable[PrologTerm]) -> frozenset[str]:
    """The built-in predicates that clauses define themselves."""
    return REDEFINABLE & {signature(head) for clause in clauses for head in heads_of(clause) if _is_atom(head)}


def _is_atom(term: PrologTerm) -> bool:
    return isinstance(term, Term) and not isinstance(term, (Var, Constant))


def read_clause(
    number: int, clause: PrologTerm, line: int, anonymous: Any, spelling: Spelling = PLAIN
) -> Statement | None:
    """A parsed clause as a statement; None for the import of a library, and a `RuleError` where it is invalid."""
    # The parser turns `:- goal` into a clause with this head, without quotes; the same head in a program has quotes.
    if isinstance(clause, Clause) and str(clause.head.functor) == DIRECTIVE:
        _check_directive(clause.body, line)
        return None
    body = clause.body if isinstance(clause, (AnnotatedDisjunction, Clause)) else None
    try:
        heads = [spelling(head) for head in heads_of(clause)]
        body = None if body is None else spelling(body)
    except ValueError as error:
        raise RuleError(f"Line {line}: {error}; correct it.") from None
    return _statement(number, heads, body, line, anonymous, clause)


def _line(parser: Any, clause: PrologTerm) -> int:
    for term in (clause, getattr(clause, "head", None), *(getattr(clause, "heads", None) or ())):
        location = getattr(term, "location", None)
        if location is not None:
            return int(parser.lineno(location)[1])
    return 0


def _check_directive(goal: PrologTerm, line: int) -> None:
    if name_of(goal) == "use_module" and goal.arity == 1:
        module = goal.args[0]
        if isinstance(module, Term) and name_of(module) == "library" and name_of(module.args[0]) in LIBRARIES:
            return
    raise RuleError(
        f"Line {line}: the directive ':- {goal}' is closed to background knowledge; "
        "library(lists) and library(apply) are always loaded, so leave it out."
    )


def _statement(
    number: int, heads: list[PrologTerm], body: PrologTerm | None, line: int, anonymous: Any, clause: PrologTerm
) -> Statement:
    heads = [normalised(head, anonymous) for head in heads]
    body = None if body is None else normalised(body, anonymous)
    for head in heads:
        _check_head(head, line)
    probabilities = [head.probability for head in heads]
    plain = tuple(head.with_probability(None) for head in heads)
    neural = None
    if any(p is not None and name_of(p) == "nn" for p in probabilities):
        if len(heads) > 1:
            raise RuleError(f"Line {line}: 'nn(…)' stands before one head only; write one clause for each network.")
        neural, given_probabilities = _neural(normalised(probabilities[0], anonymous), plain[0], line), None
    elif all(p is None for p in probabilities):
        if len(heads) > 1:
            raise RuleError(
                f"Line {line}: a disjunction '{'; '.join(map(str, plain))}' needs a probability before each head."
            )
        given_probabilities = None
    elif any(p is None for p in probabilities):
        raise RuleError(f"Line {line}: every head of a disjunction needs a probability, as in '0.3::a; 0.7::b'.")
    else:
        given_probabilities = tuple(normalised(p, anonymous) for p in probabilities)
        _check_probabilities(given_probabilities, line)
    variables = sorted(
        {
            str(v)
            for term in (*plain, *(given_probabilities or ()), *([body] if body is not None else []))
            for v in term.variables()
        }
    )
    if neural is not None:
        variables = [v for v in variables if neural.output is None or v != str(neural.output)]
        known = {str(v) for v in plain[0].variables()} | (
            {str(v) for v in body.variables()} if body is not None else set()
        )
        for term in neural.inputs:
            for variable in term.variables():
                if str(variable) not in known:
                    raise RuleError(
                        f"Line {line}: network '{neural.network}' reads {variable}, which its clause does not bind."
                    )
    return Statement(number, plain, given_probabilities, neural, body, line, tuple(variables), clause)


def _check_head(head: PrologTerm, line: int) -> None:
    if not isinstance(head, Term) or isinstance(head, (Var, Constant)):
        raise RuleError(f"Line {line}: '{head}' cannot be the head of a clause; a head is an atom such as 'odd(X)'.")
    name, predicate = name_of(head), signature(head)
    if name in (":", ",") and head.arity == 2:
        raise RuleError(
            f"Line {line}: '{head}' is no fact; write ':-' for *if*, as in 'risk :- smoker.', and '::' after a probability, as "
            "in '0.3 :: rain.'"
        )
    if name in ("query", "evidence"):
        raise RuleError(
            f"Line {line}: '{name}' is refused; the queries are the tests of the tree, so leave that clause out."
        )
    if name.startswith(("$", "neuid3_")):
        prefix = "$" if name.startswith("$") else "neuid3_"
        raise RuleError(f"Line {line}: '{predicate}' begins with '{prefix}', which is reserved for neuid3; rename it.")
    if name.startswith("_"):
        raise RuleError(f"Line {line}: '{predicate}' begins with '_', which is reserved for ProbLog; rename it.")
    if predicate in OPEN_BUILTINS | CONTROL:
        raise RuleError(f"Line {line}: '{predicate}' is built in and cannot be defined again; choose another name.")


def _neural(term: PrologTerm, head: PrologTerm, line: int) -> Neural:
    if term.arity == 3:
        raise RuleError(
            f"Line {line}: nn/3 (a tensor) is not supported; use nn(net, [X]) or nn(net, [X], Y, [values])."
        )
    if term.arity not in (2, 4) or not is_list(term.args[1]):
        raise RuleError(f"Line {line}: write nn(net, [X])::fact(X) or nn(net, [X], Y, [values])::predicate(X, Y).")
    inputs = tuple(term2list(term.args[1], False))
    if isinstance(term.args[0], (Var, Constant)) or term.args[0].arity:
        raise RuleError(f"Line {line}: '{term.args[0]}' cannot name a network; use an atom such as rank_net.")
    network = name_of(term.args[0])
    if term.arity == 2:
        return Neural(network, inputs, None, None)
    output = term.args[2]
    if not isinstance(output, Var) or output not in head.variables():
        raise RuleError(f"Line {line}: the output of network '{network}' must be a variable of the head {head}.")
    if not is_list(term.args[3]):
        raise RuleError(f"Line {line}: the values of network '{network}' must be a list, as in [0, 1].")
    domain = tuple(term2list(term.args[3], False))
    if len(domain) < 2 or len({canonical(v) for v in domain}) < len(domain) or any(v.variables() for v in domain):
        raise RuleError(
            f"Line {line}: network '{network}' needs at least two different, ground values; found {term.args[3]}."
        )
    return Neural(network, inputs, output, domain)


def _check_probabilities(probabilities: tuple[PrologTerm, ...], line: int) -> None:
    total, all_known = 0.0, True
    for term in probabilities:
        if term.variables():
            all_known = False
            continue
        try:
            value = float(term.compute_value())
        except (InstantiationError, ProbLogError, TypeError, ValueError):
            hint = (
                f"; for a network write nn({name_of(term)}, [{', '.join(map(str, term.args))}])" if term.arity else ""
            )
            raise RuleError(f"Line {line}: '{term}' is not a probability{hint}.") from None
        if not 0.0 <= value <= 1.0:
            raise RuleError(f"Line {line}: {term} is not a probability; it must lie in [0, 1].")
        total += value
    if all_known and total > 1.0 + 1e-9:
        raise RuleError(f"Line {line}: the probabilities of the disjunction sum to {total:g}, which is more than 1.")


def check_collisions(statements: Iterable[Statement], facts: Mapping[str, str]) -> None:
    for predicate, name in facts.items():
        if predicate in OPEN_BUILTINS | CONTROL or name == DIRECTIVE or _IN_LIBRARY.match(name):
            raise RuleError(
                f"Column {name!r} has the name of a built-in predicate; rename the column to use rules beside it."
            )
    for statement in statements:
        for head in statement.heads:
            if signature(head) in facts:
                raise RuleError(
                    f"Line {statement.line}: '{signature(head)}' is defined here and is also the column "
                    f"{facts[signature(head)]!r}; rename one of them."
                )


def fact_signature(name: str, column: Mapping[str, Any]) -> str | None:
    """The predicate that a column defines: `alarm/0`, `suit/1`, or None."""
    match column["kind"]:
        case "boolean" | "probability":
            return f"{name}/0"
        case "category" | "distribution":
            return f"{name}/1"
        case _:
            return None
