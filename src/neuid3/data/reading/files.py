"""Tensor columns of image files, decoded when they are fetched."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from neuid3.data.columns import IMAGE_SUFFIXES, Array
from neuid3.data.reading.pictures import (
    MAX_IMAGE_BYTES,
    MAX_IMAGE_SIDE,
    ImageFormat,
    common_format,
    decode_images,
    format_of,
    format_of_shape,
    open_image,
)
from neuid3.data.stores import Rows, StoredRows
from neuid3.errors import DataError, MissingFileError


class ImageFiles:
    """A tensor column of PNG and JPEG files that stay on disk: `Examples({"photo": ImageFiles("photos")})`.

    Images are decoded whenever a network reads them, which may take longer than training on them. For many epochs, and
    with enough disk space, write the pixels to one `.npy` file and memory-map it.

    Parameters
    ----------
    files : a folder, searched recursively, whose images are sorted by path; or a list of paths, with None for a missing image.
    size : `(height, width)` in pixels that all images are resized to; by default the median of their heights and
        widths, scaled to at most 224 pixels.
    colour : whether images are read with three channels or in grey; by default with three if one of them has colour.

    Attributes
    ----------
    paths : the files, one for each row.
    missing : mask of the rows without a file.
    """

    def __init__(
        self,
        files: Path | str | Iterable[Path | str | None],
        size: tuple[int, int] | None = None,
        colour: bool | None = None,
    ) -> None:
        if isinstance(files, (str, Path)):
            files = _images_in(Path(files))
        self.paths = tuple(None if path is None else Path(path) for path in files)
        self.missing: Array = np.array([path is None for path in self.paths], dtype=bool)
        self.image_format = self._choose_format(size, colour)

    def _choose_format(self, size: tuple[int, int] | None, colour: bool | None) -> ImageFormat:
        if size is not None and colour is not None:
            return ImageFormat(*size, colour)
        formats = []
        for row in np.flatnonzero(~self.missing).tolist():
            with self._open_row(row) as image:
                formats.append(format_of(image))
        if not formats:
            raise DataError("There is no image file to take the size from; give size=(height, width) and colour.")
        common = common_format(formats, longest=MAX_IMAGE_SIDE)
        height, width = (common.height, common.width) if size is None else size
        return ImageFormat(height, width, common.colour if colour is None else colour)

    def __len__(self) -> int:
        return len(self.paths)

    def __repr__(self) -> str:
        return f"ImageFiles({len(self)} files; {self.image_format})"

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of files, then the shape of an image: `(height, width)`, or `(3, height, width)` in colour."""
        return (len(self), *self.image_format.shape)

    @property
    def dtype(self) -> np.dtype[np.uint8]:
        """Unsigned bytes."""
        return np.dtype(np.uint8)

    def fetch(self, rows: Rows) -> Array:
        """The pixels of the images in these rows.

        Parameters
        ----------
        rows : row indices.

        Returns
        -------
        Bytes from 0 to 255, `(row, height, width)` or, in colour, `(row, 3, height, width)`; a missing image is black.
        """
        return decode_images(rows, self.missing, self.image_format, self._open_row)

    @contextmanager
    def _open_row(self, row: int) -> Iterator[Any]:
        path = self.paths[row]
        assert path is not None
        with open_image(path, f"The image {str(path)!r:.200} of row {row}", "correct its path, or give None") as image:
            yield image


def read_images(
    name: str, paths: Sequence[str | None], shape: tuple[int, ...] | None = None
) -> tuple[StoredRows, Array]:
    """Image files as a table file has them: in memory, or decoded when they are fetched where they are too large.

    Parameters
    ----------
    name : the name of the column, for error messages.
    paths : the files, None where an image is missing.
    shape : the shape of an image in the table that the model was learned from; by default a common one.

    Returns
    -------
    The images, and the mask of the missing ones.
    """
    size, colour = None, None
    if shape is not None:
        known = format_of_shape(name, shape)
        size, colour = (known.height, known.width), known.colour
    files = ImageFiles(paths, size, colour)
    return StoredRows(ReshapedImages(files, shape or files.image_format.shape)), files.missing


class ReshapedImages:
    """Images of files in another shape: `(1, height, width)` for `(height, width)`; those that fit are kept in memory.

    Parameters
    ----------
    files : the files.
    entry_shape : the shape of an image.
    """

    def __init__(self, files: ImageFiles, entry_shape: tuple[int, ...]) -> None:
        self.files, self.entry_shape = files, entry_shape
        self._pixels: Array | None = None

    def __str__(self) -> str:
        return str(self.files)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.files), *self.entry_shape)

    @property
    def dtype(self) -> np.dtype[np.uint8]:
        return np.dtype(np.uint8)

    def fetch(self, rows: Rows) -> Array:
        if self._pixels is None and math.prod(self.shape) <= MAX_IMAGE_BYTES:
            self._pixels = self.files.fetch(np.arange(len(self.files)))
        pixels = self.files.fetch(rows) if self._pixels is None else self._pixels[rows]
        return pixels.reshape(len(rows), *self.entry_shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return ReshapedImages, (self.files, self.entry_shape)


def _images_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise MissingFileError(f"{folder} is not a folder; give one with image files, or a list of their paths.")
    images = sorted(path for path in folder.rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file())
    if not images:
        raise MissingFileError(
            f"{folder} contains no image file ({', '.join(IMAGE_SUFFIXES)}); give a folder that does."
        )
    return images
