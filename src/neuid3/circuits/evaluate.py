"""How is a circuit evaluated for a whole batch? Level by level, a matrix product each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from neuid3.circuits.compile import Circuit
from neuid3.circuits.diagram import FALSE, TRUE

# Up to this many entries a 0/1 matrix adds up faster than rows are gathered.
_DENSE = 1 << 16


@dataclass(frozen=True, slots=True)
class Level:
    """All nodes that ask one variable. What they add up are steps: some values of the variable and a child.

    Step s is taken with probability `masks[s] @ p`; nodes that take the same step share it.
    """

    variable: int
    masks: torch.Tensor  # (step, value)
    children: torch.Tensor | None  # (step,), rows of the frontier; None: every step ends in true
    adds: torch.Tensor | None  # (node, step) of 0 and 1; None: node i is step i
    gathers: torch.Tensor | None  # (node, degree) instead of a large `adds`; row `step` is zero
    keep: torch.Tensor | None  # rows of the frontier that are still needed above; None: all of them

    def __call__(self, frontier: torch.Tensor, weights: Sequence[torch.Tensor]) -> torch.Tensor:
        """The next frontier."""
        n = frontier.shape[1]
        steps = self.masks @ weights[self.variable]  # (step, example)
        if self.children is not None:
            steps = steps * frontier.index_select(0, self.children)
        if self.gathers is not None:
            padded = torch.cat((steps, steps.new_zeros(1, n)))
            steps = padded.index_select(0, self.gathers.view(-1)).view(*self.gathers.shape, n).sum(1)
        elif self.adds is not None:
            steps = steps.sum(0, keepdim=True) if len(self.adds) == 1 else self.adds @ steps
        if self.keep is None:
            return torch.cat((frontier, steps))
        return torch.cat((frontier.index_select(0, self.keep), steps)) if len(self.keep) else steps


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
        self.levels, frontier = self._plan(circuit)
        # Constant roots are rows behind the frontier: false, then true.
        place = {FALSE: len(frontier), TRUE: len(frontier) + 1} | {
            node: row for row, node in enumerate(frontier) if node > TRUE
        }
        rows = [place[root] for root in circuit.roots]
        self._constant = any(root <= TRUE for root in circuit.roots)
        self.root_rows = None if rows == list(range(len(frontier))) else self._rows(rows)

    def _rows(self, rows: list[int]) -> torch.Tensor:
        return torch.tensor(rows, dtype=torch.long, device=self.device)

    def _plan(self, circuit: Circuit) -> tuple[list[Level], list[int]]:
        """The levels from the bottom up, and which node each row of the last frontier holds."""
        by_level: dict[int, list[int]] = {}
        last_use: dict[int, int] = {}
        for i, level in enumerate(circuit.levels):
            by_level.setdefault(level, []).append(i + 2)
            for child in circuit.children[i]:
                # Levels are visited from the deepest up, so the smallest level is the last to ask.
                last_use[child] = min(level, last_use.get(child, level))
        for root in circuit.roots:
            if root > TRUE:
                last_use[root] = -1
        planned: list[Level] = []
        frontier: list[int] = [TRUE]
        for level in sorted(by_level, reverse=True):
            kept = [node for node in frontier if last_use.get(node, level) < level]
            planned.append(self._level(circuit, level, by_level[level], frontier, kept))
            frontier = kept + by_level[level]
        return planned, frontier

    def _level(self, circuit: Circuit, level: int, nodes: list[int], frontier: list[int], kept: list[int]) -> Level:
        place = {node: row for row, node in enumerate(frontier)}
        steps: dict[tuple[int, tuple[int, ...]], int] = {}
        taken = [[steps.setdefault(s, len(steps)) for s in _steps(circuit.children[node - 2])] for node in nodes]
        masks = torch.zeros(len(steps), circuit.variables[level].size, dtype=self.dtype, device=self.device)
        for (_, values), step in steps.items():
            masks[step, list(values)] = 1.0
        ends = all(child == TRUE for child, _ in steps)
        children = None if ends else self._rows([place[child] for child, _ in steps])
        adds = gathers = None
        if taken != [[step] for step in range(len(steps))]:
            if len(nodes) * len(steps) <= _DENSE or len(nodes) == 1:
                adds = torch.zeros(len(nodes), len(steps), dtype=self.dtype, device=self.device)
                for i, found in enumerate(taken):
                    adds[i, found] = 1.0
            else:
                degree = max(map(len, taken))
                gathers = torch.stack([self._rows(found + [len(steps)] * (degree - len(found))) for found in taken])
        keep = None if kept == frontier else self._rows([place[node] for node in kept])
        return Level(level, masks, children, adds, gathers, keep)

    def __call__(self, weights: Sequence[torch.Tensor]) -> torch.Tensor:
        if not self.levels:
            raise ValueError("A circuit without variables has constant roots; ask `constant_roots`.")
        n = weights[0].shape[1]
        frontier = torch.ones(1, n, dtype=self.dtype, device=self.device)  # (node, example)
        for level in self.levels:
            frontier = level(frontier, weights)
        if self.root_rows is None:
            return frontier
        if self._constant:
            frontier = torch.cat((frontier, frontier.new_zeros(1, n), frontier.new_ones(1, n)))
        return frontier.index_select(0, self.root_rows)

    @property
    def constant_roots(self) -> list[float]:
        """The roots of a circuit that asks no variable at all."""
        return [float(root == TRUE) for root in self.circuit.roots]


def _steps(children: Sequence[int]) -> list[tuple[int, tuple[int, ...]]]:
    """Where a node can go, and with which values; what ends in false is left out."""
    found: dict[int, list[int]] = {}
    for value, child in enumerate(children):
        if child != FALSE:
            found.setdefault(child, []).append(value)
    return [(child, tuple(values)) for child, values in found.items()]
