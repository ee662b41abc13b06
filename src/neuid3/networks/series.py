"""The default network for series: convolutions along the steps."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from neuid3.networks.defaults import Standardise, output_layers, probabilities

# Convolutions halve a series until it has at most so many steps.
FEW_STEPS = 16


class SeriesNet(nn.Module):
    """A small network of one-dimensional convolutions that returns probabilities, `(example, width)`.

    Parameters
    ----------
    width : number of probabilities: a softmax, or a sigmoid for `width=1`.
    channels : channels of a series.
    steps : steps of a series.
    inputs : number of series of an example; all of them pass through the same convolutions.
    hidden : width of the dense layer.

    >>> SeriesNet(3, channels=2, steps=50)(torch.zeros(5, 2, 50)).shape
    torch.Size([5, 3])
    """

    def __init__(self, width: int, *, channels: int, steps: int, inputs: int = 1, hidden: int = 48) -> None:
        super().__init__()
        self.settings: dict[str, Any] = {
            "width": width, "channels": channels, "steps": steps, "inputs": inputs, "hidden": hidden
        }  # fmt: skip
        self.shape = (channels, steps)
        self.input_dtype = torch.float64
        self.flatten = nn.Flatten()
        self.standardise = Standardise(channels * steps)
        # A series is an image of height 1, so that the layers are those of images, also for groups of networks.
        layers: list[nn.Module] = []
        before, length = channels, steps
        for filters in (16, 32, *[32] * 16):
            layers += [nn.Conv2d(before, filters, (1, 5), padding=(0, 2)), nn.ReLU()]
            before = filters
            if length <= FEW_STEPS and len(layers) > 2:
                break
            if length > 1:
                layers.append(nn.MaxPool2d((1, 2)))
                length //= 2
        self.convolve = nn.Sequential(*layers)
        self.describe = nn.Sequential(nn.Flatten(), nn.Linear(before * length, hidden), nn.ReLU())
        self.choose = output_layers(hidden * inputs, width, hidden if inputs > 1 else None)

    def forward(self, *series: torch.Tensor) -> torch.Tensor:
        """The probabilities that the network gives to its values.

        Parameters
        ----------
        *series : a batch of each input, `(example, channel, step)`.

        Returns
        -------
        Probabilities, `(example, width)`.
        """
        channels, steps = self.shape
        images = [self.standardise(self.flatten(x)).unflatten(-1, (channels, 1, steps)) for x in series]
        return probabilities(self.choose(torch.cat([self.describe(self.convolve(image)) for image in images], -1)))

    def share_standards(self) -> None:
        """Give all steps of a channel one centre and one scale, so that the form of a series is kept."""
        channels, steps = self.shape
        centre = self.standardise.centre.view(channels, steps)
        scale = self.standardise.scale.view(channels, steps)
        spread = (scale.square().mean(1) + centre.var(1, correction=0)).sqrt()
        scale.copy_(spread[:, None].expand_as(scale).clone())
        centre.copy_(centre.mean(1, keepdim=True).expand_as(centre).clone())
