"""Labels of concepts in the columns of a table, and in files of image, concept and value."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from posixpath import normpath

import numpy as np

from neuid3.data.reading.cells import cells_and_missing
from neuid3.data.reading.sheet import TextTable, open_text_table
from neuid3.errors import DataError, did_you_mean

FILE_COLUMNS = ("image", "concept", "value")

# What separates the images of a network of several inputs.
SEPARATOR = " | "

# A network call with its columns, as in `same(first, second)`.
_CALL = re.compile(r"[^(]+\((.*)\)", re.DOTALL)
_ARGUMENT = re.compile(r"\s*('(?:[^'\\]|\\.)*'|[^,']+?)\s*(?:,|$)")


def table_concepts(
    table: TextTable, names: Collection[str], file: Path | str | None, image_columns: Sequence[str]
) -> dict[str, list[str | None]]:
    """The labels of a table, in columns such as `rank(first)` and in a file of labels.

    Parameters
    ----------
    table : the cells.
    names : the columns with labels.
    file : a table with the columns image, concept and value; None where there is none.
    image_columns : the columns of the table that hold images.

    Returns
    -------
    By network call one entry for each row; None where there is no label.

    Raises
    ------
    DataError : where the file has other columns, or labels differ.
    """
    for name in names:
        if name not in table.columns:
            raise DataError(f"{table.path} has no column {name!r} with labels.{did_you_mean(name, table.columns)}")
    of_table = {name: concept_cells(name, table) for name in names}
    if file is None:
        return of_table
    return merged_concepts(of_table, concepts_of_file(open_text_table(file), table, image_columns))


def concept_cells(name: str, table: TextTable) -> list[str | None]:
    """The labels in a column of a table, None where a cell is empty."""
    cells, missing = cells_and_missing(name, table)
    return [None if empty else cell for cell, empty in zip(cells, missing, strict=True)]


def concepts_of_file(labels: TextTable, table: TextTable, image_columns: Sequence[str]) -> dict[str, list[str | None]]:
    """The labels of a file, for every cell of a table that holds a labelled image.

    Parameters
    ----------
    labels : a table with the columns image, concept and value. An image is the path that the other table has. A concept
        is a neural predicate, or a network call with its columns, `same(first, second)`; the images of several columns
        are separated by ` | `. A line without a value is no label.
    table : the table with the images.
    image_columns : the columns of the table that hold images.

    Returns
    -------
    By network call, as in `rank(first)`, one entry for each row of the table; None where there is no label.

    Raises
    ------
    DataError
        Where a column is missing, no value is filled in, an image is in no row of the table, or two labels of an image
        differ.
    """
    for name in FILE_COLUMNS:
        if name not in labels.columns:
            raise DataError(
                f"{labels.path} has no column {name!r}; labels are in columns named image, concept and value."
                f"{did_you_mean(name, labels.columns)}"
            )
    cells_by_image = _cells_by_image(table, image_columns)
    columns = {name: cells_and_missing(name, labels) for name in FILE_COLUMNS}
    filled = np.flatnonzero(~columns["value"][1]).tolist()
    if not filled:
        raise DataError(f"{labels.path}: the column 'value' is empty; fill in what the images show.")
    first: dict[tuple[str, str], tuple[str, int]] = {}
    concepts: dict[str, list[str | None]] = {}
    for row in filled:
        for name, (_, missing) in columns.items():
            if missing[row]:
                raise DataError(f"{labels.location(row)}: column {name!r} is empty; fill it in, or leave out the line.")
        image, concept, value = (cells[row] for cells, _ in columns.values())
        known, known_row = first.setdefault((_normal(image), concept), (value, row))
        if known != value:
            raise DataError(
                f"{labels.location(row)}: the image {image!r} has the {concept} {value!r}, and in {labels.location(known_row)} "
                f"it has {known!r}; correct one of them, or leave both out."
            )
        inputs = _call_columns(concept)
        if inputs is not None:
            places = [(concept, i) for i in _rows_with(image, inputs, table, labels.location(row))]
        else:
            places = [(f"{concept}({column})", i) for column, i in cells_by_image.get(_normal(image), ())]
        if not places:
            raise DataError(
                f"{labels.location(row)}: the image {image!r} is in no row of {table.path.name}; write its path as the table "
                f"does.{did_you_mean(_normal(image), cells_by_image)}"
            )
        for call, i in places:
            concepts.setdefault(call, [None] * len(table))[i] = value
    return concepts


def _normal(path: str) -> str:
    return normpath(path.replace("\\", "/"))


def _call_columns(concept: str) -> list[str] | None:
    """The columns of a network call; None for a name alone.

    >>> _call_columns("same(first, 'my card')"), _call_columns("rank")
    (['first', 'my card'], None)
    """
    call = _CALL.fullmatch(concept)
    return None if call is None else [argument.strip("'") for argument in _ARGUMENT.findall(call[1])]


def _rows_with(image: str, columns: Sequence[str], table: TextTable, location: str) -> list[int]:
    """The rows of a table whose cells in these columns are the given ones."""
    parts = [_normal(part) for part in image.split(SEPARATOR)]
    if len(parts) != len(columns):
        raise DataError(
            f"{location}: {image!r} names {len(parts)} images, and the concept {len(columns)} columns; separate images by "
            f"{SEPARATOR!r}."
        )
    for name in columns:
        if table.columns.get(name) is None:
            raise DataError(f"{location}: {table.path.name} has no column {name!r}.{did_you_mean(name, table.columns)}")
    cells = zip(*(table.columns[name] or () for name in columns), strict=True)
    return [row for row, entries in enumerate(cells) if [_normal(entry) for entry in entries] == parts]


def _cells_by_image(table: TextTable, image_columns: Iterable[str]) -> dict[str, list[tuple[str, int]]]:
    """Columns and rows in which each image occurs, by its path."""
    places: dict[str, list[tuple[str, int]]] = {}
    for column in image_columns:
        cells, missing = cells_and_missing(column, table)
        for row in np.flatnonzero(~missing).tolist():
            places.setdefault(_normal(cells[row]), []).append((column, row))
    return places


def merged_concepts(*given: dict[str, list[str | None]]) -> dict[str, list[str | None]]:
    """Labels of several sources; where two have one for the same cell, they must agree.

    >>> merged_concepts({"rank(first)": ["5", None]}, {"rank(first)": ["5", "7"]})
    {'rank(first)': ['5', '7']}
    """
    merged: dict[str, list[str | None]] = {}
    for concepts in given:
        for name, labels in concepts.items():
            known = merged.setdefault(name, [None] * len(labels))
            for row, label in enumerate(labels):
                if label is not None and known[row] not in (None, label):
                    raise DataError(
                        f"{name!r} has two labels in row {row} (counted from 0), {known[row]!r} in the table and {label!r} in "
                        "the file of labels; leave one of them out."
                    )
                known[row] = known[row] if label is None else label
    return merged
