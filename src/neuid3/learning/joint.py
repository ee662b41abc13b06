"""How is the finished tree trained as one? All networks that are not frozen, and all leaves, by the exact likelihood."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from neuid3.learning.inference import ExactInference
from neuid3.learning.sample import Floats
from neuid3.learning.semantics import variables_of
from neuid3.logic.formula import NeuralVariable
from neuid3.training.config import TrainingConfig
from neuid3.training.task import Task
from neuid3.tree.tree import Branch, Leaf, Node, Visit, fold, paths


def joint_task(root: Node, exact: ExactInference, recipe: TrainingConfig, seed: int) -> Task | None:
    """The tree as a task, each of its leaves a path; None where no network would move."""
    sample, meaning = exact.sample, exact.meaning
    leaves = list(paths(root))
    factored = meaning.conjunctions([path for path, _ in leaves])
    variables = variables_of(factored)
    moving = {v for v in variables if isinstance(v, NeuralVariable) and not exact.instances[v.network].frozen}
    if not moving or recipe.joint_epochs == 0:
        return None
    inputs = sorted({name for v in moving for name in v.inputs})
    if not any(sample.examples.complete(v.inputs).any() for v in moving):
        return None
    rows = np.arange(len(sample.labels))
    return Task(
        factored,
        {v: meaning.use(v) for v in variables if v in moving},
        exact.fixed([v for v in variables if v not in moving], rows),
        {name: sample.examples.column(name).values[rows] for name in inputs},
        sample.labels[rows],
        sample.weights[rows],
        sample.unseen[rows],
        sample.classes,
        sample.positive,
        ({name: exact.instances[name].module for name in sorted({v.network for v in moving})},),
        _as_one(recipe),
        seed * 31 + 17,
        exact.device,
        np.array([leaf.probabilities for _, leaf in leaves]),
        missing=sample.missing(inputs, rows),
    )


def _as_one(recipe: TrainingConfig) -> TrainingConfig:
    epochs, rate = recipe.joint_epochs, recipe.joint_learning_rate
    return replace(recipe, epochs=epochs, learning_rate=rate, loss="leaves", restarts=1, enough=None)


def with_leaves(root: Node, leaves: Floats) -> Node:
    """The tree with other class probabilities in its leaves, one row each."""
    from_right = iter([tuple((row / row.sum()).tolist()) for row in leaves[::-1]])

    def replaced(visit: Visit, below: tuple[Node, Node] | None) -> Node:
        node = visit.node
        if isinstance(node, Leaf):
            return Leaf(next(from_right), node.masses)
        assert below is not None
        return Branch(node.test, *below, node.gain, node.masses)

    return fold(root, replaced)
