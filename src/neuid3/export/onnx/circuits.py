"""Circuits as ONNX operations, level by level, with the sums and products of `circuits.evaluate`."""

from __future__ import annotations

from typing import Any, Protocol

import numpy.typing as npt

from neuid3.circuits.evaluate import LayeredCircuit, Level
from neuid3.circuits.reach import Reach
from neuid3.circuits.shapes import ShapedEvaluator
from neuid3.errors import ExportError
from neuid3.export.onnx.graph import Graph
from neuid3.logic.formula import Variable


class WeightSource(Protocol):
    """Access to the values of the graph that hold the probabilities of variables."""

    @property
    def dtype(self) -> npt.DTypeLike:
        """The numpy type of the probabilities."""
        ...

    def weights(self, variable: Variable) -> str:
        """The probability of every value of a variable, as `(value, example)`."""
        ...

    def repeated(self, numbers: list[float]) -> str:
        """The same numbers for every example, as `(number, example)`."""
        ...


def write_reach(graph: Graph, reach: Reach, source: WeightSource) -> str:
    """P(path | e) as `(example, path)`."""
    certain = source.repeated([1.0])
    roots = [_circuit(graph, circuit, source) for circuit in reach.circuits]
    roots_and_truth = graph.add("Concat", *roots, certain, axis=0)  # (root, example)
    reached = certain
    for i, factor in enumerate(reach.factors.T):
        selected = _rows(graph, roots_and_truth, factor)
        reached = graph.add("Mul", reached, selected) if i else selected
    return graph.add("Transpose", reached, perm=[1, 0])


def _circuit(graph: Graph, circuit: LayeredCircuit | ShapedEvaluator, source: WeightSource) -> str:
    """The probability of every root, as `(root, example)`."""
    if isinstance(circuit, ShapedEvaluator):
        raise ExportError(
            "A test asks about the parts of examples, which an ONNX file cannot hold; export it to ProbLog."
        )
    if not circuit.levels:
        return source.repeated(circuit.constant_roots)
    weights = [source.weights(variable) for variable in circuit.circuit.variables]
    frontier = source.repeated([1.0])
    for level in circuit.levels:
        frontier = _level(graph, level, frontier, weights[level.variable], source)
    if circuit.root_rows is None:
        return frontier
    return _rows(graph, graph.add("Concat", frontier, source.repeated([0.0, 1.0]), axis=0), circuit.root_rows)


def _level(graph: Graph, level: Level, frontier: str, weights: str, source: WeightSource) -> str:
    """The values of the nodes after one level."""
    steps = graph.add("MatMul", graph.constant(level.masks, source.dtype), weights)  # (step, example)
    if level.children is not None:
        steps = graph.add("Mul", steps, _rows(graph, frontier, level.children))
    if level.gathers is not None:
        padded = graph.add("Concat", steps, source.repeated([0.0]), axis=0)
        gathered = _rows(graph, padded, level.gathers)  # (node, degree, example)
        steps = graph.add("ReduceSum", gathered, graph.constant([1]), keepdims=0)
    elif level.adds is not None:
        steps = graph.add("MatMul", graph.constant(level.adds, source.dtype), steps)
    if level.keep is None:
        return graph.add("Concat", frontier, steps, axis=0)
    return graph.add("Concat", _rows(graph, frontier, level.keep), steps, axis=0) if len(level.keep) else steps


def _rows(graph: Graph, values: str, rows: npt.NDArray[Any]) -> str:
    return graph.add("Gather", values, graph.constant(rows), axis=0)
