"""Traversal, rewriting and printing of ProbLog's terms."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from typing import Any, TypeAlias

from problog.logic import And, AnnotatedDisjunction, Clause, Constant, Not, Or, Term, Var, list2term

from neuid3.logic.formula import FLIPPED
from neuid3.logic.quoting import BARE, atom_name, atom_text, number_text

# ProbLog has no type annotations; this alias marks its terms.
PrologTerm: TypeAlias = Any

COMPARISONS = tuple(FLIPPED)

# Operators such as '<' and '=:='. A backslash in an operator stands for itself, and in other names is written as an escape.
_SYMBOLS = re.compile(r"[^\w\s'\\]+")
_BACKSLASHED = frozenset({"\\+", "\\=", "\\==", "=\\=", "\\=@=", "/\\", "\\/"})

# Operators that are words: the parser quotes them as functors of two arguments.
_WORD_OPERATORS = frozenset({"is", "as", "mod", "rem", "xor", "rdiv", "div"})

# Operators of this priority and above cannot stand in an argument without brackets.
_ARGUMENT = 1000


def value_term(value: str | int) -> PrologTerm:
    """A column's value as a Prolog constant."""
    return Constant(value) if isinstance(value, int) else Term(atom_text(value))


def name_of(term: PrologTerm) -> str:
    """A functor without its quotes: the name that `atom_text` writes as this functor."""
    return atom_name(str(term.functor))


def signature(term: PrologTerm) -> str:
    """Name and number of arguments, as in `member/2`."""
    return f"{name_of(term)}/{term.arity}"


def heads_of(clause: PrologTerm) -> list[PrologTerm]:
    """The parsed heads of a fact, a rule or a disjunction."""
    if isinstance(clause, AnnotatedDisjunction):
        return list(clause.heads)
    if isinstance(clause, Clause):
        return [clause.head]
    return list(clause.to_list()) if isinstance(clause, Or) else [clause]


def rewrite(term: PrologTerm, change: Callable[[PrologTerm], PrologTerm | None]) -> PrologTerm:
    """The term with `change` applied from the outside in; where it returns None, the arguments are rewritten.

    Lists are traversed in a loop, since each entry of a long list is nested in the one before it.
    """
    if not isinstance(term, Term):
        return term
    changed = change(term)
    if changed is not None:
        return changed
    if term.arity == 0:
        return term
    if _is_pair(term):
        pairs, tail = [term], term.args[1]
        while _is_pair(tail) and change(tail) is None:
            pairs.append(tail)
            tail = tail.args[1]
        result = rewrite(tail, change)
        for pair in reversed(pairs):
            result = pair.with_args(rewrite(pair.args[0], change), result)
        return result
    arguments = [rewrite(argument, change) for argument in term.args]
    if isinstance(term, Not):
        return Not(term.functor, arguments[0], location=term.location)
    if isinstance(term, (And, Or)):
        return type(term)(*arguments, location=term.location)
    return term.with_args(*arguments)


def _is_pair(term: PrologTerm) -> bool:
    return isinstance(term, Term) and term.functor == "." and term.arity == 2


def normalised(term: PrologTerm, anonymous: Iterator[int]) -> PrologTerm:
    """The term with one spelling for each functor, and a name of its own for every `_`.

    ProbLog distinguishes `'a'` from `a`, `'-'(1)` from `-(1)` and `mod(7, 2)` from `7 mod 2` where it compares ground terms;
    in Prolog they are the same.
    """

    def change(part: PrologTerm) -> PrologTerm | None:
        if isinstance(part, Var):
            return Var(f"Any{next(anonymous)}") if part.name == "_" else part
        if isinstance(part, (Constant, And, Or, Not, Clause)):
            return None
        functor, spelled = str(part.functor), _functor(name_of(part), part.arity)
        if functor == spelled:
            return None
        rebuilt = Term(spelled, *(normalised(a, anonymous) for a in part.args), location=part.location)
        return rebuilt if part.probability is None else rebuilt.with_probability(part.probability)

    return rewrite(term, change)


