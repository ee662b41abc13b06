"""Batched training of many small networks."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from neuid3.circuits.reach import Reach
from neuid3.circuits.torch_arrays import as_tensor, torch_arrays
from neuid3.errors import NetworkError
from neuid3.logic.formula import Variable
from neuid3.networks.adam import Adam, one_cycle
from neuid3.networks.augmentation import Augmentation, InputColumns
from neuid3.networks.groups import NetworkGroup, architecture, network_group
from neuid3.training.task import NetworkOutput, Restart, RestartState, RestartVariant, Task
from neuid3.tree.criteria import gain_of, gain_of_tests
from neuid3.tree.loss import FLOOR
from neuid3.tree.network_evidence import check_output, dtype_of, input_dtype, run_network

Floats = npt.NDArray[Any]
Outputs: TypeAlias = dict[tuple[int, str, tuple[str, ...]], torch.Tensor]  # of (restart, network, inputs)

# Networks take the easiest cue first and stay in the saddle it leads to. A restart that is to learn shapes is trained in
# grayscale up to the first fraction of its steps (with more and more colour afterwards), and images are shifted and warped
# only after the second, when the saddle is left.
GRAYSCALE_UNTIL, SHIFT_FROM = 0.4, 0.25

# The fraction of the steps over which colour returns after GRAYSCALE_UNTIL.
_COLOUR_RAMP = 0.2

# Rows of a block in evaluation, for all networks of a trainer at once.
_BLOCK = 256

# The fraction of a running average of network outputs that remains after another minibatch.
DECAY = 0.9

# Leaves have so many times the learning rate of networks.
_LEAF_RATE = 10


class _RunningAverage:
    """Weighted average of the outputs of a network, without gradients; uniform where nothing was added.

    In a row that lacks an input of the network, its variable follows this average, in training as in prediction. No
    gradient goes through it: such a row is evidence about the images that it has, not about those of other rows.
    """

    def __init__(self, sums: torch.Tensor) -> None:
        self.sums = sums  # (value + 1,): weighted sum of each value, then the sum of the weights

    def add(self, outputs: torch.Tensor, weights: torch.Tensor, decay: float = 1.0) -> None:
        """Add outputs `(row, value)` with weights `(row,)`, after multiplying what was added before by `decay`."""
        weights = weights.to(outputs.dtype)
        added = torch.cat((weights @ outputs.detach(), weights.sum()[None]))
        self.sums = decay * self.sums + added

    def value(self) -> torch.Tensor:
        """The average, `(value,)`."""
        total, width = self.sums[-1], len(self.sums) - 1
        return self.sums[:-1] / total if float(total) > 0 else torch.full_like(self.sums[:-1], 1.0 / max(width, 2))


class _MissingEntries:
    """The rows of a task with missing entries, and the rows whose entries stand in for them as network inputs.

    The outputs there are not used. But networks of a group run together, some of them with batch normalisation, so their
    input is an entry of the same column from another training row.

    Attributes
    ----------
    masks : for each tuple of inputs that is incomplete somewhere, the mask of these rows, `(row,)`.
    weights : weights of the examples, `(row,)`.
    substitutes : for each column with missing entries, the row to read in place of each row; None where all are missing.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.masks = {
            output.inputs: torch.from_numpy(~task.computable(output.inputs)).to(task.device)
            for output in task.outputs.values()
            if not task.computable(output.inputs).all()
        }
        self.weights = as_tensor(task.weights).to(task.device)
        self.substitutes = {name: self._substitutes(missing) for name, missing in task.missing.items()}

    def _substitutes(self, missing: npt.NDArray[np.bool_]) -> torch.Tensor | None:
        """For each row a row that has an entry of this column, itself if possible; None where no row has one."""
        present = np.flatnonzero(~missing & ~self.task.unseen)
        present = present if len(present) else np.flatnonzero(~missing)
        if not len(present):
            return None
        rows = np.arange(len(missing))
        rows[missing] = np.resize(present, int(missing.sum()))
        return torch.from_numpy(rows)

    def read(
        self,
        columns: InputColumns,
        name: str,
        rows: torch.Tensor,
        out: torch.Tensor,
        augmentation: Augmentation | None = None,
    ) -> None:
        """Write these rows of a column to `out`, with substitutes for missing entries."""
        if name not in self.substitutes:
            columns.read(name, rows, out, augmentation)
        elif (substitutes := self.substitutes[name]) is not None:
            columns.read(name, substitutes[rows], out, augmentation)
        else:
            out.zero_()


