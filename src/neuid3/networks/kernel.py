"""Compiled kernel for many small networks, by precision; `neuid3.utils.kernel` chooses the variant that this processor runs.

Without a kernel PyTorch's own operations do the same work in two to three times the time.
"""

from __future__ import annotations

import ctypes

import torch

from neuid3.utils.kernel import library

PRECISIONS = {torch.float32: "float32", torch.float64: "float64"}


def kernel(dtype: torch.dtype) -> ctypes.CDLL | None:
    """The kernel for a precision, or None where PyTorch's operations run."""
    precision = PRECISIONS.get(dtype)
    return None if precision is None else library("networks", precision)


def address(tensor: torch.Tensor | None) -> ctypes.c_void_p:
    """The address of a tensor's data, or a null pointer, as an argument of the kernel."""
    return ctypes.c_void_p(None if tensor is None else tensor.data_ptr())


def has_kernel(tensor: torch.Tensor) -> bool:
    """Whether the kernel runs on the device and with the precision of a tensor."""
    return tensor.device.type == "cpu" and kernel(tensor.dtype) is not None
