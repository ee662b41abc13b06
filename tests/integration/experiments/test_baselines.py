"""The models our trees have to beat do learn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from experiments import settings
from experiments.baselines import (
    NetworkClassifier,
    SymbolTree,
    Training,
    large,
    lean,
    mlp,
    soft,
)
from neuid3 import Examples
from neuid3.training.threads import one_thread

CARDS = ("suit_1", "rank_1", "suit_2", "rank_2")


def facts(n: int, seed: int) -> tuple[Examples, Any]:
    table = np.random.default_rng(seed).random((n, 6)) < 0.5
    y = np.where(table[:, 0] & (table[:, 1] | table[:, 2]), "positive", "negative")
    return Examples({f"x{i}": column for i, column in enumerate(table.T)}), y


def bars(n: int, seed: int, columns: tuple[str, ...], channels: int | None = None) -> tuple[Examples, Any]:
    """Images of one bar, standing or lying; the class is whether the first and the third column show the same."""
    rng = np.random.default_rng(seed)
    standing = rng.random((n, len(columns))) < 0.5
    images = rng.integers(0, 60, (n, len(columns), 28, 28), dtype=np.uint8)
    images[standing, 4:24, 12:16] = 255
    images[~standing, 12:16, 4:24] = 255
    if channels is not None:
        images = np.repeat(images[:, :, None], channels, 2)
    y = np.where(standing[:, 0] & standing[:, 2], "holds", "violates")
    return Examples({name: images[:, i] for i, name in enumerate(columns)}), y


@pytest.mark.parametrize(
    "model", [SymbolTree(), NetworkClassifier(mlp(4, 47), Training(epochs=60, learning_rate=3e-3))]
)
def test_baselines_learn_from_facts(model: Any) -> None:
    with one_thread():
        model.fit(*facts(300, 0))
    X, y = facts(300, 1)
    assert (model.predict(X) == y).mean() > 0.97


@pytest.mark.parametrize(
    ("build", "columns", "channels", "epochs"),
    [
        (mlp(1, 20), ("a", "b", "c"), None, 20),
        (lean(**settings.LEAN), CARDS, 3, 10),
        (large((64, 48, 32), (32,)), CARDS, 3, 10),
        (soft(**settings.SOFT), ("a", "b", "c"), None, 10),
    ],
)
def test_baselines_learn_from_images(build: Any, columns: tuple[str, ...], channels: int | None, epochs: int) -> None:
    model = NetworkClassifier(build, Training(epochs=epochs, batch_size=16, learning_rate=3e-3))
    with one_thread():
        model.fit(*bars(120, 0, columns, channels), validation=bars(60, 1, columns, channels))
    X, y = bars(100, 2, columns, channels)
    assert (model.predict(X) == y).mean() > 0.95


def test_the_same_seed_gives_the_same_network() -> None:
    X, y = facts(100, 0)
    first, second = (NetworkClassifier(mlp(2, 10), Training(epochs=3), 5).fit(X, y) for _ in range(2))
    assert all(map(torch.equal, first.network_.parameters(), second.network_.parameters()))


def test_the_epoch_with_the_lowest_validation_loss_is_kept() -> None:
    """With flipped validation labels, every training step raises the validation loss."""
    X, y = facts(200, 0)
    turned = np.where(y == "positive", "negative", "positive")
    trained = NetworkClassifier(mlp(2, 20), Training(epochs=30, learning_rate=1e-2)).fit(X, y, validation=(X, turned))
    last = NetworkClassifier(mlp(2, 20), Training(epochs=30, learning_rate=1e-2)).fit(X, y, validation=(X, y))
    assert (last.predict(X) == y).mean() > 0.97
    assert (trained.predict(X) == y).mean() < 0.9


def test_a_network_that_learned_nothing_is_begun_anew() -> None:
    X, y = facts(200, 0)
    started: list[int] = []

    def build(inputs: torch.Tensor, classes: int) -> torch.nn.Module:
        started.append(len(started))
        network = mlp(2, 20)(inputs, classes)
        return network if started[-1] else Stuck(network)

    training = Training(epochs=30, learning_rate=1e-2)
    stuck = NetworkClassifier(build, training).fit(X, y)
    assert isinstance(stuck.network_, Stuck)
    started.clear()
    retried = NetworkClassifier(build, replace(training, tries=3)).fit(X, y)
    assert started == [0, 1], "the second has learned, and there is no third"
    assert (retried.predict(X) == y).mean() > 0.97
    assert retried.gradient_steps_ == 2 * stuck.gradient_steps_


class Stuck(torch.nn.Module):
    """A network that says the same of everything, by default the rarer class, and cannot learn."""

    def __init__(self, network: torch.nn.Module, says: tuple[float, float] = (-1.0, 1.0)) -> None:
        super().__init__()
        self.network, self.says = network, says

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return 0.0 * self.network(inputs) + torch.tensor(self.says)


def test_a_network_whose_loss_is_no_number_is_kept_only_where_there_is_no_other() -> None:
    X, y = facts(200, 0)
    broken = NetworkClassifier(lambda x, k: Stuck(mlp(1, 5)(x, k), (np.nan, 0.0)), Training(epochs=1, tries=2)).fit(
        X, y
    )
    assert isinstance(broken.network_, Stuck)
    made = iter([(np.nan, 0.0), (-1.0, 1.0), (np.nan, 0.0)])
    other = NetworkClassifier(lambda x, k: Stuck(mlp(1, 5)(x, k), next(made)), Training(epochs=1, tries=3)).fit(X, y)
    assert other.network_.says == (-1.0, 1.0)
