"""Functions of network values, given as tables, for tests of re-readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neuid3.logic.formula import And, Formula, Literal, NeuralVariable, Or, Variable


def variable(network: str, column: str, size: int) -> NeuralVariable:
    """The value of a network for one image."""
    return NeuralVariable(sum(map(ord, network)), network, (column,), (column,), size)


def formulas(variables: Sequence[Variable], table: Mapping[tuple[int, ...], Any]) -> list[Formula]:
    """A formula for each result of a table from assignments to results."""
    return [
        Or(
            tuple(
                And(tuple(Literal(v, frozenset({i})) for v, i in zip(variables, assignment, strict=True)))
                for assignment, result in table.items()
                if result == wanted
            )
        )
        for wanted in sorted(set(table.values()))
    ]


# Lists of networks and columns: one network on two images, two networks on one, and so on.
LAYOUTS = (
    (("p", "a"), ("p", "b")),
    (("p", "a"), ("q", "a")),
    (("p", "a"), ("p", "b"), ("q", "a")),
    (("q", "a"), ("q", "b"), ("q", "c")),
)
