"""Columns: entries of one kind, some of them missing, read from arrays, lists, Series, tensors and stores."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, cast

import numpy as np

from neuid3.data.conversion import all_missing, convert, numbers_as_category, refuse
from neuid3.data.dates import as_datetimes, day_stands_first, days_of_datetimes, parse_dates
from neuid3.data.kinds import (
    BLOCK_ROWS,
    OTHER,
    Array,
    Boolean,
    Category,
    Column,
    Date,
    Declared,
    Distribution,
    Kind,
    Number,
    Probability,
    Schema,
    Series,
    Tensor,
    Text,
    Value,
    kind_name,
    stack_columns,
)
from neuid3.data.series import are_series_lengths, are_series_names, parse_series, read_series_file, series_column
from neuid3.data.stores import MappedStore, StoredRows, as_store, torch_to_numpy
from neuid3.data.texts import text_column
from neuid3.errors import did_you_mean

__all__ = [
    "BLOCK_ROWS",
    "FEW_VALUES",
    "IMAGE_SUFFIXES",
    "LEARN_NUMBERS",
    "OTHER",
    "Array",
    "Boolean",
    "Category",
    "Column",
    "Date",
    "Declared",
    "Distribution",
    "Kind",
    "Number",
    "Probability",
    "Schema",
    "Series",
    "Tensor",
    "Text",
    "Value",
    "all_missing",
    "are_image_names",
    "convert",
    "is_free_text",
    "is_missing",
    "kind_name",
    "looks_like_quantity",
    "read_column",
    "refuse_paths",
    "stack_columns",
]

# Text with more distinct values than this, and than half of its entries, identifies rows and does not generalize.
FEW_VALUES = 20

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg")

LEARN_NUMBERS = (
    "To predict a number use NeuID3Regressor, or `neuid3 fit --task regression`; to predict classes cut the quantity, "
    "for instance with pandas.qcut(y, 4).astype(str)."
)

_SIMPLE: Mapping[str, Kind] = {"boolean": Boolean(), "probability": Probability(), "number": Number()}
_BY_NAME = (*_SIMPLE, "category", "date", "text", "series", "distribution", "tensor", "image", "ignore")


def is_free_text(distinct: int, entries: int) -> bool:
    """Whether text with so many distinct values identifies entries rather than grouping them.

    >>> is_free_text(15, 20), is_free_text(60, 100), is_free_text(40, 100)
    (False, True, False)
    """
    return distinct > max(FEW_VALUES, entries // 2)


def are_image_names(values: Iterable[str]) -> bool:
    """Whether all of these are names of image files.

    >>> are_image_names(["img/1.png", "img/2.JPG"]), are_image_names(["img/1.png", "none"]), are_image_names([])
    (True, False, False)
    """
    are_images = [value.lower().endswith(IMAGE_SUFFIXES) for value in values]
    return bool(are_images) and all(are_images)


def looks_like_quantity(distinct: int, entries: int) -> bool:
    """Whether numeric labels are too varied to be classes: fewer than ten entries per distinct value on average."""
    return distinct > FEW_VALUES and entries < 10 * distinct


def read_column(name: str, values: Any, declared: Declared | None = None, like: Kind | None = None) -> Column:
    """One column, with its kind inferred unless it is declared.

    Parameters
    ----------
    name : the name of the column, for error messages.
    values : a list, array, Series, Categorical, tensor, store or column, with one entry for each example.
    declared : a kind, the name of a kind, or the names of the values of a distribution.
    like : the kind that the column will be converted to, where strings and lists leave it open.

    Raises
    ------
    DataError
        Where the values are not a column of the declared kind.

    >>> read_column("suit", ["clubs", None, "hearts"]).kind
    Category(values=('clubs', 'hearts'))
    >>> read_column("ordered", ["2024-03-01", None]).values.tolist()
    [19783.0, nan]
    """
    if isinstance(declared, str) and declared not in _BY_NAME:
        refuse(name, f"is declared {declared!r}, an unknown kind.{did_you_mean(declared, _BY_NAME)}")
    expected = declared if isinstance(declared, str) else _expected_kind(like if declared is None else declared)
    if isinstance(values, Column):
        return _declare(name, values, declared)
    if hasattr(getattr(values, "dtype", None), "categories"):
        return _declare(name, _read_categorical(name, values), declared)
    store = as_store(values)
    if store is not None:
        return _declare(name, _read_store(name, StoredRows(store), getattr(store, "missing", None)), declared)
    array, missing = _plain_array(name, values)
    if expected == "series":
        return _declare(name, _read_series(name, array, missing, like if isinstance(like, Series) else None), declared)
    if array.ndim == 1 and array.dtype == object:
        if declared is None and like is None and _are_vectors(array):
            return _read_series(name, array, missing)
        array, missing = _unbox(name, array, missing)
    if array.ndim == 0:
        refuse(name, "is a single value, not a column; give one entry for each example.")
    if array.ndim == 1:
        return _declare(name, _infer(name, array, missing, expected, like), declared)
    if declared is None and array.ndim == 2:
        refuse(
            name, f"has two axes {array.shape}; declare it in `kinds` as 'series', 'tensor' or as a Distribution((…))."
        )
    if declared in (None, "tensor", "image") or isinstance(declared, Tensor):
        return _declare(name, _read_tensor(name, array, missing), declared)
    return _read_distribution(name, array, missing, declared)


def _expected_kind(kind: Any) -> str:
    """The name of a kind that decides how strings and lists are read; empty for other kinds, and for values of a distribution."""
    return kind_name(kind) if isinstance(kind, (Date, Text, Series, Category)) else ""


def _are_vectors(entries: Array) -> bool:
    """Whether all entries that are not missing are lists or arrays of numbers, which may be a series."""
    present = [entry for entry in entries.tolist() if not is_missing(entry)]
    vectors = (isinstance(entry, (list, tuple, np.ndarray)) and _is_vector(entry) for entry in present)
    return all(vectors) and are_series_lengths(map(len, present))


def _is_vector(entry: Any) -> bool:
    if isinstance(entry, np.ndarray):
        return entry.ndim == 1 and (entry.dtype.kind in "iuf" or not len(entry))
    return all(
        number is None or (isinstance(number, numbers.Real) and not isinstance(number, bool)) for number in entry
    )


def _read_series(name: str, values: Array, missing: Array | None, like: Series | None = None) -> Column:
    """A series column from arrays, `(row, step)` or `(row, channel, step)`, from vectors, or from names of files."""
    entries: list[Any] = list(values)
    if missing is not None:
        entries = [None if absent else entry for entry, absent in zip(entries, missing.tolist(), strict=True)]
    read: list[Any] = []
    for row, entry in enumerate(entries):
        if is_missing(entry) or (isinstance(entry, str) and not entry):
            read.append(None)
        elif isinstance(entry, str):
            series = parse_series(entry) if entry.startswith("[") else read_series_file(Path(entry))
            if series is None:
                refuse(name, f"has {entry!r:.60} in row {row}; a series is a list of numbers or the name of a file.")
            read.append(series)
        else:
            read.append(torch_to_numpy(entry))
    return series_column(name, read, like)


def _read_categorical(name: str, values: Any) -> Column:
    """A category column from a pandas Categorical or a Series of one; float labels are integers next to a NaN."""
    codes = np.asarray(getattr(values, "cat", values).codes)
    labels = values.dtype.categories.tolist()
    whole = [int(label) if isinstance(label, float) and label.is_integer() else label for label in labels]
    for label in whole:
        if isinstance(label, bool) or not isinstance(label, (str, int)):
            refuse(name, f"has the category {label!r}; categories are strings or whole numbers.")
    return Column(Category(tuple(whole)), np.where(codes < 0, 0, codes).astype(np.int64), codes < 0, "labels")


def _plain_array(name: str, values: Any) -> tuple[Array, Array | None]:
    """A numpy array and a mask of its missing entries, from anything column-like."""
    values = torch_to_numpy(values)
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(values.data), _missing_entries(name, np.ma.getmaskarray(values), "is partly masked in")
    if isinstance(values, np.ndarray):
        return (values if isinstance(values, np.memmap) else np.asarray(values)), None
    if type(getattr(values, "dtype", None)).__name__ == "SparseDtype":
        return np.asarray(values.to_numpy(values.dtype.subtype)), None
    if hasattr(values, "to_numpy"):  # a Series; as objects where NumPy lacks its dtype (Int64, string)
        return np.asarray(values.to_numpy(None if isinstance(values.dtype, np.dtype) else object)), None
    if isinstance(values, (str, bytes, Mapping, Set)) or not isinstance(values, Iterable):
        refuse(
            name,
            f"is a {type(values).__name__}, not a column; give a list or an array with one entry for each example.",
        )
    entries = list(values)
    types = set(map(type, entries))
    if types <= {int, float} or types == {bool}:
        return np.array(entries), None
    return np.fromiter(entries, dtype=object, count=len(entries)), None


def _missing_entries(name: str, mask: Array, complaint: str) -> Array:
    """The entries that are masked throughout, as a mask of rows; an entry that is partly masked is refused."""
    by_entry = mask.reshape(len(mask), int(np.prod(mask.shape[1:])))
    some, absent = by_entry.any(axis=1), np.asarray(by_entry.all(axis=1))
    partial = np.flatnonzero(some & ~absent)
    if partial.size:
        refuse(name, f"{complaint} row {partial[0]}; fill in the missing numbers, or make the whole entry missing.")
    return absent


def is_missing(entry: Any) -> bool:
    """Whether an entry is None, NaN, NA, NaT or masked."""
    if entry is None or entry is np.ma.masked or type(entry).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(entry, (float, np.floating)) and bool(np.isnan(entry))


def _unbox(name: str, values: Array, missing: Array | None) -> tuple[Array, Array]:
    """Objects as an array of their common type, and the mask of missing ones; strings stay objects."""
    absent: Array = np.fromiter(map(is_missing, values), dtype=bool, count=len(values))
    absent = absent if missing is None else absent | missing
    types = set(map(type, values[~absent]))
    if all(issubclass(kind, (bool, np.bool_)) for kind in types) and types:
        return np.where(absent, False, values).astype(bool), absent
    if all(issubclass(kind, str) for kind in types) and types:
        return values, absent
    if types and all(issubclass(kind, (date, np.datetime64)) for kind in types):
        return as_datetimes(values, absent), absent
    if types and all(issubclass(kind, (timedelta, np.timedelta64)) for kind in types):
        return np.where(absent, np.timedelta64("NaT"), values).astype("timedelta64[us]"), absent
    no_numbers = (complex, np.complexfloating, np.timedelta64)
    if all(issubclass(kind, numbers.Number) and not issubclass(kind, no_numbers) for kind in types):
        try:
            _check_exact(name, values, absent)
            return np.where(absent, np.nan, values).astype(np.float64), absent
        except OverflowError:
            refuse(name, "contains a number too large to compare; replace it by a smaller one or by NaN (missing).")
    nested = ("__array__", "__array_interface__", "__len__")
    if all(
        not issubclass(kind, (str, bytes, Mapping, Set)) and any(hasattr(kind, a) for a in nested) for kind in types
    ):
        return _stack(name, values, absent)
    names = ", ".join(sorted({kind.__name__ for kind in types}))
    refuse(
        name,
        f"{'mixes' if len(types) > 1 else 'holds'} {names}; make its entries all strings, all numbers or all images "
        "(argument must be a string or a number).",
    )


def _stack(name: str, values: Array, absent: Array) -> tuple[Array, Array]:
    try:
        entries = {row: np.asarray(torch_to_numpy(values[row])) for row in np.flatnonzero(~absent).tolist()}
    except ValueError:
        refuse(name, "is ragged: an entry has lists of different lengths; give all entries one shape.")
    entries = {row: e for row, e in entries.items() if e.dtype.kind != "f" or e.size == 0 or not np.isnan(e).all()}
    shapes = sorted({entry.shape for entry in entries.values()})
    if len(shapes) > 1:
        refuse(
            name,
            f"is ragged: its entries have shapes {', '.join(map(str, shapes[:4]))}; give all entries one shape, or declare "
            f"kinds={{{name!r}: 'series'}}.",
        )
    types = {entry.dtype for entry in entries.values()}
    if np.dtype(np.uint8) in types and len(types) > 1:  # bytes are read as fractions of 255, other numbers as they are
        refuse(name, f"mixes entries of {', '.join(sorted(map(str, types)))}; give all entries one type.")
    shape = shapes[0] if shapes else np.shape(values[~absent][0])
    stacked = np.zeros((len(values), *shape), dtype=np.result_type(*types) if types else np.float64)
    for row, entry in entries.items():
        stacked[row] = entry
    return stacked, np.array([row not in entries for row in range(len(values))])


def _infer(name: str, values: Array, missing: Array | None, expected: str = "", like: Kind | None = None) -> Column:
    match values.dtype.kind:
        case "b":
            return Column(Boolean(), values if missing is None else values & ~missing, missing)
        case "i" | "u" | "f":
            return _infer_numeric(name, values, missing)
        case "U" | "T" | "O":
            read = _read_images(name, values, missing, like) if expected in ("", "tensor", "image") else None
            if read is None and not expected and like is None and _are_series_texts(values, missing):
                read = _read_series(name, values, missing)
            return _read_strings(name, values, missing, expected, like) if read is None else read
        case "M" | "m":
            days, absent = days_of_datetimes(values)
            absent = absent if missing is None else absent | missing
            return Column(Date() if values.dtype.kind == "M" else Number(), np.where(absent, np.nan, days), absent)
        case "c":
            refuse(name, f"holds {values.dtype} (Complex data not supported); turn it into numbers or strings.")
        case _:
            refuse(name, f"holds {values.dtype}, an unsupported dtype; convert it to numbers or strings.")


def _read_images(name: str, values: Array, missing: Array | None, like: Kind | None) -> Column | None:
    """The images that strings name, where all of these files are there; otherwise None."""
    absent = np.zeros(len(values), dtype=bool) if missing is None else missing
    paths = [None if gone else str(entry) for entry, gone in zip(values.tolist(), absent.tolist(), strict=True)]
    files = {path for path in paths if path is not None}
    if not are_image_names(files) or not all(Path(path).is_file() for path in files):
        return None
    from neuid3.data.reading.files import read_images

    return _read_store(name, *read_images(name, paths, like.shape if isinstance(like, Tensor) else None))


def _are_series_texts(values: Array, missing: Array | None) -> bool:
    """Whether strings are lists of numbers, `[70, 72.5]`, or name files of series all of which are there."""
    present = {str(entry) for entry in (values if missing is None else values[~missing]).tolist()}
    if present and all(text.startswith("[") for text in present):
        lists = [numbers for text in present if (numbers := parse_series(text)) is not None]
        return len(lists) == len(present) and are_series_lengths(numbers.shape[1] for numbers in lists)
    return are_series_names(present) and all(Path(path).is_file() for path in present)


def _read_strings(name: str, values: Array, missing: Array | None, expected: str, like: Kind | None) -> Column:
    """Strings as dates, where all of them are, as texts where those are expected, and otherwise as a category."""
    if expected == "text":
        return text_column([str(text) for text in values.tolist()], missing)
    if expected in ("", "date"):
        absent = np.zeros(len(values), dtype=bool) if missing is None else missing
        present = [str(entry) for entry in values[~absent].tolist()]
        distinct = list(dict.fromkeys(present))
        day_first = day_stands_first(distinct, like.day_first if isinstance(like, Date) else None)
        days = parse_dates(distinct, day_first)
        if days is not None:
            by_text = dict(zip(distinct, days.tolist(), strict=True))
            read = np.full(len(values), np.nan)
            read[~absent] = [by_text[text] for text in present]
            return Column(Date(day_first), read, absent)
        if expected == "date" and present:
            invalid = next((text for text in distinct if parse_dates([text], day_first) is None), distinct[0])
            refuse(
                name,
                f"has {invalid!r:.60}, which is no date, or does not say which number is the day; write dates as "
                "2024-03-01, with the time as 2024-03-01 14:30.",
            )
    return _read_category(values, missing)


def _check_exact(name: str, values: Array, missing: Array | None) -> None:
    """Refuse integers beyond 2**53 that no 64-bit float equals; numbers are stored as such floats."""
    for row in range(len(values)) if values.dtype == object else np.flatnonzero((values > 2**53) | (values < -(2**53))):
        entry = values[row]
        whole = isinstance(entry, (int, np.integer)) and (missing is None or not missing[row])
        if whole and int(float(entry)) != int(entry):
            refuse(
                name,
                f"holds the integer {entry} in row {row}, which no 64-bit float equals; make its entries strings if they "
                "are names, or subtract an offset.",
            )


def _infer_numeric(name: str, values: Array, missing: Array | None) -> Column:
    if values.dtype.kind in "iu":
        _check_exact(name, values, missing)
    numbers = values.astype(np.float64, copy=False)
    if missing is not None and missing.any():
        numbers = np.where(missing, np.nan, numbers)
    if np.isinf(numbers).any():
        refuse(name, f"contains infinity in row {np.isinf(numbers).argmax()}; replace it by a number or NaN (missing).")
    absent = np.isnan(numbers)
    if bool(((numbers == 0.0) | (numbers == 1.0) | absent).all()) and not absent.all():
        return Column(Boolean(), numbers == 1.0, absent)
    return Column(Number(), numbers, absent)


def _read_category(values: Array, missing: Array | None) -> Column:
    entries = [
        str.__str__(entry) if isinstance(entry, str) else entry for entry in values.tolist()
    ]  # not an Enum's name
    mask = [False] * len(entries) if missing is None else missing.tolist()
    labels = tuple(sorted({str(entry) for entry, absent in zip(entries, mask, strict=True) if not absent}))
    index = {label: code for code, label in enumerate(labels)}
    codes = [0 if absent else index[entry] for entry, absent in zip(entries, mask, strict=True)]
    return Column(Category(labels), np.array(codes, dtype=np.int64), missing, "text")


def _read_tensor(name: str, values: Array, missing: Array | None) -> Column:
    if values.dtype.kind not in "biuf":
        refuse(name, f"is a tensor of {values.dtype}; networks read numbers; convert it to a numeric type.")
    if values.size == 0 and len(values):
        refuse(name, f"has tensors of shape {values.shape[1:]}, which are empty; leave it out.")
    if isinstance(values, np.memmap) and _torch_dtype(values.dtype) == values.dtype:
        return _read_store(name, StoredRows(MappedStore(values)), missing)
    values = values.astype(_torch_dtype(values.dtype), copy=False)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        absent = _missing_entries(name, np.isnan(values), "has some NaN in")
        missing = absent if missing is None else np.logical_or(missing, absent)
        rows = np.flatnonzero(np.isinf(values).any(axis=tuple(range(1, values.ndim))) & ~missing)
        if rows.size:
            refuse(name, f"contains infinity in row {rows[0]}; replace it, or make the whole entry NaN (missing).")
    return Column(Tensor(tuple(values.shape[1:])), values, missing)


def _torch_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which torch holds these numbers: native byte order, at most double precision."""
    return np.dtype(np.float64) if dtype.kind == "f" and dtype.itemsize > 8 else dtype.newbyteorder("=")


