"""Compiled kernel that grows trees over coded columns and applies them; its arguments as C structures."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_double, c_int32, c_int64, c_uint64, c_void_p
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from neuid3.binned.columns import BinnedTable
from neuid3.binned.trees import BinnedLimits, BinnedTarget, BinnedTree
from neuid3.utils.kernel import library


class _Structure(ctypes.Structure):
    """A C structure that keeps the arrays which it points to."""

    kept: list[Any]

    def keep(self, *arrays: Any) -> None:
        self.kept = [*getattr(self, "kept", ()), *arrays]


class TableFields(_Structure):
    """`Table` of kernel.c."""

    _fields_: ClassVar[Sequence[Any]] = [
        ("rows", c_int64),
        ("columns", c_int64),
        ("codes", POINTER(c_void_p)),
        ("kinds", c_void_p),
        ("bytes", c_void_p),
        ("sizes", c_void_p),
        ("offsets", c_void_p),
        ("prior", c_void_p),
        ("below", c_void_p),
        ("lows", c_void_p),
        ("highs", c_void_p),
        ("exact", c_void_p),
        ("missing", c_void_p),
    ]


class TargetFields(_Structure):
    """`Target` of kernel.c."""

    _fields_: ClassVar[Sequence[Any]] = [
        ("criterion", c_int64),
        ("width", c_int64),
        ("classes", c_void_p),
        ("first", c_void_p),
        ("second", c_void_p),
        ("weights", c_void_p),
    ]


class SettingFields(_Structure):
    """`Settings` of kernel.c."""

    _fields_: ClassVar[Sequence[Any]] = [
        ("max_depth", c_int64),
        ("max_splits", c_int64),
        ("min_mass", c_double),
        ("min_child_mass", c_double),
        ("min_gain", c_double),
        ("min_reach", c_double),
        ("min_hessian", c_double),
        ("l2", c_double),
        ("candidates", c_int64),
        ("allowed", c_int64),
        ("columns", c_void_p),
        ("seed", c_uint64),
    ]


class NodeFields(_Structure):
    """`Nodes` of kernel.c."""

    _fields_: ClassVar[Sequence[Any]] = [
        ("count", c_int64),
        ("capacity", c_int64),
        ("width", c_int64),
        *((name, POINTER(c_int32)) for name in ("column", "code", "yes", "no", "parent")),
        *((name, POINTER(c_double)) for name in ("threshold", "gain", "fraction", "statistics")),
    ]


class ForestFields(_Structure):
    """`Forest` of kernel.c."""

    _fields_: ClassVar[Sequence[Any]] = [
        ("trees", c_int64),
        ("columns", c_int64),
        ("deepest", c_int64),
        *(
            (name, c_void_p)
            for name in (
                "roots",
                "column",
                "code",
                "yes",
                "no",
                "parent",
                "is_cut",
                "threshold",
                "fraction",
                "blocks",
                "sizes",
            )
        ),
    ]


def binned_kernel() -> ctypes.CDLL | None:
    """The compiled kernel, or None where numpy does its work."""
    found = library("binned")
    if found is not None:
        found.reach_leaves.restype = c_int64
    return found


def address(array: npt.NDArray[Any]) -> int:
    """The address of the data of an array."""
    return array.ctypes.data


def table_fields(table: BinnedTable) -> TableFields:
    """A table as an argument of the kernel."""
    columns = table.columns
    codes = (c_void_p * max(len(columns), 1))(*(column.codes.ctypes.data for column in columns))
    sizes = np.array([column.size for column in columns], dtype=np.int32)
    offsets = np.concatenate(([0], np.cumsum(sizes)))[:-1].astype(np.int64)
    arrays: list[npt.NDArray[Any]] = [
        np.array([column.kind for column in columns], dtype=np.uint8),
        np.array([min(column.codes.itemsize, 2) for column in columns], dtype=np.uint8),
        sizes,
        offsets,
        *(_joined([getattr(column, name) for column in columns]) for name in ("prior", "below", "lows", "highs")),
        np.array([column.is_exact for column in columns], dtype=np.uint8),
        np.array([column.has_missing for column in columns], dtype=np.uint8),
    ]
    fields = TableFields(table.rows, len(columns), codes, *map(address, arrays))
    fields.keep(codes, *arrays, *(column.codes for column in columns))
    return fields


def target_fields(target: BinnedTarget) -> TargetFields:
    """A target as an argument of the kernel."""
    arrays: list[npt.NDArray[Any]] = [target.classes, target.first, target.second, target.weights]
    fields = TargetFields(int(target.criterion), target.width, *map(address, arrays))
    fields.keep(*arrays)
    return fields


def setting_fields(limits: BinnedLimits, columns: npt.NDArray[np.int32], seed: int) -> SettingFields:
    """Limits as an argument of the kernel."""
    fields = SettingFields(
        -1 if limits.max_depth is None else limits.max_depth,
        -1 if limits.max_splits is None else limits.max_splits,
        limits.min_mass,
        limits.min_mass / 2,
        limits.min_gain,
        limits.min_reach,
        limits.min_hessian,
        limits.l2,
        len(columns) if limits.max_features is None else min(limits.max_features, len(columns)),
        len(columns),
        address(columns),
        seed % 2**64,
    )
    fields.keep(columns)
    return fields


def grow_by_kernel(
    kernel: ctypes.CDLL,
    table: TableFields,
    target: BinnedTarget,
    limits: BinnedLimits,
    columns: npt.NDArray[np.int32],
    seed: int,
) -> BinnedTree:
    """A tree that the kernel grows; the interpreter is free for other threads meanwhile.

    Raises
    ------
    MemoryError : where there is not enough memory.
    """
    nodes = NodeFields()
    fields = target_fields(target), setting_fields(limits, columns, seed)
    if kernel.grow_tree(ctypes.byref(table), *map(ctypes.byref, fields), ctypes.byref(nodes)):
        raise MemoryError
    try:
        count, width = int(nodes.count), int(nodes.width)
        names = ("column", "code", "yes", "no", "parent", "threshold", "gain", "fraction")
        arrays = {name: np.ctypeslib.as_array(getattr(nodes, name), (count,)).copy() for name in names}
        statistics = np.ctypeslib.as_array(nodes.statistics, (count, width)).copy()
    finally:
        kernel.free_nodes(ctypes.byref(nodes))
    return BinnedTree(**arrays, statistics=statistics)


def _joined(arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    return np.concatenate((*arrays, [0.0])).astype(np.float64)
