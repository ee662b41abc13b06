"""What is an example? Named columns of one length, sliceable by row, and their schema."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from neuid3.errors import DataError, did_you_mean

Value = str | int
Array: TypeAlias = npt.NDArray[Any]

OTHER = "other"


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
    """One of a few named values; a value never seen before is `other`."""

    values: tuple[Value, ...]

    @property
    def domain(self) -> tuple[Value, ...]:
        return self.values if OTHER in self.values else (*self.values, OTHER)


@dataclass(frozen=True, slots=True)
class Distribution:
    """A probability for each of a few named values, in each example."""

    values: tuple[Value, ...]

    @property
    def domain(self) -> tuple[Value, ...]:
        return self.values


@dataclass(frozen=True, slots=True)
class Tensor:
    """What networks read: an image, a signal, a vector of features."""

    shape: tuple[int, ...]


Kind = Boolean | Probability | Number | Category | Distribution | Tensor
Declared = Kind | str | Sequence[Value]
Schema: TypeAlias = Mapping[str, Kind]

_BY_NAME = ("boolean", "probability", "number", "category", "distribution", "tensor")


def kind_name(kind: Kind) -> str:
    """How we speak of a kind in messages.

    >>> kind_name(Tensor((28, 28)))
    'tensor'
    """
    return type(kind).__name__.lower()


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The entries of one column, and which of them are missing (None: no entry is)."""

    kind: Kind
    values: Array
    missing: Array | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Any) -> Column:
        return Column(self.kind, self.values[rows], None if self.missing is None else self.missing[rows])


class Examples:
    """A table whose columns may be facts, numbers, categories, probabilities or images.

    `data` is a mapping of names to arrays, tensors or lists, a pandas DataFrame, or a 2-D array
    (whose columns are then called `x0`, `x1`, …). Kinds are inferred; `kinds` declares what cannot be:
    `kinds={"p_alarm": "probability", "rank": Distribution((1, 2, 3))}`.

    >>> X = Examples({"alarm": [True, False, None], "age": [31.5, float("nan"), 47.0]})
    >>> X
    Examples(3 rows; alarm: boolean, age: number)
    >>> X[[0, 2]].shape
    (2, 2)
    """

    __slots__ = ("_columns", "_length")

    _columns: dict[str, Column]
    _length: int

    def __init__(
        self,
        data: Any,
        kinds: Mapping[str, Declared] | None = None,
        *,
        names: Sequence[str] | None = None,
    ) -> None:
        if isinstance(data, Examples):
            self._columns = {name: _declare(name, c, (kinds or {}).get(name)) for name, c in data.items()}
            self._length = len(data)
            _all_known(kinds or {}, self._columns)
            return
        raw = dict(_named_columns(data, names))
        _all_known(kinds or {}, raw)
        columns = {name: read_column(name, values, (kinds or {}).get(name)) for name, values in raw.items()}
        self._columns = columns
        self._length = _common_length(columns)

    @classmethod
    def _of(cls, columns: dict[str, Column], length: int) -> Examples:
        made = cls.__new__(cls)
        made._columns, made._length = columns, length
        return made

    @property
    def schema(self) -> dict[str, Kind]:
        """The kind of every column, by name."""
        return {name: column.kind for name, column in self._columns.items()}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._columns)

    @property
    def shape(self) -> tuple[int, int]:
        return self._length, len(self._columns)

    @property
    def ndim(self) -> int:
        return 2

    def __len__(self) -> int:
        return self._length

    def items(self) -> Iterator[tuple[str, Column]]:
        """Names and columns, in order."""
        yield from self._columns.items()

    def column(self, name: str) -> Column:
        """One column by its name."""
        if name not in self._columns:
            raise DataError(f"There is no column {name!r}.{did_you_mean(name, self._columns)}")
        return self._columns[name]

    def __getitem__(self, key: Any) -> Examples:
        """The examples in these rows: an index, a slice, a mask or a list; `X[rows, ...]` is the same."""
        if isinstance(key, tuple):
            if len(key) != 2 or not (key[1] is Ellipsis or key[1] == slice(None)):
                raise DataError("Examples are sliced by row: write X[rows] or X[rows, ...].")
            key = key[0]
        if isinstance(key, str):
            raise DataError(f"X[...] takes rows; write X.column({key!r}) for a column.")
        rows = _rows(key, self._length)
        length = len(range(self._length)[rows]) if isinstance(rows, slice) else len(rows)
        return Examples._of({name: column.take(rows) for name, column in self._columns.items()}, length)

    def select(self, names: Iterable[str]) -> Examples:
        """The examples with these columns only."""
        return Examples._of({name: self.column(name) for name in names}, self._length)

    def conform(self, schema: Schema) -> Examples:
        """These examples read by another table's schema: its columns, kinds, values and order.

        Columns the schema does not name are left out. Category values it does not know become `other`,
        with one warning.
        """
        unseen: dict[str, list[Value]] = {}
        columns = {}
        for name, kind in schema.items():
            if name not in self._columns:
                raise DataError(f"Column {name!r} is needed and not there.{did_you_mean(name, self._columns)}")
            columns[name] = _convert(name, self._columns[name], kind, unseen)
        if unseen:
            told = "; ".join(f"{name}: {', '.join(map(str, values[:5]))}" for name, values in unseen.items())
            warnings.warn(f"Values never seen before are read as '{OTHER}' ({told}).", UserWarning, stacklevel=2)
        return Examples._of(columns, self._length)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{name}: {kind_name(column.kind)}" for name, column in self._columns.items())
        return f"Examples({self._length} rows; {kinds})"


