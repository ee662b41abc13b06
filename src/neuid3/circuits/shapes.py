"""Circuits of formulas with Booleans that are certain for each example: one for each shape of example."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from neuid3.circuits.arrays import AnyArray, Arrays
from neuid3.circuits.compile import Circuit
from neuid3.circuits.evaluate import LayeredCircuit
from neuid3.circuits.reuse import CIRCUITS
from neuid3.errors import CircuitLimitError
from neuid3.logic.formula import (
    And,
    Formula,
    Literal,
    Not,
    Or,
    QueryVariable,
    Truth,
    Variable,
    bottom_up,
    draw_cells,
    parts_of,
)
from neuid3.logic.sandbox import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from neuid3.circuits.reach import VariableWeights


class ShapedCircuit:
    """Formulas that become circuits when the values of their certain Booleans are known.

    Queries over parts have Booleans such as "the example has a third card". They are certain for every example, and a diagram
    that branches on them as well would be far larger than those of the few combinations that occur. Examples with the same
    combination have the same shape, and share a circuit.

    Parameters
    ----------
    formulas : the formulas.
    limits : the size and time of each circuit.
    complete : number columns that are missing in no example, as in `draw_cells`.
    """

    def __init__(
        self, formulas: Sequence[Formula], limits: Limits = DEFAULT_LIMITS, complete: Container[str] = ()
    ) -> None:
        self.formulas, self.limits, self.complete = tuple(formulas), limits, complete
        self._circuits: dict[bytes, Circuit] = {}

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """All variables of the formulas, without repetition."""
        discretized = draw_cells(self.formulas, self.complete)
        return tuple(dict.fromkeys(node.variable for node in bottom_up(discretized) if isinstance(node, Literal)))

    @cached_property
    def certain(self) -> tuple[QueryVariable, ...]:
        """The variables that are certain for each example."""
        return tuple(variable for variable in self.variables if isinstance(variable, QueryVariable))

    @property
    def roots(self) -> tuple[Formula, ...]:
        """The formulas, one for each root of the circuits."""
        return self.formulas

    def circuit(self, values: npt.NDArray[np.bool_], nodes: int | None = None) -> Circuit:
        """The circuit of the examples with these values of the certain Booleans.

        Parameters
        ----------
        values : one for each of `certain`.
        nodes : the most nodes, where fewer than usual are allowed.

        Returns
        -------
        The circuit.
        """
        key = np.packbits(values).tobytes()
        if key not in self._circuits:
            known = dict(zip(self.certain, values.tolist(), strict=True))
            formulas = by_first_variable(_conditioned(self.formulas, known))
            limits = self.limits if nodes is None else replace(self.limits, circuit_nodes=nodes)
            self._circuits[key] = CIRCUITS.compile(formulas, limits, self.complete, one_order=True)
        return self._circuits[key]

    def shapes(self, evidence: VariableWeights, arrays: Arrays) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
        """The combinations of certain Booleans that occur, `(Boolean, shape)`, and the one of each example, `(example,)`.

        Parameters
        ----------
        evidence : the examples.
        arrays : the array library of the evidence.
        """
        with arrays.without_gradients():
            certain = [arrays.to_numpy(evidence.weights(variable))[1] > 0.5 for variable in self.certain]
        shapes, shape_of = np.unique(np.stack(certain), axis=1, return_inverse=True)
        return shapes, shape_of.ravel()

    def is_small(self, evidence: VariableWeights, arrays: Arrays, nodes: int) -> bool:
        """Whether the circuit of each shape that occurs keeps to a limit.

        Parameters
        ----------
        evidence : the examples.
        arrays : the array library of the evidence.
        nodes : the most nodes of a circuit.
        """
        try:
            circuits = [self.circuit(values, nodes) for values in self.shapes(evidence, arrays)[0].T]
        except CircuitLimitError:
            return False
        return all(circuit.compiled <= nodes for circuit in circuits)

    def __len__(self) -> int:
        return sum(map(len, self._circuits.values()))

    def __getstate__(self) -> dict[str, object]:
        return {"formulas": self.formulas, "limits": self.limits, "complete": self.complete, "_circuits": {}}


def _conditioned(formulas: Sequence[Formula], known: Mapping[QueryVariable, bool]) -> list[Formula]:
    """The formulas with the values of certain Booleans, simplified; what they share is simplified once."""
    results: dict[int, Formula] = {}
    for node in bottom_up(formulas):
        match node:
            case And(parts) | Or(parts):
                neutral = isinstance(node, And)
                inner = [results[id(part)] for part in parts]
                kept = [part for part in inner if not (isinstance(part, Truth) and part.value == neutral)]
                if any(isinstance(part, Truth) for part in kept):
                    results[id(node)] = Truth(not neutral)
                elif len(kept) == 1:
                    results[id(node)] = kept[0]
                else:
                    results[id(node)] = type(node)(tuple(kept)) if kept else Truth(neutral)
            case Not(part):
                inner_part = results[id(part)]
                negated = Truth(not inner_part.value) if isinstance(inner_part, Truth) else Not(inner_part)
                results[id(node)] = negated
            case Literal(QueryVariable() as variable, values) if variable in known:
                results[id(node)] = Truth(int(known[variable]) in values)
            case _:
                results[id(node)] = node
    return [results[id(formula)] for formula in formulas]


def simplified(formula: Formula) -> Formula:
    """An equivalent formula without constants inside, or a constant."""
    return _conditioned([formula], {})[0]


def by_first_variable(formulas: Sequence[Formula]) -> list[Formula]:
    """Equivalent formulas whose disjunctions are nested by the first variable of their parts, the last innermost.

    A diagram of all pairs of parts is built from the bottom up, and no diagram on the way is larger than it: with 13
    values, that of *two of seven are equal* takes 2 s in place of minutes.
    """
    position: dict[Variable, int] = {}
    for node in bottom_up(formulas):
        if isinstance(node, Literal):
            position.setdefault(node.variable, len(position))
    first: dict[int, int] = {}
    results: dict[int, Formula] = {}
    for node in bottom_up(formulas):
        parts = parts_of(node)
        own = position[node.variable] if isinstance(node, Literal) else len(position)
        first[id(node)] = min((first[id(part)] for part in parts), default=own)
        match node:
            case Or(parts) if len(parts) > 2:
                groups: dict[int, list[Formula]] = {}
                for part in parts:
                    groups.setdefault(first[id(part)], []).append(results[id(part)])
                ordered = [Or(tuple(groups[at])) for at in sorted(groups, reverse=True)]
                nested: Formula = ordered[0]
                for group in ordered[1:]:
                    nested = Or((group, nested))
                results[id(node)] = nested
            case And(parts) | Or(parts):
                results[id(node)] = type(node)(tuple(results[id(part)] for part in parts))
            case Not(part):
                results[id(node)] = Not(results[id(part)])
            case _:
                results[id(node)] = node
    return [results[id(formula)] for formula in formulas]


class ShapedEvaluator:
    """A shaped circuit as array operations: called with evidence, it returns the roots' probabilities, `(root, example)`.

    Parameters
    ----------
    shaped : the formulas, with the circuits that are known.
    arrays : the array library that evaluates them.
    """

    def __init__(self, shaped: ShapedCircuit, arrays: Arrays) -> None:
        self.shaped, self.arrays = shaped, arrays
        self._layered: dict[bytes, LayeredCircuit] = {}

    @property
    def roots(self) -> tuple[Formula, ...]:
        """One entry for each root."""
        return self.shaped.roots

    def __call__(self, evidence: VariableWeights) -> AnyArray:
        arrays, shaped = self.arrays, self.shaped
        shapes, shape_of = shaped.shapes(evidence, arrays)
        order = np.argsort(shape_of, kind="stable")
        sizes = np.bincount(shape_of, minlength=shapes.shape[1])
        results, start = [], 0
        for values, size in zip(shapes.T, sizes, strict=True):
            rows = order[start : start + size]
            results.append(self._evaluated(values, evidence, arrays.indices(rows)))
            start += size
        inverse = np.empty(len(order), dtype=np.int64)
        inverse[order] = np.arange(len(order))
        return arrays.take(arrays.concatenate([block.T for block in results]), arrays.indices(inverse)).T

    def _evaluated(self, values: npt.NDArray[np.bool_], evidence: VariableWeights, rows: AnyArray) -> AnyArray:
        """The roots' probabilities for the examples of one shape, `(root, example)`."""
        key = np.packbits(values).tobytes()
        if key not in self._layered:
            self._layered[key] = LayeredCircuit(self.shaped.circuit(values), self.arrays)
        layered = self._layered[key]
        variables = layered.circuit.variables
        if not variables:
            return self.arrays.repeated(self.arrays.floats(np.array(layered.constant_roots)), len(rows))
        return layered([evidence.weights(variable)[:, rows] for variable in variables])
