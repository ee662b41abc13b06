"""Explanations of a forest's predictions: contributions of columns that add up, and the agreement of the trees."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.binned.averaged import Forest
from neuid3.binned.model import ForestModel
from neuid3.binned.trees import BinnedTree
from neuid3.errors import RowError
from neuid3.explain.explanation import plain
from neuid3.export.labels import amount_format
from neuid3.export.sums import bar_chart
from neuid3.export.svg import to_svg
from neuid3.tree.effects import TermRow

Floats = npt.NDArray[np.float64]

# The most columns and tests that are printed.
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a column adds to a prediction.

    Attributes
    ----------
    columns : the column, or the columns that a test with networks or rules reads.
    amounts : what it adds to the probability of each class, or to the number.
    """

    columns: tuple[str, ...]
    amounts: tuple[float, ...]

    @property
    def name(self) -> str:
        """The columns, separated by commas."""
        return ", ".join(self.columns)


@dataclass(frozen=True, slots=True)
class ForestExplanation:
    """Why a forest predicts what it predicts for one example.

    The prediction of a node is that of its training rows. A test moves it from that of its node to those of its children;
    these moves, weighted by P(node | e) and averaged over the trees, add up from `base` to `prediction`.

    Attributes
    ----------
    classes : the classes; none where the forest predicts numbers.
    base : the prediction at the roots, averaged: class probabilities, or the number.
    prediction : the prediction of the forest.
    contributions : what each column adds, the largest first.
    tests : the tests that the example meets in the trees, with the average of P(node | e) over the trees.
    votes : the number of trees whose most probable class is each, or the quartiles of the numbers that trees predict.
    trees : the number of trees.
    """

    classes: tuple[Any, ...]
    base: tuple[float, ...]
    prediction: tuple[float, ...]
    contributions: tuple[Contribution, ...]
    tests: tuple[tuple[str, float], ...]
    votes: tuple[float, ...]
    trees: int

    def json(self) -> str:
        """The explanation as JSON text."""
        contributions = [{"columns": list(item.columns), "amounts": list(item.amounts)} for item in self.contributions]
        fields = {
            "classes": [plain(label) for label in self.classes],
            "base": list(self.base),
            "prediction": list(self.prediction),
            "contributions": contributions,
            "tests": [list(pair) for pair in self.tests],
            "votes": list(self.votes),
            "trees": self.trees,
        }
        return json.dumps(fields, indent=1, ensure_ascii=False)

    def svg(self, *, most: int = 15) -> str:
        """The explanation as an SVG image: a bar for what each column adds to each class, or to the number.

        Parameters
        ----------
        most : the most bars; the rest is one bar.

        Returns
        -------
        The text of an SVG file.
        """
        rows = [TermRow("start", self.base)]
        rows += [TermRow(item.name, item.amounts) for item in self.contributions[:most]]
        others = self.contributions[most:]
        if others:
            rest = np.sum([item.amounts for item in others], axis=0)
            rows.append(TermRow(f"{len(others)} others", tuple(rest.tolist())))
        rows.append(TermRow("sum", self.prediction))
        names = tuple(map(str, self.classes)) or ("",)
        return to_svg(bar_chart(_headline(self), rows, names, len(self.classes)))

    def text(self) -> str:
        """The explanation as lines of text."""
        return str(self)

    def __str__(self) -> str:
        lines = [_headline(self)]
        best = int(np.argmax(self.prediction)) if self.classes else 0
        of = f"P({self.classes[best]})" if self.classes else "the prediction"
        amounts = [item.amounts[best] for item in self.contributions]
        write = "{:+.3f}".format if self.classes else amount_format(amounts)
        base, here = (
            f"{value[best]:.3g}" if self.classes else write(value[best]).removeprefix("+")
            for value in (self.base, self.prediction)
        )
        lines += ["", f"{of} is {base} on average, and here {here}:"]
        width = max((len(item.name) for item in self.contributions[:SHOWN]), default=0)
        lines += [f"  {item.name:<{width}}  {write(item.amounts[best])}" for item in self.contributions[:SHOWN]]
        if len(self.contributions) > SHOWN:
            rest = sum(amounts[SHOWN:])
            lines.append(f"  {f'{len(self.contributions) - SHOWN} others':<{width}}  {write(rest)}")
        lines += ["", "Tests that most trees ask of it:"]
        lines += [f"  {text}  in {reach:.0%} of the trees" for text, reach in self.tests[:SHOWN]]
        return "\n".join(lines)


