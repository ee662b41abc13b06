"""Probabilities of variables as ONNX operations, equivalent to those of `tree.evidence`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from neuid3.data.columns import OTHER, Boolean, Category, Distribution, Number, Probability, Tensor
from neuid3.data.parts import Parts, Relation
from neuid3.errors import ExportError, MissingPriorError
from neuid3.export.onnx.calculations import write_calculated
from neuid3.export.onnx.graph import PREFIX, Graph
from neuid3.export.onnx.networks import precision, write_networks
from neuid3.logic.formula import (
    CalculatedVariable,
    CellVariable,
    ChoiceVariable,
    ColumnVariable,
    NeuralVariable,
    QueryVariable,
    Variable,
)
from neuid3.tree.base_model import BaseModel
from neuid3.tree.semantics import NetworkCall

# The code of a missing category; any other missing entry is NaN.
MISSING = -1

# The names of the outputs.
CLASSES, LEAVES, MEAN, STD = "class_probabilities", "leaf_probabilities", "predicted_mean", "predicted_std"


class Weights:
    """The inputs of a graph, one for each column that the tree reads, and the probabilities of its variables."""

    def __init__(self, graph: Graph, model: BaseModel) -> None:
        self.graph, self.model = graph, model
        self.dtype = np.dtype(model.precision)
        for name in model.columns:
            self._declare(name)
        count = graph.add("Shape", model.columns[0], start=0, end=1)
        self._row_shape = graph.add("Concat", graph.constant([1]), count, axis=0)  # (1, examples)
        self._nan_masks: dict[str, tuple[str, str]] = {}
        self._weights: dict[Variable, str] = {}
        self._outputs = self._call_networks(sorted(model.network_calls)) if model.network_calls else {}

    def _declare(self, name: str) -> None:
        if name in (CLASSES, LEAVES, MEAN, STD) or name.startswith(PREFIX):
            raise ExportError(f"Column {name!r} has a name that is reserved in ONNX files; rename the column.")
        kind = self.model.schema.get(name)
        if kind is None or isinstance(kind, (Parts, Relation)):  # a picture of a slot is no column of the schema
            raise ExportError(
                f"ONNX has no tables of parts, which the model reads as {name!r}; export a single tree with parts to ProbLog."
            )
        match kind:
            case Category():
                self.graph.input(name, np.int64)
            case Distribution(values):
                self.graph.input(name, np.float64, len(values))
            case Tensor(shape):
                self.graph.input(name, numpy_type(precision(self.model, name)), *shape)
            case Boolean() | Probability() | Number():
                self.graph.input(name, np.float64)

    def repeated(self, numbers: Sequence[float]) -> str:
        """The same numbers for every example, as `(number, example)`."""
        return self.graph.add("Expand", self._column_vector(numbers), self._row_shape)

    def weights(self, variable: Variable) -> str:
        """The probability of every value of a variable, as `(value, example)`."""
        if variable not in self._weights:
            self._weights[variable] = self._compute_weights(variable)
        return self._weights[variable]

    def _compute_weights(self, variable: Variable) -> str:
        match variable:
            case ColumnVariable(column):
                kind, priors = self.model.schema[column], self.model.priors
                return self._fill(self._values(variable), self._missing(column), lambda: priors.column(column, kind))
            case CellVariable(column):
                priors = self.model.priors
                return self._fill(
                    self._cells(variable),
                    self._missing(column),
                    lambda: priors.cells(variable.column, variable.boundaries),
                )
            case CalculatedVariable():
                return write_calculated(self.graph, variable, self.model.priors, self.dtype)
            case ChoiceVariable(weights=weights):
                return self.repeated(weights)
            case NeuralVariable():
                return self._neural(variable)
            case QueryVariable(query):
                raise ExportError(
                    f"ONNX has no tables of parts, which the test '{query}' reads; only single trees are exported with parts, to ProbLog."
                )

    # Columns -----------------------------------------------------------------------------------------

    def _values(self, variable: ColumnVariable) -> str:
        column, add, constant = variable.column, self.graph.add, self.graph.constant
        match self.model.schema[column]:
            case Boolean() | Probability():
                return self._false_and_true(add("Unsqueeze", self.graph.cast(column, self.dtype), constant([0])))
            case Category() as kind:
                known = add(
                    "And", add("GreaterOrEqual", column, constant(0)), add("Less", column, constant(variable.size))
                )
                return self._one_hot(add("Where", known, column, constant(kind.domain.index(OTHER))), variable.size)
            case Distribution():
                shares = add("Div", column, add("ReduceSum", column, constant([1]), keepdims=1))
                return self.graph.cast(add("Transpose", shares, perm=[1, 0]), self.dtype)
            case other:
                raise AssertionError(f"a {other} column is no variable by itself")

    def _cells(self, variable: CellVariable) -> str:
        """The cell of a number, one-hot: its index is the number of boundaries below the number."""
        counts = []
        for comparison, above in (("Greater", True), ("GreaterOrEqual", False)):
            cuts = [[boundary.at] for boundary in variable.boundaries if boundary.above == above]
            if cuts:
                beyond = self.graph.add(comparison, variable.column, self.graph.constant(cuts, np.float64))
                whole = self.graph.cast(beyond, np.int64)  # (cut, example)
                counts.append(self.graph.add("ReduceSum", whole, self.graph.constant([0]), keepdims=0))
        return self._one_hot(reduce(lambda one, other: self.graph.add("Add", one, other), counts), variable.size)

    def _one_hot(self, indices: str, size: int) -> str:
        values = self.graph.constant(np.arange(size)[:, None])
        return self.graph.cast(self.graph.add("Equal", values, indices), self.dtype)  # (value, example)

    def _false_and_true(self, probability: str) -> str:
        """Both values of a fact, from the probability that it is true."""
        complement = self.graph.add("Sub", self.graph.constant(1.0, self.dtype), probability)
        return self.graph.add("Concat", complement, probability, axis=0)

    # Networks ----------------------------------------------------------------------------------------

    def _neural(self, variable: NeuralVariable) -> str:
        declaration = self.model.program.declarations[variable.declaration]
        output = self._outputs[NetworkCall(variable.network, variable.inputs, declaration.width)]
        return self._false_and_true(output) if declaration.values is None else output

    def _call_networks(self, calls: list[NetworkCall]) -> dict[NetworkCall, str]:
        """The output of every network call, as `(value, example)`; its prior where an input is missing."""
        columns, written = write_networks(self.model, calls, self.graph.opset)
        outputs = self.graph.embed(written, [self._zero_filled(name) for name in columns])
        return {call: self._fill_output(call, output) for call, output in zip(calls, outputs, strict=True)}

    def _fill_output(self, call: NetworkCall, output: str) -> str:
        network, inputs, width = call
        filled = self.graph.add("Transpose", output, perm=[1, 0])
        for name in inputs:
            if isinstance(self.model.schema[name], Tensor):
                some_nan, _ = self._some_and_all_nan(name)
                filled = self.graph.add("Where", some_nan, self._column_vector([np.nan]), filled)
        missing = reduce(lambda one, other: self.graph.add("Or", one, other), [self._missing(name) for name in inputs])
        return self._fill(filled, missing, lambda: self.model.priors.network(network, inputs, width))

    def _zero_filled(self, name: str) -> str:
        """A column as input of networks, with zeros in the place of NaN."""
        kind = self.model.schema[name]
        zero = np.zeros((), numpy_type(precision(self.model, name)) if isinstance(kind, Tensor) else np.float64)
        return self.graph.add("Where", self.graph.add("IsNaN", name), self.graph.constant(zero), name)

    # Missing entries ---------------------------------------------------------------------------------

    def _missing(self, column: str) -> str:
        """Whether a column is missing in each example, as `(example,)`."""
        match self.model.schema[column]:
            case Category():
                return self.graph.add("Equal", column, self.graph.constant(MISSING))
            case Distribution() | Tensor():
                return self._some_and_all_nan(column)[1]
            case _:
                return self.graph.add("IsNaN", column)

    def _some_and_all_nan(self, column: str) -> tuple[str, str]:
        """Whether some, and whether all, numbers of a column are NaN in each example, both as `(example,)`."""
        if column not in self._nan_masks:
            kind = self.model.schema[column]
            axes = self.graph.constant(range(1, 1 + len(kind.shape)) if isinstance(kind, Tensor) else [1])
            is_nan = self.graph.cast(self.graph.add("IsNaN", column), np.int32)
            some, all_ = (
                self.graph.add(reduction, is_nan, axes, keepdims=0) for reduction in ("ReduceMax", "ReduceMin")
            )
            self._nan_masks[column] = self.graph.cast(some, np.bool_), self.graph.cast(all_, np.bool_)
        return self._nan_masks[column]

    def _fill(self, known: str, missing: str, prior: Callable[[], npt.NDArray[np.float64]]) -> str:
        """The prior where an entry is missing, or NaN if there is no prior."""
        try:
            expected: Sequence[float] = prior().tolist()
        except MissingPriorError:
            expected = [np.nan]
        return self.graph.add("Where", missing, self._column_vector(expected), known)

    def _column_vector(self, numbers: Sequence[float]) -> str:
        return self.graph.constant(np.array(numbers)[:, None], self.dtype)


def numpy_type(dtype: torch.dtype) -> np.dtype[Any]:
    """The numpy type of a torch type."""
    return torch.empty(0, dtype=dtype).numpy().dtype
