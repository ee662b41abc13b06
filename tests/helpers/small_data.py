"""Small data: a folder of a few tiny files whose images say in their first pixels what they are, and columns of digits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from experiments.datasets.decks import KNOWN, RANKS, SUITS, UNSEEN, deck_files
from experiments.datasets.hitting_sets import PARTS as ROW_PARTS
from experiments.datasets.hitting_sets import SOURCES, TEMPLATES, row_file
from experiments.datasets.images import FASHION_FILES, LETTER_FILES, MNIST_FILES, write_idx
from neuid3.utils.png import png

EACH = 20
PARTS = ("train", "test")


def signed_images(labels: np.ndarray, part: str) -> np.ndarray:
    """Images whose first three pixels are the label, the image's own number, and its part."""
    images = np.zeros((len(labels), 28, 28), dtype=np.uint8)
    images[:, 0, 0], images[:, 0, 1], images[:, 0, 2] = labels, np.arange(len(labels)), PARTS.index(part) + 1
    return images


def write_small_data(folder: Path) -> Path:
    """MNIST, EMNIST letters and Fashion-MNIST with twenty images of every label."""
    for files, values in ((MNIST_FILES, range(10)), (LETTER_FILES, range(1, 5)), (FASHION_FILES, range(10))):
        for part, (images_name, labels_name) in files.items():
            labels = np.random.default_rng(0).permutation(np.repeat(np.array(values, dtype=np.uint8), EACH))
            for name, array in ((images_name, signed_images(labels, part)), (labels_name, labels)):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(write_idx(array))
    return folder


def write_small_rows(folder: Path, rows: int = 60) -> Path:
    """Rows of hitting sets over the hundred images of the labels 1 to 5; the template alone says the class: half of them are t5."""
    for name in SOURCES:
        for number, part in enumerate(ROW_PARTS):
            rng = np.random.default_rng(number)
            images, drawn = rng.integers(0, 5 * EACH, (rows, 4)), rng.integers(0, 2 * TEMPLATES, rows)
            templates = np.where(drawn < TEMPLATES, drawn, 5)
            lines = [",".join(map(str, (*of_row, int(t == 5), t))) for of_row, t in zip(images, templates, strict=True)]
            path = folder / row_file(name, part)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(["i1,i2,i3,i4,label,template", *lines]) + "\n")
    return folder


def write_small_decks(folder: Path) -> Path:
    """Cards of one colour: red says the suit, green the rank, blue the deck."""
    for number, deck in enumerate((*KNOWN, *UNSEEN)):
        for position, name in enumerate(deck_files(deck)):
            card = np.empty((9, 6, 3), dtype=np.uint8)
            card[:] = card_colour(number, position)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(png(card))
    return folder


def card_colour(deck: int, card: int) -> tuple[int, int, int]:
    """The colour of all pixels of a card; red suits are bright in the first channel."""
    suit, rank = divmod(card, RANKS)
    bright = 200 if SUITS[suit] in ("diamonds", "hearts") else 0
    return bright + 10 * suit, 15 * (rank + 1), 10 * deck


def use(patch: pytest.MonkeyPatch, data: Path | None, cache: Path) -> None:
    """Let data be looked for in these folders only."""
    if data is None:
        patch.delenv("NEUID3_DATA", raising=False)
    else:
        patch.setenv("NEUID3_DATA", str(data))
    patch.setenv("NEUID3_CACHE", str(cache))


def pictures(symbols: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """A column of images for each column of zeros and ones; every image is another handwritten digit."""
    rng = np.random.default_rng(seed)
    images, digits = load_digits(return_X_y=True)
    images = (images.reshape(-1, 8, 8) / 16).astype("float32")
    shown = np.empty((*symbols.shape, 8, 8), dtype="float32")
    for digit in (0, 1):
        shown[symbols == digit] = images[rng.choice(np.flatnonzero(digits == digit), int((symbols == digit).sum()))]
    return {f"c{j}": shown[:, j] for j in range(symbols.shape[1])}


def weak(n: int, seed: int, strength: float = 0.6, columns: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Zeros and ones of which every column has a little information about the class, with alternating sign."""
    rng = np.random.default_rng(seed)
    symbols = rng.random((n, columns)) < 0.5
    signs = np.where(np.arange(columns) % 2, 1.0, -1.0)
    odds = strength * ((2.0 * symbols - 1.0) * signs).sum(1)
    return symbols, rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * odds))


def drawn(n: int, seed: int, strength: float = 0.6) -> tuple[dict[str, np.ndarray], np.ndarray]:
    symbols, y = weak(n, seed, strength)
    return pictures(symbols, seed), y
