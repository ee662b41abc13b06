"""Circuits for each shape of example against circuits that branch on everything."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from neuid3.circuits.arrays import NUMPY
from neuid3.circuits.compile import compile_formulas
from neuid3.circuits.evaluate import LayeredCircuit
from neuid3.circuits.shapes import ShapedCircuit, ShapedEvaluator, by_first_variable, simplified
from neuid3.logic.formula import And, ColumnVariable, Formula, Literal, Not, Or, QueryVariable, Truth, bottom_up


@dataclass(frozen=True)
class Certain:
    """A Boolean of examples, by its number."""

    number: int


class Weights:
    """Random weights; those of certain Booleans are 0 or 1."""

    def __init__(self, seed: int, examples: int) -> None:
        self.seed, self.examples = seed, examples

    def __len__(self) -> int:
        return self.examples

    def weights(self, variable: object) -> np.ndarray:
        rng = np.random.default_rng([self.seed, abs(hash(variable)) % 1000])
        true = rng.random(self.examples)
        if isinstance(variable, QueryVariable):
            true = (true < 0.5).astype(float)
        return np.stack((1.0 - true, true))


def random_formula(rng: np.random.Generator, depth: int) -> Formula:
    if depth == 0 or rng.random() < 0.15:
        number = int(rng.integers(5))
        variable = (
            QueryVariable(Certain(number), ()) if rng.random() < 0.5 else ColumnVariable(f"c{number}", 2)  # type: ignore[arg-type]
        )
        return Literal(variable, frozenset({int(rng.integers(2))}))
    parts = tuple(random_formula(rng, depth - 1) for _ in range(int(rng.integers(1, 4))))
    return [And(parts), Or(parts), Not(parts[0])][int(rng.integers(3))]


@pytest.mark.parametrize("seed", range(30))
def test_shapes_give_the_probabilities_of_one_circuit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    formulas = [random_formula(rng, 4) for _ in range(3)]
    weights = Weights(seed, 40)
    shaped = ShapedEvaluator(ShapedCircuit(formulas), NUMPY)
    if not shaped.shaped.certain:
        return
    whole = LayeredCircuit(compile_formulas(formulas), NUMPY)
    variables = whole.circuit.variables
    expected = (
        whole([weights.weights(variable) for variable in variables])
        if variables
        else np.repeat(np.array(whole.constant_roots)[:, None], 40, axis=1)
    )
    np.testing.assert_allclose(shaped(weights), expected, atol=1e-12)


def test_a_simplified_formula_has_no_constants_inside() -> None:
    a = Literal(ColumnVariable("a", 2), frozenset({1}))
    formula = And((Or((a, Truth(False))), Not(Truth(False)), And((a, Truth(True)))))
    assert not any(isinstance(node, Truth) for node in bottom_up([simplified(formula)]))
    assert simplified(Or((a, Truth(True)))) == Truth(True)


def test_two_of_many_are_equal_in_a_circuit_of_the_values_seen() -> None:
    cards, values = 5, 6
    of_card = [
        [Literal(ColumnVariable(f"card_{i}", values), frozenset({v})) for v in range(values)] for i in range(cards)
    ]
    equal = [
        Or(tuple(And((of_card[i][v], of_card[j][v])) for v in range(values)))
        for i in range(cards)
        for j in range(cards)
        if i != j
    ]
    formulas = [Or(tuple(equal)), Not(Or(tuple(equal)))]
    nested = compile_formulas(by_first_variable(formulas), one_order=True)
    uniform = [np.full((values, 1), 1 / values)] * len(nested.variables)
    expected = 1.0 - np.prod([(values - i) / values for i in range(cards)])
    np.testing.assert_allclose(LayeredCircuit(nested, NUMPY)(uniform)[:, 0], [expected, 1.0 - expected])
    assert len(nested) <= 2 * sum(math.comb(values, i) for i in range(cards))


@pytest.mark.parametrize("seed", range(10))
def test_a_shaped_circuit_is_small_where_those_of_all_shapes_keep_to_the_limit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    formulas = [random_formula(rng, 4) for _ in range(3)]
    shaped, weights = ShapedCircuit(formulas), Weights(seed, 40)
    if not shaped.certain:
        return
    sizes = [shaped.circuit(values).compiled for values in shaped.shapes(weights, NUMPY)[0].T]
    assert shaped.is_small(weights, NUMPY, 10_000)
    assert shaped.is_small(weights, NUMPY, max(sizes))
    assert not shaped.is_small(weights, NUMPY, max(sizes) - 1)
