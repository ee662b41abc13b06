"""The loss of training, epochs, and the networks before they are trained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from one_network import task
from torch import nn

from neuid3.networks.defaults import Dense, LeNet, default_network, sharpened
from neuid3.training.config import PAPER_TRAINING, TrainingConfig
from neuid3.training.halving import successive_halving
from neuid3.training.task import Restart, Task
from neuid3.training.trainer import BatchedTrainer
from neuid3.tree.criteria import ClassCriterion, Target


def evaluate(given: Task, rows: torch.Tensor) -> tuple[float, np.ndarray, np.ndarray]:
    """The loss of the first restart on these rows, P(τ | e) there, and its leaves."""
    trainer = BatchedTrainer([Restart(given, 0)])
    group = trainer.task_groups[0]
    with torch.no_grad():
        paths = group.path_probabilities(trainer.outputs(rows[None]), rows[None])
        loss = group.losses(paths, rows[None])
        return float(loss), paths[0, 0].double().numpy(), torch.softmax(group.leaves, 2)[0].numpy()


def test_the_papers_loss_is_reach_weighted_and_class_balanced() -> None:
    given = task(PAPER_TRAINING)
    rows = torch.arange(len(given.target.values))[~torch.from_numpy(given.unseen)]
    loss, p, _ = evaluate(given, rows)
    y, w = given.target.values[rows], given.target.weights[rows]
    fraction = {1: w[y == 1].sum() / w.sum(), 0: w[y == 0].sum() / w.sum()}
    terms = [w[i] / (2 * fraction[y[i]]) * -np.log(p[i] if y[i] == 1 else 1 - p[i]) for i in range(len(y))]
    assert loss == pytest.approx(sum(terms) / w.sum(), rel=1e-4)


def test_the_loss_of_a_one_test_tree_is_its_likelihood() -> None:
    given = task(TrainingConfig(restarts=2), restarts=2)
    loss, p, leaves = evaluate(given, torch.arange(20))
    y, w = given.target.values[:20], given.target.weights[:20]
    mean = given.target.weights[~given.unseen].mean()
    plain = -(w * np.log(p * leaves[0, y] + (1 - p) * leaves[1, y])).sum() / (20 * mean)
    assert loss == pytest.approx(plain, rel=1e-5)


def test_many_examples_need_fewer_epochs() -> None:
    config = TrainingConfig(epochs=30, batch_size=10, max_steps=100)
    assert config.steps(5) == 30
    assert config.steps(100) == 100
    assert config.steps(10_000) == 3 * 1000
    assert PAPER_TRAINING.steps(3200) == 20 * 100


def test_a_network_that_returns_nan_is_reported_and_not_raised() -> None:
    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.weight * torch.full((len(x), 1), float("nan"))

    given = replace(task(TrainingConfig(restarts=2)), initial_networks=({"net": Broken()}, {"net": Broken()}))
    (result,), _ = successive_halving([given])
    assert result is not None
    assert result.failed is not None
    assert "NaN" in result.failed


def test_the_gain_of_test_responses_is_the_information_gain() -> None:
    target = Target(np.array([0, 0, 1, 1]), np.ones(4), ClassCriterion(2))
    assert target.gain(np.array([0.0, 0.0, 1.0, 1.0])) == pytest.approx(1.0)
    assert target.gain(np.full(4, 0.5)) == pytest.approx(0.0)


def test_a_sharpened_network_is_less_uniform() -> None:
    torch.manual_seed(0)
    net, images = LeNet(8), torch.rand(50, 1, 28, 28)
    before = net(images).std()
    assert sharpened(net, 8, 8.0)(images).std() > 2 * before
    fact = LeNet(1)
    before = fact(images).std()
    assert sharpened(fact, 1, 8.0)(images).std() > 2 * before


def test_default_networks_fit_their_inputs() -> None:
    assert isinstance(default_network([(28, 28)], 8), LeNet)
    assert isinstance(default_network([(3, 28, 28), (3, 28, 28)], 1), LeNet)
    assert isinstance(default_network([(5,), (1,)], 1), Dense)
    two = default_network([(8, 8), (8, 8)], 1)(torch.zeros(4, 8, 8), torch.zeros(4, 8, 8))
    assert two.shape == (4, 1)


def test_a_network_of_two_images_preserves_the_variance_of_signals() -> None:
    torch.manual_seed(0)
    pairs = [torch.rand(200, 3, 28, 28) for _ in range(2)]
    with torch.no_grad():
        spreads = [float(LeNet(1, inputs=2, channels=3)(*pairs).logit().std()) for _ in range(5)]
    assert min(spreads) > 0.1, "with torch's own weights it is a hundredth of that"