def _all_known(kinds: Mapping[str, Declared], columns: Iterable[str]) -> None:
    columns = list(columns)
    for name in kinds:
        if name not in columns:
            raise DataError(f"`kinds` declares {name!r}, which is no column.{did_you_mean(name, columns)}")


def _rows(key: Any, length: int) -> Any:
    if isinstance(key, slice):
        return key
    if isinstance(key, (int, np.integer)):
        if not -length <= int(key) < length:
            raise IndexError(f"Row {key} of {length} examples.")
        return np.array([int(key)])
    rows = np.asarray(key)
    if rows.dtype == bool:
        if rows.shape != (length,):
            raise IndexError(f"A mask of shape {rows.shape} does not fit {length} examples.")
        return np.flatnonzero(rows)
    return rows.astype(np.intp) if rows.size == 0 else rows


def _named_columns(data: Any, names: Sequence[str] | None) -> Iterator[tuple[str, Any]]:
    """The columns of whatever the caller calls a table."""
    if hasattr(data, "columns") and hasattr(data, "iloc"):  # a DataFrame, without importing pandas
        pairs = [(str(name), data.iloc[:, i]) for i, name in enumerate(data.columns)]
    elif isinstance(data, Mapping):
        pairs = [(str(name), values) for name, values in data.items()]
    else:
        table = np.asarray(data)
        if table.ndim != 2:
            raise DataError(
                f"A table is a mapping of columns, a DataFrame or a 2-D array; this has {table.ndim} "
                "axes. Reshape your data, or name its columns in a dict."
            )
        given = list(names) if names is not None else [f"x{i}" for i in range(table.shape[1])]
        if len(given) != table.shape[1]:
            raise DataError(f"{len(given)} names for {table.shape[1]} columns; give one name each.")
        pairs = [(name, table[:, i]) for i, name in enumerate(given)]
    if not pairs:
        raise DataError("The table has no columns: found 0 feature(s) (shape=(0, 0)) while a minimum of 1 is required.")
    seen: set[str] = set()
    for name, values in pairs:
        if not name:
            raise DataError("A column has an empty name; give it one.")
        if name in seen:
            raise DataError(f"Two columns are called {name!r}; rename one of them.")
        seen.add(name)
        yield name, values


def _common_length(columns: Mapping[str, Column]) -> int:
    lengths = {name: len(column) for name, column in columns.items()}
    (first, length), *rest = lengths.items()
    for name, other in rest:
        if other != length:
            raise DataError(f"Column {name!r} has {other} rows and {first!r} has {length}; all columns need one length.")
    if length == 0:
        raise DataError(f"The table is empty: column {first!r} has 0 rows; give at least one example.")
    return length


def read_column(name: str, values: Any, declared: Declared | None = None) -> Column:
    """One column, its kind inferred unless it is declared.

    >>> read_column("suit", ["clubs", None, "hearts"]).kind
    Category(values=('clubs', 'hearts'))
    """
    if isinstance(values, Column):
        return _declare(name, values, declared)
    values, missing = _plain_array(name, values)
    if isinstance(values, _Coded):
        column = Column(Category(values.labels), values.codes, _mask(missing))
    elif values.ndim == 0:
        raise DataError(f"Column {name!r} is a single value, not a column; give one entry an example.")
    elif values.ndim == 1:
        column = _infer(name, values, missing)
    elif declared is not None and declared != "tensor" and not isinstance(declared, Tensor):
        return _read_distribution(name, values, missing, declared)
    elif values.ndim == 2 and declared is None:
        raise DataError(
            f"Column {name!r} has two axes {values.shape}; declare it in `kinds` as 'tensor' "
            "or as a Distribution of named values."
        )
    else:
        column = _read_tensor(name, values, missing)
    return _declare(name, column, declared)


