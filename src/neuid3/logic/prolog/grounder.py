"""Grounding of tests by ProbLog into formula graphs."""

from __future__ import annotations

import re
from typing import Any

from problog.errors import ProbLogError
from problog.formula import LogicDAG, LogicFormula
from problog.logic import AnnotatedDisjunction, Clause, Constant, Term, Var, term2list

from neuid3.errors import NodeTestError, RuleError, did_you_mean
from neuid3.logic.prolog.arithmetic import Arithmetic, RawComparison
from neuid3.logic.prolog.checks import check_calls, read_test, unbound_problem
from neuid3.logic.prolog.engine import CLOSED_IN_LIBRARIES, CONTROL, LIBRARIES, OPEN_BUILTINS, ClosedEngine
from neuid3.logic.prolog.reader import (
    ParsedProgram,
    Statement,
    Vocabulary,
    fact_signature,
    numbers_of,
    read,
    with_newlines,
)
from neuid3.logic.prolog.terms import (
    PrologTerm,
    calls,
    canonical,
    name_of,
    prolog_list,
    rewrite,
    signature,
    source,
    value_term,
)
from neuid3.logic.quoting import atom_text


class Grounder:
    """A parsed and checked program that grounds tests.

    Parameters
    ----------
    text : the program.
    columns : for each column its kind, and its values where it has a finite domain.

    Raises
    ------
    SyntaxErrorInProgram, RuleError : where the program cannot be parsed or a clause is invalid.
    """

    def __init__(self, text: str, columns: dict[str, dict[str, Any]]) -> None:
        self.text = with_newlines(text)
        self.parsed = read(self.text, columns)
        self.grounded = 0  # tests so far
        self.engine = ClosedEngine()
        closed = frozenset(self.engine.get_builtins()) - OPEN_BUILTINS
        self.database = self.engine.with_libraries(LIBRARIES, self.parsed.defined)
        self.vocabulary = Vocabulary(self._known(), closed)
        self.arithmetic = Arithmetic(numbers_of(columns))
        self.arithmetic.install(self.engine)
        check_calls(self.parsed, self.vocabulary)
        for name, column in columns.items():
            if fact_signature(name, column):
                self.database.add_clause(_column_clause(name, column))
        for statement in (*self.parsed.statements, *self.parsed.library):
            self.database.add_clause(_tagged(statement))

    def _known(self) -> frozenset[str]:
        """The predicates that a rule may call: the program's, the open built-ins, and those that the libraries export."""
        exported = set()
        for node in self.database.iter_nodes():
            if type(node).__name__ in ("define", "extern"):
                # ProbLog calls member/2 of library(lists) '_lists_member' and redirects member/2 to it.
                name = re.sub(f"^_({'|'.join(LIBRARIES)}|builtin)_", "", node.functor)
                internal = name.startswith(("_", "$"))
                if not internal and self.database.find(Term(name, *[None] * node.arity)) is not None:
                    exported.add(f"{name}/{node.arity}")
        own = self.parsed.defined | self.parsed.library_predicates
        return frozenset(exported) - CLOSED_IN_LIBRARIES | OPEN_BUILTINS | CONTROL | own

    def read_test(self, text: str, compound: bool = False) -> PrologTerm:
        """A test as a ground atom, or as any body of a rule where `compound`; a `NodeTestError` where it is none."""
        return read_test(text, self.parsed, self.vocabulary, compound)

    def ground(self, texts: list[str]) -> dict[str, Any]:
        """The formulas of these tests as one graph, in the JSON fields `variables`, `nodes` and `roots` (one per test)."""
        formula = LogicFormula()
        first = self.grounded
        self.grounded += len(texts)
        for number, text in enumerate(texts, first):
            goal = self.read_test(text)
            head = Term("'$test'", Constant(number))
            self.database.add_clause(Clause(head, goal))
            try:
                self.engine.ground(self.database, head, target=formula, label=LogicFormula.LABEL_QUERY)
            except ProbLogError as error:
                raise NodeTestError(
                    f"Test {text!r} cannot be grounded: {grounding_problem(error)}{self._quoting_hint()}"
                ) from None
        try:
            graph = LogicDAG.create_from(formula)
        except ProbLogError as error:
            raise RuleError(f"The rules cannot be turned into a formula: {grounding_problem(error)}") from None
        roots = {int(name.args[0]): node for name, node in graph.queries()}
        return _GraphSerializer(self.parsed, self.arithmetic.nodes).serialize(
            graph, [roots[number] for number in range(first, self.grounded)]
        )

    def comparisons(self, goals: list[PrologTerm]) -> list[RawComparison]:
        """All comparisons with number columns that are called while these goals are grounded."""
        recorded: list[RawComparison] = []
        self.arithmetic.recorded = recorded
        try:
            for goal in goals:
                self.grounded += 1
                head = Term("'$test'", Constant(-self.grounded))
                self.database.add_clause(Clause(head, goal))
                self.engine.ground(self.database, head, target=LogicFormula(), label=LogicFormula.LABEL_QUERY)
        finally:
            self.arithmetic.recorded = None
        return recorded

    def _quoting_hint(self) -> str:
        """A hint where a rule has a variable with the name of a column, which may be meant in its place, or compares an unbound one."""
        for statement in self.parsed.statements:
            for name in sorted(set(statement.variables) & set(self.parsed.columns)):
                return f" In line {statement.line}, {name} is a variable; if the column is meant, put it in quotes: '{name}'."
        for statement in self.parsed.statements:
            for goal in calls(statement.body, self.parsed.counting):
                problem = unbound_problem(goal, statement, self.parsed.columns)
                if problem is not None:
                    return f" In line {statement.line}, the rule for '{signature(statement.heads[0])}' {problem}"
        return ""


