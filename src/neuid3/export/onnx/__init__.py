"""Export of a tree with its networks to one ONNX file: columns in, probabilities out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from neuid3.circuits.reach import Reach
from neuid3.data.columns import Category, Distribution, Kind, Tensor, kind_name
from neuid3.errors import ExportError
from neuid3.export.onnx.circuits import write_reach
from neuid3.export.onnx.graph import Graph, require
from neuid3.export.onnx.weights import CLASSES, LEAVES, Weights
from neuid3.export.text import export_text
from neuid3.export.unwrap import model_of
from neuid3.io.serialize import labels_to_json
from neuid3.tree.descent import conjunctions
from neuid3.tree.model import TreeModel
from neuid3.tree.tree import paths
from neuid3.utils.files import model_path, write_atomically

# The oldest operator set that torch exports networks to; most runtimes support it.
OPSET = 18


def export_onnx(model: Any, path: Path | str, *, opset: int = OPSET) -> Path:
    """Write a model or a fitted classifier to one ONNX file.

    The file takes one input for each column that the tree reads, by the column's name: numbers, probabilities and facts
    (0 or 1) as float64, a distribution as `(n, values)`, a category as the int64 index into its domain, which is in the
    file's metadata, and a tensor in the precision of the network that reads it, with bytes already divided by 255. A missing
    entry (NaN; −1 for a category) follows the model's priors. The outputs are `class_probabilities` `(n, classes)` and
    `leaf_probabilities` `(n, leaves)`, for any number of examples.

    Parameters
    ----------
    model : a model or a fitted classifier.
    path : the file to be written.
    opset : the ONNX operator set.

    Returns
    -------
    The path of the file.

    Raises
    ------
    ExportError : if a package is missing, or a network cannot be written as ONNX.
    """
    exported = model_of(model, "columns and networks")
    return write_atomically(model_path(path), as_onnx(exported, opset).SerializeToString())


def as_onnx(model: TreeModel, opset: int = OPSET) -> Any:
    """A tree as an `onnx.ModelProto`."""
    newest = require("onnx").defs.onnx_opset_version()
    if not OPSET <= opset <= newest:
        raise ExportError(f"opset={opset!r} cannot be written; give a number from {OPSET} to {newest}.")
    graph = Graph(opset)
    tree = model.tree
    weights = Weights(graph, model)
    reach = Reach(conjunctions([path for path, _ in paths(tree.root)], model.program), model.dtype)
    reached = write_reach(graph, reach, weights)  # (example, leaf)
    leaves = graph.constant([leaf.probabilities for leaf in tree.leaves], weights.dtype)  # (leaf, class)
    graph.output(graph.add("MatMul", reached, leaves), CLASSES, weights.dtype, len(tree.classes))
    graph.output(reached, LEAVES, weights.dtype, len(tree.leaves))
    return graph.model(export_text(tree), _metadata(model))


def _metadata(model: TreeModel) -> dict[str, str]:
    """The metadata of the file: version, classes, number of leaves, and columns."""
    from neuid3.utils.versions import installed_version

    columns = [{"name": name, **_column_to_json(model.schema[name])} for name in model.columns]
    return {
        "neuid3_version": installed_version(),
        "classes": json.dumps(labels_to_json(model.tree.classes)["values"], ensure_ascii=False),
        "leaves": str(len(model.tree.leaves)),
        "columns": json.dumps(columns, ensure_ascii=False),
    }


def _column_to_json(kind: Kind) -> dict[str, Any]:
    match kind:
        case Category() | Distribution():
            return {"kind": kind_name(kind), "domain": list(kind.domain)}
        case Tensor(shape):
            return {"kind": "tensor", "shape": list(shape)}
        case _:
            return {"kind": kind_name(kind)}
