"""Expressions over number columns as ONNX operations, equivalent to those of `tree.calculations`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from neuid3.data.priors import QUANTILES, Priors, quantiles
from neuid3.errors import MissingPriorError
from neuid3.export.onnx.graph import Graph
from neuid3.logic.expressions import CallStep, ColumnStep, Expression, NumberStep
from neuid3.logic.formula import Boundary, CalculatedVariable, CellPart

# The most columns of one variable whose missing entries are summed out: their combinations of values are all computed.
MAX_COLUMNS = 3


def write_calculated(graph: Graph, variable: CalculatedVariable, priors: Priors, dtype: Any) -> str:
    """The probability of every combination of cells, as `(value, example)`.

    Rows without missing entries are computed once. In the others, missing columns take each of the values that stand for
    them in training. An undefined part, such as a quotient by 0, follows its prior. Without a prior, or with more than
    `MAX_COLUMNS` columns, the result is NaN there.

    Parameters
    ----------
    graph : the graph, with the columns as inputs.
    variable : expressions with their boundaries.
    priors : the distributions of missing columns and of undefined expressions.
    dtype : the numpy type of probabilities.
    """
    columns = {name: graph.add("Unsqueeze", name, graph.constant([1])) for name in variable.columns}  # (example, 1)
    known = _probabilities(graph, variable, columns, np.ones(1), priors)  # (example, value)
    absent = reduce(lambda a, b: graph.add("Or", a, b), [graph.add("IsNaN", name) for name in variable.columns])
    rows = graph.add("Transpose", graph.add("NonZero", absent), perm=[1, 0])  # (row, 1)
    try:
        if len(columns) > MAX_COLUMNS:
            raise MissingPriorError
        summed = _summed(graph, variable, rows, priors)
    except MissingPriorError:
        nan = graph.constant(np.full((1, variable.size), np.nan))
        count = graph.add("Shape", rows, start=0, end=1)
        summed = graph.add("Expand", nan, graph.add("Concat", count, graph.constant([variable.size]), axis=0))
    filled = graph.add("ScatterND", known, rows, summed)
    return graph.cast(graph.add("Transpose", filled, perm=[1, 0]), dtype)


def _summed(graph: Graph, variable: CalculatedVariable, rows: str, priors: Priors) -> str:
    """The probabilities of rows with missing entries, summed over the values that stand for these, `(row, value)`."""
    samples = {name: quantiles(*priors.sample(name), QUANTILES) for name in variable.columns}
    grids = np.meshgrid(*(values for values, _ in samples.values()), indexing="ij")
    weights = np.meshgrid(*(weights for _, weights in samples.values()), indexing="ij")
    probabilities = np.prod([weight.reshape(-1) for weight in weights], axis=0)  # (combination,)
    columns = {}
    for name, grid in zip(samples, grids, strict=True):
        entries = graph.add("Unsqueeze", graph.add("GatherND", name, rows), graph.constant([1]))  # (row, 1)
        # Where an entry is known, all combinations have it, and the weights of the others sum to 1.
        columns[name] = graph.add(
            "Where", graph.add("IsNaN", entries), graph.constant(grid.reshape(1, -1)), entries
        )  # (row, combination)
    return _probabilities(graph, variable, columns, probabilities, priors)


def _probabilities(
    graph: Graph,
    variable: CalculatedVariable,
    columns: Mapping[str, str],
    weights: Any,
    priors: Priors,
) -> str:
    """P(value) of each row, `(row, value)`, summed over combinations with these weights, `(combination,)`."""
    joint: str | None = None
    for part in variable.parts:
        cells = _cells(graph, part, columns, priors)  # (row, combination, cell)
        if joint is None:
            joint, size = cells, part.size
            continue
        size *= part.size
        products = graph.add(
            "Mul",
            graph.add("Unsqueeze", joint, graph.constant([3])),
            graph.add("Unsqueeze", cells, graph.constant([2])),
        )
        joint = graph.add("Reshape", products, graph.constant([0, 0, size]))
    assert joint is not None
    weighted = graph.add("Mul", joint, graph.constant(np.asarray(weights, dtype=np.float64).reshape(1, -1, 1)))
    return graph.add("ReduceSum", weighted, graph.constant([1]), keepdims=0)


def _cells(graph: Graph, part: CellPart, columns: Mapping[str, str], priors: Priors) -> str:
    """The cell of each result, one-hot, or the prior of the cells where there is none, `(row, combination, cell)`."""
    values = write_expression(graph, part.expression, columns)
    values = graph.add("Unsqueeze", values, graph.constant([2]))
    counts = [_beyond(graph, values, boundary) for boundary in part.boundaries]
    index = reduce(lambda a, b: graph.add("Add", a, b), counts)
    one_hot = graph.cast(graph.add("Equal", index, graph.constant(np.arange(part.size))), np.float64)
    try:
        prior = priors.expression_cells(part.expression, part.boundaries)
    except MissingPriorError:
        prior = np.full(part.size, np.nan)
    return graph.add("Where", graph.add("IsNaN", values), graph.constant(prior.reshape(1, 1, -1)), one_hot)


def _beyond(graph: Graph, values: str, boundary: Boundary) -> str:
    """1 where a number is beyond a boundary, else 0."""
    comparison = "Greater" if boundary.above else "GreaterOrEqual"
    return graph.cast(graph.add(comparison, values, graph.constant(float(boundary.at))), np.int64)


def write_expression(graph: Graph, expression: Expression, columns: Mapping[str, str]) -> str:
    """The values of an expression, NaN where it has none.

    Parameters
    ----------
    graph : the graph.
    expression : an expression over number columns.
    columns : the numbers of each column, values of the graph of one shape.
    """
    stack: list[str] = []
    for step in expression.steps:
        match step:
            case ColumnStep(column):
                stack.append(columns[column])
            case NumberStep(number):
                stack.append(graph.constant(float(number)))
            case CallStep(function, arity):
                operands = stack[len(stack) - arity :]
                del stack[len(stack) - arity :]
                stack.append(_OPERATIONS[function, arity](graph, operands))
    return stack[0]


Operation = Callable[[Graph, Sequence[str]], str]


def _plain(operation: str) -> Operation:
    return lambda graph, operands: graph.add(operation, *operands)


def _nan_where(graph: Graph, condition: str, values: str) -> str:
    return graph.add("Where", condition, graph.constant(np.nan), values)


def _is_zero(graph: Graph, value: str) -> str:
    return graph.add("Equal", value, graph.constant(0.0))


def _some_nan(graph: Graph, operands: Sequence[str]) -> str:
    return reduce(lambda a, b: graph.add("Or", a, b), [graph.add("IsNaN", operand) for operand in operands])


def _quotient(graph: Graph, operands: Sequence[str]) -> str:
    return _nan_where(graph, _is_zero(graph, operands[1]), graph.add("Div", *operands))


def _modulo(graph: Graph, operands: Sequence[str]) -> str:
    """The remainder with the sign of the divisor, as in Prolog and numpy; ONNX has that of the dividend."""
    divisor = operands[1]
    safe = graph.add("Where", _is_zero(graph, divisor), graph.constant(1.0), divisor)
    remainder = graph.add("Mod", operands[0], safe, fmod=1)
    zero = graph.constant(0.0)
    differs = graph.add("Xor", graph.add("Less", remainder, zero), graph.add("Less", safe, zero))
    turns = graph.add("And", differs, graph.add("Not", _is_zero(graph, remainder)))
    turned = graph.add("Where", turns, graph.add("Add", remainder, safe), remainder)
    return _nan_where(graph, _is_zero(graph, divisor), turned)


def _power(graph: Graph, operands: Sequence[str]) -> str:
    base, exponent = operands
    of_zero = graph.add("And", _is_zero(graph, base), graph.add("Less", exponent, graph.constant(0.0)))
    undefined = graph.add("Or", of_zero, _some_nan(graph, operands))
    return _nan_where(graph, undefined, graph.add("Pow", base, exponent))


def _extreme(comparison: str) -> Operation:
    """The smaller or the larger of two numbers, NaN where one of them is."""

    def written(graph: Graph, operands: Sequence[str]) -> str:
        chosen = graph.add("Where", graph.add(comparison, *operands), operands[0], operands[1])
        return _nan_where(graph, _some_nan(graph, operands), chosen)

    return written


def _beneath(comparison: str, operation: str) -> Operation:
    """A function that has no value where its operand compares so with 0."""

    def written(graph: Graph, operands: Sequence[str]) -> str:
        undefined = graph.add(comparison, operands[0], graph.constant(0.0))
        return _nan_where(graph, undefined, graph.add(operation, operands[0]))

    return written


_OPERATIONS: Mapping[tuple[str, int], Operation] = {
    ("+", 2): _plain("Add"),
    ("-", 2): _plain("Sub"),
    ("*", 2): _plain("Mul"),
    ("/", 2): _quotient,
    ("**", 2): _power,
    ("mod", 2): _modulo,
    ("min", 2): _extreme("Less"),
    ("max", 2): _extreme("Greater"),
    ("-", 1): _plain("Neg"),
    ("+", 1): _plain("Identity"),
    ("abs", 1): _plain("Abs"),
    ("round", 1): _plain("Round"),
    ("floor", 1): _plain("Floor"),
    ("ceiling", 1): _plain("Ceil"),
    ("sqrt", 1): _beneath("Less", "Sqrt"),
    ("exp", 1): _plain("Exp"),
    ("log", 1): _beneath("LessOrEqual", "Log"),
}