def _read_store(name: str, entries: StoredRows, missing: Array | None) -> Column:
    """A tensor column in a store, which may be larger than memory; its entries are checked when they are fetched."""
    if entries.dtype.kind not in "biuf":
        refuse(name, f"is a tensor of {entries.dtype}; networks read numbers; convert it to a numeric type.")
    if _torch_dtype(entries.dtype) != entries.dtype:
        refuse(
            name,
            f"holds {entries.dtype.str}, a dtype that torch does not support; store it as {_torch_dtype(entries.dtype)}.",
        )
    if entries.ndim < 2 and len(entries):
        refuse(name, "has scalar entries; a store holds tensors, so give numbers as a list or an array.")
    if entries.size == 0 and len(entries):
        refuse(name, f"has tensors of shape {entries.shape[1:]}, which are empty; leave it out.")
    if missing is not None and len(missing) != len(entries):
        refuse(
            name, f"has {len(entries)} entries and a mask of {len(missing)} missing ones; give one mask entry for each."
        )
    return Column(Tensor(entries.shape[1:]), cast("Array", entries), missing)


def _read_distribution(name: str, values: Array, missing: Array | None, declared: Declared) -> Column:
    if declared == "distribution":
        refuse(name, f"needs names for its values: kinds={{{name!r}: Distribution((…))}}.")
    is_named = isinstance(declared, Sequence) and not isinstance(declared, str)
    kind = Distribution(tuple(declared)) if is_named else declared  # type: ignore[arg-type]
    if not isinstance(kind, Distribution):
        refuse(
            name, f"of shape {values.shape} cannot be read as {declared!r}; declare a tensor or a Distribution((…))."
        )
    k = len(kind.values)
    if values.ndim != 2 or values.shape[1] != k:
        refuse(name, f"has shape {values.shape}; {k} named values need shape (n, {k}).")
    try:
        rows = values.astype(np.float64)
    except (TypeError, ValueError):
        refuse(name, f"has dtype {values.dtype} instead of probabilities; give numbers that sum to 1.")
    if missing is not None:
        rows[missing] = np.nan
    absent = _missing_entries(name, np.isnan(rows), "has some NaN in")
    rows[absent] = 1.0 / k
    total = rows.sum(axis=1)
    invalid = np.flatnonzero((rows < 0).any(axis=1) | ~(np.abs(total - 1.0) <= 1e-3))
    if invalid.size:
        defect = "has a negative number" if (rows[invalid[0]] < 0).any() else f"sums to {total[invalid[0]]:.4g}"
        refuse(name, f"is no distribution in row {invalid[0]}: it {defect}; give non-negative numbers that sum to 1.")
    return Column(kind, rows / total[:, None], absent)


