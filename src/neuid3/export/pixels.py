"""Pixels of tensors: which tensors are images, their range from black to white, and smaller copies of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.utils.png import Pixels

Array = npt.NDArray[Any]

# The range of a column is that of at most about so many of its rows; the whole column may be larger than memory.
SAMPLED_ROWS = 512


def is_image(shape: Sequence[int]) -> bool:
    """Whether a tensor of this shape is an image: `(h, w)`, or `(c, h, w)` or `(h, w, c)` with one or three channels.

    >>> [is_image(shape) for shape in ((8, 8), (1, 8, 8), (8, 8, 3), (1, 3), (5, 8, 8), (8,))]
    [True, True, True, False, False, False]
    """
    if len(shape) == 2:
        return min(shape) > 1
    return len(shape) == 3 and (
        (shape[0] in (1, 3) and min(shape[1:]) > 1) or (shape[2] in (1, 3) and min(shape[:2]) > 1)
    )


def channels_last(image: Array) -> Array:
    """An image as `(h, w, c)`, with one or three channels."""
    if image.ndim == 2:
        return image[:, :, None]
    return np.moveaxis(image, 0, -1) if image.shape[0] in (1, 3) and min(image.shape[1:]) > 1 else image


def displayed_range(values: Any, *, fractions: bool = True) -> tuple[float, float]:
    """The numbers that are shown as black and as white: 0 and 255 for bytes, 0 and 1 for fractions, otherwise the extremes.

    Parameters
    ----------
    values : an array or the entries of a store, `(row, …)`.
    fractions : whether numbers in [0, 1] are shown as they are, as in an image, and not stretched, as in a line.
    """
    if values.dtype == np.uint8:
        return 0.0, 255.0
    sample = np.asarray(values[:: max(1, len(values) // SAMPLED_ROWS)], dtype=np.float64)
    finite = sample[np.isfinite(sample)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    return (0.0, 1.0) if fractions and low >= 0.0 and high <= 1.0 else (low, high)


def brightness(tensor: Array, low: float, high: float) -> npt.NDArray[np.float64]:
    """A tensor as numbers from 0, for `low` and less, to 1, for `high` and more; NaN is 0."""
    numbers = np.asarray(tensor, dtype=np.float64)
    return np.clip(np.nan_to_num((numbers - low) / max(high - low, 1e-12)), 0.0, 1.0)


def to_pixels(image: Array, low: float, high: float, side: int) -> Pixels:
    """An image as pixels `(h, w, c)`, reduced to at most `side` pixels a side.

    >>> to_pixels(np.array([[0.0, 1.0], [0.5, 2.0]]), 0.0, 1.0, side=64)[:, :, 0].tolist()
    [[0, 255], [128, 255]]
    """
    shades = channels_last(brightness(image, low, high))
    pixels: Pixels = np.round(255 * shrunk(shades, fitting(shades.shape[:2], side))).astype(np.uint8)
    return pixels


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
