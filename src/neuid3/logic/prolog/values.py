"""The values of goals with one open argument, and the expressions that compute them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from problog.errors import ProbLogError
from problog.formula import LogicFormula
from problog.logic import And, Clause, Constant, Not, Or, Term, Var

from neuid3.errors import NodeTestError
from neuid3.logic.prolog.checks import read_test
from neuid3.logic.prolog.grounder import Grounder, grounding_problem, substitute
from neuid3.logic.prolog.reader import ParsedProgram, Statement
from neuid3.logic.prolog.terms import PrologTerm, name_of, rewrite, signature, source

# Operators of expressions that are shown, with the priority of each: those of a higher one bind less.
_OPERATORS = {"+": 500, "-": 500, "*": 400, "/": 400, "//": 400, "mod": 400}

# Rules that call other rules are shown down to this depth.
_MAX_DEPTH = 20


def goal_values(grounder: Grounder, texts: Iterable[str]) -> list[dict[str, Any]]:
    """For each goal its variable, the values of that with the ground atom of each, and its expression or ""."""
    return [_values(grounder, text) for text in texts]


def _values(grounder: Grounder, text: str) -> dict[str, Any]:
    goal = _read_goal(grounder, text)
    (variable,) = sorted(set(map(str, goal.variables())))
    number = grounder.grounded
    grounder.grounded += 1
    grounder.database.add_clause(Clause(Term("'$goal'", Constant(number), Var(variable)), goal))
    formula = LogicFormula()
    try:
        query = Term("'$goal'", Constant(number), None)
        grounder.engine.ground(grounder.database, query, target=formula, label=LogicFormula.LABEL_QUERY)
    except ProbLogError as error:
        raise NodeTestError(f"Leaf {text!r} cannot be grounded: {grounding_problem(error)}") from None
    written = grounder.parsed.spelling.written(goal)
    terms = [name.args[1] for name, node in formula.queries() if node is not None]
    described = {}
    for term in terms:
        value = _plain(term)
        if value is None:
            found = "unbound" if not isinstance(term, Term) or not term.is_ground() else source(term)
            raise NodeTestError(
                f"Leaf {text!r} leaves {variable} {found}; the values of {variable} must be numbers or names."
            )
        atom = source(substitute(written, {variable: term}))
        described[atom] = {"value": value, "atom": atom}
    shown = expression(grounder.parsed, goal, variable)
    values = sorted(described.values(), key=lambda entry: (isinstance(entry["value"], str), entry["value"]))
    return {"variable": variable, "values": values, "expression": "" if shown is None else _text(shown)}


def _read_goal(grounder: Grounder, text: str) -> PrologTerm:
    """A goal with one open argument; a `NodeTestError` where it is none."""
    goal = read_test(text, grounder.parsed, grounder.vocabulary, compound=True, noun="Leaf")
    if isinstance(goal, (And, Or, Not)) or not goal.arity:
        raise NodeTestError(f"Leaf {text!r} is not an atom with an open argument, as digit(second, Y) is.")
    variables = sorted(set(map(str, goal.variables())))
    if len(variables) != 1 or not any(isinstance(argument, Var) for argument in goal.args):
        found = f"the variables {', '.join(variables)}" if variables else "no variable"
        raise NodeTestError(
            f"Leaf {text!r} has {found}; leave one argument open, the class, as in digit(second, Y), and replace all "
            "others by columns or constants."
        )
    return goal


def _plain(term: PrologTerm) -> int | float | str | None:
    """A value as a number or a name; None where it is neither."""
    if isinstance(term, Constant):
        value = term.functor
        return value.strip('"') if isinstance(value, str) else value if isinstance(value, (int, float)) else None
    if isinstance(term, Term) and not isinstance(term, Var) and term.arity == 0:
        return name_of(term)
    return None


def expression(parsed: ParsedProgram, goal: PrologTerm, variable: str, depth: int = _MAX_DEPTH) -> PrologTerm | None:
    """What a goal computes for its variable, as a term: `digit(second)+9`; None where it is not one expression.

    It is one where each predicate on the way has one clause, whose body is a sequence of goals with one open argument each
    and of `is`, such as `nine_plus(I, Y) :- digit(I, D), Y is D + 9.`
    """
    if signature(goal) in parsed.facts and goal.arity == 1:
        return Term(str(goal.functor))  # the value of a column
    defining = [s for s in parsed.statements if signature(goal) in map(signature, s.heads)]
    called = Term(goal.functor, *(a for a in goal.args if not (isinstance(a, Var) and str(a) == variable)))
    if not defining or depth == 0:
        return None
    if all(s.neural is not None and s.neural.domain is not None for s in defining):
        return called
    if all(s.body is None for s in defining):
        return called if all(s.probabilities is None for s in defining) else None
    (statement, *others) = defining
    if others or statement.probabilities is not None or statement.neural is not None:
        return None
    return _of_rule(parsed, statement, goal, variable, depth)


def _of_rule(parsed: ParsedProgram, rule: Statement, goal: PrologTerm, variable: str, depth: int) -> PrologTerm | None:
    """The expression of a goal that this rule alone defines; None where its body does more than compute."""
    known: dict[str, PrologTerm] = {}
    result = None
    for parameter, argument in zip(rule.heads[0].args, goal.args, strict=True):
        if not isinstance(parameter, Var) or str(parameter) in known or str(parameter) == result:
            return None
        if isinstance(argument, Var) and str(argument) == variable:
            result = str(parameter)
        else:
            known[str(parameter)] = argument
    for part in _conjuncts(rule.body):
        if isinstance(part, (Or, Not, Var)) or not isinstance(part, Term):
            return None
        if signature(part) == "is/2":
            target, computed = part.args
            value = _computed(computed, known)
        else:
            opened = [a for a in part.args if isinstance(a, Var) and str(a) not in known]
            if len(opened) != 1:
                return None
            target = opened[0]
            value = expression(parsed, substitute(part, known), str(target), depth - 1)
        if value is None or not isinstance(target, Var) or str(target) in known:
            return None
        known[str(target)] = value
    return None if result is None else known.get(result)


def _conjuncts(body: PrologTerm) -> list[PrologTerm]:
    parts = []
    while isinstance(body, And):
        parts.append(body.op1)
        body = body.op2
    return [*parts, body]


def _computed(term: PrologTerm, known: Mapping[str, PrologTerm]) -> PrologTerm | None:
    """An arithmetic expression with the expressions of its variables; None where it has others or other operators."""
    if any(str(variable) not in known for variable in term.variables()):
        return None
    is_simple = True

    def check(part: PrologTerm) -> PrologTerm | None:
        nonlocal is_simple
        if not isinstance(part, (Var, Constant)) and not (part.arity == 2 and name_of(part) in _OPERATORS):
            is_simple = False
        return known[str(part)] if isinstance(part, Var) else None

    replaced = rewrite(term, check)
    return replaced if is_simple else None


def _text(term: PrologTerm, limit: int = 1200) -> str:
    """An expression with spaces around its operators, and no brackets that are not needed."""
    priority = _OPERATORS.get(name_of(term)) if isinstance(term, Term) and term.arity == 2 else None
    if priority is None:
        return source(term)
    left, right = _text(term.args[0], priority), _text(term.args[1], priority - 1)
    text = f"{left} {name_of(term)} {right}"
    return f"({text})" if priority > limit else text
