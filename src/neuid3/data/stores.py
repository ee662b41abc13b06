"""Stores of tensor columns that do not fit in memory, from which entries are fetched in batches."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from neuid3.errors import DataError, RowError

Array: TypeAlias = npt.NDArray[Any]
Rows: TypeAlias = npt.NDArray[np.intp]

# The number of entries fetched at a time where all of them are read.
FETCH_ROWS = 512

# Pages of a mapped file are released once this many bytes have been read. The kernel maps neighbouring pages of each read as
# well, which counts as the second number.
RELEASE_BYTES, READ_AHEAD_BYTES = 1 << 26, 1 << 16


@runtime_checkable
class Store(Protocol):
    """The entries of a tensor column outside of memory: their shape and dtype, and a method to fetch some of them.

    Entries do not change. A store that is pickled, as for workers, should hold the path to its entries, not the entries
    themselves. An optional attribute `missing` is the mask of missing entries.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of entries, then the shape of each."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of an entry; bytes are read as fractions of 255."""
        ...

    def fetch(self, rows: Rows) -> Array:
        """The entries in these rows, in this order, as a new array."""
        ...


class StoredRows:
    """Rows of a store, selected without fetching; `entries[i]`, `fetch` and conversion to an array do fetch.

    Attributes
    ----------
    store : the store.
    rows : the selected rows of the store.
    """

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

    @property
    def is_image(self) -> bool:
        """Whether its entries may be images, which can be shifted; a store says otherwise by its attribute `is_image`."""
        return self.ndim in (3, 4) and bool(getattr(self.store, "is_image", True))

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"StoredRows({type(self.store).__name__}, shape={self.shape}, dtype={self.dtype})"

    def __getitem__(self, key: Any) -> Any:
        """The entry at an integer index, fetched; otherwise a selection of rows, not fetched."""
        if isinstance(key, (int, np.integer)):
            return self.fetch(np.array([range(len(self))[key]]))[0]
        if isinstance(key, slice):
            return StoredRows(self.store, self.rows[key])
        return StoredRows(self.store, self._store_rows(np.asarray(key)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("entries of a store cannot become an array without a copy")
        values = np.empty(self.shape, self.dtype)
        for start, block in zip(range(0, len(self), FETCH_ROWS), self.blocks(), strict=True):
            values[start : start + FETCH_ROWS] = block
        return values.astype(dtype or self.dtype, copy=False)

    def fetch(self, indices: Rows) -> Array:
        """The entries at these indices, in this order.

        Raises
        ------
        DataError
            Where the store returns entries of another shape or dtype, or numbers that are not finite.
        """
        rows = self._store_rows(indices)
        entries = self.store.fetch(rows)
        if entries.shape != (len(rows), *self.shape[1:]) or entries.dtype != self.dtype:
            raise DataError(
                f"{type(self.store).__name__}.fetch returned {entries.dtype} of shape {entries.shape} for {len(rows)} rows; "
                f"{self.dtype} of shape {(len(rows), *self.shape[1:])} is needed."
            )
        if entries.dtype.kind == "f" and not np.isfinite(entries).all():
            invalid = rows[~np.isfinite(entries.reshape(len(rows), -1)).all(axis=1)][0]
            raise DataError(
                f"Row {invalid} of {self.store} holds NaN or infinity, which is checked only when it is read; "
                "replace it, leave the row out, or read the column into memory, where an entry of NaN is missing."
            )
        return entries

    def blocks(self) -> Iterator[Array]:
        """All entries, in batches of `FETCH_ROWS`."""
        for start in range(0, len(self), FETCH_ROWS):
            yield self.fetch(np.arange(start, min(start + FETCH_ROWS, len(self))))

    def _store_rows(self, indices: Array) -> Rows:
        """The rows of the store at these indices of the selection."""
        if indices.dtype == bool:
            indices = np.flatnonzero(indices)
        if not len(indices):
            return np.zeros(0, dtype=np.intp)
        if int(indices.min()) < 0:
            indices = np.where(indices < 0, indices + len(self), indices)
        if int(indices.min()) < 0 or int(indices.max()) >= len(self):
            out_of_range = indices[(indices < 0) | (indices >= len(self))][0]
            raise RowError(f"There is no row {out_of_range}; the column has {len(self)} entries, counted from 0.")
        if not isinstance(self.rows, range):
            return self.rows[indices]
        if self.rows.start == 0 and self.rows.step == 1:
            return indices
        return self.rows.start + self.rows.step * indices


class MappedStore:
    """The entries of a memory-mapped file; pages that were read are released, so that they do not fill the memory."""

    def __init__(self, array: np.memmap[Any, Any]) -> None:
        self.array = array
        self._unreleased = 0

    def __str__(self) -> str:
        return f"the memory-mapped file {getattr(self.array, 'filename', None) or ''}".rstrip()

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.array.dtype
        return dtype

    def fetch(self, rows: Rows) -> Array:
        entries = np.array(self.array[rows])
        self._unreleased += len(rows) * max(entries.nbytes // max(len(rows), 1), READ_AHEAD_BYTES)
        if self._unreleased > RELEASE_BYTES:
            self._release_pages()
        return entries

    def _release_pages(self) -> None:
        """Release pages that are backed by the file; those of a copy-on-write mapping may hold changes, and stay."""
        self._unreleased = 0
        pages: Any = getattr(self.array, "_mmap", None)
        if self.array.mode != "c" and hasattr(pages, "madvise"):
            pages.madvise(mmap.MADV_DONTNEED)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path and offset of the file where there is one, and otherwise the array."""
        pages, path = getattr(self.array, "_mmap", None), getattr(self.array, "filename", None)
        if pages is None or path is None or self.array.mode == "c" or not self.array.flags.c_contiguous:
            return MappedStore, (self.array,)
        begin = np.frombuffer(pages, dtype=np.uint8).__array_interface__["data"][0]
        before = self.array.offset - self.array.offset % mmap.ALLOCATIONGRANULARITY
        offset = before + self.array.__array_interface__["data"][0] - begin
        return _open_mapped, (str(path), self.array.dtype.str, offset, self.array.shape)


def _open_mapped(path: str, dtype: str, offset: int, shape: tuple[int, ...]) -> MappedStore:
    return MappedStore(np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape))


class DatasetStore:
    """The entries of a map-style dataset such as `torch.utils.data.Dataset`: the first element of each item.

    The shape and dtype are those of the first item.
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        try:
            length = len(dataset)
        except (TypeError, NotImplementedError):
            raise DataError(
                f"A column needs a length, and {self} has none; give a dataset with __len__ and __getitem__."
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
        return np.asarray(torch_to_numpy(item[0] if isinstance(item, tuple) else item))

    def fetch(self, rows: Rows) -> Array:
        entries = np.empty((len(rows), *self.shape[1:]), self.dtype)
        for index, row in enumerate(rows.tolist()):
            item = self._item(row)
            if item.shape != self.shape[1:] or item.dtype != self.dtype:
                raise DataError(
                    f"Row {row} of {self} is {item.dtype} of shape {item.shape}, and row 0 is {self.dtype} of shape "
                    f"{self.shape[1:]}; give all items one shape and one dtype."
                )
            entries[index] = item
        return entries


class ConcatenatedStore:
    """The entries of several columns in sequence, without copying them."""

    def __init__(self, parts: Sequence[Array | StoredRows]) -> None:
        self.parts = tuple(parts)
        self.starts = np.cumsum([0, *(len(part) for part in parts)])

    @property
    def shape(self) -> tuple[int, ...]:
        return (int(self.starts[-1]), *self.parts[0].shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(*(part.dtype for part in self.parts))

    @property
    def is_image(self) -> bool:
        return all(getattr(part, "is_image", True) for part in self.parts)

    def fetch(self, rows: Rows) -> Array:
        entries = np.empty((len(rows), *self.shape[1:]), self.dtype)
        for start, part in zip(self.starts, self.parts, strict=False):
            in_part = (rows >= start) & (rows < start + len(part))
            if in_part.any():
                entries[in_part] = _rescale_bytes(fetch_rows(part, rows[in_part] - start), self.dtype)
        return entries


def fetch_rows(values: Array | StoredRows, rows: Rows) -> Array:
    """These rows as an array, fetched where they are in a store."""
    return values.fetch(rows) if isinstance(values, StoredRows) else values[rows]


def stored_entries(values: Any) -> Array:
    """The entries as they were given, before the store turns them into numbers for networks: texts, or series with gaps."""
    if not isinstance(values, StoredRows):
        return np.asarray(values)
    rows = np.asarray(values.rows, dtype=np.intp)
    if not isinstance(values.store, ConcatenatedStore):
        return cast("Array", cast("Any", values.store).entries[rows])
    parts = [stored_entries(part) for part in values.store.parts]
    if parts[0].ndim == 3:  # series: shorter ones end in gaps
        steps = max(part.shape[2] for part in parts)
        widths = [[(0, 0), (0, 0), (0, steps - part.shape[2])] for part in parts]
        parts = [np.pad(part, width, constant_values=np.nan) for part, width in zip(parts, widths, strict=True)]
    return np.concatenate(parts)[rows]


def concatenate(parts: Sequence[Array | StoredRows]) -> Array | StoredRows:
    """Entries in sequence: an array where all parts are arrays, and entries of a store otherwise."""
    if any(isinstance(part, StoredRows) for part in parts):
        return StoredRows(ConcatenatedStore(parts))
    dtype = np.result_type(*(part.dtype for part in parts))
    return np.concatenate([_rescale_bytes(cast("Array", part), dtype) for part in parts])


def _rescale_bytes(values: Array, dtype: np.dtype[Any]) -> Array:
    """Entries to be combined with others in this dtype: among floats, bytes become fractions of 255."""
    return values / dtype.type(255) if values.dtype == np.uint8 and dtype.kind == "f" else values


def as_store(values: Any) -> Store | None:
    """The values as a store; None where they are neither a store nor a torch dataset."""
    if isinstance(values, (np.ndarray, list)):
        return None
    if isinstance(values, Store):
        return values
    # Datasets are recognized by the name of their class: a symbolic table must not import torch.
    bases = ((kind.__module__, kind.__name__) for kind in type(values).__mro__)
    return DatasetStore(values) if ("torch.utils.data.dataset", "Dataset") in bases else None


def torch_to_numpy(values: Any) -> Any:
    """A torch tensor as a NumPy array, without importing torch; anything else unchanged."""
    if not (hasattr(values, "detach") and hasattr(values, "cpu")):
        return values
    plain = values.detach().cpu()
    return np.asarray(plain.float() if "bfloat16" in str(plain.dtype) else plain)  # NumPy has no bfloat16
