"""Residual networks for pictures of 29 to a few hundred pixels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

# Filters of the first layer and of the blocks, each of which halves height and width.
WIDTHS = (16, 32, 64)

# The features that remain are averaged over a grid of so many cells along the longer side of a picture.
CELLS = 4

# From so many pixels on, the first layer divides height and width by 4 in place of 2.
LARGE = 112


def is_normalised(network: nn.Module) -> bool:
    """Whether a network has batch normalisation.

    Such a network soon leaves the saddles in which others stay for good, so that it needs few restarts; and it is trained by
    itself, not in a batch with others, so that each restart has its full cost.

    >>> is_normalised(ResidualNet(4)), is_normalised(nn.Linear(2, 4))
    (True, False)
    """
    return any(isinstance(layer, nn.modules.batchnorm._BatchNorm) for layer in network.modules())


def first_stride(longer: int) -> int:
    """What the first layer divides height and width by, for pictures with a longer side of so many pixels."""
    return 4 if longer >= LARGE else 2


class ResidualBlock(nn.Module):
    """Two 3 × 3 convolutions with batch normalisation, added to their input; height and width are halved.

    Parameters
    ----------
    channels : channels of the input.
    filters : channels of the output.
    """

    def __init__(self, channels: int, filters: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(channels, filters, 3, 2, 1, bias=False),
            nn.BatchNorm2d(filters),
            nn.ReLU(),
            nn.Conv2d(filters, filters, 3, 1, 1, bias=False),
            nn.BatchNorm2d(filters),
        )
        self.shortcut = nn.Sequential(nn.Conv2d(channels, filters, 1, 2, bias=False), nn.BatchNorm2d(filters))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The features, with half the height and width."""
        return torch.relu(self.layers(x) + self.shortcut(x))


class PictureFeatures(nn.Module):
    """Features of pictures: a convolution, residual blocks, and averages over a coarse grid, so that positions remain.

    Parameters
    ----------
    channels : channels of a picture.
    size : height and width of a picture in pixels.
    widths : filters of the first layer and of each block.

    Attributes
    ----------
    features : the number of features.

    >>> PictureFeatures(3, (64, 44))(torch.zeros(2, 3, 64, 44)).shape
    torch.Size([2, 768])
    """

    def __init__(self, channels: int, size: tuple[int, int], widths: Sequence[int] = WIDTHS) -> None:
        super().__init__()
        self.settings = {"channels": channels, "size": list(size), "widths": list(widths)}
        self.channels = channels
        longer = max(size)
        self.first = nn.Sequential(
            nn.Conv2d(channels, widths[0], 5, first_stride(longer), 2, bias=False),
            nn.BatchNorm2d(widths[0]),
            nn.ReLU(),
        )
        self.blocks = nn.Sequential(*(ResidualBlock(*pair) for pair in pairwise(widths)))
        grid = [max(1, round(CELLS * side / longer)) for side in size]
        self.pool = nn.AdaptiveAvgPool2d((grid[0], grid[1]))
        self.features = widths[-1] * grid[0] * grid[1]

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """The features of pictures.

        Parameters
        ----------
        pictures : `(example, channel, y, x)` or, with one channel, `(example, y, x)`.

        Returns
        -------
        Features, `(example, feature)`.
        """
        planes = pictures.unsqueeze(1) if pictures.ndim == 3 and self.channels == 1 else pictures
        # Channels last: a pass takes three quarters of the time.
        planes = planes.contiguous(memory_format=torch.channels_last)
        features: torch.Tensor = self.pool(self.blocks(self.first(planes))).flatten(1)
        return features


class ResidualNet(nn.Module):
    """A residual network for pictures that returns probabilities, `(example, width)`.

    Parameters
    ----------
    width : number of probabilities: a softmax, or a sigmoid for `width=1`.
    inputs : number of pictures of an example; all of them pass through the same layers.
    channels : channels of a picture.
    size : height and width of a picture in pixels, or one number for both.
    widths : filters of the first layer and of each block.

    >>> ResidualNet(13, channels=3, size=(64, 44))(torch.zeros(2, 3, 64, 44)).shape
    torch.Size([2, 13])
    """

    def __init__(
        self,
        width: int,
        *,
        inputs: int = 1,
        channels: int = 1,
        size: int | Sequence[int] = 64,
        widths: Sequence[int] = WIDTHS,
    ) -> None:
        super().__init__()
        height, breadth = (size, size) if isinstance(size, int) else size
        self.settings = {
            "width": width, "inputs": inputs, "channels": channels, "size": [height, breadth], "widths": list(widths)
        }  # fmt: skip
        self.features = PictureFeatures(channels, (height, breadth), widths)
        count = self.features.features
        self.choose: nn.Module = nn.Linear(count, width)
        if inputs > 1:
            self.choose = nn.Sequential(nn.Linear(inputs * count, 64), nn.ReLU(), nn.Linear(64, width))

    def forward(self, *pictures: torch.Tensor) -> torch.Tensor:
        """The probabilities that the network gives to its values.

        Parameters
        ----------
        *pictures : a batch of each input, `(example, height, width)` or `(example, channel, height, width)`.

        Returns
        -------
        Probabilities, `(example, width)`.
        """
        logits = self.choose(torch.cat([self.features(each) for each in pictures], -1))
        return torch.softmax(logits, -1) if logits.shape[-1] > 1 else torch.sigmoid(logits)
