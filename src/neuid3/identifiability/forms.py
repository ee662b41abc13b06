"""Equivalent forms: tests that are the same up to the names of networks and of their values."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations, product
from typing import Any

import numpy as np

from neuid3.circuits.compile import compile_formulas
from neuid3.identifiability.symmetries import Colours, Deadline, PairOfFunctions, Reading
from neuid3.logic.formula import And, Formula, Literal, NeuralVariable, Not, Or, bottom_up, draw_cells, rebuild
from neuid3.logic.program import Program
from neuid3.logic.sandbox import DEFAULT_LIMITS, Limits
from neuid3.tree.node_tests import AtomTest, NodeTest
from neuid3.tree.tree import Branch, Leaf, Node, fold, paths

# At most so many rewritten trees are compared with a tree.
MAX_REWRITINGS = 256

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
    kinds : what must be the same of two networks where one takes the place of the other, such as their architecture.
    limits : the size and time of circuits.
    deadline : the search raises `TimeLimit` after it.
    """
    fixed = {name: frozenset(values) for name, values in (fixed or {}).items()}
    left, right = _drawn(left, right)
    of_left, of_right = _neural(left, limits), _neural(right, limits)
    for names in islice(_renamings(of_left, of_right, fixed, kinds or {}), MAX_RENAMINGS):
        variables = {
            b: a
            for ours, theirs in names.items()
            for a, b in zip(of_left[ours], of_right[theirs], strict=True)
        }
        pair = PairOfFunctions(left, _renamed(right, variables), limits)
        colours = _fixed_colours(pair, fixed)
        reading = pair.isomorphism(colours, colours, deadline)
        if reading is not None:
            return Equivalence(names, reading)
    return None


def _drawn(left: Sequence[Formula], right: Sequence[Formula]) -> tuple[list[Formula], list[Formula]]:
    """Both functions with comparisons replaced by the same cells."""
    both = draw_cells([*left, *right])
    return both[: len(left)], both[len(left) :]


def _neural(formulas: Sequence[Formula], limits: Limits) -> dict[str, list[NeuralVariable]]:
    """The variables of each network that a function depends on, in the order of their inputs."""
    variables = [v for v in compile_formulas(formulas, limits).variables if isinstance(v, NeuralVariable)]
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
        return shapes[0] == shapes[1] and kinds.get(a) == kinds.get(b) and (a == b or not {a, b} & set(fixed))

    choices = [sorted((b for b in right if fits(a, b)), key=lambda b, a=a: b != a) for a in left]
    for chosen in product(*choices):
        if len(set(chosen)) == len(chosen):
            yield dict(zip(left, chosen, strict=True))


def _renamed(formulas: Sequence[Formula], variables: Mapping[NeuralVariable, NeuralVariable]) -> list[Formula]:
    def renamed(node: Formula) -> Formula:
        match node:
            case Literal(NeuralVariable() as variable, values) if variable in variables:
                return Literal(variables[variable], values)
            case _:
                return node

    return rebuild(formulas, renamed)


def _fixed_colours(pair: PairOfFunctions, fixed: Mapping[str, frozenset[int]]) -> Colours:
    """Colours in which every fixed value is alone."""
    colours: Colours = {}
    for name, size in pair.sizes.items():
        colours[name] = np.zeros(size, dtype=np.int64)
        for i, value in enumerate(sorted(fixed.get(name, ()))):
            colours[name][value] = i + 1
    return colours


def equivalence_classes(
    tests: Sequence[NodeTest],
    program: Program,
    *,
    fixed: Mapping[str, Iterable[int]] | None = None,
    kinds: Mapping[str, Hashable] | None = None,
) -> list[list[NodeTest]]:
    """The tests in classes of equivalent ones, each class and the classes in the order of the tests.

    A test without networks is alone in its class.

    Parameters
    ----------
    tests : tests of the program.
    program : the background knowledge.
    fixed, kinds : as in `equivalence`.
    """
    classes: dict[Any, list[list[NodeTest]]] = {}
    order: list[list[NodeTest]] = []
    for test in tests:
        formula = test.formula(program)
        key = _fingerprint(formula)
        alike = classes.setdefault(key, []) if key is not None else []
        for members in alike:
            other = members[0].formula(program)
            if equivalence([other], [formula], fixed=fixed, kinds=kinds, limits=program.limits) is not None:
                members.append(test)
                break
        else:
            alike.append([test])
            order.append(alike[-1])
    return order


def _fingerprint(formula: Formula) -> Hashable | None:
    """What equivalent formulas have in common at a glance; None for a formula without networks."""
    variables = {node.variable for node in bottom_up([formula]) if isinstance(node, Literal)}
    neural = [v for v in variables if isinstance(v, NeuralVariable)]
    if not neural:
        return None
    by_network = {name: sorted((v.inputs, v.size) for v in neural if v.network == name) for name in {v.network for v in neural}}
    return tuple(sorted((tuple(inputs) for inputs in by_network.values()))), frozenset(variables - set(neural))


