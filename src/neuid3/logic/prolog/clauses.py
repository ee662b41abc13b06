"""Which clauses does a test rest on, and how did the user write them?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from problog.program import PrologString

from neuid3.logic.prolog.grounder import Grounder
from neuid3.logic.prolog.reader import Statement
from neuid3.logic.prolog.terms import PrologTerm, calls, signature

# A comment, something in quotes, the dot that ends a clause, white space, or any other letter.
_TOKEN = re.compile(
    r"(?P<comment>%[^\n]*|/\*.*?\*/)|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|(?P<end>\.(?=\s|%|/\*|$))|(?P<space>\s+)|.",
    re.DOTALL,
)


def clauses_behind(grounder: Grounder, tests: Iterable[str]) -> list[list[str]]:
    """For each test the clauses that its truth can depend on, the nearest first."""
    written = _as_written(grounder.text)
    defining: dict[str, list[Statement]] = {}
    for statement in grounder.reading.statements:
        for head in statement.heads:
            defining.setdefault(signature(head), []).append(statement)
    return [[written[s.number] for s in _reached(grounder.read_test(test), defining)] for test in tests]


def _reached(goal: PrologTerm, defining: dict[str, list[Statement]]) -> list[Statement]:
    """The statements that a goal leads to, in the order in which they are met."""
    waiting = list(dict.fromkeys(signature(called) for called in calls(goal)))
    met: dict[int, Statement] = {}
    for predicate in waiting:  # grows while it is walked
        for statement in defining.get(predicate, ()):
            met.setdefault(statement.number, statement)
            called = (signature(goal) for goal in calls(statement.body))
            waiting.extend(name for name in dict.fromkeys(called) if name not in waiting)
    return list(met.values())


def _as_written(program: str) -> list[str]:
    """The text of every clause; where we and ProbLog disagree on where clauses end, in ProbLog's spelling."""
    parsed, found = list(PrologString(program)), list(split(program))
    return found if len(found) == len(parsed) else [f"{clause}." for clause in parsed]


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
    kept = [part for part, before in zip(parts, ["", *parts], strict=False) if part != " " or before != " "]
    return "".join(kept).strip()
