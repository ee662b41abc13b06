"""All that is wrong with a program, with lines and columns, and the columns that it needs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from problog.errors import ProbLogError
from problog.logic import Constant, Term, Var
from problog.program import PrologString

from neuid3.errors import NeuID3Error, RuleError
from neuid3.logic.prolog.checks import CONSTANTS, atoms_in, goal_problem, unbound_problem, value_problem
from neuid3.logic.prolog.engine import CLOSED_IN_LIBRARIES, DIRECTIVE, OPEN_BUILTINS
from neuid3.logic.prolog.grounder import Grounder
from neuid3.logic.prolog.library import COUNTING
from neuid3.logic.prolog.reader import (
    Columns,
    Statement,
    check_collisions,
    head_hint,
    read_clause,
    redefined_in,
    syntax_position,
    with_newlines,
)
from neuid3.logic.prolog.spelling import is_date, spelling_of
from neuid3.logic.prolog.terms import COMPARISONS, PrologTerm, calls, name_of, signature

# What to look at after a message of ProbLog's parser.
_HINTS = {
    "Incomplete statement": "A bracket, an argument or the dot at the end of a clause is missing.",
    "Expected binary operator": "A comma or an operator is missing before this, or ':-', which means *if*, is spelled otherwise.",
}
_HINT = "Look at the text just before it: clauses end with a dot, and ':-' means *if*."


def check(text: str, columns: dict[str, dict[str, Any]], infer: bool) -> dict[str, Any]:
    """The problems of a program, each with its line and column, and the columns that it needs.

    Parameters
    ----------
    text : the program.
    columns : for each column its kind, and its values where it has a finite domain.
    infer : whether undefined names are taken for columns, as where there is no table.

    Returns
    -------
    A dictionary with the `problems` and the `columns`, which include those that are inferred.
    """
    text = with_newlines(text)
    parser = PrologString(text)
    try:
        clauses = list(PrologString(text))
    except ProbLogError as error:
        line, column = syntax_position(error, text)
        message = str(getattr(error, "base_message", error))
        hint = head_hint(error).strip() or _HINTS.get(message, _HINT)
        return {"problems": [_problem(line, column, f"{message}. {hint}")], "columns": columns}
    statements, problems = _read(parser, clauses, columns)
    if infer:
        columns = {**columns, **_inferred(_read(parser, clauses, {})[0], columns)}
        statements, problems = _read(parser, clauses, columns)  # dates are numbers of days where a column holds dates
    problems.extend(_goal_problems(text, statements, columns, parser))
    problems.sort(key=lambda problem: (problem["line"], problem["column"]))
    return {"problems": problems, "columns": columns}


def _problem(line: int, column: int, message: str) -> dict[str, Any]:
    return {"line": line, "column": column, "message": message}


def _read(parser: Any, clauses: list[PrologTerm], columns: Columns) -> tuple[list[Statement], list[dict[str, Any]]]:
    """The clauses that are well formed, and the problems of the others."""
    statements, problems, anonymous = [], [], itertools.count()
    spelling = spelling_of(columns, redefined_in(clauses))
    for number, clause in enumerate(clauses):
        line, column = _position(parser, clause)
        try:
            statement = read_clause(number, clause, line, anonymous, spelling)
        except RuleError as error:
            problems.append(_problem(line, column, _without_line(str(error))))
            continue
        if statement is not None:
            statements.append(statement)
    return statements, problems


def _without_line(message: str) -> str:
    return message.split(": ", 1)[1] if message.startswith("Line ") and ": " in message else message


def _position(parser: Any, term: PrologTerm) -> tuple[int, int]:
    """The line and the column of the first part of a term whose place is known, from 1."""
    locations = [part.location for part in _parts(term) if getattr(part, "location", None) is not None]
    known = [location for location in locations if _offset(location) is not None]
    if not known:
        return 0, 0
    _, line, column = parser.lineno(min(known, key=_offset))
    return int(line), int(column)


def _offset(location: Any) -> Any:
    return location[1] if isinstance(location, tuple) else location


def _parts(term: PrologTerm) -> Iterator[PrologTerm]:
    waiting = [term]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Term) and not isinstance(part, (Var, Constant)):
            yield part
            waiting.extend(part.args)
            waiting.extend(getattr(part, "heads", None) or ())


def _goal_problems(
    text: str, statements: list[Statement], columns: dict[str, dict[str, Any]], parser: Any
) -> Iterator[dict[str, Any]]:
    """The problems of the goals that the clauses call."""
    try:
        grounder = Grounder("", columns)
        check_collisions(statements, grounder.parsed.facts)
    except NeuID3Error as error:
        line = next((s.line for s in statements if f"Line {s.line}:" in str(error)), 0)
        yield _problem(line, 1, _without_line(str(error)))
        return
    try:
        grounder = Grounder(text, columns)
    except NeuID3Error:
        grounder = None  # type: ignore[assignment]
    if grounder is not None:
        parsed, vocabulary = grounder.parsed, grounder.vocabulary
        for statement in parsed.statements:
            for goal in calls(statement.body, parsed.counting):
                message = value_problem(goal, parsed) or unbound_problem(goal, statement, columns)
                if message:
                    yield _problem(
                        *_place(parser, goal, statement), f"the rule for '{signature(statement.heads[0])}' {message}"
                    )
        return
    empty = Grounder("", columns)
    parsed = empty.parsed.with_statements(tuple(statements))
    vocabulary = empty.vocabulary.with_known(parsed.defined)
    for statement in statements:
        for goal in calls(statement.body, parsed.counting):
            message = goal_problem(goal, parsed, vocabulary) or unbound_problem(goal, statement, columns)
            if message:
                yield _problem(
                    *_place(parser, goal, statement), f"the rule for '{signature(statement.heads[0])}' {message}"
                )


def _place(parser: Any, goal: PrologTerm, statement: Statement) -> tuple[int, int]:
    line, column = _position(parser, goal)
    return (line, column) if line else (statement.line, 1)


def _inferred(statements: list[Statement], columns: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The columns that undefined names would have to be: facts, categories with values, numbers, and images."""
    defined = {signature(head) for statement in statements for head in statement.heads}
    known = {*defined, *OPEN_BUILTINS, *COUNTING, *CLOSED_IN_LIBRARIES, *_vocabulary()}
    neural = {signature(s.heads[0]): s for s in statements if s.neural is not None}
    found: dict[str, dict[str, Any]] = {}
    for statement in statements:
        for goal in calls(statement.body, COUNTING - defined):
            name, predicate = name_of(goal), signature(goal)
            if name in COMPARISONS or predicate == "is/2":
                atoms = [atom for side in goal.args for atom in atoms_in(side) if not is_date(atom)]
                names = [n for n in map(name_of, atoms) if n not in CONSTANTS and f"{n}/1" not in defined]
                # One column that is compared with a date holds dates; of several, a difference may be days.
                has_date = len(names) == 1 and any(is_date(part) for side in goal.args for part in _parts(side))
                for number in names:
                    found.setdefault(number, {"kind": "number"})
                    found[number] |= {"date": True, "called": "date"} if has_date else {}
            elif predicate in neural:
                inputs = {str(term) for term in neural[predicate].neural.inputs}  # type: ignore[union-attr]
                for argument, given in zip(neural[predicate].heads[0].args, goal.args, strict=True):
                    if str(argument) in inputs and isinstance(given, Term) and not isinstance(given, (Var, Constant)):
                        found.setdefault(name_of(given), {"kind": "tensor"})
            elif predicate not in known and goal.arity == 0 and name != DIRECTIVE:
                found.setdefault(name, {"kind": "boolean"})
            elif predicate not in known and goal.arity == 1:
                entry = found.setdefault(name, {"kind": "category", "values": []})
                value = goal.args[0]
                if isinstance(value, Term) and not isinstance(value, Var) and "values" in entry:
                    text = (
                        int(value.functor)
                        if isinstance(value, Constant) and isinstance(value.functor, int)
                        else name_of(value)
                    )
                    entry["values"] += [] if text in entry["values"] else [text]
    return {name: column for name, column in found.items() if name not in columns and _is_possible(column)}


def _is_possible(column: dict[str, Any]) -> bool:
    if column["kind"] == "category" and not column["values"]:
        column["values"].append("other")
    return True


def _vocabulary() -> frozenset[str]:
    return Grounder("", {}).vocabulary.known
