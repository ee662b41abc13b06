"""Groups of rows that splits keep together, such as all rows of one patient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import column_or_1d

from neuid3.data.columns import Column, is_missing
from neuid3.data.examples import Examples, has_names, named_columns
from neuid3.errors import DataError, did_you_mean


def take_groups(table: Any, groups: Any) -> tuple[Any, Any]:
    """A table without its column of groups, and the group of each row.

    Parameters
    ----------
    table : `Examples`, or anything that `Examples` takes.
    groups : the group of each row, the name of the column that holds them, or None.

    Returns
    -------
    The table, itself where the groups are no column of it; and the groups, None without any.

    Raises
    ------
    DataError : where the table has no such column.
    """
    if not isinstance(groups, str):
        return table, groups
    if not has_names(table):
        raise DataError(
            f"groups={groups!r} names a column, and X is an array, whose columns have no names; give the group of each row."
        )
    columns = dict(table.items()) if isinstance(table, Examples) else named_columns(table)
    if groups not in columns:
        raise DataError(f"groups={groups!r} is no column of X.{did_you_mean(groups, columns)}")
    rest = [name for name in columns if name != groups]
    entries = _entries(columns[groups])
    return (table.select(rest) if isinstance(table, Examples) else {name: columns[name] for name in rest}), entries


def _entries(column: Any) -> Any:
    """The entries of a column, None where one is missing."""
    if not isinstance(column, Column):
        return column
    values = np.asarray(column.values)
    entries = np.empty(len(values), dtype=object)
    entries[:] = values.tolist() if values.ndim == 1 else [row.tobytes() for row in values]
    if column.missing is not None:
        entries[column.missing] = None
    return entries


def group_numbers(
    groups: Any, kept: npt.NDArray[np.bool_], location: Callable[[int], str] | None = None
) -> npt.NDArray[np.int64] | None:
    """The number of the group of each row, `(row,)`; None without groups.

    Parameters
    ----------
    groups : the group of each row: any values that can be compared; or None.
    kept : the mask of the rows that are learned from, `(row,)`; the result has these rows.
    location : says where a row is, for error messages.

    Returns
    -------
    Numbers from 0 in the order in which groups first occur, `(kept row,)`.

    Raises
    ------
    DataError : where there is not one group for each row, one is missing, or there is a single group.

    >>> group_numbers(["ann", "bob", "ann"], np.ones(3, dtype=bool)).tolist()
    [0, 1, 0]
    """
    if groups is None:
        return None
    entries = _listed(groups)
    if len(entries) != len(kept):
        raise DataError(
            f"groups has {len(entries):,} entries and X has {len(kept):,} rows; give one group for each row."
        )
    absent = next((row for row, entry in enumerate(entries) if is_missing(entry)), None)
    if absent is not None:
        where = f"row {absent} (counted from 0)" if location is None else location(absent)
        raise DataError(
            f"groups has no entry for {where}; give every row a group, for instance one of its own, or drop the row."
        )
    numbers: dict[Any, int] = {}
    result = np.array(
        [numbers.setdefault(entry, len(numbers)) for entry, keep in zip(entries, kept, strict=True) if keep],
        dtype=np.int64,
    )
    if len(numbers) < 2:
        only = next(iter(numbers), None)
        raise DataError(
            f"groups has a single group, {only!r}, so that no rows can be held out without splitting it; give at least two "
            "groups, or leave groups out."
        )
    return result


def _listed(groups: Any) -> list[Any]:
    """The groups as a list of values that can be compared."""
    try:
        column = column_or_1d(groups) if getattr(groups, "ndim", 1) != 1 else groups
        entries: list[Any] = column.tolist() if hasattr(column, "tolist") else list(column)
        hash(tuple(entries))
    except (TypeError, ValueError):
        raise DataError(
            f"groups is a {type(groups).__name__} that does not hold one group for each row; give a list of names or numbers."
        ) from None
    return entries
