"""Who trains? The workers of the joblib backend in force, from the first task of a fit to its end."""

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
    """Workers who have a stock at hand. They are called together when there is something to do, and dismissed at the end.

    >>> from joblib import delayed
    >>> with Crew(1) as crew:
    ...     list(crew(delayed(abs)(number) for number in (-1, -2)))
    [1, 2]
    """

    def __init__(self, jobs: int | None = None, stock: SharedColumns | None = None) -> None:
        self.jobs, self.stock = jobs, stock
        self._until_the_end = ExitStack()
        self._parallel: Parallel | None = None

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parallel = None
        self._until_the_end.__exit__(kind, error, trace)

    def __call__(self, calls: Iterable[Any]) -> Iterator[Any]:
        """What each of joblib's delayed calls returns, in their order."""
        if self._parallel is None:
            self._parallel = self._called_together()
        return iter(self._parallel(calls))

    def _called_together(self) -> Parallel:
        backend, _ = get_active_backend()
        if self.stock is not None:
            self._until_the_end.enter_context(_delivered(self.stock, backend))
        returned = "generator" if backend.supports_return_generator else "list"
        return self._until_the_end.enter_context(
            Parallel(
                n_jobs=_no_more_than_cores(self.jobs, backend), return_as=returned, **ending_with_this_process(backend)
            )
        )


def ending_with_this_process(backend: Any) -> dict[str, Any]:
    """Arguments of `joblib.Parallel` with which workers on this machine end when this process does, even if it is killed.

    By themselves they would finish their task, wait minutes for another, and hold our standard output all the while.
    """
    if type(backend).__name__ not in {"LokyBackend", "MultiprocessingBackend"}:
        return {}
    own = backend.backend_kwargs
    return {"initializer": initialize, "initargs": (this_process(), own.get("initializer"), own.get("initargs", ()))}


def _no_more_than_cores(jobs: int | None, backend: Any) -> int | None:
    """Workers on this machine have a thread each, and more threads than cores only get into each other's way.

    >>> _no_more_than_cores(10_000, get_active_backend()[0]) == cpu_count()
    True
    """
    local = type(backend).__name__ in {"LokyBackend", "MultiprocessingBackend", "ThreadingBackend"}
    return min(jobs, cpu_count()) if local and jobs is not None else jobs


def _delivered(stock: SharedColumns, backend: Any) -> AbstractContextManager[None]:
    """Bring a stock to all workers of a backend, late ones too.

    To workers on this machine joblib passes large columns as files in shared memory, without our doing.
    """
    match type(backend).__name__:
        case "DaskDistributedBackend":
            from neuid3.training.parallel import on_dask as over_dask

            return over_dask.delivered(stock, backend)
        case "RayBackend":
            from neuid3.training.parallel import on_ray as over_ray

            return over_ray.delivered(stock)
        case _:
            return nullcontext()
