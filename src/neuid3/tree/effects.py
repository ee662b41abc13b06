"""Terms of a boosted sum: main effects of single columns, and trees that combine several tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Category, Distribution, Kind, Schema
from neuid3.logic.quoting import constant_text
from neuid3.tree.node_tests import CutTest, FactTest, NodeTest, ValueTest
from neuid3.tree.sums import BoostedSum, mean_leaf, score_leaves
from neuid3.tree.tree import Branch, Node, branches, paths

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TermRow:
    """A condition and what a term of the sum adds where it holds.

    Attributes
    ----------
    condition : text such as `35.5 < age =< 50` or `alarm, not rank(3)`.
    scores : what is added to each score.
    """

    condition: str
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a sum that is read as one table.

    The rows exclude each other and one of them holds. Where an example is uncertain, the term adds the mean of its rows,
    weighted by their probabilities.

    Attributes
    ----------
    name : the column of a main effect, or the tests of a tree.
    rows : conditions with what they add.
    spread : the standard deviation of what the term adds to the training examples, over all scores and summed over its
        trees; terms are ordered by it.
    trees : the number of trees of the learned sum that it stands for, without those that were merged before.
    is_main_effect : whether it depends on one column only.
    """

    name: str
    rows: tuple[TermRow, ...]
    spread: float
    trees: int
    is_main_effect: bool


def terms(boosted_sum: BoostedSum, schema: Schema) -> tuple[Term, ...]:
    """The terms of a sum, the one with the largest spread first; with F₀ they add up to the scores.

    All trees that test the same single column become one main effect, a step table, which is exact. Each other tree is a
    term of its own.

    Parameters
    ----------
    boosted_sum : the sum.
    schema : the kinds of its columns.

    Returns
    -------
    The terms.
    """
    merged = boosted_sum.merged()
    names = merged.test_names
    by_column: dict[str, list[Node]] = {}
    found: list[Term] = []
    for root in merged.trees:
        column = _single_column(root)
        if column is None:
            found.append(_tree_term(root, names))
        else:
            by_column.setdefault(column, []).append(root)
    found += [_main_effect(column, roots, schema) for column, roots in by_column.items()]
    return tuple(sorted(found, key=lambda term: -term.spread))


def _single_column(root: Node) -> str | None:
    """The column that all tests of a tree read, where they are facts, values or cuts of one; otherwise None."""
    columns = {
        branch.test.column if isinstance(branch.test, (FactTest, ValueTest, CutTest)) else None
        for branch in branches(root)
    }
    return next(iter(columns)) if len(columns) == 1 else None


def _spread(root: Node) -> float:
    """The standard deviation of the leaves' scores, weighted by mass; over all scores."""
    leaves = list(score_leaves(root))
    masses = np.array([leaf.mass or 0.0 for leaf in leaves])
    weights = masses / masses.sum() if masses.sum() > 0 else np.full(len(leaves), 1.0 / len(leaves))
    deviations = np.array([leaf.value for leaf in leaves]) - np.array(mean_leaf(leaves).scores)
    return float(np.sqrt((weights @ deviations**2).sum()))


def _tree_term(root: Node, names: dict[NodeTest, str]) -> Term:
    rows = []
    for path, leaf in paths(root):
        conditions = [names[test] if response else _negated(test, names[test]) for test, response in path]
        rows.append(TermRow(", ".join(conditions), leaf.value))
    tested = dict.fromkeys(names[branch.test] for branch in branches(root))
    return Term(" · ".join(tested), tuple(rows), _spread(root), 1, False)


def _negated(test: NodeTest, name: str) -> str:
    """A test that is false, as a condition; a cut is turned round."""
    return name.replace(" =< ", " > ", 1) if isinstance(test, CutTest) else f"not {name}"


def _main_effect(column: str, roots: Sequence[Node], schema: Schema) -> Term:
    """The step table of all trees that test one column."""
    spread = sum(map(_spread, roots))
    tests = {branch.test for root in roots for branch in branches(root)}
    cuts = sorted({test.threshold for test in tests if isinstance(test, CutTest)})
    if cuts:
        representatives = [cuts[0], *cuts[1:], np.inf]  # the largest number of each interval
        conditions = _intervals(column, cuts, schema.get(column))
        scores = [_scores_at(roots, number) for number in representatives]
        return Term(column, _rows(conditions, scores), spread, len(roots), True)
    kind = schema.get(column)
    if isinstance(kind, (Category, Distribution)):
        tested = [test.value for test in tests if isinstance(test, ValueTest)]
        values = [value for value in kind.domain if value in tested]
        conditions = [f"{column} = {value}" for value in values] + [f"{column} is another"] * (
            len(values) < len(kind.domain)
        )
        scores = [_scores_at(roots, value) for value in values]
        if len(values) < len(kind.domain):
            scores.append(_scores_at(roots, None))
        return Term(column, _rows(conditions, scores), spread, len(roots), True)
    scores = [_scores_at(roots, value) for value in (True, False)]
    return Term(column, _rows([column, f"not {column}"], scores), spread, len(roots), True)


def _rows(conditions: Sequence[str], scores: Sequence[Floats]) -> tuple[TermRow, ...]:
    return tuple(TermRow(condition, tuple(added.tolist())) for condition, added in zip(conditions, scores, strict=True))


def _intervals(column: str, cuts: Sequence[float], kind: Kind | None) -> list[str]:
    texts = [constant_text(cut, kind) for cut in cuts]
    between = [f"{low} < {column} =< {high}" for low, high in pairwise(texts)]
    return [f"{column} =< {texts[0]}", *between, f"{column} > {texts[-1]}"]


def _scores_at(roots: Sequence[Node], value: object) -> Floats:
    """What trees of one column add where the column has this value; None for a value that no test names."""
    total: Floats = 0.0  # type: ignore[assignment]
    for root in roots:
        node = root
        while isinstance(node, Branch):
            node = node.yes if _holds(node.test, value) else node.no
        total = total + np.array(node.value)
    return total


def _holds(test: NodeTest, value: object) -> bool:
    match test:
        case CutTest(threshold=threshold):
            return bool(value <= threshold)  # type: ignore[operator]
        case ValueTest(value=named):
            return value is not None and value == named
        case _:
            return bool(value)
