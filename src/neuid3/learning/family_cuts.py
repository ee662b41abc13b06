"""Constants of a family of tests: all of them scored in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Column
from neuid3.data.examples import Examples
from neuid3.learning.cuts import SortedColumn
from neuid3.learning.families import Family
from neuid3.learning.inference import ExactInference
from neuid3.logic.expressions import Expression
from neuid3.logic.formula import And, Formula, OpenCompare, bottom_up, parts_of
from neuid3.logic.program import Program
from neuid3.tree.calculations import expression_values
from neuid3.tree.node_tests import NodeTest

Floats = npt.NDArray[np.float64]


class SortedFamily:
    """The tests of a family, for the best constant at any node in one pass.

    A conjunction of comparisons `e > c` is `min(e, …) > c`, a disjunction `max(e, …) > c`, and a condition without the
    constant is an infinite number. So every example has one number with which the constant is compared.

    Parameters
    ----------
    family : a family whose formula has a direction and calls no network.
    inference : exact inference for the training examples.
    """

    def __init__(self, family: Family, inference: ExactInference) -> None:
        self.family = family
        operator = family.direction
        assert operator is not None
        numbers, uncertain = _compared_numbers(family.formula, operator, inference)
        # A cut separates `number =< cut` from the others. e >= c and e < c are cut at the negative numbers.
        self.sign = 1.0 if operator in ("=<", ">") else -1.0
        column = Column(family.kind, self.sign * numbers, uncertain if uncertain.any() else None)
        self.is_certain = not bool(uncertain.any())
        self.sorted = SortedColumn(column, family.template, inference.sample.weights)

    def constant(self, cut: float) -> float:
        """The constant of a cut."""
        return self.sign * cut + 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _FormulaTest(NodeTest):
    """A part of a family's formula as a test, to compute its responses."""

    part: Formula

    def formula(self, program: Program) -> Formula:  # noqa: ARG002
        return self.part


def _compared_numbers(
    formula: Formula, operator: str, inference: ExactInference
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The number of each example that the constant is compared with, and the examples in which it is not certain.

    An uncertain part may have any number; its bounds are passed on, since another part may decide.
    """
    upward = operator in (">", ">=")
    bounds: dict[int, Floats] = {}  # (lowest and highest, example) of each part
    for node in _open_nodes(formula):
        if isinstance(node, OpenCompare):
            bounds[id(node)] = _bounds(*_values(node.expression, inference.sample.examples))
            continue
        for part in parts_of(node):
            if id(part) not in bounds:
                responses = inference.conditional((), _FormulaTest(part))
                numbers = np.where((responses > 0.5) == upward, np.inf, -np.inf)
                bounds[id(part)] = _bounds(numbers, (responses == 0.0) | (responses == 1.0))
        parts = [bounds[id(part)] for part in parts_of(node)]
        bounds[id(node)] = np.min(parts, axis=0) if isinstance(node, And) == upward else np.max(parts, axis=0)
    low, high = bounds[id(formula)]
    return low, low != high


def _bounds(numbers: Floats, certain: npt.NDArray[np.bool_]) -> Floats:
    return np.stack((np.where(certain, numbers, -np.inf), np.where(certain, numbers, np.inf)))


def _values(expression: Expression, examples: Examples) -> tuple[Floats, npt.NDArray[np.bool_]]:
    if expression.number is not None:
        return np.full(len(examples), expression.number), np.ones(len(examples), dtype=bool)
    return expression_values(expression, examples)


def _open_nodes(formula: Formula) -> Iterator[Formula]:
    """The parts of a formula that depend on the open constant, parts before wholes."""
    is_open: dict[int, bool] = {}
    for node in bottom_up([formula]):
        is_open[id(node)] = isinstance(node, OpenCompare) or any(is_open[id(part)] for part in parts_of(node))
        if is_open[id(node)]:
            yield node
