"""Pretraining by columns: one network is trained on many columns that show images of the same kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from neuid3.circuits.conjunctions import factorise
from neuid3.learning.candidates import shapes_of
from neuid3.learning.inference import ExactInference
from neuid3.learning.initialize import NetworkInitializer
from neuid3.learning.labelled_inputs import labelled_inputs
from neuid3.learning.sample import Instance, same_architecture
from neuid3.logic.formula import ColumnVariable, Literal, NeuralVariable
from neuid3.training.config import TrainingConfig
from neuid3.training.parallel.shared import SharedColumns, StackedRows
from neuid3.training.task import LabelledInputs, NetworkOutput, Task, TrainingResult
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.semantics import NetworkCall

# The fewest columns that share a network: each half of them serves once for training and once for validation.
MIN_COLUMNS = 4

# So many steps for each configured epoch, with minibatches of an eighth of the images, within limits: the signal of a column
# may be weak, and is lost in the noise of small minibatches.
STEPS, BATCHES = 10, (128, 512)

# The most images that a shared network is trained and validated on.
MAX_TRAINING_IMAGES, MAX_VALIDATION_IMAGES = 1 << 16, 1 << 14

# A shared network is kept if the p-value of its gain is no larger than this.
MAX_P_VALUE = 1e-3

_COLUMN, _IMAGE = "which column", "image"


@dataclass(frozen=True, slots=True, eq=False)
class ColumnPretrainingTask:
    """The training task of a shared network.

    Attributes
    ----------
    name : the name of the instance.
    network : the name that the network was declared by.
    columns : the columns that it is trained on.
    task : the training task.
    """

    name: str
    network: str
    columns: frozenset[str]
    task: Task

    @property
    def title(self) -> str:
        """What reports call the task."""
        return f"shared network of {len(self.columns)} columns"

    def instances(self, trained: TrainingResult | None) -> dict[str, Instance]:
        """The trained instance by its name; empty where training failed or its gain may be due to chance."""
        if trained is None or trained.failed is not None or self._p_value(trained.score) > MAX_P_VALUE:
            return {}
        return {self.name: Instance(trained.networks[self.name], self.network, self.columns, False, True)}

    def _p_value(self, gain: float) -> float:
        """The probability that responses which are independent of the targets gain at least as much.

        Twice their gain in nats is distributed as χ², with the degrees of freedom of a leaf for each column.
        """
        validation_columns = len(self.task.paths.factors) // 2 - len(self.columns)
        nats = gain * float(self.task.unseen.sum()) * np.log(2.0)
        degrees = validation_columns * self.task.target.criterion.degrees_of_freedom
        halves = torch.tensor([degrees / 2, nats], dtype=torch.float64)
        return float(torch.special.gammaincc(halves[0], halves[1]))


class ColumnPretraining:
    """Finds tests with one network call on one image each, whose networks can be one, and builds its training tasks.

    Parameters
    ----------
    inference : exact inference with the trained networks.
    initializer : creates networks.
    shared_columns : columns that the workers hold.
    config : how networks are trained.
    enabled : whether networks are shared at all.
    """

    def __init__(
        self,
        inference: ExactInference,
        initializer: NetworkInitializer,
        shared_columns: SharedColumns,
        config: TrainingConfig,
        enabled: bool,
    ) -> None:
        self.inference, self.sample, self.semantics = inference, inference.sample, inference.semantics
        self.initializer, self.shared_columns, self.config = initializer, shared_columns, config
        self.enabled = enabled

    def training_tasks(self, tests: Sequence[NodeTest]) -> Iterator[ColumnPretrainingTask]:
        """Two tasks for every group of tests that can share a network: each half of the columns trains one."""
        for calls in self._groups(tests) if self.enabled else ():
            if len(calls) >= MIN_COLUMNS:
                order = np.random.default_rng(self.initializer.seed).permutation(len(calls))
                halves = [[calls[i] for i in sorted(order[half::2])] for half in (0, 1)]
                yield self._task(halves[0], halves[1])
                yield self._task(halves[1], halves[0])

    def _groups(self, tests: Sequence[NodeTest]) -> list[list[NetworkCall]]:
        """Network calls grouped by image shape and architecture, one call for each column."""
        groups: list[tuple[nn.Module, list[NetworkCall]]] = []
        all_calls = [call for test in tests if (call := self.single_image_call(test))]
        calls = [call for call in all_calls if call.network not in self.inference.instances]
        for call in {call.inputs: call for call in calls}.values():
            fresh = self.initializer.template(call)
            for module, members in groups:
                if self._shape(call) == self._shape(members[0]) and same_architecture(module, fresh):
                    members.append(call)
                    break
            else:
                groups.append((fresh, [call]))
        return [members for _, members in groups]

    def _shape(self, call: NetworkCall) -> tuple[int, ...]:
        """The shape of the first input of a call."""
        return shapes_of(call.inputs, self.semantics.program.schema)[0]

    def single_image_call(self, test: NodeTest) -> NetworkCall | None:
        """The network call of a test that is one Boolean call on one image; None for any other test."""
        formula = self.semantics.formula(test)
        if not isinstance(formula, Literal):
            return None
        variable = formula.variable
        if not isinstance(variable, NeuralVariable):
            return None
        call = self.semantics.call(variable)
        return call if call.width == 1 and len(call.inputs) == 1 and len(self._shape(call)) > 1 else None

    def _task(self, training: Sequence[NetworkCall], validation: Sequence[NetworkCall]) -> ColumnPretrainingTask:
        """The task that trains a network on the columns of some calls and validates it on those of others."""
        number = self.initializer.next_number()
        network = training[0].network
        name = f"{network}#{number}"
        random = np.random.default_rng((self.initializer.seed, number))
        training_examples = np.flatnonzero(~self.sample.unseen)
        training_rows = self._rows(training, training_examples, MAX_TRAINING_IMAGES, random)
        validation_rows = self._rows(validation, self._validation_examples(), MAX_VALIDATION_IMAGES, random)
        names = [call.inputs[0] for call in (*training, *validation)]
        rows_by_column = [*training_rows, *validation_rows]
        rows = np.concatenate(rows_by_column)
        column_of_image = np.repeat(np.arange(len(rows_by_column)), [len(indices) for indices in rows_by_column])
        training_count = sum(len(indices) for indices in training_rows)
        variable = NeuralVariable(0, name, (_IMAGE,), (), 2)
        column = ColumnVariable(_COLUMN, len(rows_by_column))
        task = Task(
            factorise(
                [
                    Literal(variable, frozenset({1})),
                    *(Literal(column, frozenset({i})) for i in range(len(rows_by_column))),
                ],
                [[(1 + i, True), (0, response)] for i in range(len(rows_by_column)) for response in (True, False)],
            ),
            {variable: NetworkOutput(name, (_IMAGE,), 1, True)},
            {column: (column_of_image == np.arange(len(rows_by_column))[:, None]).astype(np.float32)},
            StackedRows(self.shared_columns, _IMAGE, tuple(zip(names, rows_by_column, strict=True))),
            self.sample.target[rows],
            np.arange(len(rows)) >= training_count,
            tuple({name: self.initializer.create(training[0])} for _ in range(self.config.restarts)),
            self._config(training_count),
            self.initializer.seed * 104_729 + self.initializer.count,
            self.inference.device,
            labels=self._labels(name, training),
        )
        return ColumnPretrainingTask(name, network, frozenset(names[: len(training)]), task)

    def _validation_examples(self) -> npt.NDArray[np.int64]:
        """The examples whose other columns validate a network: all, or with groups only those of the validation split."""
        is_divided = self.sample.groups is not None and self.sample.unseen.any()
        return np.flatnonzero(self.sample.unseen) if is_divided else np.arange(len(self.sample))

    def _labels(self, name: str, calls: Sequence[NetworkCall]) -> dict[str, LabelledInputs]:
        """The labelled inputs of a network that is shared by calls of one declaration.

        Networks of different names may mean different things, so that none of their labels can be used.
        """
        if len({call.network for call in calls}) > 1:
            return {}
        labels = labelled_inputs(self.sample, calls[0].network, calls[0].inputs, self.shared_columns)
        return {} if labels is None else {name: labels}

    def _rows(
        self, calls: Sequence[NetworkCall], rows: npt.NDArray[np.int64], most: int, random: np.random.Generator
    ) -> list[npt.NDArray[np.int64]]:
        """The rows with an image for each call, drawn once from `rows` for all calls, at most `most` images together."""
        if len(rows) * len(calls) > most:
            rows = np.sort(random.choice(rows, max(most // len(calls), 1), replace=False))
        return [rows[self.sample.examples.complete(call.inputs)[rows]] for call in calls]

    def _config(self, images: int) -> TrainingConfig:
        """The training configuration for so many training images."""
        steps = STEPS * self.config.epochs
        batch = int(np.clip(images // 8, *BATCHES))
        return replace(self.config, loss="leaves", epochs=steps, max_steps=steps, batch_size=batch)
