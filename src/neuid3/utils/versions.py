"""Which neuid3 is this?"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed() -> str:
    """The version that is installed; 0.0.0 in a source tree that never was."""
    try:
        return version("neuid3")
    except PackageNotFoundError:
        return "0.0.0"
