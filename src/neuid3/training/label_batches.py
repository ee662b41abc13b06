"""Minibatches of labelled inputs, and their share in the loss."""

from __future__ import annotations

import numpy as np
import torch

from neuid3.networks.augmentation import InputColumns
from neuid3.training.restart_run import RestartRun
from neuid3.training.task import LabelledInputs
from neuid3.tree.criteria import FLOOR

# A step sees at most so many labels of a network; of fewer, it sees all.
MAX_LABELS_PER_STEP = 32

# The mean loss of a network's labels counts so many times the mean loss of the examples. A mean, not a sum: ten labels
# pull as strongly as a thousand, and are not drowned by thousands of examples.
LABEL_WEIGHT = 1.0

# Up to so many labelled inputs are held in memory; more are fetched step by step.
MAX_IN_MEMORY = 4096


def labels_per_step(labels: LabelledInputs | None) -> int:
    """The number of labels in each step; 0 without labels."""
    return 0 if labels is None else min(len(labels), MAX_LABELS_PER_STEP)


class LabelBatches:
    """The labelled inputs of one network of a restart, drawn in a random order, all of them before one comes again."""

    def __init__(self, run: RestartRun, labels: LabelledInputs) -> None:
        self.run, self.size = run, labels_per_step(labels)
        columns = {str(i): next(iter(mapping.values())) for i, mapping in enumerate(labels.arguments)}
        if len(labels) <= MAX_IN_MEMORY:
            columns = {name: np.asarray(values) for name, values in columns.items()}
        self.columns = InputColumns(columns, run.task.device)
        self.values = torch.from_numpy(labels.values.copy()).to(run.task.device)
        self._order = torch.empty(0, dtype=torch.int64)

    def draw(self) -> torch.Tensor:
        """The numbers of the next labels, `(label,)`."""
        while len(self._order) < self.size:
            self._order = torch.cat((self._order, torch.randperm(len(self.values), generator=self.run.random)))
        drawn, self._order = self._order[: self.size], self._order[self.size :]
        return drawn

    def read(self, argument: int, labels: torch.Tensor, out: torch.Tensor, progress: float) -> None:
        """Write the augmented inputs of these labels for one argument to `out`, `(label, …)`."""
        name = str(argument)
        augmentation = self.run.training_augmentation(self.columns, name, len(labels), progress)
        self.columns.read(name, labels, out, augmentation)

    def loss(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The weighted mean of −log P(value) of these labels, for network outputs `(label, value)`."""
        values = self.values[labels]
        return LABEL_WEIGHT * -likelihoods(outputs, values).clamp_min(FLOOR).log().mean()


def likelihoods(outputs: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The probability of each value, `(label,)`, in outputs `(label, value)`; a single output is that of yes.

    >>> likelihoods(torch.tensor([[0.25], [0.25]]), torch.tensor([1, 0])).tolist()
    [0.25, 0.75]
    """
    if outputs.shape[1] == 1:
        return torch.where(values == 1, outputs[:, 0], 1.0 - outputs[:, 0])
    return outputs.gather(1, values.unsqueeze(1)).squeeze(1)
