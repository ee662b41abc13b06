"""How do columns come to Dask's workers? As a plugin, which the scheduler hands to every worker once, late ones too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from uuid import uuid4

from distributed import Client, Worker, WorkerPlugin

from neuid3.crew.stock import Array, Stock

# A worker that is lost while columns are handed out spoils that; the scheduler soon knows, and so often we try again.
ATTEMPTS = 5

_held: dict[str, Stock] = {}


class Delivery(WorkerPlugin):
    """Columns on their way to a worker, which keeps them until the fit ends."""

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self.name, self.columns = f"neuid3-{uuid4().hex}", columns

    def setup(self, worker: Worker) -> None:  # noqa: ARG002
        _held[self.name] = Stock(self.columns)

    def teardown(self, worker: Worker) -> None:  # noqa: ARG002
        _held.pop(self.name, None)


def held(name: str) -> Stock:
    """The stock that was delivered to this worker."""
    return _held[name]


@contextmanager
def delivered(stock: Stock, client: Client) -> Iterator[None]:
    """A stock in the hands of all workers, until the end."""
    delivery = Delivery(stock.columns)
    _hand_out(delivery, client)
    stock.find = partial(held, delivery.name)
    try:
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