def _functor(name: str, arity: int) -> str:
    if (name, arity) in (("[]", 0), (".", 2)):
        return name
    word = (arity == 2 and name in _WORD_OPERATORS) or (arity == 1 and name == "\\")
    return f"'{name}'" if word or name in _BACKSLASHED or _SYMBOLS.fullmatch(name) else atom_text(name)


def canonical(term: PrologTerm) -> str:
    """A text that is unique to this term and reads back as it; operators are written as functors.

    ProbLog prints `((a, b), c)` and `(a, (b, c))` alike, and some terms so that they cannot be read back.
    """
    return _written(term, _plain_parts)


def source(term: PrologTerm) -> str:
    """A term or goal as in a program, with operators between their arguments; it reads back as the same term."""
    if isinstance(term, And):
        return f"{_in_body(term.op1)}, {_in_body(term.op2, And)}"
    if isinstance(term, Or):
        return f"{_in_body(term.op1)}; {_in_body(term.op2, Or)}"
    return _written(term, _infix_parts)


def _in_body(term: PrologTerm, same: type | None = None) -> str:
    """A part of a conjunction or disjunction, both of which associate to the right."""
    if isinstance(term, (And, Or)) and type(term) is not same:
        return f"({source(term)})"
    return source(term)


def _written(term: PrologTerm, parts: Callable[[PrologTerm], list[PrologTerm]]) -> str:
    """The text of a term, where `parts` splits a term into strings and further terms."""
    pieces: list[str] = []
    waiting = [term]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            pieces.append(part)
        else:
            waiting.extend(reversed(parts(part)))
    return "".join(pieces)


def _plain_parts(term: PrologTerm) -> list[PrologTerm]:
    if not isinstance(term, Term):  # ProbLog's variables at run time are numbers
        return ["_" if term is None else f"V{abs(term)}"]
    if isinstance(term, Constant):
        return [number_text(term.functor) if isinstance(term.functor, float) else str(term.functor)]
    if isinstance(term, (And, Or, Clause)):
        return ["(", term.args[0], {",": ", ", ";": "; ", ":-": " :- "}[str(term.functor)], term.args[1], ")"]
    if isinstance(term, Not):
        return ["\\+", "(", term.child, ")"]
    if _is_pair(term):
        parts: list[PrologTerm] = ["["]
        while _is_pair(term):
            parts += [term.args[0], ", "]
            term = term.args[1]
        parts.pop()
        return [*parts, "]"] if term == Term("[]") else [*parts, " | ", term, "]"]
    if str(term.functor).endswith("\\'") and term.arity:  # the quote after it would be read as escaped
        return ["(", *term.args[:-1], f" {name_of(term)} ", term.args[-1], ")"]
    arguments = [piece for argument in term.args for piece in (",", argument)]
    return [str(term.functor), "(", *arguments[1:], ")"] if arguments else [str(term.functor)]


def _infix_parts(term: PrologTerm) -> list[PrologTerm]:
    if isinstance(term, Not):
        child = [f"({source(term.child)})"] if isinstance(term.child, (And, Or, Not)) else [term.child]
        return ["\\+", *child]
    if not isinstance(term, Term) or term.op_spec is None or isinstance(term, (And, Or, Clause)):
        return _plain_parts(term)
    if term.op_priority >= _ARGUMENT:
        return _plain_parts(term)
    if term.arity == 1:
        simple = isinstance(term.args[0], Var) or (_is_atom(term.args[0]) and BARE.fullmatch(str(term.args[0].functor)))
        return [name_of(term), term.args[0]] if simple else _plain_parts(term)
    left, right = term.args
    name = name_of(term)
    between = f" {name} " if BARE.fullmatch(name) else name
    return [*_operand(left, term, "yfx"), between, *_operand(right, term, "xfy")]


