"""How do columns come to Dask's workers? As a plugin, which the scheduler hands to every worker once, late ones too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from uuid import uuid4

from distributed import Client, Worker, WorkerPlugin

from neuid3.training.parallel.shared import Array, SharedColumns

# A worker that is lost while columns are handed out spoils that; the scheduler soon knows, and so often we try again.
ATTEMPTS = 5

_held: dict[str, SharedColumns] = {}


class Delivery(WorkerPlugin):
    """Columns on their way to a worker, which keeps them until the fit ends."""

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self.name, self.columns = f"neuid3-{uuid4().hex}", columns

    def setup(self, worker: Worker) -> None:  # noqa: ARG002 - Dask's own signature
        _held[self.name] = SharedColumns(self.columns)

    def teardown(self, worker: Worker) -> None:  # noqa: ARG002 - Dask's own signature
        _held.pop(self.name, None)


def held(name: str) -> SharedColumns:
    """The stock that was delivered to this worker."""
    return _held[name]


@contextmanager
def delivered(stock: SharedColumns, backend: Any) -> Iterator[None]:
    """A stock in the hands of all workers of joblib's backend, until the end."""
    client: Client = backend.client
    delivery = Delivery(stock.columns)
    _hand_out(delivery, client)
    stock.find = partial(held, delivery.name)
    try:
        with _told_of_losses(backend):
            yield
    finally:
        stock.find = None
        with suppress(OSError):  # a worker that was just lost has nothing to give back
            client.unregister_worker_plugin(delivery.name)  # type: ignore[no-untyped-call]


def _hand_out(delivery: Delivery, client: Client) -> None:
    for attempt in range(ATTEMPTS):
        try:
            client.register_plugin(delivery, name=delivery.name)
            return
        except OSError:
            if attempt == ATTEMPTS - 1:
                raise


@contextmanager
def _told_of_losses(backend: Any) -> Iterator[None]:
    """Joblib hears of a task that Dask gave up; by itself, its backend keeps that back, and a fit would wait for ever."""
    submit = backend.submit

    def told(calls: Any, callback: Any) -> Any:
        future = submit(calls, callback)
        future.add_done_callback(lambda done: callback(done.exception()) if done.exception() is not None else None)
        return future

    backend.submit = told
    try:
        yield
    finally:
        backend.submit = submit
