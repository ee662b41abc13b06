"""A boosted sum as text and as a picture: a scorecard of main effects and trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from neuid3.export.labels import amount_format, printable, text_cells
from neuid3.export.marks import Label, Mark, Picture, Rectangle, text_width
from neuid3.export.palette import class_colours, paler
from neuid3.export.picture import GREY, LARGE, LINE, MARGIN, PAPER, SMALL
from neuid3.export.svg import to_svg
from neuid3.tree.effects import TermRow, terms

if TYPE_CHECKING:  # a sum is exported without PyTorch
    from neuid3.tree.sum_model import SumModel

# The most characters of a condition in a picture, the width of the bars of a score, and the height of a row.
CONDITION_CHARACTERS, BAR_WIDTH, ROW_HEIGHT = 72, 120.0, 15.0


def sum_of(model: Any) -> SumModel:
    """The model of a fitted boosting estimator, or the model itself."""
    found: SumModel = getattr(model, "model_", model)
    return found


def sum_text(model: Any, decimals: int = 2, *, max_terms: int | None = 20, rules: bool = False) -> str:
    """A boosted sum as text: F₀, then its terms with what each condition adds, the most influential first.

    Parameters
    ----------
    model : the model of a sum, or a fitted boosting estimator.
    decimals : the number of decimals of scores.
    max_terms : the most terms that are listed; None for all.
    rules : whether the background knowledge follows.

    Returns
    -------
    Lines of text.
    """
    model = sum_of(model)
    shown = terms(model.boosted_sum, model.schema)
    listed = shown if max_terms is None else shown[:max_terms]
    added = [row.scores for term in listed for row in term.rows] or [model.boosted_sum.initial]
    write = score_format(added, len(model.classes), decimals)
    lines = [heading(model), f"  {'start':<24} {scores_text(model.boosted_sum.initial, write)}"]
    for term in listed:
        lines.append("")
        if term.is_main_effect:
            lines.append(f"{printable(term.name)}")
        else:
            lines.append(f"tree of {printable(term.name)}")
        width = min(max(text_cells(row.condition) for row in term.rows), CONDITION_CHARACTERS)
        lines += [
            f"  {_padded(printable(row.condition), width)}  {scores_text(row.scores, write)}" for row in term.rows
        ]
    if len(listed) < len(shown):
        lines += ["", f"… and {len(shown) - len(listed)} further terms, which add less"]
    if rules and model.program.text.strip():
        lines += ["", model.program.text.strip()]
    return "\n".join(lines)


def heading(model: SumModel) -> str:
    """What the scores of a sum are, and how large it is."""
    boosted_sum = model.boosted_sum
    size = f"{_counted(len(boosted_sum.trees), 'tree')} with {_counted(boosted_sum.splits, 'split')}"
    names = boosted_sum.score_names
    if boosted_sum.predicts_numbers:
        return f"The prediction is the sum of the start and of what {size} add:"
    if len(names) == 1:
        return f"The log-odds of {names[0]!r} are the sum of the start and of what {size} add:"
    listed = " | ".join(names)
    return f"The scores of the classes {listed} are the sums of the start and of what {size} add:"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _padded(text: str, width: int) -> str:
    return text + " " * max(width - text_cells(text), 0)


def score_format(rows: Iterable[Sequence[float]], classes: int, decimals: int = 2) -> Callable[[float], str]:
    """A function that writes what rows add: to log-odds with fixed decimals, to numbers with those that tell rows apart.

    Parameters
    ----------
    rows : the scores of each row, without those of the start.
    classes : the number of classes; 0 for numbers.
    decimals : the number of decimals of log-odds.

    Returns
    -------
    The function.
    """
    if classes:
        return lambda score: f"{score:+.{decimals}f}"
    return amount_format([score for row in rows for score in row], decimals)


def scores_text(scores: Sequence[float], write: Callable[[float], str]) -> str:
    """The scores of a row, side by side.

    Parameters
    ----------
    scores : what the row adds to each score.
    write : writes one of them.

    Returns
    -------
    One line.
    """
    return " | ".join(map(write, scores))


def sum_svg(model: Any, *, max_terms: int | None = 20) -> str:
    """A boosted sum as an SVG image: the terms of the scorecard, with a bar for what each condition adds.

    Parameters
    ----------
    model : the model of a sum, or a fitted boosting estimator.
    max_terms : the most terms that are drawn; None for all.

    Returns
    -------
    The text of an SVG file.
    """
    return to_svg(draw_sum(sum_of(model), max_terms))


def draw_sum(model: SumModel, max_terms: int | None = 20) -> Picture:
    """The picture of a sum: one block for each term, one row for each condition, one column of bars for each score."""
    shown = terms(model.boosted_sum, model.schema)
    listed = shown if max_terms is None else shown[:max_terms]
    rows: list[TermRow] = [TermRow("start", model.boosted_sum.initial)]
    for term in listed:
        rows.append(TermRow(term.name if term.is_main_effect else f"tree of {term.name}", ()))
        rows += term.rows
    if len(listed) < len(shown):
        rows.append(TermRow(f"… and {len(shown) - len(listed)} further terms, which add less", ()))
    return bar_chart(heading(model), rows, model.boosted_sum.score_names, len(model.classes))


def bar_chart(title: str, rows: Sequence[TermRow], names: Sequence[str], classes: int) -> Picture:
    """Rows of text with a bar for each score, to the left where it is negative and to the right where it is positive.

    Parameters
    ----------
    title : the first line.
    rows : the rows; one without scores begins a block. The bars of all rows have one scale, except those of rows named
        start and sum, which have none.
    names : what each score is about.
    classes : the number of classes; 0 for numbers.

    Returns
    -------
    The picture.
    """
    bars = [row for row in rows if row.scores and row.condition not in ("start", "sum")]
    left = max((text_width(_short(row.condition), SMALL) for row in rows if row.scores), default=0.0) + 24.0
    largest = max((abs(score) for row in bars for score in row.scores), default=1.0) or 1.0
    write = score_format([row.scores for row in bars] or [row.scores for row in rows], classes)
    colours = class_colours(max(classes, 2))
    # With two classes the sign says which one a row speaks for; with more, each has a column and a colour.
    pairs = [colours[:2]] if len(names) == 1 else [(paler(colour, 0.5), colour) for colour in colours]
    marks: list[Mark] = [Label(0.0, LARGE, _short(title), LARGE, "start", bold=True)]
    y = 2.2 * LARGE
    if len(names) > 1:
        for number, name in enumerate(names):
            x = left + number * (BAR_WIDTH + 70.0) + 0.5 * BAR_WIDTH
            marks.append(Label(x, y, _short(name), SMALL, bold=True, colour=GREY))
        y += ROW_HEIGHT
    for row in rows:
        if not row.scores:
            y += 0.5 * ROW_HEIGHT
            marks.append(Label(0.0, y + SMALL, _short(printable(row.condition)), SMALL, "start", bold=True))
        else:
            marks += _row_marks(row, y, left, largest, pairs, write, with_bars=row.condition not in ("start", "sum"))
        y += ROW_HEIGHT
    width = max(left + len(names) * (BAR_WIDTH + 70.0), text_width(_short(title), LARGE))
    canvas = Rectangle(0.0, 0.0, width + 2 * MARGIN, y + 2 * MARGIN, PAPER, radius=6.0)
    moved = [replace(mark, x=mark.x + MARGIN, y=mark.y + MARGIN) for mark in marks]
    return Picture(canvas.width, canvas.height, (canvas, *moved), title)


def _row_marks(
    row: TermRow,
    y: float,
    left: float,
    largest: float,
    colours: Sequence[tuple[str, ...]],
    write: Callable[[float], str],
    with_bars: bool = True,
) -> list[Mark]:
    """A condition, and for each score a bar to the left where it is negative and to the right where it is positive."""
    marks: list[Mark] = [Label(14.0, y + SMALL, _short(printable(row.condition)), SMALL, "start")]
    for number, score in enumerate(row.scores):
        start = left + number * (BAR_WIDTH + 70.0)
        middle, length = start + BAR_WIDTH / 2, abs(score) / largest * BAR_WIDTH / 2
        if with_bars:
            x = middle - length if score < 0 else middle
            marks.append(Rectangle(x, y + 2.0, length, ROW_HEIGHT - 5.0, colours[number][int(score > 0)]))
            marks.append(Rectangle(middle - 0.5, y, 1.0, ROW_HEIGHT, LINE))
        marks.append(Label(start + BAR_WIDTH + 60.0, y + SMALL, write(score), SMALL, "end"))
    return marks


def _short(text: str) -> str:
    return text if len(text) <= CONDITION_CHARACTERS + 8 else text[: CONDITION_CHARACTERS + 7] + "…"