class _RestartRun:
    """A restart in training: its variant, networks, leaves, random generator and rows."""

    def __init__(self, restart: Restart) -> None:
        task, number = restart.task, restart.number
        self.restart, self.task = restart, task
        self.variant = task.variants[number] if task.variants else RestartVariant()
        self.positive = 1 - task.positive if self.variant.flipped_polarity and task.classes == 2 else task.positive
        self.random = torch.Generator().manual_seed(task.seed * 1009 + number)
        self.training_rows = torch.from_numpy(task.training_rows)
        self.validation_rows = torch.from_numpy(task.validation_rows)
        self.leaves = _initial_leaves(task, self.positive, self.random)
        self.networks = {name: copy.deepcopy(net).to(task.device) for name, net in restart.networks.items()}
        self.failed: str | None = None
        if restart.state is not None:
            self.random.set_state(restart.state.random)
            self.leaves, self.failed = restart.state.leaves, restart.state.failed
        sums = {} if restart.state is None else restart.state.averages
        self.averages = {call: _RunningAverage(values.to(task.device)) for call, values in sums.items()}

    def average(self, network: str, inputs: tuple[str, ...], outputs: torch.Tensor) -> _RunningAverage:
        """The running average of a network call; an empty one for `outputs` of this shape where there is none yet."""
        call = (network, inputs)
        if call not in self.averages:
            self.averages[call] = _RunningAverage(outputs.new_zeros(outputs.shape[1] + 1))
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
        augmentations = {}
        config = self.task.config
        shifted = self.task.leaves is not None or progress > SHIFT_FROM
        for name in sorted(self.task.columns):
            grayscale = torch.zeros(batch, dtype=torch.bool)
            if self.variant.grayscale_warmup and columns.is_rgb(name):
                grayscale = torch.rand(batch, generator=self.random) < 1.0 - (progress - GRAYSCALE_UNTIL) / _COLOUR_RAMP
            limit = columns.max_shift(name, config.shift) if shifted else 0
            down, right = torch.randint(-limit, limit + 1, (2, batch), generator=self.random)
            warp = self._random_warp(batch) if limit and config.warp else None
            augmentations[name] = Augmentation(down, right, grayscale, warp)
        return augmentations

    def _random_warp(self, batch: int) -> torch.Tensor:
        """Random matrices near the identity, `(row, 2, 2)`, that rotate, stretch and shear images."""
        limit = self.task.config.warp
        return torch.eye(2) + limit * (2.0 * torch.rand(batch, 2, 2, generator=self.random) - 1.0)

    def evaluation_augmentations(self, batch: int, progress: float) -> dict[str, Augmentation]:
        """Augmentations in evaluation, for each column: grayscale during the warm-up, as in training, and nothing else."""
        augmentation = Augmentation.identity(batch)
        if self.variant.grayscale_warmup and progress <= GRAYSCALE_UNTIL:
            grayscale = torch.ones(batch, dtype=torch.bool)
            augmentation = Augmentation(augmentation.down, augmentation.right, grayscale)
        return dict.fromkeys(self.task.columns, augmentation)


