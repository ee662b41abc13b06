"""Growth of a tree over coded columns, by the compiled kernel or, without it, in numpy."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from neuid3.binned.columns import BinnedTable
from neuid3.binned.kernel import TableFields, binned_kernel, grow_by_kernel, table_fields
from neuid3.binned.reference import grow_in_numpy
from neuid3.binned.trees import BinnedCriterion, BinnedLimits, BinnedTarget, BinnedTree


class BinnedGrower:
    """Grows trees over one table; several threads may grow trees at the same time.

    Rows with missing entries reach both children, with the fractions that exact inference gives them: those of the known
    values that the path leaves possible. The columns that are drawn at a node depend on the seed and on its path alone.

    Parameters
    ----------
    table : the coded columns.

    >>> from neuid3.binned import BinnedLimits, BinnedTarget, bin_columns
    >>> from neuid3.data.examples import Examples
    >>> table = bin_columns(Examples({"fever": [True, True, False, False], "age": [31.0, 40.0, 62.0, 35.0]}))
    >>> target = BinnedTarget.of_classes(np.array([0, 1, 1, 0]), 2, np.ones(4))
    >>> tree = BinnedGrower(table).grow(target, BinnedLimits())
    >>> print(table.columns[tree.column[0]].test(int(tree.code[0]), float(tree.threshold[0])))
    age =< 37.5
    """

    def __init__(self, table: BinnedTable) -> None:
        self.table = table

    @cached_property
    def _fields(self) -> TableFields:
        return table_fields(self.table)

    def grow(
        self,
        target: BinnedTarget,
        limits: BinnedLimits,
        seed: int = 0,
        columns: npt.NDArray[np.int32] | None = None,
    ) -> BinnedTree:
        """A tree.

        Parameters
        ----------
        target : the targets of the rows, with their weights.
        limits : limits of growth.
        seed : seed of the draws.
        columns : the numbers of the columns that may be tested; by default all.

        Returns
        -------
        The tree as arrays.
        """
        allowed = np.arange(len(self.table.columns)) if columns is None else columns
        allowed = np.ascontiguousarray(allowed, dtype=np.int32)
        kernel = binned_kernel()
        if kernel is None:
            tree = grow_in_numpy(self.table, target, limits, allowed, seed)
        else:
            tree = grow_by_kernel(kernel, self._fields, target, limits, allowed, seed)
        if target.criterion is BinnedCriterion.SQUARED_ERROR and target.offset:
            tree = replace(tree, statistics=_shifted(tree.statistics, target.offset))
        return tree


def _shifted(statistics: npt.NDArray[np.float64], offset: float) -> npt.NDArray[np.float64]:
    """(Σ w, Σ w·y, Σ w·y²) of numbers from which `offset` was subtracted."""
    mass, first, second = statistics.T
    return np.stack((mass, first + offset * mass, second + 2 * offset * first + offset**2 * mass), axis=1)
