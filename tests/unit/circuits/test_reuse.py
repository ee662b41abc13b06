"""Circuits of formulas that differ in their variables only."""

from __future__ import annotations

import numpy as np
import pytest

from neuid3.circuits.compile import compile_formulas
from neuid3.circuits.reuse import CircuitCache, structure_of_formulas
from neuid3.errors import CircuitLimitError
from neuid3.logic.formula import And, ColumnVariable, Formula, Literal, Not, Or, bottom_up
from neuid3.logic.sandbox import Limits


def random_formula(rng: np.random.Generator, names: list[str], depth: int) -> Formula:
    """A formula over variables of these names; the same draws with other names give the same structure."""
    if depth == 0 or rng.random() < 0.15:
        name = names[int(rng.integers(len(names)))]
        return Literal(ColumnVariable(name, 3), frozenset({int(rng.integers(3))}))
    parts = tuple(random_formula(rng, names, depth - 1) for _ in range(int(rng.integers(1, 4))))
    return [And(parts), Or(parts), Not(parts[0])][int(rng.integers(3))]


@pytest.mark.parametrize("seed", range(40))
def test_a_known_circuit_is_that_of_the_formulas_with_their_own_variables(seed: int) -> None:
    cache = CircuitCache()
    for names in (["a", "b", "c", "d"], ["w", "x", "y", "z"], ["d", "a", "c", "b"]):
        rng = np.random.default_rng(seed)
        formulas = [random_formula(rng, names, 4) for _ in range(2)]
        assert cache.compile(formulas, one_order=True) == compile_formulas(formulas, one_order=True)


def test_formulas_of_other_structure_have_circuits_of_their_own() -> None:
    first, second = (Literal(ColumnVariable(name, 2), frozenset({1})) for name in "ab")
    wide = Literal(ColumnVariable("a", 3), frozenset({1}))
    formulas = [And((first, second)), Or((first, second)), And((first, first)), And((wide, second)), Not(first)]
    cache = CircuitCache()
    for formula in formulas:
        assert cache.compile([formula], one_order=True) == compile_formulas([formula], one_order=True)
    assert len({structure_of_formulas([formula])[0] for formula in formulas}) == len(formulas)


def test_circuits_that_were_used_last_are_kept() -> None:
    cache = CircuitCache(most_nodes=8)
    literals = [Literal(ColumnVariable(f"v{i}", i + 2), frozenset({1})) for i in range(20)]
    for literal in literals:
        assert cache.compile([literal], one_order=True) == compile_formulas([literal], one_order=True)
    assert len(cache) <= 4


def test_the_limit_of_nodes_holds_for_known_circuits_too() -> None:
    literals = [Literal(ColumnVariable(f"v{i}", 2), frozenset({1})) for i in range(6)]
    formula = And(tuple(literals))
    cache = CircuitCache()
    cache.compile([formula])
    assert len(list(bottom_up([formula]))) == 7
    for _ in range(2):
        with pytest.raises(CircuitLimitError):
            cache.compile([formula], Limits(circuit_nodes=3))
