"""Equivalent forms: tests that are the same up to the names of networks and of their values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from neuid3.circuits.compile import compile_formulas
from neuid3.identifiability.symmetries import Deadline, PairOfFunctions, Reading
from neuid3.logic.formula import And, Formula, Literal, NeuralVariable, Not, Or, bottom_up, draw_cells, rebuild
from neuid3.logic.program import Program
from neuid3.logic.sandbox import DEFAULT_LIMITS, Limits
from neuid3.tree.components import components
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.semantics import Semantics
from neuid3.tree.tree import Branch, LeafNode, Node, Visit, fold

# At most so many ways to rename the networks of one function into those of another are tried.
MAX_RENAMINGS = 720

# Leaves whose probabilities differ by less are the same result.
TOLERANCE_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Equivalence:
    """A renaming under which two functions are the same.

    Attributes
    ----------
    networks : for each network of the left function the one of the right function that takes its place.
    reading : for each network of the left function, the right value that takes the place of each of its values.
    """

    networks: Mapping[str, str]
    reading: Reading

    @property
    def is_identity(self) -> bool:
        """Whether nothing is renamed."""
        return all(left == right for left, right in self.networks.items()) and all(
            images == tuple(range(len(images))) for images in self.reading.values()
        )


def equivalence(
    left: Sequence[Formula],
    right: Sequence[Formula],
    *,
    fixed: Mapping[str, Iterable[int]] | None = None,
    kinds: Mapping[str, Hashable] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    deadline: Deadline | None = None,
) -> Equivalence | None:
    """A renaming of networks and values that turns one function into another; None where there is none.

    Parameters
    ----------
    left, right : a formula for each result of the two functions.
    fixed : values of networks that keep their meaning; such networks keep their names too.
    kinds : what must be the same of two networks where one takes the place of the other, such as their architecture; a
        network that it does not name may take any place.
    limits : the size and time of circuits.
    deadline : the time by which the search must end.

    Returns
    -------
    The renaming, the identity where it is one; None where there is none.

    Raises
    ------
    SearchLimitError : after the deadline.
    CircuitLimitError, GroundingLimitError : where a circuit exceeds its limits.
    """
    kept = {name: frozenset(values) for name, values in (fixed or {}).items()}
    left, right = _drawn(left, right)
    deadline = deadline or Deadline()
    of_left, of_right = neural_variables(left, limits, deadline), neural_variables(right, limits, deadline)
    for names in islice(_renamings(of_left, of_right, kept, kinds or {}), MAX_RENAMINGS):
        variables = {
            b: a for ours, theirs in names.items() for a, b in zip(of_left[ours], of_right[theirs], strict=True)
        }
        pair = PairOfFunctions(left, _renamed(right, variables), limits, deadline)
        colours = pair.fixed_colours(kept)
        reading = pair.isomorphism(colours, colours)
        if reading is not None:
            return Equivalence(names, reading)
    return None


def _drawn(left: Sequence[Formula], right: Sequence[Formula]) -> tuple[list[Formula], list[Formula]]:
    """Both functions with comparisons replaced by the same cells."""
    both = draw_cells([*left, *right])
    return both[: len(left)], both[len(left) :]


def neural_variables(
    formulas: Sequence[Formula], limits: Limits, deadline: Deadline
) -> dict[str, list[NeuralVariable]]:
    """The variables of each network that a function depends on, in the order of their inputs."""
    deadline.check()
    circuit = compile_formulas(formulas, deadline.limited(limits))
    variables = [v for v in circuit.variables if isinstance(v, NeuralVariable)]
    ordered = sorted(variables, key=lambda v: (v.inputs, v.declaration, v.arguments))
    return {name: [v for v in ordered if v.network == name] for name in dict.fromkeys(v.network for v in variables)}


def _renamings(
    left: Mapping[str, Sequence[NeuralVariable]],
    right: Mapping[str, Sequence[NeuralVariable]],
    fixed: Mapping[str, frozenset[int]],
    kinds: Mapping[str, Hashable],
) -> Iterator[dict[str, str]]:
    """Bijections between networks that read the same inputs with equally many values; equal names first."""
    if len(left) != len(right):
        return

    def fits(a: str, b: str) -> bool:
        shapes = ([(v.inputs, v.size) for v in left[a]], [(v.inputs, v.size) for v in right[b]])
        alike = a not in kinds or b not in kinds or kinds[a] == kinds[b]
        return shapes[0] == shapes[1] and alike and (a == b or not {a, b} & set(fixed))

    waiting: list[dict[str, str]] = [{}]
    while waiting:
        names = waiting.pop()
        if len(names) == len(left):
            yield names
            continue
        name = next(a for a in left if a not in names)
        partners = [b for b in right if b not in names.values() and fits(name, b)]
        same_first = [name] * (name in partners) + [b for b in partners if b != name]
        waiting.extend({**names, name: partner} for partner in reversed(same_first))


def _renamed(formulas: Sequence[Formula], variables: Mapping[NeuralVariable, NeuralVariable]) -> list[Formula]:
    def renamed(node: Formula) -> Formula:
        match node:
            case Literal(NeuralVariable() as variable, values) if variable in variables:
                return Literal(variables[variable], values)
            case _:
                return node

    return rebuild(formulas, renamed)


def equivalence_classes(
    tests: Sequence[NodeTest],
    program: Program,
    *,
    fixed: Mapping[str, Iterable[int]] | None = None,
    kinds: Mapping[str, Hashable] | None = None,
    deadline: Deadline | None = None,
) -> list[list[NodeTest]]:
    """The tests in classes of equivalent ones, each class and the classes in the order of the tests.

    A test without networks is alone in its class.

    Parameters
    ----------
    tests : tests of the program.
    program : the background knowledge.
    fixed, kinds, deadline : as in `equivalence`.

    Returns
    -------
    The classes.

    Raises
    ------
    SearchLimitError : after the deadline.
    CircuitLimitError, GroundingLimitError : where a circuit exceeds its limits.
    """
    classes: dict[Any, list[list[NodeTest]]] = {}
    order: list[list[NodeTest]] = []
    for test in tests:
        formula = test.formula(program)
        key = fingerprint(formula)
        alike = classes.setdefault(key, []) if key is not None else []
        for members in alike:
            other = members[0].formula(program)
            renaming = equivalence(
                [other], [formula], fixed=fixed, kinds=kinds, limits=program.limits, deadline=deadline
            )
            if renaming is not None:
                members.append(test)
                break
        else:
            alike.append([test])
            order.append(alike[-1])
    return order


def mentioned_networks(formulas: Sequence[Formula]) -> set[str]:
    """The networks that formulas mention; they may depend on fewer."""
    variables = (node.variable for node in bottom_up(formulas) if isinstance(node, Literal))
    return {variable.network for variable in variables if isinstance(variable, NeuralVariable)}


def fingerprint(formula: Formula) -> Hashable | None:
    """What equivalent formulas have in common at a glance; None for a formula without networks."""
    variables = {node.variable for node in bottom_up([formula]) if isinstance(node, Literal)}
    neural = [v for v in variables if isinstance(v, NeuralVariable)]
    if not neural:
        return None
    by_network = {
        name: sorted((v.inputs, v.size) for v in neural if v.network == name) for name in {v.network for v in neural}
    }
    return tuple(sorted(tuple(inputs) for inputs in by_network.values())), frozenset(variables - set(neural))


def results(root: Node, program: Program, classes: Sequence[Any] = ()) -> tuple[list[tuple[float, ...]], list[Formula]]:
    """The different class distributions of a tree's leaves, and the formula of each.

    A leaf with a goal has a result for each value of the goal. Its noise does not count: the same value of the goals of two
    leaves is one result.

    Parameters
    ----------
    root : the root of the tree.
    program : the background knowledge of its tests.
    classes : the classes of the tree. Without them, the distribution of a goal's value is that of the plain leaf.

    Returns
    -------
    The distributions, and for each a formula that is true of the assignments with this result.
    """
    parts = components(root, Semantics(program))
    distributions = parts.class_probabilities(classes) if classes else parts.plain_values
    formulas: dict[NodeTest, Formula] = {}
    by_result: dict[Hashable, list[Formula]] = {}
    of_results: dict[Hashable, tuple[float, ...]] = {}
    for path, value, distribution in zip(parts.paths, parts.values, distributions.tolist(), strict=True):
        signed = []
        for test, outcome in path:
            if test not in formulas:
                formulas[test] = test.formula(program)
            signed.append(formulas[test] if outcome else Not(formulas[test]))
        rounded = tuple(round(p, TOLERANCE_DIGITS) for p in distribution)
        result = rounded if value is None else ("value", value)
        of_results.setdefault(result, rounded)
        by_result.setdefault(result, []).append(And(tuple(signed)))
    return list(of_results.values()), draw_cells([Or(tuple(conjunctions)) for conjunctions in by_result.values()])


def with_tests(root: Node, tests: Mapping[NodeTest, NodeTest]) -> Node:
    """The tree with tests replaced by others.

    Parameters
    ----------
    root : the root of the tree.
    tests : for each test that is replaced its replacement.

    Returns
    -------
    The root of the new tree, with the gains and masses of the given one.
    """

    def rebuilt(visit: Visit, below: tuple[Node, Node] | None) -> Node:
        node = visit.node
        if isinstance(node, LeafNode) or below is None:
            return node
        return Branch(
            tests.get(node.test, node.test), *below, node.gain, statistics=node.statistics, summary=node.summary
        )

    return fold(root, rebuilt)
