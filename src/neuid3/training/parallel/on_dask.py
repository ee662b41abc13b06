"""Shared columns on Dask: a worker plugin, which the scheduler sends to every worker once, including late ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from uuid import uuid4

from distributed import Client, Worker, WorkerPlugin

from neuid3.training.parallel.shared import Array, SharedColumns

# Registration fails where a worker is lost meanwhile. The scheduler notices soon, and registration is tried so often.
ATTEMPTS = 5

_local_columns: dict[str, SharedColumns] = {}  # of this worker, by the name of the plugin


class ColumnsPlugin(WorkerPlugin):
    """Plugin that holds columns on a worker until the fit ends."""

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self.name, self.columns = f"neuid3-{uuid4().hex}", columns

    def setup(self, worker: Worker) -> None:  # noqa: ARG002 - Dask's own signature
        _local_columns[self.name] = SharedColumns(self.columns)

    def teardown(self, worker: Worker) -> None:  # noqa: ARG002 - Dask's own signature
        _local_columns.pop(self.name, None)


def local_columns(name: str) -> SharedColumns:
    """This worker's copy of the columns of a plugin."""
    return _local_columns[name]


@contextmanager
def columns_on_workers(shared: SharedColumns, backend: Any) -> Iterator[None]:
    """Context in which all workers of joblib's Dask backend hold a copy of the columns."""
    client: Client = backend.client
    plugin = ColumnsPlugin(shared.columns)
    _register(plugin, client)
    shared.locate = partial(local_columns, plugin.name)
    try:
        with _lost_tasks_reported(backend):
            yield
    finally:
        shared.locate = None
        with suppress(OSError):  # a worker that was just lost cannot unregister
            client.unregister_worker_plugin(plugin.name)  # type: ignore[no-untyped-call]


def _register(plugin: ColumnsPlugin, client: Client) -> None:
    for attempt in range(ATTEMPTS):
        try:
            client.register_plugin(plugin, name=plugin.name)
            return
        except OSError:
            if attempt == ATTEMPTS - 1:
                raise


@contextmanager
def _lost_tasks_reported(backend: Any) -> Iterator[None]:
    """Context in which joblib is notified of tasks that Dask gave up; its backend does not, and a fit would wait for ever."""
    submit = backend.submit

    def submit_and_report(calls: Any, callback: Any) -> Any:
        future = submit(calls, callback)
        future.add_done_callback(lambda done: callback(done.exception()) if done.exception() is not None else None)
        return future

    backend.submit = submit_and_report
    try:
        yield
    finally:
        backend.submit = submit
