"""Array operations of exact inference, in torch: with gradients, in a chosen precision and on a chosen device."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch


@dataclass(frozen=True)
class TorchArrays:
    """Array operations in torch.

    Attributes
    ----------
    dtype : the precision of the probabilities.
    device : where they are computed.
    """

    dtype: torch.dtype = torch.float64
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def records_gradients(self) -> bool:
        return torch.is_grad_enabled()

    def without_gradients(self) -> AbstractContextManager[Any]:
        return torch.no_grad()

    def floats(self, values: npt.NDArray[Any]) -> torch.Tensor:
        return as_tensor(values).to(self.device, self.dtype)

    def indices(self, values: Any) -> torch.Tensor:
        return torch.as_tensor(values, dtype=torch.long, device=self.device)

    def mask(self, values: npt.NDArray[np.bool_]) -> torch.Tensor:
        return as_tensor(values).to(self.device)

    def full(self, shape: tuple[int, ...], value: float) -> torch.Tensor:
        return torch.full(shape, value, dtype=self.dtype, device=self.device)

    def repeated(self, column: torch.Tensor, n: int) -> torch.Tensor:
        return column.unsqueeze(1).expand(-1, n)

    def one_hot(self, codes: npt.NDArray[np.int64], size: int) -> torch.Tensor:
        values = as_tensor(codes).to(self.device)
        return (torch.arange(size, device=self.device).unsqueeze(1) == values).to(self.dtype)

    def where(self, mask: torch.Tensor, yes: torch.Tensor, no: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, yes, no)

    def stack(self, arrays: Sequence[torch.Tensor]) -> torch.Tensor:
        return torch.stack(tuple(arrays))

    def concatenate(self, arrays: Sequence[torch.Tensor]) -> torch.Tensor:
        return torch.cat(tuple(arrays))

    def take(self, array: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return array.index_select(0, rows)

    def to_numpy(self, array: torch.Tensor) -> npt.NDArray[Any]:
        return array.detach().cpu().numpy()


def as_tensor(array: Any) -> torch.Tensor:
    """An array as a tensor; a read-only array is copied, since torch has no read-only tensors."""
    plain = np.ascontiguousarray(array)
    return torch.from_numpy(plain if plain.flags.writeable else plain.copy())


def torch_arrays(dtype: Any = "float64", device: Any = "cpu") -> TorchArrays:
    """Array operations in torch, in this precision, given by its name or as torch's, and on this device."""
    return TorchArrays(getattr(torch, dtype) if isinstance(dtype, str) else dtype, torch.device(device))
