"""Columns: entries of one kind, some of them missing, read from arrays, lists, Series, tensors and stores."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from neuid3.data.parts import GroupedRows, Parts, Relation
from neuid3.data.stores import MappedStore, StoredRows, as_store, torch_to_numpy
from neuid3.errors import DataError, did_you_mean

Value = str | int
Array: TypeAlias = npt.NDArray[Any]

OTHER = "other"

# Text with more distinct values than this, and than half of its entries, identifies rows and does not generalize.
FEW_VALUES = 20

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg")

LEARN_NUMBERS = (
    "To predict a number use NeuID3Regressor, or `neuid3 fit --task regression`; to predict classes cut the quantity, "
    "for instance with pandas.qcut(y, 4).astype(str)."
)

# The number of rows processed at a time where several columns are combined; such a block fits the processor cache.
BLOCK_ROWS = 4096


@dataclass(frozen=True, slots=True)
class Boolean:
    """A fact that holds or not."""


@dataclass(frozen=True, slots=True)
class Probability:
    """A fact that holds with a probability of its own in each example."""


@dataclass(frozen=True, slots=True)
class Number:
    """A quantity, compared with constants."""


@dataclass(frozen=True, slots=True)
class Category:
    """One of a few named values; a value not in `values` is `other`.

    Attributes
    ----------
    values : the names of the values, each once.
    """

    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        _check_distinct(self.values)

    @property
    def domain(self) -> tuple[Value, ...]:
        """The values, with `other`."""
        return self.values if OTHER in self.values else (*self.values, OTHER)


@dataclass(frozen=True, slots=True)
class Distribution:
    """A probability for each of a few named values, in each example.

    Attributes
    ----------
    values : the names of the values, each once.
    """

    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        _check_distinct(self.values)

    @property
    def domain(self) -> tuple[Value, ...]:
        """The values."""
        return self.values


def _check_distinct(values: tuple[Value, ...]) -> None:
    if len(set(values)) < len(values):
        seen: set[Value] = set()
        repeated = next(value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value]
        raise DataError(f"The value {repeated!r} is given twice; give each value of a column once.")


@dataclass(frozen=True, slots=True)
class Tensor:
    """A numeric array of one shape, read by networks: an image, a signal, a vector of features.

    Attributes
    ----------
    shape : the shape of one entry, such as `(28, 28)` or `(3, 64, 64)`.
    encoded : the length of the vector that an encoder makes of an entry and that networks read in its place; None where they
        read the entry itself.
    """

    shape: tuple[int, ...]
    encoded: int | None = field(default=None, repr=False)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of what networks read of one entry."""
        return self.shape if self.encoded is None else (self.encoded,)

    @property
    def is_picture(self) -> bool:
        """Whether an entry has the shape of a picture: in grey, or with channels, and at least 6 pixels in each direction."""
        return len(self.shape) in (2, 3) and min(self.shape[-2:]) >= 6


Kind = Boolean | Probability | Number | Category | Distribution | Tensor | Parts | Relation
Declared = Kind | str | Sequence[Value]
Schema: TypeAlias = Mapping[str, Kind]

_SIMPLE: Mapping[str, Kind] = {"boolean": Boolean(), "probability": Probability(), "number": Number()}
_BY_NAME = (*_SIMPLE, "category", "distribution", "tensor", "image", "ignore")


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


