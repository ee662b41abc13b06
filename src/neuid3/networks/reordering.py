"""Networks whose outputs are given other places."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

# How far the outputs of a network may be from the reordered ones of another, by rounding.
TOLERANCE = 1e-5

# The number of random inputs on which a network with reordered weights is compared with the original.
_COMPARED = 5


class ReorderedOutputs(nn.Module):
    """A network that returns the outputs of another in a different order.

    Parameters
    ----------
    network : the other network.
    order : for each output the number of the other network's value whose probability it is; a network of one output has
        two values, no and yes.
    """

    network: nn.Module
    order: tuple[int, ...]

    def __init__(self, network: nn.Module, order: Sequence[int]) -> None:
        super().__init__()
        if isinstance(network, ReorderedOutputs):
            self.network, self.order = network.network, tuple(network.order[value] for value in order)
        else:
            self.network, self.order = network, tuple(order)
        self.input_dtype = getattr(network, "input_dtype", None)

    def extra_repr(self) -> str:
        """The order, which tells networks of one architecture apart that cannot run as one group."""
        return f"order={self.order}"

    # Files and checkpoints hold the weights of the other network, under the names that they have there.

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The parameters and buffers of the other network."""
        return self.network.state_dict(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Load the parameters and buffers of the other network."""
        return self.network.load_state_dict(*args, **kwargs)

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """The probabilities of the values.

        Parameters
        ----------
        *inputs : a batch of each input, `(example, …)`.

        Returns
        -------
        Probabilities, `(example, width)`.
        """
        outputs: torch.Tensor = self.network(*inputs)
        if outputs.shape[-1] == 1:
            return 1.0 - outputs if self.order == (1, 0) else outputs
        return outputs[..., list(self.order)]


def reordered(network: nn.Module, order: Sequence[int], shapes: Sequence[tuple[int, ...]]) -> nn.Module:
    """A copy of a network with its outputs in another order.

    The weights of its last linear layer are reordered where that does it, so that the network keeps its architecture;
    otherwise a `ReorderedOutputs` stands before it.

    Parameters
    ----------
    network : the network, in evaluation mode.
    order : for each output the number of the value whose probability it is; a network of one output has two values, no
        and yes.
    shapes : the shape of an entry of each input.

    Returns
    -------
    The new network; the given one is unchanged.

    >>> from neuid3.networks.defaults import Dense
    >>> dense, x = Dense(3, [2]).eval(), torch.rand(4, 2)
    >>> torch.allclose(reordered(dense, (2, 0, 1), [(2,)])(x), dense(x)[:, [2, 0, 1]])
    True
    """
    network = copy.deepcopy(network)
    direct = copy.deepcopy(network)
    layers = [layer for layer in direct.modules() if type(layer) is nn.Linear]
    wrapped = ReorderedOutputs(network, order)
    if not layers or layers[-1].out_features not in (len(order), 1):
        return wrapped
    with torch.no_grad():
        for tensor in (layers[-1].weight, layers[-1].bias):
            if tensor is not None:
                tensor.copy_(tensor[list(order)] if len(tensor) > 1 else -tensor)
    return direct if _are_alike(direct, wrapped, shapes) else wrapped


def _are_alike(one: nn.Module, other: nn.Module, shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether two networks return the same for random inputs; False where they cannot be called on these."""
    parameter = next((p for p in one.parameters() if p.is_floating_point()), torch.zeros(()))
    dtype = getattr(one, "input_dtype", None) or parameter.dtype
    random = torch.Generator().manual_seed(0)
    inputs = [
        torch.rand((_COMPARED, *shape), generator=random).to(device=parameter.device, dtype=dtype) for shape in shapes
    ]
    try:
        with torch.no_grad():
            return torch.allclose(one(*inputs), other(*inputs), rtol=0.0, atol=TOLERANCE)
    except (RuntimeError, ValueError, TypeError, IndexError):
        return False
