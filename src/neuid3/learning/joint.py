"""Joint training of a finished tree: all leaves and all networks that are not frozen, by exact likelihood."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from neuid3.learning.goals import NO_GOALS, GoalCandidates, component_criterion
from neuid3.learning.inference import ExactInference
from neuid3.learning.labelled_inputs import labels_of_instances
from neuid3.learning.sample import Floats
from neuid3.logic.formula import NeuralVariable
from neuid3.training.config import TrainingConfig
from neuid3.training.parallel.shared import SharedColumns
from neuid3.training.task import LabelledInputs, NetworkOutput, Task
from neuid3.tree.components import components
from neuid3.tree.criteria import Criterion, Target
from neuid3.tree.goals import GoalLeaf
from neuid3.tree.tree import Branch, LeafNode, Node, Visit, fold


def joint_task(
    root: Node, inference: ExactInference, config: TrainingConfig, seed: int, goals: GoalCandidates = NO_GOALS
) -> Task | None:
    """The training task of a tree, one path for each component of its leaves; None where there is no network to train."""
    sample, semantics = inference.sample, inference.semantics
    parts = components(root, semantics)
    factored = semantics.conjunctions(parts.paths)
    variables = factored.variables
    trainable = {v for v in variables if isinstance(v, NeuralVariable) and not inference.instances[v.network].frozen}
    if not trainable or config.joint_epochs == 0:
        return None
    inputs = sorted({name for v in trainable for name in v.inputs})
    if not any(sample.examples.complete(v.inputs).any() for v in trainable):
        return None
    rows = np.arange(len(sample))
    return Task(
        factored,
        {v: NetworkOutput.of(v, semantics.program) for v in variables if v in trainable},
        inference.fixed_weights([v for v in variables if v not in trainable], rows),
        {name: sample.examples.column(name).inputs[rows] for name in inputs},
        Target(sample.target.values, sample.weights, component_criterion(parts, sample.criterion, goals)),
        sample.unseen,
        ({name: inference.instances[name].module for name in sorted({v.network for v in trainable})},),
        _joint_config(config),
        seed * 31 + 17,
        inference.device,
        sample.criterion.leaf_parameters(parts.leaves),
        missing=sample.missing(inputs, rows),
        absent=sample.absent(inputs, rows),
        labels=_labels(trainable, inference),
    )


def _labels(trainable: Iterable[NeuralVariable], inference: ExactInference) -> dict[str, LabelledInputs]:
    """The labelled inputs of each trained instance whose network has any."""
    sample = inference.sample
    names = {name for labels in sample.anchors.values() for call in labels.calls for name in call}
    columns = SharedColumns({name: sample.examples.column(name).inputs for name in sorted(names)})
    ordered = sorted(trainable, key=lambda variable: (variable.network, variable.inputs))
    calls = {v.network: (inference.instances[v.network].network, v.inputs) for v in ordered}
    return labels_of_instances(sample, calls, columns)


def _joint_config(config: TrainingConfig) -> TrainingConfig:
    epochs, rate = config.joint_epochs, config.joint_learning_rate
    return replace(config, epochs=epochs, learning_rate=rate, loss="leaves", restarts=1, max_steps=None)


def with_leaves(root: Node, values: Floats, criterion: Criterion) -> Node:
    """The tree with other values in its leaves, `(leaf, value)`, as the criterion returned them."""
    reversed_values = iter(values[::-1])

    def replaced(visit: Visit, below: tuple[Node, Node] | None) -> Node:
        node = visit.node
        if isinstance(node, GoalLeaf):
            otherwise = criterion.with_value(node.otherwise, next(reversed_values))
            return GoalLeaf(node.goal, otherwise, node.noise, node.deviation)
        if isinstance(node, LeafNode):
            return criterion.with_value(node, next(reversed_values))
        assert below is not None
        return Branch(node.test, *below, node.gain, summary=node.summary)

    return fold(root, replaced)
