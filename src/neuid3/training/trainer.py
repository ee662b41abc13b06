"""Batched training of many small networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from neuid3.errors import NetworkError
from neuid3.networks.adam import one_cycle
from neuid3.networks.augmentation import Augmentation, InputColumns
from neuid3.networks.backend import Backend, GroupOptimizer, NetworkGroup, select_backend
from neuid3.networks.groups import architecture
from neuid3.networks.torch_backend import TorchBackend
from neuid3.training.label_batches import LabelBatches, labels_per_step
from neuid3.training.missing import MissingEntries, RunningAverage
from neuid3.training.restart_run import RestartRun
from neuid3.training.task import NetworkOutput, Restart, RestartState, Task
from neuid3.training.task_group import Outputs, TaskGroup
from neuid3.training.threads import exclusive_training
from neuid3.tree.criteria import FLOOR
from neuid3.tree.network_evidence import check_output, input_dtype, run_network

Floats = npt.NDArray[Any]

# Rows of a block in evaluation, for all networks of a trainer at once.
_BLOCK = 256

# The fraction of a running average of network outputs that remains after another minibatch.
DECAY = 0.9

# Leaves have so many times the learning rate of networks.
_LEAF_RATE = 10


@dataclass(frozen=True, slots=True, eq=False)
class _TrainedGroup:
    """A network group in training. All its networks are called on equally many tuples of inputs.

    Attributes
    ----------
    members : number of the restart and name of each network.
    outputs : the outputs of each network.
    networks : the networks.
    optimizer : their optimizer.
    dtype : floating-point type of the inputs.
    labels : the labelled inputs of each network, equally many in a step; empty where they have none.
    """

    members: list[tuple[int, str]]
    outputs: list[list[NetworkOutput]]
    networks: NetworkGroup
    optimizer: GroupOptimizer
    dtype: torch.dtype
    labels: list[LabelBatches]


class BatchedTrainer:
    """Trainer of restarts whose networks run as groups; each has its own order of examples, leaves and moments.

    Parameters
    ----------
    restarts : restarts of tasks with equally many training rows, equally many validation rows and equal hyperparameters.

    Attributes
    ----------
    runs : the restarts in training.
    backend : runs and trains the networks.
    task_groups : the restarts of each task that have not failed.
    network_groups : the networks of these restarts, by architecture.
    steps : number of gradient steps taken.
    total_steps : number of gradient steps of the whole training.
    """

    def __init__(self, restarts: Sequence[Restart]) -> None:
        self.runs = [RestartRun(restart) for restart in restarts]
        self.config = restarts[0].task.config
        self.backend = select_backend(self.config.backend)
        columns = {id(restart.task): InputColumns(restart.task.columns, restart.task.device) for restart in restarts}
        self.columns = [columns[id(restart.task)] for restart in restarts]
        missing = {id(restart.task): MissingEntries(restart.task) for restart in restarts}
        self.missing = [missing[id(restart.task)] for restart in restarts]
        for run, run_columns, run_missing in zip(self.runs, self.columns, self.missing, strict=True):
            _check_networks(run, run_columns, run_missing)
        healthy = [i for i, run in enumerate(self.runs) if run.failed is None]
        tasks = {id(self.runs[i].task): self.runs[i].task for i in healthy}
        self.task_groups = [
            TaskGroup(task, [i for i in healthy if self.runs[i].task is task], self.runs, self.backend)
            for task in tasks.values()
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
                label_count = labels_per_step(run.task.labels.get(name))
                by_kind.setdefault((architecture(net), len(outputs), shapes, label_count), []).append((i, name))
        return [self._network_group(members) for members in by_kind.values()]

    def _network_group(self, members: list[tuple[int, str]]) -> _TrainedGroup:
        nets = [self.runs[i].networks[name] for i, name in members]
        outputs = [self.runs[i].outputs_of(name) for i, name in members]
        rows = torch.stack([self.runs[i].validation_rows[:2] for i, _ in members])
        dtype, device = input_dtype(nets[0]), torch.device(self.runs[members[0][0]].task.device)
        backend: Backend = self.backend if self.backend.supports(nets[0], device) else TorchBackend()
        group = backend.group(nets, self._inputs(members, outputs, rows, dtype, None))
        optimizer = backend.optimizer(list(group.weights.values()), self.config.weight_decay)
        for row, (i, name) in enumerate(members):
            state = self.runs[i].restart.state
            if state is not None:
                optimizer.resume(row, state.moments[name])
        runs = [(self.runs[i], name) for i, name in members if name in self.runs[i].task.labels]
        labels = [LabelBatches(run, run.task.labels[name]) for run, name in runs]
        return _TrainedGroup(members, outputs, group, optimizer, dtype, labels)

    # Network calls -------------------------------------------------------------------------------

    def _inputs(
        self,
        members: Sequence[tuple[int, str]],
        outputs: Sequence[Sequence[NetworkOutput]],
        rows: torch.Tensor,
        dtype: torch.dtype,
        augmentations: Sequence[Mapping[str, Augmentation]] | None,
        present: torch.Tensor | None = None,
    ) -> list[torch.Tensor]:
        """The inputs of a network group, one tensor `(network, output and row, …)` for each argument.

        Parameters
        ----------
        members : number of the restart and name of each network.
        outputs : the outputs of each network.
        rows : the rows of each network, `(network, row)`.
        dtype : floating-point type of the inputs.
        augmentations : for each restart the augmentation of each column.
        present : the positions that are read of all outputs and rows, `(network, position)`; None for all.
        """
        if present is not None:
            return self._present_inputs(members, outputs, rows, dtype, augmentations, present)
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

    def _present_inputs(
        self,
        members: Sequence[tuple[int, str]],
        outputs: Sequence[Sequence[NetworkOutput]],
        rows: torch.Tensor,
        dtype: torch.dtype,
        augmentations: Sequence[Mapping[str, Augmentation]] | None,
        present: torch.Tensor,
    ) -> list[torch.Tensor]:
        """The inputs of a network group at these positions only, `(network, position, …)` for each argument."""
        arguments = []
        starts = torch.arange(len(outputs[0]) + 1, device=rows.device) * rows.shape[1]
        bounds = torch.searchsorted(present, starts.expand(len(present), -1).contiguous()).tolist()
        for argument in range(len(outputs[0][0].inputs)):
            shape = self.columns[members[0][0]].shape(outputs[0][0].inputs[argument])
            batch = torch.empty(*present.shape, *shape, dtype=dtype, device=rows.device)
            for (i, _), network_rows, of_network, positions, limits, out in zip(
                members, rows, outputs, present, bounds, batch, strict=True
            ):
                for number, (output, start, stop) in enumerate(zip(of_network, limits, limits[1:], strict=False)):
                    chosen = positions[start:stop] - number * rows.shape[1]
                    name = output.inputs[argument]
                    augmentation = None if augmentations is None else augmentations[i][name][chosen]
                    if len(chosen):
                        own_rows = network_rows[chosen]
                        self.missing[i].read(self.columns[i], name, own_rows, out[start:stop], augmentation)
            arguments.append(batch)
        return arguments

    def _present(self, group: _TrainedGroup, rows: torch.Tensor) -> torch.Tensor | None:
        """The positions of a group's outputs and rows at which examples have the part that is read, `(network, position)`.

        Networks run together on equally many inputs: those with fewer read others besides. None where all are there.
        """
        absent = [
            [self.missing[i].absent.get(output.inputs) for output in of_network]
            for (i, _), of_network in zip(group.members, group.outputs, strict=True)
        ]
        if all(mask is None for masks in absent for mask in masks):
            return None
        no_row = rows.new_zeros(rows.shape[1], dtype=torch.bool)
        is_absent = torch.stack(
            [
                torch.cat([no_row if mask is None else mask[network_rows] for mask in masks])
                for masks, network_rows in zip(absent, rows, strict=True)
            ]
        )
        most = int((~is_absent).sum(1).max())
        first = is_absent.byte().argsort(dim=1, stable=True)[:, : max(most, 2)]
        return first.sort(dim=1).values

    def outputs(
        self,
        rows: torch.Tensor,
        augmentations: Sequence[Mapping[str, Augmentation]] | None = None,
        label_losses: dict[int, torch.Tensor] | None = None,
    ) -> Outputs:
        """All outputs of all networks on a minibatch.

        Parameters
        ----------
        rows : the rows of each restart, `(restart, row)`.
        augmentations : for each restart the augmentation of each column; None for images as they are.
        label_losses : where given, networks that have labels also run on some of these, in the same pass, and the loss of
            the labels is added to that of their restart.

        Returns
        -------
        The outputs of each network call of each restart, `(row, value)`.
        """
        outputs: Outputs = {}
        for group in self.network_groups:
            group_rows = rows[[i for i, _ in group.members]]
            present = self._present(group, group_rows)
            inputs = self._inputs(group.members, group.outputs, group_rows, group.dtype, augmentations, present)
            if label_losses is not None and group.labels:
                values = self._outputs_and_label_losses(group, inputs, label_losses)
            else:
                values = group.networks(*inputs)
            count = len(group.outputs[0])
            if present is not None:
                values = _scattered(values, present, count * rows.shape[1])
            batch = values.view(len(group_rows), count, rows.shape[1], -1)
            for (i, name), of_network, of_calls in zip(group.members, group.outputs, batch.unbind(), strict=True):
                outputs |= {
                    (i, name, output.inputs): value for output, value in zip(of_network, of_calls.unbind(), strict=True)
                }
        return outputs

    def _outputs_and_label_losses(
        self, group: _TrainedGroup, inputs: Sequence[torch.Tensor], label_losses: dict[int, torch.Tensor]
    ) -> torch.Tensor:
        """The outputs of a group on its inputs; the losses of its labels, which it reads besides, are added."""
        drawn = [labels.draw() for labels in group.labels]
        extended = []
        for argument, batch in enumerate(inputs):
            images = torch.empty(len(drawn), len(drawn[0]), *batch.shape[2:], dtype=batch.dtype, device=batch.device)
            for labels, numbers, out in zip(group.labels, drawn, images, strict=True):
                labels.read(argument, numbers, out, self._progress)
            extended.append(torch.cat((batch, images), dim=1))
        count = inputs[0].shape[1]
        values = group.networks(*extended)
        for (i, _), labels, numbers, network_values in zip(group.members, group.labels, drawn, values, strict=True):
            loss = labels.loss(network_values[count:], numbers)
            label_losses[i] = label_losses[i] + loss if i in label_losses else loss
        return values[:, :count]

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
        """Train up to a fraction of all steps. Where it ends within an epoch, the rest of that epoch is skipped.

        Parameters
        ----------
        fraction : the fraction of all steps, in [0, 1].
        """
        goal = int(np.ceil(self.total_steps * fraction))
        for group in self.network_groups:
            group.networks.train()
        while self.steps < goal and len(self.runs[0].training_rows) and self._any_healthy():
            order = torch.stack([run.shuffled_rows() for run in self.runs])
            for rows in torch.split(order, self.config.batch_size, dim=1):
                # A last batch of one example has no variance, which batch normalisation cannot take.
                if rows.shape[1] > 1 or min(order.shape[1], self.config.batch_size) == 1:
                    self.step(rows)
                if self.steps >= goal:
                    break

    def _any_healthy(self) -> bool:
        return any(run.failed is None for run in self.runs)

    def step(self, rows: torch.Tensor) -> None:
        """A gradient step of all restarts on a minibatch.

        Parameters
        ----------
        rows : the rows of each restart, `(restart, row)`.
        """
        rate_factor, beta1 = one_cycle(self.steps, self.total_steps) if self.config.one_cycle else (1.0, 0.9)
        augmentations = [
            run.training_augmentations(columns, rows.shape[1], self._progress)
            for run, columns in zip(self.runs, self.columns, strict=True)
        ]
        for optimizer in self._optimizers():
            optimizer.zero_grad()
        label_losses: dict[int, torch.Tensor] = {}
        outputs = self.outputs(rows, augmentations, label_losses)
        self._update_averages(outputs, rows, DECAY)
        outputs = self._with_averages(outputs, rows)
        losses = []
        for task_group in self.task_groups:
            task_rows = rows[task_group.members]
            task_losses = task_group.losses(task_group.path_probabilities(outputs, task_rows), task_rows)
            if label_losses:
                zero = task_losses.new_zeros(())
                task_losses = task_losses + torch.stack([label_losses.get(i, zero) for i in task_group.members])
            self._record_failures(task_group, task_losses, outputs)
            losses.append(
                task_losses
                if task_group.task.head is None
                else task_losses - task_group.output_bonus(outputs, self._progress)
            )
        torch.cat(losses).sum().backward()  # type: ignore[no-untyped-call]
        self.steps += 1
        rate = rate_factor * self.config.learning_rate
        for group in self.network_groups:
            group.optimizer.step(self.steps, [rate] * len(group.members), beta1)
        for task_group in self.task_groups:
            leaf_rate = (
                rate if task_group.task.head is not None else _LEAF_RATE * rate_factor * self.config.learning_rate
            )
            task_group.optimizer.step(self.steps, [leaf_rate] * len(task_group.members), beta1)

    def _optimizers(self) -> Iterator[GroupOptimizer]:
        yield from (group.optimizer for group in self.network_groups)
        yield from (task_group.optimizer for task_group in self.task_groups)

    def _record_failures(self, task_group: TaskGroup, losses: torch.Tensor, outputs: Outputs) -> None:
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
                outputs = self.outputs(rows, self._evaluation_augmentations(rows.shape[1]))
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

    def _measure_averages(self) -> list[dict[tuple[str, tuple[str, ...]], RunningAverage]]:
        """Replace running averages by those over all training rows, as in prediction; returns the running ones."""
        running = [run.averages for run in self.runs]
        for run in self.runs:
            run.averages = {}
        if any(missing.masks for missing in self.missing):
            with torch.no_grad():
                for rows in torch.split(torch.stack([run.training_rows for run in self.runs]), _BLOCK, dim=1):
                    outputs = self.outputs(rows, self._evaluation_augmentations(rows.shape[1]))
                    self._update_averages(outputs, rows, 1.0)
        return running

    def scores(self) -> list[tuple[float, float]]:
        """The information gain of each restart's test on unseen examples, in bits, and its gain in the unit of the criterion.

        Both are -∞ where training failed. Several tests of one network have no common gain: NaN.
        """
        probabilities = self._validation_probabilities()
        return [self._score(i, probabilities) for i in range(len(self.runs))]

    def _score(self, i: int, probabilities: Mapping[int, Floats]) -> tuple[float, float]:
        run = self.runs[i]
        if run.failed is not None:
            return -np.inf, -np.inf
        target = run.task.target[run.validation_rows.numpy()]
        if run.task.head is not None:
            return self._gain_of_head(i, probabilities[i]), np.nan
        if len(probabilities[i]) > 2:
            return target.mean_information_gain(probabilities[i]), np.nan
        sides = target.sides(probabilities[i][0])
        return float(target.criterion.information_gain(*sides)), float(target.criterion.gain(*sides))

    def _gain_of_head(self, i: int, rules: Floats) -> float:
        """The bits per unseen example that a head saves, against the distribution of their targets."""
        group = next(group for group in self.task_groups if i in group.members)
        position, run = group.members.index(i), self.runs[i]
        rows, target = run.validation_rows, run.task.target[run.validation_rows.numpy()]
        with torch.no_grad():
            head, leaves = run.task.head, group.leaves[position : position + 1]
            assert head is not None
            likelihoods = head.likelihoods(
                group.criterion,
                leaves,
                torch.from_numpy(rules).to(leaves).unsqueeze(1),
                group.features[rows].unsqueeze(0),
                group.targets[rows].unsqueeze(0),
            )
        bits = np.log2(likelihoods.flatten().double().clamp_min(FLOOR).cpu().numpy())
        return float(group.criterion.entropy(target.sums()) + np.average(bits, weights=target.weights))

    def log_likelihoods(self) -> tuple[Floats, Floats]:
        """The log-likelihood of each unseen example under the first restart's leaves, and the weights of the examples."""
        probabilities, run = self._validation_probabilities(), self.runs[0]
        rows = run.validation_rows
        weights = run.task.target.weights[rows.numpy()]
        if run.failed is not None:
            return np.full(len(rows), -np.inf), weights
        group = self.task_groups[0]
        at_leaves = group.criterion.likelihoods(group.leaves.detach()[:1], group.targets[rows].unsqueeze(0))
        likelihoods = (probabilities[0] * at_leaves[:, 0].double().cpu().numpy()).sum(0)
        return np.log(np.maximum(likelihoods, FLOOR)), weights

    def state(self, i: int, score: float, gain: float = np.nan) -> RestartState:
        """The state of a restart, in copies, from which training can continue.

        Parameters
        ----------
        i : the number of the restart in the group.
        score : its score, which becomes part of the state.
        gain : its gain on unseen examples, if known.

        Returns
        -------
        The state.
        """
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
        scores = (score, gain)
        return RestartState(networks, moments, leaves, leaf_moments, random, self.steps, *scores, run.failed, averages)


def _scattered(values: torch.Tensor, present: torch.Tensor, size: int) -> torch.Tensor:
    """Outputs at these positions, `(network, position, value)`, and uniform ones at all others."""
    width = values.shape[2]
    uniform = values.new_full((len(values), size, width), 1.0 / max(width, 2))
    return uniform.scatter(1, present.unsqueeze(2).expand_as(values), values)


def _check_networks(run: RestartRun, columns: InputColumns, missing: MissingEntries) -> None:
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


def advance(restarts: Sequence[Restart], fraction: float) -> list[RestartState]:
    """The states of restarts that are trained together up to a fraction of their steps.

    Parameters
    ----------
    restarts : restarts whose networks have one architecture and whose tasks have equally many rows (`restart_groups`).
    fraction : fraction of all steps after which training pauses, counted from the first step.

    Returns
    -------
    One state for each restart, scored on unseen examples.
    """
    with exclusive_training():
        trainer = BatchedTrainer(restarts)
        trainer.advance(fraction)
        return [trainer.state(i, *scores) for i, scores in enumerate(trainer.scores())]
