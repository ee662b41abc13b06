"""The command `diagnose`: why a model has learned nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.cli.common import (
    FILE,
    limit_option,
    model_examples,
    open_inputs,
    out_option,
    parts_options,
    row_location,
    write_output,
)
from neuid3.errors import DataError, ModelFileError, did_you_mean

if TYPE_CHECKING:
    from neuid3.data.reading import TextTable
    from neuid3.estimators.model import NeurosymbolicTree
    from neuid3.logic.sandbox import Limits


@click.command()
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option(
    "--target",
    metavar="COLUMN",
    help="The column with the classes or numbers to predict.  [default: the only one of TABLE that can hold them]",
)
@click.option("--groups", metavar="COLUMN", help="The column with the group of each row, as in neuid3 fit.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@parts_options
@limit_option
@out_option
def diagnose(
    model: Path,
    table: Path,
    parts: tuple[str, ...],
    part_relations: tuple[str, ...],
    target: str | None,
    groups: str | None,
    as_json: bool,
    limits: Limits | None,
    out: Path | None,
) -> None:
    """Say why a model has learned nothing, or that nothing is wrong.

    TABLE is the table that the model was learned from. Each cause comes with its evidence, such as lines of the table, and with
    the smallest change that would help. Where networks predict unseen rows badly, they are trained again with four times as
    many restarts, which takes as much longer than the fit.

    Example: neuid3 diagnose cards.neuid3 cards.csv
    """
    from neuid3.cli.wording import for_command_line
    from neuid3.estimators.loading import load
    from neuid3.estimators.tree_estimator import TreeEstimator

    tree, text_table = open_inputs(model, table, limits, (parts, part_relations))
    target = target or _only_target(tree, text_table, groups)
    text_table, targets = _with_targets(tree, text_table, target, table)
    estimator = load(model, limits=limits)
    if not isinstance(estimator, TreeEstimator):
        raise ModelFileError(f"{model} holds a tree without the estimator that learned it; fit it with neuid3 fit.")
    examples = model_examples(tree, text_table)
    found = estimator.diagnose(
        examples, targets, groups=_groups(text_table, groups), location=row_location(text_table.lines)
    )
    text = json.dumps(found.to_json(), indent=1, ensure_ascii=False) if as_json else for_command_line(str(found))
    write_output([f"{text}\n"], out, model, table)


def _only_target(tree: NeurosymbolicTree, table: TextTable, groups: str | None) -> str:
    """The only column that can hold the targets: no column of the model, of keys or groups, with its classes or numbers."""
    from neuid3.data.reading.cells import as_numbers
    from neuid3.data.reading.part_files import key_columns
    from neuid3.data.reading.sheet import MISSING

    names, known = {str(label) for label in tree.classes}, {*tree.schema, *key_columns(table), groups}
    others = {name: set(cells or ()) - MISSING for name, cells in table.columns.items() if name not in known}
    possible = [
        name
        for name, cells in others.items()
        if cells and (as_numbers(cells, table.commas) is not None if tree.predicts_numbers else cells <= names)
    ]
    if len(possible) != 1:
        found = f"can be {' or '.join(map(repr, possible))}" if possible else "is no column of the table"
        raise DataError(f"The target of the model {found}; name it with --target.")
    return possible[0]


def _with_targets(tree: NeurosymbolicTree, table: TextTable, target: str, path: Path) -> tuple[TextTable, Any]:
    """The rows that have a target, and their classes or numbers."""
    from neuid3.data.reading.targets import labelled_rows, number_labels

    if target not in table.columns:
        raise DataError(f"{path} has no column {target!r}.{did_you_mean(target, table.columns)}")
    table, _ = labelled_rows(table, target, "number" if tree.predicts_numbers else "class")
    if tree.predicts_numbers:
        return table, number_labels(table, target)
    names = {str(label): label for label in tree.classes}
    return table, [names.get(cell, cell) for cell in table.columns[target] or ()]


def _groups(table: TextTable, name: str | None) -> list[str] | None:
    """The group of each row."""
    if name is None:
        return None
    cells = table.columns.get(name)
    if cells is None:
        raise DataError(f"--groups {name} is no column of {table.path.name}.{did_you_mean(name, table.columns)}")
    return list(cells)
