"""One thread for training, in which results do not depend on the number of cores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch

_training_lock = Lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Context with one torch thread, in which results do not depend on the number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def exclusive_training() -> Iterator[None]:
    """Context in which no other thread of this process trains: threads share torch's random generator."""
    with _training_lock, one_thread(), torch.random.fork_rng(devices=[]):
        yield
