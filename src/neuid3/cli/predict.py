"""The command `predict`: class probabilities, or numbers, of the rows of a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.cli.common import (
    FILE,
    FiniteRange,
    limit_option,
    open_any_inputs,
    out_option,
    parts_options,
    write_output,
)

if TYPE_CHECKING:
    from neuid3.cli.common import AnyModel
    from neuid3.data.examples import Examples
    from neuid3.data.reading import TextTable
    from neuid3.logic.sandbox import Limits

# The number of rows read and predicted at a time; their images are in memory together.
BATCH = 4096


@click.command()
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option(
    "--coverage",
    type=FiniteRange(),
    metavar="PROBABILITY",
    help="Add the column `set`: classes one of which is the true one with this probability, separated by |.",
)
@click.option("--by-leaf", is_flag=True, help="Let the coverage hold in every leaf that has enough calibration rows.")
@parts_options
@limit_option
@out_option
def predict(
    model: Path,
    table: Path,
    coverage: float | None,
    by_leaf: bool,
    parts: tuple[str, ...],
    part_relations: tuple[str, ...],
    limits: Limits | None,
    out: Path | None,
) -> None:
    """Predict the class or the number of every row of a table.

    Prints a CSV with the columns `prediction` and, for each class, `p_CLASS`: one line for each row of TABLE, in its
    order. Where numbers are predicted, the columns are `prediction` and, except for boosted sums, its standard deviation
    `std`. Only the columns that the model tests are read; others may be missing. Sets need a model that was fitted with `--calibration`.

    Example: neuid3 predict cards.neuid3 new.csv --out predictions.csv
    """
    opened, text_table = open_any_inputs(model, table, limits, (parts, part_relations))
    if coverage is not None:
        from neuid3.tree.conformal import check_leaves, required_calibration

        required_calibration(opened, coverage).thresholds(coverage)  # an error before anything is written
        check_leaves(opened, by_leaf)
    write_output(_lines(opened, text_table, coverage, by_leaf), out, model, table)


def _lines(model: AnyModel, text_table: TextTable, coverage: float | None, by_leaf: bool) -> Iterator[str]:
    from neuid3.data.reading import read_with_schema

    names = [f"p_{label}" for label in model.classes] or ["std"] * model.has_deviations
    head: list[list[Any]] = [["prediction", *names]]
    for start in range(0, len(text_table), BATCH):
        batch = text_table.take(range(start, min(start + BATCH, len(text_table))))
        examples = read_with_schema(batch, model.schema, model.columns)
        lines = head + _rows(model, examples)
        if coverage is not None:
            added = [*([_set_names(model)] if head else []), *_sets(model, examples, coverage, by_leaf)]
            lines = [[*line, *of_line] for line, of_line in zip(lines, added, strict=True)]
        yield _csv(lines)
        head = []


def _rows(model: Any, examples: Examples) -> list[list[Any]]:
    if model.predicts_numbers:
        if not model.has_deviations:
            return [[repr(number)] for number in model.predict(examples).tolist()]
        means, deviations = model.predict_number(examples)
        return [[repr(mean), repr(std)] for mean, std in zip(means.tolist(), deviations.tolist(), strict=True)]
    probabilities = model.predict_proba(examples)
    best = [model.classes[i] for i in probabilities.argmax(axis=1)]
    return [[label, *(f"{p:.6f}" for p in row)] for label, row in zip(best, probabilities.tolist(), strict=True)]


def _set_names(model: AnyModel) -> list[str]:
    return ["low", "high"] if model.predicts_numbers else ["set"]


def _sets(model: AnyModel, examples: Examples, coverage: float, by_leaf: bool) -> list[list[str]]:
    """For each row the classes in its set, separated by |, or the ends of its interval."""
    from neuid3.tree.conformal import class_sets, number_intervals

    if model.predicts_numbers:
        return [list(map(repr, ends)) for ends in number_intervals(model, examples, coverage, by_leaf).tolist()]
    labels = [str(label) for label in model.classes]
    return [
        ["|".join(label for label, is_in in zip(labels, row, strict=True) if is_in)]
        for row in class_sets(model, examples, coverage, by_leaf).tolist()
    ]


def _csv(rows: list[list[Any]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
