"""The command `predict`: class probabilities, or numbers, of the rows of a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.cli.common import FILE, limit_option, open_inputs, out_option, write_output

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
@limit_option
@out_option
def predict(model: Path, table: Path, limits: Limits | None, out: Path | None) -> None:
    """Predict the class or the number of every row of a table.

    Prints a CSV with the columns `prediction` and, for each class, `p_CLASS`: one line for each row of TABLE, in its
    order. Where numbers are predicted, the columns are `prediction` and its standard deviation `std`. Only the columns that the tree tests are read; others may be missing.

    Example: neuid3 predict cards.neuid3 new.csv --out predictions.csv
    """
    write_output(_lines(*open_inputs(model, table, limits)), out, model, table)


def _lines(model: NeurosymbolicTree, text_table: TextTable) -> Iterator[str]:
    from neuid3.data.reading import read_with_schema

    names = ["std"] if model.predicts_numbers else [f"p_{label}" for label in model.classes]
    head: list[list[Any]] = [["prediction", *names]]
    for start in range(0, len(text_table), BATCH):
        batch = text_table.take(range(start, min(start + BATCH, len(text_table))))
        yield _csv(head + _rows(model, read_with_schema(batch, model.schema, model.columns)))
        head = []


def _rows(model: NeurosymbolicTree, examples: Examples) -> list[list[Any]]:
    if model.predicts_numbers:
        means, deviations = model.predict_number(examples)
        return [[repr(mean), repr(std)] for mean, std in zip(means.tolist(), deviations.tolist(), strict=True)]
    probabilities = model.predict_proba(examples)
    best = [model.classes[i] for i in probabilities.argmax(axis=1)]
    return [[label, *(f"{p:.6f}" for p in row)] for label, row in zip(best, probabilities.tolist(), strict=True)]


def _csv(rows: list[list[Any]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
