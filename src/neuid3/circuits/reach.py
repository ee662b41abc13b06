"""With which probability does an example take each of many paths?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch

from neuid3.circuits.conjunctions import Conjunctions
from neuid3.circuits.evaluate import LayeredCircuit
from neuid3.logic.formula import Variable


class Weigher(Protocol):
    """Whatever knows how probable each value of each variable is, for a batch of examples."""

    def __len__(self) -> int: ...

    def weights(self, variable: Variable) -> torch.Tensor:
        """The probability of every value of a variable, as `(value, example)`."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """The different products of so many factors: one of fewer factors times one more, and the paths that end with them."""

    before: torch.Tensor
    factors: torch.Tensor
    ends: torch.Tensor
    paths: torch.Tensor


class Reach:
    """Conjunctions of tests made ready for tensors: given the evidence, P(path | e) for every path."""

    def __init__(
        self, factored: Conjunctions, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu"
    ) -> None:
        self.factored = factored
        self.circuits = [LayeredCircuit(circuit, dtype, device) for circuit in factored.circuits]
        self.variables = tuple(dict.fromkeys(v for circuit in factored.circuits for v in circuit.variables))
        roots = sum(len(circuit.roots) for circuit in factored.circuits)
        self._most = max((len(factors) for factors in factored.factors), default=0)
        padded = [[*factors, *[roots] * (self._most - len(factors))] for factors in factored.factors]
        self.factors = torch.tensor(padded, dtype=torch.long, device=device)  # (path, factor); `roots` is certain truth
        self.dtype, self.device = dtype, torch.device(device)

    def __call__(self, evidence: Weigher) -> torch.Tensor:
        """P(path | e) as `(example, path)`."""
        n = len(evidence)
        found = [self._roots(circuit, evidence) for circuit in self.circuits]
        certain = torch.ones(1, n, dtype=self.dtype, device=self.device)
        roots = torch.cat((*found, certain))  # (root, example)
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
        """The products step by step, where paths have so much in common that a common beginning is worth finding."""
        certain = sum(len(circuit.roots) for circuit in self.factored.circuits)
        factors = self.factors.cpu().numpy()
        steps: list[_Step] = []
        products, open_paths = np.zeros(len(factors), dtype=np.int64), np.arange(len(factors))
        for place in range(self._most):
            keys = products * (certain + 1) + factors[open_paths, place]
            distinct, products = np.unique(keys, return_inverse=True)
            before, factor = np.divmod(distinct, certain + 1)
            last = place + 1 == self._most
            ends = np.full(len(open_paths), last) if last else factors[open_paths, place + 1] == certain
            indices = (before, factor, products[ends], open_paths[ends])
            steps.append(_Step(*(torch.from_numpy(index).to(self.device) for index in indices)))
            products, open_paths = products[~ends], open_paths[~ends]
        done = sum(len(step.factors) for step in steps)
        return steps if 2 * done < self.factors.numel() and all(map(len, self.factored.factors)) else None

    def _shared_products(self, roots: torch.Tensor) -> torch.Tensor:
        """P(path | e) as `(path, example)`; every product in the order of its factors, common beginnings once."""
        reached = torch.empty((len(self.factors), roots.shape[1]), dtype=self.dtype, device=self.device)
        products: torch.Tensor | None = None
        for step in self._steps or ():
            chosen = roots.index_select(0, step.factors)
            products = chosen if products is None else products.index_select(0, step.before) * chosen
            reached[step.paths] = products.index_select(0, step.ends)
        return reached

    def _roots(self, circuit: LayeredCircuit, evidence: Weigher) -> torch.Tensor:
        variables = circuit.circuit.variables
        if not variables:
            constants = torch.tensor(circuit.constant_roots, dtype=self.dtype, device=self.device)
            return constants.unsqueeze(1).expand(-1, len(evidence))
        return circuit([evidence.weights(variable) for variable in variables])
