"""Which pictures does a folder hold? A column of image files that are read when a network looks at them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from neuid3.data.columns import IMAGES, Array
from neuid3.data.reading.pictures import ImageFormat, common_format, decoded, format_of, opened
from neuid3.data.stores import Rows
from neuid3.errors import DataError, MissingFileError


class ImageFiles:
    """A tensor column of PNG and JPEG files, which stay on disk: `Examples({"photo": ImageFiles("photos")})`.

    `files` is a folder, whose images come in the order of their paths (`paths` lists them, those of its folders as well),
    or a list of paths, in which None is a missing image. All images are read as bytes of one size, `(height, width)`, in
    `colour` (three channels) or grey; what is not given is taken from the heads of the files: the middle of
    their heights and widths, 64 pixels at most, and colour where one of them has it.

    Each image is decoded anew whenever it is looked at, which takes longer than training on it may; where many epochs
    are needed and the disk is large, write the pixels to one `.npy` file and map that.
    """

    def __init__(
        self,
        files: Path | str | Iterable[Path | str | None],
        size: tuple[int, int] | None = None,
        colour: bool | None = None,
    ) -> None:
        if isinstance(files, (str, Path)):
            files = _in_folder(Path(files))
        self.paths = tuple(None if path is None else Path(path) for path in files)
        self.missing: Array = np.array([path is None for path in self.paths], dtype=bool)
        self.look = self._look(size, colour)

    def _look(self, size: tuple[int, int] | None, colour: bool | None) -> ImageFormat:
        if size is not None and colour is not None:
            return ImageFormat(*size, colour)
        looks = []
        for row in np.flatnonzero(~self.missing).tolist():
            with self._opened(row) as picture:
                looks.append(format_of(picture))
        if not looks:
            raise DataError("No image file is there to tell the size; give size=(height, width) and colour.")
        found = common_format(looks, longest=64)
        height, width = (found.height, found.width) if size is None else size
        return ImageFormat(height, width, found.colour if colour is None else colour)

    def __len__(self) -> int:
        return len(self.paths)

    def __repr__(self) -> str:
        return f"ImageFiles({len(self)} files; {self.look})"

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of files, then the shape of an image: `(height, width)`, or `(3, height, width)` in colour."""
        return (len(self), *self.look.shape)

    @property
    def dtype(self) -> np.dtype[np.uint8]:
        """Bytes."""
        return np.dtype(np.uint8)

    def fetch(self, rows: Rows) -> Array:
        """The images in these rows; one that is missing is black."""
        return decoded(rows, self.missing, self.look, self._opened)

    @contextmanager
    def _opened(self, row: int) -> Iterator[Any]:
        path = self.paths[row]
        assert path is not None
        with opened(path, f"The image {str(path)!r:.200} of row {row}", "correct its path, or give None") as picture:
            yield picture


def _in_folder(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise MissingFileError(f"{folder} is no folder; give one with image files, or a list of their paths.")
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in IMAGES and path.is_file())
    if not found:
        raise MissingFileError(f"{folder} holds no image file ({', '.join(IMAGES)}); give the folder that does.")
    return found
