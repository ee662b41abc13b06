"""How does a table in a file become examples, and what do we tell about it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import (
    NO_REGRESSION,
    Boolean,
    Category,
    Column,
    Distribution,
    Kind,
    Number,
    Probability,
    Schema,
    Tensor,
    all_missing,
    kind_name,
    looks_like_quantity,
)
from neuid3.data.examples import Examples
from neuid3.data.reading.cells import (
    InferredKind,
    as_numbers,
    boolean,
    category,
    infer_kind,
    number,
    present,
    probability,
    told_values,
)
from neuid3.data.reading.pictures import ImageColumn, ImageFormat, common_format, image_column, pictures, wanted_format
from neuid3.data.reading.sheet import Sheet, frame_sheet, open_sheet
from neuid3.errors import DataError, did_you_mean

KINDS = ("boolean", "category", "number", "probability", "image", "ignore")

# Images are shrunk until no side is longer, unless somebody wants them larger: small networks read small images.
LONGEST = 64


@dataclass(frozen=True, slots=True)
class Found:
    """What became of a column of the file, and what was found in it."""

    name: str
    kind: str
    told: str


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """Examples from a file, their classes where a target was named, and what there is to tell about them."""

    examples: Examples
    labels: npt.NDArray[np.str_] | None
    columns: tuple[Found, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        rows = [("column", "read as", "found"), *((c.name, c.kind, c.told) for c in self.columns)]
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        lines = [f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {told}" for name, kind, told in rows]
        return "\n".join([*lines, *self.notes])


def read_table(
    path: Path | str,
    types: Mapping[str, str] | None = None,
    *,
    target: str | None = None,
    image_size: int = LONGEST,
    schema: Schema | None = None,
) -> Read:
    """The examples of a CSV or Parquet file; images are named by their paths from the folder of the table.

    Kinds are inferred from the text; `types` declares others: `{"rank": "category", "p_alarm": "probability",
    "name": "ignore"}`. The column `target` gives the classes and is no column of the examples; rows without a class are
    left out. No side of an image is longer than `image_size`; those of different sizes are resized to one. With `schema`,
    that of a fitted classifier (`clf.schema_`), the columns are read as the classifier knows them, its images in its sizes.
    """
    return read_sheet(open_sheet(path), types, target=target, image_size=image_size, schema=schema)


def read_frame(
    frame: Any,
    types: Mapping[str, str] | None = None,
    *,
    folder: Path | str,
    target: str | None = None,
    image_size: int = LONGEST,
    schema: Schema | None = None,
) -> Read:
    """The examples of a pandas DataFrame, read as `read_table` reads a file of the same cells in `folder`.

    Parameters
    ----------
    frame : a DataFrame, or a mapping of names to columns, of strings, numbers and truth values.
    types, target, image_size, schema : as in `read_table`.
    folder : where the paths of images start; a cell that leads out of it is refused.

    Returns
    -------
    What was read: `.examples`, `.labels` where a target was named, and what became of each column.

    Raises
    ------
    DataError, MissingFileError, DamagedFileError
        Where a cell or an image cannot be read, with its column and row.

    >>> import pandas as pd
    >>> read = read_frame(pd.DataFrame({"ill": ["yes", "no"], "age": [31, 42]}), folder=".")
    >>> read.examples
    Examples(2 rows; ill: boolean, age: number)
    """
    return read_sheet(frame_sheet(frame, folder), types, target=target, image_size=image_size, schema=schema)


def read_sheet(
    sheet: Sheet,
    types: Mapping[str, str] | None = None,
    *,
    target: str | None = None,
    image_size: int = LONGEST,
    schema: Schema | None = None,
) -> Read:
    """The examples of a sheet; see `read_table`."""
    if schema is not None and types:
        raise DataError("`schema` says what every column is; leave `types` out.")
    declared = dict(types or {})
    _check_types(declared, sheet, target)
    labels, notes = None, []
    if target is not None:
        sheet, gone = with_class(sheet, target)
        notes += [f"{gone:,} rows have no class in {target!r} and were left out."] if gone else []
        labels = _labels(sheet, target)
        notes += _quantity(labels, target, sheet.commas)
    if schema is not None:
        known = tuple(Found(name, kind_name(kind), "as the schema has it") for name, kind in schema.items())
        return Read(read_as(sheet, schema, schema), labels, known, tuple(notes))
    found = {name: _found(name, sheet, declared.get(name)) for name in sheet.columns if name != target}
    albums = [image_column(name, sheet) for name, told in found.items() if told.kind == "image"]
    looks = _looks(albums, image_size)
    for told in albums:
        found[told.name] = replace(found[told.name], told=str(looks[told.name]))
        notes += _resized(told, looks[told.name])
    columns = {name: _column(name, told.kind, sheet, looks) for name, told in found.items() if told.kind != "left out"}
    for name, column in columns.items():
        if name not in declared and isinstance(column.kind, Category):
            columns[name] = replace(column, origin="labels")
    for name, column in columns.items():
        gone = 0 if column.missing is None else int(column.missing.sum())
        if gone and not found[name].told.endswith(" missing"):
            found[name] = replace(found[name], told=f"{found[name].told}; {gone:,} missing")
    if not columns:
        if not found:
            raise DataError(f"{sheet.path} has no column besides the classes; add some to learn from.")
        first = next(iter(found.values()))
        raise DataError(
            f"{sheet.path} has no column to learn from: {first.name!r} is left out ({first.told}); declare the kind of one, "
            f"as in types={{{first.name!r}: 'category'}}."
        )
    if labels is not None and target is not None:
        found[target] = Found(target, "class", told_values(set(labels.tolist())))
    return Read(Examples(columns), labels, tuple(found[name] for name in sheet.columns), tuple(notes))


def read_as(sheet: Sheet, schema: Schema, needed: Collection[str], others: bool = False) -> Examples:
    """The examples of a sheet as a model knows them: by its schema, its images in its sizes.

    Columns that are not `needed` are not looked at. With `others` all columns of the schema are read that are there, and
    the rest is missing throughout.
    """
    columns = {}
    for name, kind in schema.items():
        if name not in sheet.columns and name in needed:
            raise DataError(
                f"{sheet.path} has no column {name!r}, which the model needs.{did_you_mean(name, sheet.columns)}"
            )
        if name in needed or (others and name in sheet.columns):
            columns[name] = _column_as(name, kind, sheet)
        elif others:
            columns[name] = all_missing(kind, len(sheet))
    return Examples(columns).conform({name: schema[name] for name in columns})


def _check_types(declared: Mapping[str, str], sheet: Sheet, target: str | None) -> None:
    if target is not None and target not in sheet.columns:
        raise DataError(f"{sheet.path} has no column {target!r} to predict.{did_you_mean(target, sheet.columns)}")
    for name, kind in declared.items():
        if name not in sheet.columns:
            raise DataError(f"{sheet.path} has no column {name!r} to declare.{did_you_mean(name, sheet.columns)}")
        if kind not in KINDS:
            raise DataError(f"Column {name!r} is declared {kind!r}, no kind we know.{did_you_mean(kind, KINDS)}")


# Classes --------------------------------------------------------------------------------------------


def with_class(sheet: Sheet, target: str) -> tuple[Sheet, int]:
    """The rows that have a class, and how many have none."""
    _, gone = present(target, sheet)
    if gone.all():
        raise DataError(f"{sheet.path}: no row has a class in column {target!r}; name another target.")
    if not gone.any():
        return sheet, 0
    return sheet.only(np.flatnonzero(~gone).tolist()), int(gone.sum())


def _labels(sheet: Sheet, target: str) -> npt.NDArray[np.str_]:
    cells, _ = present(target, sheet)
    counts = Counter(cells)
    if len(counts) == 1:
        raise DataError(
            f"{sheet.path}: every row has the class {cells[0]!r} in column {target!r}; there must be two at least."
        )
    numbers = as_numbers(counts, sheet.commas)
    if numbers is not None and bool((numbers != np.round(numbers)).any()):
        raise DataError(f"{sheet.path}: column {target!r} holds quantities such as {cells[0]}. {NO_REGRESSION}")
    if len(counts) > max(2, len(cells) // 2):
        raise DataError(
            f"{sheet.path}: column {target!r} has {len(counts):,} different values in {len(cells):,} rows; "
            f"classes that most rows share are needed.{'' if numbers is None else f' {NO_REGRESSION}'}"
        )
    return np.array(cells)


def _quantity(labels: npt.NDArray[np.str_], target: str, commas: bool) -> list[str]:
    """A sentence about a target of numbers that are hardly classes."""
    different = set(labels.tolist())
    if as_numbers(different, commas) is None or not looks_like_quantity(len(different), len(labels)):
        return []
    return [
        f"{target!r} holds {len(different):,} different numbers in {len(labels):,} rows, each of which is learned as a "
        f"class of its own. {NO_REGRESSION}"
    ]


# Columns --------------------------------------------------------------------------------------------


def _found(name: str, sheet: Sheet, declared: str | None) -> Found:
    guessed = infer_kind(name, sheet) if declared is None else InferredKind(declared, "as declared")
    return Found(name, "left out" if guessed.kind == "ignore" else guessed.kind, guessed.why)


def _column(name: str, kind: str, sheet: Sheet, looks: Mapping[str, ImageFormat]) -> Column:
    match kind:
        case "boolean":
            return boolean(name, sheet)
        case "number":
            return number(name, sheet)
        case "probability":
            return probability(name, sheet)
        case "category":
            return category(name, sheet)
        case _:
            return pictures(name, sheet, looks[name])


def _column_as(name: str, kind: Kind, sheet: Sheet) -> Column:
    match kind:
        case Boolean():
            return boolean(name, sheet)
        case Number():
            return number(name, sheet)
        case Probability():
            return probability(name, sheet)
        case Category(values):
            return category(name, sheet, values)
        case Tensor(shape):
            return pictures(name, sheet, wanted_format(name, shape), shape)
        case Distribution():
            raise DataError(f"The model reads {name!r} as a distribution, which no cell of a table can hold.")


# Images ---------------------------------------------------------------------------------------------


def _looks(albums: Sequence[ImageColumn], longest: int) -> dict[str, ImageFormat]:
    """How the images of each column will look.

    A column whose images look alike keeps that look. Once they do not, all images of the table get one, so that a
    network can read those of any column.
    """
    empty = [told.name for told in albums if not told.looks]
    if empty:
        raise DataError(f"Column {empty[0]!r} is declared an image and every cell of it is empty; leave it out.")
    if all(len(set(told.looks.values())) == 1 for told in albums):
        return {told.name: common_format(told.looks.values(), longest) for told in albums}
    everything = [look for told in albums for look in told.looks.values()]
    return {told.name: common_format(everything, longest) for told in albums}


def _resized(told: ImageColumn, look: ImageFormat) -> list[str]:
    """A sentence about images that will not look as they do in their files."""
    found = sorted({(known.width, known.height) for known in told.looks.values()})
    if found == [(look.width, look.height)]:
        return []
    sizes = ", ".join(f"{width} × {height}" for width, height in found[:3]) + (", …" if len(found) > 3 else "")
    return [f"The images of {told.name!r} ({sizes}) were resized to {look.width} × {look.height}."]
