"""Path probabilities P(κ | e) of many paths for a batch of examples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch

from neuid3.circuits.conjunctions import Conjunctions
from neuid3.circuits.evaluate import LayeredCircuit
from neuid3.logic.formula import Variable


class VariableWeights(Protocol):
    """The probabilities of the values of random variables for a batch of examples."""

    def __len__(self) -> int: ...

    def weights(self, variable: Variable) -> torch.Tensor:
        """The probability of every value of a variable, as `(value, example)`."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """The distinct products of a number of factors, each a product of one factor fewer times a root."""

    before: torch.Tensor  # the products of the step before, (product,)
    factors: torch.Tensor  # the roots that they are multiplied with, (product,)
    ends: torch.Tensor  # the products that are complete, (path,)
    paths: torch.Tensor  # the paths of these products, (path,)


class Reach:
    """Path probabilities as tensor operations: called with the evidence, it returns P(path | e), `(example, path)`.

    Parameters
    ----------
    factored : the paths as products of circuit roots.
    dtype, device : the precision of the probabilities, and where they are computed.
    """

    def __init__(
        self, factored: Conjunctions, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu"
    ) -> None:
        self.factored = factored
        self.circuits = [LayeredCircuit(circuit, dtype, device) for circuit in factored.circuits]
        self.variables = tuple(dict.fromkeys(v for circuit in factored.circuits for v in circuit.variables))
        roots = sum(len(circuit.roots) for circuit in factored.circuits)
        self._most = max((len(factors) for factors in factored.factors), default=0)
        padded = [[*factors, *[roots] * (self._most - len(factors))] for factors in factored.factors]
        self.factors = torch.tensor(padded, dtype=torch.long, device=device)  # (path, factor); row `roots` is 1
        self.dtype, self.device = dtype, torch.device(device)

    def __call__(self, evidence: VariableWeights) -> torch.Tensor:
        """P(path | e) as `(example, path)`."""
        n = len(evidence)
        probabilities = [self._roots(circuit, evidence) for circuit in self.circuits]
        certain = torch.ones(1, n, dtype=self.dtype, device=self.device)
        roots = torch.cat((*probabilities, certain))  # (root, example)
        if self._steps is not None and not torch.is_grad_enabled():
            return self._shared_products(roots).T
        reached = certain.expand(len(self.factors), n)
        for i in range(self._most):
            reached = (
                reached * roots.index_select(0, self.factors[:, i]) if i else roots.index_select(0, self.factors[:, 0])
            )
        return reached.T

    @cached_property
    def _steps(self) -> list[_Step] | None:
        """The products factor by factor with shared prefixes, where these save half of the multiplications; or None."""
        certain = sum(len(circuit.roots) for circuit in self.factored.circuits)
        factors = self.factors.cpu().numpy()
        steps: list[_Step] = []
        products, open_paths = np.zeros(len(factors), dtype=np.int64), np.arange(len(factors))
        for position in range(self._most):
            keys = products * (certain + 1) + factors[open_paths, position]
            distinct, products = np.unique(keys, return_inverse=True)
            before, factor = np.divmod(distinct, certain + 1)
            last = position + 1 == self._most
            ends = np.full(len(open_paths), last) if last else factors[open_paths, position + 1] == certain
            indices = (before, factor, products[ends], open_paths[ends])
            steps.append(_Step(*(torch.from_numpy(index).to(self.device) for index in indices)))
            products, open_paths = products[~ends], open_paths[~ends]
        multiplications = sum(len(step.factors) for step in steps)
        return steps if 2 * multiplications < self.factors.numel() and all(map(len, self.factored.factors)) else None

    def _shared_products(self, roots: torch.Tensor) -> torch.Tensor:
        """P(path | e) as `(path, example)`; each product in the order of its factors, shared prefixes once."""
        reached = torch.empty((len(self.factors), roots.shape[1]), dtype=self.dtype, device=self.device)
        products: torch.Tensor | None = None
        for step in self._steps or ():
            chosen = roots.index_select(0, step.factors)
            products = chosen if products is None else products.index_select(0, step.before) * chosen
            reached[step.paths] = products.index_select(0, step.ends)
        return reached

    def _roots(self, circuit: LayeredCircuit, evidence: VariableWeights) -> torch.Tensor:
        """The probabilities of a circuit's roots, `(root, example)`."""
        variables = circuit.circuit.variables
        if not variables:
            constants = torch.tensor(circuit.constant_roots, dtype=self.dtype, device=self.device)
            return constants.unsqueeze(1).expand(-1, len(evidence))
        return circuit([evidence.weights(variable) for variable in variables])
