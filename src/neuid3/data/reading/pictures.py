"""What do these image files show? Pixels of one size, with one channel for grey and three for colour."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Array, Column, Tensor, read_column
from neuid3.data.reading.cells import present
from neuid3.data.reading.sheet import Sheet
from neuid3.data.stores import Rows
from neuid3.errors import DamagedFileError, DataError, MissingFileError, MissingPackageError, UnreadableFileError
from neuid3.utils.files import check_readable

# Pictures that take more than this together are not held in memory.
MOST_BYTES = 1 << 30

_GREY = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L")


@dataclass(frozen=True, slots=True, order=True)
class ImageFormat:
    """How large a picture is, and whether it is in colour."""

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
    """The files that a column names, each with how it looks."""

    name: str
    looks: dict[str, ImageFormat]


def image_column(name: str, sheet: Sheet) -> ImageColumn:
    """Look at the heads of a column's files, without reading their pixels."""
    cells, gone = present(name, sheet)
    looks: dict[str, ImageFormat] = {}
    for row in np.flatnonzero(~gone).tolist():
        if cells[row] not in looks:
            with _opened(name, sheet, row) as picture:
                looks[cells[row]] = format_of(picture)
    return ImageColumn(name, looks)


def format_of(picture: Any) -> ImageFormat:
    """How an opened picture looks, from its head."""
    turned = picture.getexif().get(0x0112, 1) in (5, 6, 7, 8)  # a camera that was held upright
    width, height = picture.size[::-1] if turned else picture.size
    return ImageFormat(height, width, picture.mode not in _GREY)


def common_format(looks: Collection[ImageFormat], longest: int) -> ImageFormat:
    """The one look that pictures get: the middle of their heights and widths, at most so long, colour if one has it.

    >>> common_look([Look(28, 28, False), Look(28, 28, False), Look(20, 31, True)], longest=64)
    Look(height=28, width=28, colour=True)
    """
    height, width = (float(np.median(sides)) for sides in zip(*((k.height, k.width) for k in looks), strict=True))
    scale = min(1.0, longest / max(height, width))
    colour = any(look.colour for look in looks)
    return ImageFormat(max(1, round(height * scale)), max(1, round(width * scale)), colour)


def wanted_format(name: str, shape: tuple[int, ...]) -> ImageFormat:
    """The look of the pictures that a model was trained on."""
    match shape:
        case (height, width) | (1, height, width):
            return ImageFormat(height, width, False)
        case (3, height, width):
            return ImageFormat(height, width, True)
        case _:
            raise DataError(f"The model reads {name!r} as tensors of shape {shape}, which image files cannot give.")


def pictures(name: str, sheet: Sheet, look: ImageFormat, shape: tuple[int, ...] | None = None) -> Column:
    """The pixels of a column's files, all of one look; a missing path is a missing picture.

    Pictures that would fill the memory are left in their files, and read when they are needed.
    """
    cells, gone = present(name, sheet)
    if len(cells) * prod(look.shape) > MOST_BYTES:
        return read_column(name, SheetPictures(name, sheet, look, shape or look.shape, gone))
    pixels = np.zeros((len(cells), *look.shape), dtype=np.uint8)
    first: dict[str, int] = {}
    for row in np.flatnonzero(~gone).tolist():
        if cells[row] in first:
            pixels[row] = pixels[first[cells[row]]]
        else:
            first[cells[row]] = row
            with _opened(name, sheet, row) as picture:
                pixels[row] = pixels_of(picture, look)
    kind = Tensor(shape or look.shape)
    return Column(kind, pixels.reshape(len(cells), *kind.shape), gone)


@dataclass(frozen=True, slots=True, eq=False)
class SheetPictures:
    """A store of the pictures that a column names, read from their files whenever they are fetched."""

    name: str
    sheet: Sheet
    look: ImageFormat
    form: tuple[int, ...]
    missing: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.missing), *self.form)

    @property
    def dtype(self) -> np.dtype[np.uint8]:
        return np.dtype(np.uint8)

    def fetch(self, rows: Rows) -> Array:
        pixels = decoded(rows, self.missing, self.look, partial(_opened, self.name, self.sheet))
        return pixels.reshape(len(rows), *self.form)


