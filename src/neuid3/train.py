"""How are tests, and whole trees, trained?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

import torch

from neuid3.company import Company
from neuid3.task import State, Task, Trained, Trial

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
def alone() -> Iterator[None]:
    """Nobody else trains in this process meanwhile: its threads share torch's random numbers."""
    with _training, one_thread(), torch.random.fork_rng(devices=[]):
        yield


def advance(trials: Sequence[Trial], share: float) -> list[State]:
    """Train restarts side by side up to this share of their epochs, and judge them on unseen examples."""
    with alone():
        company = Company(trials)
        company.advance(share)
        return [company.state(i, score) for i, score in enumerate(company.gains())]


def train_jointly(task: Task) -> Trained:
    """Train all networks and leaves of a tree by its likelihood; the epoch that does best on unseen examples."""
    with alone():
        company = Company([Trial(task, 0)])
        best, steps = company.state(0, company.likelihood()), 0
        for epoch in range(1, task.recipe.epochs + 1):
            company.advance(epoch / task.recipe.epochs)
            score = company.likelihood()
            if company.actors[0].failed is not None:
                break
            if score > best.score:
                best, steps = company.state(0, score), company.steps
        return trained(best, steps)


def trained(state: State, steps: int) -> Trained:
    """What a restart has come to."""
    leaves = torch.softmax(state.leaves.double(), 1).numpy()
    return Trained({name: net.cpu() for name, net in state.networks.items()}, leaves, state.score, steps, state.failed)
