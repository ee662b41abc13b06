"""A task with one small network, for tests of training."""

from __future__ import annotations

import numpy as np
import torch

from neuid3.circuits.conjunctions import factorise
from neuid3.logic.formula import Literal, NeuralVariable
from neuid3.networks.defaults import Dense
from neuid3.training.config import TrainingConfig
from neuid3.training.task import NetworkOutput, Task
from neuid3.tree.criteria import ClassCriterion, Target

VARIABLE = NeuralVariable(0, "net", ("x",), ("x",), 2)


def task(config: TrainingConfig, restarts: int = 1, n: int = 120, seed: int = 0) -> Task:
    """One network that classifies numbers as positive or negative; a sixth of the examples is unseen."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).astype(np.float32)
    labels = (x[:, 0] > 0).astype(np.int64)
    paths = factorise([Literal(VARIABLE, frozenset({1}))], [[(0, True)], [(0, False)]])
    torch.manual_seed(seed)
    modules = tuple({"net": Dense(1, [3])} for _ in range(restarts))
    unseen = np.arange(n) % 6 == 0
    return Task(
        paths,
        {VARIABLE: NetworkOutput("net", ("x",), 1, True)},
        {},
        {"x": x},
        Target(labels, rng.uniform(0.2, 1.0, n), ClassCriterion(2)),
        unseen,
        modules,
        config,
        seed,
    )
