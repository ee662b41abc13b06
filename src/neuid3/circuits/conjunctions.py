"""Factorisation of conjunctions of tests into independent circuits."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from neuid3.circuits.compile import Circuit, compile_formulas
from neuid3.circuits.reuse import CIRCUITS
from neuid3.circuits.shapes import ShapedCircuit
from neuid3.errors import CircuitLimitError
from neuid3.logic.formula import And, Formula, Literal, QueryVariable, Variable, bottom_up, negate, sources
from neuid3.logic.sandbox import DEFAULT_LIMITS, Limits

# A circuit may branch on Booleans that are certain for each example where there are at most so many, and up to this size;
# otherwise each shape of example has a circuit of its own.
MAX_CERTAIN, MAX_UNSHAPED_NODES = 24, 2000

# The number of a test, and its outcome in a conjunction.
SignedTest = tuple[int, bool]


@dataclass(frozen=True, slots=True)
class Conjunctions:
    """Conjunctions as products of circuit roots.

    Attributes
    ----------
    circuits : the compiled conjunctions; no two circuits share a variable that is uncertain.
    factors : for each path the roots whose probabilities are multiplied; roots are numbered through all circuits.
    """

    circuits: tuple[Circuit | ShapedCircuit, ...]
    factors: tuple[tuple[int, ...], ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of the circuits, without repetition."""
        return tuple(dict.fromkeys(variable for circuit in self.circuits for variable in circuit.variables))


def factorise(
    tests: Sequence[Formula],
    paths: Sequence[Sequence[SignedTest]],
    limits: Limits = DEFAULT_LIMITS,
    complete: Container[str] = (),
) -> Conjunctions:
    """The compiled conjunctions of signed tests.

    Tests on one path that share a random variable are compiled as one conjunction, since they are not independent.
    Independent ones are multiplied, so a path of d independent tests takes O(d) time.

    Parameters
    ----------
    tests : the formulas of the tests.
    paths : for each path the numbers of its tests, with their outcomes.
    limits : the size and time of each circuit.
    complete : number columns that are missing in no example, as in `draw_cells`.

    Returns
    -------
    The circuits, and for each path those whose product is its probability.
    """
    needs = [uncertain_sources(test) for test in tests]
    clusters = groups(range(len(tests)), needs)
    cluster_of = {test: number for number, members in enumerate(clusters) for test in members}
    roots: list[dict[tuple[SignedTest, ...], int]] = [{} for _ in clusters]
    parts_of_paths: list[list[tuple[int, int]]] = []
    for path in paths:
        parts: list[tuple[int, int]] = []
        for signed_tests in _independent(dict.fromkeys(path), clusters, cluster_of, needs):
            part = tuple(sorted(signed_tests))
            cluster = cluster_of[part[0][0]]
            parts.append((cluster, roots[cluster].setdefault(part, len(roots[cluster]))))
        parts_of_paths.append(parts)
    used = [number for number, parts in enumerate(roots) if parts]
    signed = {False: [negate(test) for test in tests], True: tests}
    circuits = tuple(
        _compiled([And(tuple(signed[outcome][test] for test, outcome in part)) for part in roots[n]], limits, complete)
        for n in used
    )
    offset, offsets = 0, {}
    for number in used:
        offsets[number] = offset
        offset += len(roots[number])
    factors = tuple(tuple(offsets[cluster] + root for cluster, root in parts) for parts in parts_of_paths)
    return Conjunctions(circuits, factors)


def uncertain_sources(formula: Formula) -> frozenset[Hashable]:
    """The random variables by which tests depend on each other: those that are not certain for every example.

    Parameters
    ----------
    formula : the formula of a test.
    """
    return frozenset(source for source in sources(formula) if not isinstance(source, QueryVariable))


def _compiled(formulas: Sequence[Formula], limits: Limits, complete: Container[str]) -> Circuit | ShapedCircuit:
    """One circuit, or one for each shape of example where certain Booleans would make it large."""
    literals = [node.variable for node in bottom_up(formulas) if isinstance(node, Literal)]
    certain = {variable for variable in literals if isinstance(variable, QueryVariable)}
    if not certain or len(set(literals)) == 1:
        return compile_formulas(formulas, limits, complete)
    if len(certain) <= MAX_CERTAIN:
        try:
            nodes = min(limits.circuit_nodes, MAX_UNSHAPED_NODES)
            return CIRCUITS.compile(formulas, replace(limits, circuit_nodes=nodes), complete, one_order=True)
        except CircuitLimitError:
            pass
    return ShapedCircuit(formulas, limits, complete)


def _independent(
    signed_tests: Iterable[SignedTest],
    clusters: Sequence[set[int]],
    cluster_of: Mapping[int, int],
    needs: Sequence[frozenset[Hashable]],
) -> Iterable[list[SignedTest]]:
    """The signed tests of a path in groups that share no variable, in the order of the first test of each."""
    signed_tests = list(signed_tests)
    shared = dict.fromkeys(test for test, _ in signed_tests if len(clusters[cluster_of[test]]) > 1)
    group_of = {test: number for number, members in enumerate(groups(shared, needs)) for test in members}
    grouped: dict[int, list[SignedTest]] = {}
    for test, outcome in signed_tests:
        grouped.setdefault(group_of.get(test, -1 - test), []).append((test, outcome))
    return grouped.values()


def groups(members: Iterable[int], needs: Sequence[frozenset[Hashable]]) -> list[set[int]]:
    """The connected components of members, where two members that share a variable are connected.

    Parameters
    ----------
    members : numbers of tests.
    needs : for each test the variables that it depends on.
    """
    leader: dict[int, int] = {}
    owner: dict[Hashable, int] = {}

    def find(member: int) -> int:
        while leader[member] != member:
            leader[member] = leader[leader[member]]
            member = leader[member]
        return member

    for member in members:
        leader[member] = member
        for need in needs[member]:
            leader[find(owner.setdefault(need, member))] = find(member)
    grouped: dict[int, set[int]] = {}
    for member in leader:
        grouped.setdefault(find(member), set()).add(member)
    return list(grouped.values())
