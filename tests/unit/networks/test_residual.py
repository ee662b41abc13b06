"""Residual networks: chosen by the size of pictures, probabilities for any size, and independent rows in prediction."""

from __future__ import annotations

import pytest
import torch

from neuid3.networks.defaults import Dense, LeNet, default_network
from neuid3.networks.residual import ResidualNet


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((28, 28), LeNet),
        ((3, 28, 28), LeNet),
        ((29, 20), ResidualNet),
        ((3, 32, 32), ResidualNet),
        ((3, 64, 44), ResidualNet),
        ((65, 65), ResidualNet),
        ((3, 96, 66), ResidualNet),
        ((1, 224, 224), ResidualNet),
        ((3, 64, 12), LeNet),
        ((64,), Dense),
    ],
)
def test_the_size_of_pictures_decides_on_the_default_network(shape: tuple[int, ...], kind: type):
    assert type(default_network([shape], 3)) is kind


@pytest.mark.parametrize("size", [(40, 40), (64, 44), (44, 64), (97, 130), (224, 224)])
@pytest.mark.parametrize(("width", "inputs"), [(1, 1), (5, 1), (1, 2)])
def test_outputs_are_probabilities(size: tuple[int, int], width: int, inputs: int):
    network = default_network([(3, *size)] * inputs, width).eval()
    outputs = network(*(torch.rand(3, 3, *size) for _ in range(inputs)))
    assert outputs.shape == (3, width)
    assert bool(((outputs >= 0) & (outputs <= 1)).all())
    if width > 1:
        assert torch.allclose(outputs.sum(1), torch.ones(3))


def test_a_grey_picture_may_come_without_its_channel():
    network = ResidualNet(4, size=48).eval()
    pictures = torch.rand(2, 48, 48)
    assert torch.equal(network(pictures), network(pictures.unsqueeze(1)))


def test_in_prediction_rows_do_not_depend_on_each_other():
    network = ResidualNet(4, channels=3, size=(64, 44)).eval()
    pictures = torch.rand(6, 3, 64, 44)
    assert torch.allclose(network(pictures)[2:4], network(pictures[2:4]), atol=1e-6)


def test_settings_rebuild_the_network():
    network = ResidualNet(4, inputs=2, channels=3, size=(64, 44), widths=(8, 16))
    again = ResidualNet(**network.settings)
    again.load_state_dict(network.state_dict())
    pictures = [torch.rand(2, 3, 64, 44) for _ in range(2)]
    assert torch.equal(network.eval()(*pictures), again.eval()(*pictures))
