"""A forest as text and as a picture: importances of columns, tests that most trees ask, and the trees one by one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from neuid3.data.derived import table_columns
from neuid3.export.sums import bar_chart
from neuid3.export.svg import to_svg
from neuid3.export.text import export_text
from neuid3.tree.effects import TermRow
from neuid3.tree.target import column_importances
from neuid3.tree.tree import Branch, Node, Tree, Visit, fold

if TYPE_CHECKING:  # a forest is shown without PyTorch
    from neuid3.binned.model import ForestModel

# The most columns and tests that are listed, and the length of the longest bar, in characters.
LISTED, BAR = 10, 20


def common_tests(model: ForestModel) -> list[tuple[str, float]]:
    """The columns and tests of the trees with the fraction of the trees that ask them, the most frequent first.

    Number columns count once whatever their thresholds.

    Parameters
    ----------
    model : the forest.

    Returns
    -------
    Pairs of a test, or of a number column, and a fraction.
    """
    forest = model.forest
    counts: Counter[str] = Counter()
    for tree in forest.trees:
        pairs = {(int(column), int(code)) for column, code in zip(tree.column, tree.code, strict=True) if column >= 0}
        counts.update({forest.columns[j].label(code) for j, code in pairs})
    return [(name, count / len(forest)) for name, count in counts.most_common()]


def root_tests(model: ForestModel) -> list[tuple[str, float]]:
    """The columns and tests at the roots of the trees, with the fraction of the trees that have them there.

    Parameters
    ----------
    model : the forest.

    Returns
    -------
    Pairs of a test, or of a number column, and a fraction.
    """
    forest = model.forest
    roots = (
        forest.columns[tree.column[0]].label(int(tree.code[0])) if tree.column[0] >= 0 else "no test"
        for tree in forest.trees
    )
    return [(name, count / len(forest)) for name, count in Counter(roots).most_common()]


def importances(model: ForestModel) -> list[tuple[str, float]]:
    """The columns with their importances, the largest first; without those that no tree reads.

    Parameters
    ----------
    model : the forest.

    Returns
    -------
    Pairs of a column and a fraction of the gain of all trees.
    """
    gains = zip(model.columns_of_gains(), model.forest.column_gains().tolist(), strict=True)
    values = column_importances(gains, model.schema)
    ordered = sorted(zip(table_columns(model.schema), values.tolist(), strict=True), key=lambda item: -item[1])
    return [(name, value) for name, value in ordered if value > 0]


def forest_text(
    model: ForestModel, decimals: int = 2, *, max_trees: int = 3, max_depth: int | None = 3, rules: bool = False
) -> str:
    """A forest as text.

    Parameters
    ----------
    model : the forest.
    decimals : the number of decimals.
    max_trees : the most trees that are shown.
    max_depth : the depth to which they are shown; None for all.
    rules : whether the background knowledge follows.

    Returns
    -------
    Lines of text.
    """
    forest = model.forest
    lines = [
        _heading(model),
        "",
        "Importances",
        *_bars(importances(model), decimals),
        "",
        "Asked by most trees",
        *_bars(common_tests(model), decimals),
        "",
        "At the root",
        *_bars(root_tests(model), decimals),
    ]
    for number in range(min(max_trees, len(forest))):
        tree = forest.tree(number)
        text = export_text(tree if max_depth is None else cut_tree(tree, max_depth), decimals)
        lines += ["", f"Tree {number + 1} of {len(forest)}", *(f"  {line}" for line in text.splitlines())]
    if rules and model.program.text.strip():
        lines += ["", model.program.text.strip()]
    return "\n".join(lines)


def forest_svg(model: ForestModel, *, max_rows: int = LISTED) -> str:
    """A forest as an SVG image: bars of the importances, of the tests that most trees ask, and of those at the roots.

    Parameters
    ----------
    model : the forest.
    max_rows : the most bars of each kind.

    Returns
    -------
    The text of an SVG file.
    """
    rows: list[TermRow] = []
    kinds = (("importances", importances), ("asked by most trees", common_tests), ("at the root", root_tests))
    for title, listed in kinds:
        items = listed(model)
        rows.append(TermRow(title, ()))
        rows += [TermRow(name, (value,)) for name, value in items[:max_rows]]
        if len(items) > max_rows:
            rows.append(TermRow(f"and {len(items) - max_rows} more", ()))
    return to_svg(bar_chart(_heading(model), rows, ("",), 0))


def _heading(model: ForestModel) -> str:
    """How many trees there are, and how large they are."""
    depths = [tree.depth for tree in model.forest.trees]
    leaves = np.diff(model.forest.applied.leaf_offsets)
    return f"{len(model.forest)} trees, of depth {np.mean(depths):.1f} with {leaves.mean():.0f} leaves on average"


def cut_tree(tree: Tree, max_depth: int) -> Tree:
    """The tree down to a depth, where branches become the leaves that they would be without their tests.

    Parameters
    ----------
    tree : a learned tree.
    max_depth : the most tests on a path.

    Returns
    -------
    The smaller tree.
    """

    def cut(visit: Visit, below: tuple[Node, Node] | None) -> Node:
        node = visit.node
        if not isinstance(node, Branch):
            return node
        if below is None:
            assert node.summary is not None
            return node.summary
        return Branch(node.test, *below, node.gain, statistics=node.statistics, summary=node.summary)

    return Tree(fold(tree.root, cut, max_depth), tree.classes)


def _bars(items: list[tuple[str, float]], decimals: int) -> list[str]:
    """Lines with a bar each; the rest is counted."""
    shown = items[:LISTED]
    width = max((len(name) for name, _ in shown), default=0)
    largest = max((value for _, value in shown), default=1.0) or 1.0
    lines = [
        f"  {name:<{width}}  {value:.{decimals}f}  {'█' * max(round(BAR * value / largest), 1)}"
        for name, value in shown
    ]
    return lines + ([f"  and {len(items) - LISTED} more"] if len(items) > LISTED else [])
