"""Where do entries lie that memory cannot hold? In a store, from which they are fetched a few at a time."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from neuid3.errors import DataError, RowError

Array: TypeAlias = npt.NDArray[Any]
Rows: TypeAlias = npt.NDArray[np.intp]

# How many entries are fetched at a time where all of them must be seen.
FETCHED = 512

# So much of a mapped file may stay in memory after it was read. The kernel maps what lies around a byte as well.
LET_GO, AROUND = 1 << 26, 1 << 16


@runtime_checkable
class Store(Protocol):
    """Where the entries of a tensor column lie: how many they are, what one looks like, and how some are had.

    Its entries stay what they are. A store that is pickled, as for workers, should carry the way there and not the entries.
    One that has an attribute `missing`, a mask, says by it which entries are not there.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of entries, then the shape of each."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers in an entry; bytes are read as fractions of 255."""
        ...

    def fetch(self, rows: Rows) -> Array:
        """The entries in these rows, in this order, as an array of its own."""
        ...


class Entries:
    """Rows of a store. Choosing among them fetches nothing; a single one, or `fetch`, or becoming an array does."""

    __slots__ = ("rows", "store")

    def __init__(self, store: Store, rows: range | Rows | None = None) -> None:
        self.store = store
        self.rows = range(store.shape[0]) if rows is None else rows

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.rows), *self.store.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.store.dtype

    @property
    def ndim(self) -> int:
        return len(self.store.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=object))

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Entries({type(self.store).__name__}, shape={self.shape}, dtype={self.dtype})"

    def __getitem__(self, key: Any) -> Any:
        """An entry where `key` is a number; otherwise rows, which are not fetched."""
        if isinstance(key, (int, np.integer)):
            return self.fetch(np.array([range(len(self))[key]]))[0]
        if isinstance(key, slice):
            return Entries(self.store, self.rows[key])
        return Entries(self.store, self._chosen(np.asarray(key)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("entries that lie elsewhere cannot become an array without a copy")
        whole = np.empty(self.shape, self.dtype)
        for start, block in zip(range(0, len(self), FETCHED), self.blocks(), strict=True):
            whole[start : start + FETCHED] = block
        return whole.astype(dtype or self.dtype, copy=False)

    def fetch(self, places: Rows) -> Array:
        """The entries in these places, in this order."""
        rows = self._chosen(places)
        found = self.store.fetch(rows)
        if found.shape != (len(rows), *self.shape[1:]) or found.dtype != self.dtype:
            raise DataError(
                f"{type(self.store).__name__}.fetch returned {found.dtype} of shape {found.shape} for {len(rows)} rows; "
                f"{self.dtype} of shape {(len(rows), *self.shape[1:])} is needed."
            )
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            wrong = rows[~np.isfinite(found.reshape(len(rows), -1)).all(axis=1)][0]
            raise DataError(
                f"Row {wrong} of {self.store} holds NaN or infinity, which is found out only now that it is read; "
                "replace it, leave the row out, or read the column into memory, where an entry of NaN is missing."
            )
        return found

    def blocks(self) -> Iterator[Array]:
        """All entries, some at a time."""
        for start in range(0, len(self), FETCHED):
            yield self.fetch(np.arange(start, min(start + FETCHED, len(self))))

    def _chosen(self, places: Array) -> Rows:
        """The rows of the store that these places are."""
        if places.dtype == bool:
            places = np.flatnonzero(places)
        if not len(places):
            return np.zeros(0, dtype=np.intp)
        if int(places.min()) < 0:
            places = np.where(places < 0, places + len(self), places)
        if int(places.min()) < 0 or int(places.max()) >= len(self):
            beyond = places[(places < 0) | (places >= len(self))][0]
            raise RowError(f"There is no row {beyond}; the column has {len(self)} entries, counted from 0.")
        if not isinstance(self.rows, range):
            return self.rows[places]
        if self.rows.start == 0 and self.rows.step == 1:
            return places
        return self.rows.start + self.rows.step * places


class Mapped:
    """The entries of a memory-mapped file. What was read of it is let go again, so that memory does not fill up."""

    def __init__(self, array: np.memmap[Any, Any]) -> None:
        self.array = array
        self._held = 0

    def __str__(self) -> str:
        return f"the memory-mapped file {getattr(self.array, 'filename', None) or ''}".rstrip()

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        found: np.dtype[Any] = self.array.dtype
        return found

    def fetch(self, rows: Rows) -> Array:
        found = np.array(self.array[rows])
        self._held += len(rows) * max(found.nbytes // max(len(rows), 1), AROUND)
        if self._held > LET_GO:
            self._let_go()
        return found

    def _let_go(self) -> None:
        """Give pages back that are also on disk; changes that only this process sees would be lost, and are kept."""
        self._held = 0
        pages: Any = getattr(self.array, "_mmap", None)
        if self.array.mode != "c" and hasattr(pages, "madvise"):
            pages.madvise(mmap.MADV_DONTNEED)

    def __reduce__(self) -> tuple[Any, ...]:
        """The way to the file, where there is one."""
        pages, path = getattr(self.array, "_mmap", None), getattr(self.array, "filename", None)
        if pages is None or path is None or self.array.mode == "c" or not self.array.flags.c_contiguous:
            return Mapped, (self.array,)
        begin = np.frombuffer(pages, dtype=np.uint8).__array_interface__["data"][0]
        before = self.array.offset - self.array.offset % mmap.ALLOCATIONGRANULARITY
        offset = before + self.array.__array_interface__["data"][0] - begin
        return _mapped, (str(path), self.array.dtype.str, offset, self.array.shape)


def _mapped(path: str, dtype: str, offset: int, shape: tuple[int, ...]) -> Mapped:
    return Mapped(np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape))


class Items:
    """The entries of a map-style dataset, as `torch.utils.data.Dataset` is one: of each item, the first part.

    The first item tells the shape and the type of all.
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        try:
            length = len(dataset)
        except (TypeError, NotImplementedError):
            raise DataError(
                f"A column needs a length, and {self} has none; give one with __len__ and __getitem__."
            ) from None
        first = self._item(0) if length else np.zeros(0)
        self._shape, self._dtype = (length, *first.shape), first.dtype

    def __str__(self) -> str:
        return f"the dataset {type(self.dataset).__name__}"

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    def _item(self, row: int) -> Array:
        item = self.dataset[row]
        return np.asarray(off_torch(item[0] if isinstance(item, tuple) else item))

    def fetch(self, rows: Rows) -> Array:
        found = np.empty((len(rows), *self.shape[1:]), self.dtype)
        for place, row in enumerate(rows.tolist()):
            item = self._item(row)
            if item.shape != self.shape[1:] or item.dtype != self.dtype:
                raise DataError(
                    f"Row {row} of {self} is {item.dtype} of shape {item.shape}, and row 0 is {self.dtype} of shape "
                    f"{self.shape[1:]}; give all one shape and one type."
                )
            found[place] = item
        return found


class Joined:
    """Entries of several columns, one below the other, each left where it is."""

    def __init__(self, parts: Sequence[Array | Entries]) -> None:
        self.parts = tuple(parts)
        self.starts = np.cumsum([0, *(len(part) for part in parts)])

    @property
    def shape(self) -> tuple[int, ...]:
        return (int(self.starts[-1]), *self.parts[0].shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(*(part.dtype for part in self.parts))

    def fetch(self, rows: Rows) -> Array:
        found = np.empty((len(rows), *self.shape[1:]), self.dtype)
        for start, part in zip(self.starts, self.parts, strict=False):
            mine = (rows >= start) & (rows < start + len(part))
            if mine.any():
                found[mine] = _beside(fetched(part, rows[mine] - start), self.dtype)
        return found


def fetched(values: Array | Entries, rows: Rows) -> Array:
    """These rows as an array, wherever they lie."""
    return values.fetch(rows) if isinstance(values, Entries) else values[rows]


def stacked(parts: Sequence[Array | Entries]) -> Array | Entries:
    """Entries one below the other: an array where all of them are arrays."""
    if any(isinstance(part, Entries) for part in parts):
        return Entries(Joined(parts))
    whole = np.result_type(*(part.dtype for part in parts))
    return np.concatenate([_beside(cast("Array", part), whole) for part in parts])


def _beside(values: Array, whole: np.dtype[Any]) -> Array:
    """Entries as they are beside others: bytes are read as fractions of 255, and so they are among floats."""
    return values / whole.type(255) if values.dtype == np.uint8 and whole.kind == "f" else values


def extremes(values: Array | Entries) -> tuple[float, float]:
    """The least and the largest number, NaN aside."""
    blocks = values.blocks() if isinstance(values, Entries) else [values]
    found = [(float(np.nanmin(block)), float(np.nanmax(block))) for block in blocks]
    return min(low for low, _ in found), max(high for _, high in found)


def store_of(values: Any) -> Store | None:
    """The store that something is, or that can be made of it; None where it is none."""
    if isinstance(values, (np.ndarray, list)):
        return None
    if isinstance(values, Store):
        return values
    # Known by name: a table of facts must not wait for torch to be imported.
    named = ((kind.__module__, kind.__name__) for kind in type(values).__mro__)
    return Items(values) if ("torch.utils.data.dataset", "Dataset") in named else None


def off_torch(values: Any) -> Any:
    """A torch tensor as an array, without importing torch; anything else as it is."""
    if not (hasattr(values, "detach") and hasattr(values, "cpu")):
        return values
    plain = values.detach().cpu()
    return np.asarray(plain.float() if "bfloat16" in str(plain.dtype) else plain)  # numpy has no bfloat16
