"""The command `label`: images of a table whose labels settle most, as a table to fill in and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from neuid3.cli.common import (
    FILE,
    concepts_option,
    limit_option,
    model_concepts,
    model_examples,
    open_inputs,
    time_limit_option,
)
from neuid3.data.parts import has_parts
from neuid3.errors import DataError, ModelFileError
from neuid3.utils.files import check_writable
from neuid3.utils.output import set_outcome

if TYPE_CHECKING:
    from neuid3.data.reading import TextTable
    from neuid3.estimators.model import NeurosymbolicTree
    from neuid3.identifiability import LabelSuggestions
    from neuid3.logic.sandbox import Limits

# The longest side of the images on a page, in pixels; people see more in an image than small networks need.
PAGE_IMAGE_SIDE = 256


@click.command()
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option("-n", type=click.IntRange(1), default=5, show_default=True, metavar="N", help="The most images.")
@click.option("--out", type=FILE, metavar="FILE", help="Write a CSV table to fill in.")
@click.option("--page", type=FILE, metavar="FILE", help="Write an HTML page with the images and values to click.")
@time_limit_option("Time for the search of a smallest set of labels.")
@concepts_option
@limit_option
def label(
    model: Path,
    table: Path,
    n: int,
    out: Path | None,
    page: Path | None,
    concept_file: Path | None,
    time_limit: float,
    limits: Limits | None,
) -> None:
    """Suggest images of a table to label, as a table to fill in and as a page.

    First come images whose labels leave one reading of the networks' values (see neuid3 audit), then one of every other
    value, and then images of which networks are unsure and on which the class depends. A column of the table that is
    headed by a network call, as in rank(first), has labels that are known already, and so has the file of --concepts. The
    page is one file that loads nothing from the internet; it downloads the labels as a file.

    Example: neuid3 label cards.neuid3 cards.csv --page labels.html
    """
    if out is not None and page is not None and out.absolute() == page.absolute():
        raise DataError(f"--out and --page both name {out}; give two files.")
    for file in (out, page):
        if file is not None:
            check_writable(file, model, table, *(() if concept_file is None else (concept_file,)))
    tree, text_table = open_inputs(model, table, limits)
    if has_parts(tree.schema):
        raise ModelFileError(
            f"{model} holds a tree over parts, whose pictures this command does not list; `suggest_labels` does in Python, and "
            "columns such as 'rank(card_2)' of the table hold their labels."
        )
    examples = model_examples(tree, text_table)
    concepts = model_concepts(tree, text_table, examples, concept_file)
    suggestions = tree.suggest_labels(examples, n, concepts=concepts, time_limit=time_limit)
    suggestions = suggestions.with_cells(text_table.columns)
    written = []
    if out is not None and len(suggestions):
        suggestions.to_csv(out)
        written.append(out)
    if page is not None and len(suggestions):
        _write_page(page, suggestions, tree, text_table)
        written.append(page)
    if written:
        set_outcome(f"the images to label are in {' and '.join(map(str, written))}")
    click.echo(str(suggestions))
    for file in written:
        click.echo(f"Written to {file}.")


def _write_page(path: Path, suggestions: LabelSuggestions, tree: NeurosymbolicTree, table: TextTable) -> None:
    """Write the page, with larger images than networks read where the files have them."""
    from neuid3.data.columns import Tensor
    from neuid3.data.reading import read_text_table
    from neuid3.explain.page.labelling import page_of_rows
    from neuid3.explain.page.render import save_page

    rows = sorted({suggestion.row for suggestion in suggestions})
    columns = {column for suggestion in suggestions for column in suggestion.columns}
    types = {
        name: "ignore" if name not in columns else "image" if isinstance(tree.schema[name], Tensor) else "number"
        for name in table.columns
    }
    shown = read_text_table(table.take(rows), types, image_size=PAGE_IMAGE_SIDE).examples
    save_page(path, page_of_rows(suggestions, shown, rows))
