"""A restart in training: its networks, leaves, random draws and augmentations."""

from __future__ import annotations

import copy

import numpy as np
import numpy.typing as npt
import torch

from neuid3.networks.augmentation import Augmentation, InputColumns
from neuid3.training.missing import RunningAverage
from neuid3.training.task import NetworkOutput, Restart, RestartVariant, Task

# Networks take the easiest cue first and stay in the saddle it leads to. A restart that is to learn shapes is trained in
# grayscale up to the first fraction of its steps (with more and more colour afterwards), and images are shifted and warped
# only after the second, when the saddle is left.
GRAYSCALE_UNTIL, SHIFT_FROM = 0.4, 0.25

# The fraction of the steps over which colour returns after GRAYSCALE_UNTIL.
_COLOUR_RAMP = 0.2


class RestartRun:
    """A restart in training: its variant, networks, leaves, random generator and rows."""

    def __init__(self, restart: Restart) -> None:
        task, number = restart.task, restart.number
        self.restart, self.task = restart, task
        self.variant = task.variants[number] if task.variants else RestartVariant()
        self.random = torch.Generator().manual_seed(task.seed * 1009 + number)
        self.training_rows = torch.from_numpy(task.training_rows)
        self.validation_rows = torch.from_numpy(task.validation_rows)
        self.leaves = _initial_leaves(task, self.variant.flipped_polarity, self.random)
        self.networks = {name: copy.deepcopy(net).to(task.device) for name, net in restart.networks.items()}
        self.failed: str | None = None
        if restart.state is not None:
            self.random.set_state(restart.state.random)
            self.leaves, self.failed = restart.state.leaves, restart.state.failed
        sums = {} if restart.state is None else restart.state.averages
        self.averages = {call: RunningAverage(values.to(task.device)) for call, values in sums.items()}

    def average(self, network: str, inputs: tuple[str, ...], outputs: torch.Tensor) -> RunningAverage:
        """The running average of a network call; an empty one for `outputs` of this shape where there is none yet."""
        call = (network, inputs)
        if call not in self.averages:
            self.averages[call] = RunningAverage(outputs.new_zeros(outputs.shape[1] + 1))
        return self.averages[call]

    def outputs_of(self, network: str) -> list[NetworkOutput]:
        """The outputs of a network, one for each tuple of inputs."""
        by_inputs = {output.inputs: output for output in self.task.outputs.values() if output.network == network}
        return list(by_inputs.values())

    def shuffled_rows(self) -> torch.Tensor:
        """The training rows in a random order."""
        return self.training_rows[torch.randperm(len(self.training_rows), generator=self.random)]

    def training_augmentations(self, columns: InputColumns, batch: int, progress: float) -> dict[str, Augmentation]:
        """Random augmentations of a minibatch, for each column.

        Parameters
        ----------
        columns : the columns of the task.
        batch : number of rows.
        progress : fraction of the steps that are done.
        """
        return {name: self.training_augmentation(columns, name, batch, progress) for name in sorted(self.task.columns)}

    def training_augmentation(self, columns: InputColumns, name: str, batch: int, progress: float) -> Augmentation:
        """Random augmentation of a minibatch of one column; the parameters are those of `training_augmentations`."""
        config = self.task.config
        shifted = self.task.leaves is not None or progress > SHIFT_FROM
        grayscale = torch.zeros(batch, dtype=torch.bool)
        if self.variant.grayscale_warmup and columns.is_rgb(name):
            grayscale = torch.rand(batch, generator=self.random) < 1.0 - (progress - GRAYSCALE_UNTIL) / _COLOUR_RAMP
        limit = columns.max_shift(name, config.max_shift) if shifted else 0
        down, right = torch.randint(-limit, limit + 1, (2, batch), generator=self.random)
        warp = self._random_warp(batch) if limit and config.max_warp else None
        return Augmentation(down, right, grayscale, warp)

    def _random_warp(self, batch: int) -> torch.Tensor:
        """Random matrices near the identity, `(row, 2, 2)`, that rotate, stretch and shear images."""
        limit = self.task.config.max_warp
        return torch.eye(2) + limit * (2.0 * torch.rand(batch, 2, 2, generator=self.random) - 1.0)

    def evaluation_augmentations(self, batch: int, progress: float) -> dict[str, Augmentation]:
        """Augmentations in evaluation, for each column: grayscale during the warm-up, as in training, and nothing else."""
        augmentation = Augmentation.identity(batch)
        if self.variant.grayscale_warmup and progress <= GRAYSCALE_UNTIL:
            grayscale = torch.ones(batch, dtype=torch.bool)
            augmentation = Augmentation(augmentation.down, augmentation.right, grayscale)
        return dict.fromkeys(self.task.columns, augmentation)


def _initial_leaves(task: Task, flipped: bool, random: torch.Generator) -> torch.Tensor:
    """Initial parameters of the leaves, `(path, parameter)`: the task's own, or those that the criterion begins with."""
    if task.leaves is not None:
        return torch.from_numpy(task.leaves)
    if task.head is not None:
        return task.head.initial(random)

    def coins(count: int) -> npt.NDArray[np.bool_]:
        return (torch.rand(count, generator=random) < 0.5).numpy()

    training = task.target.weighted(task.target.weights * ~task.unseen)
    path_count = len(task.paths.factors)
    return torch.from_numpy(task.target.criterion.initial_parameters(training.sums(), path_count, flipped, coins))
