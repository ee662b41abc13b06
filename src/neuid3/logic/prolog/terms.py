"""How are ProbLog's terms walked, spelled and compared?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from problog.logic import And, Constant, Not, Or, Term, Var, list2term

from neuid3.logic.formula import FLIPPED
from neuid3.logic.spelling import BARE, atom_name, atom_text

# ProbLog is untyped; this alias says where its terms go.
PrologTerm: TypeAlias = Any

COMPARISONS = tuple(FLIPPED)

# Operators such as '<' and '=:=' come quoted from the parser and stay so.
_SYMBOLS = re.compile(r"[^\w\s']+")


def value_term(value: str | int) -> PrologTerm:
    """A column's value as a constant of the logic."""
    return Constant(value) if isinstance(value, int) else Term(atom_text(value))


def name_of(term: PrologTerm) -> str:
    """A functor without its quotes: the name that `atom_text` would spell like this term."""
    return atom_name(str(term.functor))


def signature(term: PrologTerm) -> str:
    """Name and number of arguments, as in `member/2`."""
    return f"{name_of(term)}/{term.arity}"


def rewrite(term: PrologTerm, change: Callable[[PrologTerm], PrologTerm | None]) -> PrologTerm:
    """The term with `change` applied from the outside in; where it returns None, the parts are changed."""
    if not isinstance(term, Term):
        return term
    changed = change(term)
    if changed is not None:
        return changed
    if term.arity == 0:
        return term
    arguments = [rewrite(argument, change) for argument in term.args]
    if isinstance(term, Not):
        return Not(term.functor, arguments[0], location=term.location)
    if isinstance(term, (And, Or)):
        return type(term)(*arguments, location=term.location)
    return term.with_args(*arguments)


def normalised(term: PrologTerm, anonymous: Iterator[int]) -> PrologTerm:
    """Quotes dropped where they are not needed, and every `_` given a name of its own."""

    def change(part: PrologTerm) -> PrologTerm | None:
        if isinstance(part, Var):
            return Var(f"Any{next(anonymous)}") if part.name == "_" else part
        if isinstance(part, (Constant, And, Or, Not)):
            return None
        quoted, spelled = str(part.functor), atom_text(name_of(part))
        operator = BARE.fullmatch(spelled) and spelled in ("is", "mod", "rem", "xor")
        if quoted.startswith("'") and quoted != spelled and not operator and not _SYMBOLS.fullmatch(name_of(part)):
            rebuilt = Term(spelled, *(normalised(a, anonymous) for a in part.args), location=part.location)
            return rebuilt if part.probability is None else rebuilt.with_probability(part.probability)
        return None

    return rewrite(term, change)


# Which arguments of a predicate are goals, and how many arguments it adds before it calls them.
META = {
    "findall/3": ((1, 0),),
    "all/3": ((1, 0),),
    "all_or_none/3": ((1, 0),),
    "forall/2": ((0, 0), (1, 0)),
    "once/1": ((0, 0),),
    "not/1": ((0, 0),),
    "->/2": ((0, 0), (1, 0)),
}
for _extra in range(9):
    for _caller in ("call", "call_nc", "try_call"):
        META[f"{_caller}/{_extra + 1}"] = ((0, _extra),)
for _lists in range(1, 5):
    META[f"maplist/{_lists + 1}"] = ((0, _lists),)
for _lists in range(1, 5):
    META[f"foldl/{_lists + 3}"] = ((0, _lists + 2),)
for _filter in ("include", "exclude"):
    META[f"{_filter}/3"] = ((0, 1),)


def calls(body: PrologTerm) -> Iterator[PrologTerm]:
    """Every goal that a body can be seen to call, also inside negation, findall, call, maplist and the like."""
    if not isinstance(body, Term) or isinstance(body, (Var, Constant)):
        return
    if isinstance(body, (And, Or)):
        yield from calls(body.op1)
        yield from calls(body.op2)
    elif isinstance(body, Not):
        yield from calls(body.child)
    else:
        if signature(body) != "->/2":
            yield body
        for position, added in META.get(signature(body), ()):
            goal = body.args[position]
            if isinstance(goal, Term) and not isinstance(goal, (Var, Constant)):
                if added and not isinstance(goal, (And, Or, Not)):
                    goal = Term(
                        goal.functor, *goal.args, *(Var(f"Added{i}") for i in range(added)), location=goal.location
                    )
                yield from calls(goal)


def prolog_list(items: list[PrologTerm]) -> PrologTerm:
    """A Prolog list of these terms."""
    return list2term(items)
