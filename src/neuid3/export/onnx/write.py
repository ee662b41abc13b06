"""Trees with their networks as an ONNX model: columns in, probabilities or numbers out."""

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
from neuid3.tree.trees_model import TreesModel


def as_onnx(model: TreeModel | TreesModel, opset: int = OPSET) -> Any:
    """A tree, or many, as an `onnx.ModelProto`."""
    newest = require("onnx").defs.onnx_opset_version()
    if not OPSET <= opset <= newest:
        raise ExportError(f"opset={opset!r} cannot be written; give a number from {OPSET} to {newest}.")
    graph = Graph(opset)
    weights = Weights(graph, model)
    if isinstance(model, TreesModel):
        _write_trees(graph, model, weights)
        return graph.model(repr(model), _metadata(model))
    _write_tree(graph, model, weights)
    return graph.model(export_text(model.tree), {**_metadata(model), "leaves": str(len(model.tree.leaves))})


def _write_tree(graph: Graph, model: TreeModel, weights: Weights) -> None:
    """The probabilities of the leaves of a tree, and what they predict."""
    tree, leaf_components = model.tree, model.components
    reach = Reach(model.inference.semantics.conjunctions(leaf_components.paths))
    reached = write_reach(graph, reach, weights)  # (example, component)
    if tree.predicts_numbers:
        center = float(np.mean([leaf.value[0] for leaf in tree.leaves]))
        moments = graph.add("MatMul", reached, graph.constant(leaf_components.moments(center), weights.dtype))
        _write_moments(graph, moments, center, weights.dtype)
    else:
        classes = graph.constant(leaf_components.class_probabilities(tree.classes), weights.dtype)  # (component, class)
        graph.output(graph.add("MatMul", reached, classes), CLASSES, weights.dtype, len(tree.classes))
    if leaf_components.compute:
        reached = graph.add("MatMul", reached, graph.constant(leaf_components.leaf_sums, weights.dtype))
    graph.output(reached, LEAVES, weights.dtype, len(tree.leaves))


def _write_trees(graph: Graph, model: TreesModel, weights: Weights) -> None:
    """What the leaves of all trees add up to, and the prediction that follows from it."""
    dtype, semantics = weights.dtype, model.inference.semantics
    start, trees = model.weighted_trees()
    total = graph.add("Transpose", weights.repeated(start.tolist()), perm=[1, 0])  # (example, value)
    for paths, values in trees:
        reached = write_reach(graph, Reach(semantics.conjunctions(paths)), weights)  # (example, leaf)
        total = graph.add("Add", total, graph.add("MatMul", reached, graph.constant(values, dtype)))
    if not model.predicts_numbers:
        graph.output(_class_probabilities(graph, model, total, dtype), CLASSES, dtype, len(model.classes))
    elif model.has_deviations:
        _write_moments(graph, total, model.center, dtype)
    else:
        graph.output(graph.add("Gather", total, graph.constant(0, np.int64), axis=1), MEAN, dtype)


def _class_probabilities(graph: Graph, model: TreesModel, total: str, dtype: Any) -> str:
    """P(class | e): what the trees add up to, or the softmax of the scores that they add up to."""
    if not model.adds_scores:
        return total
    if len(model.classes) > 2:
        return graph.add("Softmax", total, axis=1)
    second = graph.add("Sigmoid", total)
    return graph.add("Concat", graph.add("Sub", graph.constant(1.0, dtype), second), second, axis=1)


def _write_moments(graph: Graph, moments: str, center: float, dtype: Any) -> None:
    """Mean and standard deviation from the first two moments about a center, `(example,)` each."""
    first, second = (graph.add("Gather", moments, graph.constant(i, np.int64), axis=1) for i in (0, 1))
    variance = graph.add("Sub", second, graph.add("Mul", first, first))
    positive = graph.add("Max", variance, graph.constant(0.0, dtype))
    graph.output(graph.add("Add", first, graph.constant(center, dtype)), MEAN, dtype)
    graph.output(graph.add("Sqrt", positive), STD, dtype)


def _metadata(model: TreeModel | TreesModel) -> dict[str, str]:
    """The metadata of the file: version, classes and columns."""
    from neuid3.utils.versions import installed_version

    columns = [{"name": name, **_column_to_json(model.schema[name])} for name in model.columns]
    return {
        "neuid3_version": installed_version(),
        "classes": json.dumps(list(model.classes) and labels_to_json(model.classes)["values"], ensure_ascii=False),
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
