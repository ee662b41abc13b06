"""How is a circuit evaluated for a whole batch? Level by level, a matrix product each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from neuid3.circuit import FALSE, TRUE, Circuit


@dataclass(frozen=True, slots=True)
class _Level:
    """All nodes that ask one variable, with the edges from a node to the same child drawn together.

    Every node has `degree` edges (padded with edges of weight 0). Edge e is taken with probability
    `masks[e] @ p`; where it leads is a row of the frontier, or nowhere else (`children` is None) when
    every edge ends in true.
    """

    variable: int
    degree: int
    masks: torch.Tensor  # (node × edge, value)
    children: torch.Tensor | None  # (node × edge,), rows of the frontier
    keep: torch.Tensor | None  # rows of the frontier that are still needed above; None: all of them


class LayeredCircuit:
    """A circuit made ready for tensors. Sums and products of probabilities only, so values and gradients
    stay finite when a network is certain, and nothing is ever subtracted.

    Called with one tensor `(value, example)` for each of `circuit.variables`, it returns `(root, example)`.
    """

    def __init__(
        self, circuit: Circuit, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu"
    ) -> None:
        self.circuit = circuit
        self.dtype, self.device = dtype, torch.device(device)
        self._levels, frontier = self._plan(circuit)
        place = {node: row for row, node in enumerate(frontier)}
        self._roots = self._rows([place[root] for root in circuit.roots if root > TRUE])
        self._constants = {i: float(root == TRUE) for i, root in enumerate(circuit.roots) if root <= TRUE}

    def _rows(self, rows: list[int]) -> torch.Tensor:
        return torch.tensor(rows, dtype=torch.long, device=self.device)

    def _plan(self, circuit: Circuit) -> tuple[list[_Level], list[int]]:
        """The levels from the bottom up, and which node each row of the last frontier holds."""
        by_level: dict[int, list[int]] = {}
        last_use: dict[int, int] = {}
        for i, level in enumerate(circuit.levels):
            by_level.setdefault(level, []).append(i + 2)
            for child in circuit.children[i]:
                # Levels are visited from the deepest up, so the smallest level is the last to ask.
                last_use[child] = min(level, last_use.get(child, level))
        for root in circuit.roots:
            last_use[root] = -1
        planned: list[_Level] = []
        frontier: list[int] = [TRUE]
        for level in sorted(by_level, reverse=True):
            nodes = by_level[level]
            planned.append(self._level(circuit, level, nodes, frontier))
            kept = [TRUE] + [node for node in frontier if node != TRUE and last_use[node] < level]
            if len(kept) < len(frontier):
                keep = self._rows([frontier.index(node) for node in kept])
                old = planned[-1]
                planned[-1] = _Level(old.variable, old.degree, old.masks, old.children, keep)
            frontier = kept + nodes
        return planned, frontier

    def _level(self, circuit: Circuit, level: int, nodes: list[int], frontier: list[int]) -> _Level:
        place = {node: row for row, node in enumerate(frontier)}
        edges = [_edges(circuit.children[node - 2]) for node in nodes]
        degree = max(len(found) for found in edges)
        size = circuit.variables[level].size
        masks = torch.zeros(len(nodes) * degree, size, dtype=self.dtype, device=self.device)
        children = [place[TRUE]] * (len(nodes) * degree)
        for i, found in enumerate(edges):
            for j, (child, values) in enumerate(found.items()):
                masks[i * degree + j, values] = 1.0
                children[i * degree + j] = place[child]
        ends_in_truth = degree == 1 and all(child == place[TRUE] for child in children)
        return _Level(level, degree, masks, None if ends_in_truth else self._rows(children), None)

    def __call__(self, weights: Sequence[torch.Tensor]) -> torch.Tensor:
        if not self._levels:
            raise ValueError("A circuit without variables has constant roots; ask `constant_roots`.")
        n = weights[0].shape[1]
        frontier = torch.ones(1, n, dtype=self.dtype, device=self.device)  # (node, example)
        for level in self._levels:
            taken = level.masks @ weights[level.variable]  # (node × edge, example)
            if level.children is not None:
                taken = taken * frontier.index_select(0, level.children)
            if level.degree > 1:
                taken = taken.view(-1, level.degree, n).sum(1)  # (node, example)
            kept = frontier if level.keep is None else frontier.index_select(0, level.keep)
            frontier = torch.cat((kept, taken))
        return self._gather(frontier, n)

    def _gather(self, frontier: torch.Tensor, n: int) -> torch.Tensor:
        found = frontier.index_select(0, self._roots)
        if not self._constants:
            return found
        rows = iter(found)
        constant = {i: frontier.new_full((n,), value) for i, value in self._constants.items()}
        return torch.stack([constant[i] if i in constant else next(rows) for i in range(len(self.circuit.roots))])

    @property
    def constant_roots(self) -> list[float]:
        """The roots of a circuit that asks no variable at all."""
        return [self._constants[i] for i in range(len(self.circuit.roots))]


def _edges(children: Sequence[int]) -> dict[int, list[int]]:
    """Where a node can go, and with which values; what ends in false is left out."""
    found: dict[int, list[int]] = {}
    for value, child in enumerate(children):
        if child != FALSE:
            found.setdefault(child, []).append(value)
    return found
