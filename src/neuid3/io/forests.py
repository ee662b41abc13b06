"""Forests in files: trees as arrays, with their program, networks, priors and training record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from neuid3.binned import BinKind, BinnedColumn, BinnedTree
from neuid3.binned.averaged import Forest
from neuid3.binned.model import ForestModel
from neuid3.data.columns import Boolean, Category, Date, Distribution, Kind, Number, Probability, Schema
from neuid3.io.container import SavedFile
from neuid3.io.models import read_model, write_model
from neuid3.io.serialize import Json, labels_from_json, labels_to_json, schema_from_json
from neuid3.logic.sandbox import Limits
from neuid3.tree.node_tests import NodeTest, test_from_json, test_to_json
from neuid3.utils.json_values import as_number, as_text

if TYPE_CHECKING:
    import torch

    from neuid3.io.networks import NetworkFactories

_Model = TypeVar("_Model", bound=ForestModel)

# The arrays of all trees, one after the other, in the file; those of the nodes are in preorder.
_ARRAYS = {"column": np.int32, "code": np.int32, "threshold": np.float64, "gain": np.float64, "fraction": np.float64}
_PREFIX = "/forest/"
_NAMES = tuple(f"{_PREFIX}{name}" for name in (*_ARRAYS, "sizes", "statistics"))

_KINDS: dict[BinKind, tuple[type[Any], ...]] = {
    BinKind.FACT: (Boolean,),
    BinKind.CATEGORY: (Category,),
    BinKind.NUMBER: (Number,),
    BinKind.DISTRIBUTION: (Probability, Distribution),
}


def save_forest(model: ForestModel, path: Path | str, more: Mapping[str, Any], *, remember_rows: bool = True) -> Path:
    """Write a forest with its program, networks and priors to one file.

    Parameters
    ----------
    model : the forest with its program, networks and priors.
    path : the file; an ending is added where there is none.
    more : further fields of the file, among them its `kind`.
    remember_rows : whether digests of the training rows are stored.

    Returns
    -------
    The path of the file.
    """
    forest = model.forest
    of_forest = {
        "classes": labels_to_json(forest.classes) if forest.classes else None,
        "center": forest.center,
        "scale": forest.scale,
        "columns": [_column_to_json(column) for column in forest.columns],
    }
    fields = {**more, "forest": of_forest}
    return write_model(model, forest.tests, path, fields, arrays=_arrays_of(forest), remember_rows=remember_rows)


def restore_forest(
    saved: SavedFile,
    factories: NetworkFactories,
    kind: type[_Model],
    limits: Limits | None = None,
    device: torch.device | str = "cpu",
) -> _Model:
    """The model of a saved forest.

    Parameters
    ----------
    saved : the content of the file.
    factories : functions that build networks of unregistered classes, by their declared names.
    kind : the class of the model.
    limits : what grounding and compiling its program may take.
    device : the device of its networks.

    Returns
    -------
    The model, as `kind`.
    """
    forest = _forest_from_json(saved.fields["forest"], saved.tensors, schema_from_json(saved.fields["schema"]))
    return read_model(saved, factories, kind, forest, limits, device, arrays=_NAMES)


def _arrays_of(forest: Forest) -> dict[str, npt.NDArray[Any]]:
    arrays = {name: np.concatenate([getattr(tree, name) for tree in forest.trees]) for name in _ARRAYS}
    arrays["sizes"] = np.array([len(tree.column) for tree in forest.trees], dtype=np.int64)
    arrays["statistics"] = np.concatenate([tree.statistics for tree in forest.trees])
    return {f"{_PREFIX}{name}": np.ascontiguousarray(array) for name, array in arrays.items()}


def _column_to_json(column: BinnedColumn) -> Json:
    fields: Json = {"name": column.name, "kind": column.kind.name.lower(), "prior": column.prior.tolist()}
    if column.fact is not None:
        fields["test"] = test_to_json(column.fact)
    elif column.kind is BinKind.NUMBER:
        fields["prior"] = []  # fractions of missing entries are at the nodes
    return fields


def _column_from_json(fields: Json, schema: Schema) -> BinnedColumn:
    kind = BinKind[as_text(fields["kind"]).upper()]
    prior = np.array([float(as_number(p)) for p in fields["prior"]])
    name = as_text(fields["name"])
    fact: NodeTest | None = None
    values: tuple[Any, ...] = ()
    is_date = isinstance(schema.get(name), Date)
    if "test" in fields:
        fact, size = test_from_json(fields["test"]), 2
        if kind not in (BinKind.FACT, BinKind.DISTRIBUTION):
            raise ValueError(f"the test {fact!s:.40} has responses of kind {kind.name}")
    else:
        of_schema: Kind = schema[name]
        if not isinstance(of_schema, _KINDS[kind]):
            raise ValueError(f"column {name!r:.40} is tested as a {kind.name.lower()}")
        values = of_schema.domain if isinstance(of_schema, (Category, Distribution)) else ()
        size = 1 if kind is BinKind.NUMBER else len(values) or 2
    if kind is not BinKind.NUMBER and (len(prior) != size or not (np.isfinite(prior) & (prior >= 0)).all()):
        raise ValueError(f"the prior of column {name!r:.40} is no distribution")
    codes = np.empty((size, 0)) if kind is BinKind.DISTRIBUTION else np.empty(0, dtype=np.uint8)
    return BinnedColumn(name, kind, codes, size, prior, np.empty(0), np.empty(0), values, fact, is_date=is_date)


def _forest_from_json(fields: Json, tensors: Mapping[str, Any], schema: Schema) -> Forest:
    classes = () if fields["classes"] is None else tuple(labels_from_json(fields["classes"]).tolist())
    columns = tuple(_column_from_json(column, schema) for column in fields["columns"])
    center, scale = float(as_number(fields["center"])), float(as_number(fields["scale"]))
    arrays = {name: np.asarray(tensors[f"{_PREFIX}{name}"]) for name in (*_ARRAYS, "sizes", "statistics")}
    width = len(classes) or 3
    sizes = arrays["sizes"]
    if sizes.ndim != 1 or len(sizes) == 0 or sizes.dtype != np.int64 or (sizes < 1).any():
        raise ValueError("the sizes of its trees are invalid")
    total = int(sizes.sum())
    if arrays["statistics"].shape != (total, width) or any(
        arrays[name].shape != (total,) or arrays[name].dtype != dtype for name, dtype in _ARRAYS.items()
    ):
        raise ValueError("the arrays of its trees differ in length")
    _check_nodes(arrays, columns, counts_classes=bool(classes))
    trees = []
    for start, end in zip(np.cumsum(sizes) - sizes, np.cumsum(sizes), strict=True):
        part = {name: array[start:end].copy() for name, array in arrays.items() if name != "sizes"}
        yes, no, parent = _links(part["column"])
        trees.append(BinnedTree(yes=yes, no=no, parent=parent, **part))
    return Forest(tuple(trees), columns, classes, center, scale)


def _check_nodes(arrays: Mapping[str, npt.NDArray[Any]], columns: Sequence[BinnedColumn], counts_classes: bool) -> None:
    """Raise an error for nodes that the kernel could not follow."""
    column = arrays["column"]
    if (column < -1).any() or (column >= len(columns)).any():
        raise ValueError("a node tests a column that is not there")
    sizes = np.array([*(c.size if c.kind is not BinKind.NUMBER else 2**31 - 1 for c in columns), 2**31 - 1])
    if (arrays["code"] < 0).any() or (arrays["code"] >= sizes[column]).any():
        raise ValueError("a node tests a value that is not there")
    fraction = arrays["fraction"]
    if not np.isfinite(arrays["threshold"]).all() or not ((fraction >= 0) & (fraction <= 1)).all():
        raise ValueError("a node has an invalid threshold or fraction")
    masses = arrays["statistics"] if counts_classes else arrays["statistics"][:, [0, 2]]
    if not np.isfinite(arrays["statistics"]).all() or (masses < 0).any() or not np.isfinite(arrays["gain"]).all():
        raise ValueError("a node has invalid statistics")


def _links(column: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], ...]:
    """The children and parents of nodes in preorder, which their order and kinds determine."""
    count = len(column)
    yes, no, parent = (np.full(count, -1, dtype=np.int32) for _ in range(3))
    waiting: list[int] = []  # branches whose child for no has not come yet
    for node in range(count):
        if node:
            if not waiting:
                raise ValueError("a tree has nodes after its last leaf")
            above = waiting[-1]
            if yes[above] < 0:
                yes[above] = node
            else:
                no[above] = node
                waiting.pop()
            parent[node] = above
        if column[node] >= 0:
            waiting.append(node)
    if waiting:
        raise ValueError("a tree ends before its last leaf")
    return yes, no, parent
