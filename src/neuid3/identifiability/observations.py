"""Values of a tree's variables in examples: labels where they are given, else the most probable values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.examples import Examples
from neuid3.logic.formula import (
    CalculatedVariable,
    CellVariable,
    ChoiceVariable,
    ColumnVariable,
    NeuralVariable,
    Variable,
)
from neuid3.logic.program import Program
from neuid3.tree.anchors import Anchors
from neuid3.tree.labels import model_labels
from neuid3.tree.model import TreeModel

# The value of an image that has no label.
UNKNOWN = -1

# Examples whose networks run at a time.
BATCH_ROWS = 4096

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """The values of a tree's variables in examples.

    Attributes
    ----------
    codes : the index of the value of each variable but choices, `(example,)`.
    labels : for each variable of a network with labels the index of its label, `(example,)`; -1 without one.
    complete : whether an example has all entries that the tree reads, `(example,)`.
    confidence : for each variable of a network the probability of its most probable value, `(example,)`; NaN where there
        is a label, or an input is missing.
    entropy : the same for the entropy of its output, in bits.
    """

    codes: Mapping[Variable, Codes]
    labels: Mapping[NeuralVariable, Codes]
    complete: Mask
    confidence: Mapping[NeuralVariable, Floats] = field(default_factory=dict)
    entropy: Mapping[NeuralVariable, Floats] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """Where the values of networks in complete examples come from: "labels", "predictions" or both."""
        neural = [variable for variable in self.codes if isinstance(variable, NeuralVariable)]
        none = np.full(len(self.complete), UNKNOWN)
        labelled = [(self.labels.get(v, none) != UNKNOWN)[self.complete] for v in neural]
        if all(of_variable.all() for of_variable in labelled):
            return "labels"
        return "labels and predictions" if any(of_variable.any() for of_variable in labelled) else "predictions"


def observe(
    model: TreeModel, X: Any, variables: Iterable[Variable], concepts: Mapping[str, Any] | None = None
) -> Observations:
    """The values of variables in examples.

    A network's value is its label, or else its most probable value; so is that of a probability or distribution column. An
    example with a missing entry is not complete.

    Parameters
    ----------
    model : the tree with its program and networks.
    X : the examples, as `Examples` or a table with the columns of the schema; columns such as `rank(first)` hold labels.
    variables : variables of the tree.
    concepts : further labels, as in `neuid3.tree.labels.model_labels`.

    Returns
    -------
    The values.

    Raises
    ------
    DataError : where labels do not fit, or columns are missing.
    """
    return observed_values(model, *model_labels(model, X, concepts), variables)


def observed_values(
    model: TreeModel, examples: Examples, given: Anchors, variables: Iterable[Variable]
) -> Observations:
    """The values of variables in examples that are read already, with their labels; see `observe`.

    Parameters
    ----------
    model : the tree with its program and networks.
    examples : the examples, in the schema of the model.
    given : labels by declared network.
    variables : variables of the tree.

    Returns
    -------
    The values.
    """
    observed = [v for v in variables if not isinstance(v, ChoiceVariable)]
    neural = [variable for variable in observed if isinstance(variable, NeuralVariable)]
    labels = _label_codes(given, neural, model.program, len(examples))
    codes: dict[Variable, Codes] = {variable: np.zeros(len(examples), dtype=np.int64) for variable in observed}
    confidence = {variable: np.full(len(examples), np.nan) for variable in neural}
    entropy = {variable: np.full(len(examples), np.nan) for variable in neural}
    complete = ~model.has_open_parts(examples)
    arrays = model.inference.arrays
    with model.evaluating(), arrays.without_gradients():
        for variable in observed:
            present, absent = _present(examples, variable), examples.absent(_inputs(variable))
            unlabelled = np.ones(len(examples), dtype=bool)
            if isinstance(variable, NeuralVariable) and variable in labels:
                codes[variable] = labels[variable].copy()
                unlabelled = labels[variable] == UNKNOWN
            rows = np.flatnonzero(unlabelled & present)  # a missing entry has no value, only a prior
            for start in range(0, len(rows), BATCH_ROWS):
                batch = rows[start : start + BATCH_ROWS]
                evidence = model.evidence_of(examples[batch])
                weights = arrays.to_numpy(evidence.weights(variable))  # (value, example)
                codes[variable][batch] = weights.argmax(axis=0)
                if isinstance(variable, NeuralVariable):
                    confidence[variable][batch] = weights.max(axis=0)
                    logarithms = np.log2(weights, out=np.zeros_like(weights), where=weights > 0)
                    entropy[variable][batch] = -(weights * logarithms).sum(axis=0)
            # Any value that occurs will do: no test depends on a part that is not there.
            if absent.any() and not absent.all():
                codes[variable][absent] = np.bincount(codes[variable][~absent]).argmax()
            complete &= present | absent
    return Observations(codes, labels, complete, confidence, entropy)


def _present(examples: Examples, variable: Variable) -> Mask:
    present: Mask = np.asarray(examples.complete(_inputs(variable)))
    return present


def _inputs(variable: Variable) -> tuple[str, ...]:
    """The columns whose entries a variable needs; those of parts are known or not one by one."""
    match variable:
        case NeuralVariable(inputs=columns) | CalculatedVariable(columns=columns):
            return columns
        case ColumnVariable(column) | CellVariable(column):
            return (column,)
        case _:
            return ()


def _label_codes(
    labels: Anchors, neural: Sequence[NeuralVariable], program: Program, n: int
) -> dict[NeuralVariable, Codes]:
    """The label of each variable that has some, by index, -1 where there is none, `(example,)` each."""
    codes: dict[NeuralVariable, Codes] = {}
    for variable in neural:
        of_network = labels.get(program.declarations[variable.declaration].network)
        for inputs, rows, values in () if of_network is None else of_network.by_call():
            if inputs == variable.inputs:
                codes[variable] = np.full(n, UNKNOWN, dtype=np.int64)
                codes[variable][rows] = values
    return codes


def value_texts(variable: NeuralVariable, program: Program) -> tuple[str, ...]:
    """The values of a network's variable as text; those of a neural fact are `no` and `yes`.

    Parameters
    ----------
    variable : a variable of a network.
    program : the background knowledge.

    Returns
    -------
    The values in their order.
    """
    values = program.declarations[variable.declaration].values
    return ("no", "yes") if values is None else tuple(values)
