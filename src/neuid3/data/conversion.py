"""Columns converted to other kinds, where that loses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn, cast

import numpy as np

from neuid3.data.dates import parse_dates
from neuid3.data.kinds import (
    OTHER,
    Array,
    Boolean,
    Category,
    Column,
    Date,
    Distribution,
    Kind,
    Number,
    Probability,
    Series,
    Tensor,
    Text,
    Value,
    kind_name,
)
from neuid3.data.parts import GroupedRows, Parts, RelatedRows, Relation
from neuid3.data.series import SeriesStore, with_steps
from neuid3.data.stores import StoredRows
from neuid3.data.texts import text_column
from neuid3.errors import DataError


def refuse(name: str, reason: str) -> NoReturn:
    """Raise an error about a column."""
    raise DataError(f"Column {name!r} {reason}") from None


def convert(name: str, column: Column, kind: Kind, unseen: dict[str, list[Value]]) -> Column:
    """The column converted to another kind, where that loses nothing.

    Parameters
    ----------
    name : the name of the column, for error messages.
    column : the column.
    kind : the kind to convert to.
    unseen : receives, by column, the values that the kind does not name and that become `other`.
    """
    if column.kind == kind:
        return column
    missing = column.missing
    if not len(column) and not isinstance(kind, (Parts, Relation)):
        return all_missing(kind, 0)
    if missing is not None and bool(missing.all()) and not isinstance(column.kind, Tensor):
        return all_missing(kind, len(column))
    match column.kind, kind:
        case (Category(values), Date(day_first)):  # texts that do not say which number is the day
            return _as_dates(name, column, [str(value) for value in values], day_first)
        case (Date(), _) | (_, Date()):
            refuse(name, f"is a {kind_name(column.kind)}; a {kind_name(kind)} is needed.")
        case (Category(values), Text()):
            return text_column([str(values[code]) for code in column.values.tolist()], missing)
        case (Series((channels, _)), Series((expected_channels, _))) if channels == expected_channels:
            return with_steps(column, kind)
        case (Boolean(), Number() | Probability()):
            return Column(kind, column.values.astype(np.float64), missing)
        case (Number(), Boolean() | Probability()):
            return _narrow_number(name, column, kind)
        case (Category(), Category()):
            return _recode(name, column, kind, unseen)
        case (Number() | Boolean(), Category()):
            return _recode(name, numbers_as_category(name, column), kind, unseen)
        case (Distribution(actual), Distribution(expected)) if set(actual) == set(expected):
            return Column(kind, column.values[:, [actual.index(value) for value in expected]], missing)
        case (Distribution(actual), Distribution(expected)):
            refuse(name, f"is a distribution over {actual}; one over {expected} is needed.")
        case (Parts() | Relation(), Parts() | Relation()) if type(column.kind) is type(kind):
            return _convert_rows(name, column, kind)
        case (Tensor(actual), Tensor(expected)) if (
            type(column.kind) is type(kind) in (Tensor, Text) and actual == expected
        ):
            return column  # what is encoded, the model of the schema encodes
        case (Tensor(actual), Tensor(expected)):
            refuse(name, f"has tensors of shape {actual}; {expected} is needed.")
        case (actual_kind, _):
            refuse(name, f"is a {kind_name(actual_kind)}; a {kind_name(kind)} is needed.")


def _as_dates(name: str, column: Column, texts: list[str], day_first: bool | None) -> Column:
    """A category column whose values are dates in this order of day and month."""
    days = parse_dates(texts, day_first)
    if days is None:
        invalid = next((text for text in texts if parse_dates([text], day_first) is None), texts[0])
        refuse(
            name, f"has {invalid!r:.60}, which is no date; a date is needed, such as 2024-03-01 or 2024-03-01 14:30."
        )
    absent = np.zeros(len(column), dtype=bool) if column.missing is None else column.missing
    return Column(Date(day_first), np.where(absent, np.nan, days[column.values]), column.missing)


def _convert_rows(name: str, column: Column, kind: Parts | Relation) -> Column:
    """A column of parts or of a relation whose own columns are converted to those of the kind."""
    rows = cast("GroupedRows", column.values)
    if isinstance(kind, Relation) and isinstance(column.kind, Relation) and kind.types != column.kind.types:
        refuse(name, f"relates {' and '.join(column.kind.types)}; {' and '.join(kind.types)} are needed.")
    table = rows.table
    if table is None and kind.columns:
        refuse(name, f"has no column {kind.columns[0][0]!r}, which is needed; add it to the table of its rows.")
    try:
        converted = None if table is None or not kind.columns else table.conform(kind.schema)
    except DataError as error:
        raise DataError(f"The {kind_name(kind)} {name!r}: {error}") from None
    return Column(kind, cast("Array", replace(rows, table=converted)))


def all_missing(kind: Kind, length: int) -> Column:
    """A column of this kind and length in which every entry is missing; of parts, one in which nothing is owned."""
    missing = np.ones(length, dtype=bool)
    match kind:
        case Boolean():
            return Column(kind, np.zeros(length, dtype=bool), missing)
        case Category():
            return Column(kind, np.zeros(length, dtype=np.int64), missing)
        case Distribution(values):
            return Column(kind, np.full((length, len(values)), 1.0 / len(values)), missing)
        case Text():
            return text_column([None] * length)
        case Series(shape):
            gaps = np.full((length, *shape), np.nan, dtype=np.float32)
            return Column(kind, StoredRows(SeriesStore(gaps)), missing)  # type: ignore[arg-type]
        case Tensor(shape):
            return Column(kind, np.zeros((length, *shape), dtype=np.float32), missing)
        case Parts(columns) | Relation(_, columns):
            return Column(kind, cast("Array", _no_rows(kind, columns, length)))
        case _:
            return Column(kind, np.full(length, np.nan), missing)


def _no_rows(kind: Parts | Relation, columns: Sequence[tuple[str, Kind]], length: int) -> GroupedRows:
    """The entries of examples that own no part of a type, or have no tuple of a relation."""
    from neuid3.data.examples import Examples  # it needs this module

    offsets = np.zeros(length + 1, dtype=np.int64)
    table = Examples._of({name: all_missing(entry, 0) for name, entry in columns}, 0) if columns else None
    if isinstance(kind, Parts):
        return GroupedRows(offsets, table)
    return RelatedRows(offsets, table, np.zeros((0, len(kind.types)), dtype=np.int64))


def _narrow_number(name: str, column: Column, kind: Boolean | Probability) -> Column:
    values = column.values if column.missing is None else np.where(column.missing, 0.0, column.values)
    allowed = (values == 0.0) | (values == 1.0) if isinstance(kind, Boolean) else (values >= 0.0) & (values <= 1.0)
    if not allowed.all():
        row = int(np.argmin(allowed))
        if isinstance(kind, Boolean):
            hint = f"0 or 1 is needed, or declare it with kinds={{{name!r}: 'number'}} from the start"
        else:
            hint = "a probability in [0, 1] is needed"
        refuse(name, f"has {values[row]:g} in row {row}; {hint}.")
    return Column(kind, values == 1.0 if isinstance(kind, Boolean) else values, column.missing)


def _recode(name: str, column: Column, kind: Category, unseen: dict[str, list[Value]]) -> Column:
    assert isinstance(column.kind, Category)
    codes = {value: code for code, value in enumerate(kind.domain)}
    new_codes = np.array([codes.get(value, codes[OTHER]) for value in column.kind.domain], dtype=np.int64)
    present = column.values if column.missing is None else column.values[~column.missing]
    unknown = [column.kind.domain[code] for code in np.unique(present) if column.kind.domain[code] not in codes]
    if unknown:
        unseen[name] = unknown
    return Column(kind, new_codes[column.values], column.missing)


def numbers_as_category(name: str, column: Column) -> Column:
    """A column of whole numbers or Booleans as a category."""
    if not isinstance(column.kind, (Number, Boolean)):
        refuse(name, f"is declared 'category' and holds a {kind_name(column.kind)}; correct `kinds` or the data.")
    numbers = column.values.astype(np.float64)
    present = numbers if column.missing is None else numbers[~column.missing]
    if (present != np.round(present)).any():
        refuse(name, "is declared 'category' and holds fractions; categories are strings or whole numbers.")
    labels = np.unique(present)
    codes = np.searchsorted(labels, numbers if column.missing is None else np.where(column.missing, -np.inf, numbers))
    return Column(Category(tuple(int(label) for label in labels)), codes.astype(np.int64), column.missing)
