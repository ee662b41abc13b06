"""Translation of rules for export, with a predicate for each network instance and a value for each column.

Rules are copied once for each instance of the networks that they depend on. Where a tree uses one instance of each
network, the exported rules are the user's own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from problog.logic import And, Constant, Not, Or, Term, Var

from neuid3.errors import ExportError
from neuid3.logic.formula import FLIPPED
from neuid3.logic.prolog.arithmetic import column_constant
from neuid3.logic.prolog.engine import CONTROL, LIBRARIES, OPEN_BUILTINS
from neuid3.logic.prolog.grounder import Grounder, substitute
from neuid3.logic.prolog.library import LIBRARY_START
from neuid3.logic.prolog.reader import Statement
from neuid3.logic.prolog.terms import (
    COMPARISONS,
    META,
    PrologTerm,
    calls,
    calls_variable,
    canonical,
    list_parts,
    name_of,
    normalised,
    prolog_list,
    rewrite,
    signature,
    source,
    value_term,
)
from neuid3.logic.quoting import atom_text, plain_name

# Pairs of a network and the instance that replaces it; a network without a pair is its own instance.
Binding = frozenset[tuple[str, str]]

HOLDS, COMPARE, IS = "neuid3_holds", "neuid3_compare", "neuid3_is"


def translate(grounder: Grounder, request: dict[str, Any]) -> dict[str, Any]:
    """The clauses and test goals of a tree, as text.

    Parameters
    ----------
    grounder : the grounder of the program.
    request : its fields are `tests`, goals with their `instances`; `neural`, the ground neural variables, each with the
        `weights` that replace its network, or None to keep the network; `constants`, terms that replace column names;
        `compares`, whether the tests compare a number column; and `calculates`, whether they compare expressions.

    Returns
    -------
    A dictionary with the `goals` of the tests, the `clauses`, the predicates `defined` for tests that are no atoms, and
    `held`, the comparison operators whose facts the clauses need. Where the tests calculate, `calculated` has all
    comparisons that are called: an operator, both sides as text, and the node of the formula.
    """
    return _Translator(grounder, request).translate()


class _Translator:
    """The state of one translation: names in use, bindings of the tests, and columns as terms."""

    def __init__(self, grounder: Grounder, request: dict[str, Any]) -> None:
        self.grounder = grounder
        self.statements = (*grounder.parsed.statements, *grounder.parsed.library)
        self.counting = grounder.parsed.counting
        self.by_number = {statement.number: statement for statement in self.statements}
        self.defining: dict[str, list[Statement]] = {}
        for statement in self.statements:
            for head in statement.heads:
                self.defining.setdefault(signature(head), []).append(statement)
        self.networks = self._networks_behind()
        self.constants = {name: _parse(text) for name, text in request["constants"].items()}
        self.numbers = {name for name, column in grounder.parsed.columns.items() if column["kind"] == "number"}
        self.neural = request["neural"]
        self.compares = request["compares"]
        self.calculates = request["calculates"] or self._calculates_columns()
        self.tests = [
            (
                grounder.read_test(test["goal"], compound=True),
                frozenset((n, i) for n, i in test["instances"].items() if n != i),
            )
            for test in request["tests"]
        ]
        self.names: dict[tuple[str, Binding], str] = {}
        self.taken = {entry.rsplit("/", 1)[0] for entry in self.defining} | set(grounder.parsed.columns)
        self.held: set[str] = set()
        self.passes_numbers = self._numbers_are_passed()

    def _networks_behind(self) -> dict[str, frozenset[str]]:
        """For each predicate, the networks that it can depend on."""
        behind: dict[str, set[str]] = {predicate: set() for predicate in self.defining}
        changed = True
        while changed:
            changed = False
            for statement in self.statements:
                networks = set() if statement.neural is None else {statement.neural.network}
                for goal in calls(statement.body, self.counting):
                    networks |= behind.get(signature(goal), set())
                for head in statement.heads:
                    if not networks <= behind[signature(head)]:
                        behind[signature(head)] |= networks
                        changed = True
        return {predicate: frozenset(networks) for predicate, networks in behind.items()}

    def _calculates_columns(self) -> bool:
        """Whether a rule has a column on the right of `is`, which may be nothing but the column: `size(S) :- S is height`."""
        goals = (goal for statement in self.statements for goal in calls(statement.body, self.counting))
        return any(signature(goal) == "is/2" and self._has_column(goal.args[1]) for goal in goals)

    def _numbers_are_passed(self) -> bool:
        """Whether a number column is an argument somewhere, so that a comparison of variables may concern it."""
        goals = [goal for goal, _ in self.tests]
        terms = [
            part for statement in self.statements for part in (*statement.heads, statement.body) if part is not None
        ]
        return any(_has_number_argument(term, self.numbers) for term in (*goals, *terms))

    def translate(self) -> dict[str, Any]:
        goals = [self._text(goal, binding) for goal, binding in self.tests]
        definitions: dict[str, str] = {}
        for i, (goal, _) in enumerate(self.tests):
            if isinstance(goal, (And, Or, Not)) or goal.variables():  # negated, it needs a name
                name = self._fresh(f"test_{i + 1}")
                definitions[name] = _clause(name, [goals[i]])
                goals[i] = name
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
        clauses = [*imports, *lines, *definitions.values()]
        return {
            "goals": goals,
            "clauses": clauses,
            "defined": list(definitions),
            "held": sorted(self.held),
            "calculated": self._calculated() if self.calculates else [],
        }

    def _calculated(self) -> list[list[Any]]:
        """The comparisons that are called while the tests are grounded, each once."""
        raw = self.grounder.comparisons([goal for goal, _ in self.tests])
        entries = [[r.operator, source(self._data(r.left)), source(self._data(r.right)), r.node] for r in raw]
        return list({tuple(entry[:3]): entry for entry in entries}.values())

    def _calls_library(self, needed: Iterable[int]) -> bool:
        own = self.grounder.parsed.defined | self.grounder.parsed.library_predicates
        exported = self.grounder.vocabulary.known - OPEN_BUILTINS - CONTROL - own
        bodies = [self.by_number[number].body for number in needed]
        return any(signature(goal) in exported for body in bodies for goal in calls(body, self.counting))

    def _restrict(self, binding: Binding, predicate: str) -> Binding:
        behind = self.networks.get(predicate, frozenset())
        return frozenset((network, instance) for network, instance in binding if network in behind)

    def _needed(self) -> dict[int, set[Binding]]:
        """The numbers of the statements that the tests can call, with their bindings."""
        needed: dict[int, set[Binding]] = {}
        called = [(signature(call), binding) for goal, binding in self.tests for call in calls(goal, self.counting)]
        waiting = [(predicate, self._restrict(binding, predicate)) for predicate, binding in called]
        visited = set(waiting)
        while waiting:
            predicate, binding = waiting.pop()
            for statement in self.defining.get(predicate, ()):
                needed.setdefault(statement.number, set()).add(binding)
                others = [signature(head) for head in statement.heads]
                for other in (*(signature(goal) for goal in calls(statement.body, self.counting)), *others):
                    reference = (other, self._restrict(binding, other))
                    if reference not in visited:
                        visited.add(reference)
                        waiting.append(reference)
        return needed

    def _check_calls(self, needed: Iterable[int]) -> None:
        """Raise an `ExportError` where a goal is known only at run time, and therefore cannot be renamed."""
        if not any(binding for _, binding in self.tests):
            return
        for number in needed:
            if number >= LIBRARY_START:  # its goals are renamed where they are listed
                continue
            body = self.by_number[number].body
            built = [
                goal
                for goal in calls(body, self.counting)
                if name_of(goal) == "=.." or calls_variable(goal, self.counting)
            ]
            if calls_variable(body, self.counting):
                built.append(body)
            for goal in built:
                raise ExportError(
                    f"Line {self.by_number[number].line}: '{source(goal)}' calls a goal that is known only when it runs, "
                    "so the rules cannot be copied for several instances of a network; name the goal in the rule."
                )

    def _check_comparisons(self, needed: Iterable[int]) -> None:
        """Raise an `ExportError` where a comparison of a number column may be built at run time."""
        statements = [self.by_number[number] for number in needed if number < LIBRARY_START]
        if not any(calls_variable(statement.body, self.counting) for statement in statements):
            return
        goals = [(f"Line {s.line}", goal) for s in statements for goal in calls(s.body, self.counting)]
        called = {signature(goal) for _, goal in goals}
        located = [*goals, *((f"Line {s.line}", head) for s in statements for head in s.heads)]
        located += [(f"Line {s.line}", prolog_list(list(s.neural.domain or ()))) for s in statements if s.neural]
        located += [(f"Test '{source(goal)}'", goal) for goal, _ in self.tests]
        for name, column in self.grounder.parsed.columns.items():
            if f"{name}/1" in called and "values" in column:
                located.append((f"Column '{name}'", prolog_list([value_term(value) for value in column["values"]])))
        for location, goal in located:
            goal_positions = dict(META.get(signature(goal), ()))
            if signature(goal) in self.counting:
                goal_positions[goal.arity - 1] = 0
            data = [argument for position, argument in enumerate(goal.args) if position not in goal_positions]
            # The first argument of compare/3 is an order, <, = or >, and is never called.
            comparison = next(
                (part for term in data[signature(goal) == "compare/3" :] for part in _operators_in(term)), None
            )
            if comparison is not None:
                raise ExportError(
                    f"{location}: {source(goal)} passes the comparison {source(comparison)} on as a term, and ProbLog cannot "
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

    def _fresh(self, base: str) -> str:
        """A name that is not taken: this one, or this one with a number."""
        candidates = itertools.chain([base], (f"{base}_{i}" for i in itertools.count(2)))
        fresh = next(name for name in candidates if name not in self.taken)
        self.taken.add(fresh)
        return fresh

    def _goal(self, goal: PrologTerm, binding: Binding, added: int = 0) -> PrologTerm:
        """A goal of a copy: predicates renamed, columns replaced, comparisons of number columns replaced by facts."""
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
        if (
            self.calculates
            and signature(goal) == "is/2"
            and (goal.args[1].variables() or self._has_column(goal.args[1]))
        ):
            return Term(IS, *(self._data(side) for side in goal.args))
        inner = dict(META.get(signature(goal), ()))
        arguments = [
            self._goal(argument, binding, inner[position]) if position in inner else self._data(argument)
            for position, argument in enumerate(goal.args)
        ]
        if signature(goal) in self.counting:
            goals, rest = list_parts(goal.args[-1])
            if rest is None:
                arguments[-1] = prolog_list([self._goal(part, binding) for part in goals])
        predicate = f"{name_of(goal)}/{goal.arity + added}"
        if predicate in self.defining:
            return Term(atom_text(self._name(predicate, binding)), *arguments)
        return goal.with_args(*arguments) if arguments else goal

    def _data(self, term: PrologTerm) -> PrologTerm:
        """An argument with its columns replaced."""
        return rewrite(term, lambda part: self.constants.get(name_of(part)) if _is_atom(part) else None)

    def _has_column(self, term: PrologTerm) -> bool:
        return self.grounder.arithmetic.has_column(term)

    def _comparison(self, goal: PrologTerm) -> PrologTerm | None:
        left, right = goal.args
        operator = name_of(goal)
        if self.calculates:
            if not any(side.variables() or self._has_column(side) for side in (left, right)):
                return None
            self.held.add(operator)
            return Term(HOLDS, Term(f"'{operator}'"), self._data(left), self._data(right))
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
        """A comparison that gets its other arguments when it is called, as in `maplist(<(age), [40, 60])`."""
        if not self.numbers:
            return None
        self.held.add(name_of(goal))
        return Term(HOLDS, Term(f"'{name_of(goal)}'"), *(self._data(side) for side in goal.args))

    def _text(self, term: PrologTerm, binding: Binding) -> str:
        return source(self._goal(term, binding))

    def _body(self, statement: Statement, binding: Binding, values: dict[str, PrologTerm] | None = None) -> list[str]:
        if statement.body is None or (_is_atom(statement.body) and name_of(statement.body) == "true"):
            return []
        if statement.number >= LIBRARY_START:
            return [source(statement.body)]
        body = substitute(statement.body, values) if values else statement.body
        text = self._text(body, binding)
        return [f"({text})" if isinstance(body, Or) else text]

    def _plain(self, statement: Statement, bindings: list[Binding]) -> Iterator[str]:
        """A clause of the user, once for each binding of the networks that it depends on."""
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
        """Copies of a probabilistic clause, which share one random choice as a fact of its own."""
        assert statement.probabilities is not None
        choice = self._fresh(f"choice_{statement.number}")
        choices = [_call(choice, [str(k), *statement.variables]) for k in range(len(statement.heads))]
        yield _clause(
            "; ".join(f"{source(p)}::{chosen}" for p, chosen in zip(statement.probabilities, choices, strict=True)), []
        )
        for binding in bindings:
            for head, chosen in zip(statement.heads, choices, strict=True):
                yield _clause(self._text(head, binding), [*self._body(statement, binding), chosen])

    def _neural(self, statement: Statement, bindings: list[Binding]) -> Iterator[str]:
        """The ground instances of a neural declaration."""
        assert statement.neural is not None
        head = statement.heads[0]
        predicate = signature(head)
        alone = self.networks[predicate] == frozenset({statement.neural.network})
        written: set[str] = set()
        for variable in self.neural:
            if variable["declaration"] != statement.number:
                continue
            instance = variable["network"]
            values = {v: _parse(text) for v, text in zip(statement.variables, variable["arguments"], strict=True)}
            if alone:
                own = frozenset({(statement.neural.network, instance)} if instance != statement.neural.network else ())
                written.add(self._name(predicate, own))
                heads = [self._text(substitute(h, values), own) for h in _outcomes(statement)]
                body = self._body(statement, own, values)
                if variable["weights"] is None and not body:
                    yield self._declaration(statement, variable, self._text(substitute(head, values), own))
                else:
                    yield from self._outcome(variable, heads, body)
            else:
                choice = _choice_name(statement, instance)
                arguments = [canonical(self._data(values[v])) for v in statement.variables]
                choices = [_call(choice, [str(k), *arguments]) for k in range(len(_outcomes(statement)))]
                written.add(choice)
                yield from self._outcome(variable, choices, [])
        yield from self._neural_rules(statement, bindings, alone, written)

    def _neural_rules(
        self, statement: Statement, bindings: list[Binding], alone: bool, written: set[str]
    ) -> Iterator[str]:
        """The rules from shared choices to heads, and a failing clause for predicates without ground instances."""
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
                    chosen = _call(choice, [str(k), *statement.variables])
                    yield _clause(self._text(outcome, binding), [*self._body(statement, binding), chosen])
                if choice not in written:
                    written.add(choice)
                    yield _clause(_call(choice, ["_"] * (len(statement.variables) + 1)), ["fail"])

    def _outcome(self, variable: dict[str, Any], heads: list[str], body: list[str]) -> Iterator[str]:
        """The clauses of one ground neural variable, with its weights or with its network."""
        weights = variable["weights"]
        if weights is not None:
            probabilities = weights[1:] if len(heads) == 1 else weights
            choices = (f"{weight!r}::{head}" for weight, head in zip(probabilities, heads, strict=True))
            yield _clause("; ".join(choices), body)
            return
        # The network's output becomes a predicate of its own, from which rules derive the heads.
        output = self._fresh("seen")
        if len(heads) == 1:
            yield f"nn({self._reads(variable)})::{output}."
            yield _clause(heads[0], [*body, output])
            return
        numbers = ", ".join(str(k) for k in range(len(heads)))
        yield f"nn({self._reads(variable)}, K, [{numbers}])::{output}(K)."
        for k, head in enumerate(heads):
            yield _clause(head, [*body, f"{output}({k})"])

    def _declaration(self, statement: Statement, variable: dict[str, Any], head: str) -> str:
        """A neural declaration in the user's form, for one ground neural variable."""
        neural = statement.neural
        assert neural is not None
        if neural.domain is None:
            return f"nn({self._reads(variable)})::{head}."
        return f"nn({self._reads(variable)}, {neural.output}, [{', '.join(map(canonical, neural.domain))}])::{head}."

    def _reads(self, variable: dict[str, Any]) -> str:
        inputs = (source(self._data(Term(atom_text(name)))) for name in variable["inputs"])
        return f"{plain_name(variable['network'])}, [{', '.join(inputs)}]"


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