def _headline(explanation: ForestExplanation) -> str:
    if explanation.classes:
        best = int(np.argmax(explanation.prediction))
        votes = f"{int(explanation.votes[best])} of {explanation.trees} trees"
        return f"{explanation.classes[best]}, P = {explanation.prediction[best]:.3g}; most probable in {votes}."
    low, _, high = explanation.votes
    return (
        f"{explanation.prediction[0]:.4g}; half of the {explanation.trees} trees predict a number from {low:.4g} to "
        f"{high:.4g}."
    )


def node_values(forest: Forest, tree: BinnedTree) -> Floats:
    """What each node of a tree would say as a leaf: class probabilities, or the number, `(node, value)`."""
    if forest.predicts_numbers:
        mass = np.where(tree.statistics[:, 0] > 0, tree.statistics[:, 0], 1.0)
        means: Floats = (forest.center + forest.scale * tree.statistics[:, 1] / mass)[:, None]
        return means
    mass = tree.statistics.sum(1, keepdims=True)
    return np.where(mass > 0, tree.statistics / np.where(mass > 0, mass, 1.0), 1.0 / tree.statistics.shape[1])


def explain_forest(model: ForestModel, X: Any, row: int = 0) -> ForestExplanation:
    """The explanation of a prediction.

    Parameters
    ----------
    model : the forest with its program, networks and priors.
    X : the examples, as `Examples` or a table with the columns of the schema.
    row : the example.

    Returns
    -------
    The explanation.

    Raises
    ------
    RowError : where there is no such row.
    """
    examples = model.read(X)
    if not -len(examples) <= row < len(examples):
        raise RowError(f"There is no row {row}; the table has {len(examples)} examples, counted from 0.")
    example, forest = examples[[row % len(examples)]], model.forest
    width = 1 if forest.predicts_numbers else len(forest.classes)
    amounts = np.zeros((len(forest.columns), width))
    base, predictions = np.zeros(width), np.zeros((len(forest), width))
    met: dict[str, float] = {}
    for number, tree in enumerate(forest.trees):
        values = node_values(forest, tree)
        reach = _node_reach(tree, model.leaf_reach(example, number)[0])
        base += values[0] / len(forest)
        predictions[number] = reach[tree.is_leaf] @ values[tree.is_leaf]
        for node in np.flatnonzero(~tree.is_leaf & (reach > 0)):
            yes, no, column = tree.yes[node], tree.no[node], int(tree.column[node])
            amounts[column] += reach[yes] * values[yes] + reach[no] * values[no] - reach[node] * values[node]
            test = forest.columns[column].test(int(tree.code[node]), float(tree.threshold[node]))
            met[str(test)] = met.get(str(test), 0.0) + float(reach[node])
    return ForestExplanation(
        forest.classes,
        tuple(base.tolist()),
        tuple(predictions.mean(0).tolist()),
        _contributions(model, amounts / len(forest), predictions.mean(0)),
        tuple((text, min(count / len(forest), 1.0)) for text, count in sorted(met.items(), key=lambda item: -item[1])),
        _votes(forest, predictions),
        len(forest),
    )


def _node_reach(tree: BinnedTree, leaf_reach: Floats) -> Floats:
    """P(node | e) of all nodes, from those of the leaves."""
    reach = np.zeros(len(tree.column))
    reach[tree.is_leaf] = leaf_reach
    for node in range(len(reach) - 1, 0, -1):  # children before their parents
        reach[tree.parent[node]] += reach[node]
    return reach


def _contributions(model: ForestModel, amounts: Floats, prediction: Floats) -> tuple[Contribution, ...]:
    """The contributions by the columns that tests read, the largest of the predicted class first."""
    by_columns: dict[tuple[str, ...], Floats] = {}
    for columns, amount in zip(model.columns_of_gains(), amounts, strict=True):
        if amount.any():
            by_columns[columns] = by_columns.get(columns, np.zeros(len(amount))) + amount
    best = int(np.argmax(prediction)) if model.forest.classes else 0
    ordered = sorted(by_columns.items(), key=lambda item: -abs(item[1][best]))
    return tuple(Contribution(columns, tuple(amount.tolist())) for columns, amount in ordered)


def _votes(forest: Forest, predictions: Floats) -> tuple[float, ...]:
    if forest.predicts_numbers:
        return tuple(np.quantile(predictions[:, 0], (0.25, 0.5, 0.75)).tolist())
    return tuple(np.bincount(predictions.argmax(1), minlength=len(forest.classes)).astype(float).tolist())
