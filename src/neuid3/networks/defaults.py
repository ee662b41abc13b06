"""Default networks for images, vectors and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from neuid3.networks.residual import ResidualNet

Floats = npt.NDArray[np.float64]


# Pictures with a side of so many pixels are read by a residual network, smaller ones by a LeNet.
RESIDUAL_FROM = 29


class LeNet(nn.Module):
    """A small convolutional network that returns probabilities.

    Images are `(example, channel, y, x)` or, with one channel, `(example, y, x)`. The output is `(example, width)`.

    Parameters
    ----------
    width : number of probabilities: a softmax, or a sigmoid for `width=1`.
    inputs : number of images of an example; all of them pass through the same convolutions.
    channels : channels of an image.
    size : height and width of an image in pixels, or one number for both.
    dropout : probability of dropout.

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
        # `look`, `describe` and `choose` are part of parameter names in saved models.
        if min(height, breadth) >= 16:
            self.look = nn.Sequential(
                nn.Conv2d(channels, 6, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(6, 16, 5), nn.MaxPool2d(2), nn.ReLU()
            )
            features = 16 * (((height - 4) // 2 - 4) // 2) * (((breadth - 4) // 2 - 4) // 2)
            hidden = (120, 84)
        else:
            self.look = nn.Sequential(
                nn.Conv2d(channels, 12, 3, padding=1),
                nn.ReLU(),
                nn.Conv2d(12, 24, 3, padding=1),
                nn.ReLU(),
                nn.MaxPool2d(2),
            )
            features = 24 * (height // 2) * (breadth // 2)
            hidden = (64, 48)
        self.describe = nn.Sequential(
            nn.Flatten(),
            nn.Linear(features, hidden[0]),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden[0], hidden[1]),
            nn.ReLU(),
        )
        self.choose = output_layers(hidden[1] * inputs, width, hidden[1] if inputs > 1 else None)
        if inputs > 1:
            _initialize_he(self)

    def forward(self, *images: torch.Tensor) -> torch.Tensor:
        """The probabilities that the network gives to its values.

        Parameters
        ----------
        *images : a batch of each input, `(example, height, width)` or `(example, channel, height, width)`.

        Returns
        -------
        Probabilities, `(example, width)`.
        """
        features = [self.describe(self.look(_with_channels(image, self.channels))) for image in images]
        return probabilities(self.choose(torch.cat(features, -1)))


class Standardise(nn.Module):
    """Layer that subtracts a centre and divides by a scale, linear up to three scales and logarithmic beyond.

    Outliers so stay finite and in order. Centre and scale are estimated from the training rows (`fit`); before that, the
    layer is the identity.

    Parameters
    ----------
    size : number of inputs.

    >>> layer = Standardise(2)
    >>> layer.fit(np.array([[60.0, 1.6], [70.0, 1.7], [80.0, 1.8]]))
    >>> layer(torch.tensor([[70.0, 1.7], [1e300, 1.7]], dtype=torch.float64))
    tensor([[ 0.0000,  0.0000],
            [72.0776,  0.0000]])
    """

    # The layer is linear up to LINEAR scales from the centre, and inputs are clamped at FARTHEST scales.
    LINEAR, FARTHEST = 3.0, 1e30

    centre: torch.Tensor
    scale: torch.Tensor
    linear: torch.Tensor
    precision: torch.Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        # Double precision in any network: single precision rounds 1,700,000,001 to 1,700,000,000.
        self.register_buffer("centre", torch.zeros(size, dtype=torch.float64))
        self.register_buffer("scale", torch.ones(size, dtype=torch.float64))
        self.register_buffer("linear", torch.full((size,), self.FARTHEST, dtype=torch.float64))
        # Only its dtype is used: that of the network, also after .double().
        self.register_buffer("precision", torch.zeros((), device="cpu"), persistent=False)

    def fit(self, values: Floats, weights: Floats | None = None, first: int = 0) -> None:
        """Estimate centre and scale of some inputs.

        Parameters
        ----------
        values : training rows of these inputs, `(row, input)`.
        weights : weights of the rows, `(row,)`.
        first : number of the first of these inputs in the layer.
        """
        inputs = slice(first, first + values.shape[1])
        for position, column in enumerate(values.T, inputs.start):
            self.centre[position], self.scale[position] = centre_and_scale(column, weights)
        self.linear[inputs] = self.LINEAR

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.standardised(x, self.centre, self.scale, self.linear)

    def standardised(
        self, x: torch.Tensor, centre: torch.Tensor, scale: torch.Tensor, linear: torch.Tensor
    ) -> torch.Tensor:
        """The output with other buffers in place of the layer's own; those of many networks have a leading axis."""
        scaled = ((x.to(centre.dtype) - centre) / scale).clamp(-self.FARTHEST, self.FARTHEST)
        inner = torch.maximum(torch.minimum(scaled, linear), -linear)
        return (inner + inner.sign() * torch.log1p(scaled.abs() - inner.abs())).to(self.precision.dtype)


def centre_and_scale(values: Floats, weights: Floats | None = None) -> tuple[float, float]:
    """The weighted median of numbers, and their interquartile range in standard deviations of a normal distribution.

    Both are robust against outliers. Where the quartiles are equal, the scale is the median distance of all other numbers
    from the centre; where all numbers are equal, it is 1.

    Parameters
    ----------
    values : the numbers, `(row,)`.
    weights : their weights, `(row,)`; 1 each by default.

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
    # Numbers that differ by rounding errors only count as equal.
    constant = scale <= 4 * np.finfo(np.float64).eps * abs(centre)
    return centre, 1.0 if constant else min(scale, float(np.finfo(np.float64).max))


# The interquartile range of the standard normal distribution.
_IQR = 1.349


def _quantiles(values: Floats, weights: Floats, levels: Sequence[float]) -> list[float]:
    """Weighted quantiles: for each level the smallest of the numbers up to which that fraction of the weight lies."""
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order]) / weights.sum()
    positions = np.minimum(np.searchsorted(cumulative, np.array(levels) - 1e-12), len(values) - 1)
    quantiles: list[float] = values[order[positions]].tolist()
    return quantiles


class Dense(nn.Module):
    """A network of two hidden layers for vectors and numbers that returns probabilities, `(example, width)`.

    Parameters
    ----------
    width : number of probabilities: a softmax, or a sigmoid for `width=1`.
    sizes : number of entries of each input.
    hidden : width of the hidden layers.
    standardised : whether the first layer centres and scales the inputs (`Standardise`).

    >>> Dense(3, [2, 1])(torch.zeros(5, 2), torch.zeros(5, 1)).shape
    torch.Size([5, 3])
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
        """The probabilities that the network gives to its values.

        Parameters
        ----------
        *inputs : a batch of each input, `(example, …)`.

        Returns
        -------
        Probabilities, `(example, width)`.
        """
        return probabilities(self.layers(self.standardise(torch.cat([self.flatten(x) for x in inputs], -1))))


def default_network(shapes: Sequence[tuple[int, ...]], width: int) -> nn.Module:
    """The default network for some inputs: convolutions for images of one shape, by their size, and dense layers otherwise.

    Numbers and vectors are standardised, with the statistics set by `standardise_inputs`; images and other arrays of two or
    more axes are not.

    Parameters
    ----------
    shapes : shape of an entry of each input.
    width : number of probabilities.

    Returns
    -------
    An untrained network.
    """
    first = shapes[0]
    image = len(first) in (2, 3) and min(first[-2:]) >= 6 and all(shape == first for shape in shapes)
    if image:
        channels = first[0] if len(first) == 3 else 1
        if max(first[-2:]) >= RESIDUAL_FROM and min(first[-2:]) >= 16:
            return ResidualNet(width, inputs=len(shapes), channels=channels, size=(first[-2], first[-1]))
        return LeNet(width, inputs=len(shapes), channels=channels, size=(first[-2], first[-1]))
    return Dense(width, [math.prod(shape) for shape in shapes], standardised=any(len(shape) < 2 for shape in shapes))


def standardise_inputs(network: Dense, columns: Sequence[Floats | None], weights: Floats | None = None) -> None:
    """Estimate the centre and scale of the inputs of a dense network from training rows.

    Parameters
    ----------
    network : a network with `standardised=True`.
    columns : for each input its rows, `(row, entry)`, or None where it is not standardised. Rows with a missing number
        (NaN) are ignored for that input.
    weights : weights of the rows, `(row,)`.
    """
    assert isinstance(network.standardise, Standardise)
    first = 0
    for size, values in zip(network.settings["sizes"], columns, strict=True):
        if values is not None:
            present = ~np.isnan(values).any(axis=1)
            network.standardise.fit(values[present], None if weights is None else weights[present], first)
        first += size


def sharpened(network: nn.Module, width: int, factor: float) -> nn.Module:
    """An untrained network with its last weights multiplied in place, so that its outputs are less uniform.

    A rule over uniform outputs has next to no gradient. A network that does not end in a linear layer is not changed.

    Parameters
    ----------
    network : the network.
    width : number of its probabilities.
    factor : factor of the last weights.
    """
    layers = [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
    if layers and layers[-1].out_features == width:
        with torch.no_grad():
            layers[-1].weight.mul_(factor)
    return network


def _initialize_he(network: nn.Module) -> None:
    """Initialize weights so that the variance of signals is preserved (He et al., 2015).

    A relation between two images depends little on either of them alone, and with torch's default weights, which damp
    signals, a network does not begin to learn it within its steps.
    """
    for layer in network.modules():
        if isinstance(layer, (nn.Linear, nn.Conv2d)):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def output_layers(features: int, width: int, hidden: int | None) -> nn.Module:
    """The last layers of a network: one that is linear, or two where there is a hidden width."""
    if hidden is None:
        return nn.Linear(features, width)
    return nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, width))


def _with_channels(image: torch.Tensor, channels: int) -> torch.Tensor:
    return image.unsqueeze(1) if image.ndim == 3 and channels == 1 else image


def probabilities(logits: torch.Tensor) -> torch.Tensor:
    """Outputs as probabilities: a softmax, or a sigmoid of a single one."""
    return torch.softmax(logits, -1) if logits.shape[-1] > 1 else torch.sigmoid(logits)
