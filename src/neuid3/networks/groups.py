"""Groups of networks of one architecture that run as one."""

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
from neuid3.networks.layers import Weights, can_fuse, can_stack, stacked_layer


class NetworkGroup:
    """Networks of one architecture, called as one with inputs `(network, example, …)`.

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


class LayerGroup(NetworkGroup):
    """Networks of supported layers, each of which runs for all networks at once, in the order of the network's `forward`."""

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__(modules)
        buffers = {
            name: torch.stack([module.get_buffer(name) for module in modules]) for name, _ in modules[0].named_buffers()
        }
        self._run = self.run(modules[0], {**self.weights, **buffers})

    @staticmethod
    def run(first: nn.Module, weights: Weights) -> Callable[..., torch.Tensor]:
        """A function that runs networks of the architecture of `first` with these weights."""
        if isinstance(first, nn.Sequential):
            return stacked_layer(first, weights, "")
        layers = {name: stacked_layer(child, weights, name) for name, child in first.named_children()}
        attributes = {name: value for name, value in vars(first).items() if not name.startswith("_")}
        stand_in = SimpleNamespace(**attributes, **layers)  # for `self` in `forward`
        return lambda *inputs: type(first).forward(stand_in, *_with_channels(first, inputs))

    @staticmethod
    def supports(module: nn.Module) -> bool:
        """Whether a network is of this library, whose `forward` does not depend on the number of axes, or a plain sequence."""
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
    # LeNet also reads grayscale images without a channel axis.
    return tuple(x.unsqueeze(2) if x.ndim == 4 else x for x in inputs)


class KernelNetwork(nn.Module):
    """A LeNet run by the compiled kernel, with its current weights; without gradients, this takes a third of the time."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        weights = {name: values.unsqueeze(0) for name, values in self.network.named_parameters()}
        return LayerGroup.run(self.network, weights)(*(x.unsqueeze(0) for x in inputs))[0]

    @staticmethod
    def supports(network: Any) -> bool:
        """Whether the kernel can run a network in place of PyTorch: a LeNet without hooks and parametrizations."""
        if type(network) is not LeNet or not all(map(can_stack, network.children())):
            return False
        modules = list(network.modules())
        if any(m._forward_hooks or m._forward_pre_hooks or is_parametrized(m) for m in modules):
            return False
        return can_fuse(list(network.look)[:3]) and has_kernel(next(network.parameters()))


class FunctionalGroup(NetworkGroup):
    """Modules that `torch.func` can run for many sets of parameters at once."""

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__(modules)
        first = modules[0]

        def one(parameters: Mapping[str, torch.Tensor], *inputs: torch.Tensor) -> Any:
            return torch.func.functional_call(first, dict(parameters), inputs)

        self._run = torch.func.vmap(one, randomness="different")

    @staticmethod
    def supports(module: nn.Module) -> bool:
        """Whether a module has neither buffers, which may change from batch to batch, nor random layers."""
        return not any(True for _ in module.buffers()) and not any(
            isinstance(m, _RANDOM_LAYERS) for m in module.modules()
        )

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self._run(self.weights, *inputs)
        return outputs


_RANDOM_LAYERS = (nn.modules.dropout._DropoutNd, nn.RReLU)


class ModuleGroup(NetworkGroup):
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


def network_group(modules: Sequence[nn.Module], sample: Sequence[torch.Tensor]) -> NetworkGroup:
    """The fastest kind of group that supports these networks.

    Parameters
    ----------
    modules : networks of one architecture.
    sample : a few inputs, `(network, example, …)`, on which `torch.func` is compared with the modules themselves.
    """
    first = modules[0]
    if LayerGroup.supports(first):
        return LayerGroup(modules)
    if len(modules) > 1 and FunctionalGroup.supports(first) and _agrees(modules, sample):
        return FunctionalGroup(modules)
    return ModuleGroup(modules)


def _agrees(modules: Sequence[nn.Module], sample: Sequence[torch.Tensor]) -> bool:
    """Whether `torch.func` gives the outputs of the modules themselves, and supports gradients."""
    try:
        with torch.no_grad():
            expected = torch.stack([module(*(x[i] for x in sample)) for i, module in enumerate(modules)])
        group = FunctionalGroup(modules)
        outputs = group(*sample)
        outputs.sum().backward()  # type: ignore[no-untyped-call]
        return bool(torch.allclose(outputs.detach(), expected, rtol=1e-3, atol=1e-5))
    except Exception:  # whatever prevents a module from being run by torch.func, it can still be run by itself
        return False


def architecture(module: nn.Module) -> tuple[Any, ...]:
    """Key that is equal for networks that can run as one group: class, layers, and shapes of parameters."""
    shapes = tuple((name, tuple(p.shape), p.dtype, p.requires_grad) for name, p in module.named_parameters())
    return (type(module), str(module), shapes)
