"""The network and the random images that are the same for all compared programs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from neuid3.networks.defaults import LeNet

RANKS = 8


def lenet(seed: int = 0) -> LeNet:
    """A LeNet whose weights depend on the seed only."""
    torch.manual_seed(seed)
    return LeNet(RANKS)


class Foreign(nn.Module):
    """A network of a class that neuid3 has no fast path for: the same layers inside a user's module."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.network(images)
        return outputs


def images(columns: Sequence[str], n: int, seed: int = 1) -> dict[str, torch.Tensor]:
    """`n` images of noise for each column; their content does not affect times."""
    source = torch.Generator().manual_seed(seed)
    return {column: torch.rand(n, 28, 28, generator=source) for column in columns}
