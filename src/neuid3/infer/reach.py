"""With which probability does an example take each of many paths?"""

from __future__ import annotations

from typing import Protocol

import torch

from neuid3.circuit.factor import Factored
from neuid3.infer.layers import LayeredCircuit
from neuid3.logic.formula import Variable


class Weigher(Protocol):
    """Whatever knows how probable each value of each variable is, for a batch of examples."""

    def __len__(self) -> int: ...

    def weights(self, variable: Variable) -> torch.Tensor:
        """The probability of every value of a variable, as `(value, example)`."""
        ...


class Reach:
    """Conjunctions of tests made ready for tensors: given the evidence, P(path | e) for every path."""

    def __init__(
        self, factored: Factored, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu"
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
        reached = certain.expand(len(self.factors), n)
        for i in range(self._most):
            reached = (
                reached * roots.index_select(0, self.factors[:, i]) if i else roots.index_select(0, self.factors[:, 0])
            )
        return reached.T

    def _roots(self, circuit: LayeredCircuit, evidence: Weigher) -> torch.Tensor:
        variables = circuit.circuit.variables
        if not variables:
            constants = torch.tensor(circuit.constant_roots, dtype=self.dtype, device=self.device)
            return constants.unsqueeze(1).expand(-1, len(evidence))
        return circuit([evidence.weights(variable) for variable in variables])
