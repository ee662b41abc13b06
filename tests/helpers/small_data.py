"""Small data: a folder of a few tiny files whose images say in their first pixels what they are, and columns of digits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from experiments.datasets.images import LETTER_FILES, MNIST_FILES, write_idx

EACH = 20
PARTS = ("train", "test")


def signed_images(labels: np.ndarray, part: str) -> np.ndarray:
    """Images whose first three pixels are the label, the image's own number, and its part."""
    images = np.zeros((len(labels), 28, 28), dtype=np.uint8)
    images[:, 0, 0], images[:, 0, 1], images[:, 0, 2] = labels, np.arange(len(labels)), PARTS.index(part) + 1
    return images


def write_small_data(folder: Path) -> Path:
    """MNIST and EMNIST letters with twenty images of every label."""
    for files, values in ((MNIST_FILES, range(10)), (LETTER_FILES, range(1, 5))):
        for part, (images_name, labels_name) in files.items():
            labels = np.random.default_rng(0).permutation(np.repeat(np.array(values, dtype=np.uint8), EACH))
            for name, array in ((images_name, signed_images(labels, part)), (labels_name, labels)):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(write_idx(array))
    return folder


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
