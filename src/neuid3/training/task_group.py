"""The restarts of one task: their leaves, path probabilities and losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch

from neuid3.circuits.reach import Reach
from neuid3.circuits.torch_arrays import as_tensor, torch_arrays
from neuid3.logic.formula import Variable
from neuid3.networks.backend import Backend
from neuid3.training.head import output_entropy
from neuid3.training.restart_run import RestartRun
from neuid3.training.task import Task
from neuid3.tree.criteria import FLOOR
from neuid3.tree.network_evidence import dtype_of

Outputs: TypeAlias = dict[tuple[int, str, tuple[str, ...]], torch.Tensor]  # of (restart, network, inputs)


class TaskGroup:
    """The restarts of one task, which share its circuits, targets and weights.

    Attributes
    ----------
    members : numbers of the restarts.
    leaves : parameters of the leaves, `(restart, path, parameter)`.
    scale : mean weight of the training rows, by which losses are divided.
    """

    def __init__(self, task: Task, members: Sequence[int], runs: Sequence[RestartRun], backend: Backend) -> None:
        self.task, self.members = task, members
        nets = [net for i in members for net in runs[i].networks.values()]
        self.dtype = torch.float64 if any(dtype_of(net) == torch.float64 for net in nets) else torch.float32
        self.reach = Reach(task.paths, torch_arrays(self.dtype, task.device))
        self.fixed_weights = {v: as_tensor(w).to(task.device, self.dtype) for v, w in task.fixed_weights.items()}
        self.criterion = task.target.criterion
        self.targets = torch.from_numpy(task.target.values.copy()).to(task.device)
        self.weights = as_tensor(task.target.weights).to(task.device, self.dtype)
        self.leaves = torch.stack([runs[i].leaves for i in members]).to(task.device, self.dtype).requires_grad_()
        self.leaves.grad = torch.zeros_like(self.leaves)
        self.optimizer = backend.optimizer([self.leaves])
        for row, i in enumerate(members):
            state = runs[i].restart.state
            if state is not None:
                self.optimizer.resume(row, state.leaf_moments)
        if task.head is not None:
            self.features = as_tensor(task.head.features).to(task.device, self.dtype)
        self.flipped = torch.tensor([[runs[i].variant.flipped_polarity] for i in members], device=task.device)
        self.balance_weights = _balance_weights(task).to(task.device, self.dtype)
        balance = self._balance(self.targets) if task.config.loss == "branches" else torch.ones(1)
        rows = runs[members[0]].training_rows
        self.scale = float((self.weights * balance)[rows].mean()) if len(rows) else 1.0

    def _balance(self, targets: torch.Tensor) -> torch.Tensor:
        return self.balance_weights[self.criterion.is_positive(targets).long()]

    def path_probabilities(self, outputs: Outputs, rows: torch.Tensor) -> torch.Tensor:
        """P(path | κ, e) as `(path, restart, row)`, for rows `(restart, row)`; the circuits run once for all restarts."""
        paths: torch.Tensor = self.reach(_MinibatchWeights(self, outputs, rows)).T
        if self.task.head is not None:
            return paths.view(len(paths), *rows.shape)
        paths = paths / paths.sum(0).clamp_min(1e-30)
        return paths.view(len(paths), *rows.shape)

    def losses(self, path_probabilities: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """The mean loss of each restart on its rows, `(restart,)`."""
        targets, weights = self.targets[rows], self.weights[rows]
        if self.task.config.loss == "branches":
            # The positive examples belong to τ.
            is_positive = self.criterion.is_positive(targets, self.flipped)
            likelihoods = torch.where(is_positive, path_probabilities[0], path_probabilities[1])
            weights = weights * self._balance(targets)
        else:
            likelihoods = self.likelihoods(path_probabilities, rows)
        # Divided by a constant, not by the weight of the batch: that would undo the balance.
        return -(weights * likelihoods.clamp_min(FLOOR).log()).sum(1) / (rows.shape[1] * self.scale)

    def likelihoods(self, path_probabilities: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """The likelihood of the target of each row, `(restart, row)`, under the leaves or the head of each restart."""
        targets = self.targets[rows]
        if self.task.head is None:
            return (path_probabilities * self.criterion.likelihoods(self.leaves, targets)).sum(0)
        return self.task.head.likelihoods(self.criterion, self.leaves, path_probabilities, self.features[rows], targets)

    def output_bonus(self, outputs: Outputs, progress: float) -> torch.Tensor:
        """The bonus of each restart for networks that use many of their values, `(restart,)`."""
        head = self.task.head
        if head is None:
            return self.leaves.new_zeros(len(self.members))
        names = sorted({output.network for output in self.task.outputs.values()})
        entropies = [
            torch.stack([output_entropy(v for call, v in outputs.items() if call[:2] == (i, name)) for name in names])
            for i in self.members
        ]
        return head.weight_of_bonus(progress) * torch.stack(entropies).sum(1)


class _MinibatchWeights:
    """The weights of variables on a minibatch of all restarts of a task, one restart after the other."""

    def __init__(self, group: TaskGroup, outputs: Outputs, rows: torch.Tensor) -> None:
        self.group, self.outputs, self.rows = group, outputs, rows

    def __len__(self) -> int:
        return self.rows.numel()

    def weights(self, variable: Variable) -> torch.Tensor:
        """The weights of a variable, `(value, restart and row)`."""
        output = self.group.task.outputs.get(variable)
        if output is None:
            return self.group.fixed_weights[variable][:, self.rows.flatten()]
        probabilities = [self.outputs[i, output.network, output.inputs] for i in self.group.members]
        out = torch.cat(probabilities).to(self.group.dtype)  # (restart and row, value)
        return torch.stack((1.0 - out[:, 0], out[:, 0])) if output.is_fact else out.T


def _balance_weights(task: Task) -> torch.Tensor:
    """The factor 1 / (2 · P(c|κ)) of w_c = P(κ|e) / (2 · P(c|κ)), for the negative and the positive examples."""
    target = task.target
    weights = target.weights * ~task.unseen
    is_positive = target.criterion.is_positive(target.values)
    positive = float(weights[is_positive].sum()) / max(float(weights.sum()), 1e-12)
    frequencies = np.clip(np.array([1.0 - positive, positive]), 1e-6, None)
    return torch.from_numpy(0.5 / frequencies)
