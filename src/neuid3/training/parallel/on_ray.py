"""How do columns come to Ray's workers? Through its object store, of which every machine of the cluster has a part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any

from neuid3.training.parallel.shared import SharedColumns


@lru_cache(maxsize=1)
def held(reference: Any) -> SharedColumns:
    """The stock behind a reference, fetched when it is first asked for; workers of one machine share its memory."""
    import ray

    return SharedColumns(ray.get(reference))


@contextmanager
def delivered(stock: SharedColumns) -> Iterator[None]:
    """A stock in the object store, until the end."""
    import ray

    stock.find = partial(held, ray.put(dict(stock.columns)))
    try:
        yield
    finally:
        stock.find = None
