"""A tree with its networks as an ONNX model: columns in, probabilities or numbers out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from neuid3.circuits.reach import Reach
from neuid3.data.columns import Category, Distribution, Kind, Tensor, kind_name
from neuid3.errors import ExportError
from neuid3.export.onnx import OPSET
from neuid3.export.onnx.circuits import write_reach
from neuid3.export.onnx.graph import Graph, require
from neuid3.export.onnx.weights import CLASSES, LEAVES, MEAN, STD, Weights
from neuid3.export.text import export_text
from neuid3.io.serialize import labels_to_json
from neuid3.tree.model import TreeModel


def as_onnx(model: TreeModel, opset: int = OPSET) -> Any:
    """A tree as an `onnx.ModelProto`."""
    newest = require("onnx").defs.onnx_opset_version()
    if not OPSET <= opset <= newest:
        raise ExportError(f"opset={opset!r} cannot be written; give a number from {OPSET} to {newest}.")
    graph = Graph(opset)
    tree = model.tree
    weights = Weights(graph, model)
    leaf_components = model.components
    reach = Reach(model.inference.semantics.conjunctions(leaf_components.paths))
    reached = write_reach(graph, reach, weights)  # (example, component)
    if tree.predicts_numbers:
        _write_moments(graph, model, reached, weights.dtype)
    else:
        classes = graph.constant(leaf_components.class_probabilities(tree.classes), weights.dtype)  # (component, class)
        graph.output(graph.add("MatMul", reached, classes), CLASSES, weights.dtype, len(tree.classes))
    if leaf_components.compute:
        reached = graph.add("MatMul", reached, graph.constant(leaf_components.leaf_sums, weights.dtype))
    graph.output(reached, LEAVES, weights.dtype, len(tree.leaves))
    return graph.model(export_text(tree), _metadata(model))


def _write_moments(graph: Graph, model: TreeModel, reached: str, dtype: Any) -> None:
    """The mean and the standard deviation of the mixture of leaves, `(example,)` each."""
    center = float(np.mean([leaf.value[0] for leaf in model.tree.leaves]))
    moments = graph.add("MatMul", reached, graph.constant(model.components.moments(center), dtype))
    first, second = (graph.add("Gather", moments, graph.constant(i, np.int64), axis=1) for i in (0, 1))
    variance = graph.add("Sub", second, graph.add("Mul", first, first))
    positive = graph.add("Max", variance, graph.constant(0.0, dtype))
    graph.output(graph.add("Add", first, graph.constant(center, dtype)), MEAN, dtype)
    graph.output(graph.add("Sqrt", positive), STD, dtype)


def _metadata(model: TreeModel) -> dict[str, str]:
    """The metadata of the file: version, classes, number of leaves, and columns."""
    from neuid3.utils.versions import installed_version

    columns = [{"name": name, **_column_to_json(model.schema[name])} for name in model.columns]
    return {
        "neuid3_version": installed_version(),
        "classes": json.dumps(list(model.classes) and labels_to_json(model.classes)["values"], ensure_ascii=False),
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
