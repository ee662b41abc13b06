"""What does every contestant look through? The same LeNet, on the same made-up images."""

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
    """A network that neuid3 knows nothing about, as a user might bring it: the same layers behind a class of its own."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.network(images)
        return found


def images(columns: Sequence[str], n: int, seed: int = 1) -> dict[str, torch.Tensor]:
    """`n` images of noise for each column; what they show costs no contestant any time."""
    source = torch.Generator().manual_seed(seed)
    return {column: torch.rand(n, 28, 28, generator=source) for column in columns}
