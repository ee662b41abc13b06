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

# What separates the cells of several columns.
SEPARATOR = " | "


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
    labels : a table with the columns image, concept and value. An image is the path that the other table has, for a concept
        such as `rank`; for one that names its columns, as in `same(first, second)`, it is their cells, separated by " | ".
        A line without a value is no label.
    table : the table with the images.
    image_columns : the columns of the table that hold images.

    Returns
    -------
    By network call, as in `rank(first)`, one entry for each row of the table; None where there is no label.

    Raises
    ------
    DataError
        Where a column is missing, a cell is empty, an image is in no row of the table, or two labels of an image differ.
    """
    for name in FILE_COLUMNS:
        if name not in labels.columns:
            raise DataError(
                f"{labels.path} has no column {name!r}; labels are in columns named image, concept and value."
                f"{did_you_mean(name, labels.columns)}"
            )
    columns = [cells_and_missing(name, labels) for name in FILE_COLUMNS]
    index = _CellIndex(table, image_columns)
    first: dict[tuple[str, str], tuple[str, int]] = {}
    concepts: dict[str, list[str | None]] = {}
    for row in range(len(labels)):
        if columns[2][1][row]:
            continue
        for name, (_, missing) in zip(FILE_COLUMNS, columns, strict=True):
            if missing[row]:
                raise DataError(f"{labels.location(row)}: column {name!r} is empty; fill it in, or leave out the line.")
        image, concept, value = (cells[row] for cells, _ in columns)
        known, known_row = first.setdefault((_path(image), concept), (value, row))
        if known != value:
            raise DataError(
                f"{labels.location(row)}: the image {image!r} has the {concept} {value!r}, and in {labels.location(known_row)} "
                f"it has {known!r}; correct one of them, or leave both out."
            )
        for call, cell_row in index.places(image, concept, labels.location(row)):
            concepts.setdefault(call, [None] * len(table))[cell_row] = value
    return concepts


# A concept that names its columns: a predicate, and names in parentheses, perhaps in quotes.
_CALL = re.compile(r"\s*([^\s(]+)\s*\((.+)\)\s*", re.DOTALL)
_ARGUMENT = re.compile(r"\s*(?:'((?:[^'\\]|\\.)*)'|([^,']+?))\s*(?:,|$)")


class _CellIndex:
    """The places of a table that hold labelled images.

    Parameters
    ----------
    table : the table.
    image_columns : the columns that hold images.
    """

    def __init__(self, table: TextTable, image_columns: Sequence[str]) -> None:
        self.table, self.image_columns = table, image_columns
        self._rows: dict[tuple[str, ...], dict[tuple[str, ...], list[int]]] = {}

    def places(self, image: str, concept: str, location: str) -> list[tuple[str, int]]:
        """The network calls and rows that a label is for.

        Parameters
        ----------
        image : the path of an image, or the cells of several columns.
        concept : a predicate, or a predicate with its columns.
        location : what messages call the line of the label.
        """
        call = _CALL.fullmatch(concept)
        cells: tuple[str, ...] = (image,)
        inputs: list[tuple[str, ...]] = [(column,) for column in self.image_columns]
        if call is None:
            predicate = concept
        else:
            columns = tuple(
                re.sub(r"\\(.)", r"\1", quoted) if quoted else bare for quoted, bare in _ARGUMENT.findall(call[2])
            )
            self._check(columns, concept, location)
            cells, inputs, predicate = tuple(image.split(SEPARATOR)), [columns], call[1]
            if len(cells) != len(columns):
                raise DataError(
                    f"{location}: {concept!r} reads {len(columns)} columns, and {image!r} are {len(cells)} cells; write the "
                    f"cells of one row, separated by {SEPARATOR!r}."
                )
        key = tuple(map(_path, cells))
        places = [
            (f"{predicate}({', '.join(map(_argument, columns))})", row)
            for columns in inputs
            for row in self._of(columns).get(key, ())
        ]
        if not places:
            known = [known[0] for columns in inputs if len(columns) == 1 for known in self._of(columns)]
            raise DataError(
                f"{location}: the image {image!r} is in no row of {self.table.path.name}; write its path as the table does."
                f"{did_you_mean(key[0], known)}"
            )
        return places

    def _check(self, columns: Iterable[str], concept: str, location: str) -> None:
        for column in columns:
            if column not in self.table.columns:
                raise DataError(
                    f"{location}: {concept!r} names the column {column!r}, which {self.table.path.name} does not have."
                    f"{did_you_mean(column, self.table.columns)}"
                )

    def _of(self, columns: tuple[str, ...]) -> dict[tuple[str, ...], list[int]]:
        """The rows of all cells of some columns."""
        if columns not in self._rows:
            rows: dict[tuple[str, ...], list[int]] = {}
            entries = [cells_and_missing(column, self.table) for column in columns]
            for row in np.flatnonzero(~np.any([missing for _, missing in entries], axis=0)).tolist():
                rows.setdefault(tuple(_path(cells[row]) for cells, _ in entries), []).append(row)
            self._rows[columns] = rows
        return self._rows[columns]


def _path(cell: str) -> str:
    """A cell in a form that is the same for all ways to write a path."""
    return normpath(cell.strip().replace("\\", "/"))


def _argument(column: str) -> str:
    """The name of a column as an argument, in quotes where it needs them."""
    if not set(",'()") & set(column):
        return column
    return "'" + column.replace("\\", "\\\\").replace("'", "\\'") + "'"


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
