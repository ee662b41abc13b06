"""Shared columns on Ray: an object in its store, of which every machine of the cluster has a part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any

from neuid3.training.parallel.shared import SharedColumns


@lru_cache(maxsize=1)
def local_columns(reference: Any) -> SharedColumns:
    """The columns behind a reference, fetched at the first call; the workers of a machine share their memory."""
    import ray

    return SharedColumns(ray.get(reference))


@contextmanager
def columns_on_workers(shared: SharedColumns) -> Iterator[None]:
    """Context in which the columns are in the object store."""
    import ray

    shared.locate = partial(local_columns, ray.put(dict(shared.columns)))
    try:
        yield
    finally:
        shared.locate = None
