"""A small network that reads the probabilities of many rules, by which their networks are trained together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

# The share of the bonus for varied outputs that remains at the end of training.
LAST_BONUS = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """A network with two hidden layers from the probabilities of rules, and from other features, to a leaf distribution.

    Where no rule tells much by itself, none of them can teach its networks alone. Read by a head, they teach them together.
    All parameters of a head are one vector, which stands where a tree has the parameters of its leaves.

    Attributes
    ----------
    features : what it reads besides the rules, `(row, feature)`.
    rules : the number of rules.
    parameters : the number of parameters of a leaf distribution.
    hidden : units of each hidden layer.
    bonus : the weight of the entropy of the average output of each network, in nats, at the beginning of training; it
        falls to a tenth. Without it networks collapse to few of their values.
    """

    features: npt.NDArray[Any]
    rules: int
    parameters: int
    hidden: int = 32
    bonus: float = 0.1

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Inputs and outputs of each layer."""
        inputs = self.rules + self.features.shape[1]
        return (inputs, self.hidden), (self.hidden, self.hidden), (self.hidden, self.parameters)

    def initial(self, random: torch.Generator) -> torch.Tensor:
        """Random parameters, `(1, parameter)`: uniform, and the smaller the more inputs a layer has.

        Parameters
        ----------
        random : where they are drawn from.

        Returns
        -------
        The parameters.
        """
        layers = [
            (2.0 * torch.rand((inputs + 1) * outputs, generator=random, dtype=torch.float64) - 1.0) / np.sqrt(inputs)
            for inputs, outputs in self.shapes
        ]
        return torch.cat(layers).unsqueeze(0)

    def outputs(self, parameters: torch.Tensor, rules: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        """The parameters of a leaf distribution for every row, `(restart, row, parameter)`.

        Parameters
        ----------
        parameters : those of each restart's head, `(restart, 1, parameter)`.
        rules : the probability of each rule, `(rule, restart, row)`.
        features : the other features, `(restart, row, feature)`.

        Returns
        -------
        Parameters.
        """
        values = torch.cat((rules.permute(1, 2, 0), features), 2)
        start = 0
        for number, (inputs, outputs) in enumerate(self.shapes):
            layer = parameters[:, 0, start : start + (inputs + 1) * outputs].view(-1, inputs + 1, outputs)
            start += (inputs + 1) * outputs
            values = torch.baddbmm(layer[:, -1:], values.relu() if number else values, layer[:, :-1])
        return values

    def weight_of_bonus(self, progress: float) -> float:
        """The weight of the entropy bonus after this fraction of the steps.

        Parameters
        ----------
        progress : the fraction of the steps that are done, in [0, 1].

        Returns
        -------
        The weight.
        """
        return self.bonus * max(LAST_BONUS, 1.0 - progress)


def output_entropy(outputs: Iterable[torch.Tensor]) -> torch.Tensor:
    """The entropy of the average output of a network, in nats.

    Parameters
    ----------
    outputs : the outputs of each call on a minibatch, `(row, value)`; one value is the probability of a yes.

    Returns
    -------
    A scalar.
    """
    average = torch.cat(list(outputs)).mean(0)
    if len(average) == 1:
        average = torch.cat((average, 1.0 - average))
    return -(average * average.clamp_min(1e-9).log()).sum()
