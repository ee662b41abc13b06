"""The installed version of neuid3."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed_version() -> str:
    """The installed version; 0.0.0 in a source tree that is not installed."""
    try:
        return version("neuid3")
    except PackageNotFoundError:
        return "0.0.0"
