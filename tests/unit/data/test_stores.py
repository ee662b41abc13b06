"""Tensor columns that lie elsewhere: the same trees as in memory, a few entries at a time."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from image_stores import Counting, Pairs, filed, mapped, pictures
from PIL import Image

import neuid3.data.reading.pictures
from neuid3 import Examples, ImageFiles, read_table
from neuid3.data.columns import read_column
from neuid3.data.stores import ConcatenatedStore, MappedStore, StoredRows, fetch_rows
from neuid3.errors import DataError, MissingFileError, RowError
from neuid3.learning.checkpoint import fit_digests
from neuid3.networks.augmentation import Augmentation, InputColumns


# The same as in memory ------------------------------------------------------------------------------
def test_input_columns_read_the_same_of_both() -> None:
    rng = np.random.default_rng(0)
    still = Augmentation.identity(5)
    moved = Augmentation(still.down + 1, still.right - 1, still.grayscale)
    for values in (
        rng.integers(0, 256, (9, 8, 8)).astype(np.uint8),
        rng.integers(0, 256, (9, 3, 8, 8)).astype(np.uint8),
        rng.random((9, 8, 8)).astype(np.float32),
        rng.random((9, 5)),
    ):
        rows = torch.tensor([8, 1, 1, 0, 5])
        columns = InputColumns({"c": values}), InputColumns({"c": StoredRows(Counting(values))})  # type: ignore[dict-item]
        for augmentation in (None, still, moved):
            seen = [torch.empty(5, *values.shape[1:]) for _ in columns]
            for column, to in zip(columns, seen, strict=True):
                column.read("c", rows, to, augmentation)
            assert torch.equal(*seen)


# A few at a time ------------------------------------------------------------------------------------
def test_choosing_rows_fetches_nothing() -> None:
    store = Counting(np.zeros((50, 3, 3), dtype=np.uint8))
    X = Examples({"image": store})
    assert X.concatenate(X)[::2][np.arange(50) % 3 == 0][[1, -1]].conform(X.schema).shape == (2, 1)
    assert store.all == 0


@given(st.data())
def test_rows_are_chosen_as_numpy_chooses_them(data: st.DataObject) -> None:
    held = np.arange(60).reshape(20, 3)
    values: Any = StoredRows(Counting(held))
    if data.draw(st.booleans()):
        held, values = np.concatenate((held, held + 60)), StoredRows(ConcatenatedStore((values, held + 60)))
    for _ in range(data.draw(st.integers(0, 3))):
        n = len(held)
        row = st.integers(-n, n - 1)
        keys = [st.slices(n)]
        if n:
            keys += [st.lists(row, max_size=9).map(lambda rows: np.array(rows, dtype=np.intp))]
            keys += [st.lists(st.booleans(), min_size=n, max_size=n).map(lambda mask: np.array(mask, dtype=bool))]
        key = data.draw(st.one_of(keys))
        held, values = held[key], values[key]
    assert values.shape == held.shape
    assert values.size == held.size
    np.testing.assert_array_equal(np.asarray(values), held)
    for row in range(-len(held), len(held)):
        np.testing.assert_array_equal(values[row], held[row])
    for beyond in (len(held), -len(held) - 1):
        with pytest.raises(IndexError):
            values[beyond]
        with pytest.raises(RowError, match="no row"):
            values[[beyond]]


@pytest.mark.parametrize("rows", [slice(None), slice(700, 900), slice(3, 900, 7)])
def test_a_mapped_column_travels_as_the_way_to_its_file(tmp_path: Path, rows: slice) -> None:
    images = np.random.default_rng(0).integers(0, 256, (1000, 16, 16)).astype(np.uint8)
    X = Examples({"image": mapped(images, tmp_path)[700:] if rows.start == 700 else mapped(images, tmp_path)})[rows]
    sent = pickle.dumps(X)
    assert len(sent) < 2000
    expected = images[700:][rows] if rows.start == 700 else images[rows]
    np.testing.assert_array_equal(np.asarray(pickle.loads(sent).column("image").values), expected)


def test_a_mapped_column_that_cannot_be_found_again_travels_whole(tmp_path: Path) -> None:
    images = np.arange(90, dtype=np.uint8).reshape(10, 3, 3)
    np.save(tmp_path / "x.npy", images)
    private = np.load(tmp_path / "x.npy", mmap_mode="c")
    private[4] = 7  # on no disk
    for array in (private, private[::2], mapped(images, tmp_path)[::3]):
        unpickled = pickle.loads(pickle.dumps(MappedStore(array)))
        np.testing.assert_array_equal(unpickled.fetch(np.arange(len(array))), array)


def test_what_was_changed_in_a_private_map_is_not_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "x.npy", np.zeros((10, 3, 3), dtype=np.uint8))
    monkeypatch.setattr("neuid3.data.stores.RELEASE_BYTES", 0)
    for mode in ("c", "r+"):
        array = np.load(tmp_path / "x.npy", mmap_mode=mode)
        array[4] = 7
        store = MappedStore(array)
        for _ in range(3):
            assert store.fetch(np.array([4]))[0, 0, 0] == 7


def test_a_checkpoint_does_not_ask_where_a_column_lies(tmp_path: Path) -> None:
    images, fact, _ = pictures(1100)
    values = [
        fit_digests({}, dict(Examples({"image": column, "fact": fact}).items()))
        for column in (images, mapped(images, tmp_path), Pairs(images), np.roll(images, 1))
    ]
    assert values[0] == values[1] == values[2] != values[3]


# Files of images ------------------------------------------------------------------------------------
def test_image_files_are_read_as_tables_read_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    names = [f"{row}.{'png' if row % 2 else 'jpg'}" for row in range(6)]
    for row, name in enumerate(names):
        Image.fromarray(rng.integers(0, 256, (9 + row, 12, 3)).astype(np.uint8)).save(tmp_path / name)
    (tmp_path / "t.csv").write_text("photo,fact\n" + "".join(f"{name},yes\n" for name in [*names[:3], "", *names[3:]]))
    held = read_table(tmp_path / "t.csv").examples.column("photo")
    monkeypatch.setattr(neuid3.data.reading.pictures, "MAX_IMAGE_BYTES", 0)
    lazily = read_table(tmp_path / "t.csv").examples.column("photo")
    files = read_column("photo", ImageFiles([None if n == "" else tmp_path / n for n in [*names[:3], "", *names[3:]]]))
    for column in (lazily, files):
        assert isinstance(column.values, StoredRows)
        assert column.kind == held.kind
        np.testing.assert_array_equal(column.missing, held.missing)
        np.testing.assert_array_equal(np.asarray(column.values), held.values)
        np.testing.assert_array_equal(np.asarray(column.take([5, 3]).values), held.values[[5, 3]])


def test_size_and_colour_can_be_chosen(tmp_path: Path) -> None:
    files = filed(np.zeros((3, 8, 9), dtype=np.uint8), tmp_path)
    assert files.shape == (3, 8, 9)
    assert repr(files) == "ImageFiles(3 files; 9 × 8, grey)"
    assert ImageFiles(tmp_path, size=(4, 5)).shape == (3, 4, 5)
    assert ImageFiles(str(tmp_path), colour=True).shape == (3, 3, 8, 9)
    assert ImageFiles([None], size=(4, 5), colour=True).shape == (1, 3, 4, 5)


# What goes wrong ------------------------------------------------------------------------------------
class Uneven(Pairs):
    def __getitem__(self, row: int) -> Any:
        return self.images[row][: 8 if row < 5 else 7]


class Endless(torch.utils.data.IterableDataset):
    def __iter__(self) -> Any:
        return iter(())


def with_nan() -> np.ndarray:
    images = np.ones((9, 3, 3), dtype=np.float32)
    images[6, 1, 1] = np.nan
    return images


class Liar(Counting):
    def fetch(self, rows: np.ndarray) -> np.ndarray:
        return super().fetch(rows).astype(np.float64)


class Forgetful(Counting):
    missing = np.zeros(2, dtype=bool)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (lambda _: Uneven(pictures(9)[0]), r"Row 5 of the dataset Uneven is uint8 of shape \(7, 8\)"),
        (lambda _: Endless(), "the dataset Endless has none"),
        (lambda _: Counting(np.arange(4)), "has scalar entries"),
        (lambda _: Pairs(np.zeros((4, 0, 2))), "which are empty"),
        (lambda _: Counting(np.zeros((4, 2, 2), dtype=complex)), "a tensor of complex128"),
        (lambda _: Forgetful(np.zeros((4, 2, 2))), "a mask of 2 missing ones"),
        (lambda _: Liar(np.zeros((4, 2, 2), dtype=np.uint8)), "Liar.fetch returned float64"),
        (lambda folder: mapped(with_nan(), folder), r"Row 6 of the memory-mapped file .*images\.npy holds NaN"),
        (lambda _: Pairs(with_nan()), "Row 6 of the dataset Pairs holds NaN or infinity"),
        (lambda _: ImageFiles([]), "There is no image file to take the size from"),
        (lambda _: ImageFiles([None]), "There is no image file to take the size from"),
    ],
)
def test_what_is_wrong_elsewhere_is_reported(column: Callable[[Path], Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        np.asarray(read_column("image", column(tmp_path)).values)


def test_files_that_are_not_there_are_reported(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="contains no image file"):
        ImageFiles(tmp_path)
    with pytest.raises(MissingFileError, match="is not a folder"):
        ImageFiles(tmp_path / "nowhere")
    with pytest.raises(MissingFileError, match=r"x\.png' of row 1 does not exist"):
        ImageFiles([None, tmp_path / "x.png"])


def test_a_kind_that_does_not_fit_is_reported() -> None:
    with pytest.raises(DataError, match="is declared 'category' and holds a tensor"):
        read_column("image", Counting(np.zeros((4, 2, 2))), "category")


def test_an_array_without_a_copy_cannot_be_had() -> None:
    with pytest.raises(ValueError, match="without a copy"):
        StoredRows(Counting(np.zeros((4, 2)))).__array__(copy=False)


def test_rows_are_fetched_wherever_they_lie() -> None:
    values = np.arange(8).reshape(4, 2)
    for where in (values, StoredRows(Counting(values))):
        np.testing.assert_array_equal(fetch_rows(where, np.array([3, 0])), values[[3, 0]])
