"""Explanation of a score of a boosted sum: what each test and each tree adds, exactly."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Boolean, Category, Column, Date, Distribution, Number, Probability
from neuid3.data.examples import Examples
from neuid3.errors import DataError
from neuid3.explain.explanation import plain
from neuid3.export.labels import printable, text_cells
from neuid3.export.sums import bar_chart, score_format, scores_text
from neuid3.export.svg import to_svg
from neuid3.logic.quoting import value_text
from neuid3.tree.effects import TermRow
from neuid3.tree.node_tests import CutTest, FactTest, NodeTest, ValueTest
from neuid3.tree.sum_model import SumModel, class_probabilities
from neuid3.tree.sums import score_leaves
from neuid3.tree.tree import Branch, Node, Visit, fold

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a test adds to the scores of an example, over all trees and nodes that ask it.

    Attributes
    ----------
    test : the test.
    columns : the columns that it depends on.
    probability : P(τ | e), that the test is true.
    scores : what it adds to each score, compared with not knowing its response.
    is_plain : whether it is a fact, a value or a cut of one column, without networks and rules.
    """

    test: str
    columns: tuple[str, ...]
    probability: float
    scores: tuple[float, ...]
    is_plain: bool = True

    def to_dict(self) -> dict[str, Any]:
        """The contribution as lists, dicts, strings and numbers, for JSON."""
        return {
            "test": self.test,
            "columns": list(self.columns),
            "probability": self.probability,
            "scores": list(self.scores),
        }


