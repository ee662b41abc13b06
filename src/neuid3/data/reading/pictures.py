"""Image files as pixel arrays of one format: one channel for grey, three for colour."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Array, Column, Tensor, read_column
from neuid3.data.reading.cells import cells_and_missing
from neuid3.data.reading.sheet import TextTable, path_inside
from neuid3.data.stores import Rows
from neuid3.errors import DamagedFileError, DataError, MissingFileError, MissingPackageError, UnreadableFileError
from neuid3.utils.files import check_readable

# The default length of the longest side of an image, in pixels: larger ones are scaled down to it.
MAX_IMAGE_SIDE = 224

# Image columns with more bytes of pixels are not held in memory.
MAX_IMAGE_BYTES = 1 << 30

_GREY = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L")


@dataclass(frozen=True, slots=True, order=True)
class ImageFormat:
    """The size of an image in pixels, and whether it has colour."""

    height: int
    width: int
    colour: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return (3, self.height, self.width) if self.colour else (self.height, self.width)

    def __str__(self) -> str:
        return f"{self.width} × {self.height}, {'colour' if self.colour else 'grey'}"


@dataclass(frozen=True, slots=True)
class ImageColumn:
    """The image files that a column names.

    Attributes
    ----------
    name : the column.
    formats : the format of each file, by its path in the table.
    """

    name: str
    formats: dict[str, ImageFormat]


def scan_image_column(name: str, table: TextTable) -> ImageColumn:
    """The formats of a column's image files, from their headers; no pixels are decoded."""
    cells, missing = cells_and_missing(name, table)
    formats: dict[str, ImageFormat] = {}
    for row in np.flatnonzero(~missing).tolist():
        if cells[row] not in formats:
            with _open_cell_image(name, table, row) as image:
                formats[cells[row]] = format_of(image)
    return ImageColumn(name, formats)


def format_of(image: Any) -> ImageFormat:
    """The format of an open Pillow image, from its header."""
    is_rotated = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)  # EXIF orientation of a camera held upright
    width, height = image.size[::-1] if is_rotated else image.size
    return ImageFormat(height, width, image.mode not in _GREY)


def common_format(formats: Collection[ImageFormat], longest: int) -> ImageFormat:
    """One format for several images: median height and width, scaled to the longest side; colour if one has it.

    Parameters
    ----------
    formats : the formats of the images.
    longest : the largest height and width, in pixels.

    >>> common_format([ImageFormat(28, 28, False), ImageFormat(28, 28, False), ImageFormat(20, 31, True)], longest=64)
    ImageFormat(height=28, width=28, colour=True)
    """
    height, width = (float(np.median(sides)) for sides in zip(*((f.height, f.width) for f in formats), strict=True))
    scale = min(1.0, longest / max(height, width))
    colour = any(image_format.colour for image_format in formats)
    return ImageFormat(max(1, round(height * scale)), max(1, round(width * scale)), colour)


def format_of_shape(name: str, shape: tuple[int, ...]) -> ImageFormat:
    """The image format of a tensor column of this shape."""
    match shape:
        case (height, width) | (1, height, width):
            return ImageFormat(height, width, False)
        case (3, height, width):
            return ImageFormat(height, width, True)
        case _:
            raise DataError(f"The model reads {name!r} as tensors of shape {shape}, which image files cannot provide.")


def image_column(
    name: str, table: TextTable, image_format: ImageFormat, shape: tuple[int, ...] | None = None
) -> Column:
    """The tensor column of the image files that a text column names; a missing path is a missing image.

    Parameters
    ----------
    name, table : the column with the paths of the files.
    image_format : the format that all images are converted to.
    shape : the shape of an entry, where it is not that of the format.

    Returns
    -------
    A column of bytes. Images of more than `MAX_IMAGE_BYTES` together stay in their files, and are read when they are fetched.
    """
    cells, missing = cells_and_missing(name, table)
    if len(cells) * prod(image_format.shape) > MAX_IMAGE_BYTES:
        return read_column(name, TableImages(name, table, image_format, shape or image_format.shape, missing))
    pixels = np.zeros((len(cells), *image_format.shape), dtype=np.uint8)
    first_rows: dict[str, int] = {}
    for row in np.flatnonzero(~missing).tolist():
        if cells[row] in first_rows:
            pixels[row] = pixels[first_rows[cells[row]]]
        else:
            first_rows[cells[row]] = row
            with _open_cell_image(name, table, row) as image:
                pixels[row] = image_pixels(image, image_format)
    kind = Tensor(shape or image_format.shape)
    return Column(kind, pixels.reshape(len(cells), *kind.shape), missing)


