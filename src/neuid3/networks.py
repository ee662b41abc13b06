"""Which network reads an input when nobody gives one?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import nn


class LeNet(nn.Module):
    """A small convolutional network that ends in probabilities: a softmax over `width`, or a sigmoid for `width=1`.

    Reads `inputs` images of `channels` × `size`, as `(n, c, h, w)` or, with one channel, `(n, h, w)`; all of them
    through the same layers.

    >>> LeNet(8)(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 8])
    """

    def __init__(
        self, width: int, *, inputs: int = 1, channels: int = 1, size: int | tuple[int, int] = 28, dropout: float = 0.0
    ) -> None:
        super().__init__()
        height, breadth = (size, size) if isinstance(size, int) else size
        self.settings = {
            "width": width, "inputs": inputs, "channels": channels, "size": [height, breadth], "dropout": dropout
        }  # fmt: skip
        self.channels = channels
        if min(height, breadth) >= 16:
            self.look = nn.Sequential(
                nn.Conv2d(channels, 6, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(6, 16, 5), nn.MaxPool2d(2), nn.ReLU()
            )
            seen = 16 * (((height - 4) // 2 - 4) // 2) * (((breadth - 4) // 2 - 4) // 2)
            hidden = (120, 84)
        else:
            self.look = nn.Sequential(
                nn.Conv2d(channels, 12, 3, padding=1),
                nn.ReLU(),
                nn.Conv2d(12, 24, 3, padding=1),
                nn.ReLU(),
                nn.MaxPool2d(2),
            )
            seen = 24 * (height // 2) * (breadth // 2)
            hidden = (64, 48)
        self.describe = nn.Sequential(
            nn.Flatten(),
            nn.Linear(seen, hidden[0]),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden[0], hidden[1]),
            nn.ReLU(),
        )
        self.choose = _chooser(hidden[1] * inputs, width, hidden[1] if inputs > 1 else None)
        if inputs > 1:
            _awaken(self)

    def forward(self, *images: torch.Tensor) -> torch.Tensor:
        described = [self.describe(self.look(_with_channels(image, self.channels))) for image in images]
        return _probabilities(self.choose(torch.cat(described, -1)))


class Dense(nn.Module):
    """A network of two hidden layers for vectors and numbers, ending in probabilities."""

    def __init__(self, width: int, sizes: Sequence[int], hidden: int = 32) -> None:
        super().__init__()
        self.settings = {"width": width, "sizes": list(sizes), "hidden": hidden}
        self.flatten = nn.Flatten()
        self.layers = nn.Sequential(
            nn.Linear(sum(sizes), hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, width)
        )

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return _probabilities(self.layers(torch.cat([self.flatten(x) for x in inputs], -1)))


def default_network(shapes: Sequence[tuple[int, ...]], width: int) -> nn.Module:
    """The network for inputs of these shapes: convolutions for images of one shape, dense layers otherwise."""
    first = shapes[0]
    image = len(first) in (2, 3) and min(first[-2:]) >= 6 and all(shape == first for shape in shapes)
    if image:
        channels = first[0] if len(first) == 3 else 1
        return LeNet(width, inputs=len(shapes), channels=channels, size=(first[-2], first[-1]))
    return Dense(width, [math.prod(shape) for shape in shapes])


def sharpened(network: nn.Module, width: int, factor: float) -> nn.Module:
    """A fresh network whose last weights are multiplied, so that it is more decided about values it knows nothing of.

    A rule over outputs that are all alike has next to no gradient. A network that does not end in a linear layer, or
    that says yes or no, is left as it is.
    """
    layers = [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
    if width > 1 and layers and layers[-1].out_features == width:
        with torch.no_grad():
            layers[-1].weight.mul_(factor)
    return network


def _awaken(network: nn.Module) -> None:
    """Weights that keep signals as large as they come in (He et al., 2015).

    How two images relate says little about either of them, and with torch's own weights, which damp what they pass on, a
    network does not begin to learn it within its steps.
    """
    for layer in network.modules():
        if isinstance(layer, (nn.Linear, nn.Conv2d)):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def _chooser(seen: int, width: int, hidden: int | None) -> nn.Module:
    if hidden is None:
        return nn.Linear(seen, width)
    return nn.Sequential(nn.Linear(seen, hidden), nn.ReLU(), nn.Linear(hidden, width))


def _with_channels(image: torch.Tensor, channels: int) -> torch.Tensor:
    return image.unsqueeze(1) if image.ndim == 3 and channels == 1 else image


def _probabilities(logits: torch.Tensor) -> torch.Tensor:
    return torch.softmax(logits, -1) if logits.shape[-1] > 1 else torch.sigmoid(logits)