def kind_name(kind: Kind) -> str:
    """The name of a kind, in messages and files.

    >>> kind_name(Tensor((28, 28)))
    'tensor'
    """
    return type(kind).__name__.lower()


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The entries of one column, read-only.

    Attributes
    ----------
    kind : the kind of its entries.
    values : one entry for each row. Those of a tensor column may be `StoredRows` of a store: selecting rows of them fetches
        nothing, `np.asarray` fetches all. Those of parts and relations are `GroupedRows`.
    missing : mask of the missing entries; None where no entry is missing.
    origin : why an undeclared column is a category: "text" for strings, "labels" for a pandas Categorical.
    absent : mask of the missing entries of slots that have no part; no distribution stands for these.
    vectors : what an encoder has made of the entries of a tensor column, `(row, number)`; None where there is no encoder.
    """

    kind: Kind
    values: Array
    missing: Array | None = None
    origin: str = ""
    absent: Array | None = None
    vectors: Array | None = None

    def __post_init__(self) -> None:
        # Values share memory with the caller's array wherever that saves a copy, so they must not be written to.
        missing = self.missing if self.missing is not None and bool(self.missing.any()) else None
        if not isinstance(self.values, (StoredRows, GroupedRows)):
            object.__setattr__(self, "values", _read_only(self.values))
        object.__setattr__(self, "missing", None if missing is None else _read_only(missing))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def inputs(self) -> Array:
        """What networks read: the vectors of an encoder, or else the entries."""
        return self.values if self.vectors is None else self.vectors

    def take(self, rows: Any) -> Column:
        """The column restricted to these rows.

        Parameters
        ----------
        rows : indices, a mask or a slice.

        Returns
        -------
        The column of these rows.
        """
        missing = None if self.missing is None else self.missing[rows]
        absent = None if self.absent is None else self.absent[rows]
        vectors = None if self.vectors is None else self.vectors[rows]
        return Column(self.kind, self.values[rows], missing, self.origin, absent, vectors)


def stack_columns(columns: Sequence[Array]) -> Array:
    """Columns of one length and dtype as a row-major 2-D array, without a copy where they are adjacent in memory already.

    >>> table = np.arange(6).reshape(3, 2)
    >>> np.shares_memory(stack_columns([table[:, 0], table[:, 1]]), table)
    True
    """
    first, n, k = columns[0], len(columns[0]), len(columns)
    starts = [column.__array_interface__["data"][0] for column in columns]
    are_adjacent = [start - starts[0] for start in starts] == [i * first.itemsize for i in range(k)]
    have_equal_strides = (
        all(column.strides == first.strides for column in columns) and first.strides[0] >= k * first.itemsize
    )
    if n > 1 and are_adjacent and have_equal_strides:
        return np.lib.stride_tricks.as_strided(first, (n, k), (first.strides[0], first.itemsize), writeable=False)
    table = np.empty((n, k), dtype=first.dtype)
    for start in range(0, n, BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        np.stack([column[block] for column in columns], axis=1, out=table[block])
    return table


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _refuse(name: str, reason: str) -> NoReturn:
    raise DataError(f"Column {name!r} {reason}") from None


def read_column(name: str, values: Any, declared: Declared | None = None) -> Column:
    """One column, with its kind inferred unless it is declared.

    Parameters
    ----------
    name : the name of the column, for error messages.
    values : a list, array, Series, Categorical, tensor, store or column, with one entry for each example.
    declared : a kind, the name of a kind, or the names of the values of a distribution.

    Raises
    ------
    DataError
        Where the values are not a column of the declared kind.

    >>> read_column("suit", ["clubs", None, "hearts"]).kind
    Category(values=('clubs', 'hearts'))
    """
    if isinstance(declared, str) and declared not in _BY_NAME:
        _refuse(name, f"is declared {declared!r}, an unknown kind.{did_you_mean(declared, _BY_NAME)}")
    if isinstance(values, Column):
        return _declare(name, values, declared)
    if hasattr(getattr(values, "dtype", None), "categories"):
        return _declare(name, _read_categorical(name, values), declared)
    store = as_store(values)
    if store is not None:
        return _declare(name, _read_store(name, StoredRows(store), getattr(store, "missing", None)), declared)
    array, missing = _plain_array(name, values)
    if array.ndim == 1 and array.dtype == object:
        array, missing = _unbox(name, array, missing)
    if array.ndim == 0:
        _refuse(name, "is a single value, not a column; give one entry for each example.")
    if array.ndim == 1:
        return _declare(name, _infer(name, array, missing), declared)
    if declared is None and array.ndim == 2:
        _refuse(name, f"has two axes {array.shape}; declare it in `kinds` as 'tensor' or as a Distribution((…)).")
    if declared in (None, "tensor", "image") or isinstance(declared, Tensor):
        return _declare(name, _read_tensor(name, array, missing), declared)
    return _read_distribution(name, array, missing, declared)


def _read_categorical(name: str, values: Any) -> Column:
    """A category column from a pandas Categorical or a Series of one; float labels are integers next to a NaN."""
    codes = np.asarray(getattr(values, "cat", values).codes)
    labels = values.dtype.categories.tolist()
    whole = [int(label) if isinstance(label, float) and label.is_integer() else label for label in labels]
    for label in whole:
        if isinstance(label, bool) or not isinstance(label, (str, int)):
            _refuse(name, f"has the category {label!r}; categories are strings or whole numbers.")
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
        _refuse(
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
        _refuse(name, f"{complaint} row {partial[0]}; fill in the missing numbers, or make the whole entry missing.")
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
    no_numbers = (complex, np.complexfloating, np.timedelta64)
    if all(issubclass(kind, numbers.Number) and not issubclass(kind, no_numbers) for kind in types):
        try:
            _check_exact(name, values, absent)
            return np.where(absent, np.nan, values).astype(np.float64), absent
        except OverflowError:
            _refuse(name, "contains a number too large to compare; replace it by a smaller one or by NaN (missing).")
    nested = ("__array__", "__array_interface__", "__len__")
    if all(
        not issubclass(kind, (str, bytes, Mapping, Set)) and any(hasattr(kind, a) for a in nested) for kind in types
    ):
        return _stack(name, values, absent)
    names = ", ".join(sorted({kind.__name__ for kind in types}))
    _refuse(
        name,
        f"{'mixes' if len(types) > 1 else 'holds'} {names}; make its entries all strings, all numbers or all images "
        "(argument must be a string or a number).",
    )


def _stack(name: str, values: Array, absent: Array) -> tuple[Array, Array]:
    try:
        entries = {row: np.asarray(torch_to_numpy(values[row])) for row in np.flatnonzero(~absent).tolist()}
    except ValueError:
        _refuse(name, "is ragged: an entry has lists of different lengths; give all entries one shape.")
    entries = {row: e for row, e in entries.items() if e.dtype.kind != "f" or e.size == 0 or not np.isnan(e).all()}
    shapes = sorted({entry.shape for entry in entries.values()})
    if len(shapes) > 1:
        _refuse(
            name, f"is ragged: its entries have shapes {', '.join(map(str, shapes[:4]))}; give all entries one shape."
        )
    types = {entry.dtype for entry in entries.values()}
    if np.dtype(np.uint8) in types and len(types) > 1:  # bytes are read as fractions of 255, other numbers as they are
        _refuse(name, f"mixes entries of {', '.join(sorted(map(str, types)))}; give all entries one type.")
    shape = shapes[0] if shapes else np.shape(values[~absent][0])
    stacked = np.zeros((len(values), *shape), dtype=np.result_type(*types) if types else np.float64)
    for row, entry in entries.items():
        stacked[row] = entry
    return stacked, np.array([row not in entries for row in range(len(values))])


def _infer(name: str, values: Array, missing: Array | None) -> Column:
    match values.dtype.kind:
        case "b":
            return Column(Boolean(), values if missing is None else values & ~missing, missing)
        case "i" | "u" | "f":
            return _infer_numeric(name, values, missing)
        case "U" | "T" | "O":
            return _read_category(values, missing)
        case "c":
            _refuse(name, f"holds {values.dtype} (Complex data not supported); turn it into numbers or strings.")
        case "m" | "M":
            _refuse(
                name, f"holds dates or durations ({values.dtype}); turn them into numbers, such as days since a date."
            )
        case _:
            _refuse(name, f"holds {values.dtype}, an unsupported dtype; convert it to numbers or strings.")


def _check_exact(name: str, values: Array, missing: Array | None) -> None:
    """Refuse integers beyond 2**53 that no 64-bit float equals; numbers are stored as such floats."""
    for row in range(len(values)) if values.dtype == object else np.flatnonzero((values > 2**53) | (values < -(2**53))):
        entry = values[row]
        whole = isinstance(entry, (int, np.integer)) and (missing is None or not missing[row])
        if whole and int(float(entry)) != int(entry):
            _refuse(
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
        _refuse(
            name, f"contains infinity in row {np.isinf(numbers).argmax()}; replace it by a number or NaN (missing)."
        )
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
        _refuse(name, f"is a tensor of {values.dtype}; networks read numbers; convert it to a numeric type.")
    if values.size == 0 and len(values):
        _refuse(name, f"has tensors of shape {values.shape[1:]}, which are empty; leave it out.")
    if isinstance(values, np.memmap) and _torch_dtype(values.dtype) == values.dtype:
        return _read_store(name, StoredRows(MappedStore(values)), missing)
    values = values.astype(_torch_dtype(values.dtype), copy=False)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        absent = _missing_entries(name, np.isnan(values), "has some NaN in")
        missing = absent if missing is None else np.logical_or(missing, absent)
        rows = np.flatnonzero(np.isinf(values).any(axis=tuple(range(1, values.ndim))) & ~missing)
        if rows.size:
            _refuse(name, f"contains infinity in row {rows[0]}; replace it, or make the whole entry NaN (missing).")
    return Column(Tensor(tuple(values.shape[1:])), values, missing)


def _torch_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which torch holds these numbers: native byte order, at most double precision."""
    return np.dtype(np.float64) if dtype.kind == "f" and dtype.itemsize > 8 else dtype.newbyteorder("=")


