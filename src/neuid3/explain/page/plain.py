"""Evidence pages of forests and sums: sections of text, tables and pictures, without scripts."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.binned.model import ForestModel
from neuid3.data.examples import Examples
from neuid3.explain.page.render import content_policy
from neuid3.tree.record import HELD_OUT, number_score, score_of
from neuid3.tree.sum_model import SumModel

# The most rows that are explained one by one.
MAX_ROWS = 12

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
svg { max-width: 100%; height: auto; border: 1px solid #ddd; border-radius: 6px; } meter { width: 14rem; }
table { border-collapse: collapse; } td, th { padding: .15rem .8rem .15rem 0; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: #f6f6f6; padding: .8rem; overflow-x: auto; } summary { cursor: pointer; }
"""


def plain_page(title: str, sections: Sequence[str], background: str) -> str:
    """A page of sections, complete in itself.

    Parameters
    ----------
    title : the title of the page.
    sections : the HTML of each section.
    background : the program of the model, shown as the last section.
    """
    program = f"<h2>Background knowledge</h2><pre>{html.escape(background.strip())}</pre>" if background.strip() else ""
    policy = html.escape(content_policy(_STYLE, ""))
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    )
    body = f"<h1>{html.escape(title)}</h1>{''.join(sections)}{program}"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def table_sentences(model: ForestModel | SumModel, examples: Examples, y: Any, noun: str) -> tuple[str, ...]:
    """The score on the table, and how many of its rows the model was learned from.

    Parameters
    ----------
    model : the model of a forest or a sum.
    examples : the rows of the table.
    y : the targets of the rows, if known.
    noun : what the model is called.
    """
    if y is None or not len(examples):
        return ()
    record = model.training_record
    if model.classes:
        known = {label: code for code, label in enumerate(model.classes)}
        rows = [row for row, label in enumerate(y) if label in known]
        codes = np.array([known[y[row]] for row in rows], dtype=np.int64)
        if not rows:
            return (f"None of the rows of this table has a class of the {noun}.",)
        score: Any = score_of(HELD_OUT, model.predict_proba(examples[rows]), codes)
        learned = None if record is None else record.learned(examples[rows], model.schema, codes)
    else:
        score = number_score(HELD_OUT, model.predict(examples), np.asarray(y, dtype=np.float64))
        learned = None if record is None else record.learned(examples, model.schema)
    sentence = f"On this table of {len(examples):,} rows: {score}."
    if learned is not None and learned.any():
        return (sentence, f"The {noun} was learned from {int(learned.sum()):,} of these rows.")
    return (sentence,)


def rows_to_explain(model: ForestModel | SumModel, examples: Examples, y: Any) -> Sequence[int]:
    """Some rows: first those that are predicted wrongly or worst, then the first rows.

    Parameters
    ----------
    model : the model of a forest or a sum.
    examples : the rows of the table.
    y : the targets of the rows, if known.
    """
    if y is None:
        return range(min(len(examples), MAX_ROWS))
    predictions = model.predict(examples)
    if model.classes:
        wrong: npt.NDArray[Any] = np.array([str(p) != str(t) for p, t in zip(predictions, y, strict=True)])
        order = np.argsort(~wrong, kind="stable")
    else:
        order = np.argsort(-np.abs(predictions - np.asarray(y, dtype=np.float64)), kind="stable")
    return [int(row) for row in order[:MAX_ROWS]]
