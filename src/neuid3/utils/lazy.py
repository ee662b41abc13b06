"""Lazy public names of packages (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, modules: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names are imported when they are first looked up.

    Parameters
    ----------
    package : the name of the package, its `__name__`.
    modules : for each module, the public names that it defines.

    >>> getter, names = lazy_names("neuid3.utils", {"neuid3.utils.lazy": ["lazy_names"]})
    >>> getter("lazy_names") is lazy_names, names()
    (True, ['lazy_names'])
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted(module_of)

    return get, names
