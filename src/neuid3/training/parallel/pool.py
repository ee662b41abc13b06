"""Worker pool of a fit, on the active joblib backend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from types import TracebackType
from typing import Any

from joblib import Parallel, cpu_count
from joblib.parallel import get_active_backend

from neuid3.training.parallel.shared import SharedColumns
from neuid3.utils.processes import initialize, this_process


class WorkerPool:
    """Workers that hold shared columns. They start at the first call and end with the context.

    Parameters
    ----------
    jobs : number of workers, as `n_jobs` of joblib; at most one for each core on this machine.
    shared : the columns that workers hold.

    >>> from joblib import delayed
    >>> with WorkerPool(1) as pool:
    ...     list(pool(delayed(abs)(number) for number in (-1, -2)))
    [1, 2]
    """

    def __init__(self, jobs: int | None = None, shared: SharedColumns | None = None) -> None:
        self.jobs, self.shared = jobs, shared
        self._exit_stack = ExitStack()
        self._parallel: Parallel | None = None

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parallel = None
        self._exit_stack.__exit__(kind, error, trace)

    def __call__(self, calls: Iterable[Any]) -> Iterator[Any]:
        """The results of joblib's delayed calls, in their order."""
        if self._parallel is None:
            self._parallel = self._start()
        return iter(self._parallel(calls))

    def _start(self) -> Parallel:
        backend, _ = get_active_backend()
        if self.shared is not None:
            self._exit_stack.enter_context(_columns_on_workers(self.shared, backend))
        return_as = "generator" if backend.supports_return_generator else "list"
        return self._exit_stack.enter_context(
            Parallel(
                n_jobs=_at_most_cores(self.jobs, backend), return_as=return_as, **ending_with_this_process(backend)
            )
        )


def ending_with_this_process(backend: Any) -> dict[str, Any]:
    """Arguments of `joblib.Parallel` with which workers on this machine end when this process does, even if it is killed.

    Without them, workers would finish their task, wait minutes for another, and keep our standard output open all the
    while.
    """
    if type(backend).__name__ not in {"LokyBackend", "MultiprocessingBackend"}:
        return {}
    own = backend.backend_kwargs
    return {"initializer": initialize, "initargs": (this_process(), own.get("initializer"), own.get("initargs", ()))}


def _at_most_cores(jobs: int | None, backend: Any) -> int | None:
    """The number of workers, limited by the number of cores on this machine: each worker has a thread of its own.

    >>> _at_most_cores(10_000, get_active_backend()[0]) == cpu_count()
    True
    """
    local = type(backend).__name__ in {"LokyBackend", "MultiprocessingBackend", "ThreadingBackend"}
    return min(jobs, cpu_count()) if local and jobs is not None else jobs


def _columns_on_workers(shared: SharedColumns, backend: Any) -> AbstractContextManager[None]:
    """Context in which all workers of a backend hold the columns, including late ones.

    To workers on this machine joblib itself passes large columns as files in shared memory.
    """
    match type(backend).__name__:
        case "DaskDistributedBackend":
            from neuid3.training.parallel import on_dask

            return on_dask.columns_on_workers(shared, backend)
        case "RayBackend":
            from neuid3.training.parallel import on_ray

            return on_ray.columns_on_workers(shared)
        case _:
            return nullcontext()
