"""Images in memory, in a file, in a folder, in a dataset and in a store of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from neuid3 import ImageFiles

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
