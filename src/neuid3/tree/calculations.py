"""Probabilities of expressions over number columns, for a batch of examples with missing entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from neuid3.data.examples import Examples
from neuid3.data.priors import QUANTILES, Floats, Priors, quantiles
from neuid3.errors import CircuitLimitError
from neuid3.logic.expressions import Expression
from neuid3.logic.formula import Boundary, CalculatedVariable

Codes = npt.NDArray[np.int64]

# The most combinations of values that stand for the missing entries of one example.
MAX_WORLDS = QUANTILES**4

# The most numbers in memory at a time: examples times combinations of values.
_BLOCK = 1 << 20

# The most values of one variable: combinations of cells of expressions that share columns.
MAX_CELLS = 1 << 16


def cells_of(values: Floats, boundaries: Sequence[Boundary]) -> Codes:
    """The index of the cell between boundaries in which each number lies."""
    cells = np.zeros(values.shape, dtype=np.int64)
    for boundary in boundaries:
        cells += values > boundary.at if boundary.above else values >= boundary.at
    return cells


def expression_values(expression: Expression, examples: Examples) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The values of an expression, and where it has one: where no operand is missing and the result is defined.

    Parameters
    ----------
    expression : an expression over number columns.
    examples : the examples.

    Returns
    -------
    Numbers, `(example,)`, and a mask, `(example,)`.
    """
    values, defined = expression.evaluate(_numbers(expression.columns, examples))
    n = len(examples)
    return np.broadcast_to(values, (n,)), np.broadcast_to(defined, (n,))


def expression_prior(expression: Expression, examples: Examples, weights: Floats | None = None) -> dict[float, float]:
    """The distribution of an expression over the examples in which it has a value, as a weight for each value.

    Parameters
    ----------
    expression : an expression over number columns.
    examples : the examples.
    weights : the weight of each example, `(example,)`; by default all weigh the same.

    Returns
    -------
    Values and their weights, which sum to 1; empty where no example has a value.
    """
    values, defined = expression_values(expression, examples)
    distinct, index = np.unique(values[defined], return_inverse=True)
    sums = np.bincount(np.reshape(index, -1), None if weights is None else weights[defined], len(distinct))
    return dict(zip(distinct.tolist(), (sums / sums.sum()).tolist(), strict=True)) if len(distinct) else {}


def _numbers(columns: Sequence[str], examples: Examples) -> dict[str, Floats]:
    """The number columns, with NaN in the place of missing entries."""
    numbers = {}
    for name in columns:
        column = examples.column(name)
        values = np.asarray(column.values, dtype=np.float64)
        numbers[name] = values if column.missing is None else np.where(column.missing, np.nan, values)
    return numbers


