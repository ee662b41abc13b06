"""The machine and the versions of packages that results record."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import version
from typing import Any

import numpy as np
import sklearn
import torch

from neuid3 import __version__
from neuid3.networks.kernel import kernel
from neuid3.utils.kernel import processor


def machine() -> dict[str, Any]:
    """A hash of the processor type, and whether the compiled kernel ran: rounding and times depend on both."""
    digest = hashlib.sha256(processor().encode()).hexdigest()[:8]
    return {"processor": f"{platform.machine()} {digest}", "kernel": kernel(torch.float32) is not None}


def versions() -> dict[str, str]:
    """The versions of this library and of the packages that scores depend on."""
    return {
        "neuid3": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "problog": version("problog"),
        "python": platform.python_version(),
    }