def _read_store(name: str, entries: StoredRows, missing: Array | None) -> Column:
    """A tensor column in a store, which may be larger than memory; its entries are checked when they are fetched."""
    if entries.dtype.kind not in "biuf":
        _refuse(name, f"is a tensor of {entries.dtype}; networks read numbers; convert it to a numeric type.")
    if _torch_dtype(entries.dtype) != entries.dtype:
        _refuse(
            name,
            f"holds {entries.dtype.str}, a dtype that torch does not support; store it as {_torch_dtype(entries.dtype)}.",
        )
    if entries.ndim < 2 and len(entries):
        _refuse(name, "has scalar entries; a store holds tensors, so give numbers as a list or an array.")
    if entries.size == 0 and len(entries):
        _refuse(name, f"has tensors of shape {entries.shape[1:]}, which are empty; leave it out.")
    if missing is not None and len(missing) != len(entries):
        _refuse(
            name, f"has {len(entries)} entries and a mask of {len(missing)} missing ones; give one mask entry for each."
        )
    return Column(Tensor(entries.shape[1:]), cast("Array", entries), missing)


def _read_distribution(name: str, values: Array, missing: Array | None, declared: Declared) -> Column:
    if declared == "distribution":
        _refuse(name, f"needs names for its values: kinds={{{name!r}: Distribution((…))}}.")
    is_named = isinstance(declared, Sequence) and not isinstance(declared, str)
    kind = Distribution(tuple(declared)) if is_named else declared  # type: ignore[arg-type]
    if not isinstance(kind, Distribution):
        _refuse(
            name, f"of shape {values.shape} cannot be read as {declared!r}; declare a tensor or a Distribution((…))."
        )
    k = len(kind.values)
    if values.ndim != 2 or values.shape[1] != k:
        _refuse(name, f"has shape {values.shape}; {k} named values need shape (n, {k}).")
    try:
        rows = values.astype(np.float64)
    except (TypeError, ValueError):
        _refuse(name, f"has dtype {values.dtype} instead of probabilities; give numbers that sum to 1.")
    if missing is not None:
        rows[missing] = np.nan
    absent = _missing_entries(name, np.isnan(rows), "has some NaN in")
    rows[absent] = 1.0 / k
    total = rows.sum(axis=1)
    invalid = np.flatnonzero((rows < 0).any(axis=1) | ~(np.abs(total - 1.0) <= 1e-3))
    if invalid.size:
        defect = "has a negative number" if (rows[invalid[0]] < 0).any() else f"sums to {total[invalid[0]]:.4g}"
        _refuse(name, f"is no distribution in row {invalid[0]}: it {defect}; give non-negative numbers that sum to 1.")
    return Column(kind, rows / total[:, None], absent)


