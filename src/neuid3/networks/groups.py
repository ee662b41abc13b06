"""How are many networks of one architecture run as one?"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn
from torch.nn.utils.parametrize import is_parametrized

from neuid3.networks.defaults import Dense, LeNet
from neuid3.networks.kernel import has_kernel
from neuid3.networks.layers import Weights, can_stack, is_fused, stacked


class NetworkGroup:
    """Networks with one architecture; called with inputs `(network, example, …)`.

    `weights` holds each of their parameters as one leaf, `(network, …)`, with a gradient that torch adds to in place.
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        self.modules = list(modules)
        self.weights: dict[str, torch.Tensor] = {}
        for name, first in self.modules[0].named_parameters():
            if first.requires_grad:
                rows = [module.get_parameter(name).detach() for module in self.modules]
                self.weights[name] = leaf = torch.stack(rows).requires_grad_()
                leaf.grad = torch.zeros_like(leaf)

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def train(self, mode: bool = True) -> None:
        for module in self.modules:
            module.train(mode)

    def module(self, row: int) -> nn.Module:
        """A network by itself, with parameters of its own."""
        alone = copy.deepcopy(self.modules[row])
        for name, values in self.weights.items():
            parameter = alone.get_parameter(name)
            parameter.data, parameter.grad = values[row].detach().clone(), None
        return alone


class LayerGroup(NetworkGroup):
    """Known layers, each run for all networks at once. The network's own `forward` says in which order."""

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__(modules)
        buffers = {
            name: torch.stack([module.get_buffer(name) for module in modules]) for name, _ in modules[0].named_buffers()
        }
        self._run = self.run(modules[0], {**self.weights, **buffers})

    @staticmethod
    def run(first: nn.Module, weights: Weights) -> Callable[..., torch.Tensor]:
        """How networks like this one are run with these weights."""
        if isinstance(first, nn.Sequential):
            return stacked(first, weights, "")
        parts = {name: stacked(child, weights, name) for name, child in first.named_children()}
        plain = {name: value for name, value in vars(first).items() if not name.startswith("_")}
        many = SimpleNamespace(**plain, **parts)
        return lambda *inputs: type(first).forward(many, *_with_channels(first, inputs))

    @staticmethod
    def takes(module: nn.Module) -> bool:
        """Only our own networks are known to have a `forward` that does not ask how many axes there are."""
        if any(not p.requires_grad for p in module.parameters()):
            return False
        if type(module) in (LeNet, Dense):
            return all(map(can_stack, module.children()))
        return type(module) is nn.Sequential and can_stack(module)

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self._run(*inputs)


def _with_channels(network: nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    if not isinstance(network, LeNet):
        return inputs
    # It reads grey images without an axis for their channel, too.
    return tuple(x.unsqueeze(2) if x.ndim == 4 else x for x in inputs)


class Quick(nn.Module):
    """A network of ours as it is now, run by the kernel: where nobody asks for gradients that takes a third of the time."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        weights = {name: values.unsqueeze(0) for name, values in self.network.named_parameters()}
        return LayerGroup.run(self.network, weights)(*(x.unsqueeze(0) for x in inputs))[0]

    @staticmethod
    def takes(network: Any) -> bool:
        """Is there something for the kernel to do, and does nothing stand in its way?"""
        if type(network) is not LeNet or not all(map(can_stack, network.children())):
            return False
        parts = list(network.modules())
        if any(part._forward_hooks or part._forward_pre_hooks or is_parametrized(part) for part in parts):
            return False
        return is_fused(list(network.look)[:3]) and has_kernel(next(network.parameters()))


class FunctionalGroup(NetworkGroup):
    """Any module that `torch.func` can run for many sets of parameters at once."""

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__(modules)
        first = modules[0]

        def one(parameters: Mapping[str, torch.Tensor], *inputs: torch.Tensor) -> Any:
            return torch.func.functional_call(first, dict(parameters), inputs)

        self._run = torch.func.vmap(one, randomness="different")

    @staticmethod
    def takes(module: nn.Module) -> bool:
        """Modules that carry state from batch to batch, or draw at random, cannot be run this way."""
        return not any(True for _ in module.buffers()) and not any(isinstance(m, _RANDOM) for m in module.modules())

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self._run(self.weights, *inputs)
        return found


_RANDOM = (nn.modules.dropout._DropoutNd, nn.RReLU)


class ModuleGroup(NetworkGroup):
    """One module after the other, each with its parameters in its row of the stack's."""

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__(modules)
        for name, leaf in self.weights.items():
            assert leaf.grad is not None
            for module, values, slope in zip(self.modules, leaf.detach(), leaf.grad, strict=True):
                parameter = module.get_parameter(name)
                parameter.data, parameter.grad = values, slope

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        return torch.stack([module(*(x[i] for x in inputs)) for i, module in enumerate(self.modules)])


def network_group(modules: Sequence[nn.Module], sight: Sequence[torch.Tensor]) -> NetworkGroup:
    """The fastest stack that takes these networks, tried on a first sight of its inputs, `(network, example, …)`."""
    first = modules[0]
    if LayerGroup.takes(first):
        return LayerGroup(modules)
    if len(modules) > 1 and FunctionalGroup.takes(first) and _agrees(modules, sight):
        return FunctionalGroup(modules)
    return ModuleGroup(modules)


def _agrees(modules: Sequence[nn.Module], sight: Sequence[torch.Tensor]) -> bool:
    """Does `torch.func` give what the modules give by themselves, with gradients?"""
    try:
        with torch.no_grad():
            alone = torch.stack([module(*(x[i] for x in sight)) for i, module in enumerate(modules)])
        together = FunctionalGroup(modules)
        found = together(*sight)
        found.sum().backward()  # type: ignore[no-untyped-call]
        return bool(torch.allclose(found.detach(), alone, rtol=1e-3, atol=1e-5))
    except Exception:  # whatever a module does that cannot be stacked, it can still be run by itself
        return False


def architecture(module: nn.Module) -> tuple[Any, ...]:
    """What must agree for two networks to be run as one."""
    shapes = tuple((name, tuple(p.shape), p.dtype, p.requires_grad) for name, p in module.named_parameters())
    return (type(module), str(module), shapes)
