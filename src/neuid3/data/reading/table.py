"""Examples from table files and DataFrames, with a summary of their columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from neuid3.data.columns import (
    Boolean,
    Category,
    Column,
    Date,
    Distribution,
    Kind,
    Number,
    Probability,
    Schema,
    Series,
    Tensor,
    Text,
    all_missing,
    kind_name,
)
from neuid3.data.derived import source_columns, table_columns
from neuid3.data.examples import Examples
from neuid3.data.parts import Parts, Relation, part_schemas
from neuid3.data.reading.cells import (
    InferredKind,
    boolean_column,
    category_column,
    date_column,
    infer_kind,
    note_column,
    number_column,
    probability_column,
    series_cells,
    summarize_values,
)
from neuid3.data.reading.concepts import table_concepts
from neuid3.data.reading.part_files import attached_kinds, joined_examples, key_columns
from neuid3.data.reading.pictures import (
    MAX_IMAGE_SIDE,
    ImageColumn,
    ImageFormat,
    common_format,
    format_of_shape,
    image_column,
    scan_image_column,
)
from neuid3.data.reading.sheet import TextTable, open_text_table, text_table_from_frame
from neuid3.data.reading.targets import (
    Labels,
    Task,
    class_labels,
    labelled_rows,
    number_labels,
    target_notes,
    task_of,
)
from neuid3.errors import DataError, did_you_mean

KINDS = ("boolean", "category", "number", "date", "text", "series", "probability", "image", "ignore")


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """How a column of a file was read.

    Attributes
    ----------
    name : the column.
    kind : the kind that it was read as, `class` or `target` for the target, `left out` for a column that is ignored.
    details : its values, range or format, and its number of missing cells.
    """

    name: str
    kind: str
    details: str


@dataclass(frozen=True, slots=True, eq=False)
class TableData:
    """The content of a table; `str()` gives a summary of its columns.

    Attributes
    ----------
    examples : the examples, without the target.
    labels : the class or the number of each example; None without a target.
    columns : how each column was read.
    notes : sentences about rows left out, resized images and targets that look numeric.
    concepts : labels of concepts by network call, as `fit` takes them, None where there is none.
    lines : the line of the file in which each example begins; None for tables without lines.
    task : "classification" or "regression"; None without a target.
    """

    examples: Examples
    labels: Labels | None
    columns: tuple[ColumnSummary, ...]
    notes: tuple[str, ...]
    concepts: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    lines: Sequence[int] | None = None
    task: Task | None = None

    def __str__(self) -> str:
        rows = [("column", "read as", "found"), *((c.name, c.kind, c.details) for c in self.columns)]
        widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
        lines = [f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {details}" for name, kind, details in rows]
        return "\n".join([*lines, *self.notes])


def read_table(
    path: Path | str,
    types: Mapping[str, str] | None = None,
    *,
    target: str | None = None,
    task: str = "classification",
    image_size: int = MAX_IMAGE_SIDE,
    schema: Schema | None = None,
    concept_columns: Collection[str] = (),
    concept_file: Path | str | None = None,
) -> TableData:
    """The examples of a CSV or Parquet file; cells may be paths of images, relative to the folder of the table.

    Parameters
    ----------
    path : the file.
    types : the kinds of columns whose kind should not be inferred from their text: `{"rank": "category",
        "p_alarm": "probability", "name": "ignore"}`.
    target : the column with the classes or numbers to predict, which is not among the columns of the examples; rows without
        one are left out.
    task : "classification" to read classes, "regression" to read numbers, or "auto": numbers where every cell is one, and
        some are not whole or more than 20 are different.
    image_size : the largest height and width of images, in pixels; images of different sizes are resized to one size.
    schema : the schema of a fitted classifier (`clf.schema_`), by which columns are read instead, images in its sizes.
    concept_columns : columns with labels for images, such as `rank(first)`, which become `.concepts`.
    concept_file : a table of further labels, with columns image (a path as in the table), concept and value.

    Returns
    -------
    The table: `.examples`, `.labels` where a target is given, `.columns` and `.notes`.

    Raises
    ------
    DataError, MissingFileError, DamagedFileError
        Where a cell or an image cannot be read, with its column and row.
    """
    return read_text_table(
        open_text_table(path),
        types,
        target=target,
        task=task,
        image_size=image_size,
        schema=schema,
        concept_columns=concept_columns,
        concept_file=concept_file,
    )


def read_frame(
    frame: Any,
    types: Mapping[str, str] | None = None,
    *,
    folder: Path | str,
    target: str | None = None,
    task: str = "classification",
    image_size: int = MAX_IMAGE_SIDE,
    schema: Schema | None = None,
    concept_columns: Collection[str] = (),
    concept_file: Path | str | None = None,
) -> TableData:
    """The examples of a pandas DataFrame, read as `read_table` reads a file of the same cells in `folder`.

    Parameters
    ----------
    frame : a DataFrame, or a mapping of names to columns, of strings, numbers and Booleans.
    types, target, task, image_size, schema, concept_columns, concept_file : as in `read_table`.
    folder : the folder that image paths are relative to; a path that leads out of it is refused.

    Returns
    -------
    The table: `.examples`, `.labels` where a target is given, `.columns` and `.notes`.

    Raises
    ------
    DataError, MissingFileError, DamagedFileError
        Where a cell or an image cannot be read, with its column and row.

    >>> import pandas as pd
    >>> read = read_frame(pd.DataFrame({"ill": ["yes", "no"], "age": [31, 42]}), folder=".")
    >>> read.examples
    Examples(2 rows; ill: boolean, age: number)
    """
    return read_text_table(
        text_table_from_frame(frame, folder),
        types,
        target=target,
        task=task,
        image_size=image_size,
        schema=schema,
        concept_columns=concept_columns,
        concept_file=concept_file,
    )


def read_text_table(
    table: TextTable,
    types: Mapping[str, str] | None = None,
    *,
    target: str | None = None,
    task: str = "classification",
    image_size: int = MAX_IMAGE_SIDE,
    schema: Schema | None = None,
    concept_columns: Collection[str] = (),
    concept_file: Path | str | None = None,
) -> TableData:
    """The examples of a table of text cells; see `read_table`.

    Parameters
    ----------
    table : the cells.
    types, target, task, image_size, schema, concept_columns, concept_file : as in `read_table`.

    Returns
    -------
    The table: `.examples`, `.labels` where a target is given, `.columns` and `.notes`.

    Raises
    ------
    DataError
        Where `types` and `schema` are both given, a declaration is wrong, or no column is left to learn from.
    """
    if schema is not None and types:
        raise DataError("`schema` declares the kind of every column; leave `types` out.")
    of_attached = {name: kind for name, kind in (types or {}).items() if _is_of_attached(name, table)}
    declared = {name: kind for name, kind in (types or {}).items() if name not in of_attached}
    _check_types(declared, table, target)
    labels: Labels | None = None
    notes: list[str] = []
    found: Task | None = None
    if target is not None:
        found = task_of(table, target, task)
        kind = "number" if found == "regression" else "class"
        table, unlabelled = labelled_rows(table, target, kind)
        notes += [f"{unlabelled:,} rows have no {kind} in {target!r} and were left out."] if unlabelled else []
        labels = number_labels(table, target) if found == "regression" else class_labels(table, target)
        notes += target_notes(labels, target, table, found, inferred=task == "auto")
    if schema is not None:
        by_schema = tuple(ColumnSummary(name, kind_name(kind), "as in the schema") for name, kind in schema.items())
        images = [name for name, kind in schema.items() if isinstance(kind, Tensor)]
        concepts = table_concepts(table, concept_columns, concept_file, images)
        examples = read_with_schema(table, schema, list(schema))
        return TableData(examples, labels, by_schema, tuple(notes), concepts, table.lines, found)
    keys = key_columns(table)
    summaries = {
        name: _summarize_column(name, table, declared.get(name))
        for name in table.columns
        if name != target and name not in concept_columns and name not in keys
    }
    image_columns = [scan_image_column(name, table) for name, summary in summaries.items() if summary.kind == "image"]
    formats = _image_formats(image_columns, image_size)
    for image_files in image_columns:
        name = image_files.name
        summaries[name] = replace(summaries[name], details=str(formats[name]))
        notes += _resize_note(image_files, formats[name])
    columns = {
        name: _column(name, summary.kind, table, formats)
        for name, summary in summaries.items()
        if summary.kind != "left out"
    }
    for name, column in columns.items():
        if name not in declared and isinstance(column.kind, Category):
            columns[name] = replace(column, origin="labels")
    for name, column in columns.items():
        missing = 0 if column.missing is None else int(column.missing.sum())
        if missing and not summaries[name].details.endswith(" missing"):
            summaries[name] = replace(summaries[name], details=f"{summaries[name].details}; {missing:,} missing")
    if not columns and table.attached is None:
        if not summaries:
            raise DataError(f"{table.path} has no column besides the classes; add columns to learn from.")
        first = next(iter(summaries.values()))
        raise DataError(
            f"{table.path} has no column to learn from: {first.name!r} is left out ({first.details}); declare the kind of one, "
            f"as in types={{{first.name!r}: 'category'}}."
        )
    if labels is not None and target is not None:
        summaries[target] = _target_summary(target, labels)
    concepts = table_concepts(table, concept_columns, concept_file, [image_files.name for image_files in image_columns])
    summaries |= {name: _concept_summary(name, concepts[name]) for name in concept_columns}
    summaries |= {name: ColumnSummary(name, "key", "names the owners of parts") for name in keys}
    columns_read = [summaries[name] for name in table.columns]

    def read_part(name: str, of_parts: TextTable) -> Mapping[str, Column]:
        """The columns of a table of parts or tuples, whose summaries are added to those of the examples."""
        part_data = read_text_table(of_parts, _declared_of(name, of_attached), image_size=image_size)
        columns_read.extend(replace(summary, name=f"{name}.{summary.name}") for summary in part_data.columns)
        notes.extend(part_data.notes)
        return dict(part_data.examples.items())

    examples = joined_examples(columns, table, read_part)
    return TableData(examples, labels, tuple(columns_read), tuple(notes), concepts, table.lines, found)


def _is_of_attached(name: str, table: TextTable) -> bool:
    """Whether a declaration such as `car.wheels` is about a column of parts or tuples."""
    attached, owner = table.attached, name.partition(".")[0]
    return attached is not None and "." in name and (owner in attached.parts or owner in attached.relations)


def _target_summary(name: str, labels: Labels) -> ColumnSummary:
    if labels.dtype.kind == "f":
        return ColumnSummary(name, "target", f"numbers from {labels.min():g} to {labels.max():g}")
    return ColumnSummary(name, "class", summarize_values(set(labels.tolist())))


def _concept_summary(name: str, labels: Sequence[str | None]) -> ColumnSummary:
    present = [label for label in labels if label is not None]
    found = f"{len(present):,} of {len(labels):,} rows; {summarize_values(set(present))}" if present else "no labels"
    return ColumnSummary(name, "labels", found)


def text_schema(table: TextTable, types: Mapping[str, str] | None = None) -> dict[str, Kind]:
    """The kinds of the columns of a table, inferred from its text without opening an image; their shapes are unknown.

    Parameters
    ----------
    table : the cells.
    types : as in `read_table`.

    Returns
    -------
    The kinds by name, those of parts and relations among them; a tensor of shape `()` for images. Columns that would be left out are not among them.

    >>> text_schema(TextTable(Path("cards.csv"), {"suit": ["clubs"], "torn": ["yes"], "card": ["1.png"]}, [2], False))
    {'suit': Category(values=('clubs',)), 'torn': Boolean(), 'card': Tensor(shape=())}
    """
    plain: dict[str, Kind] = {
        "boolean": Boolean(),
        "number": Number(),
        "probability": Probability(),
        "date": Date(),
        "text": Text(),
        "series": Series((1, 1)),
        "image": Tensor(()),
    }
    schema: dict[str, Kind] = {}
    for name in table.columns:
        kind = _summarize_column(name, table, (types or {}).get(name)).kind
        if kind == "category":
            schema[name] = category_column(name, table).kind
        elif kind in plain:
            schema[name] = plain[kind]
    return schema | attached_kinds(table, lambda name, of: text_schema(of, _declared_of(name, types or {})))


def _declared_of(name: str, types: Mapping[str, str]) -> dict[str, str]:
    """The declared kinds of the columns of a type of part or a relation: those of `car.wheels` for car."""
    return {key.partition(".")[2]: kind for key, kind in types.items() if key.partition(".")[0] == name}


def read_with_schema(table: TextTable, schema: Schema, needed: Collection[str], others: bool = False) -> Examples:
    """The examples of a table, read by the schema of a model.

    Parameters
    ----------
    table : the cells.
    schema : the kinds of the columns, with the shapes of images.
    needed : the columns of the schema that are read; one that the table lacks is an error.
    others : whether the other columns of the schema are read as well; those that the table lacks are missing in every row.

    Returns
    -------
    The examples, in the kinds of the schema.

    Raises
    ------
    DataError
        Where a needed column is missing, or a cell cannot be read.
    """
    columns: dict[str, Column] = {}
    attached = {name: kind for name, kind in schema.items() if isinstance(kind, (Parts, Relation))}
    _check_attached(table, attached)
    sources = set(source_columns(needed, schema))
    of_table = table_columns(schema)
    for name, kind in of_table.items():
        if name in attached:
            continue
        if name not in table.columns and name in sources:
            raise DataError(
                f"{table.path} has no column {name!r}, which the model needs.{did_you_mean(name, table.columns)}"
            )
        if not len(table):
            columns[name] = all_missing(kind, 0)
        elif name in sources or (others and name in table.columns):
            columns[name] = _column_as(name, kind, table)
        elif others:
            columns[name] = all_missing(kind, len(table))
    wanted = [name for name in schema if name in columns or (name in needed and name not in of_table)]
    if not attached:
        examples = Examples(columns) if len(table) else Examples._of(columns, 0)
        return examples.conform({name: schema[name] for name in wanted})

    def read_part(name: str, of_parts: TextTable) -> Mapping[str, Column]:
        """The columns of a table of parts or tuples, by the schema."""
        kinds = {column: kind for column, kind in columns_of_attached[name].items() if not isinstance(kind, Parts)}
        return dict(read_with_schema(of_parts, kinds, list(kinds)).items()) if kinds else {}

    columns_of_attached = {name: kind.schema for name, _, kind in part_schemas(schema)}
    columns_of_attached |= {name: kind.schema for name, kind in attached.items() if isinstance(kind, Relation)}
    return joined_examples(columns, table, read_part).conform({name: schema[name] for name in (*wanted, *attached)})


def _check_attached(table: TextTable, needed: Mapping[str, Kind]) -> None:
    """Raise an error for the first type of part or relation whose file was not given."""
    given = {} if table.attached is None else {**table.attached.parts, **table.attached.relations}
    for name, kind in needed.items():
        if name not in given:
            option = f"--relation {name}=FILE" if isinstance(kind, Relation) else f"--parts {name}=FILE:COLUMN"
            raise DataError(
                f"The model reads the {kind_name(kind)} {name!r} of examples; give their table with {option}."
            )


def _check_types(declared: Mapping[str, str], table: TextTable, target: str | None) -> None:
    if target is not None and target not in table.columns:
        raise DataError(f"{table.path} has no column {target!r} to predict.{did_you_mean(target, table.columns)}")
    for name, kind in declared.items():
        if name not in table.columns:
            raise DataError(f"{table.path} has no column {name!r} to declare.{did_you_mean(name, table.columns)}")
        if kind not in KINDS:
            raise DataError(f"Column {name!r} is declared {kind!r}, an unknown kind.{did_you_mean(kind, KINDS)}")


# Columns --------------------------------------------------------------------------------------------


def _summarize_column(name: str, table: TextTable, declared: str | None) -> ColumnSummary:
    inferred = infer_kind(name, table) if declared is None else InferredKind(declared, "as declared")
    return ColumnSummary(name, "left out" if inferred.kind == "ignore" else inferred.kind, inferred.reason)


def _column(name: str, kind: str, table: TextTable, formats: Mapping[str, ImageFormat]) -> Column:
    match kind:
        case "boolean":
            return boolean_column(name, table)
        case "number":
            return number_column(name, table)
        case "probability":
            return probability_column(name, table)
        case "category":
            return category_column(name, table)
        case "date":
            return date_column(name, table)
        case "text":
            return note_column(name, table)
        case "series":
            return series_cells(name, table)
        case _:
            return image_column(name, table, formats[name])


def _column_as(name: str, kind: Kind, table: TextTable) -> Column:
    match kind:
        case Boolean():
            return boolean_column(name, table)
        case Date(day_first):
            return date_column(name, table, day_first)
        case Number():
            return number_column(name, table)
        case Text():
            return note_column(name, table)
        case Series():
            return series_cells(name, table, kind)
        case Probability():
            return probability_column(name, table)
        case Category(values):
            return category_column(name, table, values)
        case Tensor(shape):
            return image_column(name, table, format_of_shape(name, shape), shape)
        case Distribution():
            raise DataError(f"The model reads {name!r} as a distribution, which a cell of a table cannot hold.")
        case Parts() | Relation():
            raise AssertionError(f"{name!r} has a table of its own")


# Images ---------------------------------------------------------------------------------------------


def _image_formats(columns: Sequence[ImageColumn], longest: int) -> dict[str, ImageFormat]:
    """The format of each image column.

    A table in which the images of each column agree keeps these formats. Otherwise all images of the table get one format,
    so that a network can read those of any column.
    """
    empty = [column.name for column in columns if not column.formats]
    if empty:
        raise DataError(f"Column {empty[0]!r} is declared an image and every cell of it is empty; leave it out.")
    if all(len(set(column.formats.values())) == 1 for column in columns):
        return {column.name: common_format(column.formats.values(), longest) for column in columns}
    all_formats = [image_format for column in columns for image_format in column.formats.values()]
    return {column.name: common_format(all_formats, longest) for column in columns}


def _resize_note(column: ImageColumn, image_format: ImageFormat) -> list[str]:
    """A sentence about the images of a column that are resized; empty where none are."""
    original = sorted({(known.width, known.height) for known in column.formats.values()})
    if original == [(image_format.width, image_format.height)]:
        return []
    sizes = ", ".join(f"{width} × {height}" for width, height in original[:3]) + (", …" if len(original) > 3 else "")
    return [f"The images of {column.name!r} ({sizes}) were resized to {image_format.width} × {image_format.height}."]
