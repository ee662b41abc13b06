"""Worker pools on this machine, Dask and Ray, and the columns that their workers share."""

from neuid3.training.parallel.pool import WorkerPool
from neuid3.training.parallel.shared import RowSubset, SharedColumns, StackedRows

__all__ = ["RowSubset", "SharedColumns", "StackedRows", "WorkerPool"]
