"""Which network reads an input when nobody gives one?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

Floats = npt.NDArray[np.float64]


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


class Standardise(nn.Module):
    """Numbers minus a centre, divided by a scale; logarithmic beyond three scales.

    So a number that is far from all others stays finite, and in order. Centre and scale are those of the training rows
    (`fit`); until they are known, numbers pass through as they are.

    >>> layer = Standardise(2)
    >>> layer.fit(np.array([[60.0, 1.6], [70.0, 1.7], [80.0, 1.8]]))
    >>> layer(torch.tensor([[70.0, 1.7], [1e300, 1.7]], dtype=torch.float64))
    tensor([[ 0.0000,  0.0000],
            [72.0776,  0.0000]])
    """

    # Up to so many scales from the centre a number is linear, and no number is further away than the farthest.
    LINEAR, FARTHEST = 3.0, 1e30

    centre: torch.Tensor
    scale: torch.Tensor
    linear: torch.Tensor
    precision: torch.Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        # Double precision whatever the network computes in: of 1,700,000,001 single precision leaves 1,700,000,000.
        self.register_buffer("centre", torch.zeros(size, dtype=torch.float64))
        self.register_buffer("scale", torch.ones(size, dtype=torch.float64))
        self.register_buffer("linear", torch.full((size,), self.FARTHEST, dtype=torch.float64))
        # Its dtype is that of the network, also after .double(); it holds nothing to be saved.
        self.register_buffer("precision", torch.zeros((), device="cpu"), persistent=False)

    def fit(self, values: Floats, weights: Floats | None = None, first: int = 0) -> None:
        """Take centre and scale of the inputs from number `first` on from these rows, `(row, input)`."""
        here = slice(first, first + values.shape[1])
        for place, column in enumerate(values.T, here.start):
            self.centre[place], self.scale[place] = centre_and_scale(column, weights)
        self.linear[here] = self.LINEAR

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.standardised(x, self.centre, self.scale, self.linear)

    def standardised(
        self, x: torch.Tensor, centre: torch.Tensor, scale: torch.Tensor, linear: torch.Tensor
    ) -> torch.Tensor:
        """The same with other buffers; those of many networks have an axis more."""
        far = ((x.to(centre.dtype) - centre) / scale).clamp(-self.FARTHEST, self.FARTHEST)
        near = torch.maximum(torch.minimum(far, linear), -linear)
        return (near + near.sign() * torch.log1p(far.abs() - near.abs())).to(self.precision.dtype)


def centre_and_scale(values: Floats, weights: Floats | None = None) -> tuple[float, float]:
    """The weighted median of these numbers, and their interquartile range in standard deviations of a normal distribution.

    Few rows that are far away do not matter. Where the quartiles are the same number, the scale is the median distance of
    the others from it; where all numbers are the same, it is 1.

    >>> centre, scale = centre_and_scale(np.array([1.0, 2.0, 3.0, 4.0, 1e300]))
    >>> centre, round(scale, 3)
    (3.0, 1.483)
    """
    if not len(values):
        return 0.0, 1.0
    counts = np.ones(len(values)) if weights is None else weights
    low, centre, high = _quantiles(values, counts, (0.25, 0.5, 0.75))
    scale = high / _IQR - low / _IQR
    if scale == 0.0 and bool((others := values != centre).any()):
        with np.errstate(over="ignore"):
            (scale,) = _quantiles(np.abs(values[others] - centre), counts[others], (0.5,))
    # Numbers that differ by no more than rounding are constant.
    constant = scale <= 4 * np.finfo(np.float64).eps * abs(centre)
    return centre, 1.0 if constant else min(scale, float(np.finfo(np.float64).max))


# The interquartile range of a normal distribution whose standard deviation is 1.
_IQR = 1.349


def _quantiles(values: Floats, weights: Floats, shares: Sequence[float]) -> list[float]:
    """The least of these numbers below or at which each share of the weight lies."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order]) / weights.sum()
    places = np.minimum(np.searchsorted(below, np.array(shares) - 1e-12), len(values) - 1)
    found: list[float] = values[order[places]].tolist()
    return found


class Dense(nn.Module):
    """A network of two hidden layers for vectors and numbers, ending in probabilities.

    With `standardised=True` it begins with a layer that centres and scales its inputs (`Standardise`).
    """

    def __init__(self, width: int, sizes: Sequence[int], hidden: int = 32, standardised: bool = False) -> None:
        super().__init__()
        self.settings: dict[str, Any] = {"width": width, "sizes": list(sizes), "hidden": hidden}
        self.standardise: nn.Module = nn.Identity()
        self.input_dtype: torch.dtype | None = None
        if standardised:
            self.settings["standardised"] = True
            self.standardise = Standardise(sum(sizes))
            self.input_dtype = torch.float64
        self.flatten = nn.Flatten()
        self.layers = nn.Sequential(
            nn.Linear(sum(sizes), hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, width)
        )

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return _probabilities(self.layers(self.standardise(torch.cat([self.flatten(x) for x in inputs], -1))))


def default_network(shapes: Sequence[tuple[int, ...]], width: int) -> nn.Module:
    """The network for inputs of these shapes: convolutions for images of one shape, dense layers otherwise.

    One that reads numbers or vectors of them standardises these, once it is told how (`standardise_inputs`); images, and other
    arrays of two or more axes, are read as they are.
    """
    first = shapes[0]
    image = len(first) in (2, 3) and min(first[-2:]) >= 6 and all(shape == first for shape in shapes)
    if image:
        channels = first[0] if len(first) == 3 else 1
        return LeNet(width, inputs=len(shapes), channels=channels, size=(first[-2], first[-1]))
    return Dense(width, [math.prod(shape) for shape in shapes], standardised=any(len(shape) < 2 for shape in shapes))


def standardise_inputs(network: Dense, columns: Sequence[Floats | None], weights: Floats | None = None) -> None:
    """Tell a dense network centre and scale of its inputs: the rows of each, `(row, …)`, or None where it is left as it is.

    Rows with a missing number (NaN) do not count for that input.
    """
    assert isinstance(network.standardise, Standardise)
    first = 0
    for size, values in zip(network.settings["sizes"], columns, strict=True):
        if values is not None:
            present = ~np.isnan(values).any(axis=1)
            network.standardise.fit(values[present], None if weights is None else weights[present], first)
        first += size


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
