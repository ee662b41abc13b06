"""Why does a model say what it says about a row?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from neuid3.cli.common import FILE, deliver, known_examples, limit_option, open_both, out_option
from neuid3.errors import RowError
from neuid3.export.figures import figure_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from neuid3.data.examples import Examples
    from neuid3.estimators.classifier import NeuID3Classifier
    from neuid3.logic.sandbox import Limits


@click.command()
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option("--row", type=click.IntRange(0), required=True, metavar="N", help="Which row, counted from 0.")
@click.option(
    "--format", "style", type=click.Choice(["text", "json", "svg", "problog"]), default="text", show_default=True
)
@click.option("--json", "style", flag_value="json", help="The same as --format json.")
@limit_option
@out_option
def explain(model: Path, table: Path, row: int, style: str, limits: Limits | None, out: Path | None) -> None:
    """Explain the prediction for one row of a table.

    Tells where the probability goes in the tree, what the networks saw, and what would change the class. With --format
    problog, the tree as a program for this row, which ProbLog runs; with --format svg, a picture (needs matplotlib).

    Example: neuid3 explain cards.neuid3 new.csv --row 3
    """
    clf, sheet = open_both(model, table, limits)
    if row >= len(sheet):
        raise RowError(f"There is no row {row}; {table} has {len(sheet)} rows, counted from 0.")
    examples = known_examples(clf, sheet.only([row]))
    deliver([_told(clf, examples, style).rstrip("\n") + "\n"], out, model, table)


def _told(clf: NeuID3Classifier, examples: Examples, style: str) -> str:
    match style:
        case "text":
            return clf.explain(examples).text()
        case "json":
            return clf.explain(examples).json()
        case "svg":
            return figure_bytes(cast("Figure", clf.explain(examples).plot().figure), "svg").decode()
        case _:
            return clf.model_.to_problog(examples)