def grounding_problem(error: ProbLogError) -> str:
    """Why ProbLog could not ground a goal, as the rest of a sentence."""
    text = getattr(error, "base_message", str(error))
    if re.search(r"Unknown function '[^']*'/0", text):
        return (
            f"{text}; predicates of libraries calculate with constants only, so write the arithmetic in the rule, as in "
            "a + b > 3."
        )
    if type(error).__name__ == "NegativeCycle":
        return "a rule depends on its own negation; break that cycle."
    if type(error).__name__ == "UnknownClause" and getattr(error, "signature", "") in ("->/2", "*->/2"):
        return "ProbLog does not have '->'; for (a -> b ; c) write (a, b ; \\+ a, c)."
    if "Unknown clause" in text or type(error).__name__ == "UnknownClause":
        return f"{text}: nothing defines it, or it is closed to programs."
    return f"{text}."


def _column_clause(name: str, column: dict[str, Any]) -> PrologTerm:
    """A column as an annotated disjunction whose weights encode the column and the value."""
    atom = Term(atom_text(name))
    if column["kind"] in ("boolean", "probability"):
        heads = [atom.with_probability(Term("'$column'", atom, Constant(1)))]
    else:
        heads = [
            Term(atom_text(name), value_term(value)).with_probability(Term("'$column'", atom, Constant(code)))
            for code, value in enumerate(column["values"])
        ]
    return AnnotatedDisjunction(heads, Term("true"))


def _tagged(statement: Statement) -> PrologTerm:
    """The clause with weights that encode the clause, the head and the ground instance."""
    body = statement.body if statement.body is not None else Term("true")
    instance = prolog_list([Var(name) for name in statement.variables])
    number = Constant(statement.number)
    if statement.neural is not None:
        neural = statement.neural
        inputs = prolog_list(list(neural.inputs))
        tags = [Term("'$neural'", number, Constant(k), inputs, instance) for k in range(neural.size)]
        if neural.domain is None:
            heads = [statement.heads[0].with_probability(tags[1])]
        else:
            heads = [
                substitute(statement.heads[0], {str(neural.output): value}).with_probability(tag)
                for value, tag in zip(neural.domain, tags, strict=True)
            ]
        return AnnotatedDisjunction(heads, body)
    if statement.probabilities is not None:
        weights = prolog_list(list(statement.probabilities))
        tags = [Term("'$choice'", number, Constant(k), weights, instance) for k in range(len(statement.heads))]
        heads = [head.with_probability(tag) for head, tag in zip(statement.heads, tags, strict=True)]
        return AnnotatedDisjunction(heads, body)
    return Clause(statement.heads[0], body)


def substitute(term: PrologTerm, values: dict[str, PrologTerm]) -> PrologTerm:
    """The term with these variables replaced."""
    return rewrite(term, lambda part: values.get(str(part), part) if isinstance(part, Var) else None)


def _heads(statement: Statement, instance: list[PrologTerm]) -> list[str]:
    """The heads of a ground instance of a clause as text, without the argument that is a network's output."""
    values = dict(zip(statement.variables, instance, strict=True))
    output = None if statement.neural is None else str(statement.neural.output)
    heads = []
    for head in statement.heads:
        arguments = [source(substitute(part, values)) for part in head.args if str(part) != output]
        heads.append(f"{head.functor}({', '.join(arguments)})" if arguments else str(head.functor))
    return heads


