"""Tests that ask whether some parts of an example make a query true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from neuid3.data.columns import Kind, Schema
from neuid3.data.parts import Relation, part_schemas
from neuid3.data.slots import slot_name
from neuid3.errors import NodeTestError, did_you_mean
from neuid3.logic.formula import Formula, Literal, QueryVariable
from neuid3.logic.program import Program
from neuid3.queries.grounding import Vocabulary, grounded_text, program_goals, query_formula
from neuid3.queries.joins import Mask, holds, parts_index
from neuid3.queries.language import Aggregate, AtLeast, Atom, Negation, Query, Var, parse_query
from neuid3.queries.language import Literal as QueryLiteral
from neuid3.queries.prolog import part_clauses, query_clauses
from neuid3.tree.node_tests import Instances, NodeTest, bind_networks, instances_from_json, register_test_kind
from neuid3.tree.tree import Branch, Node
from neuid3.utils.json_values import as_count, as_text


@dataclass(frozen=True)
class HoldingQuery:
    """A query as a Boolean of examples.

    Attributes
    ----------
    query : the query.
    """

    query: Query

    def holds(self, examples: Any) -> Mask:
        """Whether some binding makes the query true, for each example.

        Parameters
        ----------
        examples : examples with parts.

        Returns
        -------
        A mask, `(example,)`.
        """
        return holds(self.query, examples)

    def witness(self, example: Any) -> str | None:
        """What makes the query true of an example: its literals with the first parts that do.

        Parameters
        ----------
        example : one example.

        Returns
        -------
        The literals; None where the query is false.
        """
        index = parts_index(example)
        bindings = index.bindings(self.query)
        if not len(bindings):
            return None
        numbers = {v: int(bindings.parts[v][0] - index.part(kind).offsets[0]) for v, kind in bindings.types.items()}
        names = {v: Var(slot_name(kind, numbers[v] + 1)) for v, kind in bindings.types.items()}
        return grounded_text(self.query, names)

    def facts(self, example: Any, priors: Any = None) -> list[str]:
        """The parts of one example as Prolog facts.

        Parameters
        ----------
        example : the example.
        priors : the distributions of missing entries, which become probabilistic facts.

        Returns
        -------
        The clauses.
        """
        return list(part_clauses(example, priors))

    def __str__(self) -> str:
        return str(self.query)


@register_test_kind("query")
@dataclass(frozen=True)
class QueryTest(NodeTest):
    """The test whether some binding of variables to parts makes a query true.

    As in TILDE, the query of a node continues that of the yes-branches above it: its first literals are theirs, and its
    variables stand for the same parts.

    Attributes
    ----------
    query : the whole query, with the literals of the tests above that it continues.
    inherited : how many of its literals are those of tests above.
    instances : pairs of a network of the program and the instance of it that this test uses.
    """

    query: Query
    inherited: int = 0
    instances: Instances = ()

    @cached_property
    def added(self) -> Query:
        """The literals that this test adds to those above."""
        return Query(self.query.literals[self.inherited :])

    def formula(self, program: Program) -> Formula:
        """The formula of the test.

        Without atoms of the program it is one Boolean that is computed from the parts of an example by joins. Otherwise it is
        grounded over slots.

        Parameters
        ----------
        program : the background knowledge, for the columns of one schema.

        Returns
        -------
        A formula over the random variables of the program.

        Raises
        ------
        NodeTestError : where the query names parts, columns or relations that the schema does not have.
        """
        schema = program.given_schema
        columns = query_columns(self.query, schema, program.predicates)
        if Vocabulary(schema).is_symbolic_query(self.query):
            return Literal(QueryVariable(HoldingQuery(self.query), columns), frozenset({1}))
        return bind_networks(query_formula(self.query, program), self.instances)

    @property
    def standalone(self) -> QueryTest:
        """The whole query, which continues none."""
        return replace(self, inherited=0)

    @property
    def goal(self) -> str:
        """The whole query as a goal of the program."""
        return str(self.query)

    def export_goals(self, program: Program) -> tuple[str, ...]:
        """The atoms of the program in the query, each for one assignment of parts.

        Parameters
        ----------
        program : the background knowledge, for the columns of one schema.

        Returns
        -------
        Ground atoms, in the order of the query.
        """
        return () if program.parts is None else program_goals(self.query, program.parts.schema)

    def export_clauses(self, name: str, goals: Sequence[str], program: Program) -> list[str]:
        """Clauses that define an atom to be true where some binding makes the query true.

        Parameters
        ----------
        name : the atom.
        goals : the translated atoms of the program, whose predicates the clauses call.
        program : the background knowledge, for the columns of one schema.

        Returns
        -------
        The clauses.
        """
        schema = program.given_schema
        atoms = Vocabulary(schema).program_atoms(self.query)
        predicates = {atom: goal.split("(", 1)[0] for atom, goal in zip(atoms, goals, strict=True)}
        return query_clauses(self.query, name, predicates)

    def __str__(self) -> str:
        above = set(Query(self.query.literals[: self.inherited]).variables)
        new = [str(variable) for variable in self.added.variables if variable not in above]
        return f"∃ {', '.join(new)}: {self.added}" if new else str(self.added)

    def to_json(self) -> dict[str, Any]:
        instances = {"instances": dict(self.instances)} if self.instances else {}
        return {"query": str(self.query), "inherited": self.inherited, **instances}

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> QueryTest:
        query, inherited = parse_query(as_text(json["query"])), as_count(json["inherited"])
        if inherited >= len(query):
            raise ValueError("a query adds nothing to those above")
        return cls(query, inherited, instances_from_json(json.get("instances", {})))


def rooted(root: Node) -> Node:
    """The tree with queries that show all their literals except those of the yes-branches above them.

    Parameters
    ----------
    root : the root of a tree, in which tests may have changed their places.

    Returns
    -------
    The root of a tree with the same formulas.
    """
    finished: list[Node] = []
    waiting: list[tuple[Node, tuple[QueryLiteral, ...], bool]] = [(root, (), False)]
    while waiting:  # an explicit stack, since trees may be of any depth
        node, above, is_open = waiting.pop()
        if not isinstance(node, Branch):
            finished.append(node)
        elif is_open:
            no, yes = finished.pop(), finished.pop()
            finished.append(replace(node, test=_continuing(node.test, above), yes=yes, no=no))
        else:
            below = node.test.query.literals if isinstance(node.test, QueryTest) else above
            waiting += [(node, above, True), (node.no, above, False), (node.yes, below, False)]
    return finished[0]


def _continuing(test: NodeTest, above: tuple[QueryLiteral, ...]) -> NodeTest:
    """A query that shows what it adds to the literals above it."""
    if not isinstance(test, QueryTest):
        return test
    literals = test.query.literals
    continues = len(above) < len(literals) and literals[: len(above)] == above
    return replace(test, inherited=len(above) if continues else 0)


def query_columns(query: Query, schema: Schema, predicates: Sequence[str] = ()) -> tuple[str, ...]:
    """The columns of examples that a query reads: the parts at their roots, and the relations.

    Parameters
    ----------
    query : the query.
    schema : the kinds of the columns of examples.
    predicates : the predicates of the program, as `name/arity`.

    Returns
    -------
    Their names, in the order of the schema.

    Raises
    ------
    NodeTestError : where the query names parts or relations that the schema does not have.
    """
    roots: dict[str, str] = {}
    kinds: dict[str, Kind] = {}
    properties: set[str] = set()
    for name, owner, kind in part_schemas(schema):
        roots[name] = name if owner is None else roots[owner]
        kinds[name] = kind
        properties.update(kind.schema)
    relations = {name: kind for name, kind in schema.items() if isinstance(kind, Relation)}
    read: set[str] = set()
    for atom in _atoms(query):
        if atom.predicate in roots:
            read.add(roots[atom.predicate])
        elif atom.predicate in relations:
            read.add(atom.predicate)
            read.update(roots[kind] for kind in relations[atom.predicate].types)
        elif atom.predicate not in properties and f"{atom.predicate}/{len(atom.arguments)}" not in predicates:
            known = [*roots, *relations, *properties, *(name.rsplit("/", 1)[0] for name in predicates)]
            raise NodeTestError(
                f"The query '{query}' asks for {atom.predicate!r}, which is no type of part, relation, column of parts or predicate."
                f"{did_you_mean(atom.predicate, known)}"
            )
    return tuple(name for name in schema if name in read)


def _atoms(query: Query) -> Iterator[Atom]:
    for literal in query.literals:
        match literal:
            case Atom():
                yield literal
            case Negation(inner) | AtLeast(_, inner) | Aggregate(query=inner):
                yield from _atoms(inner)
            case _:
                pass
