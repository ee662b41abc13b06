"""Network inputs and their augmentation: shifts, warps and grayscale."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from neuid3.data.stores import StoredRows
from neuid3.networks.kernel import address, has_kernel, kernel


@dataclass(frozen=True, slots=True, eq=False)
class Augmentation:
    """The augmentation of a batch of images.

    Attributes
    ----------
    down, right : offset of the pixel that each pixel is read from, in whole pixels, `(image,)`.
    grayscale : mask of the images whose channels are all replaced by the brightest one, `(image,)`.
    warp : matrices `(image, 2, 2)` that map the position of a pixel, relative to the centre of the image, to the position
        that it is read from.
    """

    down: torch.Tensor
    right: torch.Tensor
    grayscale: torch.Tensor
    warp: torch.Tensor | None = None

    @staticmethod
    def identity(count: int) -> Augmentation:
        """The augmentation that leaves so many images unchanged."""
        zeros = torch.zeros(count, dtype=torch.int64)
        return Augmentation(zeros, zeros, torch.zeros(count, dtype=torch.bool))

    def __getitem__(self, images: torch.Tensor) -> Augmentation:
        """The augmentation of some of the images."""
        warp = None if self.warp is None else self.warp[images]
        return Augmentation(self.down[images], self.right[images], self.grayscale[images], warp)


class InputColumns:
    """The columns that networks read, as tensors; bytes are read as fractions of 255."""

    def __init__(self, columns: Mapping[str, npt.NDArray[Any] | StoredRows], device: str = "cpu") -> None:
        self.device = torch.device(device)
        self.columns = {
            name: values if isinstance(values, StoredRows) else _tensor(values).to(self.device)
            for name, values in columns.items()
        }

    def is_image(self, name: str) -> bool:
        """Whether a column holds images, which can be augmented."""
        values = self.columns[name]
        return values.is_image if isinstance(values, StoredRows) else values.ndim in (3, 4)

    def is_rgb(self, name: str) -> bool:
        """Whether a column holds images of three channels."""
        return self.columns[name].ndim == 4 and self.columns[name].shape[1] == 3

    def max_shift(self, name: str, limit: int) -> int:
        """The maximum shift of images of a column, in pixels: `limit`, but at most an eighth of their size; 0 for others."""
        return min(limit, *(side // 8 for side in self.columns[name].shape[-2:])) if self.is_image(name) else 0

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of one entry as a network input: a number is a vector of length 1."""
        return tuple(self.columns[name].shape[1:]) or (1,)

    def read(self, name: str, rows: torch.Tensor, out: torch.Tensor, augmentation: Augmentation | None = None) -> None:
        """Write rows of a column to `out`, `(row, …)`; images are augmented."""
        column = self.columns[name]
        if isinstance(column, StoredRows):  # only these rows are fetched, and numbered from 0
            column = torch.from_numpy(column.fetch(rows.cpu().numpy())).to(self.device)
            rows = torch.arange(len(column), device=self.device)
        if not self.is_image(name):
            augmentation = None
        elif has_kernel(out) and column.dtype in _FETCH and out.is_contiguous():
            _fetch(column, rows, out, augmentation or Augmentation.identity(len(rows)))
            return
        values = _as_floats(column[rows], out.dtype)
        out.copy_(values if augmentation is None else augmented(values, augmentation))


_FETCH = {torch.uint8: "fetch_bytes", torch.float32: "fetch_floats"}


def _fetch(column: torch.Tensor, rows: torch.Tensor, out: torch.Tensor, augmentation: Augmentation) -> None:
    """Write rows of images to `out` by the compiled kernel."""
    shape = column.shape[1:]
    channels = shape[0] if len(shape) == 3 else 1
    per_row = (rows, augmentation.down, augmentation.right, augmentation.grayscale)
    arguments = [tensor.contiguous() for tensor in per_row]
    warp = None if augmentation.warp is None else augmentation.warp.to(out.dtype).contiguous()
    sizes = (ctypes.c_long(len(rows)), *map(ctypes.c_int, (channels, *shape[-2:])))
    fetch = getattr(kernel(out.dtype), _FETCH[column.dtype])
    if fetch(address(column), *map(address, arguments), address(warp), address(out), *sizes):
        raise MemoryError("no memory left for images")


def augmented(images: torch.Tensor, augmentation: Augmentation) -> torch.Tensor:
    """The augmented images, of the same shape; pixels from outside of an image are 0."""
    planes = images.unsqueeze(1) if images.ndim == 3 else images  # (image, channel, y, x)
    height, width = planes.shape[-2:]
    warp = torch.eye(2).expand(len(planes), 2, 2) if augmentation.warp is None else augmentation.warp
    centre = torch.tensor([height - 1, width - 1]) / 2
    target = torch.stack(torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij"), -1) - centre
    shift = torch.stack((augmentation.down, augmentation.right), -1)[:, None, None]
    # Coordinates are -1 to 1 inside the image; along a side of one pixel there is only the middle.
    source = (torch.einsum("nij,yxj->nyxi", warp, target.to(warp.dtype)) + shift) / centre.clamp_min(0.5)
    grid = source.flip(-1).to(planes)
    sampled = functional.grid_sample(planes, grid, "bilinear", "zeros", align_corners=True)
    grayscale = augmentation.grayscale.to(planes.device).view(-1, 1, 1, 1)
    sampled = torch.where(grayscale, sampled.amax(1, keepdim=True), sampled)
    return sampled.squeeze(1) if images.ndim == 3 else sampled


def _tensor(array: npt.NDArray[Any]) -> torch.Tensor:
    contiguous = np.ascontiguousarray(array)
    return torch.from_numpy(contiguous if contiguous.flags.writeable else contiguous.copy())


def _as_floats(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    scaled = values.to(dtype) / 255 if values.dtype == torch.uint8 else values.to(dtype)
    return scaled.unsqueeze(1) if scaled.ndim == 1 else scaled
