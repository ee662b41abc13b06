"""How do the rules read when every network instance has a name of its own and every column a value?

Rules are copied for each instance of the networks they look through, and only then: where a tree uses one
instance of each network, its program is the user's own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from problog.logic import And, Constant, Not, Or, Term, Var

from neuid3.errors import ExportError
from neuid3.logic.formula import FLIPPED
from neuid3.logic.prolog.engine import CONTROL, LIBRARIES, OPEN_BUILTINS
from neuid3.logic.prolog.grounder import Grounder, column_constant, substitute
from neuid3.logic.prolog.reader import Statement
from neuid3.logic.prolog.terms import (
    COMPARISONS,
    META,
    PrologTerm,
    calls,
    calls_variable,
    canonical,
    name_of,
    normalised,
    prolog_list,
    rewrite,
    signature,
    source,
    value_term,
)
from neuid3.logic.quoting import atom_text, plain_name

# Which instance stands for a network, where it is not the network itself.
Binding = frozenset[tuple[str, str]]

HOLDS, COMPARE = "neuid3_holds", "neuid3_compare"


def translate(grounder: Grounder, request: dict[str, Any]) -> dict[str, Any]:
    """The clauses and test goals of a tree, as text.

    `tests` are atoms with their `instances`; `neural` are the ground neural variables, each with the `weights`
    to write in, or None to leave the network in its place; `constants` replaces column names by other terms;
    `compares` says whether the tests compare a number column at all.
    """
    return _Translator(grounder, request).translate()


class _Translator:
    def __init__(self, grounder: Grounder, request: dict[str, Any]) -> None:
        self.grounder = grounder
        self.statements = grounder.reading.statements
        self.by_number = {statement.number: statement for statement in self.statements}
        self.defining: dict[str, list[Statement]] = {}
        for statement in self.statements:
            for head in statement.heads:
                self.defining.setdefault(signature(head), []).append(statement)
        self.networks = self._networks_behind()
        self.constants = {name: _parse(text) for name, text in request["constants"].items()}
        self.numbers = {name for name, told in grounder.reading.columns.items() if told["kind"] == "number"}
        self.neural = request["neural"]
        self.compares = request["compares"]
        self.tests = [
            (grounder.read_test(test["atom"]), frozenset((n, i) for n, i in test["instances"].items() if n != i))
            for test in request["tests"]
        ]
        self.names: dict[tuple[str, Binding], str] = {}
        self.taken = {entry.rsplit("/", 1)[0] for entry in self.defining} | set(grounder.reading.columns)
        self.held: set[str] = set()
        self.passes_numbers = self._numbers_are_passed()

    def _networks_behind(self) -> dict[str, frozenset[str]]:
        """For each predicate, the networks that its truth can depend on."""
        behind: dict[str, set[str]] = {predicate: set() for predicate in self.defining}
        changed = True
        while changed:
            changed = False
            for statement in self.statements:
                found = set() if statement.neural is None else {statement.neural.network}
                for goal in calls(statement.body):
                    found |= behind.get(signature(goal), set())
                for head in statement.heads:
                    if not found <= behind[signature(head)]:
                        behind[signature(head)] |= found
                        changed = True
        return {predicate: frozenset(found) for predicate, found in behind.items()}

    def _numbers_are_passed(self) -> bool:
        """Is a number column an argument somewhere, so that a comparison of variables may meet it?"""
        goals = [goal for goal, _ in self.tests]
        terms = [
            part for statement in self.statements for part in (*statement.heads, statement.body) if part is not None
        ]
        return any(_has_number_argument(term, self.numbers) for term in (*goals, *terms))

    def translate(self) -> dict[str, Any]:
        goals = [self._text(goal, binding) for goal, binding in self.tests]
        needed = self._needed()
        self._check_calls(needed)
        if self.compares:
            self._check_comparisons(needed)
        lines: list[str] = []
        for statement in self.statements:
            bindings = sorted(needed.get(statement.number, ()), key=sorted)
            if bindings:
                lines.extend(
                    self._neural(statement, bindings) if statement.neural else self._plain(statement, bindings)
                )
        imports = [f":- use_module(library({library}))." for library in LIBRARIES if self._calls_library(needed)]
        return {"goals": goals, "clauses": [*imports, *lines], "held": sorted(self.held)}

    def _calls_library(self, needed: Iterable[int]) -> bool:
        exported = self.grounder.vocabulary.known - OPEN_BUILTINS - CONTROL - self.grounder.reading.defined
        bodies = [self.by_number[number].body for number in needed]
        return any(signature(goal) in exported for body in bodies for goal in calls(body))

    def _restrict(self, binding: Binding, predicate: str) -> Binding:
        behind = self.networks.get(predicate, frozenset())
        return frozenset((network, instance) for network, instance in binding if network in behind)

    def _needed(self) -> dict[int, set[Binding]]:
        """Which statements the tests reach, and under which bindings."""
        needed: dict[int, set[Binding]] = {}
        asked = [(signature(called), binding) for goal, binding in self.tests for called in calls(goal)]
        waiting = [(predicate, self._restrict(binding, predicate)) for predicate, binding in asked]
        seen = set(waiting)
        while waiting:
            predicate, binding = waiting.pop()
            for statement in self.defining.get(predicate, ()):
                needed.setdefault(statement.number, set()).add(binding)
                others = [signature(head) for head in statement.heads]
                for other in (*(signature(goal) for goal in calls(statement.body)), *others):
                    reference = (other, self._restrict(binding, other))
                    if reference not in seen:
                        seen.add(reference)
                        waiting.append(reference)
        return needed

    def _check_calls(self, needed: Iterable[int]) -> None:
        """A goal that is only known when it is called cannot be renamed beforehand."""
        if not any(binding for _, binding in self.tests):
            return
        for number in needed:
            body = self.by_number[number].body
            built = [goal for goal in calls(body) if name_of(goal) == "=.." or calls_variable(goal)]
            if calls_variable(body):
                built.append(body)
            for goal in built:
                raise ExportError(
                    f"Line {self.by_number[number].line}: '{source(goal)}' calls a goal that is known only when it runs, "
                    "so the rules cannot be copied for several instances of a network; name the goal in the rule."
                )

    def _check_comparisons(self, needed: Iterable[int]) -> None:
        """A comparison that is put together when it is called cannot be replaced by the facts of a number column."""
        statements = [self.by_number[number] for number in needed]
        if not any(calls_variable(statement.body) for statement in statements):
            return
        goals = [(f"Line {s.line}", goal) for s in statements for goal in calls(s.body)]
        called = {signature(goal) for _, goal in goals}
        places = [*goals, *((f"Line {s.line}", head) for s in statements for head in s.heads)]
        places += [(f"Line {s.line}", prolog_list(list(s.neural.domain or ()))) for s in statements if s.neural]
        places += [(f"Test '{source(goal)}'", goal) for goal, _ in self.tests]
        for name, column in self.grounder.reading.columns.items():
            if f"{name}/1" in called and "values" in column:
                places.append((f"Column '{name}'", prolog_list([value_term(value) for value in column["values"]])))
        for place, goal in places:
            called_places = dict(META.get(signature(goal), ()))
            data = [argument for number, argument in enumerate(goal.args) if number not in called_places]
            # The first argument of compare/3 is an order, <, = or >, and is never called.
            found = next(
                (part for term in data[signature(goal) == "compare/3" :] for part in _operators_in(term)), None
            )
            if found is not None:
                raise ExportError(
                    f"{place}: {source(goal)} passes the comparison {source(found)} on as a term, and ProbLog cannot "
                    "compare number columns by it when it is called; write the comparison as a goal of its own rule."
                )

    def _name(self, predicate: str, binding: Binding) -> str:
        """The name of a predicate's copy for these instances."""
        restricted = self._restrict(binding, predicate)
        name = predicate.rsplit("/", 1)[0]
        if not restricted:
            return name
        key = (predicate, restricted)
        if key not in self.names:
            suffix = "_".join(plain_name(instance) for _, instance in sorted(restricted))
            self.names[key] = self._fresh(f"{name}__{suffix}")
        return self.names[key]

    def _fresh(self, wanted: str) -> str:
        candidates = itertools.chain([wanted], (f"{wanted}_{i}" for i in itertools.count(2)))
        fresh = next(name for name in candidates if name not in self.taken)
        self.taken.add(fresh)
        return fresh

    def _goal(self, goal: PrologTerm, binding: Binding, added: int = 0) -> PrologTerm:
        """A goal of a copy: predicates renamed, columns replaced, comparisons of number columns looked up."""
        if not isinstance(goal, Term) or isinstance(goal, (Var, Constant)):
            return goal
        if isinstance(goal, (And, Or)):
            return type(goal)(self._goal(goal.op1, binding), self._goal(goal.op2, binding))
        if isinstance(goal, Not):
            return Not(goal.functor, self._goal(goal.child, binding))
        if name_of(goal) in COMPARISONS and goal.arity + added == 2:
            compared = self._comparison(goal) if added == 0 else self._partial_comparison(goal)
            if compared is not None:
                return compared
        inner = dict(META.get(signature(goal), ()))
        arguments = [
            self._goal(argument, binding, inner[place]) if place in inner else self._data(argument)
            for place, argument in enumerate(goal.args)
        ]
        predicate = f"{name_of(goal)}/{goal.arity + added}"
        if predicate in self.defining:
            return Term(atom_text(self._name(predicate, binding)), *arguments)
        return goal.with_args(*arguments) if arguments else goal

    def _data(self, term: PrologTerm) -> PrologTerm:
        """An argument: the columns in it replaced."""
        return rewrite(term, lambda part: self.constants.get(name_of(part)) if _is_atom(part) else None)

    def _comparison(self, goal: PrologTerm) -> PrologTerm | None:
        left, right = goal.args
        operator = name_of(goal)
        for side, other, direction in ((left, right, operator), (right, left, FLIPPED[operator])):
            if _is_atom(side) and name_of(side) in self.numbers and not other.variables():
                constant = Constant(column_constant(other, self.grounder.engine))
                column = self.constants.get(name_of(side), Term(atom_text(name_of(side))))
                return Term(COMPARE, column, Term(f"'{direction}'"), constant)
        named = any(_is_atom(side) and name_of(side) in self.numbers for side in (left, right))
        if named or (self.passes_numbers and any(isinstance(side, Var) for side in (left, right))):
            self.held.add(operator)
            return Term(HOLDS, Term(f"'{operator}'"), self._data(left), self._data(right))
        return None

    def _partial_comparison(self, goal: PrologTerm) -> PrologTerm | None:
        """A comparison that gets the rest of its sides when it is called, as in `maplist(<(age), [40, 60])`."""
        if not self.numbers:
            return None
        self.held.add(name_of(goal))
        return Term(HOLDS, Term(f"'{name_of(goal)}'"), *(self._data(side) for side in goal.args))

    def _text(self, term: PrologTerm, binding: Binding) -> str:
        return source(self._goal(term, binding))

    def _body(self, statement: Statement, binding: Binding, values: dict[str, PrologTerm] | None = None) -> list[str]:
        if statement.body is None or (_is_atom(statement.body) and name_of(statement.body) == "true"):
            return []
        body = substitute(statement.body, values) if values else statement.body
        text = self._text(body, binding)
        return [f"({text})" if isinstance(body, Or) else text]

    def _plain(self, statement: Statement, bindings: list[Binding]) -> Iterator[str]:
        """A clause of the user's, once for each binding of what it looks through."""
        if statement.probabilities is None:
            for binding in bindings:
                yield _clause(self._text(statement.heads[0], binding), self._body(statement, binding))
        elif bindings == [frozenset()]:
            heads = (
                f"{source(p)}::{self._text(head, frozenset())}"
                for p, head in zip(statement.probabilities, statement.heads, strict=True)
            )
            yield _clause("; ".join(heads), self._body(statement, frozenset()))
        else:
            yield from self._shared_choice(statement, bindings)

    def _shared_choice(self, statement: Statement, bindings: list[Binding]) -> Iterator[str]:
        """Copies of a probabilistic clause toss one coin, which is therefore a fact of its own."""
        assert statement.probabilities is not None
        choice = self._fresh(f"choice_{statement.number}")
        picks = [_call(choice, [str(k), *statement.variables]) for k in range(len(statement.heads))]
        yield _clause(
            "; ".join(f"{source(p)}::{pick}" for p, pick in zip(statement.probabilities, picks, strict=True)), []
        )
        for binding in bindings:
            for head, pick in zip(statement.heads, picks, strict=True):
                yield _clause(self._text(head, binding), [*self._body(statement, binding), pick])

    def _neural(self, statement: Statement, bindings: list[Binding]) -> Iterator[str]:
        """The ground instances of a neural declaration."""
        assert statement.neural is not None
        head = statement.heads[0]
        predicate = signature(head)
        alone = self.networks[predicate] == frozenset({statement.neural.network})
        written: set[str] = set()
        for told in self.neural:
            if told["declaration"] != statement.number:
                continue
            instance = told["network"]
            values = {v: _parse(text) for v, text in zip(statement.variables, told["arguments"], strict=True)}
            if alone:
                own = frozenset({(statement.neural.network, instance)} if instance != statement.neural.network else ())
                written.add(self._name(predicate, own))
                heads = [self._text(substitute(h, values), own) for h in _outcomes(statement)]
                body = self._body(statement, own, values)
                if told["weights"] is None and not body:
                    yield self._declaration(statement, told, self._text(substitute(head, values), own))
                else:
                    yield from self._outcome(told, heads, body)
            else:
                choice = _choice_name(statement, instance)
                arguments = [canonical(self._data(values[v])) for v in statement.variables]
                picks = [_call(choice, [str(k), *arguments]) for k in range(len(_outcomes(statement)))]
                written.add(choice)
                yield from self._outcome(told, picks, [])
        yield from self._neural_rules(statement, bindings, alone, written)

    def _neural_rules(
        self, statement: Statement, bindings: list[Binding], alone: bool, written: set[str]
    ) -> Iterator[str]:
        """The rules that lead to shared outcomes, and a failing clause for what was never grounded."""
        assert statement.neural is not None
        head, network = statement.heads[0], statement.neural.network
        for binding in bindings:
            if alone:
                name = self._name(signature(head), binding)
                if name not in written:
                    written.add(name)
                    yield _clause(_call(atom_text(name), ["_"] * head.arity), ["fail"])
            else:
                choice = _choice_name(statement, dict(binding).get(network, network))
                for k, outcome in enumerate(_outcomes(statement)):
                    pick = _call(choice, [str(k), *statement.variables])
                    yield _clause(self._text(outcome, binding), [*self._body(statement, binding), pick])
                if choice not in written:
                    written.add(choice)
                    yield _clause(_call(choice, ["_"] * (len(statement.variables) + 1)), ["fail"])

    def _outcome(self, told: dict[str, Any], heads: list[str], body: list[str]) -> Iterator[str]:
        """One ground neural variable: its weights written in, or its network left in place."""
        weights = told["weights"]
        if weights is not None:
            chosen = weights[1:] if len(heads) == 1 else weights
            yield _clause("; ".join(f"{weight!r}::{head}" for weight, head in zip(chosen, heads, strict=True)), body)
            return
        # What the network sees becomes a predicate of its own; which head that is, is then a matter of logic.
        seen = self._fresh("seen")
        if len(heads) == 1:
            yield f"nn({self._reads(told)})::{seen}."
            yield _clause(heads[0], [*body, seen])
            return
        places = ", ".join(str(k) for k in range(len(heads)))
        yield f"nn({self._reads(told)}, K, [{places}])::{seen}(K)."
        for k, head in enumerate(heads):
            yield _clause(head, [*body, f"{seen}({k})"])

    def _declaration(self, statement: Statement, told: dict[str, Any], head: str) -> str:
        """A neural declaration as the user would write it for one ground use of a network."""
        neural = statement.neural
        assert neural is not None
        if neural.domain is None:
            return f"nn({self._reads(told)})::{head}."
        return f"nn({self._reads(told)}, {neural.output}, [{', '.join(map(canonical, neural.domain))}])::{head}."

    def _reads(self, told: dict[str, Any]) -> str:
        inputs = (source(self._data(Term(atom_text(name)))) for name in told["inputs"])
        return f"{plain_name(told['network'])}, [{', '.join(inputs)}]"


