"""Batched training of networks: configurations, tasks, restarts and successive halving, on this machine or on a cluster."""

from typing import TYPE_CHECKING

from neuid3.utils.lazy import lazy_names

if TYPE_CHECKING:
    from neuid3.training.config import PAPER_TRAINING, TrainingConfig
    from neuid3.training.halving import successive_halving
    from neuid3.training.parallel import WorkerPool
    from neuid3.training.task import Task, TrainingResult
    from neuid3.training.train import train_jointly
    from neuid3.training.trainer import BatchedTrainer

__all__ = [
    "PAPER_TRAINING",
    "BatchedTrainer",
    "Task",
    "TrainingConfig",
    "TrainingResult",
    "WorkerPool",
    "successive_halving",
    "train_jointly",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "neuid3.training.config": ["PAPER_TRAINING", "TrainingConfig"],
        "neuid3.training.halving": ["successive_halving"],
        "neuid3.training.parallel": ["WorkerPool"],
        "neuid3.training.task": ["Task", "TrainingResult"],
        "neuid3.training.train": ["train_jointly"],
        "neuid3.training.trainer": ["BatchedTrainer"],
    },
)
