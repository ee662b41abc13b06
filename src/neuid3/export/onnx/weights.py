"""How are the probabilities of variables written as ONNX? As `infer.evidence` has them, from columns and networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from neuid3.data.columns import OTHER, Boolean, Category, Distribution, Number, Probability, Tensor
from neuid3.errors import ExportError, MissingPriorError
from neuid3.export.onnx.graph import OURS, Graph
from neuid3.export.onnx.networks import precision, write_networks
from neuid3.logic.formula import CellVariable, ChoiceVariable, ColumnVariable, NeuralVariable, Variable
from neuid3.tree.evidence import NetworkCall
from neuid3.tree.model import TreeModel

# The code of a missing category; what else is missing is NaN.
MISSING = -1

# What the file hands out.
CLASSES, LEAVES = "class_probabilities", "leaf_probabilities"


class Weights:
    """The inputs of a graph, one for each column that the tree reads, and what they say of its variables."""

    def __init__(self, graph: Graph, model: TreeModel) -> None:
        self.graph, self.model = graph, model
        self.dtype = numpy_type(model.dtype)
        for name in model.columns:
            self._declare(name)
        count = graph.add("Shape", model.columns[0], start=0, end=1)
        self._row = graph.add("Concat", graph.constant([1]), count, axis=0)  # the shape (1, examples)
        self._holes: dict[str, tuple[str, str]] = {}
        self._weights: dict[Variable, str] = {}
        self._answers = self._look(sorted(model.uses)) if model.uses else {}

    def _declare(self, name: str) -> None:
        if name in (CLASSES, LEAVES) or name.startswith(OURS):
            raise ExportError(f"Column {name!r} has a name that ONNX files need for themselves; rename it.")
        match self.model.schema[name]:
            case Category():
                self.graph.input(name, np.int64)
            case Distribution(values):
                self.graph.input(name, np.float64, len(values))
            case Tensor(shape):
                self.graph.input(name, numpy_type(precision(self.model, name)), *shape)
            case Boolean() | Probability() | Number():
                self.graph.input(name, np.float64)

    def same(self, numbers: Sequence[float]) -> str:
        """These numbers for every example, as `(number, example)`."""
        return self.graph.add("Expand", self._upright(numbers), self._row)

    def weights(self, variable: Variable) -> str:
        """The probability of every value of a variable, as `(value, example)`."""
        if variable not in self._weights:
            self._weights[variable] = self._weigh(variable)
        return self._weights[variable]

    def _weigh(self, variable: Variable) -> str:
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
            case ChoiceVariable(weights=weights):
                return self.same(weights)
            case NeuralVariable():
                return self._neural(variable)

    # Columns -----------------------------------------------------------------------------------------

    def _values(self, variable: ColumnVariable) -> str:
        column, add, constant = variable.column, self.graph.add, self.graph.constant
        match self.model.schema[column]:
            case Boolean() | Probability():
                return self._no_and_yes(add("Unsqueeze", self.graph.cast(column, self.dtype), constant([0])))
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
        """A number lies in the cell whose place is the number of boundaries below it."""
        counts = []
        for comparison, above in (("Greater", True), ("GreaterOrEqual", False)):
            cuts = [[boundary.at] for boundary in variable.boundaries if boundary.above == above]
            if cuts:
                beyond = self.graph.add(comparison, variable.column, self.graph.constant(cuts, np.float64))
                whole = self.graph.cast(beyond, np.int64)  # (cut, example)
                counts.append(self.graph.add("ReduceSum", whole, self.graph.constant([0]), keepdims=0))
        return self._one_hot(reduce(lambda one, other: self.graph.add("Add", one, other), counts), variable.size)

    def _one_hot(self, places: str, size: int) -> str:
        values = self.graph.constant(np.arange(size)[:, None])
        return self.graph.cast(self.graph.add("Equal", values, places), self.dtype)  # (value, example)

    def _no_and_yes(self, held: str) -> str:
        """Both values of a fact, from the probability that it holds."""
        no = self.graph.add("Sub", self.graph.constant(1.0, self.dtype), held)
        return self.graph.add("Concat", no, held, axis=0)

    # Networks ----------------------------------------------------------------------------------------

    def _neural(self, variable: NeuralVariable) -> str:
        declaration = self.model.program.declarations[variable.declaration]
        answer = self._answers[NetworkCall(variable.network, variable.inputs, declaration.width)]
        return self._no_and_yes(answer) if declaration.values is None else answer

    def _look(self, looks: list[NetworkCall]) -> dict[NetworkCall, str]:
        """What every network says, as `(value, example)`; its average where something that it reads is missing."""
        columns, written = write_networks(self.model, looks, self.graph.opset)
        answers = self.graph.embed(written, [self._without_holes(name) for name in columns])
        return {look: self._fill_answer(look, answer) for look, answer in zip(looks, answers, strict=True)}

    def _fill_answer(self, look: NetworkCall, answer: str) -> str:
        network, inputs, width = look
        filled = self.graph.add("Transpose", answer, perm=[1, 0])
        for name in inputs:
            if isinstance(self.model.schema[name], Tensor):
                torn, _ = self._some_and_all(name)
                filled = self.graph.add("Where", torn, self._upright([np.nan]), filled)
        gone = reduce(lambda one, other: self.graph.add("Or", one, other), [self._missing(name) for name in inputs])
        return self._fill(filled, gone, lambda: self.model.priors.network(network, inputs, width))

    def _without_holes(self, name: str) -> str:
        """A column for networks, which see zeros where nothing is."""
        kind = self.model.schema[name]
        zero = np.zeros((), numpy_type(precision(self.model, name)) if isinstance(kind, Tensor) else np.float64)
        return self.graph.add("Where", self.graph.add("IsNaN", name), self.graph.constant(zero), name)

    # Missing entries ---------------------------------------------------------------------------------

    def _missing(self, column: str) -> str:
        """In which examples a column is missing, as `(example,)`."""
        match self.model.schema[column]:
            case Category():
                return self.graph.add("Equal", column, self.graph.constant(MISSING))
            case Distribution() | Tensor():
                return self._some_and_all(column)[1]
            case _:
                return self.graph.add("IsNaN", column)

    def _some_and_all(self, column: str) -> tuple[str, str]:
        """In which examples something of a column is NaN, and in which everything."""
        if column not in self._holes:
            kind = self.model.schema[column]
            axes = self.graph.constant(range(1, 1 + len(kind.shape)) if isinstance(kind, Tensor) else [1])
            holes = self.graph.cast(self.graph.add("IsNaN", column), np.int32)
            some, all_ = (self.graph.add(how, holes, axes, keepdims=0) for how in ("ReduceMax", "ReduceMin"))
            self._holes[column] = self.graph.cast(some, np.bool_), self.graph.cast(all_, np.bool_)
        return self._holes[column]

    def _fill(self, known: str, missing: str, prior: Callable[[], npt.NDArray[np.float64]]) -> str:
        """The prior where an entry is missing, and NaN where nothing says what it would have been."""
        try:
            expected: Sequence[float] = prior().tolist()
        except MissingPriorError:
            expected = [np.nan]
        return self.graph.add("Where", missing, self._upright(expected), known)

    def _upright(self, numbers: Sequence[float]) -> str:
        return self.graph.constant(np.array(numbers)[:, None], self.dtype)


def numpy_type(dtype: torch.dtype) -> np.dtype[Any]:
    """The same precision in numpy."""
    return torch.empty(0, dtype=dtype).numpy().dtype
