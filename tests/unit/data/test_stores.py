"""Tensor columns that lie elsewhere: the same trees as in memory, a few entries at a time."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import neuid3.data.reading.pictures
from neuid3 import Examples, ImageFiles, NeuID3Classifier, evidence_page, load, plot_tree, read_table
from neuid3.data.columns import read_column
from neuid3.data.stores import ConcatenatedStore, Entries, MappedStore, fetch_rows
from neuid3.errors import DataError, MissingFileError, RowError
from neuid3.learning.checkpoint import fit_digests
from neuid3.networks.augmentation import Augmentation, InputColumns

N = 240


class Counting:
    """A store of one's own, which remembers how many entries it was asked for at once, and how many in all."""

    def __init__(self, held: np.ndarray) -> None:
        self.held, self.most, self.all = held, 0, 0

    @property
    def shape(self) -> tuple[int, ...]:
        return self.held.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.held.dtype

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        self.most, self.all = max(self.most, len(rows)), self.all + len(rows)
        return self.held[rows]


class Pairs(torch.utils.data.Dataset):
    """A dataset of images with something else."""

    def __init__(self, images: np.ndarray) -> None:
        self.images = images

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, row: int) -> tuple[torch.Tensor, int]:
        return torch.from_numpy(self.images[row]), row


