"""What does every contestant look through? The same LeNet, on the same made-up images."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

RANKS = 8


class LeNet(nn.Module):
    """Probabilities of `width` classes for 28 × 28 images, `(example, 28, 28)` or `(example, 1, 28, 28)`."""

    def __init__(self, width: int = RANKS) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 6, 5),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Conv2d(6, 16, 5),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(16 * 4 * 4, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, width),
            nn.Softmax(dim=1),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layers(images.view(-1, 1, 28, 28))


def lenet(seed: int = 0) -> LeNet:
    """A LeNet whose weights depend on the seed only."""
    torch.manual_seed(seed)
    return LeNet()


def images(columns: Sequence[str], n: int, seed: int = 1) -> dict[str, torch.Tensor]:
    """`n` images of noise for each column; what they show costs no contestant any time."""
    source = torch.Generator().manual_seed(seed)
    return {column: torch.rand(n, 28, 28, generator=source) for column in columns}
