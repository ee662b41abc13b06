"""The default network for vectors of an encoder: one hidden layer between batch normalisation and dropout."""

from __future__ import annotations

import torch
from torch import nn

from neuid3.networks.defaults import output_layers, probabilities

# Normalised units are large, so the first outputs are sharper than those of other networks; this factor of the last weights makes
# up for it.
_FIRST_SCALE = 0.25


class VectorNet(nn.Module):
    """A network for the vectors of an encoder that returns probabilities, `(example, width)`.

    Few examples and many entries are easily learned by heart, which dropout prevents. With batch normalisation few restarts
    suffice (`neuid3.networks.residual.is_normalised`).

    Parameters
    ----------
    width : number of probabilities: a softmax, or a sigmoid for `width=1`.
    size : number of entries of a vector.
    inputs : number of vectors of an example; all of them pass through the same layers.
    hidden : width of the hidden layer.
    dropout : the fraction of entries and of hidden units that are left out in training.

    >>> VectorNet(3, size=768).eval()(torch.zeros(5, 768)).shape
    torch.Size([5, 3])
    """

    def __init__(self, width: int, *, size: int, inputs: int = 1, hidden: int = 128, dropout: float = 0.5) -> None:
        super().__init__()
        self.settings = {"width": width, "size": size, "inputs": inputs, "hidden": hidden, "dropout": dropout}
        self.describe = nn.Sequential(
            nn.BatchNorm1d(size),
            nn.Dropout(dropout),
            nn.Linear(size, hidden, bias=False),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
        )
        self.choose = output_layers(hidden * inputs, width, hidden if inputs > 1 else None)
        last = [layer for layer in self.choose.modules() if isinstance(layer, nn.Linear)][-1]
        with torch.no_grad():
            last.weight.mul_(_FIRST_SCALE)

    def forward(self, *vectors: torch.Tensor) -> torch.Tensor:
        """The probabilities that the network gives to its values.

        Parameters
        ----------
        *vectors : a batch of each input, `(example, entry)`.

        Returns
        -------
        Probabilities, `(example, width)`.
        """
        return probabilities(self.choose(torch.cat([self.describe(vector) for vector in vectors], -1)))
