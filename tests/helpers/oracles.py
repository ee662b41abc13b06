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
    answers: dict[int, bool] = {}
    for node in bottom_up([formula]):
        match node:
            case Truth(value):
                answers[id(node)] = value
            case Literal(variable, values):
                answers[id(node)] = world[variable] in values
            case Not(part):
                answers[id(node)] = not answers[id(part)]
            case And(parts):
                answers[id(node)] = all(answers[id(part)] for part in parts)
            case Or(parts):
                answers[id(node)] = any(answers[id(part)] for part in parts)
            case Compare():
                raise AssertionError("draw the cells first")
    return answers[id(formula)]


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
