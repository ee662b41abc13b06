"""A small network that reads the probabilities of many rules, by which their networks are trained together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from neuid3.tree.criteria import Criterion

# The share of the bonus for varied outputs that remains at the end of training.
LAST_BONUS = 0.1

# The first logit of the plain leaf in a mixture of goals, whose logits are near 0: with untrained networks no goal is better
# than a plain leaf, and were that one as probable, goals would teach less.
PLAIN_LOGIT = -2.0


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
            (2.0 * torch.rand((inputs + 1) * outputs, generator=random, dtype=torch.float64) - 1.0)
            / np.sqrt(max(inputs, 1))
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

    def likelihoods(
        self,
        criterion: Criterion,
        parameters: torch.Tensor,
        rules: torch.Tensor,
        features: torch.Tensor,
        targets: torch.Tensor,
    ) -> torch.Tensor:
        """The likelihood of each target, `(restart, row)`.

        Parameters
        ----------
        criterion : the likelihood of targets under a leaf distribution.
        parameters : those of each restart's head, `(restart, 1, parameter)`.
        rules : the probability of each rule, `(rule, restart, row)`.
        features : the other features, `(restart, row, feature)`.
        targets : the targets, `(restart, row)`.

        Returns
        -------
        Likelihoods.
        """
        of_rows = self.outputs(parameters, rules, features).flatten(0, 1).unsqueeze(1)
        return criterion.likelihoods(of_rows, targets.reshape(-1, 1)).view(targets.shape)

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


@dataclass(frozen=True, slots=True, eq=False)
class GoalHead(Head):
    """A head that says, for each example, which goal its target is the value of.

    The likelihood of a target is a mixture over all goals and one leaf for all examples. The weights of the mixture are
    the output of the network, which reads the rules and the other features, so that goals can be learned that apply to
    some examples only, before it is known which test tells these apart. Of the circuits, the rules come first and then the
    values of all goals.

    Attributes
    ----------
    goals : the number of the goal of each value, `(value,)`.
    values : the values as the criterion takes targets, `(value,)`.
    plain : parameters of the leaf for all examples, `(parameter,)`.
    deviation : the standardised deviation of numbers around the value of a goal, at the beginning of training.
    """

    goals: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    values: npt.NDArray[Any] = field(default_factory=lambda: np.zeros(0))
    plain: npt.NDArray[Any] = field(default_factory=lambda: np.zeros(0))
    deviation: float = 0.5

    def initial(self, random: torch.Generator) -> torch.Tensor:
        """Random parameters of the network, and last the logarithm of the deviation."""
        # Not `super()`: a dataclass with slots is another class than the one it was compiled in.
        network = Head.initial(self, random)
        network[0, -1] = PLAIN_LOGIT  # the last bias is that of the plain leaf
        return torch.cat((network, torch.full((1, 1), math.log(self.deviation), dtype=network.dtype)), 1)

    def likelihoods(
        self,
        criterion: Criterion,
        parameters: torch.Tensor,
        rules: torch.Tensor,
        features: torch.Tensor,
        targets: torch.Tensor,
    ) -> torch.Tensor:
        """The likelihood of each target under the mixture of all goals, `(restart, row)`."""
        weights = self.outputs(parameters[..., :-1], rules[: self.rules], features).softmax(2)  # (restart, row, goal)
        deviations = parameters[..., -1].exp().clamp_min(criterion.min_deviation)  # (restart, 1)
        values = parameters.new_tensor(self.values)[:, None, None]
        of_values = rules[self.rules :] * criterion.value_likelihoods(values, targets, deviations)
        index = torch.from_numpy(self.goals).to(targets.device)
        of_goals = of_values.new_zeros(self.parameters - 1, *targets.shape).index_add(0, index, of_values)
        plain = parameters.new_tensor(self.plain).expand(len(parameters), 1, -1)
        options = torch.cat((of_goals, criterion.likelihoods(plain, targets)))  # (option, restart, row)
        return (weights.permute(2, 0, 1) * options).sum(0)


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