def results(root: Node, program: Program) -> tuple[list[tuple[float, ...]], list[Formula]]:
    """The different class distributions of a tree's leaves, and the formula of each.

    Parameters
    ----------
    root : the root of the tree.
    program : the background knowledge of its tests.
    """
    formulas: dict[NodeTest, Formula] = {}
    by_result: dict[tuple[float, ...], list[Formula]] = {}
    for path, leaf in paths(root):
        signed = []
        for test, outcome in path:
            formula = formulas.setdefault(test, test.formula(program)) if test not in formulas else formulas[test]
            signed.append(formula if outcome else Not(formula))
        result = tuple(round(p, TOLERANCE_DIGITS) for p in leaf.probabilities)
        by_result.setdefault(result, []).append(And(tuple(signed)))
    return list(by_result), draw_cells([Or(tuple(conjunctions)) for conjunctions in by_result.values()])


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A tree of other candidates that says the same with its networks read otherwise.

    Attributes
    ----------
    tests : for each test that is replaced its replacement.
    equivalence : how networks and values are renamed.
    """

    tests: Mapping[NodeTest, NodeTest]
    equivalence: Equivalence


def rewritings(
    root: Node,
    candidates: Iterable[NodeTest],
    program: Program,
    *,
    kinds: Mapping[str, Hashable] | None = None,
    deadline: Deadline | None = None,
) -> list[Rewriting]:
    """The rewritings of a tree: arguments of its tests or whole networks exchanged, all tests being candidates.

    Parameters
    ----------
    root : the root of the tree.
    candidates : the tests that the tree could have been made of.
    program : the background knowledge.
    kinds : what must be the same of two networks that are exchanged.
    deadline : the search raises `TimeLimit` after it.
    """
    used = list(dict.fromkeys(test for path, _ in paths(root) for test, _ in path))
    atoms = {test: atom for test in used if (atom := _atom(test)) is not None and _fingerprint(test.formula(program))}
    known = {atom: test for test in candidates if (atom := _atom(test)) is not None}
    by_form: dict[tuple[str, int], list[NodeTest]] = {}
    for test, (predicate, arguments) in atoms.items():
        by_form.setdefault((predicate, len(arguments)), []).append(test)
    choices = [list(_replacements(tests, atoms, known)) for tests in by_form.values()]
    _, left = results(root, program)
    found = []
    for chosen in islice(product(*choices), MAX_REWRITINGS):
        replaced = {old: new for of_form in chosen for old, new in of_form.items() if old != new}
        if not replaced:
            continue
        _, right = results(_replaced(root, replaced), program)
        same = equivalence(left, right, kinds=kinds, limits=program.limits, deadline=deadline)
        if same is not None and not same.is_identity:
            found.append(Rewriting(replaced, same))
    return found


def _replacements(
    tests: Sequence[NodeTest], atoms: Mapping[NodeTest, tuple[str, tuple[str, ...]]], known: Mapping[Any, NodeTest]
) -> Iterator[dict[NodeTest, NodeTest]]:
    """For tests of one predicate, those of every predicate and order of arguments that are candidates; themselves first."""
    predicate, arguments = atoms[tests[0]]
    names = dict.fromkeys([predicate, *(name for name, others in known if len(others) == len(arguments))])
    for name, order in product(names, permutations(range(len(arguments)))):
        others = {}
        for test in tests:
            _, own = atoms[test]
            atom = (name, tuple(own[i] for i in order))
            others[test] = test if atom == atoms[test] else _with_instances(known.get(atom), test)
        if all(other is not None for other in others.values()):
            yield others


def _with_instances(test: NodeTest | None, of: NodeTest) -> NodeTest | None:
    """A test with the network instances of another one."""
    if isinstance(test, AtomTest) and isinstance(of, AtomTest):
        return AtomTest(test.atom, of.instances)
    return test


def _replaced(root: Node, tests: Mapping[NodeTest, NodeTest]) -> Node:
    """The tree with tests replaced by others."""

    def rebuilt(visit: Any, below: Any) -> Node:
        node = visit.node
        if isinstance(node, Leaf):
            return node
        return Branch(tests.get(node.test, node.test), *below)

    return fold(root, rebuilt)


_ARGUMENT = re.compile(r"\s*('(?:[^'\\]|\\.)*'|[^,()']+)\s*(?:,|$)")
_ATOM = re.compile(r"\s*('(?:[^'\\]|\\.)*'|[a-z]\w*)\s*(?:\((.*)\))?\s*", re.DOTALL)


def _atom(test: NodeTest) -> tuple[str, tuple[str, ...]] | None:
    """The predicate and the arguments of a test that is an atom with simple arguments; None otherwise."""
    match = _ATOM.fullmatch(str(test)) if isinstance(test, AtomTest) else None
    if match is None:
        return None
    inside = match.group(2) or ""
    arguments = [argument.strip() for argument in _ARGUMENT.findall(inside)]
    return (match.group(1), tuple(arguments)) if ",".join(arguments) == re.sub(r"\s*,\s*", ",", inside.strip()) else None
