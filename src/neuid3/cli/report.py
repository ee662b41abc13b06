"""The command `report`: an HTML page about a model and its predictions for a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.cli.common import (
    FILE,
    concepts_option,
    has_many_trees,
    limit_option,
    model_concepts,
    model_examples,
    open_any_inputs,
    parts_options,
)
from neuid3.errors import DataError, did_you_mean
from neuid3.utils.files import check_writable
from neuid3.utils.output import set_outcome

if TYPE_CHECKING:
    from neuid3.logic.sandbox import Limits


@click.command()
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option("--target", metavar="COLUMN", help="The column with the true classes or numbers, if the table has one.")
@concepts_option
@parts_options
@limit_option
@click.option("--out", type=FILE, metavar="FILE", help="File of the page.  [default: the model's name.html]")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object with the scores and the reliability, for programs."
)
def report(
    model: Path,
    table: Path,
    target: str | None,
    concept_file: Path | None,
    parts: tuple[str, ...],
    part_relations: tuple[str, ...],
    limits: Limits | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Write an HTML page about a model and its predictions for a table.

    The page is one file that loads nothing from the internet. Where images of the table are labelled, it also says how
    often the networks are right about them.

    Example: neuid3 report cards.neuid3 cards.csv --target result --out cards.html
    """
    out = out or Path(f"{model.stem}.html")
    check_writable(out, model, table, *(() if concept_file is None else (concept_file,)))
    tree, text_table = open_any_inputs(model, table, limits, (parts, part_relations))
    if target is not None and target not in text_table.columns:
        raise DataError(f"{table} has no column {target!r} with classes.{did_you_mean(target, text_table.columns)}")
    from neuid3.data.reading.targets import labelled_rows, number_labels
    from neuid3.explain.page.render import page_and_scores, save_page

    labels: Any = None
    kind, unlabelled = "class", 0
    if target is not None:
        kind = "number" if tree.predicts_numbers else "class"
        text_table, unlabelled = labelled_rows(text_table, target, kind)  # only these can be scored
        classes = {str(label): label for label in tree.classes}
        cells = text_table.columns[target] or ()
        labels = number_labels(text_table, target) if tree.predicts_numbers else [classes.get(c, c) for c in cells]
    examples = model_examples(tree, text_table)
    concepts = {} if has_many_trees(tree) else model_concepts(tree, text_table, examples, concept_file)
    page, scores, reliability = page_and_scores(tree, examples, labels, concepts=concepts)
    save_page(out, page)
    set_outcome(f"the page is written to {out}")
    if as_json:
        content = {"page": str(out), "scores": list(scores), "reliability": reliability and reliability.to_json()}
        click.echo(json.dumps(content, indent=1, ensure_ascii=False))
        return
    click.echo(f"Written to {out}.")
    for sentence in scores:
        click.echo(sentence)
    if reliability is not None:
        click.echo(f"Calibration: {reliability}.")
    if unlabelled:
        click.echo(f"Rows without a {kind} in {target!r}, left out of the page: {unlabelled:,}.")
