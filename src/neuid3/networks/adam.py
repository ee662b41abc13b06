"""Adam for groups of networks, and the one-cycle learning rate policy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from ctypes import c_double, c_long
from typing import TypeAlias

import torch

from neuid3.networks.kernel import address, has_kernel, kernel

Moments: TypeAlias = list[tuple[torch.Tensor, torch.Tensor]]  # (first, second) of each parameter of a network
BETA2, EPS = 0.999, 1e-8


class Adam:
    """Adam with decoupled weight decay, as `torch.optim.AdamW`, with a learning rate for each network.

    Parameters
    ----------
    parameters : parameters of all networks, `(network, …)`, each with a gradient.
    decay : weight decay.

    Attributes
    ----------
    first, second : moments, one tensor for each parameter.
    """

    def __init__(self, parameters: Sequence[torch.Tensor], decay: float = 0.0) -> None:
        self.parameters, self.decay = list(parameters), decay
        self.first, self.second = ([torch.zeros_like(p).detach() for p in parameters] for _ in range(2))

    def zero_grad(self) -> None:
        """Set all gradients to zero, in place."""
        for parameter in self.parameters:
            if parameter.grad is not None:
                parameter.grad.zero_()

    def moments(self, row: int) -> Moments:
        """A copy of the moments of one network."""
        return [
            (first[row].clone(), second[row].clone()) for first, second in zip(self.first, self.second, strict=True)
        ]

    def resume(self, row: int, moments: Moments) -> None:
        """Set the moments of one network."""
        for first, second, (first_moment, second_moment) in zip(self.first, self.second, moments, strict=True):
            first[row], second[row] = first_moment, second_moment

    @torch.no_grad()
    def step(self, number: int, rates: Sequence[float], beta1: float = 0.9) -> None:
        """Take a step.

        Parameters
        ----------
        number : number of the step, counted from 1.
        rates : learning rate of each network.
        beta1 : decay of the first moment.
        """
        bias1, bias2 = 1.0 - beta1**number, 1.0 - BETA2**number
        all_rates = torch.tensor(rates, dtype=torch.float64)
        constants = [c_double(value) for value in (self.decay, beta1, BETA2, EPS, bias1, bias2)]
        for parameter, first, second in zip(self.parameters, self.first, self.second, strict=True):
            gradient = parameter.grad
            assert gradient is not None
            if has_kernel(parameter):
                library, sizes = kernel(parameter.dtype), (c_long(len(parameter)), c_long(parameter[0].numel()))
                assert library is not None
                library.adam(*map(address, (parameter, gradient, first, second, all_rates)), *sizes, *constants)
                continue
            rate = all_rates.to(parameter).view(-1, *[1] * (parameter.ndim - 1))
            first.lerp_(gradient, 1.0 - beta1)
            second.mul_(BETA2).addcmul_(gradient, gradient, value=1.0 - BETA2)
            parameter.mul_(1.0 - rate * self.decay)
            parameter.sub_(rate / bias1 * first / (second.sqrt() / math.sqrt(bias2) + EPS))


def one_cycle(step: int, total: int) -> tuple[float, float]:
    """The fraction of the highest learning rate at a step, and Adam's beta1: up for 30 % of the steps, then down.

    The same as `torch.optim.lr_scheduler.OneCycleLR` with its defaults and `total + 1` steps.

    Parameters
    ----------
    step : number of the step, counted from 0.
    total : number of all steps.
    """
    peak, last = 0.3 * (total + 1) - 1, float(total)
    initial, final = 1 / 25, 1 / 25 / 1e4
    if step <= peak:
        fraction = step / peak
        return _cosine(initial, 1.0, fraction), _cosine(0.95, 0.85, fraction)
    fraction = (step - peak) / (last - peak)
    return _cosine(1.0, final, fraction), _cosine(0.85, 0.95, fraction)


def _cosine(start: float, end: float, fraction: float) -> float:
    """A value between `start` and `end`, by cosine annealing."""
    return end + (start - end) / 2.0 * (1.0 + math.cos(math.pi * fraction))
