"""The evidence page of a forest, as one self-contained HTML file."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from neuid3.binned.model import ForestModel
from neuid3.data.examples import Examples
from neuid3.explain.forests import explain_forest
from neuid3.explain.page.plain import plain_page, rows_to_explain, score_sections, table_scores
from neuid3.export.forests import common_tests, cut_tree, importances, root_tests
from neuid3.export.labels import printable
from neuid3.export.text import export_text
from neuid3.tree.reliability import Reliability

TITLE = "Evidence page of a forest"

# The most trees that are shown, their depth, and lines of a table.
MAX_TREES, MAX_DEPTH, MAX_LINES = 50, 6, 30


def forest_page(
    model: ForestModel, X: Any, y: Any = None, *, title: str = TITLE
) -> tuple[str, tuple[str, ...], Reliability | None]:
    """The evidence page of a forest: importances, what its trees agree on, the trees one by one, and explained rows.

    The page is complete in itself and loads nothing from the internet.

    Parameters
    ----------
    model : the model of a forest.
    X : the table to be shown.
    y : the targets of its rows, if known.
    title : the title of the page.

    Returns
    -------
    The HTML text, the sentences about scores on it, and the reliability of class probabilities, if there is one.
    """
    examples = model.read(X)
    scores = table_scores(model, examples, y)
    sections = [
        f"<p>{html.escape(str(len(model.forest)))} trees, whose predictions are averaged.</p>",
        *score_sections(scores),
        f"<h2>Importances of columns</h2>{_meters(importances(model), 'share of the gain')}",
        f"<h2>What the trees agree on</h2>{_meters(common_tests(model), 'share of the trees that ask it')}",
        f"<h2>Tests at the root</h2>{_meters(root_tests(model), 'share of the trees')}",
        f"<h2>How far the trees agree on these rows</h2>{_agreement(model, examples)}",
        f"<h2>Rows, explained</h2>{_rows(model, examples, scores.targets)}",
        f"<h2>The trees one by one</h2>{_trees(model)}",
    ]
    return plain_page(title, sections, model.program.text), scores.sentences, scores.reliability


def _meters(items: Sequence[tuple[str, float]], heading: str) -> str:
    """A table with a bar for each item."""
    rows = "".join(
        f'<tr><td>{html.escape(printable(name))}</td><td><meter max="1" value="{value:.4f}"></meter></td>'
        f'<td class="number">{value:.3f}</td></tr>'
        for name, value in items[:MAX_LINES]
    )
    more = f"<p>and {len(items) - MAX_LINES} more</p>" if len(items) > MAX_LINES else ""
    return f"<table><tr><th></th><th>{heading}</th><th></th></tr>{rows}</table>{more}"


def _agreement(model: ForestModel, examples: Examples) -> str:
    """How many trees predict what the forest predicts, or how far their numbers differ."""
    sample = examples[: min(len(examples), 1000)]
    values = np.stack(list(model.tree_values(sample)))  # (tree, example, value)
    if model.classes:
        chosen = values.mean(axis=0).argmax(axis=1)
        shares = (values.argmax(axis=2) == chosen).mean(axis=0)
        bins = [("all trees", shares == 1.0), ("90 % or more", shares >= 0.9), ("70 % or more", shares >= 0.7)]
        bins.append(("fewer than half", shares < 0.5))
        return _meters([(name, float(mask.mean())) for name, mask in bins], "share of the rows on which so many agree")
    spread = values[:, :, 0].std(axis=0)
    text = f"On the median row, the numbers that trees predict have a standard deviation of {np.median(spread):.4g}."
    return f"<p>{html.escape(text)}</p>"


def _rows(model: ForestModel, examples: Examples, y: Any) -> str:
    """Explanations of some rows: first those that are predicted wrongly or worst, then the first rows."""
    parts = []
    for row in rows_to_explain(model, examples, y):
        target = "" if y is None else f", true: {y[row]}"
        summary = html.escape(f"row {row}{target}")
        text = html.escape(str(explain_forest(model, examples, row)))
        parts.append(f"<details><summary>{summary}</summary><pre>{text}</pre></details>")
    return "".join(parts)


def _trees(model: ForestModel) -> str:
    """The trees as text, folded."""
    parts = []
    for number in range(min(len(model.forest), MAX_TREES)):
        tree = model.forest.tree(number)
        text = html.escape(export_text(cut_tree(tree, MAX_DEPTH)))
        summary = f"tree {number + 1}: {len(tree.leaves)} leaves, depth {tree.depth}"
        parts.append(f"<details><summary>{summary}</summary><pre>{text}</pre></details>")
    more = f"<p>and {len(model.forest) - MAX_TREES} more</p>" if len(model.forest) > MAX_TREES else ""
    return "".join(parts) + more
