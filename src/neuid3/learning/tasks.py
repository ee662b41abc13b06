"""Training tasks for tests at a node: fresh networks, and a trained one to start from, on the examples of the node."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import nn

from neuid3.learning.grow import OpenNode
from neuid3.learning.inference import ExactInference
from neuid3.learning.initialize import NetworkInitializer
from neuid3.learning.labelled_inputs import labels_of_instances
from neuid3.learning.restarts import RestartVariants
from neuid3.learning.splitter import ScoredCandidate
from neuid3.logic.formula import Literal, NeuralVariable
from neuid3.networks.defaults import sharpened
from neuid3.training.config import TrainingConfig
from neuid3.training.parallel.shared import RowSubset, SharedColumns
from neuid3.training.task import NetworkOutput, RestartVariant, Task
from neuid3.tree.criteria import Target
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.semantics import NetworkCall


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRows:
    """Training and validation examples at a node."""

    node: OpenNode
    rows: npt.NDArray[np.int64]
    target: Target  # with the weighted reach of each row
    unseen: npt.NDArray[np.bool_]


class TaskBuilder:
    """Builds the training task of a test, with the names of the network instances that it trains."""

    def __init__(
        self,
        inference: ExactInference,
        initializer: NetworkInitializer,
        variants: RestartVariants,
        shared_columns: SharedColumns,
        config: TrainingConfig,
    ) -> None:
        self.inference, self.sample, self.semantics = inference, inference.sample, inference.semantics
        self.initializer, self.variants = initializer, variants
        self.shared_columns, self.config = shared_columns, config
        self._last_rows: TrainingRows | None = None

    def build(
        self,
        node: OpenNode,
        test: NodeTest,
        untrained: Sequence[str],
        ready: Sequence[ScoredCandidate],
        penalty: float,
        gain_to_beat: float = 0.0,
    ) -> tuple[NodeTest, Task] | None:
        """The test with new instances, and the task that trains them; None where nothing can be learned.

        Parameters
        ----------
        node : the node whose examples are used.
        test : a test whose networks are not all trained.
        untrained : the names of its untrained networks.
        ready : scores of the test with trained networks; the best of them is a start.
        penalty : the bits that the trained test must save.
        gain_to_beat : only gain above this saves bits, in bits per example.
        """
        calls = self.semantics.calls(test)
        renamed = {network: f"{network}#{self.initializer.next_number()}" for network in untrained}
        named = test.bind(dict(test.instances) | renamed)
        inputs = sorted({name for call in calls if call.network in renamed for name in call.inputs})
        training_rows = self._training_rows(node)
        if not self._is_trainable(training_rows, [call for call in calls if call.network in renamed]):
            return None
        factored = self.semantics.split_conjunctions(node.path, named)
        variables = factored.variables
        trainable = {v for v in variables if isinstance(v, NeuralVariable) and v.network in renamed.values()}
        if not trainable:
            return None
        variants, modules = self._restarts(node, test, inputs, _first_calls(calls, untrained), ready)
        task = Task(
            factored,
            {v: NetworkOutput.of(v, self.semantics.program) for v in variables if v in trainable},
            self.inference.fixed_weights([v for v in variables if v not in trainable], training_rows.rows),
            RowSubset(self.shared_columns, tuple(inputs), training_rows.rows),
            training_rows.target,
            training_rows.unseen,
            tuple({renamed[network]: module for network, module in start.items()} for start in modules),
            self.config,
            self.initializer.seed * 104_729 + self.initializer.count,
            self.inference.device,
            variants=tuple(variants),
            min_gain=self._min_gain(node, training_rows, penalty, gain_to_beat),
            missing=self.sample.missing(inputs, training_rows.rows),
            absent=self.sample.absent(inputs, training_rows.rows),
            labels=labels_of_instances(
                self.sample,
                {renamed[call.network]: (call.network, call.inputs) for call in _first_calls(calls, untrained)},
                self.shared_columns,
            ),
        )
        return named, task

    def _training_rows(self, node: OpenNode) -> TrainingRows:
        """The examples of a node, one object for all its candidates, so that they are sent to the workers once."""
        sample, training_rows = self.sample, self._last_rows
        if training_rows is None or training_rows.node is not node:
            rows = np.flatnonzero(node.reach > 0)
            weights = (node.reach * sample.weights)[rows]
            target = Target(sample.target.values[rows], weights, sample.criterion)
            training_rows = self._last_rows = TrainingRows(node, rows, target, sample.unseen[rows])
        return training_rows

    def _is_trainable(self, training_rows: TrainingRows, calls: Sequence[NetworkCall]) -> bool:
        """Whether networks can be called on training examples with different targets, and on a validation example."""
        computable = np.any([self.sample.examples.complete(call.inputs)[training_rows.rows] for call in calls], axis=0)
        can_validate = bool((training_rows.unseen & computable).any()) or not self.sample.unseen.any()
        targets = training_rows.target.values[~training_rows.unseen & computable]
        return len(np.unique(targets)) > 1 and can_validate

    def _restarts(
        self,
        node: OpenNode,
        test: NodeTest,
        inputs: Sequence[str],
        calls: Sequence[NetworkCall],
        ready: Sequence[ScoredCandidate],
    ) -> tuple[list[RestartVariant], list[dict[str, nn.Module]]]:
        """The restarts: the variant of each, and the networks that it starts from."""
        normalised = all(map(self.initializer.is_normalised, calls))
        variants = self.variants.variants(node, test, inputs, normalised)
        warm = ready and len(calls) == 1
        if warm:
            variants = variants[:1]  # a trained network for such images is there to start from
        modules = [{call.network: self._fresh_network(call, test) for call in calls} for _ in variants]
        if warm:
            best = max(ready, key=lambda candidate: candidate.gain).test
            network = calls[0].network
            trained = self.inference.instances[dict(best.instances)[network]].module
            variants, modules = [RestartVariant(), *variants], [{network: copy.deepcopy(trained)}, *modules]
        return variants, modules

    def _fresh_network(self, call: NetworkCall, test: NodeTest) -> nn.Module:
        """A fresh network, standardised for all its calls in the test; its outputs are sharpened unless they are the test."""
        calls = [other for other in self.semantics.calls(test) if other.network == call.network]
        network = self.initializer.create(call, calls)
        is_test = call.width == 1 and isinstance(self.semantics.formula(test), Literal)
        return network if is_test else sharpened(network, call.width, self.config.sharpness)

    def _min_gain(self, node: OpenNode, training_rows: TrainingRows, penalty: float, gain_to_beat: float) -> float:
        """The gain that a restart must have whenever it is scored: half of what it needs in the end.

        There is no such limit at the root, unless there is a gain to beat: restarts may be slow there.
        """
        mass = float((node.reach * self.sample.weights)[training_rows.rows[training_rows.unseen]].sum())
        return gain_to_beat + penalty / mass / 2 if (node.path or gain_to_beat) and mass > 0 else -np.inf


def _first_calls(calls: Sequence[NetworkCall], networks: Sequence[str]) -> list[NetworkCall]:
    """The first call of each network."""
    return [next(call for call in calls if call.network == network) for network in networks]
