"""ProbLog's engine, restricted to the built-in predicates that programs may call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from problog.clausedb import ClauseDB
from problog.engine import DefaultEngine
from problog.engine_builtin import check_mode
from problog.engine_stack import BooleanBuiltIn, SimpleBuiltIn
from problog.engine_unify import UnifyError, unify_value
from problog.errors import GroundingError
from problog.logic import Clause, Constant, Term
from problog.program import PrologString

from neuid3.logic.formula import HOLDS
from neuid3.logic.prolog.terms import PrologTerm, heads_of, name_of, prolog_list, signature, source
from neuid3.logic.quoting import atom_text

# What programs may call, by name. Everything else that ProbLog has is closed: files, modules, output, Python, the
# inspection of clauses and scopes, and what has no truth value of its own in each possible world:
# `possible/1` and `subquery` (true in all worlds or in none), `try_call` (failure in place of an error), `numbervars`
# and `varnumbers` (an error in place of failure) and `sample_uniform1/3` (a random choice that belongs to no clause).
# docs/background.md lists the open ones.
OPEN_BUILTINS = frozenset(
    [
        "true/0",
        "fail/0",
        "false/0",
        "=/2",
        "\\=/2",
        "findall/3",
        "all/3",
        "all_or_none/3",
        "==/2",
        "\\==/2",
        "is/2",
        ">/2",
        "</2",
        "=</2",
        ">=/2",
        "=\\=/2",
        "=:=/2",
        "var/1",
        "atom/1",
        "atomic/1",
        "compound/1",
        "float/1",
        "rational/1",
        "integer/1",
        "nonvar/1",
        "number/1",
        "simple/1",
        "callable/1",
        "ground/1",
        "is_list/1",
        "=../2",
        "arg/3",
        "functor/3",
        "@>/2",
        "@</2",
        "@>=/2",
        "@=</2",
        "compare/3",
        "length/2",
        "sort/2",
        "between/3",
        "succ/2",
        "plus/3",
        "once/1",
        "atom_number/2",
        "subsumes_term/2",
        "subsumes_chk/2",
    ]
) | {f"{caller}/{arity}" for caller in ("call", "call_nc") for arity in range(1, 10)}

# Control constructs of the language itself, and what ProbLog's own prelude defines.
CONTROL = frozenset({",/2", ";/2", "\\+/1", "not/1", "forall/2"})

LIBRARIES = ("lists", "apply")

# Library predicates that programs may not call: random choices that are no clause of the program, and a partition
# by <, = and > that does not recognise these atoms in quotes.
CLOSED_IN_LIBRARIES = frozenset({"select_uniform/4", "select_weighted/4", "select_weighted/5", "partition/5"})

# ProbLog runs the bodies of the clauses of this name when it prepares a program.
DIRECTIVE = "_directive"


class ClosedEngine(DefaultEngine):  # type: ignore[misc]
    """ProbLog's engine for one program, whose clauses can call the open built-ins only.

    ProbLog itself runs the directives of a program before any restriction, and resolves then what its goals call.
    Here only libraries, which are ProbLog's own files, are loaded that early; other directives are refused, and the
    clauses are added after all other built-ins have been removed.
    """

    def prepare(self, program: Any) -> ClauseDB:
        if isinstance(program, ClauseDB):
            return super().prepare(program)
        clauses = list(program)
        libraries = [library for clause in clauses for library in imported(clause)]
        clauses = [clause for clause in clauses if not list(imported(clause))]
        heads = [head for clause in clauses for head in heads_of(clause)]
        if any(name_of(head).strip("'") == DIRECTIVE for head in heads):
            raise GroundingError("a directive is refused; only library(lists) and library(apply) can be loaded")
        database = self.with_libraries(libraries, (signature(head) for head in heads))
        for clause in clauses:
            database.add_statement(clause)
        return database

    def with_libraries(self, libraries: Iterable[str], own: Iterable[str]) -> ClauseDB:
        """A database with these libraries only; built-ins that are not open are removed from here on.

        Parameters
        ----------
        libraries : names out of `LIBRARIES`.
        own : predicates that the program defines itself, as `name/arity`; libraries do not define them a second time.
        """
        database = super().prepare(PrologString(""))
        # ProbLog splits annotated disjunctions into parts called body_1, body_2, …, which a program may define as well.
        database.FUNCTOR_BODY, database.FUNCTOR_CHOICE = "$body", "'$choice'"
        left_out = [_indicator(entry) for entry in sorted({*own, *CLOSED_IN_LIBRARIES})]
        for library in libraries:
            database.use_module(Term("library", Term(library)), Term("except", prolog_list(left_out)))
        super().prepare(database)  # runs the directives of the libraries
        self._close()
        return database

    def _close(self) -> None:
        """Remove the built-ins that are not open, and replace the arithmetic by one that refuses what is no number."""
        index = self.get_builtins()
        for entry in list(index):
            if entry not in OPEN_BUILTINS:
                del index[entry]
        for name, holds in HOLDS.items():
            self.add_builtin(name, 2, BooleanBuiltIn(_comparison(name, holds)))
        self.add_builtin("is", 2, SimpleBuiltIn(_is))


def imported(clause: PrologTerm) -> Iterator[str]:
    """The library that a directive loads, where it is one of `LIBRARIES`."""
    if (
        isinstance(clause, Clause)
        and str(clause.head.functor) == DIRECTIVE
        and signature(clause.body) == "use_module/1"
    ):
        module = clause.body.args[0]
        if isinstance(module, Term) and signature(module) == "library/1":
            name = name_of(module.args[0]).removesuffix(".pl")
            if name in LIBRARIES:
                yield name


def _indicator(entry: str) -> PrologTerm:
    name, arity = entry.rsplit("/", 1)
    return Term("'/'", Term(atom_text(name)), Constant(int(arity)))


def number_value(term: PrologTerm, engine: DefaultEngine) -> int | float:
    """The value of an arithmetic term. NaN is refused, since it is neither below, above nor equal to any number."""
    value = term.compute_value(engine.functions)
    if not isinstance(value, (int, float)) or value != value:
        raise GroundingError(f"'{source(term)}' is not a number")
    return value


def _comparison(name: str, holds: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    def compare(left: PrologTerm, right: PrologTerm, engine: Any = None, **context: Any) -> bool:
        check_mode((left, right), ["gg"], functor=name, **context)
        return holds(number_value(left, engine), number_value(right, engine))

    return compare


def _is(result: PrologTerm, expression: PrologTerm, engine: Any = None, **context: Any) -> list[tuple[PrologTerm, ...]]:
    check_mode((result, expression), ["*g"], functor="is", **context)
    value = Constant(number_value(expression, engine))
    try:
        unify_value(result, value, {})
    except UnifyError:
        return []
    return [(value, expression)]
