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
    is_forest,
    is_sum,
    limit_option,
    open_any_inputs,
    out_option,
    write_output,
)
from neuid3.cli.sums import sum_predictions
from neuid3.errors import DataError

if TYPE_CHECKING:
    from neuid3.data.examples import Examples
    from neuid3.data.reading import TextTable
    from neuid3.estimators.model import NeurosymbolicTree
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
@limit_option
@out_option
def predict(
    model: Path, table: Path, coverage: float | None, by_leaf: bool, limits: Limits | None, out: Path | None
) -> None:
    """Predict the class or the number of every row of a table.

    Prints a CSV with the columns `prediction` and, for each class, `p_CLASS`: one line for each row of TABLE, in its
    order. Where numbers are predicted, the columns are `prediction` and its standard deviation `std`. Only the columns that
    the tree tests are read; others may be missing. Sets need a model that was fitted with `--calibration`.

    Example: neuid3 predict cards.neuid3 new.csv --out predictions.csv
    """
    opened, text_table = open_any_inputs(model, table, limits)
    if is_sum(opened) or is_forest(opened):
        if coverage is not None:
            many = "a sum of trees" if is_sum(opened) else "a forest"
            raise DataError(f"--coverage is for one tree, and the model is {many}; leave it out.")
        write_output(sum_predictions(opened, text_table), out, model, table)
        return
    if coverage is not None:
        from neuid3.tree.conformal import required_calibration

        required_calibration(opened, coverage).thresholds(coverage)  # an error before anything is written
    write_output(_lines(opened, text_table, coverage, by_leaf), out, model, table)


def _lines(model: NeurosymbolicTree, text_table: TextTable, coverage: float | None, by_leaf: bool) -> Iterator[str]:
    from neuid3.data.reading import read_with_schema

    names = ["std"] if model.predicts_numbers else [f"p_{label}" for label in model.classes]
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


def _rows(model: NeurosymbolicTree, examples: Examples) -> list[list[Any]]:
    if model.predicts_numbers:
        means, deviations = model.predict_number(examples)
        return [[repr(mean), repr(std)] for mean, std in zip(means.tolist(), deviations.tolist(), strict=True)]
    probabilities = model.predict_proba(examples)
    best = [model.classes[i] for i in probabilities.argmax(axis=1)]
    return [[label, *(f"{p:.6f}" for p in row)] for label, row in zip(best, probabilities.tolist(), strict=True)]


def _set_names(model: NeurosymbolicTree) -> list[str]:
    return ["low", "high"] if model.predicts_numbers else ["set"]


def _sets(model: NeurosymbolicTree, examples: Examples, coverage: float, by_leaf: bool) -> list[list[str]]:
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
