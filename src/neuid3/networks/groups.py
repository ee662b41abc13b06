"""Groups of networks of one architecture that run as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn
from torch.nn.utils.parametrize import is_parametrized

from neuid3.networks.defaults import Dense, LeNet
from neuid3.networks.kernel import has_kernel
from neuid3.networks.layers import Weights, can_fuse, can_stack, stacked_layer
from neuid3.networks.series import SeriesNet
from neuid3.networks.torch_backend import ModuleGroup, StackedGroup


class LayerGroup(StackedGroup):
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
        if type(module) in (LeNet, Dense, SeriesNet):
            return all(map(can_stack, module.children()))
        return type(module) is nn.Sequential and can_stack(module)

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self._run(*inputs)


def _with_channels(network: nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    if not isinstance(network, LeNet):
        return inputs
    # LeNet also reads grayscale images without a channel axis.
    return tuple(x.unsqueeze(2) if x.ndim == 4 else x for x in inputs)


def runs_by_kernel(network: nn.Module) -> bool:
    """Whether the kernel can run a network in place of PyTorch: a LeNet without hooks and parametrizations."""
    if type(network) is not LeNet or not all(map(can_stack, network.children())):
        return False
    modules = list(network.modules())
    if any(m._forward_hooks or m._forward_pre_hooks or is_parametrized(m) for m in modules):
        return False
    return can_fuse(list(network.look)[:3]) and has_kernel(next(network.parameters()))


def run_by_kernel(network: nn.Module, *inputs: torch.Tensor) -> torch.Tensor:
    """The outputs of a LeNet with its current weights, `(example, value)`; without gradients, in a third of the time."""
    weights = {name: values.unsqueeze(0) for name, values in network.named_parameters()}
    return LayerGroup.run(network, weights)(*(x.unsqueeze(0) for x in inputs))[0]


class FunctionalGroup(StackedGroup):
    """Modules that `torch.func` can run for many sets of parameters at once."""

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__(modules)
        first = modules[0]

        def one(parameters: Mapping[str, torch.Tensor], *inputs: torch.Tensor) -> Any:
            return torch.func.functional_call(first, dict(parameters), inputs)

        self._run = torch.func.vmap(one, randomness="different")

    @staticmethod
    def supports(module: nn.Module) -> bool:
        """Whether a module has no buffers, which may change from batch to batch, no random layers and no shared ones."""
        return (
            not any(True for _ in module.buffers())
            and not any(isinstance(m, _RANDOM_LAYERS) for m in module.modules())
            and not _has_shared_layers(module)
        )

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self._run(self.weights, *inputs)
        return outputs


def _has_shared_layers(module: nn.Module) -> bool:
    """Whether a layer with parameters has two names; `functional_call` would leave it without its parameters."""
    layers = [m for _, m in module.named_modules(remove_duplicate=False) if m._parameters]
    return len(layers) > len(set(layers))


_RANDOM_LAYERS = (nn.modules.dropout._DropoutNd, nn.RReLU)


def network_group(modules: Sequence[nn.Module], sample: Sequence[torch.Tensor]) -> StackedGroup:
    """The fastest kind of group that supports these networks.

    Parameters
    ----------
    modules : networks of one architecture.
    sample : a few inputs, `(network, example, …)`, on which `torch.func` is compared with the modules themselves.

    Returns
    -------
    The group.
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
