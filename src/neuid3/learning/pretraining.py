"""Pretraining: networks that many columns or many candidates teach at once, before a tree is grown from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from torch import nn

from neuid3.learning.candidate_pretraining import candidate_pretraining
from neuid3.learning.column_pretraining import ColumnPretraining
from neuid3.learning.goals import NO_GOALS, GoalCandidates
from neuid3.learning.grow import OpenNode
from neuid3.learning.inference import ExactInference
from neuid3.learning.initialize import NetworkInitializer
from neuid3.learning.progress import SilentProgress
from neuid3.learning.sample import Instance
from neuid3.training.config import TrainingConfig
from neuid3.training.halving import successive_halving
from neuid3.training.parallel.pool import WorkerPool
from neuid3.training.parallel.shared import SharedColumns
from neuid3.training.task import Task, TrainingResult
from neuid3.tree.node_tests import NodeTest


class PretrainingTask(Protocol):
    """A training task whose networks a tree is grown from."""

    @property
    def title(self) -> str:
        """What reports call the task."""

    @property
    def task(self) -> Task:
        """The training task."""

    def instances(self, trained: TrainingResult | None) -> dict[str, Instance]:
        """The trained instances that are kept, by name."""


class Pretrainer:
    """Trains networks before a tree is grown from them, in one of two ways.

    *By columns* (`shared`), before the first split: each network learns from many columns of images of one kind, and its
    tests are then counted like facts. *By candidates* (`pretrain`), where the grown tree leaves much unexplained: all rules
    together teach one instance of each declared network, and a tree is regrown from these.

    Parameters
    ----------
    inference : exact inference with the trained networks, which pretrained ones are added to.
    initializer : creates networks.
    shared_columns : columns that the workers hold.
    config : how networks are trained.
    pool : worker processes.
    progress : receives reports.
    by_columns : whether columns pretrain networks.

    Attributes
    ----------
    columns : finds columns that can share a network.
    steps : the gradient steps of the last pretraining.
    """

    def __init__(
        self,
        inference: ExactInference,
        initializer: NetworkInitializer,
        shared_columns: SharedColumns,
        config: TrainingConfig,
        pool: WorkerPool,
        progress: SilentProgress,
        *,
        by_columns: bool,
    ) -> None:
        self.inference, self.initializer, self.shared_columns = inference, initializer, shared_columns
        self.config, self.pool, self.progress = config, pool, progress
        self.columns = ColumnPretraining(inference, initializer, shared_columns, config, by_columns)
        self.steps = 0

    def pretrain_by_columns(self, node: OpenNode, tests: Sequence[NodeTest]) -> bool:
        """Train networks that many columns share, and keep those that learned something.

        Parameters
        ----------
        node : the root.
        tests : the candidates with networks.

        Returns
        -------
        Whether there are new networks.
        """
        return bool(self._trained(node, list(self.columns.training_tasks(tests))))

    def pretrain_by_candidates(
        self,
        node: OpenNode,
        tests: Sequence[NodeTest],
        starts: Mapping[str, nn.Module],
        goals: GoalCandidates = NO_GOALS,
    ) -> bool:
        """Train one instance of each network by all candidates at once; tests call these from then on.

        Parameters
        ----------
        node : the root.
        tests : the candidates with networks.
        starts : networks that some restarts begin with, by declared network.
        goals : the goals that leaves may hold, which teach their networks too.

        Returns
        -------
        Whether there are new networks; not so where the candidates teach nothing together.
        """
        built = candidate_pretraining(
            tests, self.inference, self.initializer, self.shared_columns, self.config, starts, goals
        )
        self.steps = 0
        if built is None or not self._trained(node, [built]):
            return False
        self.inference.bindings.update(built.names)
        return True

    def _trained(self, node: OpenNode, tasks: Sequence[PretrainingTask]) -> dict[str, Instance]:
        """The networks of these tasks that are kept, which become instances of the fit."""
        finished, self.steps = successive_halving(
            [of_networks.task for of_networks in tasks],
            self.pool,
            lambda i, done, total: self.progress.training(node, tasks[i].title, done, total),
        )
        instances: dict[str, Instance] = {}
        for of_networks, trained in zip(tasks, finished, strict=True):
            instances |= of_networks.instances(trained)
        self.inference.add_instances(instances)
        return instances
