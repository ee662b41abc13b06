"""The command `predict`: class probabilities of the rows of a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.cli.common import FILE, is_forest, is_sum, limit_option, open_any_inputs, out_option, write_output
from neuid3.cli.sums import sum_predictions

if TYPE_CHECKING:
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
    """Predict the class of every row of a table.

    Prints a CSV with the columns `prediction` and, for each class, `p_CLASS`: one line for each row of TABLE, in its
    order. Only the columns that the tree tests are read; others may be missing.

    Example: neuid3 predict cards.neuid3 new.csv --out predictions.csv
    """
    opened, text_table = open_any_inputs(model, table, limits)
    lines = sum_predictions(opened, text_table) if is_sum(opened) or is_forest(opened) else _lines(opened, text_table)
    write_output(lines, out, model, table)


def _lines(model: NeurosymbolicTree, text_table: TextTable) -> Iterator[str]:
    from neuid3.data.reading import read_with_schema

    head: list[list[Any]] = [["prediction", *(f"p_{label}" for label in model.classes)]]
    for start in range(0, len(text_table), BATCH):
        batch = text_table.take(range(start, min(start + BATCH, len(text_table))))
        probabilities = model.predict_proba(read_with_schema(batch, model.schema, model.columns))
        best = [model.classes[i] for i in probabilities.argmax(axis=1)]
        rows = [[label, *(f"{p:.6f}" for p in row)] for label, row in zip(best, probabilities.tolist(), strict=True)]
        yield _csv(head + rows)
        head = []


def _csv(rows: list[list[Any]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
