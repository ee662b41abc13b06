"""Evidence pages of forests and sums: sections of text, tables and pictures, without scripts."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.binned.model import ForestModel
from neuid3.data.examples import Examples
from neuid3.explain.page.numbers import check_numbers
from neuid3.explain.page.render import content_policy
from neuid3.explain.page.scores import (
    class_codes,
    group_numbers,
    group_rows,
    learned_rows,
    page_reliability,
    score_sentences,
)
from neuid3.tree.reliability import Reliability
from neuid3.tree.sum_model import SumModel

# The most rows that are explained one by one.
MAX_ROWS = 12

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
svg { max-width: 100%; height: auto; border: 1px solid #ddd; border-radius: 6px; } meter { width: 14rem; }
svg.reliability { width: 20rem; border: 0; } .reliability circle { fill: #36c; } .frame { fill: #f6f6f6; stroke: #ddd; }
.ideal { fill: none; stroke: #888; stroke-dasharray: 4 3; } .range { fill: none; stroke: #36c; stroke-width: 1.5; }
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


@dataclass(frozen=True, slots=True)
class TableScores:
    """What is known about the targets of a table, rows that the model was learned from and others apart.

    Attributes
    ----------
    targets : the classes or numbers of the rows; None where they are not known.
    sentences : the scores on the table, and those in the training record.
    reliability : that of class probabilities on the rows that were not learned from, if there are any.
    """

    targets: tuple[Any, ...] | None
    sentences: tuple[str, ...]
    reliability: Reliability | None


def table_scores(model: ForestModel | SumModel, examples: Examples, y: Any) -> TableScores:
    """The scores of a model of many trees on a table.

    Parameters
    ----------
    model : the model of a forest or a sum.
    examples : the rows of the table.
    y : the targets of the rows, if known.

    Raises
    ------
    DataError : where `y` does not fit.
    """
    found = None
    if model.classes:
        codes = None if y is None else class_codes(model.classes, model.noun, y, len(examples))
        learned, probabilities = learned_rows(model, examples, codes), model.predict_proba(examples)
        groups, found = group_rows(learned, probabilities, codes), page_reliability(learned, probabilities, codes)
    else:
        numbers = None if y is None else check_numbers(y, len(examples))
        groups = group_numbers(learned_rows(model, examples, None), model.predict(examples), numbers)
    targets = None if y is None else tuple(np.asarray(y).tolist())
    return TableScores(targets, score_sentences(groups, model.training_record), found)


def score_sections(scores: TableScores) -> list[str]:
    """The sections of a page about scores: sentences, and the reliability diagram where there is one.

    Parameters
    ----------
    scores : the scores of a table.
    """
    sentences = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in scores.sentences)
    if scores.reliability is None:
        return [sentences]
    return [sentences, f"<h2>Whether its probabilities can be trusted</h2>{_reliability(scores.reliability)}"]


def _reliability(found: Reliability) -> str:
    """A reliability diagram with its bins as a table."""
    marks, lines = [], []
    for one in found.bins:
        x, y = 200 * one.confidence, 200 * (1 - one.accuracy)
        low, high = (200 * (1 - min(max(one.accuracy + sign * 2 * one.error, 0.0), 1.0)) for sign in (-1, 1))
        marks.append(
            f'<path class="range" d="M{x:.1f} {low:.1f}V{high:.1f}"/><circle cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
        )
        cells = (f"{one.confidence:.0%}", f"{one.accuracy:.0%} ± {one.error:.0%}", f"{one.rows:,}")
        lines.append("".join(f'<td class="number">{cell}</td>' for cell in cells))
    table = "".join(f"<tr>{line}</tr>" for line in lines)
    return (
        "<p>How often predictions are right, on rows that were not learned from where these are known. Across is the "
        "probability of the prediction, upwards how often that was right. Dots on the diagonal are calibrated; the lines are "
        f"two standard errors each way.</p><p>{html.escape(str(found).capitalize())}.</p>"
        '<svg class="reliability" viewBox="-6 -6 212 212" role="img" aria-label="Reliability diagram">'
        f'<path class="frame" d="M0 0H200V200H0Z"/><path class="ideal" d="M0 200L200 0"/>{"".join(marks)}</svg>'
        f"<table><tr><th>probability</th><th>right</th><th>rows</th></tr>{table}</table>"
    )


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
