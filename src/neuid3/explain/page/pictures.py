"""Pictures of tensors on the evidence page: images as small PNGs, other tensors as line plots."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuid3.data.columns import Column, Series, Tensor, Text
from neuid3.data.examples import Examples
from neuid3.export.pixels import brightness, displayed_range, is_image, shrunk, to_pixels
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


def page_images(
    examples: Examples, required: Iterable[Entry], optional: Iterable[Entry] = (), sides: Sequence[int] = SIDES
) -> PageImages:
    """Pictures of entries, within the budget of the page.

    Parameters
    ----------
    examples : the table.
    required : the entries that are drawn in any case, as large as the budget allows.
    optional : further entries, of which as many are drawn as the budget allows.
    sides : the largest sides of images, in pixels, to be tried in this order.
    """
    renderers = {
        name: _ColumnRenderer.of(column)
        for name, column in examples.items()
        if isinstance(column.kind, Tensor) and not isinstance(column.kind, Text)
    }
    entries = [(row, name) for row, name in dict.fromkeys(required) if name in renderers and renderers[name].has(row)]
    for side in sides:
        pictures = {(row, name): renderers[name].draw(row, side) for row, name in entries}
        size = sum(map(_characters, pictures.values()))
        if size <= BUDGET:
            break
    for row, name in dict.fromkeys(optional):
        if size > BUDGET:
            break
        if name in renderers and renderers[name].has(row) and (row, name) not in pictures:
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
    is_picture: bool
    low: float
    high: float

    @classmethod
    def of(cls, column: Column) -> _ColumnRenderer:
        assert isinstance(column.kind, Tensor)
        is_picture = is_image(column.kind.shape) and not isinstance(column.kind, Series)
        low, high = displayed_range(column.values, fractions=is_picture)
        return cls(column, is_picture, low, high)

    def has(self, row: int) -> bool:
        """Whether the example has such a part, where this is the column of a slot."""
        return self.column.absent is None or not self.column.absent[row]

    def draw(self, row: int, side: int) -> Picture:
        """The picture of one entry; an image has at most this many pixels a side."""
        if self.column.missing is not None and self.column.missing[row]:
            return None
        entry = np.asarray(self.column.values[row])
        if self.is_picture:
            return b64encode(png(to_pixels(entry, self.low, self.high, side))).decode("ascii")
        line = brightness(entry, self.low, self.high).ravel()
        points = shrunk(line[:, None, None], (min(len(line), MAX_POINTS), 1)).ravel()
        return [round(100 * height) for height in points.tolist()]
