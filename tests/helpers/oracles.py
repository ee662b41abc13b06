"""Plain code that clever code is held against."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from neuid3.logic.formula import (
    And,
    Compare,
    Formula,
    Literal,
    Not,
    Or,
    Truth,
    Variable,
    bottom_up,
    draw_cells,
)


def holds(formula: Formula, world: Mapping[Variable, int]) -> bool:
    """Is a formula true in a world that gives every variable a value?"""
    values_of_nodes: dict[int, bool] = {}
    for node in bottom_up([formula]):
        match node:
            case Truth(value):
                values_of_nodes[id(node)] = value
            case Literal(variable, values):
                values_of_nodes[id(node)] = world[variable] in values
            case Not(part):
                values_of_nodes[id(node)] = not values_of_nodes[id(part)]
            case And(parts):
                values_of_nodes[id(node)] = all(values_of_nodes[id(part)] for part in parts)
            case Or(parts):
                values_of_nodes[id(node)] = any(values_of_nodes[id(part)] for part in parts)
            case Compare():
                raise AssertionError("draw the cells first")
    return values_of_nodes[id(formula)]


def enumerate_worlds(formula: Formula, weights: Mapping[Variable, list[float]]) -> float:
    """P(formula): the weights of all worlds in which it holds, summed one by one."""
    variables = list(dict.fromkeys(node.variable for node in bottom_up([formula]) if isinstance(node, Literal)))
    total = []
    for values in itertools.product(*(range(variable.size) for variable in variables)):
        world = dict(zip(variables, values, strict=True))
        if holds(formula, world):
            total.append(math.prod(weights[variable][value] for variable, value in world.items()))
    return math.fsum(total)


def drawn(formula: Formula) -> Formula:
    return draw_cells([formula])[0]
