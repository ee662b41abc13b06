"""Readings: the values that the networks of a tree find in images, beside the true ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from experiments.datasets import TrueValues
from neuid3 import Examples, NeurosymbolicTree
from neuid3.identifiability.observations import value_texts
from neuid3.logic.formula import NeuralVariable, sources

Codes = npt.NDArray[np.int64]

BATCH_ROWS = 4096  # images that a network reads at a time


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The most probable values that one instance of a network gives to images, and the true ones, as indices.

    Attributes
    ----------
    network : the instance.
    predicate : the neural predicate.
    size : the number of values.
    predicted, true : values by column, `(example,)`.
    """

    network: str
    predicate: str
    size: int
    predicted: Mapping[str, Codes]
    true: Mapping[str, Codes]

    @property
    def accuracy(self) -> float:
        """The fraction of images whose value is the true one."""
        predicted, true = self._all()
        return float((predicted == true).mean())

    @property
    def matched(self) -> float:
        """The fraction of images that are read right after the best renaming of values, one to one."""
        predicted, true = self._all()
        together = np.zeros((self.size, self.size), dtype=np.int64)
        np.add.at(together, (predicted, true), 1)
        return float(together[linear_sum_assignment(together, maximize=True)].sum() / len(true))

    @property
    def sum_accuracy(self) -> float:
        """The fraction of examples for which the values of all columns have the true sum."""
        predicted, true = (np.sum(list(values.values()), axis=0) for values in (self.predicted, self.true))
        return float((predicted == true).mean())

    def to_json(self) -> dict[str, Any]:
        images = sum(map(len, self.true.values()))
        measures = {"accuracy": self.accuracy, "matched": self.matched, "sum_accuracy": self.sum_accuracy}
        return {"network": self.network, "predicate": self.predicate, "images": images, **measures}

    def _all(self) -> tuple[Codes, Codes]:
        """Predicted and true values of all columns, one after the other."""
        return (
            np.concatenate(list(self.predicted.values())),
            np.concatenate([self.true[column] for column in self.predicted]),
        )


def network_counts(model: NeurosymbolicTree) -> dict[str, int]:
    """The number of declared networks that a tree calls, and of their instances; both are equal where each has one.

    An instance that serves several declared networks, as one network may read all image columns, counts for each of them.
    """
    used = {
        (model.program.declarations[variable.declaration].network, variable.network)
        for variable in _neural_variables(model)
    }
    return {"instances": len(used), "declared": len({declared for declared, _ in used})}


def readings(model: NeurosymbolicTree, shown: TrueValues) -> list[Reading]:
    """What every instance of a network in a tree reads in images with known values.

    Parameters
    ----------
    model : the tree with its networks.
    shown : the examples and the true values of their images.

    Returns
    -------
    One reading per instance, in the order of the tree; none for networks without true values.
    """
    first_calls: dict[tuple[int, str], NeuralVariable] = {}
    for variable in _neural_variables(model):
        first_calls.setdefault((variable.declaration, variable.network), variable)
    found = (_reading(model, shown, variable) for variable in first_calls.values())
    return [reading for reading in found if reading is not None]


def _reading(model: NeurosymbolicTree, shown: TrueValues, variable: NeuralVariable) -> Reading | None:
    """The reading of the instance of a variable, in all columns that have true values for its predicate."""
    predicate = model.program.declarations[variable.declaration].predicate
    columns = [column for column in shown.examples.names if f"{predicate}({column})" in shown.values]
    if not columns:
        return None
    texts = value_texts(variable, model.program)
    return Reading(
        variable.network,
        predicate,
        len(texts),
        {column: _most_probable(model, shown.examples, replace(variable, inputs=(column,))) for column in columns},
        {column: _codes(shown.values[f"{predicate}({column})"], texts) for column in columns},
    )


def _most_probable(model: NeurosymbolicTree, examples: Examples, call: NeuralVariable) -> Codes:
    """The most probable value of a network for each example, also in a column that the tree does not read."""
    arrays, images = model.inference.arrays, examples.select(call.inputs)
    codes = np.empty(len(images), dtype=np.int64)
    with model.evaluating(), arrays.without_gradients():
        for start in range(0, len(images), BATCH_ROWS):
            rows = slice(start, start + BATCH_ROWS)
            weights = model.evidence_of(images[rows]).weights(call)  # (value, example)
            codes[rows] = arrays.to_numpy(weights).argmax(axis=0)
    return codes


def _codes(values: npt.NDArray[Any], texts: Sequence[str]) -> Codes:
    """The index of each value among the values of a network as text."""
    found, inverse = np.unique(values, return_inverse=True)
    names = {True: "yes", False: "no"} if found.dtype == bool else {}
    indices = [texts.index(names.get(value, str(value))) for value in found.tolist()]
    return np.array(indices, dtype=np.int64)[inverse]


def _neural_variables(model: NeurosymbolicTree) -> list[NeuralVariable]:
    """The variables of networks in a tree, test by test and then goal by goal."""
    variables: dict[NeuralVariable, None] = {}
    goals = [test for goal in model.tree.goals for _, test in model.inference.semantics.value_tests(goal)]
    for test in (*model.tree.tests, *goals):
        neural = [one for one in sources(test.formula(model.program)) if isinstance(one, NeuralVariable)]
        variables |= dict.fromkeys(sorted(neural, key=lambda one: (one.network, one.declaration, one.inputs)))
    return list(variables)