def decoded(
    rows: Rows, missing: Array, look: ImageFormat, opened_in: Callable[[int], AbstractContextManager[Any]]
) -> npt.NDArray[np.uint8]:
    """The pixels of the pictures in these rows, made to look so; one that is missing is black."""
    pixels = np.zeros((len(rows), *look.shape), dtype=np.uint8)
    for place, row in enumerate(rows.tolist()):
        if not missing[row]:
            with opened_in(row) as picture:
                pixels[place] = pixels_of(picture, look)
    return pixels


def pixels_of(picture: Any, look: ImageFormat) -> Any:
    """The pixels of an opened picture, made to look so."""
    from PIL import Image, ImageOps

    flat = _flattened(ImageOps.exif_transpose(picture)).convert("RGB" if look.colour else "L")
    if flat.size != (look.width, look.height):
        flat = flat.resize((look.width, look.height), Image.Resampling.BILINEAR)
    pixels = np.asarray(flat)
    return np.moveaxis(pixels, -1, 0) if look.colour else pixels


def _flattened(picture: Any) -> Any:
    """A picture of eight bits without transparency: what was transparent lies on white."""
    from PIL import Image

    if picture.mode.startswith("I"):  # sixteen bits
        return Image.fromarray((np.asarray(picture).clip(0, 65535) // 257).astype(np.uint8))
    if picture.mode in ("LA", "La", "RGBA", "RGBa", "PA") or "transparency" in picture.info:
        seen = picture.convert("RGBA")
        paper = Image.new("RGBA", seen.size, "white")
        return Image.alpha_composite(paper, seen).convert("L" if picture.mode in _GREY else "RGB")
    return picture


@contextmanager
def _opened(name: str, sheet: Sheet, row: int) -> Iterator[Any]:
    """The picture that a cell names; whatever is wrong with it is told with its column and place."""
    cells: Sequence[str] = sheet.columns[name] or ()
    told = f"{sheet.place(row)}: the image {cells[row]!r:.200} of column {name!r}"
    path = _beneath(sheet.path.parent, cells[row])
    if path is None:
        raise DataError(
            f"{told} is outside of the table's folder; put the images beneath it, and write paths from there."
        )
    with opened(path, told, "paths start at the folder of the table") as picture:
        yield picture


@contextmanager
def opened(path: Path, told: str, remedy: str) -> Iterator[Any]:
    """The picture in a file, which errors speak of as `told`; `remedy` is what to do where there is none."""
    Image = _pillow()
    try:
        check_readable(path, "image")
    except MissingFileError:
        raise MissingFileError(f"{told} is not there; {remedy}.") from None
    except UnreadableFileError as error:
        raise UnreadableFileError(f"{told} cannot be read: {error}") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            found = Image.open(path, formats=("PNG", "JPEG"))
        with found as picture:
            yield picture
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise DataError(f"{told} has more than {Image.MAX_IMAGE_PIXELS:,} pixels; make it smaller.") from None
    except Exception as error:  # Pillow tells of damage in a dozen kinds of errors
        why = " ".join(str(error).split())[:120]
        raise DamagedFileError(f"{told} is no PNG or JPEG file, or a damaged one ({why}); replace it.") from None


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise MissingPackageError('Images need Pillow: pip install "neuid3[tables]".') from None
    return Image


def _beneath(folder: Path, cell: str) -> Path | None:
    """The file that a cell names, on whichever system it was written; None where it would leave the folder."""
    parts = PurePosixPath(cell.replace("\\", "/")).parts
    leaves = PurePosixPath(cell).is_absolute() or bool(PureWindowsPath(cell).anchor) or ".." in parts
    return None if leaves else folder.joinpath(*parts)
