"""The clauses that tests depend on, in the user's spelling, and summaries of rules."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any

from problog.logic import Var
from problog.program import PrologString

from neuid3.logic.prolog.checks import value_problem
from neuid3.logic.prolog.grounder import Grounder
from neuid3.logic.prolog.library import COUNTING
from neuid3.logic.prolog.reader import Statement
from neuid3.logic.prolog.terms import COMPARISONS, PrologTerm, calls, name_of, signature
from neuid3.logic.quoting import atom_text

# A comment, a quoted atom or string, the dot that ends a clause, white space, or any other character.
_TOKEN = re.compile(
    r"(?P<comment>%[^\n]*|/\*.*?\*/)|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|(?P<end>\.(?=\s|%|/\*|$))|(?P<space>\s+)|.",
    re.DOTALL,
)


def clauses_behind(grounder: Grounder, tests: Iterable[str]) -> list[list[str]]:
    """For each test the clauses that it can depend on, nearest first."""
    texts = _clause_texts(grounder.text)
    return [[texts[s.number] for s in _reached(grounder.read_test(test, compound=True), grounder)] for test in tests]


def _reached(goal: PrologTerm, grounder: Grounder) -> list[Statement]:
    """The statements that a goal can call, in breadth-first order."""
    defining, counting = _defining(grounder.parsed.statements), grounder.parsed.counting
    waiting = list(dict.fromkeys(signature(called) for called in calls(goal, counting)))
    reached: dict[int, Statement] = {}
    for predicate in waiting:  # grows during the loop
        for statement in defining.get(predicate, ()):
            reached.setdefault(statement.number, statement)
            called = (signature(goal) for goal in calls(statement.body, counting))
            waiting.extend(name for name in dict.fromkeys(called) if name not in waiting)
    return list(reached.values())


def flaws(grounder: Grounder, tests: Iterable[str]) -> list[str]:
    """For each test, the value that a rule behind it requires of a network which does not have it; empty if none does."""
    messages = []
    for test in tests:
        problems = (
            f"line {statement.line}, the rule for '{signature(statement.heads[0])}' {problem}"
            for statement in _reached(grounder.read_test(test, compound=True), grounder)
            if statement.body is not None
            for goal in calls(statement.body, grounder.parsed.counting)
            if (problem := value_problem(goal, grounder.parsed)) is not None
        )
        messages.append(next(problems, ""))
    return messages


def called_by_others(grounder: Grounder) -> set[str]:
    """The predicates that rules of another predicate call."""
    return {
        signature(goal)
        for statement in grounder.parsed.statements
        if statement.body is not None
        for goal in calls(statement.body, grounder.parsed.counting)
        if signature(goal) not in map(signature, statement.heads)
    }


def rules(grounder: Grounder) -> list[dict[str, Any]]:
    """One entry for each predicate that rules or neural facts define, with the fields of `program.Rule`."""
    statements, needed = grounder.parsed.statements, called_by_others(grounder)
    numeric = numeric_positions(statements)
    columns_of: dict[str, list[str]] = {}
    for name, column in grounder.parsed.columns.items():
        columns_of.setdefault(column["kind"], []).append(atom_text(name))
    inputs = columns_of.get("tensor") or columns_of.get("number") or []
    entries: dict[str, dict[str, Any]] = {}
    for statement in statements:
        fact = statement.neural is not None and statement.neural.domain is None
        if statement.body is None and not fact:
            continue
        for head in statement.heads:
            predicate = signature(head)
            columns, constants = itertools.cycle(inputs), itertools.count(40)
            example = [
                str(argument)
                if not isinstance(argument, Var)
                else str(next(constants))
                if (predicate, position) in numeric or not inputs
                else next(columns)
                for position, argument in enumerate(head.args)
            ]
            entries.setdefault(
                predicate,
                {
                    "predicate": predicate,
                    "line": statement.line,
                    "head": str(head),
                    "needed": predicate in needed,
                    "repeats": len(set(example)) < len(example),
                    "example": f"{head.functor}({', '.join(example)})" if example else str(head.functor),
                },
            )
    return list(entries.values())


def numeric_positions(statements: Iterable[Statement]) -> set[tuple[str, int]]:
    """The argument positions of predicates that are used in a comparison or in arithmetic."""
    numeric: set[tuple[str, int]] = set()
    while True:
        more = {
            (signature(head), position)
            for statement in statements
            if statement.body is not None
            for goal in calls(statement.body)
            for variable in _numeric_variables(goal, numeric)
            for head in statement.heads
            for position, argument in enumerate(head.args)
            if argument == variable
        }
        if more <= numeric:
            return numeric
        numeric |= more


def _numeric_variables(goal: PrologTerm, numeric: set[tuple[str, int]]) -> Iterator[PrologTerm]:
    """The variables of a goal that must be numbers, given the numeric argument positions found so far."""
    if name_of(goal) in COMPARISONS or signature(goal) in ("is/2", "between/3", "succ/2", "plus/3", "length/2"):
        yield from goal.variables()
    if signature(goal) in COUNTING and goal.arity == 2:
        yield from goal.args[0].variables()
    for position, argument in enumerate(goal.args):
        if isinstance(argument, Var) and (signature(goal), position) in numeric:
            yield argument


def _defining(statements: Iterable[Statement]) -> dict[str, list[Statement]]:
    """The statements that define each predicate."""
    defining: dict[str, list[Statement]] = {}
    for statement in statements:
        for head in statement.heads:
            defining.setdefault(signature(head), []).append(statement)
    return defining


def _clause_texts(program: str) -> list[str]:
    """The text of every clause; ProbLog's spelling of all of them where `split` finds another number of clauses."""
    parsed, texts = list(PrologString(program)), list(split(program))
    return texts if len(texts) == len(parsed) else [f"{clause}." for clause in parsed]


def split(program: str) -> Iterator[str]:
    """The clauses of a program without its comments, each on one line.

    >>> list(split("a :- b,   % why\\n  c. 0.5 :: 'd. e'."))
    ['a :- b, c.', "0.5 :: 'd. e'."]
    """
    parts: list[str] = []
    for token in _TOKEN.finditer(program):
        if token["comment"] is not None or token["space"] is not None:
            parts.append(" ")
            continue
        parts.append(token.group())
        if token["end"] is not None:
            yield _one_line(parts)
            parts = []


def _one_line(parts: list[str]) -> str:
    tokens = [part for part, before in zip(parts, ["", *parts], strict=False) if part != " " or before != " "]
    return "".join(tokens).strip()