def refuse_paths(name: str, column: Column) -> None:
    """Refuse a column of strings that all name files of images or series: a table in memory has no folder to resolve them."""
    if column.origin == "text" and isinstance(column.kind, Category):
        files = [str(value) for value in column.kind.values]
        if are_image_names(files) or are_series_names(files):
            called, put = (
                ("image files", "put ImageFiles(paths) into this column, ") if are_image_names(files) else ("files", "")
            )
            refuse(
                name,
                f"names {called} such as {files[0]!r:.100}, but not all of them are in the current folder: read the table with "
                f"read_frame(X, folder=…), {put}or keep the names as values with Examples(X, kinds={{{name!r}: 'category'}}).",
            )


def _declare(name: str, column: Column, declared: Declared | None) -> Column:
    """The column, converted to its declared kind."""
    if declared is None:
        return column
    if declared == "image":
        declared = "tensor"
    if declared == "tensor" or isinstance(declared, Tensor):
        refuse_paths(name, column)
    if isinstance(declared, str):
        if declared == "category" and not isinstance(column.kind, Category):
            return numbers_as_category(name, column)
        if declared == "text" and isinstance(column.kind, Category):
            return convert(name, column, Text(), {})
        kind = _SIMPLE.get(declared, column.kind)
        if kind is column.kind and kind_name(kind) != declared:
            refuse(name, f"is declared {declared!r} and holds a {kind_name(column.kind)}; correct `kinds` or the data.")
    elif isinstance(declared, Kind):
        kind = declared
    else:
        refuse(name, f"is declared {declared!r}; use a kind such as 'category' or Category(('a', 'b')).")
    unseen: dict[str, list[Value]] = {}
    converted = convert(name, column, kind, unseen)
    if unseen:
        refuse(name, f"has the value {unseen[name][0]!r}, which its declared category does not include; add it.")
    return replace(converted, origin="") if converted.origin else converted
