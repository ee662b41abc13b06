"""Decision diagrams and truth values of formulas for many observations at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.circuits.compile import Circuit, compile_formulas
from neuid3.circuits.diagram import FALSE, TRUE
from neuid3.logic.formula import And, Formula, Literal, Not, Or, Truth, Variable, bottom_up
from neuid3.logic.sandbox import DEFAULT_LIMITS, Limits

Booleans = npt.NDArray[np.bool_]

Indices = npt.NDArray[np.int64]


def evaluate(formulas: Sequence[Formula], codes: Mapping[Variable, npt.NDArray[Any]], n: int) -> list[Booleans]:
    """The truth of formulas for assignments of values, `(assignment,)` each.

    Parameters
    ----------
    formulas : formulas without comparisons.
    codes : the index of the value of each variable, `(assignment,)`.
    n : the number of assignments.

    Returns
    -------
    A Boolean array for each formula.
    """
    truth: dict[int, Booleans] = {}
    for node in bottom_up(formulas):
        match node:
            case Truth(value):
                truth[id(node)] = np.full(n, value)
            case Literal(variable, values):
                truth[id(node)] = np.isin(codes[variable], list(values))
            case Not(part):
                truth[id(node)] = ~truth[id(part)]
            case And(parts):
                truth[id(node)] = np.logical_and.reduce([np.full(n, True), *(truth[id(p)] for p in parts)])
            case Or(parts):
                truth[id(node)] = np.logical_or.reduce([np.full(n, False), *(truth[id(p)] for p in parts)])
            case _:
                raise AssertionError("comparisons are replaced by cells before evaluation")
    return [truth[id(formula)] for formula in formulas]


def possible_results(
    formulas: Sequence[Formula],
    domains: Mapping[Variable, Booleans],
    n: int,
    limits: Limits = DEFAULT_LIMITS,
) -> list[Booleans]:
    """Whether each formula is true for some choice of possible values, `(example,)` each.

    Parameters
    ----------
    formulas : formulas without comparisons.
    domains : the possible values of each variable, `(value, example)`; all values of variables that it does not name.
    n : the number of examples.
    limits : the size and time of circuits.

    Returns
    -------
    A Boolean array for each formula.
    """
    circuit = compile_formulas(formulas, limits)
    levels = [domains.get(v, np.ones((v.size, n), dtype=bool)) for v in circuit.variables]
    return [
        np.full(n, root == TRUE) if root in (FALSE, TRUE) else LayeredDiagram(circuit, root).possible(levels)[1]
        for root in circuit.roots
    ]


class LayeredDiagram:
    """A decision diagram in which every arc leads to the next level, for vectorised passes over many observations.

    Parameters
    ----------
    circuit : a circuit of formulas.
    root : the node of one of them.
    """

    def __init__(self, circuit: Circuit, root: int) -> None:
        levels = [len(circuit.variables)] * 2 + list(circuit.levels)
        self.children: list[Indices] = []  # of each level, (node, value); indices into the next level
        layer = [root]
        for level, variable in enumerate(circuit.variables):
            rows = [circuit.children[node - 2] if levels[node] == level else (node,) * variable.size for node in layer]
            following = list(dict.fromkeys(child for row in rows for child in row))
            position = {node: i for i, node in enumerate(following)}
            self.children.append(np.array([[position[child] for child in row] for row in rows]))
            layer = following
        self.terminals = np.array([node == TRUE for node in layer])

    def possible(self, domains: Sequence[Booleans]) -> tuple[list[Booleans], Booleans]:
        """Whether each node can become true, `(node, observation)` for each level, and whether the root can.

        Parameters
        ----------
        domains : the values that are possible at each level, `(value, observation)`.
        """
        n = domains[0].shape[1]
        below = np.repeat(self.terminals[:, None], n, axis=1)
        layers = [below]
        for children, domain in zip(reversed(self.children), reversed(domains), strict=True):
            below = np.logical_or.reduce(
                [below[column] & values for column, values in zip(children.T, domain, strict=True)]
            )
            layers.append(below)
        return layers[::-1], below[0]

    def cheapest(self, costs: Sequence[npt.NDArray[np.float64]]) -> tuple[float, list[int]]:
        """The least cost of values with which the root is true, and these values; infinite where there are none.

        Parameters
        ----------
        costs : the cost of each value at each level, `(value,)` each.
        """
        below = np.where(self.terminals, 0.0, np.inf)
        layers = []
        for children, of_values in zip(reversed(self.children), reversed(costs), strict=True):
            totals = below[children] + of_values  # (node, value)
            layers.append(totals.argmin(axis=1))
            below = totals.min(axis=1)
        values, node = [], 0
        for children, choices in zip(self.children, reversed(layers), strict=True):
            values.append(int(choices[node]))
            node = int(children[node, values[-1]])
        return float(below[0]), values

    def certain(self, domains: Sequence[Booleans]) -> Booleans:
        """Whether the root is true for every choice of possible values, `(observation,)`."""
        below = np.repeat(self.terminals[:, None], domains[0].shape[1], axis=1)
        for children, domain in zip(reversed(self.children), reversed(domains), strict=True):
            below = np.logical_and.reduce(
                [below[column] | ~values for column, values in zip(children.T, domain, strict=True)]
            )
        certain: Booleans = below[0]
        return certain

    def supported(self, domains: Sequence[Booleans], layers: Sequence[Booleans]) -> list[Booleans]:
        """The values of each level with which the root can become true, `(value, observation)` each."""
        reached = layers[0]
        supports = []
        for level, (children, domain) in enumerate(zip(self.children, domains, strict=True)):
            below = layers[level + 1]
            support = np.empty_like(domain)
            following = np.zeros_like(below)
            for value, column in enumerate(children.T):
                arcs = reached & domain[value]
                arcs &= below[column]
                support[value] = arcs.any(0)
                np.logical_or.at(following, column, arcs)
            supports.append(support)
            reached = following
        return supports
