"""Compiled kernels: the variant of them that this processor runs.

Every package with a `kernel.c` has a library for each variant. They are compiled when the package is built (`hatch_build.py`);
nothing is compiled at run time. NEUID3_KERNEL names a variant, or is `off`. Without kernels, networks are run by PyTorch's
operations, in two to three times the time, and the trees of ensembles are grown in numpy.
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

from neuid3.errors import KernelError

PACKAGES = Path(__file__).parents[1]
AUTOMATIC = ("", "on", "1")
OFF = ("off", "0")

# The library that says which variants the processor runs: that of this package, for this precision.
FIRST, PRECISION = "networks", "float32"


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """The variant of the kernels that runs, or None and the reason why there is none."""

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
        record = json.loads((compiled_folder(FIRST) / "build.json").read_text("utf-8"))
    except FileNotFoundError:
        return (), "the kernel is not compiled in this source tree; `python hatch_build.py` compiles it"
    levels: Mapping[str, int] = record["variants"]
    if not levels:
        return (), f"the package was built without the kernel: {record['reason']}"
    ordered = sorted(levels, key=lambda variant: levels[variant])
    try:
        level = _loaded(FIRST, ordered[0], PRECISION).level()
    except OSError as error:
        return (), f"the kernel cannot be loaded: {error}"
    return tuple(variant for variant in ordered if levels[variant] <= level), None


@cache
def library(package: str, precision: str | None = None) -> ctypes.CDLL | None:
    """The chosen variant of a package's kernel, or None where there is none.

    A source tree whose kernels were compiled before this package had one is without it until they are compiled again.

    Parameters
    ----------
    package : the name of the package with the `kernel.c`.
    precision : "float32" or "float64", where the kernel is compiled for both.
    """
    variant = chosen_kernel().variant
    try:
        return None if variant is None else _loaded(package, variant, precision)
    except OSError:
        return None


def compiled_folder(package: str) -> Path:
    """The folder with the libraries of a package, beside their source."""
    return PACKAGES / package / "compiled"


def clear_choice() -> None:
    """Clear the cached choice, after NEUID3_KERNEL has changed."""
    for cached in (chosen_kernel, library):
        cached.cache_clear()


def _loaded(package: str, variant: str, precision: str | None) -> ctypes.CDLL:
    name = "-".join(filter(None, ("kernel", variant, precision)))
    return ctypes.CDLL(str(compiled_folder(package) / f"{name}.so"))


def processor() -> str:
    """Description of the processor and its features; processors that differ in it may round differently."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features = next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        features = platform.processor()
    return f"{platform.system()} {platform.machine()} {features}"
