"""On which clauses does a test depend?"""

from __future__ import annotations

import re

from neuid3.logic.prolog.grounder import Grounder
from neuid3.logic.prolog.terms import calls, signature

_QUOTED_OR_COMMA = re.compile(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|, *""", re.DOTALL)


def clauses_behind(grounder: Grounder, tests: list[str]) -> list[str]:
    """The clauses that the answers to these tests can depend on, in the order of the program."""
    waiting = [signature(goal) for test in tests for goal in calls(grounder.read_test(test))]
    reached = set(waiting)
    needed = set()
    while waiting:
        predicate = waiting.pop()
        for statement in grounder.reading.statements:
            if predicate in map(signature, statement.heads):
                needed.add(statement.number)
                called = {signature(goal) for goal in calls(statement.body)}
                waiting.extend(called - reached)
                reached |= called
    return [_spaced(f"{statement.clause}.") for statement in grounder.reading.statements if statement.number in needed]


def _spaced(clause: str) -> str:
    """A clause with room after its commas, which ProbLog leaves out.

    >>> _spaced("gt(A,B) :- rank(A,'1,2'), B=A.")
    "gt(A, B) :- rank(A, '1,2'), B=A."
    """
    return _QUOTED_OR_COMMA.sub(lambda found: found.group(1) or ", ", clause)
