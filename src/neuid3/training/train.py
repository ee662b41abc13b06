"""How are tests, and whole trees, trained?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

import numpy as np
import torch

from neuid3.training.task import Floats, Restart, RestartState, Task, TrainingResult
from neuid3.training.trainer import BatchedTrainer

_training = Lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """One torch thread inside: results then do not depend on the machine's cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def exclusive_training() -> Iterator[None]:
    """Nobody else trains in this process meanwhile: its threads share torch's random numbers."""
    with _training, one_thread(), torch.random.fork_rng(devices=[]):
        yield


def advance(trials: Sequence[Restart], share: float) -> list[RestartState]:
    """Train restarts side by side up to this share of their epochs, and judge them on unseen examples."""
    with exclusive_training():
        company = BatchedTrainer(trials)
        company.advance(share)
        return [company.state(i, score) for i, score in enumerate(company.gains())]


def train_jointly(task: Task) -> tuple[TrainingResult | None, int]:
    """Train all networks and leaves of a tree by its likelihood, to the end of the cycle of learning rates.

    No epoch is picked on the way: the best of many on few unseen examples is the luckiest, and its rate was still high.
    None where the tree had better stay as it was: training failed, or unseen examples clearly speak against it. And the
    number of steps that were taken.
    """
    with exclusive_training():
        company = BatchedTrainer([Restart(task, 0)])
        before, weights = company.likelihoods()
        company.advance(1.0)
        after, _ = company.likelihoods()
        if company.actors[0].failed is not None or is_clearly_worse(before, after, weights):
            return None, company.steps
        return trained(company.state(0, float(np.average(after, weights=weights)))), company.steps


def is_clearly_worse(before: Floats, after: Floats, weights: Floats) -> bool:
    """Has the likelihood of the same examples fallen by more than two standard errors of the difference?"""
    difference = after - before
    mean = np.average(difference, weights=weights)
    error = np.sqrt(((weights * (difference - mean)) ** 2).sum()) / weights.sum()
    return bool(mean < -2.0 * error)


def trained(state: RestartState) -> TrainingResult:
    """What a restart has come to."""
    leaves = torch.softmax(state.leaves.double(), 1).numpy()
    return TrainingResult(
        {name: net.cpu() for name, net in state.networks.items()}, leaves, state.score, state.steps, state.failed
    )