def pictures(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images that are bright or dark, a fact, and a class that needs both."""
    rng = np.random.default_rng(seed)
    bright, fact = rng.random((2, n)) < 0.5
    images = (rng.integers(0, 150, (n, 8, 8)) + 100 * bright[:, None, None]).astype(np.uint8)
    return images, fact, np.where(bright & fact, "yes", "no")


def mapped(images: np.ndarray, folder: Path) -> np.memmap:
    np.save(folder / "images.npy", images)
    found = np.load(folder / "images.npy", mmap_mode="r")
    assert isinstance(found, np.memmap)
    return found


def filed(images: np.ndarray, folder: Path) -> ImageFiles:
    (folder / "images").mkdir(parents=True)
    for row, image in enumerate(images):
        Image.fromarray(image).save(folder / "images" / f"{row:04}.png")
    return ImageFiles(folder / "images")


ELSEWHERE: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "a memory-mapped file": mapped,
    "every other row of one": lambda images, folder: mapped(np.repeat(images, 2, axis=0), folder)[::2],
    "a folder of images": filed,
    "a dataset": lambda images, _: Pairs(images),
    "a store": lambda images, _: Counting(images),
}


def fitted(column: Any, fact: Any, y: Any, **more: Any) -> NeuID3Classifier:
    clf = NeuID3Classifier(epochs=20, joint_epochs=1, restarts=1, batch_size=16, random_state=1, **more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return clf.fit(Examples({"image": column, "fact": fact}), y)


def assert_same(one: NeuID3Classifier, other: NeuID3Classifier) -> None:
    assert one.tree_ == other.tree_
    assert any("image" in str(test) for test in one.tree_.tests)
    for name, network in one.networks_.items():
        theirs = other.networks_[name].state_dict()
        assert all(torch.equal(tensor, theirs[key]) for key, tensor in network.state_dict().items())


@pytest.fixture(scope="module")
def in_memory() -> NeuID3Classifier:
    return fitted(*pictures())


# The same as in memory ------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ELSEWHERE)
def test_a_tree_is_the_same_bit_by_bit_wherever_its_images_lie(
    where: str, in_memory: NeuID3Classifier, tmp_path: Path
) -> None:
    images, fact, y = pictures()
    clf = fitted(ELSEWHERE[where](images, tmp_path), fact, y)
    assert_same(in_memory, clf)
    more, fact, _ = pictures(700, seed=1)
    column = ELSEWHERE[where](more, tmp_path / "more" if where == "a folder of images" else tmp_path)
    expected = in_memory.predict_proba({"image": more, "fact": fact})
    np.testing.assert_array_equal(clf.predict_proba({"image": column, "fact": fact}), expected)


def test_workers_are_sent_the_way_to_a_file(in_memory: NeuID3Classifier, tmp_path: Path) -> None:
    images, fact, y = pictures()
    assert_same(in_memory, fitted(mapped(images, tmp_path), fact, y, n_jobs=2))


def test_validation_examples_may_lie_elsewhere_too(tmp_path: Path) -> None:
    images, fact, y = pictures()
    more, also, judged = pictures(60, seed=2)
    clf = NeuID3Classifier(epochs=3, joint_epochs=0, restarts=1, random_state=0)
    expected = clf.fit(Examples({"image": images, "fact": fact}), y, validation=({"image": more, "fact": also}, judged))
    tree = expected.tree_
    for train, judges in ((mapped(images, tmp_path), Pairs(more)), (images, Counting(more))):
        X = Examples({"image": train, "fact": fact})
        assert clf.fit(X, y, validation=({"image": judges, "fact": also}, judged)).tree_ == tree


def test_a_path_that_is_none_is_a_missing_image(tmp_path: Path) -> None:
    images, fact, y = pictures()
    files = filed(images, tmp_path)
    gone = np.arange(N) % 7 == 3
    paths = [None if lost else path for path, lost in zip(files.paths, gone, strict=True)]
    held = [None if lost else image for image, lost in zip(images, gone, strict=True)]
    column = ImageFiles(paths)
    one, other = fitted(held, fact, y), fitted(column, fact, y)
    assert_same(one, other)
    expected = one.predict_proba({"image": held, "fact": fact})
    np.testing.assert_array_equal(other.predict_proba({"image": column, "fact": fact}), expected)


def test_vectors_may_lie_elsewhere(tmp_path: Path) -> None:
    images, fact, y = pictures()
    flat = images.reshape(N, -1).astype(np.float32) / 255
    for column in (mapped(flat, tmp_path), Counting(flat)):
        found = Examples({"v": column, "fact": fact}, kinds={"v": "tensor"})
        held = Examples({"v": flat, "fact": fact}, kinds={"v": "tensor"})
        clf = NeuID3Classifier(epochs=4, joint_epochs=0, restarts=1, random_state=0)
        assert clf.fit(found, y).tree_ == clf.fit(held, y).tree_


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
        columns = InputColumns({"c": values}), InputColumns({"c": Entries(Counting(values))})  # type: ignore[dict-item]
        for augmentation in (None, still, moved):
            seen = [torch.empty(5, *values.shape[1:]) for _ in columns]
            for column, to in zip(columns, seen, strict=True):
                column.read("c", rows, to, augmentation)
            assert torch.equal(*seen)


# A few at a time ------------------------------------------------------------------------------------


def test_nobody_asks_for_everything_at_once(tmp_path: Path) -> None:
    images, fact, y = pictures(3000)
    store = Counting(images)
    clf = NeuID3Classifier(epochs=1, joint_epochs=1, restarts=1, random_state=0)
    clf.fit(Examples({"image": store, "fact": fact}), y, checkpoint=tmp_path)
    assert any("image" in str(test) for test in clf.tree_.tests)
    for work, times in (
        (lambda: clf.predict_proba({"image": store, "fact": fact}), 1),
        (lambda: clf.apply({"image": store, "fact": fact}), 1),
        (lambda: evidence_page(clf, {"image": store, "fact": fact}, y), 2),  # rows are recognised by their images, too
        (lambda: clf.export_svg({"image": store, "fact": fact}), 1),
    ):
        store.all = 0
        work()
        assert 0 < store.all <= times * 3000 + 200  # everything once, and some to be shown
    assert store.most <= 512


def test_choosing_rows_fetches_nothing() -> None:
    store = Counting(np.zeros((50, 3, 3), dtype=np.uint8))
    X = Examples({"image": store})
    assert X.concatenate(X)[::2][np.arange(50) % 3 == 0][[1, -1]].conform(X.schema).shape == (2, 1)
    assert store.all == 0


@given(st.data())
def test_rows_are_chosen_as_numpy_chooses_them(data: st.DataObject) -> None:
    held = np.arange(60).reshape(20, 3)
    values: Any = Entries(Counting(held))
    if data.draw(st.booleans()):
        held, values = np.concatenate((held, held + 60)), Entries(ConcatenatedStore((values, held + 60)))
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
        again = pickle.loads(pickle.dumps(MappedStore(array)))
        np.testing.assert_array_equal(again.fetch(np.arange(len(array))), array)


def test_what_was_changed_in_a_private_map_is_not_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "x.npy", np.zeros((10, 3, 3), dtype=np.uint8))
    monkeypatch.setattr("neuid3.data.stores.RELEASE_BYTES", 0)
    for mode in ("c", "r+"):
        array = np.load(tmp_path / "x.npy", mmap_mode=mode)
        array[4] = 7
        store = MappedStore(array)
        for _ in range(3):
            assert store.fetch(np.array([4]))[0, 0, 0] == 7


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells how much is resident")
def test_a_file_is_learned_from_in_a_fraction_of_its_size(tmp_path: Path) -> None:
    images = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.uint8, shape=(1 << 18, 32, 32))
    images[: len(images) // 16] = 255
    script = Path(__file__).parents[2] / "helpers" / "sparse.py"
    told = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "x.npy")],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    fitted, answered, right = map(float, told.stdout.split())
    assert right > 0.95
    assert fitted <= answered < 0.6 * images.nbytes


def test_a_checkpoint_does_not_ask_where_a_column_lies(tmp_path: Path) -> None:
    images, fact, _ = pictures(1100)
    told = [
        fit_digests({}, dict(Examples({"image": column, "fact": fact}).items()))
        for column in (images, mapped(images, tmp_path), Pairs(images), np.roll(images, 1))
    ]
    assert told[0] == told[1] == told[2] != told[3]


# Shown and kept -------------------------------------------------------------------------------------


def test_pages_pictures_and_reasons_show_what_lies_elsewhere(in_memory: NeuID3Classifier, tmp_path: Path) -> None:
    images, fact, y = pictures()
    in_memory.save(tmp_path / "model.neuid3")
    model = load(tmp_path / "model.neuid3")
    held = Examples({"image": images, "fact": fact})
    for column in (mapped(images, tmp_path), filed(images, tmp_path)):
        X = Examples({"image": column, "fact": fact})
        assert evidence_page(model, X, y) == evidence_page(model, held, y)
        assert model.export_svg(X) == model.export_svg(held)
        assert str(model.explain(X, 3)) == str(model.explain(held, 3))
        assert model.to_problog(X, 5) == model.to_problog(held, 5)
        assert plot_tree(model, X)
    floats = images.astype(np.float32) / 100 - 1  # stretched by their extremes
    assert model.export_svg({"image": Counting(floats), "fact": fact}) == model.export_svg(
        {"image": floats, "fact": fact}
    )


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
        assert isinstance(column.values, Entries)
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
    ("column", "told"),
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
def test_what_is_wrong_elsewhere_is_told(column: Callable[[Path], Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=told):
        np.asarray(read_column("image", column(tmp_path)).values)


def test_files_that_are_not_there_are_told(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="contains no image file"):
        ImageFiles(tmp_path)
    with pytest.raises(MissingFileError, match="is not a folder"):
        ImageFiles(tmp_path / "nowhere")
    with pytest.raises(MissingFileError, match=r"x\.png' of row 1 does not exist"):
        ImageFiles([None, tmp_path / "x.png"])


def test_a_kind_that_does_not_fit_is_told() -> None:
    with pytest.raises(DataError, match="is declared 'category' and holds a tensor"):
        read_column("image", Counting(np.zeros((4, 2, 2))), "category")


def test_an_array_without_a_copy_cannot_be_had() -> None:
    with pytest.raises(ValueError, match="without a copy"):
        Entries(Counting(np.zeros((4, 2)))).__array__(copy=False)


def test_rows_are_fetched_wherever_they_lie() -> None:
    values = np.arange(8).reshape(4, 2)
    for where in (values, Entries(Counting(values))):
        np.testing.assert_array_equal(fetch_rows(where, np.array([3, 0])), values[[3, 0]])
