"""The command `audit`: what the values of a model's networks are fixed up to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.cli.common import (
    FILE,
    concepts_option,
    limit_option,
    model_concepts,
    model_examples,
    open_inputs,
    out_option,
    parts_options,
    time_limit_option,
    write_output,
)
from neuid3.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from neuid3.data.reading import TextTable
    from neuid3.estimators.model import NeurosymbolicTree
    from neuid3.logic.sandbox import Limits


@click.command()
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option("--target", metavar="COLUMN", help="The column with the true classes, if the table has one.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@time_limit_option("Time after which counts are bounds.")
@concepts_option
@parts_options
@limit_option
@out_option
def audit(
    model: Path,
    table: Path,
    target: str | None,
    concept_file: Path | None,
    as_json: bool,
    time_limit: float,
    parts: tuple[str, ...],
    part_relations: tuple[str, ...],
    limits: Limits | None,
    out: Path | None,
) -> None:
    """Say what the values of a model's networks are fixed up to.

    By the tree alone: reversal, exchanges, other networks in their place. By the rows of the table: the number of
    re-readings that predict the same, and a smallest set of labels that leaves one. The values of the networks are the
    most probable ones; a column of the table that is headed by a network call, as in rank(first), has labels for it, and
    so has the file of --concepts.

    Example: neuid3 audit cards.neuid3 cards.csv
    """
    tree, text_table = open_inputs(model, table, limits, (parts, part_relations))
    classes = None
    if target is not None:
        text_table, classes = _with_classes(tree, text_table, target, table)
    examples = model_examples(tree, text_table)
    concepts = model_concepts(tree, text_table, examples, concept_file)
    certificate = tree.audit(examples, classes, concepts=concepts, time_limit=time_limit)
    text = json.dumps(certificate.to_json(), indent=1, ensure_ascii=False) if as_json else str(certificate)
    write_output([f"{text}\n"], out, model, table, *(() if concept_file is None else (concept_file,)))


def _with_classes(tree: NeurosymbolicTree, table: TextTable, target: str, path: Path) -> tuple[TextTable, list[Any]]:
    """The rows that have a class, and their classes."""
    from neuid3.data.reading.targets import labelled_rows

    if target not in table.columns:
        raise DataError(f"{path} has no column {target!r} with classes.{did_you_mean(target, table.columns)}")
    if tree.predicts_numbers:
        raise DataError("The tree predicts numbers, which labels of concepts cannot contradict; leave --target out.")
    names = {str(label): label for label in tree.classes}
    table, _ = labelled_rows(table, target)
    return table, [names.get(cell, cell) for cell in table.columns[target] or ()]