def _outcomes(statement: Statement) -> list[PrologTerm]:
    """The heads that a neural declaration chooses from."""
    neural = statement.neural
    assert neural is not None
    if neural.domain is None:
        return [statement.heads[0]]
    return [substitute(statement.heads[0], {str(neural.output): value}) for value in neural.domain]


def _choice_name(statement: Statement, instance: str) -> str:
    return f"choice_{statement.number}__{plain_name(instance)}"


def _clause(head: str, body: list[str]) -> str:
    return f"{head} :- {', '.join(body)}." if body else f"{head}."


def _call(name: str, arguments: Iterable[str]) -> str:
    inside = ", ".join(arguments)
    return f"{name}({inside})" if inside else name


def _is_atom(term: PrologTerm) -> bool:
    return isinstance(term, Term) and not isinstance(term, (Var, Constant)) and term.arity == 0


def _operators_in(term: PrologTerm) -> Iterator[PrologTerm]:
    """The comparisons in a term, whole or only their names."""
    waiting = [term]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Term) and not isinstance(part, (Var, Constant)):
            if name_of(part) in COMPARISONS and part.arity <= 2:
                yield part
            waiting.extend(part.args)


def _has_number_argument(term: PrologTerm, numbers: set[str], compared: bool = False) -> bool:
    if not isinstance(term, Term) or isinstance(term, (Var, Constant)):
        return False
    if term.arity == 0:
        return not compared and name_of(term) in numbers
    comparing = name_of(term) in COMPARISONS
    return any(_has_number_argument(argument, numbers, comparing) for argument in term.args)


def _parse(text: str) -> PrologTerm:
    return normalised(Term.from_string(text), itertools.count())
