"""The evidence page of a boosted sum, as one self-contained HTML file."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.examples import Examples
from neuid3.explain.page.render import content_policy
from neuid3.explain.page.scores import record_sentences
from neuid3.explain.sums import explain_sum
from neuid3.export.labels import printable
from neuid3.export.sums import sum_of, sum_svg, sum_text
from neuid3.tree.record import HELD_OUT, number_score, score_of
from neuid3.tree.sum_model import SumModel
from neuid3.tree.tree import branches

TITLE = "Evidence page of a sum"

# The most rows that are explained one by one, and the most terms of the scorecard.
MAX_ROWS, MAX_TERMS = 12, 60

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
svg { max-width: 100%; height: auto; border: 1px solid #ddd; border-radius: 6px; }
table { border-collapse: collapse; } td, th { padding: .15rem .8rem .15rem 0; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: #f6f6f6; padding: .8rem; overflow-x: auto; } summary { cursor: pointer; }
"""


def sum_page(model: Any, X: Any, y: Any = None, *, title: str = TITLE) -> tuple[str, tuple[str, ...]]:
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
    The HTML text, and the sentences about scores on it.
    """
    model = sum_of(model)
    y = None if y is None else np.asarray(y).tolist()
    examples = model.read(X)
    sentences = (*_score_sentences(model, examples, y), *record_sentences(model.training_record))
    sections = [
        f"<h1>{html.escape(title)}</h1>",
        "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences),
        f"<h2>The sum</h2>{sum_svg(model, max_terms=MAX_TERMS)}",
        f"<h2>What the tests add to the rows of this table</h2>{_spread_table(model, examples)}",
        f"<h2>Rows, explained</h2>{_rows(model, examples, y)}",
        f"<h2>As text</h2><pre>{html.escape(sum_text(model, max_terms=None))}</pre>",
    ]
    if model.program.text.strip():
        sections.append(f"<h2>Background knowledge</h2><pre>{html.escape(model.program.text.strip())}</pre>")
    policy = html.escape(content_policy(_STYLE, ""))
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(sections)}</body></html>\n', sentences


def _score_sentences(model: SumModel, examples: Examples, y: Any) -> tuple[str, ...]:
    """The score on the table, and how many of its rows the sum was learned from."""
    if y is None or not len(examples):
        return ()
    record = model.training_record
    if model.classes:
        known = {label: code for code, label in enumerate(model.classes)}
        rows = [row for row, label in enumerate(y) if label in known]
        codes = np.array([known[y[row]] for row in rows], dtype=np.int64)
        if not rows:
            return ("None of the rows of this table has a class of the sum.",)
        score: Any = score_of(HELD_OUT, model.predict_proba(examples[rows]), codes)
        learned = None if record is None else record.learned(examples[rows], model.schema, codes)
    else:
        numbers = np.asarray(y, dtype=np.float64)
        score = number_score(HELD_OUT, model.predict(examples), numbers)
        learned = None if record is None else record.learned(examples, model.schema)
    sentence = f"On this table of {len(examples):,} rows: {score}."
    if learned is not None and learned.any():
        return (sentence, f"The sum was learned from {int(learned.sum()):,} of these rows.")
    return (sentence,)


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
    rows = "".join(
        f'<tr><td>{html.escape(printable(name))}</td><td class="number">{size:.3f}</td></tr>' for name, size in ordered
    )
    return f"<table><tr><th>columns of the trees</th><th>standard deviation of what they add</th></tr>{rows}</table>"


def _rows(model: SumModel, examples: Examples, y: Any) -> str:
    """Explanations of some rows: first those that are predicted wrongly or worst, then the first rows."""
    parts = []
    for row in _chosen(model, examples, y):
        explanation = explain_sum(model, examples, row)
        target = "" if y is None else f", true: {y[row]}"
        prediction = explanation.prediction if model.classes else f"{explanation.prediction:.4g}"
        summary = html.escape(f"row {row}: predicted {prediction}{target}")
        parts.append(f"<details><summary>{summary}</summary>{explanation.svg()}</details>")
    return "".join(parts)


def _chosen(model: SumModel, examples: Examples, y: Any) -> Sequence[int]:
    if y is None:
        return range(min(len(examples), MAX_ROWS))
    predictions = model.predict(examples)
    if model.classes:
        wrong: npt.NDArray[Any] = np.array([str(p) != str(t) for p, t in zip(predictions, y, strict=True)])
        order = np.argsort(~wrong, kind="stable")
    else:
        order = np.argsort(-np.abs(predictions - np.asarray(y, dtype=np.float64)), kind="stable")
    return [int(row) for row in order[:MAX_ROWS]]
