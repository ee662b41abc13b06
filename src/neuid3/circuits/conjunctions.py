"""How does a path fall into independent parts? Tests that share a variable are compiled together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from neuid3.circuits.compile import Circuit, compile_formulas
from neuid3.logic.formula import And, Formula, negate, sources
from neuid3.logic.sandbox import DEFAULT_LIMITS, Limits

# A test by its number, and the answer it must give.
SignedTest = tuple[int, bool]


@dataclass(frozen=True, slots=True)
class Conjunctions:
    """Conjunctions as products: path i has the probability ∏ P(root) over `factors[i]`.

    Roots are numbered through all circuits, in order.
    """

    circuits: tuple[Circuit, ...]
    factors: tuple[tuple[int, ...], ...]


def factorise(
    tests: Sequence[Formula], paths: Sequence[Sequence[SignedTest]], limits: Limits = DEFAULT_LIMITS
) -> Conjunctions:
    """Compile the conjunctions of signed tests that `paths` lists.

    Tests on one path that share a random variable are compiled as one conjunction, since the product of
    their probabilities would be wrong. Independent ones are multiplied, so a path of d unrelated tests costs O(d).
    """
    needs = [sources(test) for test in tests]
    clusters = groups(range(len(tests)), needs)
    cluster_of = {test: number for number, members in enumerate(clusters) for test in members}
    wanted: list[dict[tuple[SignedTest, ...], int]] = [{} for _ in clusters]
    parts_of_paths: list[list[tuple[int, int]]] = []
    for path in paths:
        parts: list[tuple[int, int]] = []
        for answers in _independent(dict.fromkeys(path), clusters, cluster_of, needs):
            part = tuple(sorted(answers))
            cluster = cluster_of[part[0][0]]
            parts.append((cluster, wanted[cluster].setdefault(part, len(wanted[cluster]))))
        parts_of_paths.append(parts)
    used = [number for number, parts in enumerate(wanted) if parts]
    signed = {False: [negate(test) for test in tests], True: tests}
    circuits = tuple(
        compile_formulas([And(tuple(signed[answer][test] for test, answer in part)) for part in wanted[n]], limits)
        for n in used
    )
    offset, offsets = 0, {}
    for number in used:
        offsets[number] = offset
        offset += len(wanted[number])
    factors = tuple(tuple(offsets[cluster] + root for cluster, root in parts) for parts in parts_of_paths)
    return Conjunctions(circuits, factors)


def _independent(
    answers: Iterable[SignedTest],
    clusters: Sequence[set[int]],
    cluster_of: Mapping[int, int],
    needs: Sequence[frozenset[Hashable]],
) -> Iterable[list[SignedTest]]:
    """The answers of a path in groups that share no variable, in the order of their first answers."""
    answers = list(answers)
    shared = dict.fromkeys(test for test, _ in answers if len(clusters[cluster_of[test]]) > 1)
    group_of = {test: number for number, members in enumerate(groups(shared, needs)) for test in members}
    found: dict[int, list[SignedTest]] = {}
    for test, answer in answers:
        found.setdefault(group_of.get(test, -1 - test), []).append((test, answer))
    return found.values()


def groups(members: Iterable[int], needs: Sequence[frozenset[Hashable]]) -> list[set[int]]:
    """Members that share a variable, directly or through others, stand in one group."""
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
