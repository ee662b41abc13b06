"""Rewritings of trees with several networks, compared with trying every tree of the candidates."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuid3 import Branch, Leaf
from neuid3.data.columns import Tensor
from neuid3.identifiability import certify, equivalence, results, rewritings
from neuid3.identifiability.forms import with_tests
from neuid3.logic.program import Program
from neuid3.tree.node_tests import AtomTest

RULE_BODIES = {"order": "X < Y", "same": "X =:= Y", "next": "Y =:= (X + 1) mod {width}"}


def several_networks(kinds: list[str], width: int) -> tuple[Branch, list[AtomTest], Program]:
    """A chain of tests r0, r1, …, each with a network of its own, and all candidates."""
    values = ", ".join(map(str, range(width)))
    text = "".join(
        f"nn(n{i}, [I], V, [{values}]) :: v{i}(I, V).\n"
        f"r{i}(A, B) :- v{i}(A, X), v{i}(B, Y), {RULE_BODIES[kind].format(width=width)}.\n"
        for i, kind in enumerate(kinds)
    )
    root: Branch | Leaf = Leaf(0.95)
    for i in reversed(range(len(kinds))):
        root = Branch(f"r{i}(a, b)", root, Leaf(0.1 + 0.1 * i))
    assert isinstance(root, Branch)
    candidates = [AtomTest(f"r{i}({x}, {y})") for i in range(len(kinds)) for x, y in ("ab", "ba")]
    return root, candidates, Program(text, {"a": Tensor((2, 2)), "b": Tensor((2, 2))})


def orbits(count: int, renamings: list[dict[str, str]]) -> list[set[str]]:
    """For each network those that renamings and their products lead to."""
    reached = [{f"n{i}"} for i in range(count)]
    for _ in range(count):
        for names in reached:
            names |= {renaming.get(name, name) for name in names for renaming in renamings}
    return reached


@given(st.lists(st.sampled_from(sorted(RULE_BODIES)), min_size=2, max_size=3))
def test_rewritings_generate_all_exchanges_of_networks_that_trying_every_tree_finds(kinds: list[str]) -> None:
    root, candidates, program = several_networks(kinds, 3)
    found, complete = rewritings(root, candidates, program)
    assert complete
    tests = [f"r{i}(a, b)" for i in range(len(kinds))]
    left = results(root, program)[1]
    exchanges = []
    for chosen in itertools.permutations(range(len(kinds))):
        for swapped in itertools.product((False, True), repeat=len(kinds)):
            replaced = {
                AtomTest(test): AtomTest(f"r{i}(b, a)" if swap else f"r{i}(a, b)")
                for test, i, swap in zip(tests, chosen, swapped, strict=True)
            }
            same = equivalence(left, results(with_tests(root, replaced), program)[1])
            if same is not None:
                exchanges.append(dict(same.networks))
    of_found = [dict(rewriting.equivalence.networks) for rewriting in found]
    assert orbits(len(kinds), of_found) == orbits(len(kinds), exchanges)


@pytest.mark.parametrize("kind", sorted(RULE_BODIES))
def test_six_networks_of_twenty_values_are_determined(kind: str) -> None:
    root, candidates, program = several_networks([kind] * 6, 20)
    certificate = certify(root, program, candidates=candidates, seconds=600)
    up_to = {"order": "reversal", "same": "any permutation", "next": "reversal and a shift"}[kind]
    assert [network.fixed_up_to for network in certificate.networks] == [up_to] * 6
    assert all(network.exact and len(network.equivalent) == 5 for network in certificate.networks)
