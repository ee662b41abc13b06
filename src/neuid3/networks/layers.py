"""Layers that run for a group of networks at once; each tensor has a leading network axis, `(network, example, …)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from ctypes import c_int, c_long
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from neuid3.networks.defaults import Standardise
from neuid3.networks.kernel import address, has_kernel, kernel

Weights = Mapping[str, torch.Tensor]  # parameters and buffers by name, (network, …)
_ELEMENTWISE = (nn.ReLU, nn.Sigmoid, nn.Tanh, nn.GELU, nn.SiLU, nn.ELU, nn.LeakyReLU, nn.Softplus, nn.Identity)


def can_stack(layer: nn.Module) -> bool:
    """Whether `stacked_layer` supports a layer, or all layers of a sequence."""
    match layer:
        case nn.Sequential():
            return all(map(can_stack, layer))
        case nn.Conv2d():
            return layer.groups == 1 and layer.padding_mode == "zeros"
        case nn.MaxPool2d():
            return not layer.return_indices
        case nn.Flatten():
            return layer.start_dim == 1 and layer.end_dim == -1
        case nn.Softmax():
            return layer.dim in (1, -1)
        case nn.Dropout():
            return layer.p == 0.0
        case _:
            return isinstance(layer, (nn.Linear, Standardise, *_ELEMENTWISE))


def stacked_layer(layer: nn.Module, weights: Weights, name: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """A function that runs a layer with the weights of many networks.

    Parameters
    ----------
    layer : the layer, or the sequence of layers, of one of the networks.
    weights : parameters and buffers of all networks.
    name : name of the layer in its network, the prefix of its weights; empty for the network itself.
    """
    steps = list(_steps(layer, weights, name))

    def run(x: torch.Tensor) -> torch.Tensor:
        for step in steps:
            x = step(x)
        return x

    return run


def _steps(layer: nn.Module, weights: Weights, name: str) -> Iterator[Callable[[torch.Tensor], torch.Tensor]]:
    if not isinstance(layer, nn.Sequential):
        yield _single_layer(layer, weights, name)
        return
    children = [(f"{name}.{key}" if name else key, child) for key, child in layer.named_children()]
    i = 0
    while i < len(children):
        path, child = children[i]
        if can_fuse([child for _, child in children[i : i + 3]]):
            yield _fused(weights[f"{path}.weight"], weights[f"{path}.bias"])
            i += 3
        else:
            yield from _steps(child, weights, path)
            i += 1


def _single_layer(layer: nn.Module, weights: Weights, name: str) -> Callable[[torch.Tensor], torch.Tensor]:
    weight, bias = weights.get(f"{name}.weight"), weights.get(f"{name}.bias")
    match layer:
        case nn.Linear():
            assert weight is not None
            return lambda x: _linear(x, weight, bias)
        case nn.Conv2d():
            assert weight is not None
            return lambda x: grouped_convolution(x, weight, bias, layer.stride, layer.padding, layer.dilation)
        case nn.MaxPool2d():
            return lambda x: layer(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        case nn.Flatten():
            return lambda x: x.flatten(2)
        case nn.Softmax():
            return lambda x: torch.softmax(x, -1 if layer.dim == -1 else 2)
        case nn.Dropout():
            return lambda x: x
        case Standardise():
            buffers = [weights[f"{name}.{buffer}"].unsqueeze(1) for buffer in ("centre", "scale", "linear")]
            return lambda x: layer.standardised(x, *buffers)
        case _:
            return layer


def _linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    transposed = weight.transpose(1, 2)
    return torch.bmm(x, transposed) if bias is None else torch.baddbmm(bias.unsqueeze(1), x, transposed)


def grouped_convolution(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
) -> torch.Tensor:
    """The convolutions of all networks as a single one with a group for each, which is fast with channels last.

    Parameters
    ----------
    x : images, `(network, example, channel, y, x)`.
    weight : filters, `(network, filter, channel, y, x)`.
    bias : `(network, filter)`.
    stride, padding, dilation : as in `torch.nn.functional.conv2d`.
    """
    networks = len(x)
    images = x.transpose(0, 1).flatten(1, 2).contiguous(memory_format=torch.channels_last)
    biases = None if bias is None else bias.flatten()
    y = functional.conv2d(images, weight.flatten(0, 1), biases, stride, padding, dilation, groups=networks)
    return y.view(len(y), networks, -1, *y.shape[2:]).transpose(0, 1)


def can_fuse(layers: list[nn.Module]) -> bool:
    """Whether layers are a 5 × 5 convolution, a max pool of 2 and a ReLU, which the kernel computes in one pass."""
    match layers:
        case [nn.Conv2d() as conv, nn.MaxPool2d() as pool, nn.ReLU()]:
            plain = conv.stride == (1, 1) and conv.padding == (0, 0) and conv.dilation == (1, 1) and conv.groups == 1
            halves = pool.kernel_size == 2 and pool.stride == 2 and pool.padding == 0 and not pool.ceil_mode
            return conv.kernel_size == (5, 5) and plain and conv.bias is not None and halves and pool.dilation == 1
        case _:
            return False


def _fused(weight: torch.Tensor, bias: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    def run(x: torch.Tensor) -> torch.Tensor:
        if has_kernel(x):
            y: torch.Tensor = FusedConvolution.apply(x, weight, bias)  # type: ignore[no-untyped-call]
            return y
        convolved = grouped_convolution(x, weight, bias)
        pooled = functional.relu(functional.max_pool2d(convolved.flatten(0, 1), 2))
        return pooled.view(*x.shape[:2], *pooled.shape[1:])

    return run


class FusedConvolution(torch.autograd.Function):
    """relu(maxpool2(conv(x, w) + b)) by the kernel: `(network, example, channel, y, x)`."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        x, w, b = x.contiguous(), w.contiguous(), b.contiguous()
        networks, n, _, rows, cols = x.shape
        y = x.new_empty(networks, n, w.shape[1], (rows - 4) // 2, (cols - 4) // 2)
        argmax = torch.empty(y.shape, dtype=torch.uint8)  # which of four pixels was the largest; 4 where ReLU gives 0
        _call("conv_forward", (x, w, b, y, argmax), x, w)
        ctx.save_for_backward(x, w, argmax)
        return y

    @staticmethod
    def backward(ctx: Any, gy: torch.Tensor) -> Any:
        x, w, argmax = ctx.saved_tensors
        gw, gb = torch.empty_like(w), w.new_empty(w.shape[:2])
        gx = torch.empty_like(x) if ctx.needs_input_grad[0] else None
        _call("conv_backward", (x, w, gy.contiguous(), argmax, gw, gb, gx), x, w)
        return gx, gw, gb


def _call(name: str, tensors: tuple[torch.Tensor | None, ...], x: torch.Tensor, w: torch.Tensor) -> None:
    sizes = (*map(c_long, x.shape[:2]), c_int(x.shape[2]), c_int(w.shape[1]), *map(c_int, x.shape[3:]))
    if getattr(kernel(x.dtype), name)(*map(address, tensors), *sizes):
        raise MemoryError("no memory left for a convolution")
