"""The default networks of columns, by their kinds."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from neuid3.data.columns import Kind, Number, Series, Tensor
from neuid3.io.network_modules import build_network, network_to_json
from neuid3.networks import Dense, LeNet, SeriesNet, VectorNet
from neuid3.networks.architectures import default_architecture
from neuid3.networks.residual import ResidualNet, is_normalised


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([Tensor((28, 28))], LeNet),
        ([Tensor((3, 64, 44))] * 2, ResidualNet),
        ([Tensor((5,))], Dense),
        ([Number(), Number()], Dense),
        ([Series((2, 30))], SeriesNet),
        ([Series((2, 30)), Series((1, 30))], Dense),
        ([Tensor((3, 64, 44), encoded=768)], VectorNet),
        ([Tensor((3, 64, 44), encoded=768)] * 2, VectorNet),
        ([Tensor((3, 64, 44), encoded=6)], Dense),
        ([Tensor((3, 64, 44), encoded=768), Number()], Dense),
    ],
)
def test_the_kinds_of_columns_decide_on_the_network(kinds: list[Kind], expected: type) -> None:
    network = default_architecture(kinds, 4).eval()
    assert type(network) is expected
    inputs = [torch.rand(3, *(kind.input_shape if isinstance(kind, Tensor) else (1,))) for kind in kinds]
    outputs = network(*inputs)
    assert outputs.shape == (3, 4)
    assert np.allclose(outputs.sum(1).detach().numpy(), 1.0, atol=1e-6)


@pytest.mark.parametrize("inputs", [1, 2])
@pytest.mark.parametrize("width", [1, 5])
def test_networks_of_vectors_are_normalised_and_restored_from_their_settings(inputs: int, width: int) -> None:
    network = VectorNet(width, size=70, inputs=inputs).eval()
    assert is_normalised(network)
    restored = build_network(network_to_json(network, "net"), network.state_dict(), None, "cpu")
    assert isinstance(restored, VectorNet)
    vectors = [torch.randn(4, 70) for _ in range(inputs)]
    assert torch.equal(restored(*vectors), network(*vectors))
