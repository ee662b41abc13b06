"""Negative log-likelihood with a floor."""

from __future__ import annotations

import torch

from neuid3.tree.criteria import FLOOR


def negative_log_likelihood(probabilities: torch.Tensor, labels: torch.Tensor, floor: float = FLOOR) -> torch.Tensor:
    """−log P(label | e) of each example, `(example,)`, from `(example, class)` probabilities; always finite.

    >>> negative_log_likelihood(torch.tensor([[1.0, 0.0], [0.5, 0.5]]), torch.tensor([0, 1]))
    tensor([-0.0000, 0.6931])
    """
    chosen = probabilities.gather(1, labels.unsqueeze(1)).squeeze(1)
    return -chosen.clamp_min(floor).log()