def refuse_image_paths(name: str, column: Column) -> None:
    """Refuse a column of strings that are all paths of image files: a table in memory has no folder to resolve them."""
    if column.origin == "text" and isinstance(column.kind, Category):
        files = [str(value) for value in column.kind.values]
        if are_image_names(files):
            _refuse(
                name,
                f"names image files such as {files[0]!r:.100}, but no folder is given: read the table with "
                "read_frame(X, folder=…), put ImageFiles(paths) into this column, or keep the names as values with "
                f"Examples(X, kinds={{{name!r}: 'category'}}).",
            )


def _declare(name: str, column: Column, declared: Declared | None) -> Column:
    """The column, converted to its declared kind."""
    if declared is None:
        return column
    if declared == "image":
        declared = "tensor"
    if declared == "tensor" or isinstance(declared, Tensor):
        refuse_image_paths(name, column)
    if isinstance(declared, str):
        if declared == "category" and not isinstance(column.kind, Category):
            return _numbers_as_category(name, column)
        kind = _SIMPLE.get(declared, column.kind)
        if kind is column.kind and kind_name(kind) != declared:
            _refuse(
                name, f"is declared {declared!r} and holds a {kind_name(column.kind)}; correct `kinds` or the data."
            )
    elif isinstance(declared, Kind):
        kind = declared
    else:
        _refuse(name, f"is declared {declared!r}; use a kind such as 'category' or Category(('a', 'b')).")
    unseen: dict[str, list[Value]] = {}
    converted = convert(name, column, kind, unseen)
    if unseen:
        _refuse(name, f"has the value {unseen[name][0]!r}, which its declared category does not include; add it.")
    return replace(converted, origin="") if converted.origin else converted


