"""Trees over coded columns applied to rows: sums of leaf values over many trees, and the leaves that rows reach."""

from __future__ import annotations

import ctypes
from collections.abc import Container, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from ctypes import c_int64, c_void_p
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.binned.columns import BinKind, BinnedColumn
from neuid3.binned.kernel import ForestFields, address, binned_kernel
from neuid3.binned.trees import BinnedTree
from neuid3.data.columns import Distribution, Probability
from neuid3.data.examples import Examples
from neuid3.tree.node_tests import NodeTest

Floats = npt.NDArray[np.float64]

# Rows that are converted to floats at a time.
BLOCK = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class ColumnValues:
    """The entries of some rows as trees read them.

    Attributes
    ----------
    entries : numbers, codes of categories and 0 or 1 of facts, NaN where an entry is missing, `(row, column)`.
    probabilities : those of all distribution columns one after the other, `(row, value)`.
    """

    entries: Floats
    probabilities: Floats

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, rows: Any) -> ColumnValues:
        """The entries of these rows."""
        return ColumnValues(np.ascontiguousarray(self.entries[rows]), np.ascontiguousarray(self.probabilities[rows]))


def column_values(
    columns: Sequence[BinnedColumn],
    examples: Examples,
    rows: slice = slice(None),
    facts: Mapping[NodeTest, npt.NDArray[Any]] | None = None,
    needed: Container[int] | None = None,
) -> ColumnValues:
    """The entries of these columns in some rows of a table.

    Parameters
    ----------
    columns : the columns that trees were grown over.
    examples : a table with these columns.
    rows : the rows.
    facts : the responses of the tests that are no columns, `(row,)` of all rows of the table.
    needed : the numbers of the columns that are read, by default of all; others count as missing.

    Returns
    -------
    The entries.
    """
    count = len(range(len(examples))[rows])
    entries, blocks = np.empty((count, len(columns))), []
    for j, column in enumerate(columns):
        missing = None
        if needed is not None and j not in needed:
            entries[:, j] = np.nan
            if column.kind is BinKind.DISTRIBUTION:
                blocks.append(np.full((count, column.size), 1.0 / column.size))
            continue
        if column.fact is not None:
            values = np.asarray((facts or {})[column.fact])[rows]
        else:
            read = examples.column(column.name)
            values = read.values[rows]
            missing = None if read.missing is None else read.missing[rows]
            if isinstance(read.kind, (Probability, Distribution)) and missing is not None:
                values = values.copy()
                values[missing] = column.prior if isinstance(read.kind, Distribution) else column.prior[1]
        if column.kind is BinKind.DISTRIBUTION:
            true = values.astype(np.float64)
            blocks.append(true if true.ndim == 2 else np.stack((1.0 - true, true), axis=1))
            entries[:, j] = 0.0
            continue
        entries[:, j] = values
        if missing is not None:
            entries[missing, j] = np.nan
    return ColumnValues(entries, np.concatenate(blocks, axis=1) if blocks else np.empty((count, 0)))


