"""Pictures of tensors on the evidence page: images as small PNGs, other tensors as line plots."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Column, Tensor
from neuid3.data.examples import Examples
from neuid3.utils.png import png

# The most characters of all images together. Images are drawn with the first of these sides, in pixels, that keeps it.
BUDGET = 1_250_000
SIDES = (56, 40, 28, 20, 14)

# The most points of a line.
MAX_POINTS = 40

# An image in base64, the heights of a line from 0 to 100, or None for a missing entry.
Picture = str | list[int] | None

# An entry of the table: its row and its column.
Entry = tuple[int, str]


@dataclass(frozen=True, slots=True, eq=False)
class PageImages:
    """Distinct pictures, and the index of the picture of each entry."""

    pictures: list[Picture]
    index: dict[Entry, int]


def page_images(examples: Examples, required: Iterable[Entry], optional: Iterable[Entry]) -> PageImages:
    """Pictures of entries, within the budget of the page.

    Parameters
    ----------
    examples : the table.
    required : the entries that are drawn in any case, as large as the budget allows.
    optional : further entries, of which as many are drawn as the budget allows.
    """
    renderers = {
        name: _ColumnRenderer.of(column) for name, column in examples.items() if isinstance(column.kind, Tensor)
    }
    entries = [entry for entry in dict.fromkeys(required) if entry[1] in renderers]
    for side in SIDES:
        pictures = {(row, name): renderers[name].draw(row, side) for row, name in entries}
        size = sum(map(_characters, pictures.values()))
        if size <= BUDGET:
            break
    for row, name in dict.fromkeys(optional):
        if size > BUDGET:
            break
        if name in renderers and (row, name) not in pictures:
            pictures[row, name] = renderers[name].draw(row, side)
            size += _characters(pictures[row, name])
    distinct: dict[Any, int] = {}
    index = {entry: distinct.setdefault(_key(picture), len(distinct)) for entry, picture in pictures.items()}
    return PageImages([list(key) if isinstance(key, tuple) else key for key in distinct], index)


def _key(picture: Picture) -> Any:
    return tuple(picture) if isinstance(picture, list) else picture


def _characters(picture: Picture) -> int:
    return len(picture) if isinstance(picture, str) else 0 if picture is None else 4 * len(picture)


@dataclass(frozen=True, slots=True, eq=False)
class _ColumnRenderer:
    """Pictures of the entries of one column, all with the same range from black to white."""

    column: Column
    shape: tuple[int, ...]
    low: float
    high: float

    @classmethod
    def of(cls, column: Column) -> _ColumnRenderer:
        assert isinstance(column.kind, Tensor)
        if column.values.dtype == np.uint8:
            return cls(column, column.kind.shape, 0.0, 255.0)
        # The range is that of a sample; the whole column may be larger than memory.
        sample = np.asarray(column.values[:: max(1, len(column) // 512)], dtype=np.float64)
        finite = sample[np.isfinite(sample)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        fractions = low >= 0.0 and high <= 1.0 and is_image(column.kind.shape)
        return cls(column, column.kind.shape, *((0.0, 1.0) if fractions else (low, high)))

    def draw(self, row: int, side: int) -> Picture:
        """The picture of one entry; an image has at most this many pixels a side."""
        if self.column.missing is not None and self.column.missing[row]:
            return None
        entry = np.asarray(self.column.values[row], dtype=np.float64)
        scaled = np.clip((entry - self.low) / max(self.high - self.low, 1e-12), 0.0, 1.0)
        if not is_image(self.shape):
            line = scaled.ravel()
            points = shrunk(line[:, None, None], (min(len(line), MAX_POINTS), 1)).ravel()
            return [round(100 * height) for height in points.tolist()]
        image = scaled[:, :, None] if scaled.ndim == 2 else np.moveaxis(scaled, 0, -1)
        pixels = np.round(255 * shrunk(image, fitting(image.shape[:2], side))).astype(np.uint8)
        return b64encode(png(pixels)).decode("ascii")


def is_image(shape: Sequence[int]) -> bool:
    """Whether a tensor of this shape is an image: `(h, w)`, or `(c, h, w)` with one or three channels."""
    return len(shape) in (2, 3) and min(shape[-2:]) > 1 and (len(shape) == 2 or shape[0] in (1, 3))


def fitting(size: Sequence[int], side: int) -> tuple[int, int]:
    """The height and width of an image that is reduced, if necessary, to fit into a square.

    >>> fitting((28, 28), 56), fitting((112, 224), 56)
    ((28, 28), (28, 56))
    """
    scale = min(1.0, side / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def shrunk(image: npt.NDArray[np.float64], size: tuple[int, int]) -> npt.NDArray[np.float64]:
    """An image `(h, w, c)` reduced to this height and width; each pixel is the mean of those that it replaces."""
    for axis in (0, 1):
        if image.shape[axis] != size[axis]:
            starts = np.arange(size[axis]) * image.shape[axis] // size[axis]
            counts = np.diff([*starts, image.shape[axis]])
            means = np.add.reduceat(image, starts, axis=axis)
            image = means / (counts[:, None, None] if axis == 0 else counts[None, :, None])
    return image