@dataclass(frozen=True, slots=True)
class _Coded:
    """A pandas Categorical, taken apart."""

    labels: tuple[Value, ...]
    codes: Array


def _plain_array(name: str, values: Any) -> tuple[Any, Array | None]:
    """A numpy array and a mask of its missing entries, from anything column-like."""
    dtype = getattr(values, "dtype", None)
    if hasattr(values, "detach") and hasattr(values, "cpu"):  # a torch tensor, without importing torch
        return np.asarray(values.detach().cpu()), None
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        return np.asarray(values.data), mask.reshape(len(mask), -1).all(axis=1)
    if hasattr(dtype, "categories"):
        codes = np.asarray(getattr(values, "cat", values).codes)
        labels = tuple(_label(name, label) for label in dtype.categories)
        return _Coded(labels, np.where(codes < 0, 0, codes).astype(np.int64)), codes < 0
    if isinstance(values, np.ndarray):
        return values, None
    if hasattr(values, "to_numpy"):
        plain = values.to_numpy()
        return (plain if isinstance(dtype, np.dtype) else values.to_numpy(dtype=object)), None
    return _from_sequence(name, values)


def _from_sequence(name: str, values: Any) -> tuple[Array, Array | None]:
    entries = list(values)
    if any(isinstance(entry, (str, bool, np.bool_)) or entry is None for entry in entries):
        boxed = np.empty(len(entries), dtype=object)
        boxed[:] = entries
        return boxed, None
    try:
        return np.asarray([np.asarray(entry) for entry in entries]), None
    except ValueError:
        shapes = sorted({np.shape(entry) for entry in entries})
        raise DataError(
            f"Column {name!r} is ragged: its entries have shapes {', '.join(map(str, shapes[:4]))}; give all one shape."
        ) from None


def _infer(name: str, values: Array, missing: Array | None) -> Column:
    if values.dtype == bool:
        return Column(Boolean(), values, _mask(missing))
    if np.issubdtype(values.dtype, np.integer) or np.issubdtype(values.dtype, np.floating):
        return _infer_numeric(name, values, missing)
    if np.issubdtype(values.dtype, np.str_):
        return _read_category(name, values.astype(object), missing)
    if values.dtype == object:
        return _infer_objects(name, values, missing)
    raise DataError(
        f"Column {name!r} holds {values.dtype}, which is no kind we know (Complex data not supported); turn it into "
        "numbers or strings."
    )


def _infer_objects(name: str, values: Array, missing: Array | None) -> Column:
    absent = np.array([_is_absent(entry) for entry in values], dtype=bool)
    if missing is not None:
        absent |= missing
    present = [entry for entry, gone in zip(values, absent, strict=True) if not gone]
    if not present:
        return Column(Number(), np.full(len(values), np.nan), absent)
    if all(isinstance(entry, (bool, np.bool_)) for entry in present):
        filled = np.array([bool(entry) and not gone for entry, gone in zip(values, absent, strict=True)])
        return Column(Boolean(), filled, _mask(absent))
    if all(isinstance(entry, str) for entry in present):
        return _read_category(name, values, absent)
    if all(isinstance(entry, (int, float, np.number)) and not isinstance(entry, complex) for entry in present):
        numbers = np.array([np.nan if gone else float(e) for e, gone in zip(values, absent, strict=True)])
        return _infer_numeric(name, numbers, absent)
    if all(np.ndim(entry) > 0 for entry in present):
        return _stack(name, values, absent)
    kinds = sorted({type(entry).__name__ for entry in present})
    raise DataError(
        f"Column {name!r} mixes {', '.join(kinds)}; make its entries all strings, all numbers or all images "
        "(argument must be a string or a number)."
    )


def _stack(name: str, values: Array, absent: Array) -> Column:
    present = {np.shape(entry) for entry, gone in zip(values, absent, strict=True) if not gone}
    if len(present) > 1:
        shapes = ", ".join(map(str, sorted(present)[:4]))
        raise DataError(f"Column {name!r} is ragged: its entries have shapes {shapes}; give all one shape.")
    (shape,) = present
    first = next(np.asarray(entry) for entry, gone in zip(values, absent, strict=True) if not gone)
    stacked = np.zeros((len(values), *shape), dtype=first.dtype)
    for row, (entry, gone) in enumerate(zip(values, absent, strict=True)):
        if not gone:
            stacked[row] = np.asarray(entry)
    return Column(Tensor(tuple(shape)), stacked, _mask(absent))


