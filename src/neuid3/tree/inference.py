"""Exact inference of tests and paths: P(κ | e), P(τ | κ, e), network calls and average network outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from neuid3.circuits.arrays import NUMPY, Arrays, NumpyArrays
from neuid3.circuits.conjunctions import Conjunctions
from neuid3.circuits.reach import Reach
from neuid3.data.examples import Examples
from neuid3.data.priors import Priors
from neuid3.logic.formula import (
    CalculatedVariable,
    CellVariable,
    ColumnVariable,
    NeuralVariable,
    QueryVariable,
    Variable,
)
from neuid3.tree.evidence import Evidence
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.semantics import NetworkCall, Semantics
from neuid3.tree.tree import Path

if TYPE_CHECKING:
    import torch

Floats = npt.NDArray[np.float64]

# The most examples that a circuit evaluates at once: it holds many numbers for each of them.
CHUNK_ROWS = 1 << 18


def arrays_for(*, neural: bool, dtype: Any = "float64", device: torch.device | str = "cpu") -> Arrays:
    """The array library for exact inference: numpy where there is no network, otherwise torch.

    Parameters
    ----------
    neural : whether networks are called.
    dtype : the precision, by its name or as torch's; numpy computes in float64.
    device : where probabilities are computed; numpy computes on the CPU.
    """
    if not neural and str(dtype).removeprefix("torch.") == "float64" and str(device) == "cpu":
        return NUMPY
    # Imported here, since a table without networks needs no torch.
    from neuid3.circuits.torch_arrays import torch_arrays

    return torch_arrays(dtype, device)


class Inference:
    """Exact inference under one program, for any tests, paths, examples and networks.

    Parameters
    ----------
    semantics : the formulas and network calls of tests.
    arrays : the array library that evaluates circuits.
    """

    def __init__(self, semantics: Semantics, arrays: Arrays = NUMPY) -> None:
        self.semantics, self.arrays = semantics, arrays

    def evidence(
        self, examples: Examples, networks: Mapping[str, Any] | None = None, priors: Priors | None = None
    ) -> Evidence:
        """The evidence of examples, with these networks by name and priors for missing entries.

        Parameters
        ----------
        examples : the examples, in the schema of the program.
        networks : the networks, by instance.
        priors : the distributions that stand for missing entries.

        Returns
        -------
        The evidence.
        """
        if isinstance(self.arrays, NumpyArrays):
            return Evidence(examples, priors)
        from neuid3.tree.network_evidence import NetworkEvidence

        return NetworkEvidence(examples, networks or {}, self.semantics.program.declarations, priors, self.arrays)

    def compiled(self, paths: Sequence[Path]) -> Reach:
        """P(κ | e) of these paths as a function of evidence.

        Parameters
        ----------
        paths : the paths, each a sequence of tests with their responses.

        Returns
        -------
        A function from evidence to probabilities, `(example, path)`.
        """
        return Reach(self.semantics.conjunctions(paths), self.arrays)

    def reach(self, evidence: Evidence, paths: Sequence[Path], rows: Any = None) -> Floats:
        """P(κ | e) of several paths for the examples of these rows, by default for all, `(example, path)`.

        Parameters
        ----------
        evidence : the evidence of a batch of examples.
        paths : the paths, each a sequence of tests with their responses.
        rows : row indices; None for all examples.

        Returns
        -------
        Probabilities, `(example, path)`.
        """
        reach = self.compiled(paths)
        probabilities = np.empty((len(evidence) if rows is None else len(rows), len(paths)))
        with self.arrays.without_gradients():
            for chunk, part in self._chunks(evidence, reach.variables, rows):
                probabilities[chunk] = self.arrays.to_numpy(reach(part))
        return probabilities

    def conditional(
        self,
        evidence: Evidence,
        path: Path,
        test: NodeTest,
        rows: Any = None,
        conjunctions: Conjunctions | None = None,
    ) -> Floats:
        """P(τ | κ, e) of the examples of these rows, by default of all, `(example,)`; one half where κ is impossible.

        Parameters
        ----------
        evidence : the evidence of a batch of examples.
        path : the path κ.
        test : the test τ.
        rows : row indices; None for all examples.
        conjunctions : what `Semantics.split_conjunctions` gives for path and test, where it is known.

        Returns
        -------
        Probabilities, `(example,)`.
        """
        reach = Reach(conjunctions or self.semantics.split_conjunctions(path, test), self.arrays)
        responses = np.full(len(evidence) if rows is None else len(rows), 0.5)
        with self.arrays.without_gradients():
            for chunk, part in self._chunks(evidence, reach.variables, rows):
                sides = self.arrays.to_numpy(reach(part))
                total = sides.sum(axis=1)
                np.divide(sides[:, 0], total, out=responses[chunk], where=total > 0)
        return responses

    def value_probabilities(self, evidence: Evidence, variable: Variable, rows: Any) -> Iterator[tuple[slice, Floats]]:
        """The probabilities of the values of a variable in these rows, `(value, example)`, chunk by chunk.

        Parameters
        ----------
        evidence : the evidence of a batch of examples.
        variable : a random variable of the program.
        rows : row indices.

        Yields
        ------
        A slice of the rows, and the probabilities in them, `(value, example)`.
        """
        for chunk, part in self._chunks(evidence, [variable], rows):
            with self.arrays.without_gradients():
                probabilities = self.arrays.to_numpy(part.weights(variable))
            yield chunk, probabilities

    def _chunks(self, evidence: Evidence, variables: Sequence[Variable], rows: Any) -> Iterator[tuple[slice, Evidence]]:
        """The evidence of some examples about these variables, in chunks."""
        n = len(evidence) if rows is None else len(rows)
        if rows is None and n <= CHUNK_ROWS:
            yield slice(None), evidence
            return
        columns = [v.column for v in variables if isinstance(v, (ColumnVariable, CellVariable))]
        columns += [name for v in variables if isinstance(v, (CalculatedVariable, QueryVariable)) for name in v.columns]
        calls = [self.semantics.call(v) for v in variables if isinstance(v, NeuralVariable)]
        for start in range(0, n, CHUNK_ROWS):
            chunk = slice(start, min(start + CHUNK_ROWS, n))
            with self.arrays.without_gradients():
                part = evidence.subset(chunk if rows is None else rows[chunk], columns, calls)
            yield chunk, part

    def outputs(self, evidence: Evidence, call: NetworkCall) -> tuple[npt.NDArray[np.int64], Floats]:
        """The examples that have all inputs of a network, and its output on each of them, `(row,)` and `(row, width)`.

        Parameters
        ----------
        evidence : the evidence of a batch of examples.
        call : the network with the columns that it reads.

        Returns
        -------
        Row indices, `(row,)`, and probabilities, `(row, width)`.
        """
        complete = evidence.examples.complete(call.inputs)
        with self.arrays.without_gradients():
            evidence.evaluate(call, complete)
            outputs = self.arrays.to_numpy(evidence.output(*call))
        rows = np.flatnonzero(complete)
        return rows, outputs[rows]


def average_output(outputs: Floats, weights: Floats | None = None) -> tuple[float, ...]:
    """The average of network outputs, `(example, width)`, as the prior of a missing one; uniform where there are none.

    >>> average_output(np.array([[0.5, 0.5], [1.0, 0.0]])), average_output(np.empty((0, 4)))
    ((0.75, 0.25), (0.25, 0.25, 0.25, 0.25))
    """
    n, width = outputs.shape
    return tuple(np.average(outputs, axis=0, weights=weights).tolist()) if n else (1.0 / max(width, 2),) * width
