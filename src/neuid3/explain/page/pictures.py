"""How is what networks read shown? Images as small PNGs, anything else as a line."""

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

# Images are made smaller, step by step, until all of them take no more letters than this.
BUDGET = 1_250_000
SIDES = (56, 40, 28, 20, 14)

# How many points a line has at most.
POINTS = 40

# A picture is an image in base64, the heights of a line from 0 to 100, or nothing where the entry is missing.
Picture = str | list[int] | None

# An example and a column of it.
Wanted = tuple[int, str]


@dataclass(frozen=True, slots=True, eq=False)
class PageImages:
    """Pictures, each kept once, and which of them shows which entry."""

    pictures: list[Picture]
    places: dict[Wanted, int]


def page_images(examples: Examples, needed: Iterable[Wanted], welcome: Iterable[Wanted]) -> PageImages:
    """The pictures that are needed, as large as there is room for, and of the welcome ones as many as there is room for."""
    columns = {name: _Painter.of(column) for name, column in examples.items() if isinstance(column.kind, Tensor)}
    must = [wanted for wanted in dict.fromkeys(needed) if wanted[1] in columns]
    for side in SIDES:
        drawn = {wanted: columns[wanted[1]].draw(wanted[0], side) for wanted in must}
        spent = sum(map(_letters, drawn.values()))
        if spent <= BUDGET:
            break
    for wanted in dict.fromkeys(welcome):
        if spent > BUDGET:
            break
        if wanted[1] in columns and wanted not in drawn:
            drawn[wanted] = columns[wanted[1]].draw(wanted[0], side)
            spent += _letters(drawn[wanted])
    kept: dict[Any, int] = {}
    places = {wanted: kept.setdefault(_key(picture), len(kept)) for wanted, picture in drawn.items()}
    return PageImages([list(key) if isinstance(key, tuple) else key for key in kept], places)


def _key(picture: Picture) -> Any:
    return tuple(picture) if isinstance(picture, list) else picture


def _letters(picture: Picture) -> int:
    return len(picture) if isinstance(picture, str) else 0 if picture is None else 4 * len(picture)


@dataclass(frozen=True, slots=True, eq=False)
class _Painter:
    """Draws the entries of one column, all in the same range from black to white."""

    column: Column
    shape: tuple[int, ...]
    low: float
    high: float

    @classmethod
    def of(cls, column: Column) -> _Painter:
        assert isinstance(column.kind, Tensor)
        if column.values.dtype == np.uint8:
            return cls(column, column.kind.shape, 0.0, 255.0)
        # A sample tells the range; the whole column may be larger than memory.
        sample = np.asarray(column.values[:: max(1, len(column) // 512)], dtype=np.float64)
        present = sample[np.isfinite(sample)]
        low, high = (float(present.min()), float(present.max())) if present.size else (0.0, 1.0)
        fractions = low >= 0.0 and high <= 1.0 and is_image(column.kind.shape)
        return cls(column, column.kind.shape, *((0.0, 1.0) if fractions else (low, high)))

    def draw(self, row: int, side: int) -> Picture:
        if self.column.missing is not None and self.column.missing[row]:
            return None
        entry = np.asarray(self.column.values[row], dtype=np.float64)
        scaled = np.clip((entry - self.low) / max(self.high - self.low, 1e-12), 0.0, 1.0)
        if not is_image(self.shape):
            line = scaled.ravel()
            return [round(100 * p) for p in shrunk(line[:, None, None], (min(len(line), POINTS), 1)).ravel().tolist()]
        image = scaled[:, :, None] if scaled.ndim == 2 else np.moveaxis(scaled, 0, -1)
        small = np.round(255 * shrunk(image, fitting(image.shape[:2], side))).astype(np.uint8)
        return b64encode(png(small)).decode("ascii")


def is_image(shape: Sequence[int]) -> bool:
    """Is a tensor of this shape looked at as an image: `(h, w)`, or `(c, h, w)` with one or three channels?"""
    return len(shape) in (2, 3) and min(shape[-2:]) > 1 and (len(shape) == 2 or shape[0] in (1, 3))


def fitting(size: Sequence[int], side: int) -> tuple[int, int]:
    """Height and breadth of an image that is made smaller, if need be, to fit a square.

    >>> fitting((28, 28), 56), fitting((112, 224), 56)
    ((28, 28), (28, 56))
    """
    scale = min(1.0, side / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def shrunk(image: npt.NDArray[np.float64], size: tuple[int, int]) -> npt.NDArray[np.float64]:
    """An image `(h, w, c)` of a smaller size, every pixel the mean of those it stands for."""
    for axis in (0, 1):
        if image.shape[axis] != size[axis]:
            starts = np.arange(size[axis]) * image.shape[axis] // size[axis]
            counts = np.diff([*starts, image.shape[axis]])
            means = np.add.reduceat(image, starts, axis=axis)
            image = means / (counts[:, None, None] if axis == 0 else counts[None, :, None])
    return image
