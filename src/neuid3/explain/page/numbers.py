"""Numbers on the evidence page: predicted against true, and residuals by leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuid3.data.targets import number_targets
from neuid3.errors import DataError
from neuid3.explain.page.responses import MIN_REACH, Floats, PageResponses
from neuid3.export.labels import distribution_text, noise_text, number_format
from neuid3.tree.goals import GoalLeaf
from neuid3.tree.tree import Branch, Tree

# The most points in the plot of predicted against true numbers; of more rows, evenly spaced ones are drawn.
MAX_POINTS = 1000


@dataclass(frozen=True, slots=True)
class NodeNumbers:
    """The numbers at a node, as text.

    Attributes
    ----------
    said : the mean and the deviation of the training examples, or what the leaf says; "" if unknown.
    found : the mean and the deviation of the table's numbers that reach it; "" without any.
    residual : at a leaf, the mean of the table's numbers less the mean that the leaf says; "" without any.
    """

    said: str
    found: str
    residual: str


@dataclass(frozen=True, slots=True)
class NumberContent:
    """What the page of a tree that predicts numbers shows besides.

    Attributes
    ----------
    nodes : one for each node, in preorder.
    predictions : for the examples that are shown, their row, the predicted number with its deviation, and the true number
        if known, as text.
    points : the row, the predicted number and the true number of some rows; empty without true numbers.
    """

    nodes: tuple[NodeNumbers, ...]
    predictions: tuple[tuple[int, str, str | None], ...]
    points: tuple[tuple[int, float, float], ...]


def check_numbers(y: Any, rows: int) -> Floats:
    """The true numbers of a table, `(row,)`; a `DataError` where they do not fit."""
    numbers = number_targets(np.asarray(y))
    if numbers.shape != (rows,):
        raise DataError(f"y has shape {numbers.shape} and the table {rows} examples; give one number each.")
    return numbers


def number_content(tree: Tree, responses: PageResponses, numbers: Floats | None, rows: Sequence[int]) -> NumberContent:
    """The numbers of a page.

    Parameters
    ----------
    tree : a tree that predicts numbers.
    responses : its responses to the table.
    numbers : the true numbers, if known, `(row,)`.
    rows : the rows that are shown.
    """
    write = number_format(tree.leaves)
    nodes = []
    for node in responses.nodes:
        leaf = node.node.summary if isinstance(node.node, Branch) else node.node
        said = "" if leaf is None else distribution_text(leaf, write)
        if isinstance(leaf, GoalLeaf):
            said = f"→ {leaf.goal.label}  {noise_text(leaf)}"
        found = residual = ""
        mass = responses.reach[:, node.number]
        if numbers is not None and mass.sum() > MIN_REACH:
            mean = float(np.average(numbers, weights=mass))
            deviation = float(np.sqrt(np.average((numbers - mean) ** 2, weights=mass)))
            found = f"{write(mean)} ± {write(deviation)}"
            if leaf is not None and leaf is node.node and not isinstance(leaf, GoalLeaf):
                residual = write(mean - leaf.value[0])
        nodes.append(NodeNumbers(said, found, residual))
    means, deviations = _mixtures(tree, responses)
    shown = tuple(
        (row, f"{write(means[row])} ± {write(deviations[row])}", None if numbers is None else write(numbers[row]))
        for row in rows
    )
    return NumberContent(tuple(nodes), shown, _points(means, numbers))


def _mixtures(tree: Tree, responses: PageResponses) -> tuple[Floats, Floats]:
    """The predicted mean and standard deviation of every row."""
    center = float(np.mean([leaf.value[0] for leaf in tree.leaves]))
    components, reach = responses.of_components
    moments = reach @ components.moments(center)
    return center + moments[:, 0], np.sqrt(np.maximum(moments[:, 1] - moments[:, 0] ** 2, 0.0))


def _points(predictions: Floats, numbers: Floats | None) -> tuple[tuple[int, float, float], ...]:
    if numbers is None:
        return ()
    chosen = np.unique(np.linspace(0, len(numbers) - 1, min(len(numbers), MAX_POINTS)).astype(np.int64))
    return tuple((int(row), float(predictions[row]), float(numbers[row])) for row in chosen)
