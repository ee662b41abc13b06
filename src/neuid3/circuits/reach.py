"""Path probabilities P(κ | e) of many paths for a batch of examples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from neuid3.circuits.arrays import NUMPY, AnyArray, Arrays
from neuid3.circuits.conjunctions import Conjunctions
from neuid3.circuits.evaluate import LayeredCircuit
from neuid3.circuits.shapes import ShapedCircuit, ShapedEvaluator
from neuid3.logic.formula import Variable


class VariableWeights(Protocol):
    """The probabilities of the values of random variables for a batch of examples."""

    def __len__(self) -> int: ...

    def weights(self, variable: Variable) -> AnyArray:
        """The probability of every value of a variable, as `(value, example)`."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """The distinct products of a number of factors, each a product of one factor fewer times a root."""

    before: AnyArray  # the products of the step before, (product,)
    factors: AnyArray  # the roots that they are multiplied with, (product,)
    ends: AnyArray  # the products that are complete, (path,)
    paths: AnyArray  # the paths of these products, (path,)


class Reach:
    """Path probabilities as array operations: called with the evidence, it returns P(path | e), `(example, path)`.

    Parameters
    ----------
    factored : the paths as products of circuit roots.
    arrays : the array library that evaluates them, which must be that of the evidence.
    """

    def __init__(self, factored: Conjunctions, arrays: Arrays = NUMPY) -> None:
        self.factored, self.arrays = factored, arrays
        self.circuits = [
            ShapedEvaluator(circuit, arrays) if isinstance(circuit, ShapedCircuit) else LayeredCircuit(circuit, arrays)
            for circuit in factored.circuits
        ]
        self.variables = factored.variables
        roots = sum(len(circuit.roots) for circuit in factored.circuits)
        self._most = max((len(factors) for factors in factored.factors), default=0)
        padded = [[*factors, *[roots] * (self._most - len(factors))] for factors in factored.factors]
        # (path, factor); row `roots` is 1
        self.factors = arrays.indices(np.array(padded, dtype=np.int64).reshape(len(padded), self._most))

    def __call__(self, evidence: VariableWeights) -> AnyArray:
        """P(path | e) as `(example, path)`."""
        n, arrays = len(evidence), self.arrays
        probabilities = [self._roots(circuit, evidence) for circuit in self.circuits]
        roots = arrays.concatenate((*probabilities, arrays.full((1, n), 1.0)))  # (root, example)
        if self.shared_steps is not None and not arrays.records_gradients:
            return self._shared_products(roots).T
        if not self._most:
            return arrays.full((n, len(self.factors)), 1.0)
        reached = arrays.take(roots, self.factors[:, 0])
        for i in range(1, self._most):
            reached = reached * arrays.take(roots, self.factors[:, i])
        return reached.T

    @cached_property
    def shared_steps(self) -> list[_Step] | None:
        """The products factor by factor with shared prefixes, where these save half of the multiplications; or None."""
        certain = sum(len(circuit.roots) for circuit in self.factored.circuits)
        factors = self.arrays.to_numpy(self.factors)
        steps: list[_Step] = []
        products, open_paths = np.zeros(len(factors), dtype=np.int64), np.arange(len(factors))
        for position in range(self._most):
            keys = products * (certain + 1) + factors[open_paths, position]
            distinct, products = np.unique(keys, return_inverse=True)
            before, factor = np.divmod(distinct, certain + 1)
            last = position + 1 == self._most
            ends = np.full(len(open_paths), last) if last else factors[open_paths, position + 1] == certain
            indices = (before, factor, products[ends], open_paths[ends])
            steps.append(_Step(*map(self.arrays.indices, indices)))
            products, open_paths = products[~ends], open_paths[~ends]
        multiplications = sum(len(step.factors) for step in steps)
        return steps if 2 * multiplications < factors.size and all(map(len, self.factored.factors)) else None

    def _shared_products(self, roots: AnyArray) -> AnyArray:
        """P(path | e) as `(path, example)`; each product in the order of its factors, shared prefixes once."""
        arrays = self.arrays
        reached = arrays.full((len(self.factors), roots.shape[1]), 0.0)
        products: AnyArray = None
        for step in self.shared_steps or ():
            chosen = arrays.take(roots, step.factors)
            products = chosen if products is None else arrays.take(products, step.before) * chosen
            reached[step.paths] = arrays.take(products, step.ends)
        return reached

    def _roots(self, circuit: LayeredCircuit | ShapedEvaluator, evidence: VariableWeights) -> AnyArray:
        """The probabilities of a circuit's roots, `(root, example)`."""
        if isinstance(circuit, ShapedEvaluator):
            return circuit(evidence)
        variables = circuit.circuit.variables
        if not variables:
            return self.arrays.repeated(self.arrays.floats(np.array(circuit.constant_roots)), len(evidence))
        return circuit([evidence.weights(variable) for variable in variables])
