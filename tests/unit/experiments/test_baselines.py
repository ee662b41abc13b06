"""The parts of the models our trees have to beat."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from experiments import settings
from experiments.baselines import (
    ColumnNets,
    SoftTree,
    augmented,
    large,
    lean,
    stacked,
)
from experiments.set_baselines import SetNetwork
from neuid3 import Examples


def test_the_large_network_has_about_44_million_parameters_and_the_lean_one_well_under_one() -> None:
    with torch.device("meta"):
        windows = torch.empty(1, 4, 3, 28, 28)
        counts = [
            sum(p.numel() for p in build(windows, 2).parameters())
            for build in (large(**settings.LARGE), lean(**settings.LEAN))
        ]
    assert 43e6 < counts[0] < 45e6
    assert counts[1] < 0.5e6


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


@pytest.mark.parametrize("recurrent", [False, True])
@pytest.mark.parametrize("shape", [(3, 64, 44), (1, 28, 28)])
def test_networks_over_sets_read_the_pictures_that_are_there(shape: tuple[int, ...], recurrent: bool) -> None:
    torch.manual_seed(0)
    network = SetNetwork(shape, 16, 2, recurrent).eval()
    pictures, present = torch.rand(3, 4, *shape), torch.ones(3, 4)
    present[0, 2:] = 0
    with torch.no_grad():
        logits = network(pictures, present)
        assert torch.allclose(logits[:1], network(pictures[:1, :2], present[:1, :2]), atol=1e-6)
        pictures[0, 2:] = 7.0
        assert torch.equal(network(pictures, present), logits)
        pictures[0, 1] = 7.0
        assert not torch.allclose(network(pictures, present)[0], logits[0])
