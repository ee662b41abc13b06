"""Queries with atoms of the program, grounded over slots: formulas over the outputs of networks that read parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from neuid3.data.columns import Boolean, Category, Kind, Probability, Schema
from neuid3.data.parts import Relation, has_parts, part_schemas
from neuid3.data.slots import Slots, first_slots, picture_columns, picture_name, slot_name, unfolded_schema
from neuid3.errors import GroundingLimitError, NodeTestError
from neuid3.logic.formula import And, Formula, Literal, Or, QueryVariable, Truth, negate
from neuid3.logic.program import Program, SlotFacts
from neuid3.logic.quoting import atom_text, number_text
from neuid3.logic.sandbox import Limits
from neuid3.queries.joins import Mask, parts_index
from neuid3.queries.language import (
    Aggregate,
    AtLeast,
    Atom,
    Comparison,
    Different,
    Negation,
    Query,
    Var,
    all_variables,
)
from neuid3.queries.language import Literal as Conjunct
from neuid3.queries.prolog import part_clauses, query_clauses

# The most assignments of slots to the variables of one query.
MAX_ASSIGNMENTS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class SlotQuery:
    """The Boolean that some binding makes a query true in which these variables stand for the parts in these slots.

    Attributes
    ----------
    query : the query.
    slots : variables and the numbers of their parts within the example, from 1.
    """

    query: Query
    slots: tuple[tuple[Var, int], ...]
    _hash: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.query, self.slots)))

    def __hash__(self) -> int:
        return self._hash  # computed once: circuits look variables up many times

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SlotQuery) and self.slots == other.slots and self.query == other.query

    def holds(self, examples: Any) -> Mask:
        """Whether such a binding makes the query true, for each example.

        Parameters
        ----------
        examples : examples with parts.

        Returns
        -------
        A mask, `(example,)`.
        """
        variables = tuple(variable for variable, _ in self.slots)
        return parts_index(examples).holds_at(self.query, variables, tuple(number for _, number in self.slots))

    def witness(self, example: Any) -> str | None:  # noqa: ARG002
        """What makes it true of an example: the literals with their parts.

        Parameters
        ----------
        example : one example.

        Returns
        -------
        The literals.
        """
        return str(self)

    def __str__(self) -> str:
        types = Vocabulary.bound_by_parts(self.query)
        names = {variable: Var(slot_name(types[variable], number)) for variable, number in self.slots}
        return grounded_text(self.query, names)

    def clause(self, head: str) -> str | None:
        """A clause by which an atom is true where such a binding makes the query true.

        Parameters
        ----------
        head : the atom.

        Returns
        -------
        The clause, which calls the facts of parts; None where the query does not say the types of its variables.
        """
        types = Vocabulary.bound_by_parts(self.query)
        if not all(variable in types for variable, _ in self.slots):
            return None
        bound = [f"{variable} = {atom_text(slot_name(types[variable], number))}" for variable, number in self.slots]
        _, body = query_clauses(self.query, head)[-1].split(" :- ", 1)
        return f"{head} :- {', '.join([*bound, body])}"

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


def grounded_text(query: Query, names: Mapping[Var, Var]) -> str:
    """The literals of a query with names of parts in place of variables; atoms that only bind these are left out.

    >>> X = Var("X")
    >>> grounded_text(Query((Atom("car", (X,)), Atom("long", (X,)))), {X: Var("car_2")})
    'long(car_2)'
    """
    renamed = [renamed_literal(literal, names) for literal in query.literals]
    properties = [
        literal
        for literal in renamed
        if not isinstance(literal, Different)
        and not (
            isinstance(literal, Atom) and f"{literal.predicate}_" == str(literal.arguments[-1]).rstrip("0123456789")
        )
    ]
    kept = properties or [literal for literal in renamed if isinstance(literal, Atom)]
    return ", ".join(map(str, kept))


# Facts about slots ---------------------------------------------------------------------------------


def read_program(text: str, schema: Schema, limits: Limits | None = None, slots: Slots | None = None) -> Program:
    """Background knowledge for examples of a schema; rules may name the parts that they own.

    Parameters
    ----------
    text : rules, probabilistic facts and neural declarations.
    schema : the kinds of the columns of examples.
    limits : the time, memory and circuit size that it may take.
    slots : how many parts there are of each type; by default as few as can be grounded.

    Returns
    -------
    The program; where examples own parts that it may name, its schema has a column for each picture of a slot.
    """
    if not needs_slots(text, schema):
        return Program(text, schema, limits)
    slots = slots or first_slots(schema)
    return Program(text, unfolded_schema(schema, slots), limits, slot_facts(text, schema, slots))


def needs_slots(text: str, schema: Schema) -> bool:
    """Whether tests over parts may be uncertain: networks may read parts, or rules name them.

    Parameters
    ----------
    text : the background knowledge.
    schema : the kinds of the columns of examples.

    Returns
    -------
    True if the parts of examples must become slots.
    """
    return has_parts(schema) and bool(text.strip())


def slot_facts(text: str, schema: Schema, slots: Slots) -> SlotFacts:
    """The facts about parts that a program mentions, for all slots.

    Parameters
    ----------
    text : the program.
    schema : the kinds of the columns of examples.
    slots : the slots.

    Returns
    -------
    The facts.
    """
    facts = _Facts(text, schema, slots)
    for name, owner, kind in part_schemas(schema):
        facts.add_parts(name, owner, kind.schema)
    for name, column in schema.items():
        if isinstance(column, Relation):
            facts.add_relation(name, column)
    columns = {column for _, _, kind in part_schemas(schema) for column in kind.schema}
    columns |= {column for kind in schema.values() if isinstance(kind, Relation) for column in kind.schema}
    related = [kind for name, kind in schema.items() if isinstance(kind, Relation) and name in facts.predicates]
    mentioned = (facts.predicates & columns) | {column for kind in related for column in kind.schema}
    return SlotFacts(
        slots, dict(schema), facts.variables, tuple(facts.clauses), frozenset(facts.predicates), frozenset(mentioned)
    )


class _Facts:
    """Facts about slots, collected for the predicates that a program mentions."""

    def __init__(self, text: str, schema: Schema, slots: Slots) -> None:
        self.text, self.schema, self.slots = text, schema, slots
        self.variables: dict[str, QueryVariable] = {}
        self.clauses: list[str] = []
        self.predicates: set[str] = set()
        self.columns = tuple(name for name, kind in schema.items() if isinstance(kind, Relation))
        self.columns += tuple(name for name, owner, _ in part_schemas(schema) if owner is None)

    def is_mentioned(self, name: str) -> bool:
        is_called = re.search(rf"(?<![\w']){re.escape(atom_text(name))}\s*\(", self.text)
        if is_called:
            self.predicates.add(name)
        return bool(is_called)

    def add(self, atom: Atom, variables: Mapping[Var, str], binding: Sequence[Atom] = ()) -> None:
        """A fact for each assignment of slots to these variables, given with their types."""
        names = {v: Var(f"X{i}") for i, v in enumerate(variables)}  # as in queries, so that both are one Boolean
        query = Query(tuple(renamed_literal(literal, names) for literal in (*binding, atom)))
        related = self.slots.related(atom.predicate) if len(variables) > 1 else None
        for numbers in product(*(range(1, self.slots[kind] + 1) for kind in variables.values())):
            if related is not None and numbers not in related:
                continue
            constants = {v: slot_name(k, n) for (v, k), n in zip(variables.items(), numbers, strict=True)}
            fact = ground_text(atom, constants)
            slots = tuple(zip(names.values(), numbers, strict=True))
            self.variables[fact] = QueryVariable(SlotQuery(query, slots), self.columns)

    def add_parts(self, name: str, owner: str | None, columns: Mapping[str, Kind]) -> None:
        part, parent = Var("P"), Var("O")
        if self.is_mentioned(name):
            self.add(Atom(name, (part,)), {part: name})
            if owner is not None:
                self.add(Atom(name, (parent, part)), {parent: owner, part: name}, [Atom(owner, (parent,))])
        for column, kind in columns.items():
            if not self.is_mentioned(column):
                continue
            binding = [Atom(name, (part,))]
            if isinstance(kind, (Boolean, Probability)):
                self.add(Atom(column, (part,)), {part: name}, binding)
            elif isinstance(kind, Category):
                for value in kind.domain:
                    self.add(Atom(column, (part, value)), {part: name}, binding)
        for column in picture_columns(self.schema).get(name, ()):
            if self.is_mentioned(column):
                for number in range(1, self.slots[name] + 1):
                    picture = picture_name(name, column, number, self.schema)
                    names = map(atom_text, (column, slot_name(name, number), picture))
                    self.clauses.append("{}({}, {}).".format(*names))

    def add_relation(self, name: str, relation: Relation) -> None:
        if not self.is_mentioned(name):
            return
        variables = {Var(f"P{i}"): kind for i, kind in enumerate(relation.types)}
        self.add(Atom(name, tuple(variables)), variables)
        first = relation.columns[0][1] if relation.columns else None
        if isinstance(first, Category):
            for value in first.domain:
                self.add(Atom(name, (*variables, value)), variables)


def ground_text(atom: Atom, constants: Mapping[Var, str]) -> str:
    """An atom as a goal of the program, with constants in place of its variables.

    >>> ground_text(Atom("suit", (Var("C"), "hearts")), {Var("C"): "card_2"})
    'suit(card_2, hearts)'
    """
    texts = [
        atom_text(constants[argument])
        if isinstance(argument, Var)
        else atom_text(argument)
        if isinstance(argument, str)
        else number_text(argument)
        for argument in atom.arguments
    ]
    return f"{atom_text(atom.predicate)}({', '.join(texts)})" if texts else atom_text(atom.predicate)


# Formulas of queries -------------------------------------------------------------------------------


class Vocabulary:
    """Which atoms of queries are about the parts of examples; all others are atoms of the program.

    Parameters
    ----------
    schema : the kinds of the columns of examples.
    """

    def __init__(self, schema: Schema) -> None:
        self.parts = {name: kind.schema for name, _, kind in part_schemas(schema)}
        self.relations = {name: kind.types for name, kind in schema.items() if isinstance(kind, Relation)}

    @staticmethod
    def bound_by_parts(query: Query) -> dict[Var, str]:
        """The types of variables that the first atom about them says, as in the queries of slots."""
        atoms = [literal for literal in query.literals if isinstance(literal, Atom) and len(literal.arguments) == 1]
        return {a.arguments[0]: a.predicate for a in reversed(atoms) if isinstance(a.arguments[0], Var)}

    def types(self, literals: Sequence[Conjunct], above: Mapping[Var, str]) -> dict[Var, str]:
        """The types of the variables that literals bind, after those above."""
        types = dict(above)
        for literal in literals:
            if isinstance(literal, Atom):
                for variable, kind in self._bound(literal, types):
                    types.setdefault(variable, kind)
        return types

    def nested_types(self, query: Query, above: Mapping[Var, str]) -> dict[Var, str]:
        """The types of all variables of a query, also those inside negations and counts."""
        types = self.types(query.literals, above)
        for literal in query.literals:
            if isinstance(literal, (Negation, AtLeast)):
                types = {**self.nested_types(literal.query, types), **types}
        return types

    def _bound(self, atom: Atom, types: Mapping[Var, str]) -> Iterator[tuple[Var, str]]:
        if atom.predicate in self.relations:
            for argument, kind in zip(atom.arguments, self.relations[atom.predicate], strict=False):
                if isinstance(argument, Var):
                    yield argument, kind
        elif self.is_symbolic(atom, types) and atom.predicate in self.parts and isinstance(atom.arguments[-1], Var):
            yield atom.arguments[-1], atom.predicate

    def is_symbolic(self, atom: Atom, types: Mapping[Var, str]) -> bool:
        """Whether an atom is a part, a relation or a column of the part that its first variable stands for."""
        if atom.predicate in self.relations:
            return True
        if atom.predicate in self.parts and atom.arguments and all(isinstance(a, Var) for a in atom.arguments):
            return True
        first = atom.arguments[0] if atom.arguments else None
        return isinstance(first, Var) and first in types and atom.predicate in self.parts[types[first]]

    def program_atoms(self, query: Query, above: Mapping[Var, str] | None = None) -> Iterator[Atom]:
        """The atoms of a query that are atoms of the program, also those inside negations and counts."""
        types = self.types(query.literals, above or {})
        for literal in query.literals:
            match literal:
                case Atom():
                    if not self.is_symbolic(literal, types):
                        yield literal
                case Negation(inner) | AtLeast(_, inner) | Aggregate(query=inner):
                    yield from self.program_atoms(inner, types)
                case _:
                    pass

    def is_symbolic_query(self, query: Query) -> bool:
        """Whether a query has no atom of the program, so that joins decide it."""
        return next(self.program_atoms(query), None) is None


def program_goals(query: Query, schema: Schema) -> tuple[str, ...]:
    """The atoms of the program in a query, each for one assignment of different parts to its variables.

    Parameters
    ----------
    query : the query.
    schema : the kinds of the columns of examples.

    Returns
    -------
    Ground atoms, in the order of `Vocabulary.program_atoms`.
    """
    vocabulary, goals = Vocabulary(schema), []
    types = vocabulary.nested_types(query, {})
    for atom in vocabulary.program_atoms(query):
        constants: dict[Var, str] = {}
        for variable in dict.fromkeys(a for a in atom.arguments if isinstance(a, Var)):
            same = sum(types[other] == types[variable] for other in constants)
            constants[variable] = slot_name(types[variable], min(same, 1) + 1)
        goals.append(ground_text(atom, constants))
    return tuple(goals)


def query_formula(query: Query, program: Program) -> Formula:
    """The formula of a query with atoms of the program: a disjunction over the slots that its variables may stand for.

    Parameters
    ----------
    query : the query.
    program : a program with slots.

    Returns
    -------
    A formula over random variables of the program and Booleans that are certain for each example.

    Raises
    ------
    NodeTestError : where an atom cannot be grounded, or a number of parts is aggregated that depends on networks.
    GroundingLimitError : where there are too many assignments of slots to variables.
    """
    if program.parts is None:
        atom = next(Vocabulary(program.given_schema).program_atoms(query))
        raise NodeTestError(
            f"The query '{query}' asks for '{atom}' before a part or a relation binds its variable; put such a literal first."
        )
    return _QueryGrounder(program, program.parts).formula(query)


class _QueryGrounder:
    def __init__(self, program: Program, facts: SlotFacts) -> None:
        self.program, self.slots = program, facts.slots
        self.vocabulary = Vocabulary(facts.schema)
        self.columns = tuple(name for name, kind in facts.schema.items() if isinstance(kind, Relation))
        self.columns += tuple(name for name, owner, _ in part_schemas(facts.schema) if owner is None)

    def formula(self, query: Query) -> Formula:
        self._ground_atoms(query)
        return self._disjunction(query, {}, {})

    def _ground_atoms(self, query: Query) -> None:
        """Ground all atoms of the program in one request."""
        types = self.vocabulary.nested_types(query, {})
        atoms = []
        for atom in self.vocabulary.program_atoms(query):
            variables = list(dict.fromkeys(a for a in atom.arguments if isinstance(a, Var)))
            for variable in variables:
                if variable not in types:
                    raise NodeTestError(
                        f"The variable {variable} of '{atom}' is bound by no part or relation; put such a literal first."
                    )
            ranges = [range(1, self.slots[types[v]] + 1) for v in variables]
            self._check_size([len(r) for r in ranges], query)
            for numbers in product(*ranges):
                constants = {v: slot_name(types[v], n) for v, n in zip(variables, numbers, strict=True)}
                atoms.append(ground_text(atom, constants))
        self.program.formulas(atoms)

    def _check_size(self, sizes: Sequence[int], query: Query) -> None:
        total = 1
        for size in sizes:
            total *= size
        if total > MAX_ASSIGNMENTS:
            raise GroundingLimitError(
                f"The query '{query}' has {total:,} assignments of parts to variables that networks read, more than "
                f"{MAX_ASSIGNMENTS:,}; use fewer variables (max_variables), or examples with fewer parts."
            )

    def _is_uncertain(self, literal: Conjunct, types: Mapping[Var, str]) -> bool:
        match literal:
            case Atom():
                return not self.vocabulary.is_symbolic(literal, types)
            case Negation(query) | AtLeast(_, query):
                return next(self.vocabulary.program_atoms(query, types), None) is not None
            case Aggregate(query=query):
                if next(self.vocabulary.program_atoms(query, types), None) is not None:
                    raise NodeTestError(
                        f"'{literal}' aggregates over parts that a network or a rule selects; aggregate over parts, "
                        "columns and relations only."
                    )
                return False
            case _:
                return False

    def _split(
        self, query: Query, types: Mapping[Var, str], above: Mapping[Var, int]
    ) -> tuple[list[Conjunct], list[Conjunct], list[Var]]:
        """The uncertain and the certain literals of a query, and the variables of the former that it binds."""
        uncertain = [literal for literal in query.literals if self._is_uncertain(literal, types)]
        certain = [literal for literal in query.literals if literal not in uncertain]
        read = dict.fromkeys(v for literal in uncertain for v in all_variables(literal))
        return uncertain, certain, [v for v in query.variables if v in read and v not in above]

    def _disjunction(self, query: Query, types: Mapping[Var, str], above: Mapping[Var, int]) -> Formula:
        """The formula that some assignment of slots makes a query true, given those of the variables above."""
        parts = tuple(self._conjunctions(query, types, above))
        return parts[0] if len(parts) == 1 else Or(parts)

    def _conjunctions(
        self, query: Query, types: Mapping[Var, str], above: Mapping[Var, int], keep_all: bool = False
    ) -> Iterator[Formula]:
        """A formula for each assignment of slots to the variables that networks read, or to all."""
        types = self.vocabulary.types(query.literals, types)
        uncertain, certain, kept = self._split(query, types, above)
        if keep_all:
            kept = [v for v in query.variables if v not in above]
        self._check_size([self.slots[types[v]] for v in kept], query)
        static = [c for c in certain if isinstance(c, Different) and {c.left, c.right} <= {*kept, *above}]
        components = _components([c for c in certain if c not in static], [*kept, *above])
        for numbers in product(*(range(1, self.slots[types[v]] + 1) for v in kept)):
            assignment = {**above, **dict(zip(kept, numbers, strict=True))}
            if any(_is_same(different, assignment, types) for different in static):
                continue
            if not all(self._may_hold(literal, assignment) for literal in certain):
                continue
            formulas = [self._certain(literals, read, types, assignment) for literals, read in components]
            formulas += [self._uncertain(literal, types, assignment) for literal in uncertain]
            if not any(isinstance(formula, Truth) and not formula.value for formula in formulas):
                yield And(tuple(formulas))

    def _may_hold(self, literal: Conjunct, slots: Mapping[Var, int]) -> bool:
        """Whether some example relates the parts in these slots, where a literal says that they are."""
        if not isinstance(literal, Atom) or not all(isinstance(a, Var) and a in slots for a in literal.arguments):
            return True
        is_related = literal.predicate in self.vocabulary.relations or len(literal.arguments) == 2
        numbers = tuple(slots[a] for a in literal.arguments if isinstance(a, Var))
        return not is_related or numbers in self.slots.related(literal.predicate)

    def _certain(
        self, literals: Sequence[Conjunct], read: Sequence[Var], types: Mapping[Var, str], slots: Mapping[Var, int]
    ) -> Formula:
        """A Boolean of examples: some binding of the other variables makes the literals true of the parts in these slots."""
        names = {
            v: Var(f"X{i}") for i, v in enumerate(read)
        }  # so that equal queries about two variables are one Boolean
        binding = [Atom(types[v], (names[v],)) for v in read]
        renamed = [renamed_literal(literal, names) for literal in literals]
        query = Query((*binding, *(literal for literal in renamed if literal not in binding)))
        variable = QueryVariable(SlotQuery(query, tuple((names[v], slots[v]) for v in read)), self.columns)
        return Literal(variable, frozenset({1}))

    def _uncertain(self, literal: Conjunct, types: Mapping[Var, str], slots: Mapping[Var, int]) -> Formula:
        match literal:
            case Atom():
                constants = {v: slot_name(types[v], n) for v, n in slots.items()}
                return self.program.formula(ground_text(literal, constants))
            case Negation(query):
                return negate(self._disjunction(query, types, slots))
            case AtLeast(count, query):
                return at_least(count, list(self._conjunctions(query, types, slots, keep_all=True)))
            case _:
                raise AssertionError(f"{literal} is certain")


def at_least(count: int, formulas: Sequence[Formula]) -> Formula:
    """The formula that so many of some formulas are true; its size is linear in their number."""
    enough: list[Formula] = [Truth(True), *[Truth(False)] * count]
    for formula in formulas:
        enough = [enough[0], *(Or((enough[j], And((enough[j - 1], formula)))) for j in range(1, count + 1))]
    return enough[count]


def _is_same(different: Different, slots: Mapping[Var, int], types: Mapping[Var, str]) -> bool:
    left, right = different.left, different.right
    return slots[left] == slots[right] and types[left] == types[right]


def _components(literals: Sequence[Conjunct], fixed: Sequence[Var]) -> list[tuple[list[Conjunct], list[Var]]]:
    """Certain literals in groups that share no variable, each with the variables of slots that it reads.

    A variable of a slot connects only what no other variable does: given the slots, groups are independent.
    """
    groups: list[tuple[list[Conjunct], set[Var]]] = []
    for literal in literals:
        variables = set(all_variables(literal))
        joined = [group for group in groups if group[1] & variables - set(fixed)]
        if not variables - set(fixed):  # a literal about slots only joins those about the same slots
            joined = [group for group in groups if group[1] == variables]
        groups = [group for group in groups if group not in joined]
        members = [member for group in joined for member in group[0]]
        groups.append(([*members, literal], variables.union(*(group[1] for group in joined))))
    ordered = [([literal for literal in literals if literal in members], read) for members, read in groups]
    return [(members, [v for v in fixed if v in read]) for members, read in ordered]


def renamed_literal(literal: Conjunct, names: Mapping[Var, Var]) -> Conjunct:
    """A literal with other names for its variables, also inside negations and counts."""

    def name(variable: Var) -> Var:
        return names.get(variable, variable)

    def renamed(query: Query) -> Query:
        return Query(tuple(renamed_literal(inner, names) for inner in query.literals))

    match literal:
        case Atom(predicate, arguments):
            return Atom(predicate, tuple(name(a) if isinstance(a, Var) else a for a in arguments))
        case Comparison(left, operator, right):
            other = right if isinstance(right, (int, float)) else type(right)(right.column, name(right.part))
            return Comparison(type(left)(left.column, name(left.part)), operator, other)
        case Different(left, right):
            return Different(name(left), name(right))
        case Negation(query):
            return Negation(renamed(query))
        case AtLeast(count, query):
            return AtLeast(count, renamed(query))
        case Aggregate(function, column, query, operator, constant):
            return Aggregate(
                function, type(column)(column.column, name(column.part)), renamed(query), operator, constant
            )
