"""Joint training of whole trees, and what is clearly better."""

from __future__ import annotations

import numpy as np

from neuid3.training.task import Floats, Restart, RestartState, Task, TrainingResult
from neuid3.training.threads import exclusive_training
from neuid3.training.trainer import BatchedTrainer
from neuid3.tree.criteria import Criterion


def train_jointly(task: Task) -> tuple[TrainingResult | None, int]:
    """All networks and leaves of a tree, trained by its likelihood to the end of the cycle of learning rates.

    No epoch is picked on the way: the best of many on few unseen examples is the luckiest, and its rate was still high.

    Parameters
    ----------
    task : the tree as one task, with a leaf distribution for each leaf.

    Returns
    -------
    The result, or None where the tree should stay as it was: training failed, or the likelihood of unseen examples fell
    significantly. And the number of gradient steps taken.
    """
    with exclusive_training():
        trainer = BatchedTrainer([Restart(task, 0)])
        before, weights = trainer.log_likelihoods()
        trainer.advance(1.0)
        after, _ = trainer.log_likelihoods()
        if trainer.runs[0].failed is not None or is_clearly_worse(before, after, weights):
            return None, trainer.steps
        state = trainer.state(0, float(np.average(after, weights=weights)))
        return training_result(state, task.target.criterion), trainer.steps


def is_clearly_worse(before: Floats, after: Floats, weights: Floats) -> bool:
    """Whether the log-likelihood of the same examples fell by more than two standard errors of the difference."""
    return standard_errors(before, after, weights) < -2.0


def standard_errors(before: Floats, after: Floats, weights: Floats) -> float:
    """By how many standard errors of the mean difference the log-likelihood of the same examples rose.

    Parameters
    ----------
    before, after : log-likelihood of each example, `(example,)`.
    weights : weight of each example, `(example,)`.

    Returns
    -------
    Standard errors; 0 where nothing differs.

    >>> standard_errors(np.zeros(4), np.array([1.0, 0.0, 1.0, 0.0]), np.ones(4))
    2.0
    """
    difference = after - before
    mean = np.average(difference, weights=weights)
    error = np.sqrt(((weights * (difference - mean)) ** 2).sum()) / weights.sum()
    return float(mean / error) if error > 0 else float(np.sign(mean) * np.inf) if mean else 0.0


def training_result(state: RestartState, criterion: Criterion) -> TrainingResult:
    """The result of a restart: its networks on the CPU, and what the leaves say instead of their parameters."""
    networks = {name: net.cpu() for name, net in state.networks.items()}
    leaves = criterion.leaf_values(state.leaves)
    return TrainingResult(networks, leaves, state.score, state.gain, state.steps, state.failed)
