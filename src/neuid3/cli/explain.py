"""The command `explain`: an explanation of one prediction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from neuid3.cli.common import (
    FILE,
    FiniteRange,
    has_many_trees,
    limit_option,
    model_examples,
    open_any_inputs,
    out_option,
    parts_options,
    write_output,
)
from neuid3.cli.ensembles import trees_explanation
from neuid3.errors import DataError, RowError
from neuid3.export.figures import figure_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from neuid3.data.examples import Examples
    from neuid3.estimators.model import NeurosymbolicTree
    from neuid3.logic.sandbox import Limits


@click.command()
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option("--row", type=click.IntRange(0), required=True, metavar="N", help="The row, counted from 0.")
@click.option(
    "--format", "style", type=click.Choice(["text", "json", "svg", "problog"]), default="text", show_default=True
)
@click.option("--json", "style", flag_value="json", help="The same as --format json.")
@click.option(
    "--threshold",
    type=FiniteRange(),
    metavar="NUMBER",
    help="For trees that predict numbers: what the changes move the number past.  [default: the training mean]",
)
@parts_options
@limit_option
@out_option
def explain(
    model: Path,
    table: Path,
    row: int,
    style: str,
    threshold: float | None,
    parts: tuple[str, ...],
    part_relations: tuple[str, ...],
    limits: Limits | None,
    out: Path | None,
) -> None:
    """Explain the prediction for one row of a table.

    Shows the probabilities of the paths, the outputs of the networks, and changes of the row that would change the class, or move
    the number past a threshold.
    --format problog prints the tree as a ProbLog program for this row; --format svg draws a figure (needs matplotlib).

    Example: neuid3 explain cards.neuid3 new.csv --row 3
    """
    tree, text_table = open_any_inputs(model, table, limits, (parts, part_relations))
    if row >= len(text_table):
        raise RowError(f"There is no row {row}; {table} has {len(text_table)} rows, counted from 0.")
    examples = model_examples(tree, text_table.take([row]))
    if has_many_trees(tree):
        if threshold is not None:
            raise DataError(f"--threshold is for one tree, and the model is a {tree.noun}; leave it out.")
        text = trees_explanation(tree, examples, style)
    else:
        text = _explanation(tree, examples, style, threshold)
    write_output([text.rstrip("\n") + "\n"], out, model, table)


def _explanation(model: NeurosymbolicTree, examples: Examples, style: str, threshold: float | None) -> str:
    if style == "problog":
        return model.to_problog(examples)
    explanation = model.explain(examples, threshold=threshold)
    match style:
        case "text":
            return explanation.text()
        case "json":
            return explanation.json()
        case _:
            return figure_bytes(cast("Figure", explanation.plot().figure), "svg").decode()
