"""The evidence page of a forest, as one self-contained HTML file."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.binned.model import ForestModel
from neuid3.data.examples import Examples
from neuid3.explain.forests import explain_forest
from neuid3.explain.page.render import content_policy
from neuid3.explain.page.scores import record_sentences
from neuid3.export.forests import common_tests, cut_tree, importances, root_tests
from neuid3.export.labels import printable
from neuid3.export.text import export_text
from neuid3.tree.record import HELD_OUT, number_score, score_of

TITLE = "Evidence page of a forest"

# The most rows that are explained, trees that are shown, their depth, and lines of a table.
MAX_ROWS, MAX_TREES, MAX_DEPTH, MAX_LINES = 12, 50, 6, 30

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .15rem .8rem .15rem 0; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; } meter { width: 14rem; }
pre { background: #f6f6f6; padding: .8rem; overflow-x: auto; } summary { cursor: pointer; }
"""


def forest_page(model: ForestModel, X: Any, y: Any = None, *, title: str = TITLE) -> tuple[str, tuple[str, ...]]:
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
    The HTML text, and the sentences about scores on it.
    """
    examples = model.read(X)
    sentences = (*_score_sentences(model, examples, y), *record_sentences(model.training_record))
    sections = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p>{html.escape(str(len(model.forest)))} trees, whose predictions are averaged.</p>",
        "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences),
        f"<h2>Importances of columns</h2>{_meters(importances(model), 'share of the gain')}",
        f"<h2>What the trees agree on</h2>{_meters(common_tests(model), 'share of the trees that ask it')}",
        f"<h2>Tests at the root</h2>{_meters(root_tests(model), 'share of the trees')}",
        f"<h2>How far the trees agree on these rows</h2>{_agreement(model, examples)}",
        f"<h2>Rows, explained</h2>{_rows(model, examples, y)}",
        f"<h2>The trees one by one</h2>{_trees(model)}",
    ]
    if model.program.text.strip():
        sections.append(f"<h2>Background knowledge</h2><pre>{html.escape(model.program.text.strip())}</pre>")
    policy = html.escape(content_policy(_STYLE, ""))
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(sections)}</body></html>\n', sentences


def _score_sentences(model: ForestModel, examples: Examples, y: Any) -> tuple[str, ...]:
    """The score on the table, and how many of its rows the forest was learned from."""
    if y is None or not len(examples):
        return ()
    record = model.training_record
    if model.classes:
        known = {label: code for code, label in enumerate(model.classes)}
        rows = [row for row, label in enumerate(y) if label in known]
        codes = np.array([known[y[row]] for row in rows], dtype=np.int64)
        if not rows:
            return ("None of the rows of this table has a class of the forest.",)
        score: Any = score_of(HELD_OUT, model.predict_proba(examples[rows]), codes)
        learned = None if record is None else record.learned(examples[rows], model.schema, codes)
    else:
        score = number_score(HELD_OUT, model.predict(examples), np.asarray(y, dtype=np.float64))
        learned = None if record is None else record.learned(examples, model.schema)
    sentence = f"On this table of {len(examples):,} rows: {score}."
    if learned is not None and learned.any():
        return (sentence, f"The forest was learned from {int(learned.sum()):,} of these rows.")
    return (sentence,)


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
    for row in _chosen(model, examples, y):
        target = "" if y is None else f", true: {y[row]}"
        summary = html.escape(f"row {row}{target}")
        text = html.escape(str(explain_forest(model, examples, row)))
        parts.append(f"<details><summary>{summary}</summary><pre>{text}</pre></details>")
    return "".join(parts)


def _chosen(model: ForestModel, examples: Examples, y: Any) -> Sequence[int]:
    if y is None:
        return range(min(len(examples), MAX_ROWS))
    predictions = model.predict(examples)
    if model.classes:
        wrong: npt.NDArray[Any] = np.array([str(p) != str(t) for p, t in zip(predictions, y, strict=True)])
        order = np.argsort(~wrong, kind="stable")
    else:
        order = np.argsort(-np.abs(predictions - np.asarray(y, dtype=np.float64)), kind="stable")
    return [int(row) for row in order[:MAX_ROWS]]


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
