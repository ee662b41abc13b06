"""How do many networks learn at once? Adam, each at a rate of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from ctypes import c_double, c_long
from typing import TypeAlias

import torch

from neuid3.networks.kernel import address, has_kernel, kernel

Moments: TypeAlias = list[tuple[torch.Tensor, torch.Tensor]]
BETA2, EPS = 0.999, 1e-8


class Adam:
    """Adam with decoupled weight decay, as `torch.optim.AdamW`, on leaves `(network, …)` with gradients.

    `first` and `second` are its moments, one tensor a leaf.
    """

    def __init__(self, leaves: Sequence[torch.Tensor], decay: float = 0.0) -> None:
        self.leaves, self.decay = list(leaves), decay
        self.first, self.second = ([torch.zeros_like(leaf).detach() for leaf in leaves] for _ in range(2))

    def forget(self) -> None:
        """Set all gradients to zero."""
        for leaf in self.leaves:
            if leaf.grad is not None:
                leaf.grad.zero_()

    def moments(self, row: int) -> Moments:
        """A network's own moments, copied."""
        return [(one[row].clone(), two[row].clone()) for one, two in zip(self.first, self.second, strict=True)]

    def resume(self, row: int, moments: Moments) -> None:
        """Go on with a network's own moments."""
        for one, two, (first, second) in zip(self.first, self.second, moments, strict=True):
            one[row], two[row] = first, second

    @torch.no_grad()
    def step(self, number: int, rates: Sequence[float], beta1: float = 0.9) -> None:
        """Take step `number`, counted from 1, network i at `rates[i]`."""
        bias1, bias2 = 1.0 - beta1**number, 1.0 - BETA2**number
        pace = torch.tensor(rates, dtype=torch.float64)
        told = [c_double(value) for value in (self.decay, beta1, BETA2, EPS, bias1, bias2)]
        for leaf, one, two in zip(self.leaves, self.first, self.second, strict=True):
            slope = leaf.grad
            assert slope is not None
            if has_kernel(leaf):
                library, sizes = kernel(leaf.dtype), (c_long(len(leaf)), c_long(leaf[0].numel()))
                assert library is not None
                library.adam(*map(address, (leaf, slope, one, two, pace)), *sizes, *told)
                continue
            rate = pace.to(leaf).view(-1, *[1] * (leaf.ndim - 1))
            one.lerp_(slope, 1.0 - beta1)
            two.mul_(BETA2).addcmul_(slope, slope, value=1.0 - BETA2)
            leaf.mul_(1.0 - rate * self.decay)
            leaf.sub_(rate / bias1 * one / (two.sqrt() / math.sqrt(bias2) + EPS))


def one_cycle(step: int, total: int) -> tuple[float, float]:
    """The share of the highest rate at a step, counted from 0, and Adam's first decay: up for 30 % of the way, then down.

    The same as `torch.optim.lr_scheduler.OneCycleLR` with its defaults and `total + 1` steps.
    """
    top, last = 0.3 * (total + 1) - 1, float(total)
    low, least = 1 / 25, 1 / 25 / 1e4
    if step <= top:
        share = step / top
        return _between(low, 1.0, share), _between(0.95, 0.85, share)
    share = (step - top) / (last - top)
    return _between(1.0, least, share), _between(0.85, 0.95, share)


def _between(start: float, end: float, share: float) -> float:
    return end + (start - end) / 2.0 * (1.0 + math.cos(math.pi * share))