@dataclass(frozen=True, slots=True)
class SumExplanation:
    """The explanation of the scores of one example: `start` and all `contributions` add up to `scores`.

    At a node that an example reaches, the test adds Σ_child P(child | e) · mean(child) − P(node | e) · mean(node), where the
    mean is that of the leaves below, weighted by the training examples. Along a tree these telescope to
    Σ_leaf P(leaf | e) · v, so nothing is left over.

    Attributes
    ----------
    classes : the classes; empty where a number is predicted.
    prediction : the most probable class, or the number.
    probabilities : the probability of each class; empty for a number.
    score_names : what each score is about.
    scores : F(e): log-odds, the scores of more than two classes, or the predicted number.
    start : the scores before any test: F₀ and the means of all trees.
    contributions : what each test adds, the largest first.
    readings : the value of each column, as text, by column.
    initial : F₀.
    trees : what each tree adds to each score; with F₀ these add up to the scores, too.
    """

    classes: tuple[Any, ...]
    prediction: Any
    probabilities: tuple[float, ...]
    score_names: tuple[str, ...]
    scores: tuple[float, ...]
    start: tuple[float, ...]
    contributions: tuple[Contribution, ...]
    readings: Mapping[str, str]
    initial: tuple[float, ...]
    trees: tuple[tuple[float, ...], ...]

    def lines(self) -> tuple[tuple[str, tuple[float, ...]], ...]:
        """What is listed: one line for all tests of a column, one for each other test; the largest first.

        Returns
        -------
        Pairs of text such as `age = 51` and what is added to each score.
        """
        totals: dict[str, Floats] = {}
        for one in self.contributions:
            column = one.columns[0] if one.is_plain else None
            line = _response(one) if column is None else f"{printable(column)} = {self.readings[column]}"
            totals[line] = totals.get(line, 0.0) + np.array(one.scores)
        ordered = sorted(totals.items(), key=lambda item: -float(np.abs(item[1]).max()))
        return tuple((line, tuple(scores.tolist())) for line, scores in ordered)

    def __str__(self) -> str:
        return self.text()

    def text(self, decimals: int = 2, *, most: int = 15) -> str:
        """The explanation as text: what each column, and each test with networks or rules, adds.

        Parameters
        ----------
        decimals : the number of decimals of scores and probabilities.
        most : the most lines; the rest is one line.

        Returns
        -------
        Several lines of text.
        """
        rows = self._rows(most)
        width = max(text_cells(name) for name, _ in rows)
        write = self._format(decimals)
        lines = [f"  {name}{' ' * (width - text_cells(name))}  {scores_text(scores, write)}" for name, scores in rows]
        return "\n".join([self._heading(decimals), "", *lines])

    def _rows(self, most: int) -> list[tuple[str, tuple[float, ...]]]:
        """The start, what is added, and the sum."""
        lines = self.lines()
        rows = [("start", self.start), *lines[:most]]
        if len(lines) > most:
            rest = np.sum([scores for _, scores in lines[most:]], axis=0)
            rows.append((f"{len(lines) - most} others", tuple(rest.tolist())))
        return [*rows, ("sum", self.scores)]

    def svg(self, *, most: int = 15) -> str:
        """The explanation as an SVG image: a bar for what each column or test adds.

        Parameters
        ----------
        most : the most bars; the rest is one bar.

        Returns
        -------
        The text of an SVG file.
        """
        rows = [TermRow(name, scores) for name, scores in self._rows(most)]
        return to_svg(bar_chart(self._heading(2), rows, self.score_names, len(self.classes)))

    def _format(self, decimals: int) -> Callable[[float], str]:
        """Writes a score."""
        added = [scores for _, scores in self.lines()] or [self.start]
        return score_format(added, len(self.classes), decimals)

    def _heading(self, decimals: int) -> str:
        if not self.classes:
            return f"Prediction: {self._format(decimals)(self.scores[0]).removeprefix('+')}, the sum of"
        probability = self.probabilities[self.classes.index(self.prediction)]
        says = f"Prediction: {self.prediction} ({probability:.{decimals}f})"
        if len(self.score_names) == 1:
            return f"{says}. The log-odds of {self.score_names[0]!r} are the sum of"
        return f"{says}. The scores of {' | '.join(self.score_names)} are the sums of"

    def to_dict(self) -> dict[str, Any]:
        """The explanation as lists, dicts, strings and numbers."""
        return {
            "classes": [plain(label) for label in self.classes],
            "prediction": plain(self.prediction),
            "probabilities": list(self.probabilities),
            "score_names": list(self.score_names),
            "scores": list(self.scores),
            "start": list(self.start),
            "contributions": [contribution.to_dict() for contribution in self.contributions],
            "initial": list(self.initial),
            "trees": [list(scores) for scores in self.trees],
        }

    def json(self, indent: int | None = 2) -> str:
        """The explanation as JSON text, with the content of `to_dict`.

        Parameters
        ----------
        indent : the number of spaces of an indentation; None for one line.

        Returns
        -------
        JSON text.
        """
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)


def explain_sum(model: SumModel, X: Any, row: int = 0) -> SumExplanation:
    """The explanation of the scores of one example.

    Parameters
    ----------
    model : the sum with its program and networks.
    X : a table of examples.
    row : the example.

    Returns
    -------
    The explanation; `print` shows it as text.

    Raises
    ------
    DataError : where there is no such row.
    """
    example = _one_row(model, X, row)
    boosted_sum = model.boosted_sum
    tests = boosted_sum.tests
    reach = _leaf_reach(model, example)
    means = np.array(boosted_sum.initial)
    added: dict[NodeTest, Floats] = {test: np.zeros(len(boosted_sum.initial)) for test in tests}
    trees = []
    for root, probabilities in zip(boosted_sum.trees, reach, strict=True):
        means = means + _means(root)
        _add_contributions(root, probabilities, added)
        trees.append(tuple((probabilities @ np.array([leaf.value for leaf in score_leaves(root)])).tolist()))
    scores = np.array(boosted_sum.initial) + np.sum(trees, axis=0) if trees else np.array(boosted_sum.initial)
    responses = model.path_probabilities(example, [((test, True),) for test in tests])[0] if tests else ()
    names = boosted_sum.test_names
    contributions = [
        Contribution(
            names[test],
            model.columns_of(test),
            float(response),
            tuple(added[test].tolist()),
            isinstance(test, (FactTest, ValueTest, CutTest)),
        )
        for test, response in zip(tests, responses, strict=True)
    ]
    contributions.sort(key=lambda one: -max(map(abs, one.scores)))
    classes = boosted_sum.classes
    probabilities = class_probabilities(scores[None])[0] if classes else np.array(())
    prediction = classes[int(probabilities.argmax())] if classes else float(scores[0])
    return SumExplanation(
        classes,
        prediction,
        tuple(probabilities.tolist()),
        boosted_sum.score_names,
        tuple(scores.tolist()),
        tuple(means.tolist()),
        tuple(contributions),
        {name: _reading(example.column(name)) for name in example.names},
        boosted_sum.initial,
        tuple(trees),
    )


