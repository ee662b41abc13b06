"""Batched evaluation of circuits, level by level with matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neuid3.circuits.arrays import NUMPY, AnyArray, Arrays
from neuid3.circuits.compile import Circuit
from neuid3.circuits.diagram import FALSE, TRUE

# Up to this many entries, the product with a 0/1 matrix is faster than gathering rows.
_DENSE = 1 << 16


@dataclass(frozen=True, slots=True)
class Level:
    """The nodes of one variable. Each is a sum of steps; a step is a set of values of the variable and a child.

    Step s has probability `masks[s] @ p` times that of its child; nodes with the same step share it.
    """

    variable: int
    masks: AnyArray  # (step, value)
    children: AnyArray | None  # (step,), rows of the frontier; None: every step ends in true
    adds: AnyArray | None  # (node, step) of 0 and 1; None: node i is step i
    gathers: AnyArray | None  # (node, degree) instead of a large `adds`; row `step` is zero
    keep: AnyArray | None  # rows of the frontier that are still needed above; None: all of them

    def __call__(self, frontier: AnyArray, weights: Sequence[AnyArray], arrays: Arrays) -> AnyArray:
        """The next frontier."""
        n = frontier.shape[1]
        steps = self.masks @ weights[self.variable]  # (step, example)
        if self.children is not None:
            steps = steps * arrays.take(frontier, self.children)
        if self.gathers is not None:
            padded = arrays.concatenate((steps, arrays.full((1, n), 0.0)))
            steps = arrays.take(padded, self.gathers.reshape(-1)).reshape(*self.gathers.shape, n).sum(1)
        elif self.adds is not None:
            steps = steps.sum(0, keepdims=True) if len(self.adds) == 1 else self.adds @ steps
        if self.keep is None:
            return arrays.concatenate((frontier, steps))
        return arrays.concatenate((arrays.take(frontier, self.keep), steps)) if len(self.keep) else steps


class LayeredCircuit:
    """A circuit as array operations: called with an array `(value, example)` for each variable, it returns `(root, example)`.

    It computes sums and products of probabilities only, without subtractions, so that values and gradients stay finite
    where a network is certain.

    Parameters
    ----------
    circuit : the circuit.
    arrays : the array library that evaluates it.
    """

    def __init__(self, circuit: Circuit, arrays: Arrays = NUMPY) -> None:
        self.circuit, self.arrays = circuit, arrays
        self.levels, frontier = self._plan(circuit)
        # Constant roots are rows after the frontier: false, then true.
        row_of = {FALSE: len(frontier), TRUE: len(frontier) + 1} | {
            node: row for row, node in enumerate(frontier) if node > TRUE
        }
        rows = [row_of[root] for root in circuit.roots]
        self._constant = any(root <= TRUE for root in circuit.roots)
        self.root_rows = None if rows == list(range(len(frontier))) else arrays.indices(rows)

    def _plan(self, circuit: Circuit) -> tuple[list[Level], list[int]]:
        """The levels from the bottom up, and which node each row of the last frontier holds."""
        by_level: dict[int, list[int]] = {}
        last_use: dict[int, int] = {}
        for i, level in enumerate(circuit.levels):
            by_level.setdefault(level, []).append(i + 2)
            for child in circuit.children[i]:
                # Levels are visited from the deepest up, so the smallest level is the last to use a child.
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
        row_of = {node: row for row, node in enumerate(frontier)}
        steps: dict[tuple[int, tuple[int, ...]], int] = {}
        steps_of = [[steps.setdefault(s, len(steps)) for s in _steps(circuit.children[node - 2])] for node in nodes]
        masks = np.zeros((len(steps), circuit.variables[level].size))
        for (_, values), step in steps.items():
            masks[step, list(values)] = 1.0
        ends = all(child == TRUE for child, _ in steps)
        children = None if ends else self.arrays.indices([row_of[child] for child, _ in steps])
        adds = gathers = None
        if steps_of != [[step] for step in range(len(steps))]:
            if len(nodes) * len(steps) <= _DENSE or len(nodes) == 1:
                sums = np.zeros((len(nodes), len(steps)))
                for i, numbers in enumerate(steps_of):
                    sums[i, numbers] = 1.0
                adds = self.arrays.floats(sums)
            else:
                degree = max(map(len, steps_of))
                padded = [numbers + [len(steps)] * (degree - len(numbers)) for numbers in steps_of]
                gathers = self.arrays.indices(padded)
        keep = None if kept == frontier else self.arrays.indices([row_of[node] for node in kept])
        return Level(level, self.arrays.floats(masks), children, adds, gathers, keep)

    def __call__(self, weights: Sequence[AnyArray]) -> AnyArray:
        if not self.levels:
            raise ValueError("A circuit without variables has constant roots; use `constant_roots`.")
        n, arrays = weights[0].shape[1], self.arrays
        frontier = arrays.full((1, n), 1.0)  # (node, example)
        for level in self.levels:
            frontier = level(frontier, weights, arrays)
        if self.root_rows is None:
            return frontier
        if self._constant:
            frontier = arrays.concatenate((frontier, arrays.full((1, n), 0.0), arrays.full((1, n), 1.0)))
        return arrays.take(frontier, self.root_rows)

    @property
    def constant_roots(self) -> list[float]:
        """The values of the roots of a circuit without variables."""
        return [float(root == TRUE) for root in self.circuit.roots]


def _steps(children: Sequence[int]) -> list[tuple[int, tuple[int, ...]]]:
    """The children of a node other than false, each with the values that lead to it."""
    values_of: dict[int, list[int]] = {}
    for value, child in enumerate(children):
        if child != FALSE:
            values_of.setdefault(child, []).append(value)
    return [(child, tuple(values)) for child, values in values_of.items()]