def _is_absent(entry: Any) -> bool:
    if entry is None or type(entry).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(entry, (float, np.floating)) and bool(np.isnan(entry))


def _mask(missing: Array | None) -> Array | None:
    return missing if missing is not None and bool(missing.any()) else None


def _infer_numeric(name: str, values: Array, missing: Array | None) -> Column:
    numbers = values.astype(np.float64)
    absent = np.isnan(numbers) if missing is None else np.isnan(numbers) | missing
    present = numbers[~absent]
    if np.isinf(present).any():
        raise DataError(f"Column {name!r} contains infinity; replace it by a number or by NaN (missing).")
    if present.size and bool(np.isin(present, (0.0, 1.0)).all()):
        return Column(Boolean(), np.where(absent, 0.0, numbers) == 1.0, _mask(absent))
    return Column(Number(), numbers, _mask(absent))


def _label(name: str, label: Any) -> Value:
    if isinstance(label, str):
        return label
    if isinstance(label, (int, np.integer)) and not isinstance(label, bool):
        return int(label)
    raise DataError(f"Column {name!r} has the category {label!r}; categories are strings or whole numbers.")


def _read_category(name: str, values: Array, missing: Array | None) -> Column:
    absent = np.zeros(len(values), dtype=bool) if missing is None else missing
    labels = tuple(sorted({str(entry) for entry, gone in zip(values, absent, strict=True) if not gone}))
    index = {label: code for code, label in enumerate(labels)}
    codes = [0 if gone else index[str(entry)] for entry, gone in zip(values, absent, strict=True)]
    return Column(Category(labels), np.array(codes, dtype=np.int64), _mask(absent))


def _read_tensor(name: str, values: Array, missing: Array | None) -> Column:
    if not (np.issubdtype(values.dtype, np.number) or values.dtype == bool):
        raise DataError(f"Column {name!r} is a tensor of {values.dtype}; networks read numbers.")
    if values.size == 0 and len(values):
        raise DataError(f"Column {name!r} has tensors of shape {values.shape[1:]}, which hold nothing.")
    # A memory-mapped column may be larger than memory, so its entries are looked at batch by batch only.
    if np.issubdtype(values.dtype, np.floating) and not isinstance(values, np.memmap):
        holes = np.isnan(values).reshape(len(values), -1)
        absent = holes.all(axis=1)
        torn = np.flatnonzero(holes.any(axis=1) & ~absent)
        if torn.size:
            raise DataError(
                f"Column {name!r} has some NaN in row {torn[0]}; fill them, or make the whole entry NaN (missing)."
            )
        missing = absent if missing is None else missing | absent
    return Column(Tensor(tuple(values.shape[1:])), values, _mask(missing))


def _read_distribution(name: str, values: Array, missing: Array | None, declared: Declared) -> Column:
    if declared == "distribution":
        raise DataError(f"Column {name!r} needs the names of its values: kinds={{{name!r}: Distribution((…))}}.")
    if isinstance(declared, Distribution):
        kind = declared
    elif not isinstance(declared, str) and isinstance(declared, Sequence):
        kind = Distribution(tuple(declared))
    else:
        raise DataError(f"Column {name!r} of shape {values.shape} cannot be read as {_spoken(declared)}.")
    if values.ndim != 2 or values.shape[1] != len(kind.values):
        raise DataError(f"Column {name!r} has shape {values.shape}; {len(kind.values)} named values need (n, {len(kind.values)}).")
    rows = values.astype(np.float64)
    absent = np.isnan(rows).any(axis=1)
    if missing is not None:
        absent |= missing
    rows = np.where(absent[:, None], 1.0 / rows.shape[1], rows)
    total = rows.sum(axis=1)
    wrong = np.flatnonzero((rows < 0).any(axis=1) | (np.abs(total - 1.0) > 1e-3))
    if wrong.size:
        raise DataError(
            f"Column {name!r} is no distribution in row {wrong[0]} (it sums to {total[wrong[0]]:.4g}); "
            "give non-negative numbers that sum to 1."
        )
    return Column(kind, rows / total[:, None], _mask(absent))


def _spoken(declared: Declared) -> str:
    return repr(declared) if isinstance(declared, str) else str(declared)


