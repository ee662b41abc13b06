"""Isotonic regression on a partial order: the nearest values that keep to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Relation = npt.NDArray[np.bool_]

# Capacities of the flow network are 32-bit integers; together they stay below this.
_CAPACITY = 2**30


def isotonic(values: Floats, weights: Floats, below: Relation) -> Floats:
    """The values nearest to the given ones in weighted squares, none of which exceeds one that it must be below.

    The same values are the most likely probabilities for weights of observations, since isotonic regression minimises
    every Bregman divergence at once. Values that take part in no conflict stay bit by bit as they are.

    Parameters
    ----------
    values : the values, `(item,)`.
    weights : their weights, 0 or more, `(item,)`.
    below : whether the value of the first item must not exceed that of the second, `(item, item)`.

    Returns
    -------
    The new values, `(item,)`.

    >>> below = np.array([[False, True, True], [False, False, False], [False, False, False]])
    >>> isotonic(np.array([0.75, 0.25, 0.9]), np.array([1.0, 3.0, 1.0]), below).tolist()
    [0.375, 0.375, 0.9]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    values, weights = np.asarray(values, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    below = transitive_closure(below)
    result = values.copy()
    # An item that all its predecessors are below, and that is below all its successors, keeps its value.
    highest_before = np.where(below, values[:, None], -np.inf).max(axis=0, initial=-np.inf)
    lowest_after = np.where(below, values[None, :], np.inf).min(axis=1, initial=np.inf)
    in_conflict = np.flatnonzero((highest_before > values) | (lowest_after < values))
    if not len(in_conflict):
        return result
    inner = below[np.ix_(in_conflict, in_conflict)]
    _, component = connected_components(csr_array(inner), directed=False)
    for number in range(int(component.max()) + 1):
        members = np.flatnonzero(component == number)
        items = in_conflict[members]
        result[items] = _partitioned(values[items], weights[items], inner[np.ix_(members, members)])
    return _without_rounding(result, below)


def transitive_closure(below: Relation) -> Relation:
    """The relation with all that follows from it through other items.

    Parameters
    ----------
    below : a relation, `(item, item)`.

    Returns
    -------
    The smallest transitive relation that contains it, `(item, item)`.
    """
    closed = np.array(below, dtype=bool)
    while True:
        steps = closed.astype(np.float32)
        further = closed | (steps @ steps > 0)
        if (further == closed).all():
            return closed
        closed = further


def _partitioned(values: Floats, weights: Floats, below: Relation) -> Floats:
    """The solution for one connected set of items, split again and again into a lower and an upper set.

    Where no upper set has a weighted mean above that of all, all items have the mean.
    """
    result = np.empty_like(values)
    stack = [np.arange(len(values))]
    while stack:
        items = stack.pop()
        # Items without weight follow their neighbours.
        counted = weights[items] if weights[items].any() else np.ones(len(items))
        mean = float(np.average(values[items], weights=counted))
        upper = _best_upper_set(counted * (values[items] - mean), below[np.ix_(items, items)])
        if upper.all() or not upper.any():
            result[items] = mean
        else:
            stack += [items[upper], items[~upper]]
    return result


def _best_upper_set(worth: Floats, below: Relation) -> npt.NDArray[np.bool_]:
    """The mask of the upper set with the greatest total worth, by a minimum cut; empty where none has any."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    n, scale = len(worth), float(np.abs(worth).sum())
    nothing = np.zeros(n, dtype=bool)
    if n < 2 or scale <= 1e-12 * n:
        return nothing
    capacity = np.round(np.abs(worth) / scale * (_CAPACITY / 2)).astype(np.int32)
    gains, losses = np.flatnonzero(worth > 0), np.flatnonzero(worth < 0)
    low, high = np.nonzero(_reduced(below))
    source, sink = n, n + 1
    heads = np.concatenate((np.full(len(gains), source), losses, low))
    tails = np.concatenate((gains, np.full(len(losses), sink), high))
    capacities = np.concatenate((capacity[gains], capacity[losses], np.full(len(low), _CAPACITY, dtype=np.int32)))
    network: Any = csr_array((capacities.astype(np.int32), (heads, tails)), shape=(n + 2, n + 2))
    flow = maximum_flow(network, source, sink).flow
    residual = csr_array(network - flow)
    residual.data[residual.data < 0] = 0
    residual.eliminate_zeros()
    reached = breadth_first_order(residual, source, return_predecessors=False)
    nothing[reached[reached < n]] = True
    return nothing


def _reduced(below: Relation) -> Relation:
    """A transitive relation without the pairs that follow from others; unchanged where it has cycles."""
    if (below & below.T).any():
        return below
    steps = below.astype(np.float32)
    return below & ~(steps @ steps > 0)


def _without_rounding(values: Floats, below: Relation) -> Floats:
    """The values with the last violations removed, which are due to rounding: the greatest of all that must be below."""
    lifted: Floats = np.maximum(values, np.where(below, values[:, None], -np.inf).max(axis=0, initial=-np.inf))
    return lifted
