"""Is there a compiled kernel? It is built by the machine's C compiler when it is first wanted, and kept in a cache.

Without a compiler, or with NEUID3_KERNEL=off, torch's own operations do the same work in two to three times the time.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import torch

from neuid3.cache import cache_folder

_SOURCE = Path(__file__).with_name("kernel.c")
_FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
_log = logging.getLogger(__name__)


@cache
def kernel(dtype: torch.dtype) -> ctypes.CDLL | None:
    """The kernel for a precision, or None where there is none."""
    if dtype not in (torch.float32, torch.float64) or os.environ.get("NEUID3_KERNEL", "").lower() in ("off", "0"):
        return None
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    flags = (*_FLAGS, *(("-DDOUBLE",) if dtype == torch.float64 else ()))
    key = hashlib.sha256("\0".join((_SOURCE.read_text(), compiler, *flags, processor())).encode()).hexdigest()
    library = cache_folder() / f"kernel-{key[:16]}.so"
    try:
        if not library.exists():
            _build(compiler, flags, library)
        return ctypes.CDLL(str(library))
    except (OSError, subprocess.SubprocessError) as error:
        _log.info("no compiled kernel: %s", error)
        return None


def _build(compiler: str, flags: tuple[str, ...], library: Path) -> None:
    library.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        made = Path(folder) / library.name
        subprocess.run(
            [compiler, *flags, str(_SOURCE), "-o", str(made), "-lm"], check=True, capture_output=True, timeout=120
        )
        made.replace(library)  # whoever comes second puts the same file in its place


def processor() -> str:
    """What the machine code is made for; a cache may be shared by machines that differ."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        told = next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        told = platform.processor()
    return f"{platform.system()} {platform.machine()} {told}"


def address(tensor: torch.Tensor | None) -> ctypes.c_void_p:
    """Where a tensor lies, for the kernel."""
    return ctypes.c_void_p(None if tensor is None else tensor.data_ptr())


def has_kernel(tensor: torch.Tensor) -> bool:
    """Can the kernel work on this tensor?"""
    return tensor.device.type == "cpu" and kernel(tensor.dtype) is not None
