"""Trees over coded columns, grown and applied by a compiled kernel: the engine of ensembles."""

from neuid3.binned.columns import BinKind, BinnedColumn, BinnedTable, bin_columns
from neuid3.binned.forest import BinnedForest, ColumnValues, column_values
from neuid3.binned.grower import BinnedGrower
from neuid3.binned.trees import BinnedCriterion, BinnedLimits, BinnedTarget, BinnedTree, tree_nodes

__all__ = [
    "BinKind",
    "BinnedColumn",
    "BinnedCriterion",
    "BinnedForest",
    "BinnedGrower",
    "BinnedLimits",
    "BinnedTable",
    "BinnedTarget",
    "BinnedTree",
    "ColumnValues",
    "bin_columns",
    "column_values",
    "tree_nodes",
]
