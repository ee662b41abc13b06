"""Checks of the goals that rules and tests call, and the parsing of tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from problog.logic import And, AnnotatedDisjunction, Clause, Constant, Term, Var

from neuid3.data.derived import FUNCTIONS as DERIVED
from neuid3.errors import NodeTestError, RuleError, SyntaxErrorInProgram, did_you_mean
from neuid3.logic.expressions import FUNCTIONS
from neuid3.logic.prolog.arithmetic import OPEN
from neuid3.logic.prolog.engine import CLOSED_IN_LIBRARIES
from neuid3.logic.prolog.reader import Columns, ParsedProgram, Statement, Vocabulary, numbers_of, parse
from neuid3.logic.prolog.terms import (
    COMPARISONS,
    PrologTerm,
    calls,
    list_parts,
    name_of,
    normalised,
    rewrite,
    signature,
    value_term,
)
from neuid3.logic.quoting import atom_text

# Names that stand for numbers in arithmetic.
CONSTANTS = frozenset({"pi", "e", "inf", "nan", "epsilon"})

_COMPARISON_SIGNATURES = frozenset(f"{name}/2" for name in COMPARISONS)


def check_calls(parsed: ParsedProgram, vocabulary: Vocabulary) -> None:
    """Raise a `RuleError` where a goal of a body has no definition, or a column does not have its value."""
    for statement in parsed.statements:
        if any(OPEN in str(term) for term in (*statement.heads, statement.body) if term is not None):
            raise RuleError(f"Line {statement.line}: the name '{OPEN}' is reserved for neuid3; rename it.")
        if statement.body is not None:
            for goal in calls(statement.body, parsed.counting):
                problem = goal_problem(goal, parsed, vocabulary)
                if problem:
                    raise RuleError(f"Line {statement.line}: the rule for '{signature(statement.heads[0])}' {problem}")


def unbound_problem(goal: PrologTerm, statement: Statement, columns: Columns) -> str | None:
    """The problem with a comparison of a variable that nothing in its clause binds, as in `goal_problem`."""
    if name_of(goal) not in COMPARISONS and signature(goal) != "is/2":
        return None
    bound = {name for term in (*statement.heads, statement.body) for name in _binding_variables(term)}
    compared = goal.args[1:] if signature(goal) == "is/2" else goal.args
    unbound = (str(v) for side in compared if isinstance(side, Term) for v in side.variables() if str(v) not in bound)
    name = next((name for name in unbound if not name.startswith("Added")), None)
    if name is None:
        return None
    verb = "calculates with" if signature(goal) == "is/2" else "compares"
    problem = f"{verb} {name}, a variable that nothing binds; names that begin with a capital letter are variables"
    if name in columns:
        return f"{problem}. Put the column's name in quotes: '{name}'."
    small = name[0].lower() + name[1:]
    return f"{problem}. Did you mean {small!r}?" if small in columns else f"{problem}; name a column, or bind it first."


def _binding_variables(term: Any) -> Iterator[str]:
    """The variables of a term outside of comparisons and of what `is` calculates."""
    waiting = [term]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Var):
            yield str(part)
        elif (
            isinstance(part, Term) and not isinstance(part, Constant) and signature(part) not in _COMPARISON_SIGNATURES
        ):
            waiting.extend(part.args[:1] if signature(part) == "is/2" else part.args)


def goal_problem(goal: PrologTerm, parsed: ParsedProgram, vocabulary: Vocabulary) -> str | None:
    """The problem with a call of this goal, as the rest of a sentence; None where there is none."""
    called = signature(goal)
    columns, facts = parsed.columns, parsed.facts
    if called in facts and goal.arity == 1:
        argument = goal.args[0]
        values = [str(value) for value in columns[facts[called]]["values"]]
        known_values = [value_term(value) for value in columns[facts[called]]["values"]]
        if isinstance(argument, Term) and not argument.variables() and argument not in known_values:
            if _plain(argument) in values:
                quoted = f"'{argument}'" if isinstance(argument, Constant) else name_of(argument)
                return f"calls {goal}, but that value is spelled {name_of(goal)}({quoted})."
            return (
                f"calls {goal}, but column '{name_of(goal)}' has no value {argument}."
                f"{did_you_mean(_plain(argument), values)}"
            )
    if called in ("=/2", "==/2", "is/2", "\\=/2", "\\==/2", "@</2", "@>/2", "@=</2", "@>=/2", "compare/3"):
        for side in goal.args[:1] if called == "is/2" else goal.args:
            atom = isinstance(side, Term) and not isinstance(side, Var) and side.arity == 0
            if atom and columns.get(name_of(side), {}).get("kind") == "number":
                return f"contains '{goal}', which compares the name '{name_of(side)}'; compare its number with =:= or =\\=."
    if called in parsed.counting:
        return _count_problem(goal)
    if called not in vocabulary.known and (problem := _derived_problem(goal, columns)) is not None:
        return problem
    if called in vocabulary.known or called in facts:
        if name_of(goal) in COMPARISONS or called == "is/2":
            return _comparison_problem(goal, parsed)
        return None
    name = name_of(goal)
    if f"{name}/1" in parsed.defined and goal.arity == 0:
        return f"uses '{called}', and '{name}/1' is defined; where it is a number, compare it, as in '{name} > 1'."
    if name in columns:
        kind = columns[name]["kind"]
        called_kind = _kind_of(columns[name])
        hint = {
            "boolean": f"write '{atom_text(name)}' without arguments",
            "probability": f"write '{atom_text(name)}' without arguments",
            "category": f"write '{atom_text(name)}(Value)'",
            "distribution": f"write '{atom_text(name)}(Value)'",
            "number": f"compare it, as in '{atom_text(name)} > 1'",
            "tensor": "let a network read it, as in nn(net, [Image])",
            "text": f"look for a phrase, as in contains({atom_text(name)}, 'a phrase')",
            "series": f"compare a number of it, as in mean({atom_text(name)}) > 1",
        }[called_kind if called_kind in ("text", "series") else kind]
        return f"uses '{called}', but '{name}' is a {called_kind} column; {hint}."
    if called in ("->/2", "*->/2"):
        return f"uses '{name}', which ProbLog does not have; for (a -> b ; c) write (a, b ; \\+ a, c)."
    if called == "!/0":
        return "uses '!', and ProbLog has no cut; let \\+ exclude the cases of the clauses before."
    if called in vocabulary.closed | CLOSED_IN_LIBRARIES or name in ("query", "evidence") or name.startswith("_"):
        return f"calls '{called}', which is closed to programs."
    # A fact about a slot, such as `long(car_1)`, stands for the predicate that is defined by all of them.
    predicates = {entry.rsplit("/", 1)[0] for entry in parsed.defined}
    own = [*parsed.defined, *(fact for fact in facts if "(" not in fact or fact.split("(", 1)[0] not in predicates)]
    hint = did_you_mean(called, [*vocabulary.known, *own])
    return f"uses '{called}', which nothing defines.{hint if 'Did you mean' in hint else did_you_mean(called, own)}"


def _count_problem(goal: PrologTerm) -> str | None:
    """The problem with a goal that counts others, as in `goal_problem`: its list, or its number."""
    name, goals, number = name_of(goal), goal.args[-1], goal.args[0] if goal.arity == 2 else None
    example = f"{name}({'2, ' if number is not None else ''}[a, b, c])"
    if isinstance(goals, Var):
        return None  # another goal may bind it
    counted, rest = list_parts(goals)
    if not counted and rest is not None:
        return f"contains '{goal}', whose last argument is no list of goals; write it as in {example}."
    if number is None or isinstance(number, Var):
        return None
    if not isinstance(number, Constant) or not isinstance(number.value, int):
        return f"contains '{goal}', whose number is '{number}'; give a whole number, as in {example}."
    least = number.value + (name == "more_than")
    if name in ("at_least", "exactly", "more_than") and rest is None and least > len(counted):
        listed = "no goal" if not counted else f"{len(counted)} goal{'s' * (len(counted) > 1)}"
        return f"contains '{goal}', which is never true: its list has {listed}; give a lower number, or more goals."
    return None


def value_problem(goal: PrologTerm, parsed: ParsedProgram) -> str | None:
    """The problem with a value in a goal that the network behind it does not have, as in `goal_problem`; or None."""
    if signature(goal) not in parsed.defined:
        return None
    defining = [s for s in parsed.statements if signature(goal) in map(signature, s.heads)]
    values: dict[str, None] = {}
    for statement in defining:
        neural = statement.neural
        if neural is None or neural.domain is None:
            return None  # something else may define it for any value
        position = statement.heads[0].args.index(neural.output) if neural.output in statement.heads[0].args else None
        argument = None if position is None else goal.args[position]
        if not isinstance(argument, Term) or argument.variables() or argument in neural.domain:
            return None
        values |= dict.fromkeys(_plain(value) for value in neural.domain)
    neural = defining[0].neural
    assert neural is not None
    wrong = goal.args[defining[0].heads[0].args.index(neural.output)]
    hint = did_you_mean(_plain(wrong), values)
    return (
        f"calls {goal}, but network '{neural.network}' has no value {wrong}; its values are {', '.join(values)}."
        f"{hint if 'Did you mean' in hint else ''}"
    )


def _plain(term: PrologTerm) -> str:
    return str(term) if isinstance(term, Constant) else name_of(term)


def _comparison_problem(goal: PrologTerm, parsed: ParsedProgram) -> str | None:
    """The problem with a comparison or with arithmetic: names that are no number columns, or functions of columns."""
    columns = parsed.columns
    sides = goal.args[1:] if name_of(goal) == "is" else goal.args
    problems = (_derived_problem(term, columns) for side in sides for term in _compounds(side))
    problem = next((problem for problem in problems if problem is not None), None)
    if problem is not None:
        return problem
    for side in sides:
        for atom in atoms_in(side):
            name = name_of(atom)
            if name == OPEN:
                continue
            verb = "compares" if atom is side and name_of(goal) != "is" else "calculates with"
            if name in columns and columns[name]["kind"] != "number":
                done = "compared" if verb == "compares" else "calculated with"
                kind = _kind_of(columns[name])
                hint = {
                    "boolean": f"; declare it a number (kinds={{{name!r}: 'number'}}, or --type {name}=number) to do so",
                    "text": f"; words({atom_text(name)}) is the number of its words",
                    "series": f"; mean({atom_text(name)}) is a number of it",
                }.get(kind, "")
                return f"{verb} '{name}', a {kind} column; only number columns can be {done}{hint}."
            if f"{name}/1" in parsed.defined and name not in columns:
                variable = name[:1].upper() + "1" if name[:1].isalpha() else "X1"
                return (
                    f"{verb} '{name}', which a rule defines; call it first, as in '{name}({variable}), {variable} > 1'."
                )
            if name not in columns and name not in CONSTANTS:
                if _has_date(goal, columns):
                    return f"{verb} '{name}', which is neither a column nor a date; write dates as 2024-03-01."
                return f"{verb} '{name}', which is no number column.{did_you_mean(name, numbers_of(columns))}"
    return _function_problem(goal, sides, numbers_of(columns))


def _has_date(goal: PrologTerm, columns: Columns) -> bool:
    return any(columns.get(name_of(atom), {}).get("date") for side in goal.args for atom in atoms_in(side))


def _function_problem(goal: PrologTerm, sides: Iterable[PrologTerm], numbers: frozenset[str]) -> str | None:
    waiting = list(sides)
    while waiting:
        term = waiting.pop()
        if isinstance(term, Term) and not isinstance(term, (Var, Constant)) and term.arity:
            name = "**" if name_of(term) == "^" else name_of(term)
            has_column = any(name_of(atom) in numbers for atom in atoms_in(term))
            if has_column and (name, term.arity) not in FUNCTIONS:
                known = ", ".join(sorted({function for function, _ in FUNCTIONS}))
                return f"contains '{goal}', which calculates {name}/{term.arity} of a column; columns can be calculated with {known}."
            waiting.extend(term.args)
    return None


def _kind_of(column: Mapping[str, Any]) -> str:
    """What the kind of a column is called: a date, a text and a series are read as numbers and tensors."""
    return str(column.get("called", column["kind"]))


def _compounds(term: PrologTerm) -> Iterator[PrologTerm]:
    """The parts of an arithmetic term that have arguments."""
    waiting = [term]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Term) and not isinstance(part, (Var, Constant)) and part.arity:
            yield part
            waiting.extend(part.args)


def _derived_problem(term: PrologTerm, columns: Columns) -> str | None:
    """The problem with a call such as `slope(ecg, 9)` that names no derived column; None for all other terms."""
    name = name_of(term)
    if name not in DERIVED or name in columns or term.arity > DERIVED[name].columns + 2:
        return None
    function = DERIVED[name]
    source = function.source.__name__.lower()
    of_kind = [column for column, fields in columns.items() if _kind_of(fields) == source]
    example = function.example(name, of_kind or [f"a {source} column"])
    for argument in term.args[: function.columns]:
        column = name_of(argument) if isinstance(argument, Term) and not isinstance(argument, (Var, Constant)) else ""
        if not column:
            return f"calls '{term}', whose argument {argument} is no column; name a {source} column, as in {example}."
        if column not in columns:
            return f"calls '{term}' of {column!r}, which is no column.{did_you_mean(column, of_kind)}"
        if _kind_of(columns[column]) != source:
            return f"calls '{term}', but '{column}' is a {_kind_of(columns[column])} column; {name} is computed of a {source}."
    return f"calls '{term}'; write it as in {example}."


def atoms_in(term: PrologTerm) -> Iterable[PrologTerm]:
    """The atoms in an arithmetic term."""
    waiting = [term]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Term) and not isinstance(part, (Var, Constant)):
            if part.arity == 0 and str(part.functor) != "[]":
                yield part
            waiting.extend(part.args)


def read_test(
    text: str, parsed: ParsedProgram, vocabulary: Vocabulary, compound: bool = False, noun: str = "Test"
) -> PrologTerm:
    """A test as a goal; a `NodeTestError` where it is none.

    It is a ground atom, or, where `compound`, anything that can be the body of a rule. Messages call it by its `noun`.
    """
    if text in parsed.columns:
        kind = parsed.columns[text]["kind"]
        if kind in ("boolean", "probability"):
            return Term(atom_text(text))
        if kind == "number":
            hint = f"compare it with a constant, as in '{atom_text(text)} =< 2.5'"
        elif kind == "tensor":
            hint = "declare a network that reads it and use its predicate"
        else:
            hint = f"name a value, as in '{atom_text(text)}({atom_text(str(parsed.columns[text]['values'][0]))})'"
        raise NodeTestError(f"{noun} {text!r} is a {kind} column, which is neither true nor false; {hint}.")
    try:
        clauses = parse(text.rstrip().removesuffix(".") + ".")
    except SyntaxErrorInProgram as error:
        raise NodeTestError(f"{noun} {text!r} cannot be parsed: {str(error).split(', ', 1)[-1]}") from None
    if len(clauses) != 1 or isinstance(clauses[0], (Clause, AnnotatedDisjunction)) or not isinstance(clauses[0], Term):
        raise NodeTestError(f"{noun} {text!r} is not one atom; write a rule for it and use the rule's head.")
    try:
        goal = normalised(clauses[0], itertools.count())
        goal = parsed.spelling(goal) if signature(goal) in parsed.facts else parsed.spelling.of_test(goal)
    except ValueError as error:
        raise NodeTestError(f"{noun} {text!r} cannot be read: {error}; correct it.") from None
    goal, compares_rules = _with_rules_called(goal, parsed)
    compound = compound or compares_rules
    if (
        isinstance(goal, (Var, Constant))
        or goal.probability is not None
        or (not compound and name_of(goal) in (",", ";", "->", "\\+", "not"))
    ):
        raise NodeTestError(f"{noun} {text!r} is not an atom; write a rule for it and use the rule's head.")
    named = [str(variable) for variable in goal.variables() if str(variable) in parsed.columns]
    if named:
        raise NodeTestError(
            f"{noun} {text!r} reads {named[0]} as a variable; put the column's name in quotes: '{named[0]}'."
        )
    if goal.variables() and not compound:
        raise NodeTestError(
            f"{noun} {text!r} is not ground: replace {', '.join(sorted(map(str, goal.variables())))} by columns or constants."
        )
    for called in calls(goal, parsed.counting) if compound else (goal,):
        problem = goal_problem(called, parsed, vocabulary) or value_problem(called, parsed)
        if problem:
            raise NodeTestError(f"{noun} {text!r} {problem}")
    return goal


def _with_rules_called(goal: PrologTerm, parsed: ParsedProgram) -> tuple[PrologTerm, bool]:
    """A comparison in which names of rules that define numbers are replaced by these numbers: `bmi(B), B > 30`.

    Returns
    -------
    The goal, and whether something was replaced.
    """
    if not isinstance(goal, Term) or isinstance(goal, (Var, Constant)) or signature(goal) not in _COMPARISON_SIGNATURES:
        return goal, False
    if goal.variables():
        return goal, False
    variables: dict[str, Var] = {}

    def called(part: PrologTerm) -> PrologTerm | None:
        if isinstance(part, (Var, Constant)) or part.arity:
            return None
        name = name_of(part)
        if name in parsed.columns or f"{name}/1" not in parsed.defined:
            return None
        return variables.setdefault(name, Var(f"Number{len(variables)}"))

    compared = goal.with_args(*(rewrite(side, called) for side in goal.args))
    for name, variable in reversed(variables.items()):
        compared = And(Term(atom_text(name), variable), compared)
    return compared, bool(variables)