def _numbers_as_category(name: str, column: Column) -> Column:
    if not isinstance(column.kind, (Number, Boolean)):
        _refuse(name, f"is declared 'category' and holds a {kind_name(column.kind)}; correct `kinds` or the data.")
    numbers = column.values.astype(np.float64)
    present = numbers if column.missing is None else numbers[~column.missing]
    if (present != np.round(present)).any():
        _refuse(name, "is declared 'category' and holds fractions; categories are strings or whole numbers.")
    labels = np.unique(present)
    codes = np.searchsorted(labels, numbers if column.missing is None else np.where(column.missing, -np.inf, numbers))
    return Column(Category(tuple(int(label) for label in labels)), codes.astype(np.int64), column.missing)


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
    if missing is not None and bool(missing.all()) and not isinstance(column.kind, Tensor):
        return all_missing(kind, len(column))
    match column.kind, kind:
        case (Boolean(), Number() | Probability()):
            return Column(kind, column.values.astype(np.float64), missing)
        case (Number(), Boolean() | Probability()):
            return _narrow_number(name, column, kind)
        case (Category(), Category()):
            return _recode(name, column, kind, unseen)
        case (Number() | Boolean(), Category()):
            return _recode(name, _numbers_as_category(name, column), kind, unseen)
        case (Distribution(actual), Distribution(expected)) if set(actual) == set(expected):
            return Column(kind, column.values[:, [actual.index(value) for value in expected]], missing)
        case (Distribution(actual), Distribution(expected)):
            _refuse(name, f"is a distribution over {actual}; one over {expected} is needed.")
        case (Parts() | Relation(), Parts() | Relation()) if type(column.kind) is type(kind):
            return _convert_rows(name, column, kind)
        case (Tensor(actual), Tensor(expected)) if (
            actual == expected
        ):  # what is encoded, the model of the schema encodes
            return column
        case (Tensor(actual), Tensor(expected)):
            _refuse(name, f"has tensors of shape {actual}; {expected} is needed.")
        case (actual_kind, _):
            _refuse(name, f"is a {kind_name(actual_kind)}; a {kind_name(kind)} is needed.")


def _convert_rows(name: str, column: Column, kind: Parts | Relation) -> Column:
    """A column of parts or of a relation whose own columns are converted to those of the kind."""
    rows = cast("GroupedRows", column.values)
    if isinstance(kind, Relation) and isinstance(column.kind, Relation) and kind.types != column.kind.types:
        _refuse(name, f"relates {' and '.join(column.kind.types)}; {' and '.join(kind.types)} are needed.")
    table = rows.table
    if table is None and kind.columns:
        _refuse(name, f"has no column {kind.columns[0][0]!r}, which is needed; add it to the table of its rows.")
    converted = None if table is None or not kind.columns else table.conform(kind.schema)
    return Column(kind, cast("Array", replace(rows, table=converted)))


def all_missing(kind: Kind, length: int) -> Column:
    """A column of this kind and length in which every entry is missing."""
    missing = np.ones(length, dtype=bool)
    match kind:
        case Boolean():
            return Column(kind, np.zeros(length, dtype=bool), missing)
        case Category():
            return Column(kind, np.zeros(length, dtype=np.int64), missing)
        case Distribution(values):
            return Column(kind, np.full((length, len(values)), 1.0 / len(values)), missing)
        case Tensor(shape):
            return Column(kind, np.zeros((length, *shape), dtype=np.float32), missing)
        case _:
            return Column(kind, np.full(length, np.nan), missing)


def _narrow_number(name: str, column: Column, kind: Boolean | Probability) -> Column:
    values = column.values if column.missing is None else np.where(column.missing, 0.0, column.values)
    allowed = (values == 0.0) | (values == 1.0) if isinstance(kind, Boolean) else (values >= 0.0) & (values <= 1.0)
    if not allowed.all():
        row = int(np.argmin(allowed))
        if isinstance(kind, Boolean):
            hint = f"0 or 1 is needed, or declare it with kinds={{{name!r}: 'number'}} from the start"
        else:
            hint = "a probability in [0, 1] is needed"
        _refuse(name, f"has {values[row]:g} in row {row}; {hint}.")
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