def _one_row(model: SumModel, X: Any, row: int) -> Examples:
    examples = model.read(X)
    if isinstance(row, bool) or not isinstance(row, (int, np.integer)) or not 0 <= row < len(examples):
        raise DataError(f"There is no row {row!r}; the table has {len(examples)} rows, counted from 0.")
    return examples[[int(row)]]


def _leaf_reach(model: SumModel, example: Examples) -> list[Floats]:
    """P(leaf | e) of each tree for one example, `(leaf,)` each."""
    arrays = model.inference.arrays

    def compute(worlds: Examples) -> Any:
        reach = [arrays.to_numpy(of_tree) for of_tree in model.leaf_reach(model.evidence_of(worlds))]
        return arrays.floats(np.concatenate(reach, axis=1))

    sizes = [sum(1 for _ in score_leaves(root)) for root in model.boosted_sum.trees]
    if not sizes:
        return []
    with model.evaluating(), arrays.without_gradients():
        reach = np.asarray(arrays.to_numpy(model.over_worlds(example, compute)), dtype=np.float64)[0]
    return np.split(reach, np.cumsum(sizes)[:-1])


def _means(root: Node) -> Floats:
    """The mean of a tree's leaves, weighted by the training examples."""
    summary = root.summary if isinstance(root, Branch) else root
    assert summary is not None
    return np.array(summary.value)


def _add_contributions(root: Node, reach: Floats, added: dict[NodeTest, Floats]) -> None:
    """Add what each node of a tree contributes to that of its test."""
    reversed_reach = iter(reach[::-1].tolist())

    def combine(visit: Visit, below: tuple[float, float] | None) -> float:
        """P(node | e)."""
        node = visit.node
        if not isinstance(node, Branch):
            return float(next(reversed_reach))
        assert below is not None
        total = below[0] + below[1]
        children = below[0] * _means(node.yes) + below[1] * _means(node.no)
        added[node.test] = added[node.test] + children - total * _means(node)
        return total

    fold(root, combine)


def _reading(column: Column) -> str:
    """The one entry of a column, as text."""
    if column.missing is not None and bool(column.missing[0]):
        return "missing"
    match column.kind:
        case Boolean():
            return "yes" if column.values[0] else "no"
        case Category() as kind:
            return printable(kind.domain[int(column.values[0])])
        case Date():
            return value_text(float(column.values[0]), column.kind)
        case Number():
            return f"{float(column.values[0]):.4g}"
        case Probability():
            return f"{float(column.values[0]):.2f}"
        case Distribution(values):
            best = int(np.argmax(column.values[0]))
            return f"{printable(values[best])} ({float(column.values[0][best]):.2f})"
        case _:
            return "image"


def _response(contribution: Contribution, decimals: int = 2) -> str:
    """A test with its response, and its probability where it is uncertain."""
    probability, name = contribution.probability, printable(contribution.test)
    if probability in (0.0, 1.0):
        return name if probability else (name.replace(" =< ", " > ", 1) if " =< " in name else f"not {name}")
    return f"{name} (true with {probability:.{decimals}f})"
