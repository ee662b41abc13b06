"""The evidence page of a boosted sum, as one self-contained HTML file."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from neuid3.data.examples import Examples
from neuid3.explain.page.plain import plain_page, rows_to_explain, score_sections, table_scores
from neuid3.explain.sums import explain_sum
from neuid3.export.labels import printable
from neuid3.export.sums import score_format, sum_of, sum_svg, sum_text
from neuid3.tree.reliability import Reliability
from neuid3.tree.sum_model import SumModel
from neuid3.tree.tree import branches

TITLE = "Evidence page of a sum"

# The most terms of the scorecard.
MAX_TERMS = 60


def sum_page(
    model: Any, X: Any, y: Any = None, *, title: str = TITLE
) -> tuple[str, tuple[str, ...], Reliability | None]:
    """The evidence page of a sum: its scorecard, the spread of each column, scores on a table, and explained rows.

    The page is complete in itself and loads nothing from the internet.

    Parameters
    ----------
    model : the model of a sum, or a fitted boosting estimator.
    X : the table to be shown.
    y : the targets of its rows, if known.
    title : the title of the page.

    Returns
    -------
    The HTML text, the sentences about scores on it, and the reliability of class probabilities, if there is one.
    """
    model = sum_of(model)
    examples = model.read(X)
    scores = table_scores(model, examples, y)
    sections = [
        *score_sections(scores),
        f"<h2>The sum</h2>{sum_svg(model, max_terms=MAX_TERMS)}",
        f"<h2>What the tests add to the rows of this table</h2>{_spread_table(model, examples)}",
        f"<h2>Rows, explained</h2>{_rows(model, examples, scores.targets)}",
        f"<h2>As text</h2><pre>{html.escape(sum_text(model, max_terms=None))}</pre>",
    ]
    return plain_page(title, sections, model.program.text), scores.sentences, scores.reliability


def _spread_table(model: SumModel, examples: Examples) -> str:
    """The mean size of what each tree adds to the rows of the table, summed up by the columns that it reads."""
    contributions = model.contributions(examples)  # (example, tree, score)
    centred = contributions - contributions.mean(axis=0)
    sizes = np.sqrt((centred**2).mean(axis=0).sum(axis=1)) if len(examples) else np.zeros(contributions.shape[1])
    totals: dict[str, float] = {}
    for root, size in zip(model.boosted_sum.trees, sizes, strict=True):
        columns = dict.fromkeys(name for branch in branches(root) for name in model.columns_of(branch.test))
        key = " · ".join(columns)
        totals[key] = totals.get(key, 0.0) + float(size)
    ordered = sorted(totals.items(), key=lambda item: -item[1])[:MAX_TERMS]
    write = score_format([list(totals.values())], len(model.classes), decimals=3)
    rows = "".join(
        f'<tr><td>{html.escape(printable(name))}</td><td class="number">{write(size).removeprefix("+")}</td></tr>'
        for name, size in ordered
    )
    return f"<table><tr><th>columns of the trees</th><th>standard deviation of what they add</th></tr>{rows}</table>"


def _rows(model: SumModel, examples: Examples, y: Any) -> str:
    """Explanations of some rows: first those that are predicted wrongly or worst, then the first rows."""
    parts = []
    for row in rows_to_explain(model, examples, y):
        explanation = explain_sum(model, examples, row)
        target = "" if y is None else f", true: {y[row]}"
        prediction = explanation.prediction if model.classes else f"{explanation.prediction:.4g}"
        summary = html.escape(f"row {row}: predicted {prediction}{target}")
        parts.append(f"<details><summary>{summary}</summary>{explanation.svg()}</details>")
    return "".join(parts)
