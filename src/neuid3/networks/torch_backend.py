"""The reference backend: plain modules, one after the other, trained by `torch.optim.AdamW`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from neuid3.networks.adam import BETA2, EPS, Moments


class StackedGroup:
    """Base of network groups: the trainable parameters of all networks, stacked.

    Attributes
    ----------
    modules : the networks.
    weights : their trainable parameters by name, each a leaf tensor `(network, …)` with a gradient that torch adds to in
        place.
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        self.modules = list(modules)
        self.weights: dict[str, torch.Tensor] = {}
        for name, first in self.modules[0].named_parameters():
            if first.requires_grad:
                rows = [module.get_parameter(name).detach() for module in self.modules]
                self.weights[name] = stacked = torch.stack(rows).requires_grad_()
                stacked.grad = torch.zeros_like(stacked)

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        """The outputs of all networks, `(network, example, value)`."""
        raise NotImplementedError

    def train(self, mode: bool = True) -> None:
        """Set all networks to training or evaluation mode."""
        for module in self.modules:
            module.train(mode)

    def module(self, row: int) -> nn.Module:
        """A copy of one network, with parameters of its own."""
        module = copy.deepcopy(self.modules[row])
        for name, values in self.weights.items():
            parameter = module.get_parameter(name)
            parameter.data, parameter.grad = values[row].detach().clone(), None
        return module


class ModuleGroup(StackedGroup):
    """Any modules, run one after the other; the parameters of each are its row of the group's weights."""

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__(modules)
        for name, stacked in self.weights.items():
            assert stacked.grad is not None
            for module, values, gradient in zip(self.modules, stacked.detach(), stacked.grad, strict=True):
                parameter = module.get_parameter(name)
                parameter.data, parameter.grad = values, gradient

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        return torch.stack([module(*(x[i] for x in inputs)) for i, module in enumerate(self.modules)])


class TorchAdam:
    """One `torch.optim.AdamW` for each network, on views of its rows of the parameters.

    Parameters
    ----------
    parameters : parameters of all networks, `(network, …)`, each with a gradient.
    decay : weight decay.
    """

    def __init__(self, parameters: Sequence[torch.Tensor], decay: float = 0.0) -> None:
        self.parameters = list(parameters)
        self.optimizers: list[torch.optim.AdamW] = []
        for row in range(len(self.parameters[0]) if self.parameters else 0):
            views = [nn.Parameter(parameter.detach()[row]) for parameter in self.parameters]
            for view, parameter in zip(views, self.parameters, strict=True):
                assert parameter.grad is not None
                view.grad = parameter.grad[row]
            self.optimizers.append(torch.optim.AdamW(views, betas=(0.9, BETA2), eps=EPS, weight_decay=decay))
            self.resume(row, [(torch.zeros_like(view), torch.zeros_like(view)) for view in views])

    def zero_grad(self) -> None:
        """Set all gradients to zero, in place."""
        for parameter in self.parameters:
            assert parameter.grad is not None
            parameter.grad.zero_()

    def step(self, number: int, rates: Sequence[float], beta1: float = 0.9) -> None:
        """Take a step; see `GroupOptimizer.step`."""
        for optimizer, rate in zip(self.optimizers, rates, strict=True):
            (settings,) = optimizer.param_groups
            settings["lr"], settings["betas"] = rate, (beta1, BETA2)
            for state in optimizer.state.values():
                state["step"] = torch.tensor(float(number - 1))
            optimizer.step()

    def moments(self, row: int) -> Moments:
        """A copy of the moments of one network."""
        return [
            (state["exp_avg"].clone(), state["exp_avg_sq"].clone()) for state in self.optimizers[row].state.values()
        ]

    def resume(self, row: int, moments: Moments) -> None:
        """Set the moments of one network."""
        optimizer = self.optimizers[row]
        (settings,) = optimizer.param_groups
        for view, (first, second) in zip(settings["params"], moments, strict=True):
            optimizer.state[view] = {
                "step": torch.tensor(0.0),
                "exp_avg": first.detach().clone(),
                "exp_avg_sq": second.detach().clone(),
            }


@dataclass(frozen=True, slots=True)
class TorchBackend:
    """The reference backend: each module runs by itself and has an optimizer of its own.

    >>> backend = TorchBackend()
    >>> group = backend.group([nn.Linear(2, 1), nn.Linear(2, 1)], [])
    >>> group(torch.zeros(2, 5, 2)).shape
    torch.Size([2, 5, 1])
    """

    name: ClassVar[str] = "torch"

    def supports(self, module: nn.Module, device: torch.device) -> bool:  # noqa: ARG002 - the signature of all backends
        """True: it runs every module on every device.

        Parameters
        ----------
        module : a network.
        device : the device that it is to run on.

        Returns
        -------
        Whether `group` and `run` accept such networks.
        """
        return True

    def group(self, modules: Sequence[nn.Module], sample: Sequence[torch.Tensor]) -> ModuleGroup:  # noqa: ARG002
        """A group of modules that run one after the other.

        Parameters
        ----------
        modules : networks of one architecture, which belong to the group from now on.
        sample : a few inputs for each network, `(network, example, …)`.

        Returns
        -------
        The group.
        """
        return ModuleGroup(modules)

    def optimizer(self, parameters: Sequence[torch.Tensor], decay: float = 0.0) -> TorchAdam:
        """An optimizer for each network.

        Parameters
        ----------
        parameters : parameters of all networks, `(network, …)`, each with a gradient.
        decay : weight decay.

        Returns
        -------
        The optimizer.
        """
        return TorchAdam(parameters, decay)

    def run(self, network: nn.Module, *inputs: torch.Tensor) -> torch.Tensor:
        """The outputs of the module itself.

        Parameters
        ----------
        network : a network, in evaluation mode.
        *inputs : a batch of each input, `(example, …)`.

        Returns
        -------
        Probabilities, `(example, value)`.
        """
        outputs: torch.Tensor = network(*inputs)
        return outputs
