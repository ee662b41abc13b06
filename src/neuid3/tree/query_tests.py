"""Tests that ask whether some parts of an example make a query true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from neuid3.data.columns import Kind, Schema
from neuid3.data.parts import Relation, part_schemas
from neuid3.errors import NodeTestError, did_you_mean
from neuid3.logic.formula import Formula, Literal, QueryVariable
from neuid3.logic.program import Program
from neuid3.queries.joins import Mask, holds
from neuid3.queries.language import Aggregate, AtLeast, Atom, Negation, Query, parse_query
from neuid3.queries.prolog import part_clauses, query_clauses
from neuid3.tree.node_tests import NodeTest, register_test_kind
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

    def clauses(self, name: str) -> list[str]:
        """Prolog clauses that define an atom to be true where the query is.

        Parameters
        ----------
        name : the atom.

        Returns
        -------
        The clauses.
        """
        return query_clauses(self.query, name)

    def facts(self, example: Any) -> list[str]:
        """The parts of one example as Prolog facts.

        Parameters
        ----------
        example : the example.

        Returns
        -------
        The clauses.
        """
        return list(part_clauses(example))

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
    """

    query: Query
    inherited: int = 0

    @cached_property
    def added(self) -> Query:
        """The literals that this test adds to those above."""
        return Query(self.query.literals[self.inherited :])

    def formula(self, program: Program) -> Formula:
        """The formula of the test: one Boolean that is computed from the parts of an example.

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
        return Literal(
            QueryVariable(HoldingQuery(self.query), query_columns(self.query, program.schema)), frozenset({1})
        )

    @property
    def goal(self) -> str:
        """The whole query as a goal of the program."""
        return str(self.query)

    def __str__(self) -> str:
        above = set(Query(self.query.literals[: self.inherited]).variables)
        new = [str(variable) for variable in self.added.variables if variable not in above]
        return f"∃ {', '.join(new)}: {self.added}" if new else str(self.added)

    def to_json(self) -> dict[str, Any]:
        return {"query": str(self.query), "inherited": self.inherited}

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> QueryTest:
        query, inherited = parse_query(as_text(json["query"])), as_count(json["inherited"])
        if inherited >= len(query):
            raise ValueError("a query adds nothing to those above")
        return cls(query, inherited)


def query_columns(query: Query, schema: Schema) -> tuple[str, ...]:
    """The columns of examples that a query reads: the parts at their roots, and the relations.

    Parameters
    ----------
    query : the query.
    schema : the kinds of the columns of examples.

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
        elif atom.predicate not in properties:
            known = [*roots, *relations, *properties]
            raise NodeTestError(
                f"The query '{query}' asks for {atom.predicate!r}, which is no type of part, relation or column of parts."
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
