"""Joint fine-tuning of a sum: the scores of its leaves and all networks that are not frozen, by the loss of the whole sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from neuid3.learning.inference import ExactInference
from neuid3.logic.formula import NeuralVariable
from neuid3.training.config import TrainingConfig
from neuid3.training.head import Head
from neuid3.training.task import NetworkOutput, Restart, Task
from neuid3.training.trainer import advance
from neuid3.tree.criteria import ClassCriterion
from neuid3.tree.sum_model import SumModel
from neuid3.tree.sums import BoostedSum, score_leaves, with_scores
from neuid3.tree.tree import branches, paths


@dataclass(frozen=True, slots=True, eq=False)
class SumHead(Head):
    """The part of a sum whose trees call networks: its parameters are the scores of their leaves, it reads P(leaf | e).

    Its features are the scores of all other trees, which stay as they are.

    Attributes
    ----------
    scores : what the leaves add before fine-tuning, `(leaf, score)`.
    deviation : for numbers, the logarithm of their standard deviation around the sum, which is trained too; None for
        classes.
    """

    scores: np.ndarray = None  # type: ignore[assignment]
    deviation: float | None = None

    def initial(self, random: torch.Generator) -> torch.Tensor:  # noqa: ARG002 - nothing is drawn
        """The scores of the leaves, `(1, parameter)`."""
        flat = self.scores.reshape(1, -1)
        return torch.from_numpy(flat if self.deviation is None else np.append(flat, [[self.deviation]], axis=1))

    def outputs(self, parameters: torch.Tensor, rules: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        """The parameters of the distribution of the target for every row, `(restart, row, parameter)`."""
        leaves, width = self.scores.shape
        values = parameters[:, 0, : leaves * width].view(-1, leaves, width)
        scores = torch.baddbmm(features, rules.permute(1, 2, 0), values)
        if self.deviation is not None:
            return torch.cat((scores, parameters[:, :, leaves * width :].expand(-1, scores.shape[1], 1)), 2)
        return torch.cat((torch.zeros_like(scores), scores), 2) if width == 1 else scores

    def weight_of_bonus(self, progress: float) -> float:  # noqa: ARG002 - there is none
        """0: networks that are trained already need no bonus for varied outputs."""
        return 0.0


@dataclass(frozen=True, slots=True, eq=False)
class FineTuned:
    """A sum after fine-tuning.

    Attributes
    ----------
    boosted_sum : the sum; the given one where unseen examples did not become likelier.
    networks : the networks that changed, by instance.
    steps : the number of gradient steps.
    """

    boosted_sum: BoostedSum
    networks: Mapping[str, nn.Module]
    steps: int


def fine_tuned(model: SumModel, inference: ExactInference, config: TrainingConfig, seed: int) -> FineTuned:
    """A sum whose networks and leaves were trained jointly, where unseen examples became likelier by it.

    Parameters
    ----------
    model : the sum with its networks.
    inference : exact inference for the examples of the fit, with the same networks.
    config : how networks are trained; `joint_epochs` and `joint_learning_rate` are those of this training.
    seed : of random draws.

    Returns
    -------
    The sum, the networks that changed and the number of gradient steps.
    """
    boosted_sum, sample = model.boosted_sum, inference.sample
    semantics = inference.semantics
    neural = [i for i, root in enumerate(boosted_sum.trees) if any(semantics.is_neural(b.test) for b in branches(root))]
    task = _task(model, inference, neural, config, seed)
    if task is None or not sample.unseen.any():
        return FineTuned(boosted_sum, {}, 0)
    (before,), (after,) = advance([Restart(task, 0)], 0.0), advance([Restart(task, 0)], 1.0)
    if after.failed is not None or not after.score > before.score:
        return FineTuned(boosted_sum, {}, after.steps)
    head = task.head
    assert isinstance(head, SumHead)
    scale = _unit(inference)[1]
    flat = after.leaves.double().numpy()[0, : head.scores.size]
    scores = flat.reshape(head.scores.shape) * scale
    trees, start = list(boosted_sum.trees), 0
    for i in neural:
        count = sum(1 for _ in score_leaves(trees[i]))
        trees[i] = with_scores(trees[i], scores[start : start + count])
        start += count
    networks = {name: network.eval() for name, network in after.networks.items()}
    return FineTuned(replace(boosted_sum, trees=tuple(trees)), networks, after.steps)


def _unit(inference: ExactInference) -> tuple[float, float]:
    """The centre and the scale by which numbers are standardised in training; 0 and 1 for classes."""
    criterion = inference.sample.criterion
    if isinstance(criterion, ClassCriterion):
        return 0.0, 1.0
    return float(criterion.center), float(criterion.scale)  # type: ignore[attr-defined]


def _task(
    model: SumModel, inference: ExactInference, neural: list[int], config: TrainingConfig, seed: int
) -> Task | None:
    """The training task of the trees that call networks; None where there is nothing to train."""
    sample, semantics, trees = inference.sample, inference.semantics, model.boosted_sum.trees
    leaves = [leaf for i in neural for leaf in paths(trees[i])]
    factored = semantics.conjunctions([path for path, _ in leaves])
    variables = factored.variables
    trainable = {v for v in variables if isinstance(v, NeuralVariable) and not inference.instances[v.network].frozen}
    if not trainable or config.joint_epochs == 0:
        return None
    inputs = sorted({name for v in trainable for name in v.inputs})
    rows = np.arange(len(sample))
    center, scale = _unit(inference)
    fixed = replace(model.boosted_sum, trees=tuple(root for i, root in enumerate(trees) if i not in set(neural)))
    offset = (_scores(fixed, inference) - center) / scale
    scores = np.array([leaf.value for _, leaf in leaves]) / scale
    deviation = None
    if not isinstance(sample.criterion, ClassCriterion):
        residuals = (_scores(model.boosted_sum, inference)[:, 0] - center) / scale - sample.target.values
        deviation = float(np.log(max(np.sqrt(np.average(residuals**2, weights=sample.weights)), 1e-3)))
    width = scores.shape[1] + (1 if deviation is not None or scores.shape[1] == 1 else 0)
    return Task(
        factored,
        {v: NetworkOutput.of(v, semantics.program) for v in variables if v in trainable},
        inference.fixed_weights([v for v in variables if v not in trainable], rows),
        {name: sample.examples.column(name).inputs[rows] for name in inputs},
        sample.target,
        sample.unseen,
        ({name: inference.instances[name].module for name in sorted({v.network for v in trainable})},),
        replace(
            config,
            epochs=config.joint_epochs,
            learning_rate=config.joint_learning_rate,
            loss="leaves",
            restarts=1,
            max_steps=None,
        ),
        seed * 31 + 19,
        inference.device,
        missing=sample.missing(inputs, rows),
        absent=sample.absent(inputs, rows),
        head=SumHead(offset, len(leaves), width, scores=scores, deviation=deviation),
    )


def _scores(boosted_sum: BoostedSum, inference: ExactInference) -> np.ndarray:
    """F of every example of the fit, `(example, score)`."""
    scores = np.tile(np.array(boosted_sum.initial), (len(inference.sample), 1))
    for root in boosted_sum.trees:
        leaves = list(paths(root))
        reach = inference.reach([path for path, _ in leaves])
        scores += reach @ np.array([leaf.value for _, leaf in leaves])
    return scores
