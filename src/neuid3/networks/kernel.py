"""Compiled kernel for many small networks: the variant that this processor runs.

The variants are compiled when the package is built (`hatch_build.py`); nothing is compiled at run time. NEUID3_KERNEL
names a variant, or is `off`. Without a kernel PyTorch's own operations do the same work in two to three times the time.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from neuid3.errors import KernelError

COMPILED = Path(__file__).with_name("compiled")
PRECISIONS = {torch.float32: "float32", torch.float64: "float64"}
AUTOMATIC = ("", "on", "1")
OFF = ("off", "0")


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """The variant of the kernel that runs, or None and the reason why PyTorch's operations run instead."""

    variant: str | None
    reason: str | None = None


@cache
def chosen_kernel() -> KernelChoice:
    """The variant that NEUID3_KERNEL names, else the one for the largest registers that this processor has.

    Raises
    ------
    KernelError : NEUID3_KERNEL names a variant that the package or the processor does not have.
    """
    requested = os.environ.get("NEUID3_KERNEL", "").strip().lower()
    if requested in OFF:
        return KernelChoice(None, f"NEUID3_KERNEL is {requested}")
    variants, reason = runnable_variants()
    if requested in AUTOMATIC:
        return KernelChoice(variants[-1]) if variants else KernelChoice(None, reason)
    if requested not in variants:
        because = "" if reason is None else f" ({reason})"
        known = ", ".join(("off", *variants))
        raise KernelError(
            f"NEUID3_KERNEL={requested} is no kernel that runs here{because}; unset it, or choose one of: {known}."
        )
    return KernelChoice(requested)


@cache
def runnable_variants() -> tuple[tuple[str, ...], str | None]:
    """The compiled variants that this processor runs, the fastest last; and the reason where there are none."""
    try:
        record = json.loads((COMPILED / "build.json").read_text("utf-8"))
    except FileNotFoundError:
        return (), "the kernel is not compiled in this source tree; `python hatch_build.py` compiles it"
    levels: Mapping[str, int] = record["variants"]
    if not levels:
        return (), f"the package was built without the kernel: {record['reason']}"
    ordered = sorted(levels, key=lambda variant: levels[variant])
    try:
        level = _library(ordered[0], torch.float32).level()
    except OSError as error:
        return (), f"the kernel cannot be loaded: {error}"
    return tuple(variant for variant in ordered if levels[variant] <= level), None


@cache
def kernel(dtype: torch.dtype) -> ctypes.CDLL | None:
    """The kernel for a precision, or None where PyTorch's operations run."""
    variant = chosen_kernel().variant if dtype in PRECISIONS else None
    return None if variant is None else _library(variant, dtype)


def clear_choice() -> None:
    """Clear the cached choice, after NEUID3_KERNEL has changed."""
    for cached in (chosen_kernel, kernel):
        cached.cache_clear()


def _library(variant: str, dtype: torch.dtype) -> ctypes.CDLL:
    return ctypes.CDLL(str(COMPILED / f"kernel-{variant}-{PRECISIONS[dtype]}.so"))


def processor() -> str:
    """Description of the processor and its features; processors that differ in it may round differently."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features = next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        features = platform.processor()
    return f"{platform.system()} {platform.machine()} {features}"


def address(tensor: torch.Tensor | None) -> ctypes.c_void_p:
    """The address of a tensor's data, or a null pointer, as an argument of the kernel."""
    return ctypes.c_void_p(None if tensor is None else tensor.data_ptr())


def has_kernel(tensor: torch.Tensor) -> bool:
    """Whether the kernel runs on the device and with the precision of a tensor."""
    return tensor.device.type == "cpu" and kernel(tensor.dtype) is not None
