"""The criteria that the rules behind a test count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from problog.logic import Constant, Term, Var

from neuid3.logic.prolog.grounder import Grounder, substitute
from neuid3.logic.prolog.reader import Statement
from neuid3.logic.prolog.terms import PrologTerm, calls, list_parts, name_of, signature, source


def counted(grounder: Grounder, tests: Iterable[str]) -> list[list[dict[str, Any]]]:
    """For each test, the counts in the rules behind it: the counting goal as text, and the goals that it counts.

    A count is a call of `at_least` and its kin with a list of goals, or `findall` with `length` over facts or rules whose
    heads are ground.
    """
    return [list(_counts(grounder, grounder.read_test(test, compound=True))) for test in tests]


def _counts(grounder: Grounder, test: PrologTerm) -> Iterator[dict[str, Any]]:
    counting, statements = grounder.parsed.counting, grounder.parsed.statements
    waiting = [goal for goal in calls(test, counting) if not goal.variables()]
    visited: set[str] = set()
    for goal in waiting:  # grows during the loop
        text = source(goal)
        if text in visited:
            continue
        visited.add(text)
        if signature(goal) in counting:
            goals, rest = list_parts(goal.args[-1])
            if rest is None and goals:
                yield {"goal": _shortened(goal), "goals": [source(part) for part in goals]}
        for statement in statements:
            for head in statement.heads:
                values = _unified(head, goal)
                if values is not None and statement.body is not None:
                    body = substitute(statement.body, values)
                    yield from _found(body, statements, counting)
                    waiting.extend(part for part in calls(body, counting) if not part.variables())


def _shortened(goal: PrologTerm) -> str:
    """A counting goal without its list: `at_least(2, …)`."""
    return f"{name_of(goal)}({', '.join([*(source(argument) for argument in goal.args[:-1]), '…'])})"


def _unified(head: PrologTerm, goal: PrologTerm) -> dict[str, PrologTerm] | None:
    """The values of a head's variables for which it is the goal; None where it is not."""
    if signature(head) != signature(goal):
        return None
    values: dict[str, PrologTerm] = {}
    for argument, given in zip(head.args, goal.args, strict=True):
        if isinstance(argument, Var):
            if values.setdefault(str(argument), given) != given:
                return None
        elif argument != given:
            return None
    return values


def _found(body: PrologTerm, statements: Iterable[Statement], counting: Any) -> Iterator[dict[str, Any]]:
    """The counts of a body by findall and length."""
    goals = list(calls(body, counting))
    lengths = {str(goal.args[0]) for goal in goals if signature(goal) == "length/2"}
    for goal in goals:
        if signature(goal) == "findall/3" and str(goal.args[2]) in lengths:
            template, counted_goal = goal.args[0], goal.args[1]
            if not isinstance(counted_goal, Term) or isinstance(counted_goal, (Var, Constant)):
                continue
            heads = [head for s in statements for head in s.heads if signature(head) == signature(counted_goal)]
            instances = [source(head) for head in heads if not head.variables() and _matches(head, counted_goal)]
            if instances:
                yield {
                    "goal": f"findall({template}, {source(counted_goal)}, …)",
                    "goals": list(dict.fromkeys(instances)),
                }


def _matches(head: PrologTerm, goal: PrologTerm) -> bool:
    return all(
        isinstance(given, Var) or given == argument for argument, given in zip(head.args, goal.args, strict=True)
    )
