"""What does a model look like on a page, with the examples it speaks about?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from neuid3.cli.common import FILE, known_examples, limit_option, open_both
from neuid3.errors import DataError, did_you_mean
from neuid3.utils.files import check_writable
from neuid3.utils.output import remember

if TYPE_CHECKING:
    from neuid3.logic.sandbox import Limits


@click.command()
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option("--target", metavar="COLUMN", help="The column with the true classes, where the table has one.")
@limit_option
@click.option("--out", type=FILE, metavar="FILE", help="The page to write.  [default: the model's name.html]")
def report(model: Path, table: Path, target: str | None, limits: Limits | None, out: Path | None) -> None:
    """Write a page about a model and a table: one HTML file, to be opened in a browser.

    It needs no network. Example: neuid3 report cards.neuid3 cards.csv --target result --out cards.html
    """
    out = out or Path(f"{model.stem}.html")
    check_writable(out, model, table)
    clf, sheet = open_both(model, table, limits)
    if target is not None and target not in sheet.columns:
        raise DataError(f"{table} has no column {target!r} with classes.{did_you_mean(target, sheet.columns)}")
    from neuid3.data.reading.table import with_class
    from neuid3.explain.page.render import page_and_scores, save_page

    labels, gone = None, 0
    if target is not None:
        sheet, gone = with_class(sheet, target)  # the others tell nothing about right and wrong
        classes = {str(label): label for label in clf.classes_.tolist()}
        labels = [classes.get(cell, cell) for cell in sheet.columns[target] or ()]
    page, scores = page_and_scores(clf, known_examples(clf, sheet), labels)
    save_page(out, page)
    remember(f"the page is written to {out}")
    click.echo(f"Written to {out}.")
    for sentence in scores:
        click.echo(sentence)
    if gone:
        click.echo(
            f"Left out, and not counted among the examples: {gone:,} of its rows, without a class in {target!r}."
        )