def calculated_weights(variable: CalculatedVariable, examples: Examples, priors: Priors) -> Floats:
    """The probability of every combination of cells, `(value, example)`.

    A missing column is one variable over the values of its prior, at most `QUANTILES` of them, shared by all parts; known
    operands keep their values. A part without a value, such as a quotient by 0, follows its own prior.

    Parameters
    ----------
    variable : expressions with their boundaries.
    examples : the batch.
    priors : the distributions of missing columns and of undefined expressions.

    Returns
    -------
    Probabilities, `(value, example)`.

    Raises
    ------
    CircuitLimitError : where there are too many combinations of cells.
    MissingPriorError : where a prior is needed and not known.
    """
    if variable.size > MAX_CELLS:
        shared = ", ".join(f"'{part.expression}'" for part in variable.parts[:3])
        raise CircuitLimitError(
            f"The tests compare {len(variable.parts)} expressions that share missing columns, {shared} among them, with so "
            f"many constants that there are {variable.size} combinations, more than {MAX_CELLS}; make the tree smaller, or "
            "fill in the missing entries."
        )
    columns = _numbers(variable.columns, examples)
    weights = np.zeros((variable.size, len(examples)))
    for missing, rows in _patterns(columns, len(examples)):
        if not missing and (codes := _certain_codes(variable, columns, rows)) is not None:
            weights[codes, rows] = 1.0
            continue
        worlds, probabilities = _worlds(missing, priors)
        step = max(_BLOCK // len(probabilities), 1)
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            numbers = {name: columns[name][block][:, None] for name in variable.columns if name not in worlds}
            numbers |= {name: values[None, :] for name, values in worlds.items()}
            shape = (len(block), len(probabilities))
            example, world, codes, shares = _codes(variable, numbers, shape, priors)
            # A histogram of (value, example) pairs adds up the combinations.
            sums = np.bincount(codes * len(block) + example, probabilities[world] * shares, variable.size * len(block))
            weights[:, block] = sums.reshape(variable.size, len(block))
    return weights


def _patterns(columns: Mapping[str, Floats], n: int) -> Iterator[tuple[list[str], Codes]]:
    """The sets of columns that are missing together, with the rows of each."""
    absent = [name for name, numbers in columns.items() if np.isnan(numbers).any()]
    if not absent:
        yield [], np.arange(n)
        return
    masks = np.array([np.isnan(columns[name]) for name in absent])  # (column, example)
    patterns, pattern_of = np.unique(np.packbits(masks, axis=0), axis=1, return_inverse=True)
    for number, pattern in enumerate(np.unpackbits(patterns, axis=0, count=len(absent)).T):
        missing = [name for name, is_missing in zip(absent, pattern, strict=True) if is_missing]
        yield missing, np.flatnonzero(np.reshape(pattern_of, -1) == number)


def _certain_codes(variable: CalculatedVariable, columns: Mapping[str, Floats], rows: Codes) -> Codes | None:
    """The values of the variable in rows without missing entries; None where a part is undefined in one of them."""
    codes = np.zeros(len(rows), dtype=np.int64)
    for part in variable.parts:
        numbers = {name: columns[name][rows] for name in part.expression.columns}
        values, defined = part.expression.evaluate(numbers)
        if not defined.all():
            return None
        codes = codes * part.size + cells_of(values, part.boundaries)
    return codes


def _worlds(missing: Sequence[str], priors: Priors) -> tuple[dict[str, Floats], Floats]:
    """All combinations of values of missing columns, `(combination,)` each, and their probabilities, `(combination,)`."""
    if not missing:
        return {}, np.ones(1)
    most = QUANTILES if QUANTILES ** len(missing) <= MAX_WORLDS else max(int(MAX_WORLDS ** (1 / len(missing))), 2)
    samples = [quantiles(*priors.sample(name), most) for name in missing]
    grids = np.meshgrid(*(values for values, _ in samples), indexing="ij")
    weights = np.meshgrid(*(weights for _, weights in samples), indexing="ij")
    probabilities = np.prod([weight.reshape(-1) for weight in weights], axis=0)
    return {name: grid.reshape(-1) for name, grid in zip(missing, grids, strict=True)}, probabilities


def _codes(
    variable: CalculatedVariable, numbers: dict[str, Floats], shape: tuple[int, int], priors: Priors
) -> tuple[Codes, Codes, Codes, Floats]:
    """Examples, combinations of missing values, the values of the variable there, and their shares."""
    example, world = (index.reshape(-1) for index in np.indices(shape))
    codes, shares = np.zeros(len(example), dtype=np.int64), np.ones(len(example))
    origin = np.arange(len(example))
    for part in variable.parts:
        values, defined = part.expression.evaluate({name: numbers[name] for name in part.expression.columns})
        cells = cells_of(np.broadcast_to(values, shape).reshape(-1), part.boundaries)
        is_defined = np.broadcast_to(defined, shape).reshape(-1)
        if is_defined.all():
            codes = codes * part.size + cells[origin]
            continue
        prior = priors.expression_cells(part.expression, part.boundaries)
        known = np.flatnonzero(is_defined[origin])
        unknown = np.repeat(np.flatnonzero(~is_defined[origin]), part.size)
        drawn = np.tile(np.arange(part.size), len(unknown) // part.size)
        taken = np.concatenate((known, unknown))
        codes = codes[taken] * part.size + np.concatenate((cells[origin[known]], drawn))
        shares = shares[taken] * np.concatenate((np.ones(len(known)), prior[drawn]))
        origin = origin[taken]
    return example[origin], world[origin], codes, shares
