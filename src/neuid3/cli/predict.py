"""What does a model say about the rows of a table?"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.cli.common import FILE, deliver, limit_option, open_both, out_option

if TYPE_CHECKING:
    from neuid3.data.reading import TextTable
    from neuid3.estimators.classifier import NeuID3Classifier
    from neuid3.logic.sandbox import Limits

# So many rows are read and answered at a time; their images are in memory together.
BATCH = 4096


@click.command()
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@limit_option
@out_option
def predict(model: Path, table: Path, limits: Limits | None, out: Path | None) -> None:
    """Predict the class of every row of a table.

    Prints a CSV with the columns `prediction` and, for each class, `p_CLASS`: one line for each row of TABLE, in its
    order. Only the columns that the tree asks about are read; others may be there or not.

    Example: neuid3 predict cards.neuid3 new.csv --out predictions.csv
    """
    deliver(_lines(*open_both(model, table, limits)), out, model, table)


def _lines(clf: NeuID3Classifier, text_table: TextTable) -> Iterator[str]:
    from neuid3.data.reading import read_with_schema

    head: list[list[Any]] = [["prediction", *(f"p_{label}" for label in clf.classes_)]]
    for start in range(0, len(text_table), BATCH):
        batch = text_table.take(range(start, min(start + BATCH, len(text_table))))
        shares = clf.model_.predict_proba(read_with_schema(batch, clf.schema_, clf.model_.columns))
        best = clf.classes_[shares.argmax(axis=1)]
        rows = [[label, *(f"{p:.6f}" for p in row)] for label, row in zip(best, shares.tolist(), strict=True)]
        yield _csv(head + rows)
        head = []


def _csv(rows: list[list[Any]]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    return written.getvalue()
