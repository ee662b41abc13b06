"""Training tasks, their restarts and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from neuid3.circuits.conjunctions import Conjunctions
from neuid3.data.stores import StoredRows
from neuid3.logic.formula import NeuralVariable, Variable
from neuid3.logic.program import Program
from neuid3.networks.adam import Moments
from neuid3.training.config import TrainingConfig
from neuid3.training.head import Head
from neuid3.tree.criteria import Target

Floats = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class NetworkOutput:
    """The output of a network on some columns, which is a variable of the circuit.

    Attributes
    ----------
    network : name of the network.
    inputs : names of the columns that it reads, one for each argument.
    width : number of probabilities that it returns for an example.
    is_fact : whether its single output is the probability that the variable is true.
    """

    network: str
    inputs: tuple[str, ...]
    width: int
    is_fact: bool

    @classmethod
    def of(cls, variable: Variable, program: Program) -> NetworkOutput:
        """The network output of a variable of this program."""
        assert isinstance(variable, NeuralVariable)
        declaration = program.declarations[variable.declaration]
        return cls(variable.network, variable.inputs, declaration.width, declaration.values is None)


@dataclass(frozen=True, slots=True, eq=False)
class LabelledInputs:
    """Inputs of a network with the values that it should return for them.

    Attributes
    ----------
    arguments : for each argument of the network a mapping with one column, the entries of all labels.
    values : the number of the value of each label; for a network with a single output 1 for yes, `(label,)`.
    """

    arguments: tuple[Mapping[str, npt.NDArray[Any] | StoredRows], ...]
    values: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class RestartVariant:
    """The settings in which restarts of a task differ.

    Attributes
    ----------
    flipped_polarity : whether the test is to be true for the negative class instead of the positive one.
    grayscale_warmup : whether colour images are shown in grayscale in the first part of training.
    """

    flipped_polarity: bool = False
    grayscale_warmup: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Paths to be trained, with all that a worker needs.

    For a test τ at a node κ the two paths are κ∧τ and κ∧¬τ, as far as κ shares variables with τ; for a whole tree they
    are its leaves.

    Attributes
    ----------
    paths : the compiled paths.
    outputs : the network output of each variable that is trained.
    fixed_weights : the weights of all other variables, `(value, example)`.
    columns : the columns that networks read.
    target : the targets with their weights, P(κ|e) times the sample weight, and their criterion.
    unseen : mask of the validation split, `(example,)`.
    initial_networks : the networks that each restart begins with, by name.
    config : hyperparameters.
    seed : seed of all random draws.
    device : PyTorch device.
    leaves : initial parameters of the leaves, `(path, parameter)`, where they are known.
    variants : the settings of each restart; empty where all have the defaults.
    min_gain : information gain, in bits, below which a restart is given up at the end of a round.
    missing : mask of the rows in which a column is missing, for every column that has such rows. There, a variable whose
        network reads the column follows the average output of that network.
    absent : mask of the rows in which an example has no such part, for every column of parts that has such rows. They are
        missing too, and nothing depends on what a network would say there.
    head : reads the probabilities of all `paths`, which are then rules and no paths that exclude each other; None for tests
        and trees, which have a leaf distribution for each path.
    labels : labelled inputs of the networks that have any, by the name of the network.
    """

    paths: Conjunctions
    outputs: Mapping[Variable, NetworkOutput]
    fixed_weights: Mapping[Variable, Floats]
    columns: Mapping[str, npt.NDArray[Any] | StoredRows]
    target: Target
    unseen: npt.NDArray[np.bool_]
    initial_networks: tuple[Mapping[str, nn.Module], ...]
    config: TrainingConfig
    seed: int
    device: str = "cpu"
    leaves: Floats | None = None
    variants: tuple[RestartVariant, ...] = ()
    min_gain: float = -np.inf
    missing: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)
    absent: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)
    head: Head | None = None
    labels: Mapping[str, LabelledInputs] = field(default_factory=dict)

    def computable(self, inputs: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Mask of the rows in which none of these columns is missing, so that a network that reads them can be called.

        Parameters
        ----------
        inputs : the names of the columns.

        Returns
        -------
        A Boolean mask, `(row,)`.
        """
        return ~self._any(self.missing, inputs)

    def is_absent(self, inputs: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Mask of the rows in which one of these columns belongs to a part that the example does not have.

        Parameters
        ----------
        inputs : the names of the columns.

        Returns
        -------
        A Boolean mask, `(row,)`.
        """
        return self._any(self.absent, inputs)

    def _any(self, masks: Mapping[str, npt.NDArray[np.bool_]], names: Sequence[str]) -> npt.NDArray[np.bool_]:
        """The rows in the mask of one of these columns at least."""
        rows = np.zeros(len(self.target), dtype=bool)
        for name in set(names) & set(masks):
            rows |= masks[name]
        return rows

    @property
    def training_rows(self) -> npt.NDArray[np.int64]:
        """Numbers of the rows that networks are trained on.

        A row in which no network can be called has no gradient for any of them; it is left out, except where the leaves
        of a whole tree are trained, to which it contributes.
        """
        rows = ~self.unseen & (self.target.weights > 0)
        if self.missing and self.leaves is None:
            rows &= np.any([self.computable(output.inputs) for output in self.outputs.values()], axis=0)
        return np.flatnonzero(rows)

    @property
    def validation_rows(self) -> npt.NDArray[np.int64]:
        """Numbers of the unseen rows that gains are measured on; of all rows where none is unseen."""
        weighted = self.target.weights > 0
        unseen = self.unseen & weighted
        return np.flatnonzero(unseen if bool(unseen.any()) else weighted)


@dataclass(frozen=True, slots=True, eq=False)
class TrainingResult:
    """Result of the training of a task.

    Attributes
    ----------
    networks : the trained networks, by name.
    leaves : what the leaves say, `(path, value)`: for classes, their probabilities.
    score : information gain in bits, or mean log-likelihood of a whole tree, on unseen examples.
    gain : the gain of a test on unseen examples, in the unit of the criterion; NaN for a whole tree.
    steps : number of gradient steps.
    failed : the reason why training failed, or None.
    """

    networks: Mapping[str, nn.Module]
    leaves: Floats
    score: float
    gain: float
    steps: int
    failed: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RestartState:
    """State of a partly trained restart, complete enough to continue in another process.

    Attributes
    ----------
    networks, moments : networks and their Adam moments, by name.
    leaves, leaf_moments : parameters of the leaves, `(path, parameter)`, and their Adam moments.
    random : state of the random generator.
    steps : number of gradient steps taken.
    score : information gain on unseen examples, in bits.
    gain : gain on unseen examples, in the unit of the criterion.
    failed : the reason why training failed, or None.
    averages : running sums of the outputs of network calls that are missing in some rows, each followed by its weight,
        `(value + 1,)`.
    """

    networks: Mapping[str, nn.Module]
    moments: Mapping[str, Moments]
    leaves: torch.Tensor
    leaf_moments: Moments
    random: torch.Tensor
    steps: int
    score: float
    gain: float
    failed: str | None
    averages: Mapping[tuple[str, tuple[str, ...]], torch.Tensor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Restart:
    """One restart of a task, with its state once it was trained for a while."""

    task: Task
    number: int
    state: RestartState | None = None

    @property
    def score(self) -> float:
        """Information gain on unseen examples, in bits; -∞ before training."""
        return self.state.score if self.state is not None else float("-inf")

    @property
    def networks(self) -> Mapping[str, nn.Module]:
        """The networks as they are now."""
        return self.task.initial_networks[self.number] if self.state is None else self.state.networks