class _GraphSerializer:
    """Converts ProbLog's graph into JSON values for the parent process."""

    def __init__(self, parsed: ParsedProgram, comparisons: list[list[Any]]) -> None:
        self.parsed, self.comparisons = parsed, comparisons
        self.statements = {statement.number: statement for statement in parsed.statements}
        self.variables: list[dict[str, Any]] = []
        self.indices: dict[tuple[Any, ...], int] = {}

    def serialize(self, graph: Any, roots: list[int | None]) -> dict[str, Any]:
        """The variables, nodes and roots; a node refers to child i by i + 1, and to its negation by -(i + 1)."""
        nodes: list[list[Any]] = []
        index: dict[int, int] = {}
        for key, node, kind in graph:
            if kind == "atom":
                if node.is_extra:
                    continue
                nodes.append(self.atom(node.probability))
            else:
                children = [(index[abs(child)] + 1) * (1 if child > 0 else -1) for child in node.children]
                nodes.append(["and" if kind == "conj" else "or", children])
            index[key] = len(nodes) - 1

        def root(node: int | None) -> bool | int:
            if node is None:
                return False
            return True if node == 0 else (index[abs(node)] + 1) * (1 if node > 0 else -1)

        # ProbLog's TRUE is 0 and its FALSE is None.
        return {"variables": self.variables, "nodes": nodes, "roots": [root(node) for node in roots]}

    def atom(self, weight: PrologTerm) -> list[Any]:
        """The literal or comparison that a weight encodes."""
        match name_of(weight):
            case "$column":
                name, value = name_of(weight.args[0]), int(weight.args[1])
                return ["literal", self._index(("column", name), {"kind": "column", "column": name}), value]
            case "$compare":
                return self.comparisons[int(weight.args[0])]
            case "$choice":
                return self._choice(weight)
            case "$neural":
                return self._neural(weight)
            case other:
                raise RuleError(
                    f"The program makes a random choice that is none of its clauses ({other}), inside one of ProbLog's "
                    "libraries; write the choice as a probabilistic fact of its own."
                )

    def _index(self, key: tuple[Any, ...], variable: dict[str, Any]) -> int:
        """The index of a variable, which is added where it is new."""
        if key not in self.indices:
            self.indices[key] = len(self.variables)
            self.variables.append(variable)
        return self.indices[key]

    def _choice(self, weight: PrologTerm) -> list[Any]:
        number, value = int(weight.args[0]), int(weight.args[1])
        weights = [self._probability(term, number) for term in term2list(weight.args[2], False)]
        if sum(weights) > 1.0 + 1e-9:
            raise RuleError(f"Line {self.statements[number].line}: probabilities {weights} sum to more than 1.")
        arguments = [canonical(term) for term in term2list(weight.args[3], False)]
        variable = {
            "kind": "choice",
            "clause": number,
            "arguments": arguments,
            "weights": weights,
            "heads": _heads(self.statements[number], term2list(weight.args[3], False)),
        }
        return ["literal", self._index(("choice", number, *arguments), variable), value]

    def _probability(self, term: PrologTerm, number: int) -> float:
        try:
            value = float(term.compute_value())
        except (ProbLogError, TypeError, ValueError):
            value = -1.0
        if not 0.0 <= value <= 1.0:
            raise RuleError(f"Line {self.statements[number].line}: '{term}' is not a probability in [0, 1].")
        return value

    def _neural(self, weight: PrologTerm) -> list[Any]:
        number, value = int(weight.args[0]), int(weight.args[1])
        statement = self.statements[number]
        assert statement.neural is not None
        inputs = []
        for term in term2list(weight.args[2], False):
            name = name_of(term) if isinstance(term, Term) and not isinstance(term, Constant) else str(term)
            if self.parsed.columns.get(name, {}).get("kind") not in ("tensor", "number"):
                readable = [c for c, column in self.parsed.columns.items() if column["kind"] in ("tensor", "number")]
                raise NodeTestError(
                    f"Network '{statement.neural.network}' would read '{name}', which is no tensor or number column."
                    f"{did_you_mean(name, readable)}"
                )
            inputs.append(name)
        arguments = [canonical(term) for term in term2list(weight.args[3], False)]
        variable = {
            "kind": "neural",
            "declaration": number,
            "network": statement.neural.network,
            "inputs": inputs,
            "arguments": arguments,
            "size": statement.neural.size,
            "heads": _heads(statement, term2list(weight.args[3], False)),
        }
        return ["literal", self._index(("neural", number, *inputs, *arguments), variable), value]
