"""The default network for columns, by their kinds."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from neuid3.data.columns import Kind, Series, Tensor
from neuid3.networks.defaults import default_network
from neuid3.networks.series import SeriesNet
from neuid3.networks.vectors import VectorNet

# Vectors of fewer entries have dense layers, as columns of numbers do: dropout would leave too little of them.
VECTOR_FROM = 64


def default_architecture(kinds: Sequence[Kind], width: int) -> nn.Module:
    """The default network for columns of these kinds.

    Series of one shape have a `SeriesNet`, long vectors of an encoder a `VectorNet`, and all others have `default_network`.

    Parameters
    ----------
    kinds : the kind of each input.
    width : number of probabilities.

    Returns
    -------
    An untrained network.
    """
    first = kinds[0]
    if isinstance(first, Series) and all(kind == first for kind in kinds):
        channels, steps = first.shape
        return SeriesNet(width, channels=channels, steps=steps, inputs=len(kinds))
    lengths = [kind.encoded if isinstance(kind, Tensor) else None for kind in kinds]
    if lengths[0] is not None and lengths[0] >= VECTOR_FROM and len(set(lengths)) == 1:
        return VectorNet(width, size=lengths[0], inputs=len(kinds))
    return default_network([kind.input_shape if isinstance(kind, Tensor) else (1,) for kind in kinds], width)
