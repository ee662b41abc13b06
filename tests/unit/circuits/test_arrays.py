"""Circuits give the same probabilities in numpy and in torch."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from neuid3.circuits.arrays import NUMPY, Arrays
from neuid3.circuits.conjunctions import factorise
from neuid3.circuits.reach import Reach
from neuid3.circuits.torch_arrays import TorchArrays
from neuid3.logic.formula import And, ColumnVariable, Formula, Literal, Not, Or, Variable

ROWS = 5
VARIABLES = tuple(ColumnVariable(f"v{i}", size) for i, size in enumerate((2, 2, 3, 5, 40)))


def literals(variable: ColumnVariable) -> st.SearchStrategy[Formula]:
    values = st.frozensets(st.integers(0, variable.size - 1), min_size=1, max_size=variable.size - 1)
    return values.map(lambda chosen: Literal(variable, chosen))


def formulas() -> st.SearchStrategy[Formula]:
    return st.recursive(
        st.sampled_from(VARIABLES).flatmap(literals),
        lambda parts: st.one_of(
            parts.map(Not),
            st.lists(parts, min_size=1, max_size=3).map(lambda chosen: And(tuple(chosen))),
            st.lists(parts, min_size=1, max_size=3).map(lambda chosen: Or(tuple(chosen))),
        ),
        max_leaves=8,
    )


class Weights:
    """Distributions of all variables for some rows, in the arrays of one library; `power` makes some of them tiny."""

    def __init__(self, seed: int, power: float, arrays: Arrays, rows: int = ROWS) -> None:
        self.seed, self.power, self.arrays, self.rows = seed, power, arrays, rows

    def __len__(self) -> int:
        return self.rows

    def plain(self, variable: Variable) -> npt.NDArray[np.float64]:
        assert isinstance(variable, ColumnVariable)
        random = np.random.default_rng((self.seed, sum(map(ord, variable.column))))
        drawn = random.random((variable.size, self.rows)) ** self.power + 1e-300
        weights: npt.NDArray[np.float64] = drawn / drawn.sum(axis=0)
        return weights

    def weights(self, variable: Variable) -> Any:
        return self.arrays.floats(self.plain(variable))


def both(tests: list[Formula], paths: list[list[tuple[int, bool]]], seed: int, power: float) -> list[npt.NDArray[Any]]:
    """P(path | e) in numpy, and in torch without and with gradients."""
    factored = factorise(tests, paths)
    found = [Reach(factored)(Weights(seed, power, NUMPY))]
    reach = Reach(factored, TorchArrays())
    with torch.no_grad():
        found.append(reach(Weights(seed, power, TorchArrays())).numpy())
    found.append(reach(Weights(seed, power, TorchArrays())).numpy())
    return found


def close(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> None:
    """Both are equal up to 1e-12, also relative to numbers that are much smaller than that."""
    assert one.dtype == other.dtype == np.float64
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-300)


@given(st.lists(formulas(), min_size=1, max_size=4), st.data(), st.integers(0, 99), st.sampled_from([1.0, 40.0, 400.0]))
def test_numpy_and_torch_give_the_same_path_probabilities(
    tests: list[Formula], data: st.DataObject, seed: int, power: float
) -> None:
    signed = st.lists(st.tuples(st.integers(0, len(tests) - 1), st.booleans()), max_size=4, unique_by=lambda s: s[0])
    paths = data.draw(st.lists(signed, min_size=1, max_size=6))
    in_numpy, in_torch, with_gradients = both(tests, paths, seed, power)
    assert in_numpy.shape == (ROWS, len(paths))
    close(in_numpy, in_torch)
    close(in_numpy, with_gradients)


@pytest.mark.parametrize("power", [1.0, 300.0])
def test_wide_circuits_agree(power: float) -> None:
    """Levels with so many nodes that rows are gathered instead of multiplied with a matrix."""
    top, middle, low = ColumnVariable("top", 300), ColumnVariable("middle", 20), ColumnVariable("low", 20)
    random = np.random.default_rng(0)

    def some(variable: ColumnVariable) -> Literal:
        return Literal(variable, frozenset(random.choice(variable.size, variable.size // 2, replace=False).tolist()))

    branches: list[Formula] = []
    for value in range(top.size):
        condition = some(middle)
        either = Or((And((condition, some(low))), And((Not(condition), some(low)))))
        branches.append(And((Literal(top, frozenset({value})), either)))
    tests: list[Formula] = [Or(tuple(branches))]
    levels = [level for circuit in Reach(factorise(tests, [[(0, True)]])).circuits for level in circuit.levels]
    assert any(level.gathers is not None for level in levels)
    in_numpy, in_torch, with_gradients = both(tests, [[(0, True)], [(0, False)]], 0, power)
    np.testing.assert_allclose(in_numpy.sum(axis=1), 1.0)
    close(in_numpy, in_torch)
    close(in_numpy, with_gradients)


def test_products_of_many_small_probabilities_agree() -> None:
    """Deep paths with shared prefixes, whose probabilities go down to the smallest floats."""
    tests: list[Formula] = [Literal(ColumnVariable(f"d{i}", 2), frozenset({1})) for i in range(40)]
    paths = [[*((i, True) for i in range(depth)), (depth, False)] for depth in range(40)]
    in_numpy, in_torch, with_gradients = both(tests, paths, 3, 20.0)
    assert 0.0 < in_numpy[in_numpy > 0.0].min() < 1e-100
    close(in_numpy, in_torch)
    close(in_numpy, with_gradients)


def test_compiled_paths_are_pickled_with_their_arrays() -> None:
    tests: list[Formula] = [Literal(VARIABLES[2], frozenset({0, 2}))]
    for arrays in (NUMPY, TorchArrays(torch.float32)):
        reach = Reach(factorise(tests, [[(0, True)], [(0, False)]]), arrays)
        copied = pickle.loads(pickle.dumps(reach))
        weights = Weights(0, 1.0, arrays)
        assert (arrays.to_numpy(copied(weights)) == arrays.to_numpy(reach(weights))).all()
