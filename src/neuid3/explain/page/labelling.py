"""Label page: one HTML file with suggested images, the values to choose from, and a file of labels to download."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from neuid3.data.columns import Tensor
from neuid3.data.examples import Examples, named_columns
from neuid3.data.parts import has_parts
from neuid3.data.slots import needed_slots, unfolded
from neuid3.errors import DataError, did_you_mean
from neuid3.explain.page.pictures import PageImages, page_images
from neuid3.explain.page.render import content_policy, page_file, save_page, script_json
from neuid3.identifiability.suggestions import TABLE_COLUMNS, LabelSuggestion, LabelSuggestions, probability_text
from neuid3.logic.quoting import entry_text
from neuid3.utils.versions import installed_version

TITLE = "Images to label"

# Images are drawn with the first of these sides, in pixels, that keeps the size of the page.
SIDES = (256, 128, 64, 40, 28)

# The name of the file that the page downloads.
FILE = "labels.csv"


def label_page(suggestions: LabelSuggestions, X: Any, *, title: str = TITLE) -> str:
    """A page with suggested images, on which a person chooses their values and downloads the labels.

    The page is complete in itself and loads nothing from the internet.

    Parameters
    ----------
    suggestions : the images, as `suggest_labels` returns them.
    X : the table that they are suggested for.
    title : the title of the page.

    Returns
    -------
    The HTML text.

    Raises
    ------
    DataError : where the table lacks a column, or has another number of rows.
    """
    columns = list(dict.fromkeys(column for suggestion in suggestions for column in suggestion.columns))
    examples = _columns(X, columns) if columns else None
    if examples is not None and len(examples) != suggestions.rows:
        raise DataError(
            f"The table has {len(examples):,} rows, and the suggestions are for {suggestions.rows:,}; give the same table."
        )
    rows = sorted({suggestion.row for suggestion in suggestions})
    return page_of_rows(suggestions, None if examples is None else examples[np.array(rows)], rows, title)


def write_label_page(path: str | Path, suggestions: LabelSuggestions, X: Any, *, title: str = TITLE) -> Path:
    """Write the page of suggested images to a file, atomically.

    Parameters
    ----------
    path : the file.
    suggestions, X, title : as in `label_page`.

    Returns
    -------
    The path of the file.
    """
    return save_page(path, label_page(suggestions, X, title=title))


def page_of_rows(
    suggestions: LabelSuggestions, examples: Examples | None, rows: Sequence[int], title: str = TITLE
) -> str:
    """The page of suggested images, from the rows that hold them.

    Parameters
    ----------
    suggestions : the images.
    examples : the rows with suggested images, perhaps larger than those that networks read; None where there are none.
    rows : the number of each of these rows in the table.
    title : the title of the page.
    """
    position = {row: i for i, row in enumerate(rows)}
    entries = [(position[s.row], column) for s in suggestions for column in s.columns]
    pictures = PageImages([], {}) if examples is None else page_images(examples, entries, sides=SIDES)
    style, script = page_file("label.css"), page_file("label.js")
    return Template(page_file("label.html")).substitute(
        title=html.escape(title),
        policy=html.escape(content_policy(style, script)),
        style=style,
        script=script,
        text=html.escape(str(suggestions)),
        content=script_json(
            {
                "version": installed_version(),
                "file": FILE,
                "header": TABLE_COLUMNS[:4],
                "notes": suggestions.notes,
                "items": [_item(s, position[s.row], examples, pictures) for s in suggestions],
                "pictures": pictures.pictures,
            }
        ),
    )


def _columns(X: Any, names: Sequence[str]) -> Examples:
    """Some columns of a table, also of the pictures of parts."""
    if isinstance(X, Examples) and has_parts(X.schema):
        X = unfolded(X, needed_slots(X))
    known: Mapping[str, Any] = dict(X.items()) if isinstance(X, Examples) else named_columns(X)
    for name in names:
        if name not in known:
            raise DataError(f"The table has no column {name!r}, which has images to label.{did_you_mean(name, known)}")
    if isinstance(X, Examples):
        return X.select(names)
    kinds = {name: "tensor" for name in names if len(getattr(known[name], "shape", ())) > 1}
    return Examples({name: known[name] for name in names}, kinds=kinds)


def _item(suggestion: LabelSuggestion, i: int, examples: Examples | None, pictures: PageImages) -> dict[str, Any]:
    """A suggestion with the field names that label.js reads."""
    record = suggestion.to_record()
    cells = suggestion.cells or [""] * len(suggestion.columns)
    return {
        "row": suggestion.row,
        "concept": suggestion.concept,
        "predicate": suggestion.predicate,
        "image": record["image"],
        "name": record["concept"],
        "values": suggestion.values,
        "fact": suggestion.values == ("no", "yes"),
        "predicted": suggestion.predicted,
        "probability": probability_text(suggestion.probability),
        "reason": suggestion.reason,
        "inputs": [
            {
                "column": column,
                "file": cell,
                "picture": pictures.index.get((i, column)),
                "text": None if examples is None else _entry(examples, i, column),
            }
            for column, cell in zip(suggestion.columns, cells, strict=True)
        ],
    }


def _entry(examples: Examples, i: int, name: str) -> str | None:
    """An entry that is not drawn, as text; None for images and other tensors."""
    column = examples.column(name)
    return None if isinstance(column.kind, Tensor) else entry_text(float(column.values[i]))
