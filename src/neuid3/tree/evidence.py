"""Probabilities of the values of random variables for a batch of examples, from columns and priors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from neuid3.circuits.arrays import NUMPY, AnyArray, Arrays
from neuid3.data.columns import Boolean, Category, Column, Distribution, Probability
from neuid3.data.examples import Examples
from neuid3.data.priors import Priors
from neuid3.errors import NetworkError
from neuid3.logic.formula import (
    CalculatedVariable,
    CellVariable,
    ChoiceVariable,
    ColumnVariable,
    NeuralVariable,
    QueryVariable,
    Variable,
)
from neuid3.tree.calculations import calculated_weights
from neuid3.tree.semantics import NetworkCall


class Evidence:
    """The weights of random variables for a batch of examples without networks.

    `neuid3.tree.network_evidence` adds networks.

    Parameters
    ----------
    examples : the batch.
    priors : the distributions that stand for missing entries.
    arrays : the array library of the weights.
    """

    def __init__(self, examples: Examples, priors: Priors | None = None, arrays: Arrays = NUMPY) -> None:
        self.examples = examples
        self.priors = priors or Priors()
        self.arrays = arrays
        self._weights: dict[Variable, AnyArray] = {}

    def __len__(self) -> int:
        return len(self.examples)

    def with_networks(self, networks: Mapping[str, Any], priors: Priors) -> Evidence:
        """The same examples with other networks and priors.

        Parameters
        ----------
        networks : the networks, by instance.
        priors : the average outputs of the networks, for missing inputs.

        Returns
        -------
        The new evidence.
        """
        if networks:
            raise self._no_network(next(iter(networks)))
        return Evidence(self.examples, priors, self.arrays)

    def subset(self, rows: Any, columns: Sequence[str], calls: Iterable[NetworkCall] = ()) -> Evidence:
        """The evidence of some rows and columns, with the outputs of these network calls.

        Parameters
        ----------
        rows : row indices or a mask.
        columns : the names of the columns.
        calls : the network calls whose outputs are needed.

        Returns
        -------
        The evidence of these rows.
        """
        for call in calls:
            raise self._no_network(call.network)
        return Evidence(self.examples.select(columns)[rows], self.priors, self.arrays)

    def output(self, network: str, inputs: tuple[str, ...], width: int) -> AnyArray:  # noqa: ARG002
        """The output of a network on these columns, `(example, width)`; its prior where an input is missing.

        Parameters
        ----------
        network : the name of the network instance.
        inputs : the columns that it reads.
        width : the number of its outputs.

        Returns
        -------
        Probabilities, `(example, width)`.
        """
        raise self._no_network(network)

    def evaluate(self, call: NetworkCall, mask: Any) -> None:  # noqa: ARG002
        """Run a network on the examples of a mask, `(example,)`, where it has not run yet.

        Parameters
        ----------
        call : the network with the columns that it reads.
        mask : a Boolean mask of examples, `(example,)`.
        """
        raise self._no_network(call.network)

    def evaluated(self, call: NetworkCall) -> Any:  # noqa: ARG002
        """The mask of the examples that a network has run on, `(example,)`.

        Parameters
        ----------
        call : the network with the columns that it reads.

        Returns
        -------
        A Boolean mask, `(example,)`.
        """
        return np.zeros(len(self), dtype=bool)

    def is_complete(self, call: NetworkCall) -> bool:
        """Whether a network has run on all examples.

        Parameters
        ----------
        call : the network with the columns that it reads.

        Returns
        -------
        True if no example is left.
        """
        return bool(self.evaluated(call).all())

    def _no_network(self, network: str) -> NetworkError:
        return NetworkError(f"Network {network!r} is called, and this evidence has no networks; give them.")

    def is_missing(self, name: str) -> bool:
        """Whether an entry of this column is missing in this batch.

        Parameters
        ----------
        name : the name of a column.

        Returns
        -------
        True if at least one entry is missing.
        """
        missing = self.examples.column(name).missing
        return missing is not None and bool(missing.any())

    def weights(self, variable: Variable) -> AnyArray:
        """The probability of every value of a variable, as `(value, example)`.

        Parameters
        ----------
        variable : a random variable of the program.

        Returns
        -------
        Probabilities, `(value, example)`.
        """
        if isinstance(variable, (CellVariable, CalculatedVariable)):
            # Every path has cells of its own; a cache of all of them would fill the memory.
            return self._weigh(variable)
        if variable not in self._weights:
            self._weights[variable] = self._weigh(variable)
        return self._weights[variable]

    def _weigh(self, variable: Variable) -> AnyArray:
        match variable:
            case ColumnVariable():
                return self._column(variable)
            case CellVariable():
                return self._cells(variable)
            case CalculatedVariable():
                return self.arrays.floats(calculated_weights(variable, self.examples, self.priors))
            case ChoiceVariable(weights=weights):
                return self.arrays.repeated(self.arrays.floats(np.array(weights)), len(self))
            case QueryVariable(query):
                return self.arrays.one_hot(query.holds(self.examples).astype(np.int64), 2)
            case NeuralVariable():
                return self._neural(variable)

    def _column(self, variable: ColumnVariable) -> AnyArray:
        column = self.examples.column(variable.column)
        match column.kind:
            case Boolean() | Probability():
                true = self.arrays.floats(column.values.astype(np.float64))
                known = self.arrays.stack((1.0 - true, true))
            case Category():
                known = self.arrays.one_hot(np.asarray(column.values, dtype=np.int64), variable.size)
            case Distribution():
                known = self.arrays.floats(np.ascontiguousarray(column.values.T))
            case other:
                raise AssertionError(f"a {other} column is no variable by itself")
        if not self.is_missing(variable.column):
            return known
        return self._fill(known, column, self.priors.column(variable.column, column.kind))

    def _cells(self, variable: CellVariable) -> AnyArray:
        column = self.examples.column(variable.column)
        numbers = column.values
        beyond = [numbers > cut.at if cut.above else numbers >= cut.at for cut in variable.boundaries]
        known = self.arrays.one_hot(np.sum(beyond, axis=0), variable.size)
        if not self.is_missing(variable.column):
            return known
        return self._fill(known, column, self.priors.cells(variable.column, variable.boundaries))

    def _fill(self, known: AnyArray, column: Column, prior: Any) -> AnyArray:
        missing = self.arrays.mask(np.asarray(column.missing))
        return self.arrays.where(missing, self.arrays.floats(prior)[:, None], known)

    def _neural(self, variable: NeuralVariable) -> AnyArray:
        raise self._no_network(variable.network)
