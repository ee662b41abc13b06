"""What is to be trained, and how?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from neuid3.circuits.conjunctions import Conjunctions
from neuid3.data.stores import Entries
from neuid3.logic.formula import Variable
from neuid3.networks.adam import Moments

Floats = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """How a test is trained. The defaults were measured; `PAPER` is the paper's own.

    `loss`: "branches" wants one class on each side of the test (the paper's weighted cross-entropy), "leaves" is
    the likelihood of a tree of this one test, whose two leaf distributions are learned along.
    `epochs` are fewer where there are many examples: `enough` steps are enough, and three epochs the least.
    `sharpness` multiplies the last weights of a fresh network that names values: where it starts out undecided between
    them, rules have next to no gradient.
    `restarts` differ in which class the test is to be true for, and in whether colour is seen from the start;
    the better ones go on (see `tournament`). `shift` moves images by up to that many pixels, `warp` turns, stretches
    and slants them by up to that share.
    """

    loss: Literal["leaves", "branches"] = "leaves"
    epochs: int = 30
    batch_size: int = 64
    learning_rate: float = 3e-3
    one_cycle: bool = True
    weight_decay: float = 0.01
    shift: int = 2
    restarts: int = 4
    joint_epochs: int = 60
    joint_learning_rate: float = 2e-3
    enough: int | None = 600
    sharpness: float = 8.0
    warp: float = 0.2

    def steps(self, examples: int) -> int:
        """How many steps training takes with so many examples."""
        batches = max(1, -(-examples // self.batch_size))
        epochs = self.epochs if self.enough is None else min(self.epochs, max(3, -(-self.enough // batches)))
        return epochs * batches


PAPER_TRAINING = TrainingConfig("branches", 20, 32, 1e-3, False, 0.0, 0, 1, 0, enough=None, sharpness=1.0, warp=0.0)


@dataclass(frozen=True, slots=True)
class NetworkOutput:
    """A network looks at columns, and what it returns is a variable of the circuit."""

    network: str
    inputs: tuple[str, ...]
    width: int
    is_fact: bool


@dataclass(frozen=True, slots=True)
class RestartVariant:
    """In what a restart differs: whether the test is to be true for the other class, and whether colour comes late."""

    flipped: bool = False
    grey: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Paths to be trained: everything a worker needs, and nothing it shares.

    For a test τ at a node κ the two paths are κ∧τ and κ∧¬τ, as far as κ shares variables with τ; for a whole tree they
    are its leaves. `fixed` holds the weights of variables that do not change, `(value, example)`; every other
    variable is in `uses`. `leaves` are the class probabilities to start from, one row a path, where they are known.
    A restart whose gain is below `least` when it is judged is given up.
    `missing` has a mask of the rows in which a column is missing, for every column that is missing somewhere: there, a
    neural variable that reads it follows the average output of its network.
    """

    factored: Conjunctions
    uses: Mapping[Variable, NetworkOutput]
    fixed: Mapping[Variable, Floats]
    columns: Mapping[str, npt.NDArray[Any] | Entries]
    labels: npt.NDArray[np.int64]
    weights: Floats
    unseen: npt.NDArray[np.bool_]
    classes: int
    positive: int
    starts: tuple[Mapping[str, nn.Module], ...]
    recipe: TrainingConfig
    seed: int
    device: str = "cpu"
    leaves: Floats | None = None
    manners: tuple[RestartVariant, ...] = ()
    least: float = -np.inf
    missing: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)

    def computable(self, inputs: Sequence[str]) -> npt.NDArray[np.bool_]:
        """A mask of the rows in which a network that reads these columns can be called: none of them is missing."""
        whole = np.ones(len(self.labels), dtype=bool)
        for name in inputs:
            if name in self.missing:
                whole &= ~self.missing[name]
        return whole

    @property
    def training_rows(self) -> npt.NDArray[np.int64]:
        """The rows that networks are trained on.

        A row in which no network can be called has no gradient for any of them; it is left out unless the leaves of
        a whole tree are trained, which it is part of.
        """
        rows = ~self.unseen & (self.weights > 0)
        if self.missing and self.leaves is None:
            rows &= np.any([self.computable(use.inputs) for use in self.uses.values()], axis=0)
        return np.flatnonzero(rows)

    @property
    def validation_rows(self) -> npt.NDArray[np.int64]:
        """The unseen rows that gains are measured on; all rows where none is unseen."""
        weighted = self.weights > 0
        unseen = self.unseen & weighted
        return np.flatnonzero(unseen if bool(unseen.any()) else weighted)


@dataclass(frozen=True, slots=True, eq=False)
class TrainingResult:
    """What training gave: networks, leaves, the score on unseen examples, the steps, and why it failed if it did."""

    networks: Mapping[str, nn.Module]
    leaves: Floats
    score: float
    steps: int
    failed: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RestartState:
    """How far one restart of a task has come; enough to go on elsewhere.

    `averages` are running sums of the outputs of network calls that are missing in some rows, each followed by its weight.
    """

    networks: Mapping[str, nn.Module]
    moments: Mapping[str, Moments]
    leaves: torch.Tensor
    leaf_moments: Moments
    random: torch.Tensor
    steps: int
    score: float
    failed: str | None
    averages: Mapping[tuple[str, tuple[str, ...]], torch.Tensor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Restart:
    """One restart of a task, and how far it has come."""

    task: Task
    number: int
    state: RestartState | None = None

    @property
    def score(self) -> float:
        return self.state.score if self.state is not None else float("-inf")

    @property
    def networks(self) -> Mapping[str, nn.Module]:
        return self.task.starts[self.number] if self.state is None else self.state.networks
