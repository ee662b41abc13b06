"""The models our trees have to beat do learn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from experiments import settings
from experiments.baselines import (
    ColumnNets,
    NetworkClassifier,
    SoftTree,
    SymbolTree,
    Training,
    augmented,
    large,
    lean,
    mlp,
    soft,
    stacked,
)
from neuid3 import Examples
from neuid3.training.train import one_thread

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


def test_the_large_network_has_about_44_million_parameters_and_the_lean_one_well_under_one() -> None:
    with torch.device("meta"):
        windows = torch.empty(1, 4, 3, 28, 28)
        counts = [
            sum(p.numel() for p in build(windows, 2).parameters())
            for build in (large(**settings.LARGE), lean(**settings.LEAN))
        ]
    assert 43e6 < counts[0] < 45e6
    assert counts[1] < 0.5e6


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
    again = NetworkClassifier(build, replace(training, tries=3)).fit(X, y)
    assert started == [0, 1], "the second has learned, and there is no third"
    assert (again.predict(X) == y).mean() > 0.97
    assert again.gradient_steps_ == 2 * stuck.gradient_steps_


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


def test_networks_side_by_side_see_only_their_own_column() -> None:
    nets = ColumnNets(3, 2)
    images = torch.rand(5, 3, 28, 28)
    before = nets(images).reshape(5, 3, 2)
    images[:, 1] = torch.rand(5, 28, 28)
    after = nets(images).reshape(5, 3, 2)
    assert torch.equal(before[:, [0, 2]], after[:, [0, 2]])
    assert not torch.allclose(before[:, 1], after[:, 1])


def test_a_soft_tree_shares_out_one_unit_and_its_loss_is_that_of_its_leaves() -> None:
    tree = SoftTree(pixels=4, classes=3, depth=2, balance=0.0)
    inputs, targets = torch.randn(7, 4), torch.randint(0, 3, (7,))
    assert torch.allclose(tree(inputs).exp().sum(1), torch.ones(7))
    by_hand = 0.0
    right = torch.sigmoid(tree.beta * tree.gate(inputs)).detach()
    leaves = torch.softmax(tree.leaves, 1).detach()
    for r, target in zip(right, targets, strict=True):
        reach = [(1 - r[0]) * (1 - r[1]), (1 - r[0]) * r[1], r[0] * (1 - r[2]), r[0] * r[2]]
        by_hand -= sum(float(p) * float(torch.log(leaves[i, target])) for i, p in enumerate(reach)) / 7
    assert float(tree.loss(inputs, targets).detach()) == pytest.approx(by_hand, rel=1e-5)


def test_balance_is_cheapest_when_half_the_examples_go_each_way() -> None:
    tree = SoftTree(pixels=1, classes=2, depth=1, balance=1.0)
    with torch.no_grad():
        tree.gate.weight.fill_(50.0)
        tree.gate.bias.zero_()
        tree.leaves.zero_()
    targets = torch.tensor([0, 1])
    even, uneven = (float(tree.loss(torch.tensor(x), targets).detach()) for x in ([[-1.0], [1.0]], [[1.0], [1.0]]))
    assert even == pytest.approx(2 * np.log(2), rel=1e-4)  # log 2 of the leaves, log 2 of the balance
    assert uneven > even + 1


def test_images_are_moved_whole_and_by_few_pixels() -> None:
    images = torch.zeros(20, 2, 3, 28, 28)
    images[..., 10:12, 10:12] = 1
    found = augmented(images, 2, 0.0)
    assert found.shape == images.shape
    assert torch.allclose(found, found.round(), atol=1e-4), "whole pixels"
    assert torch.allclose(found.sum((-1, -2)), images.sum((-1, -2)), atol=1e-3)
    rows, columns = (found > 0.5).nonzero()[:, 3], (found > 0.5).nonzero()[:, 4]
    assert (int(rows.min()), int(rows.max()), int(columns.min()), int(columns.max())) == (8, 13, 8, 13)


def test_images_are_warped_around_their_middle_each_in_its_own_way() -> None:
    images = torch.zeros(20, 2, 28, 28)
    images[..., 6:22, 13:15] = 1
    found = augmented(images, 0, 0.2)
    assert torch.all(found[..., 13:15, 13:15].mean((-1, -2)) > 0.5), "the middle stays"
    assert len({tuple(image.flatten().tolist()) for image in found.flatten(0, 1)}) == 40
    assert torch.equal(augmented(images, 0, 0.0), images)


def test_bytes_are_read_as_fractions_and_facts_as_zeros_and_ones() -> None:
    assert stacked(Examples({"a": [True, False], "b": [False, False]})).tolist() == [[1.0, 0.0], [0.0, 0.0]]
    images = np.full((2, 28, 28), 255, dtype=np.uint8)
    assert (
        stacked(Examples({"a": images, "b": images // 5})).flatten(2).mean(2).tolist()
        == [[1.0, pytest.approx(0.2)]] * 2
    )