def _operand(term: PrologTerm, whole: PrologTerm, associativity: str) -> list[PrologTerm]:
    """An operand of an operator, in brackets unless it binds more tightly or associates the same way."""
    negative = isinstance(term, Constant) and isinstance(term.functor, (int, float)) and term.functor < 0
    if not negative and not isinstance(term, (Not, Clause)):
        priority = getattr(term, "op_priority", None)
        alike = whole.op_spec == associativity and isinstance(term, Term) and term.functor == whole.functor
        if priority is None or getattr(term, "arity", 0) < 2 or priority < whole.op_priority or alike:
            return [term]  # conjunctions and disjunctions have brackets of their own
    return ["(", term, ")"]


def _is_atom(term: PrologTerm) -> bool:
    return isinstance(term, Term) and not isinstance(term, (Var, Constant)) and term.arity == 0


# Which arguments of a predicate are goals, and how many arguments it adds before it calls them.
META = {
    "findall/3": ((1, 0),),
    "all/3": ((1, 0),),
    "all_or_none/3": ((1, 0),),
    "forall/2": ((0, 0), (1, 0)),
    "once/1": ((0, 0),),
    "not/1": ((0, 0),),
}
for _extra in range(9):
    for _caller in ("call", "call_nc"):
        META[f"{_caller}/{_extra + 1}"] = ((0, _extra),)
for _lists in range(1, 5):
    META[f"maplist/{_lists + 1}"] = ((0, _lists),)
for _lists in range(1, 5):
    META[f"foldl/{_lists + 3}"] = ((0, _lists + 2),)
    META[f"scanl/{_lists + 3}"] = ((0, _lists + 2),)
META |= {"include/3": ((0, 1),), "exclude/3": ((0, 1),), "partition/4": ((0, 1),)}
META |= {"convlist/3": ((0, 2),), "foldl_noinit/3": ((0, 3),)}


def calls(body: PrologTerm, counting: Container[str] = ()) -> Iterator[PrologTerm]:
    """The goals that a body calls, also inside negation, findall, call, maplist and other meta-predicates.

    `counting` are the predicates whose last argument is a list of goals, `at_least/2`.
    """
    if not isinstance(body, Term) or isinstance(body, (Var, Constant)):
        return
    if isinstance(body, (And, Or)):
        yield from calls(body.op1, counting)
        yield from calls(body.op2, counting)
    elif isinstance(body, Not):
        yield from calls(body.child, counting)
    else:
        yield body
        if signature(body) in counting:
            for goal in list_parts(body.args[-1])[0]:
                yield from calls(goal, counting)
        for position, added in META.get(signature(body), ()):
            goal = body.args[position]
            if isinstance(goal, Term) and not isinstance(goal, (Var, Constant)):
                if added and not isinstance(goal, (And, Or, Not)):
                    goal = Term(
                        goal.functor, *goal.args, *(Var(f"Added{i}") for i in range(added)), location=goal.location
                    )
                yield from calls(goal, counting)


def list_parts(term: PrologTerm) -> tuple[list[PrologTerm], PrologTerm | None]:
    """The entries of a list, and what follows them: None after a list that is written in full."""
    entries = []
    while _is_pair(term):
        entries.append(term.args[0])
        term = term.args[1]
    return entries, None if isinstance(term, Term) and str(term.functor) == "[]" else term


def calls_variable(body: PrologTerm, counting: Container[str] = ()) -> bool:
    """Whether a body calls a goal that is known only at run time."""
    if isinstance(body, Var):
        return True
    if not isinstance(body, Term) or isinstance(body, Constant):
        return False
    if isinstance(body, (And, Or, Not)):
        return any(calls_variable(part, counting) for part in body.args)
    if signature(body) in counting:
        goals, rest = list_parts(body.args[-1])
        return rest is not None or any(calls_variable(goal, counting) for goal in goals)
    return any(calls_variable(body.args[position], counting) for position, _ in META.get(signature(body), ()))


def prolog_list(items: list[PrologTerm]) -> PrologTerm:
    """A Prolog list of these terms."""
    return list2term(items)
