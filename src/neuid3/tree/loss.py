"""How wrong are probabilities? Their logarithm, kept finite."""

from __future__ import annotations

import torch

# Probabilities below this are taken for it, so that one certain mistake costs about 28 nats and not infinity.
FLOOR = 1e-12


def negative_log_likelihood(probabilities: torch.Tensor, labels: torch.Tensor, floor: float = FLOOR) -> torch.Tensor:
    """−log P(label | e) for each example, from `(example, class)` probabilities, never infinite.

    >>> negative_log_likelihood(torch.tensor([[1.0, 0.0], [0.5, 0.5]]), torch.tensor([0, 1]))
    tensor([-0.0000, 0.6931])
    """
    chosen = probabilities.gather(1, labels.unsqueeze(1)).squeeze(1)
    return -chosen.clamp_min(floor).log()