@dataclass(frozen=True, slots=True, eq=False)
class TableImages:
    """A store of the images that a text column names, decoded from their files whenever they are fetched."""

    name: str
    table: TextTable
    image_format: ImageFormat
    entry_shape: tuple[int, ...]
    missing: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.missing), *self.entry_shape)

    @property
    def dtype(self) -> np.dtype[np.uint8]:
        return np.dtype(np.uint8)

    def fetch(self, rows: Rows) -> Array:
        pixels = decode_images(rows, self.missing, self.image_format, partial(_open_cell_image, self.name, self.table))
        return pixels.reshape(len(rows), *self.entry_shape)


def decode_images(
    rows: Rows, missing: Array, image_format: ImageFormat, open_row: Callable[[int], AbstractContextManager[Any]]
) -> npt.NDArray[np.uint8]:
    """The pixels of the images in these rows, converted to a format; a missing image is black.

    Parameters
    ----------
    rows : the rows, in the order of the result.
    missing : the mask of missing images, over all rows.
    image_format : the format of the result.
    open_row : opens the image of a row, as a context manager.
    """
    pixels = np.zeros((len(rows), *image_format.shape), dtype=np.uint8)
    for index, row in enumerate(rows.tolist()):
        if not missing[row]:
            with open_row(row) as image:
                pixels[index] = image_pixels(image, image_format)
    return pixels


def image_pixels(image: Any, image_format: ImageFormat) -> Any:
    """The pixels of an open Pillow image, converted to a format."""
    from PIL import Image, ImageOps

    flat = _without_alpha(ImageOps.exif_transpose(image)).convert("RGB" if image_format.colour else "L")
    if flat.size != (image_format.width, image_format.height):
        flat = flat.resize((image_format.width, image_format.height), Image.Resampling.BILINEAR)
    pixels = np.asarray(flat)
    return np.moveaxis(pixels, -1, 0) if image_format.colour else pixels


def _without_alpha(image: Any) -> Any:
    """An 8-bit image without transparency, over a white background."""
    from PIL import Image

    if image.mode.startswith("I"):  # sixteen bits
        return Image.fromarray((np.asarray(image).clip(0, 65535) // 257).astype(np.uint8))
    if image.mode in ("LA", "La", "RGBA", "RGBa", "PA") or "transparency" in image.info:
        rgba = image.convert("RGBA")
        background = Image.new("RGBA", rgba.size, "white")
        return Image.alpha_composite(background, rgba).convert("L" if image.mode in _GREY else "RGB")
    return image


@contextmanager
def _open_cell_image(name: str, table: TextTable, row: int) -> Iterator[Any]:
    """Open the image that a cell names; errors name its column and row."""
    cells: Sequence[str] = table.columns[name] or ()
    subject = f"{table.location(row)}: the image {cells[row]!r:.200} of column {name!r}"
    path = path_inside(table.path.parent, cells[row])
    if path is None:
        raise DataError(
            f"{subject} is outside of the table's folder; move the images into it, and write paths relative to it."
        )
    with open_image(path, subject, "paths are relative to the folder of the table") as image:
        yield image


@contextmanager
def open_image(path: Path, subject: str, remedy: str) -> Iterator[Any]:
    """Open an image file with Pillow.

    Parameters
    ----------
    path : the file, PNG or JPEG.
    subject : the subject of error messages, such as `cards.csv, line 2: the image 'a.png'`.
    remedy : the advice where the file does not exist.
    """
    Image = _pillow_image()
    try:
        check_readable(path, "image")
    except MissingFileError:
        raise MissingFileError(f"{subject} does not exist; {remedy}.") from None
    except UnreadableFileError as error:
        raise UnreadableFileError(f"{subject} cannot be read: {error}") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            opened = Image.open(path, formats=("PNG", "JPEG"))
        with opened as image:
            yield image
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise DataError(f"{subject} has more than {Image.MAX_IMAGE_PIXELS:,} pixels; make it smaller.") from None
    except Exception as error:  # Pillow reports damage by a dozen kinds of errors
        reason = " ".join(str(error).split())[:120]
        raise DamagedFileError(f"{subject} is not a PNG or JPEG file, or is damaged ({reason}); replace it.") from None


def _pillow_image() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise MissingPackageError('Images need Pillow: pip install "neuid3[tables]".') from None
    return Image