class BinnedForest:
    """Several trees over the same columns, in one set of arrays.

    Parameters
    ----------
    trees : the trees.
    columns : the columns that they were grown over.
    """

    def __init__(self, trees: Sequence[BinnedTree], columns: Sequence[BinnedColumn]) -> None:
        self.trees, self.columns = tuple(trees), tuple(columns)

    @cached_property
    def leaf_offsets(self) -> npt.NDArray[np.int64]:
        """The number of the first leaf of each tree, and at the end the number of all leaves; leaves count from the left."""
        counts = [int(tree.is_leaf.sum()) for tree in self.trees]
        return np.concatenate(([0], np.cumsum(counts, dtype=np.int64))).astype(np.int64)

    @cached_property
    def leaf_statistics(self) -> Floats:
        """The statistics of all leaves of all trees, `(leaf, statistic)`."""
        return np.concatenate([tree.leaf_statistics for tree in self.trees])

    def sums(
        self, values: ColumnValues, leaf_values: Floats, *, trees: Sequence[int] | None = None, threads: int = 1
    ) -> Floats:
        """Σ over trees and leaves of P(leaf | e) · value, `(row, width)`.

        Parameters
        ----------
        values : the entries of the rows.
        leaf_values : what each leaf of each tree says, `(leaf, width)`.
        trees : the numbers of the trees that are summed up; by default all.
        threads : the number of threads.

        Returns
        -------
        Sums, `(row, width)`.
        """
        leaf_values = np.ascontiguousarray(leaf_values, dtype=np.float64)
        trees = range(len(self.trees)) if trees is None else trees
        kernel = binned_kernel()
        if kernel is None:
            return self._sums_in_numpy(values, leaf_values, trees)
        out = np.zeros((len(values), leaf_values.shape[1]))
        fields = self._fields(trees)

        def run(part: slice) -> None:
            entries, probabilities = values.entries[part], values.probabilities[part]
            arguments = (address(entries), address(probabilities), c_int64(probabilities.shape[1]))
            shape = (c_int64(len(entries)), c_void_p(address(leaf_values)), c_int64(leaf_values.shape[1]))
            pointers = (c_void_p(arguments[0]), c_void_p(arguments[1]), arguments[2], *shape)
            if kernel.add_values(ctypes.byref(fields), *pointers, c_void_p(address(out[part]))):
                raise MemoryError

        parts = [slice(start, start + BLOCK) for start in range(0, len(values), BLOCK)]
        if threads > 1 and len(values) > 1:
            size = max(1, min(BLOCK, -(-len(values) // threads)))
            parts = [slice(start, start + size) for start in range(0, len(values), size)]
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(run, parts))
        else:
            for part in parts:
                run(part)
        return out

    def reach(self, values: ColumnValues, tree: int = 0) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]:
        """The leaves of a tree that each row reaches, as the parts of a sparse matrix in CSR format.

        Parameters
        ----------
        values : the entries of the rows.
        tree : the number of the tree.

        Returns
        -------
        Where each row begins, `(row + 1,)`; the leaves of the tree, from the left; and P(leaf | e).
        """
        kernel = binned_kernel()
        if kernel is None:
            visits = sorted(
                (int(row), leaf, float(p))
                for leaf, rows, reach in self._descend(values, tree)
                for row, p in zip(rows, reach, strict=True)
            )
            counts = np.bincount([row for row, _, _ in visits], minlength=len(values))
            leaves, weights = (np.array(part) for part in zip(*((leaf, p) for _, leaf, p in visits), strict=True))
            return np.concatenate(([0], np.cumsum(counts))), leaves.astype(np.int64), weights.astype(np.float64)
        fields = self._fields(range(len(self.trees)))
        counts = np.zeros(len(values), dtype=np.int64)

        def run(leaf: Any, weight: Any) -> int:
            pointers = (c_void_p(address(values.entries)), c_void_p(address(values.probabilities)))
            sizes = (c_int64(values.probabilities.shape[1]), c_int64(len(values)))
            outputs = (c_void_p(address(counts)), c_void_p(leaf), c_void_p(weight))
            return int(kernel.reach_leaves(ctypes.byref(fields), c_int64(tree), *pointers, *sizes, *outputs))

        total = run(None, None)
        if total < 0:
            raise MemoryError
        leaves, weights = np.empty(total, dtype=np.int64), np.empty(total)
        run(address(leaves), address(weights))
        return np.concatenate(([0], np.cumsum(counts))), leaves - self.leaf_offsets[tree], weights

    # The kernel's view

    @cached_property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        sizes = [len(tree.column) for tree in self.trees]
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)

        def joined(name: str, dtype: Any) -> npt.NDArray[Any]:
            return np.concatenate([getattr(tree, name) for tree in self.trees]).astype(dtype)

        shift = np.repeat(offsets[:-1], sizes)
        column = joined("column", np.int32)
        is_leaf = column < 0
        yes, no, parent = (joined(name, np.int64) for name in ("yes", "no", "parent"))
        numbers = np.cumsum(is_leaf) - 1  # of leaves
        kinds = np.array([column.kind for column in self.columns], dtype=np.int64)
        widths = [column.size if column.kind is BinKind.DISTRIBUTION else 0 for column in self.columns]
        starts = np.concatenate(([0], np.cumsum(widths)))[:-1]
        return {
            "roots": offsets,
            "column": column,
            "code": joined("code", np.int32),
            "yes": np.where(is_leaf, numbers, yes + shift).astype(np.int32),
            "no": np.where(is_leaf, -1, no + shift).astype(np.int32),
            "parent": np.where(parent < 0, -1, parent + shift).astype(np.int32),
            "is_cut": (np.append(kinds, -1)[column] == BinKind.NUMBER).astype(np.uint8),
            "threshold": joined("threshold", np.float64),
            "fraction": joined("fraction", np.float64),
            "blocks": np.where(np.array(widths) > 0, starts, -1).astype(np.int64),
            "sizes": np.array([column.size for column in self.columns], dtype=np.int32),
        }

    def _fields(self, trees: Sequence[int]) -> ForestFields:
        arrays = dict(self._arrays)
        arrays["roots"] = np.ascontiguousarray(arrays["roots"][list(trees)])
        deepest = max((len(tree.column) for tree in self.trees), default=0)
        fields = ForestFields(len(trees), len(self.columns), deepest, *map(address, arrays.values()))
        fields.keep(*arrays.values())
        return fields

    # The same in numpy

    def _sums_in_numpy(self, values: ColumnValues, leaf_values: Floats, trees: Sequence[int]) -> Floats:
        out = np.zeros((len(values), leaf_values.shape[1]))
        for tree in trees:
            for leaf, rows, reach in self._descend(values, tree):
                out[rows] += reach[:, None] * leaf_values[self.leaf_offsets[tree] + leaf]
        return out

    def _descend(self, values: ColumnValues, number: int) -> Iterator[tuple[int, npt.NDArray[np.int64], Floats]]:
        """The leaves of a tree from the left, with the rows that reach them and P(leaf | e)."""
        tree, blocks = self.trees[number], self._arrays["blocks"]
        leaf_numbers = np.cumsum(tree.is_leaf) - 1
        stack = [(0, np.arange(len(values)), np.ones(len(values)))]
        while stack:
            node, rows, reach = stack.pop()
            column = int(tree.column[node])
            if column < 0:
                yield int(leaf_numbers[node]), rows, reach
                continue
            if blocks[column] >= 0:
                yes = self._conditional(tree, node, values.probabilities[rows])
            else:
                entries, threshold = values.entries[rows, column], tree.threshold[node]
                is_cut = self.columns[column].kind is BinKind.NUMBER
                known = entries <= threshold if is_cut else entries == threshold
                yes = np.where(np.isnan(entries), tree.fraction[node], known)
            for child, response in ((tree.no[node], 1.0 - yes), (tree.yes[node], yes)):
                kept = response > 0
                stack.append((int(child), rows[kept], reach[kept] * response[kept]))

    def _conditional(self, tree: BinnedTree, node: int, probabilities: Floats) -> Floats:
        column = int(tree.column[node])
        start, size = int(self._arrays["blocks"][column]), self.columns[column].size
        values = probabilities[:, start : start + size]
        possible, child, above = np.ones(size, dtype=bool), node, int(tree.parent[node])
        while above >= 0:
            if tree.column[above] == column:
                possible &= (np.arange(size) == tree.code[above]) == (tree.yes[above] == child)
            child, above = above, int(tree.parent[above])
        code = int(tree.code[node])
        if not possible[code]:
            return np.zeros(len(values))
        whole = values[:, possible].sum(1)
        known = whole > 1e-300
        return np.where(known, np.clip(values[:, code] / np.where(known, whole, 1.0), 0.0, 1.0), 0.5)
