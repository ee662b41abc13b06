"""Tensor columns that lie elsewhere: the same trees as in memory, a few entries at a time."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from image_stores import Counting, N, Pairs, filed, mapped, pictures

from neuid3 import Examples, ImageFiles, NeuID3Classifier, TrainingConfig, evidence_page, load, plot_tree

ELSEWHERE: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "a memory-mapped file": mapped,
    "every other row of one": lambda images, folder: mapped(np.repeat(images, 2, axis=0), folder)[::2],
    "a folder of images": filed,
    "a dataset": lambda images, _: Pairs(images),
    "a store": lambda images, _: Counting(images),
}


def fitted(column: Any, fact: Any, y: Any, **more: Any) -> NeuID3Classifier:
    clf = NeuID3Classifier(
        random_state=1, **more, training=TrainingConfig(epochs=20, joint_epochs=1, restarts=1, batch_size=16)
    )
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
    more, also, validation_labels = pictures(60, seed=2)
    clf = NeuID3Classifier(random_state=0, training=TrainingConfig(epochs=3, joint_epochs=0, restarts=1))
    expected = clf.fit(
        Examples({"image": images, "fact": fact}), y, validation=({"image": more, "fact": also}, validation_labels)
    )
    tree = expected.tree_
    for train, validation_images in ((mapped(images, tmp_path), Pairs(more)), (images, Counting(more))):
        X = Examples({"image": train, "fact": fact})
        assert clf.fit(X, y, validation=({"image": validation_images, "fact": also}, validation_labels)).tree_ == tree


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
        clf = NeuID3Classifier(random_state=0, training=TrainingConfig(epochs=4, joint_epochs=0, restarts=1))
        assert clf.fit(found, y).tree_ == clf.fit(held, y).tree_


# A few at a time ------------------------------------------------------------------------------------
def test_no_fetch_reads_everything_at_once(tmp_path: Path) -> None:
    images, fact, y = pictures(3000)
    store = Counting(images)
    clf = NeuID3Classifier(random_state=0, training=TrainingConfig(epochs=1, joint_epochs=1, restarts=1))
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
