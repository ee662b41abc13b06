"""How do the rules read when every network instance has a name of its own and every column a value?

Rules are copied for each instance of the networks they look through, and only then: where a tree uses one
instance of each network, its program is the user's own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from problog.logic import And, Constant, Not, Or, Term, Var, is_list, term2list

from neuid3.logic.formula import FLIPPED
from neuid3.logic.prolog.grounder import Grounder, substitute
from neuid3.logic.prolog.reader import CONTROL, LIBRARIES, OPEN_BUILTINS, Statement
from neuid3.logic.prolog.terms import COMPARISONS, PrologTerm, calls, name_of, rewrite, signature
from neuid3.logic.spelling import atom_text, plain_name

# Which instance stands for a network, where it is not the network itself.
Binding = frozenset[tuple[str, str]]

HOLDS, COMPARE = "neuid3_holds", "neuid3_compare"


def translate(grounder: Grounder, request: dict[str, Any]) -> dict[str, Any]:
    """The clauses and test goals of a tree, as text.

    `tests` are atoms with their `instances`; `neural` are the ground neural variables, each with the `weights`
    to write in, or None to leave the network in its place; `constants` replaces column names by other terms.
    """
    return _Translator(grounder, request).translate()


class _Translator:
    def __init__(self, grounder: Grounder, request: dict[str, Any]) -> None:
        self.grounder = grounder
        self.statements = grounder.reading.statements
        self.by_number = {statement.number: statement for statement in self.statements}
        self.by_name: dict[str, list[Statement]] = {}
        for statement in self.statements:
            for head in statement.heads:
                self.by_name.setdefault(name_of(head), []).append(statement)
        self.networks = self._networks_behind()
        self.constants = {name: _parse(text) for name, text in request["constants"].items()}
        self.numbers = {name for name, told in grounder.reading.columns.items() if told["kind"] == "number"}
        self.neural = request["neural"]
        self.tests = [
            (grounder.read_test(test["atom"]), frozenset((n, i) for n, i in test["instances"].items() if n != i))
            for test in request["tests"]
        ]
        self.names: dict[tuple[str, Binding], str] = {}
        self.taken = set(self.by_name) | set(grounder.reading.columns)
        self.held: set[str] = set()
        self.passes_numbers = self._numbers_are_passed()

    def _networks_behind(self) -> dict[str, frozenset[str]]:
        """For each predicate name, the networks that its truth can depend on."""
        behind: dict[str, set[str]] = {name: set() for name in self.by_name}
        changed = True
        while changed:
            changed = False
            for statement in self.statements:
                found = set() if statement.neural is None else {statement.neural.network}
                for name in _names(statement.body):
                    found |= behind.get(name, set())
                for head in statement.heads:
                    if not found <= behind[name_of(head)]:
                        behind[name_of(head)] |= found
                        changed = True
        return {name: frozenset(found) for name, found in behind.items()}

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

    def _restrict(self, binding: Binding, name: str) -> Binding:
        behind = self.networks.get(name, frozenset())
        return frozenset((network, instance) for network, instance in binding if network in behind)

    def _needed(self) -> dict[int, set[Binding]]:
        """Which statements the tests reach, and under which bindings."""
        needed: dict[int, set[Binding]] = {}
        waiting = [(name, self._restrict(binding, name)) for goal, binding in self.tests for name in _names(goal)]
        seen = set(waiting)
        while waiting:
            name, binding = waiting.pop()
            for statement in self.by_name.get(name, ()):
                needed.setdefault(statement.number, set()).add(binding)
                others = [name_of(head) for head in statement.heads if statement.neural is None]
                for other in (*_names(statement.body), *others):
                    reference = (other, self._restrict(binding, other))
                    if reference not in seen:
                        seen.add(reference)
                        waiting.append(reference)
        return needed

    def _name(self, name: str, binding: Binding) -> str:
        """The name of a predicate's copy for these instances."""
        restricted = self._restrict(binding, name)
        if not restricted:
            return name
        key = (name, restricted)
        if key not in self.names:
            suffix = "_".join(plain_name(instance) for _, instance in sorted(restricted))
            self.names[key] = self._fresh(f"{name}__{suffix}")
        return self.names[key]

    def _fresh(self, wanted: str) -> str:
        candidates = itertools.chain([wanted], (f"{wanted}_{i}" for i in itertools.count(2)))
        fresh = next(name for name in candidates if name not in self.taken)
        self.taken.add(fresh)
        return fresh

    def _change(self, term: PrologTerm, binding: Binding) -> PrologTerm:
        """A term of a copy: predicates renamed, columns replaced, comparisons of number columns looked up."""

        def change(part: PrologTerm) -> PrologTerm | None:
            if isinstance(part, (Var, Constant, And, Or, Not)):
                return None
            name = name_of(part)
            if name in COMPARISONS and part.arity == 2:
                compared = self._comparison(part)
                if compared is not None:
                    return compared
            if part.arity == 0 and name in self.constants:
                return self.constants[name]
            if name in self.by_name:
                arguments = [self._change(argument, binding) for argument in part.args]
                return Term(atom_text(self._name(name, binding)), *arguments)
            return None

        return rewrite(term, change)

    def _comparison(self, goal: PrologTerm) -> PrologTerm | None:
        left, right = goal.args
        operator = name_of(goal)
        for side, other, direction in ((left, right, operator), (right, left, FLIPPED[operator])):
            if _is_atom(side) and name_of(side) in self.numbers and not other.variables():
                constant = Constant(float(other.compute_value()))
                column = self.constants.get(name_of(side), Term(atom_text(name_of(side))))
                return Term(COMPARE, column, Term(f"'{direction}'"), constant)
        open_ended = any(isinstance(s, Var) or (_is_atom(s) and name_of(s) in self.numbers) for s in (left, right))
        if self.passes_numbers and open_ended:
            self.held.add(operator)
            return Term(HOLDS, *(self._change(s, frozenset()) for s in (left, Term(f"'{operator}'"), right)))
        return None

    def _text(self, term: PrologTerm, binding: Binding) -> str:
        return str(self._change(term, binding))

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
                f"{self._text(p, frozenset())}::{self._text(head, frozenset())}"
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
        yield _clause("; ".join(f"{p}::{pick}" for p, pick in zip(statement.probabilities, picks, strict=True)), [])
        for binding in bindings:
            for head, pick in zip(statement.heads, picks, strict=True):
                yield _clause(self._text(head, binding), [*self._body(statement, binding), pick])

    def _neural(self, statement: Statement, bindings: list[Binding]) -> Iterator[str]:
        """The ground instances of a neural declaration."""
        assert statement.neural is not None
        head = statement.heads[0]
        name = name_of(head)
        alone = self.networks[name] == frozenset({statement.neural.network})
        written: set[str] = set()
        for told in self.neural:
            if told["declaration"] != statement.number:
                continue
            instance = told["network"]
            values = {v: _parse(text) for v, text in zip(statement.variables, told["arguments"], strict=True)}
            if alone:
                own = frozenset({(statement.neural.network, instance)} if instance != statement.neural.network else ())
                written.add(self._name(name, own))
                heads = [self._text(substitute(h, values), own) for h in _outcomes(statement)]
                body = self._body(statement, own, values)
                if told["weights"] is None and not body:
                    yield self._declaration(statement, told, self._text(substitute(head, values), own))
                else:
                    yield from self._outcome(told, heads, body)
            else:
                choice = _choice_name(statement, instance)
                arguments = [str(self._change(values[v], frozenset())) for v in statement.variables]
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
                name = self._name(name_of(head), binding)
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
        return f"nn({self._reads(told)}, {neural.output}, [{', '.join(map(str, neural.domain))}])::{head}."

    def _reads(self, told: dict[str, Any]) -> str:
        inputs = (str(self._change(Term(atom_text(name)), frozenset())) for name in told["inputs"])
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


def _names(term: PrologTerm | None) -> list[str]:
    """Every name in a term that could be a predicate, also inside arguments, where `call` may find it."""
    if term is None or not isinstance(term, Term) or isinstance(term, (Var, Constant)):
        return []
    if is_list(term):
        return [name for item in term2list(term, False) for name in _names(item)]
    return [name_of(term), *(name for argument in term.args for name in _names(argument))]


def _has_number_argument(term: PrologTerm, numbers: set[str], compared: bool = False) -> bool:
    if not isinstance(term, Term) or isinstance(term, (Var, Constant)):
        return False
    if term.arity == 0:
        return not compared and name_of(term) in numbers
    comparing = name_of(term) in COMPARISONS
    return any(_has_number_argument(argument, numbers, comparing) for argument in term.args)


def _parse(text: str) -> PrologTerm:
    return Term.from_string(text)