class _TaskGroup:
    """The restarts of one task, which share its circuits, labels and weights.

    Attributes
    ----------
    members : numbers of the restarts.
    leaves : logits of the leaves, `(restart, path, class)`.
    scale : mean weight of the training rows, by which losses are divided.
    """

    def __init__(self, task: Task, members: Sequence[int], runs: Sequence[_RestartRun]) -> None:
        self.task, self.members = task, members
        nets = [net for i in members for net in runs[i].networks.values()]
        self.dtype = torch.float64 if any(dtype_of(net) == torch.float64 for net in nets) else torch.float32
        self.reach = Reach(task.paths, torch_arrays(self.dtype, task.device))
        self.fixed_weights = {v: as_tensor(w).to(task.device, self.dtype) for v, w in task.fixed_weights.items()}
        self.labels = torch.from_numpy(task.labels.copy()).to(task.device)
        self.weights = as_tensor(task.weights).to(task.device, self.dtype)
        self.leaves = torch.stack([runs[i].leaves for i in members]).to(task.device, self.dtype).requires_grad_()
        self.leaves.grad = torch.zeros_like(self.leaves)
        self.optimizer = Adam([self.leaves])
        for row, i in enumerate(members):
            state = runs[i].restart.state
            if state is not None:
                self.optimizer.resume(row, state.leaf_moments)
        self.positive = torch.tensor([runs[i].positive for i in members], device=task.device).unsqueeze(1)
        self.class_weights = _class_weights(task).to(task.device, self.dtype)
        balance = self._balance(self.labels) if task.config.loss == "branches" else torch.ones(1)
        rows = runs[members[0]].training_rows
        self.scale = float((self.weights * balance)[rows].mean()) if len(rows) else 1.0

    def _balance(self, labels: torch.Tensor) -> torch.Tensor:
        return self.class_weights[(labels == self.task.positive).long()]

    def path_probabilities(self, outputs: Outputs, rows: torch.Tensor) -> torch.Tensor:
        """P(path | κ, e) as `(path, restart, row)`, for rows `(restart, row)`; the circuits run once for all restarts."""
        paths: torch.Tensor = self.reach(_MinibatchWeights(self, outputs, rows)).T
        paths = paths / paths.sum(0).clamp_min(1e-30)
        return paths.view(len(paths), *rows.shape)

    def losses(self, path_probabilities: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """The mean loss of each restart on its rows, `(restart,)`."""
        labels, weights = self.labels[rows], self.weights[rows]
        if self.task.config.loss == "branches":
            # The positive class belongs to τ.
            likelihoods = torch.where(labels == self.positive, path_probabilities[0], path_probabilities[1])
            weights = weights * self._balance(labels)
        else:
            leaves = torch.softmax(self.leaves, 2)  # (restart, path, class)
            restarts = torch.arange(len(rows), device=rows.device).unsqueeze(1)
            likelihoods = (path_probabilities * leaves[restarts, :, labels].permute(2, 0, 1)).sum(0)
        # Divided by a constant, not by the weight of the batch: that would undo the balance of the classes.
        return -(weights * likelihoods.clamp_min(FLOOR).log()).sum(1) / (rows.shape[1] * self.scale)


class _MinibatchWeights:
    """The weights of variables on a minibatch of all restarts of a task, one restart after the other."""

    def __init__(self, group: _TaskGroup, outputs: Outputs, rows: torch.Tensor) -> None:
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


@dataclass(frozen=True, slots=True, eq=False)
class _TrainedGroup:
    """A network group in training. All its networks are called on equally many tuples of inputs.

    Attributes
    ----------
    members : number of the restart and name of each network.
    outputs : the outputs of each network.
    networks : the networks.
    optimizer : their optimizer.
    """

    members: list[tuple[int, str]]
    outputs: list[list[NetworkOutput]]
    networks: NetworkGroup
    optimizer: Adam


class BatchedTrainer:
    """Trainer of restarts whose networks run as groups; each has its own order of examples, leaves and moments.

    Parameters
    ----------
    restarts : restarts of tasks with equally many training rows, equally many validation rows and equal hyperparameters.

    Attributes
    ----------
    runs : the restarts in training.
    task_groups : the restarts of each task that have not failed.
    network_groups : the networks of these restarts, by architecture.
    steps : number of gradient steps taken.
    total_steps : number of gradient steps of the whole training.
    """

    def __init__(self, restarts: Sequence[Restart]) -> None:
        self.runs = [_RestartRun(restart) for restart in restarts]
        self.config = restarts[0].task.config
        columns = {id(restart.task): InputColumns(restart.task.columns, restart.task.device) for restart in restarts}
        self.columns = [columns[id(restart.task)] for restart in restarts]
        missing = {id(restart.task): _MissingEntries(restart.task) for restart in restarts}
        self.missing = [missing[id(restart.task)] for restart in restarts]
        for run, run_columns, run_missing in zip(self.runs, self.columns, self.missing, strict=True):
            _check_networks(run, run_columns, run_missing)
        healthy = [i for i, run in enumerate(self.runs) if run.failed is None]
        tasks = {id(self.runs[i].task): self.runs[i].task for i in healthy}
        self.task_groups = [
            _TaskGroup(task, [i for i in healthy if self.runs[i].task is task], self.runs) for task in tasks.values()
        ]
        self.total_steps = self.config.steps(len(self.runs[0].training_rows))
        self.steps = max((restart.state.steps for restart in restarts if restart.state is not None), default=0)
        torch.manual_seed(restarts[0].task.seed * 1009 + restarts[0].number + self.steps)
        self.network_groups = self._network_groups(healthy)

    def _network_groups(self, healthy: Sequence[int]) -> list[_TrainedGroup]:
        by_kind: dict[Any, list[tuple[int, str]]] = {}
        for i in healthy:
            run = self.runs[i]
            for name, net in run.networks.items():
                outputs = run.outputs_of(name)
                shapes = tuple(tuple(self.columns[i].columns[c].shape[1:]) for c in outputs[0].inputs)
                by_kind.setdefault((architecture(net), len(outputs), shapes), []).append((i, name))
        return [self._network_group(members) for members in by_kind.values()]

    def _network_group(self, members: list[tuple[int, str]]) -> _TrainedGroup:
        nets = [self.runs[i].networks[name] for i, name in members]
        outputs = [self.runs[i].outputs_of(name) for i, name in members]
        rows = torch.stack([self.runs[i].validation_rows[:2] for i, _ in members])
        group = network_group(nets, self._inputs(members, outputs, rows, input_dtype(nets[0]), None))
        optimizer = Adam(list(group.weights.values()), self.config.weight_decay)
        for row, (i, name) in enumerate(members):
            state = self.runs[i].restart.state
            if state is not None:
                optimizer.resume(row, state.moments[name])
        return _TrainedGroup(members, outputs, group, optimizer)

    # Network calls -------------------------------------------------------------------------------

    def _inputs(
        self,
        members: Sequence[tuple[int, str]],
        outputs: Sequence[Sequence[NetworkOutput]],
        rows: torch.Tensor,
        dtype: torch.dtype,
        augmentations: Sequence[Mapping[str, Augmentation]] | None,
    ) -> list[torch.Tensor]:
        """The inputs of a network group, one tensor `(network, output and row, …)` for each argument.

        Parameters
        ----------
        members : number of the restart and name of each network.
        outputs : the outputs of each network.
        rows : the rows of each network, `(network, row)`.
        dtype : floating-point type of the inputs.
        augmentations : for each restart the augmentation of each column.
        """
        arguments = []
        for position in range(len(outputs[0][0].inputs)):
            names = [[output.inputs[position] for output in of_network] for of_network in outputs]
            shape = self.columns[members[0][0]].shape(names[0][0])
            batch = torch.empty(len(members), len(outputs[0]), rows.shape[1], *shape, dtype=dtype, device=rows.device)
            for (i, _), network_rows, network_names, network_out in zip(members, rows, names, batch, strict=True):
                for name, out in zip(network_names, network_out, strict=True):
                    augmentation = augmentations[i][name] if augmentations is not None else None
                    self.missing[i].read(self.columns[i], name, network_rows, out, augmentation)
            arguments.append(batch.flatten(1, 2))
        return arguments

    def _outputs(
        self, rows: torch.Tensor, augmentations: Sequence[Mapping[str, Augmentation]] | None = None
    ) -> Outputs:
        """All outputs of all networks on rows `(restart, row)`, each `(row, value)`."""
        outputs: Outputs = {}
        for group in self.network_groups:
            group_rows = rows[[i for i, _ in group.members]]
            dtype = input_dtype(group.networks.modules[0])
            inputs = self._inputs(group.members, group.outputs, group_rows, dtype, augmentations)
            batch = group.networks(*inputs).view(len(group_rows), len(group.outputs[0]), rows.shape[1], -1)
            for (i, name), of_network, values in zip(group.members, group.outputs, batch.unbind(), strict=True):
                outputs |= {
                    (i, name, output.inputs): value for output, value in zip(of_network, values.unbind(), strict=True)
                }
        return outputs

    def _update_averages(self, outputs: Outputs, rows: torch.Tensor, decay: float) -> None:
        """Add the outputs on these rows to the averages of network calls that are missing somewhere."""
        for (i, network, inputs), values in outputs.items():
            missing = self.missing[i].masks.get(inputs)
            if missing is not None:
                weights = self.missing[i].weights[rows[i]] * ~missing[rows[i]]
                self.runs[i].average(network, inputs, values).add(values, weights, decay)

    def _with_averages(self, outputs: Outputs, rows: torch.Tensor) -> Outputs:
        """The outputs on these rows, with the average output of the network where an input is missing."""
        return {call: self._with_average(*call, values, rows) for call, values in outputs.items()}

    def _with_average(
        self, i: int, network: str, inputs: tuple[str, ...], values: torch.Tensor, rows: torch.Tensor
    ) -> torch.Tensor:
        missing = self.missing[i].masks.get(inputs)
        if missing is None:
            return values
        average = self.runs[i].average(network, inputs, values).value()
        return torch.where(missing[rows[i]].unsqueeze(1), average, values)

    # Training ------------------------------------------------------------------------------------

    @property
    def _progress(self) -> float:
        """The fraction of the steps that are done."""
        return self.steps / self.total_steps

    def advance(self, fraction: float) -> None:
        """Train up to a fraction of all steps. Where it ends within an epoch, the rest of that epoch is skipped."""
        goal = int(np.ceil(self.total_steps * fraction))
        for group in self.network_groups:
            group.networks.train()
        while self.steps < goal and len(self.runs[0].training_rows) and self._any_healthy():
            order = torch.stack([run.shuffled_rows() for run in self.runs])
            for rows in torch.split(order, self.config.batch_size, dim=1):
                # A last batch of one example has no variance, which batch normalisation cannot take.
                if rows.shape[1] > 1 or min(order.shape[1], self.config.batch_size) == 1:
                    self._step(rows)
                if self.steps >= goal:
                    break

    def _any_healthy(self) -> bool:
        return any(run.failed is None for run in self.runs)

    def _step(self, rows: torch.Tensor) -> None:
        """A gradient step of all restarts, on a minibatch of rows `(restart, row)`."""
        rate_factor, beta1 = one_cycle(self.steps, self.total_steps) if self.config.one_cycle else (1.0, 0.9)
        augmentations = [
            run.training_augmentations(columns, rows.shape[1], self._progress)
            for run, columns in zip(self.runs, self.columns, strict=True)
        ]
        for optimizer in self._optimizers():
            optimizer.zero_grad()
        outputs = self._outputs(rows, augmentations)
        self._update_averages(outputs, rows, DECAY)
        outputs = self._with_averages(outputs, rows)
        losses = []
        for task_group in self.task_groups:
            task_rows = rows[task_group.members]
            task_losses = task_group.losses(task_group.path_probabilities(outputs, task_rows), task_rows)
            self._record_failures(task_group, task_losses, outputs)
            losses.append(task_losses)
        torch.cat(losses).sum().backward()  # type: ignore[no-untyped-call]
        self.steps += 1
        rate = rate_factor * self.config.learning_rate
        leaf_rate = _LEAF_RATE * rate_factor * self.config.learning_rate
        for group in self.network_groups:
            group.optimizer.step(self.steps, [rate] * len(group.members), beta1)
        for task_group in self.task_groups:
            task_group.optimizer.step(self.steps, [leaf_rate] * len(task_group.members), beta1)

    def _optimizers(self) -> Iterator[Adam]:
        yield from (group.optimizer for group in self.network_groups)
        yield from (task_group.optimizer for task_group in self.task_groups)

    def _record_failures(self, task_group: _TaskGroup, losses: torch.Tensor, outputs: Outputs) -> None:
        """Mark restarts whose loss is not finite as failed. The others have tensor rows of their own and continue."""
        finite = torch.isfinite(losses.detach()).tolist()
        for i, is_finite in zip(task_group.members, finite, strict=True):
            if not is_finite and self.runs[i].failed is None:
                self.runs[i].failed = _failure_reason(task_group.task, i, outputs)

    # Evaluation ----------------------------------------------------------------------------------

    def _validation_probabilities(self) -> dict[int, Floats]:
        """P(path | κ, e) of every restart on its validation rows, `(path, example)`, in `eval()` mode."""
        for group in self.network_groups:
            group.networks.train(False)
        probabilities: dict[int, Floats] = {}
        running = self._measure_averages()
        validation = torch.stack([run.validation_rows for run in self.runs])
        blocks = torch.split(validation, _BLOCK, dim=1)
        with torch.no_grad():
            for start, rows in zip(range(0, validation.shape[1], _BLOCK), blocks, strict=True):
                outputs = self._outputs(rows, self._evaluation_augmentations(rows.shape[1]))
                outputs = self._with_averages(outputs, rows)
                for task_group in self.task_groups:
                    block = task_group.path_probabilities(outputs, rows[task_group.members]).double().cpu().numpy()
                    self._record_failures(task_group, torch.from_numpy(block.sum((0, 2))), outputs)
                    for position, i in enumerate(task_group.members):
                        # Allocated once: arrays kept between the temporaries of every block would fragment memory.
                        if i not in probabilities:
                            probabilities[i] = np.empty((len(block), validation.shape[1]))
                        probabilities[i][:, start : start + rows.shape[1]] = block[:, position]
        for run, averages in zip(self.runs, running, strict=True):
            run.averages = averages
        return probabilities

    def _evaluation_augmentations(self, batch: int) -> list[dict[str, Augmentation]]:
        return [run.evaluation_augmentations(batch, self._progress) for run in self.runs]

    def _measure_averages(self) -> list[dict[tuple[str, tuple[str, ...]], _RunningAverage]]:
        """Replace running averages by those over all training rows, as in prediction; returns the running ones."""
        running = [run.averages for run in self.runs]
        for run in self.runs:
            run.averages = {}
        if any(missing.masks for missing in self.missing):
            with torch.no_grad():
                for rows in torch.split(torch.stack([run.training_rows for run in self.runs]), _BLOCK, dim=1):
                    outputs = self._outputs(rows, self._evaluation_augmentations(rows.shape[1]))
                    self._update_averages(outputs, rows, 1.0)
        return running

    def gains(self) -> list[float]:
        """The information gain of each restart's test on unseen examples, in bits; -∞ where training failed."""
        probabilities = self._validation_probabilities()
        return [self._gain(i, probabilities) for i in range(len(self.runs))]

    def _gain(self, i: int, probabilities: Mapping[int, Floats]) -> float:
        run = self.runs[i]
        if run.failed is not None:
            return -np.inf
        rows, task = run.validation_rows.numpy(), run.task
        weights, labels = task.weights[rows], task.labels[rows]
        if len(probabilities[i]) > 2:
            return gain_of_tests(probabilities[i], weights, labels, task.classes)
        return gain_of(probabilities[i][0], weights, labels, task.classes)

    def log_likelihoods(self) -> tuple[Floats, Floats]:
        """The log-likelihood of each unseen example under the first restart's leaves, and the weights of the examples."""
        probabilities, run = self._validation_probabilities(), self.runs[0]
        rows, task = run.validation_rows.numpy(), run.task
        if run.failed is not None:
            return np.full(len(rows), -np.inf), task.weights[rows]
        leaves = torch.softmax(self.task_groups[0].leaves.detach()[0], 1).double().cpu().numpy()
        likelihoods = (probabilities[0] * leaves[:, task.labels[rows]]).sum(0)
        return np.log(np.maximum(likelihoods, FLOOR)), task.weights[rows]

    def state(self, i: int, score: float) -> RestartState:
        """The state of a restart, in copies, from which training can continue."""
        run = self.runs[i]
        networks, moments = dict(run.networks), {}
        leaves, leaf_moments = run.leaves, [(torch.zeros_like(run.leaves), torch.zeros_like(run.leaves))]
        for group in self.network_groups:
            for row, (member, name) in enumerate(group.members):
                if member == i:
                    networks[name] = group.networks.module(row)
                    moments[name] = group.optimizer.moments(row)
        for task_group in self.task_groups:
            if i in task_group.members:
                row = task_group.members.index(i)
                leaves = task_group.leaves.detach()[row].cpu().clone()
                leaf_moments = task_group.optimizer.moments(row)
        averages = {call: average.sums.cpu() for call, average in run.averages.items()}
        random = run.random.get_state()
        return RestartState(networks, moments, leaves, leaf_moments, random, self.steps, score, run.failed, averages)


def _check_networks(run: _RestartRun, columns: InputColumns, missing: _MissingEntries) -> None:
    """Call every network of a restart on two examples; it fails where one does not return probabilities."""
    rows = run.validation_rows[:2]
    try:
        for name, net in run.networks.items() if run.failed is None else ():
            net.eval()
            for output in run.outputs_of(name):
                inputs = [torch.empty(len(rows), *columns.shape(c), dtype=input_dtype(net)) for c in output.inputs]
                for column, out in zip(output.inputs, inputs, strict=True):
                    missing.read(columns, column, rows, out)
                with torch.no_grad():
                    values = run_network(net, name, output.inputs, [x.to(columns.device) for x in inputs])
                check_output(values, name, output.inputs, len(rows), output.width)
    except NetworkError as error:
        run.failed = str(error)


def _failure_reason(task: Task, i: int, outputs: Outputs) -> str:
    """The reason for a loss that is not finite: the network of a restart that returned no probabilities, if any."""
    try:
        for (member, network, inputs), output in outputs.items():
            if member == i:
                check_output(output, network, inputs, len(output), output.shape[1])
    except NetworkError as error:
        return str(error)
    return f"its loss was no finite number; try a learning rate below {task.config.learning_rate:g}."


def _initial_leaves(task: Task, positive: int, random: torch.Generator) -> torch.Tensor:
    """Initial logits of the leaves, `(path, class)`: the task's own, or the class frequencies, tilted apart."""
    if task.leaves is not None:
        return torch.from_numpy(np.log(np.clip(task.leaves, 1e-4, None)))
    masses = np.bincount(task.labels, task.weights * ~task.unseen, task.classes) + 1e-3
    prior = torch.from_numpy(np.log(masses / masses.sum()))
    path_count = len(task.paths.factors)
    if path_count > 2:  # nothing is known about which path belongs to which class
        return prior.repeat(path_count, 1)
    if task.classes == 2:
        tilt = torch.tensor([-1.0, -1.0])
        tilt[positive] = 1.0
    else:
        tilt = 2.0 * (torch.rand(task.classes, generator=random) < 0.5).float() - 1.0
    return torch.stack((prior + tilt, prior - tilt))


def _class_weights(task: Task) -> torch.Tensor:
    """The factor 1 / (2 · P(c|κ)) of w_c = P(κ|e) / (2 · P(c|κ)), for the negative and the positive class."""
    weights = task.weights * ~task.unseen
    positive = float(weights[task.labels == task.positive].sum()) / max(float(weights.sum()), 1e-12)
    frequencies = np.clip(np.array([1.0 - positive, positive]), 1e-6, None)
    return torch.from_numpy(0.5 / frequencies)
