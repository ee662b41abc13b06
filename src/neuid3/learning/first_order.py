"""First-order candidates with networks: refinements of a node's query by atoms of the program."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from neuid3.data.slots import slot_name
from neuid3.errors import NodeTestError
from neuid3.learning.candidates import Candidates, shapes_of
from neuid3.learning.generators import CandidateGenerator, NodeContext
from neuid3.learning.query_splitter import query_of
from neuid3.logic.formula import NeuralVariable, Truth, sources
from neuid3.logic.program import Program
from neuid3.logic.quoting import atom_text
from neuid3.queries.grounding import Vocabulary
from neuid3.queries.language import AtLeast, Atom, Different, Literal, Negation, Query, Var, all_variables
from neuid3.queries.modes import Signature, refiner_of
from neuid3.queries.refine import Language, Refiner, new_variable
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.query_tests import QueryTest

# Counts of parts that atoms of the program are true of are tried up to this number.
MAX_COUNT = 3


@dataclass(frozen=True, slots=True)
class Head:
    """An atom of the program that may be asked about parts.

    Attributes
    ----------
    predicate : its name.
    arguments : for each argument the type of part, or a constant.
    is_part : for each argument whether it is a part.
    is_network : whether it is the output of a network itself, which can as well learn the opposite.
    """

    predicate: str
    arguments: tuple[str | int | float, ...]
    is_part: tuple[bool, ...]
    is_network: bool = False

    def atom(self, variables: Sequence[Var]) -> Atom:
        """The atom with these variables for its parts, in their order."""
        remaining = iter(variables)
        pairs = zip(self.arguments, self.is_part, strict=True)
        return Atom(self.predicate, tuple(next(remaining) if part else argument for argument, part in pairs))

    @property
    def types(self) -> tuple[str, ...]:
        """The types of its parts."""
        return tuple(str(a) for a, part in zip(self.arguments, self.is_part, strict=True) if part)


def program_heads(program: Program, called: bool = False) -> tuple[Head, ...]:
    """The atoms of a program that may be asked about parts: rules, neural facts, and values of neural predicates.

    The values of a neural predicate are tried where no rule calls it, unless `called` is true. An atom is left out where it cannot be grounded for
    parts of these types, where it is always true or false, and where a network would read pictures of two shapes.

    Parameters
    ----------
    program : a program with slots.
    called : whether neural predicates that rules call are among them.

    Returns
    -------
    The heads, in the order of the program.
    """
    if program.parts is None or not program.text.strip():
        return ()
    heads = list(dict.fromkeys(_possible_heads(program, called)))
    texts = [_example(head) for head in heads]
    shapes: dict[str, tuple[tuple[int, ...], ...]] = {}
    fitting = []
    for head, formula in zip(heads, program.formulas_or_none(texts), strict=True):
        if formula is None or isinstance(formula, Truth):
            continue
        calls = [source for source in sources(formula) if isinstance(source, NeuralVariable)]
        read = [(call.network, tuple(shapes_of(call.inputs, program.schema))) for call in calls]
        if all(shapes.setdefault(network, inputs) == inputs for network, inputs in read):
            fitting.append(head)
    return tuple(fitting)


def _possible_heads(program: Program, also_called: bool) -> Iterator[Head]:
    assert program.parts is not None
    types = [kind for kind, _ in program.parts.slots.counts]
    needed = {predicate.rsplit("/", 1)[0] for predicate, rule in program.rules().items() if rule.needed}
    called = set() if also_called else needed | _called_by_rules(program)
    facts = {declaration.predicate for declaration in program.declarations.values() if declaration.values is None}
    for name, arguments in program.test_heads:
        if None in arguments:
            for filled in product(*(types if argument is None else (argument,) for argument in arguments)):
                yield Head(name, filled, tuple(argument is None for argument in arguments), name in facts)
    for declaration in program.declarations.values():
        if declaration.values is not None and declaration.predicate not in called:
            for kinds in product(types, repeat=declaration.inputs):
                for value in declaration.values:
                    constant = int(value) if value.lstrip("-").isdigit() else value
                    is_part = (*(True,) * declaration.inputs, False)
                    yield Head(declaration.predicate, (*kinds, constant), is_part)


def _called_by_rules(program: Program) -> set[str]:
    """The neural predicates whose names occur more often than they are declared."""
    names = [declaration.predicate for declaration in program.declarations.values()]
    return {name for name in names if program.text.count(f"{name}(") > names.count(name)}


def _example(head: Head) -> str:
    """The head for the first parts of its types, those of one type being different."""
    numbers: dict[str, int] = {}
    texts = []
    for argument, part in zip(head.arguments, head.is_part, strict=True):
        if part:
            numbers[str(argument)] = numbers.get(str(argument), 0) + 1
            texts.append(atom_text(slot_name(str(argument), min(numbers[str(argument)], 2))))
        else:
            texts.append(str(argument))
    return f"{atom_text(head.predicate)}({', '.join(texts)})"


def _marked(head: Head) -> Iterator[str]:
    """The arguments of a mode of a head."""
    for argument, is_part in zip(head.arguments, head.is_part, strict=True):
        yield f"+{argument}" if is_part else str(argument)


def signatures_of(heads: Sequence[Head]) -> tuple[Signature, ...]:
    """What modes may say of atoms of the program.

    Parameters
    ----------
    heads : the atoms.

    Returns
    -------
    A signature for each.
    """
    return tuple(
        Signature(
            head.predicate,
            tuple(str(a) if part else (a,) for a, part in zip(head.arguments, head.is_part, strict=True)),
            in_program=True,
        )
        for head in heads
    )


@dataclass(frozen=True)
class FirstOrderCandidates(CandidateGenerator):
    """Refinements of a node's query by atoms of the program, besides the candidates of another generator.

    The query of a node is that of the last yes-branch above it. It is refined by atoms about its variables, and by atoms about
    new ones together with the literals that bind these. Where it contains atoms of the program already, literals about its
    variables are offered too, since no join can evaluate them.

    Parameters
    ----------
    generator : offers the other candidates.
    heads : the atoms of the program that may be asked about parts.
    language : what queries may be made of.
    """

    generator: CandidateGenerator
    heads: tuple[Head, ...]
    language: Language

    @property
    def tests(self) -> str | Sequence[object]:  # type: ignore[override]
        """What `listed` is made from, as the other generator has it."""
        return self.generator.tests

    def candidates(self, context: NodeContext) -> Candidates:
        offered = self.generator.candidates(context)
        query = query_of(context.node.path)
        refined = tuple(self.refinements(query, context.node.used, is_root=not context.node.path))
        if len(refined) > context.program.limits.max_candidates:
            name = f"The query '{query}' of a node" if query.literals else "The root"
            (head, *_) = self.heads
            mode = f"{atom_text(head.predicate)}({', '.join(_marked(head))})"
            raise NodeTestError(
                f"{name} has {len(refined)} refinements with networks, more than max_candidates="
                f"{context.program.limits.max_candidates}; give modes that allow fewer, such as modes=[{mode!r}], lower "
                f"max_variables={self.language.max_variables}, or raise max_candidates."
            )
        return replace(offered, tests=tuple(dict.fromkeys((*offered.tests, *refined))))

    def refinements(self, query: Query, used: Collection[NodeTest] = (), is_root: bool = False) -> Iterator[QueryTest]:
        """The tests that refine a query.

        Parameters
        ----------
        query : the query so far.
        used : tests that the path has used up.
        is_root : whether no network is trained yet.

        Yields
        ------
        The tests, shorter ones first.
        """
        types = Vocabulary(self.language.schema).types(query.literals, {})
        seen = set(query.literals)
        for literals in self._added(query, types, is_root):
            test = QueryTest(query.extended(literals), len(query))
            if not seen.intersection(literals) and test not in used:
                yield test

    def _added(self, query: Query, types: Mapping[Var, str], is_root: bool) -> Iterator[tuple[Literal, ...]]:
        if self.language.modes is not None:
            yield from self._by_modes(query, types)
            return
        for head in self.heads:
            yield from self._with_head(head, types, is_root)
        if not Vocabulary(self.language.schema).is_symbolic_query(query):
            yield from self._certain_literals(types)

    def _by_modes(self, query: Query, types: Mapping[Var, str]) -> Iterator[tuple[Literal, ...]]:
        """What modes allow of which an atom of the program is a part, or the query already; thresholds are left out."""
        vocabulary = Vocabulary(self.language.schema)
        joins_decide = vocabulary.is_symbolic_query(query)
        for refinement in refiner_of(self.language).refinements(query, types):
            literals = refinement.literals
            is_certain = next(vocabulary.program_atoms(Query(literals), types), None) is None
            if refinement.open_field is not None or refinement.open_aggregate is not None:
                continue
            is_about_query = any(set(all_variables(literal)) & set(types) for literal in literals)
            if is_certain and (joins_decide or not is_about_query):
                continue
            if refinement.open_count:
                yield from ((AtLeast(count, Query(literals)),) for count in range(2, MAX_COUNT + 1))
            else:
                yield literals

    def _with_head(self, head: Head, types: Mapping[Var, str], is_root: bool) -> Iterator[tuple[Literal, ...]]:
        """The atom about bound variables and new ones, its negation, and counts of the parts that it is true of."""
        options = [[*(v for v, kind in types.items() if kind == wanted), None] for wanted in head.types]
        for chosen in product(*options):
            bound = [v for v in chosen if v is not None]
            if len(set(bound)) < len(bound) or (types and not bound and len(head.types) > 1):
                continue
            for binding, variables in self._bindings(head, chosen, types):
                atom = head.atom(variables)
                yield (*binding, atom)
                if not (is_root and head.is_network):
                    yield (*binding, Negation(Query((atom,))))
                if self.language.counts and len(chosen) - len(bound) == 1:
                    # One part of its type is bound already where a literal says that the new one is another.
                    for count in range(2, MAX_COUNT + 1):
                        yield (AtLeast(count, Query((*binding, atom))),)

    def _bindings(
        self, head: Head, chosen: Sequence[Var | None], types: Mapping[Var, str]
    ) -> Iterator[tuple[tuple[Literal, ...], list[Var]]]:
        """The literals that bind the new variables of an atom, and all its variables."""
        together = dict(types)
        literals: list[tuple[Literal, ...]] = [()]
        variables: list[Var] = []
        for variable, kind in zip(chosen, head.types, strict=True):
            if variable is not None:
                variables.append(variable)
                continue
            new = new_variable(kind, together)
            others = tuple(Different(new, v) for v, other in together.items() if other == kind)
            owner = self.language.parts[kind][0]
            owners = [v for v, other in together.items() if other == owner]
            atoms = [Atom(kind, (v, new)) for v in owners] or [Atom(kind, (new,))]
            literals = [(*before, atom, *others) for before in literals for atom in atoms]
            together[new] = kind
            variables.append(new)
        if len(together) <= self.language.max_variables:
            yield from ((binding, variables) for binding in literals)

    def _certain_literals(self, types: Mapping[Var, str]) -> Iterator[tuple[Literal, ...]]:
        """Literals about the bound variables that no network decides, with thresholds left out."""
        refiner = Refiner(self.language)
        for variable in types:
            for refinement in refiner.properties(variable, types):
                if refinement.open_field is None:
                    yield refinement.literals
        for literals, new in refiner.introductions(types):
            if isinstance(literals[0], Atom) and set(literals[0].arguments) & set(types):
                yield literals
                for variable in new:
                    for refinement in refiner.properties(variable, {**types, **new}):
                        if refinement.open_field is None:
                            yield (*literals, *refinement.literals)