def _declare(name: str, column: Column, declared: Declared | None) -> Column:
    """The column as the caller declared it."""
    if declared is None:
        return column
    if isinstance(declared, str):
        if declared not in _BY_NAME:
            raise DataError(f"Column {name!r} is declared {declared!r}, no kind we know.{did_you_mean(declared, _BY_NAME)}")
        if declared == "category" and not isinstance(column.kind, Category):
            return _numbers_as_category(name, column)
        simple: dict[str, Kind] = {"boolean": Boolean(), "probability": Probability(), "number": Number()}
        kind = simple.get(declared, column.kind)
        if kind is column.kind and kind_name(kind) != declared:
            raise DataError(f"Column {name!r} is declared {declared!r} and holds a {kind_name(column.kind)}.")
    elif isinstance(declared, (Boolean, Probability, Number, Category, Distribution, Tensor)):
        kind = declared
    else:
        raise DataError(f"Column {name!r} is declared {declared!r}; use a kind such as 'category' or Distribution((…)).")
    unseen: dict[str, list[Value]] = {}
    converted = _convert(name, column, kind, unseen)
    if unseen:
        raise DataError(f"Column {name!r} has the value {unseen[name][0]!r}, which its declared category does not name.")
    return converted


def _numbers_as_category(name: str, column: Column) -> Column:
    if not isinstance(column.kind, (Number, Boolean)):
        raise DataError(f"Column {name!r} is declared 'category' and holds a {kind_name(column.kind)}.")
    numbers = column.values.astype(np.float64)
    present = numbers if column.missing is None else numbers[~column.missing]
    if (present != np.round(present)).any():
        raise DataError(f"Column {name!r} is declared 'category' and holds fractions; categories are strings or whole numbers.")
    labels = np.unique(present)
    codes = np.searchsorted(labels, np.where(np.isnan(numbers), labels[0] if labels.size else 0.0, numbers))
    return Column(Category(tuple(int(label) for label in labels)), codes.astype(np.int64), column.missing)


def _convert(name: str, column: Column, kind: Kind, unseen: dict[str, list[Value]]) -> Column:
    """The column read as another kind, where that loses nothing."""
    if column.kind == kind:
        return column
    gone = column.missing
    if gone is not None and bool(gone.all()) and not isinstance(kind, Tensor):
        return _all_missing(kind, len(column), gone)
    match column.kind, kind:
        case (Boolean(), Number() | Probability()):
            return Column(kind, column.values.astype(np.float64), gone)
        case (Number(), Boolean() | Probability()):
            return _squeeze_number(name, column, kind)
        case (Category(), Category()):
            return _recode(name, column, kind, unseen)
        case (Number() | Boolean(), Category()):
            return _recode(name, _numbers_as_category(name, column), kind, unseen)
        case (Tensor(found), Tensor(wanted)):
            raise DataError(f"Column {name!r} has tensors of shape {found}; {wanted} is needed.")
        case (found_kind, _):
            raise DataError(f"Column {name!r} is a {kind_name(found_kind)}; a {kind_name(kind)} is needed.")


def _all_missing(kind: Kind, length: int, gone: Array) -> Column:
    match kind:
        case Boolean():
            return Column(kind, np.zeros(length, dtype=bool), gone)
        case Category():
            return Column(kind, np.zeros(length, dtype=np.int64), gone)
        case Distribution(values):
            return Column(kind, np.full((length, len(values)), 1.0 / len(values)), gone)
        case _:
            return Column(kind, np.full(length, np.nan), gone)


def _squeeze_number(name: str, column: Column, kind: Boolean | Probability) -> Column:
    gone = np.zeros(len(column), dtype=bool) if column.missing is None else column.missing
    allowed = (column.values >= 0.0) & (column.values <= 1.0)
    if isinstance(kind, Boolean):
        allowed &= np.isin(column.values, (0.0, 1.0))
    wrong = np.flatnonzero(~allowed & ~gone)
    if wrong.size:
        needed = "0 or 1" if isinstance(kind, Boolean) else "a probability in [0, 1]"
        raise DataError(f"Column {name!r} has {column.values[wrong[0]]:g} in row {wrong[0]}; {needed} is needed.")
    values = np.where(gone, 0.0, column.values)
    return Column(kind, values == 1.0 if isinstance(kind, Boolean) else values, column.missing)


def _recode(name: str, column: Column, kind: Category, unseen: dict[str, list[Value]]) -> Column:
    assert isinstance(column.kind, Category)
    places = {value: code for code, value in enumerate(kind.domain)}
    other = places[OTHER]
    table = np.array([places.get(value, other) for value in column.kind.domain], dtype=np.int64)
    present = column.values if column.missing is None else column.values[~column.missing]
    strange = [column.kind.domain[code] for code in np.unique(present) if column.kind.domain[code] not in places]
    if strange:
        unseen[name] = strange
    return Column(kind, table[column.values], column.missing)
