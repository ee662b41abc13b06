"""What do networks see of their columns? Rows, moved about and without colour where training wants it so."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from neuid3.data.stores import Entries
from neuid3.networks.kernel import address, has_kernel, kernel


@dataclass(frozen=True, slots=True, eq=False)
class Augmentation:
    """How images are changed, one entry each: moved by whole pixels, grey (their brightest channel) or not, and warped.

    `warp` has a 2 × 2 matrix for each image: where, seen from its centre, a pixel comes from.
    """

    down: torch.Tensor
    right: torch.Tensor
    grey: torch.Tensor
    warp: torch.Tensor | None = None

    @staticmethod
    def none(count: int) -> Augmentation:
        """As they are."""
        still = torch.zeros(count, dtype=torch.int64)
        return Augmentation(still, still, torch.zeros(count, dtype=torch.bool))


class InputColumns:
    """The columns that networks read, ready to be looked up; bytes are read as fractions of 255."""

    def __init__(self, columns: Mapping[str, npt.NDArray[Any] | Entries], device: str = "cpu") -> None:
        self.device = torch.device(device)
        self.columns = {
            name: values if isinstance(values, Entries) else _tensor(values).to(self.device)
            for name, values in columns.items()
        }

    def is_image(self, name: str) -> bool:
        """Is this a column of images, so that it may be moved about?"""
        return self.columns[name].ndim in (3, 4)

    def has_colour(self, name: str) -> bool:
        return self.columns[name].ndim == 4 and self.columns[name].shape[1] == 3

    def room(self, name: str, most: int) -> int:
        """By how many pixels an image of this column may be moved: at most an eighth of its size."""
        return min(most, *(side // 8 for side in self.columns[name].shape[-2:])) if self.is_image(name) else 0

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of one entry, as networks read it: a number is a vector of length 1."""
        return tuple(self.columns[name].shape[1:]) or (1,)

    def look(self, name: str, rows: torch.Tensor, to: torch.Tensor, change: Augmentation | None = None) -> None:
        """Write these rows of a column to a tensor, images changed where `change` says so."""
        column = self.columns[name]
        if isinstance(column, Entries):  # just these rows, numbered anew
            column = torch.from_numpy(column.fetch(rows.cpu().numpy())).to(self.device)
            rows = torch.arange(len(column), device=self.device)
        if not self.is_image(name):
            change = None
        elif has_kernel(to) and column.dtype in _FETCH and to.is_contiguous():
            _fetch(column, rows, to, change or Augmentation.none(len(rows)))
            return
        seen = _read(column[rows], to.dtype)
        to.copy_(seen if change is None else augmented(seen, change))


_FETCH = {torch.uint8: "fetch_bytes", torch.float32: "fetch_floats"}


def _fetch(column: torch.Tensor, rows: torch.Tensor, to: torch.Tensor, change: Augmentation) -> None:
    shape = column.shape[1:]
    channels = shape[0] if len(shape) == 3 else 1
    told = [tensor.contiguous() for tensor in (rows, change.down, change.right, change.grey)]
    warp = None if change.warp is None else change.warp.to(to.dtype).contiguous()
    sizes = (ctypes.c_long(len(rows)), *map(ctypes.c_int, (channels, *shape[-2:])))
    fetch = getattr(kernel(to.dtype), _FETCH[column.dtype])
    if fetch(address(column), *map(address, told), address(warp), address(to), *sizes):
        raise MemoryError("no memory left for images")


def augmented(images: torch.Tensor, change: Augmentation) -> torch.Tensor:
    """Images, each changed in its own way; what moves in is empty."""
    planes = images.unsqueeze(1) if images.ndim == 3 else images  # (image, channel, y, x)
    height, width = planes.shape[-2:]
    warp = torch.eye(2).expand(len(planes), 2, 2) if change.warp is None else change.warp
    centre = torch.tensor([height - 1, width - 1]) / 2
    here = torch.stack(torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij"), -1) - centre
    moved = torch.stack((change.down, change.right), -1)[:, None, None]
    # From -1 to 1 inside the image; along a side of one pixel there is only the middle.
    there = (torch.einsum("nij,yxj->nyxi", warp, here.to(warp.dtype)) + moved) / centre.clamp_min(0.5)
    grid = there.flip(-1).to(planes)
    found = functional.grid_sample(planes, grid, "bilinear", "zeros", align_corners=True)
    found = torch.where(change.grey.to(planes.device).view(-1, 1, 1, 1), found.amax(1, keepdim=True), found)
    return found.squeeze(1) if images.ndim == 3 else found


def _tensor(array: npt.NDArray[Any]) -> torch.Tensor:
    plain = np.ascontiguousarray(array)
    return torch.from_numpy(plain if plain.flags.writeable else plain.copy())


def _read(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    scaled = values.to(dtype) / 255 if values.dtype == torch.uint8 else values.to(dtype)
    return scaled.unsqueeze(1) if scaled.ndim == 1 else scaled
