"""How does a layer work for many networks at once? Each tensor has one more axis in front: `(network, example, …)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from ctypes import c_int, c_long
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from neuid3.networks.defaults import Standardise
from neuid3.networks.kernel import address, has_kernel, kernel

Weights = Mapping[str, torch.Tensor]
_PLAIN = (nn.ReLU, nn.Sigmoid, nn.Tanh, nn.GELU, nn.SiLU, nn.ELU, nn.LeakyReLU, nn.Softplus, nn.Identity)


def can_stack(layer: nn.Module) -> bool:
    """Is this a layer, or a sequence of layers, that is written for many networks below?"""
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
            return isinstance(layer, (nn.Linear, Standardise, *_PLAIN))


def stacked(layer: nn.Module, weights: Weights, name: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """A layer with the weights of many networks."""
    steps = list(_steps(layer, weights, name))

    def run(x: torch.Tensor) -> torch.Tensor:
        for step in steps:
            x = step(x)
        return x

    return run


def _steps(layer: nn.Module, weights: Weights, name: str) -> Iterator[Callable[[torch.Tensor], torch.Tensor]]:
    if not isinstance(layer, nn.Sequential):
        yield _layer(layer, weights, name)
        return
    children = [(f"{name}.{key}" if name else key, child) for key, child in layer.named_children()]
    i = 0
    while i < len(children):
        path, child = children[i]
        if is_fused([child for _, child in children[i : i + 3]]):
            yield _fused(weights[f"{path}.weight"], weights[f"{path}.bias"])
            i += 3
        else:
            yield from _steps(child, weights, path)
            i += 1


def _layer(layer: nn.Module, weights: Weights, name: str) -> Callable[[torch.Tensor], torch.Tensor]:
    weight, bias = weights.get(f"{name}.weight"), weights.get(f"{name}.bias")
    match layer:
        case nn.Linear():
            assert weight is not None
            return lambda x: _linear(x, weight, bias)
        case nn.Conv2d():
            assert weight is not None
            return lambda x: grouped(x, weight, bias, layer.stride, layer.padding, layer.dilation)
        case nn.MaxPool2d():
            return lambda x: layer(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        case nn.Flatten():
            return lambda x: x.flatten(2)
        case nn.Softmax():
            return lambda x: torch.softmax(x, -1 if layer.dim == -1 else 2)
        case nn.Dropout():
            return lambda x: x
        case Standardise():
            told = [weights[f"{name}.{buffer}"].unsqueeze(1) for buffer in ("centre", "scale", "linear")]
            return lambda x: layer.standardised(x, *told)
        case _:
            return layer


def _linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    turned = weight.transpose(1, 2)
    return torch.bmm(x, turned) if bias is None else torch.baddbmm(bias.unsqueeze(1), x, turned)


def grouped(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
) -> torch.Tensor:
    """The convolutions of all networks as one with a group each, which is fast with channels last."""
    nets = len(x)
    side = x.transpose(0, 1).flatten(1, 2).contiguous(memory_format=torch.channels_last)
    flat = None if bias is None else bias.flatten()
    found = functional.conv2d(side, weight.flatten(0, 1), flat, stride, padding, dilation, groups=nets)
    return found.view(len(found), nets, -1, *found.shape[2:]).transpose(0, 1)


def is_fused(layers: list[nn.Module]) -> bool:
    """A 5 × 5 convolution, a pool of 2 and a rectifier: what the kernel does in one go."""
    match layers:
        case [nn.Conv2d() as look, nn.MaxPool2d() as pool, nn.ReLU()]:
            plain = look.stride == (1, 1) and look.padding == (0, 0) and look.dilation == (1, 1) and look.groups == 1
            halves = pool.kernel_size == 2 and pool.stride == 2 and pool.padding == 0 and not pool.ceil_mode
            return look.kernel_size == (5, 5) and plain and look.bias is not None and halves and pool.dilation == 1
        case _:
            return False


def _fused(weight: torch.Tensor, bias: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    def run(x: torch.Tensor) -> torch.Tensor:
        if has_kernel(x):
            found: torch.Tensor = Fused.apply(x, weight, bias)  # type: ignore[no-untyped-call]
            return found
        seen = grouped(x, weight, bias)
        pooled = functional.relu(functional.max_pool2d(seen.flatten(0, 1), 2))
        return pooled.view(*x.shape[:2], *pooled.shape[1:])

    return run


class Fused(torch.autograd.Function):
    """relu(maxpool2(conv(x, w) + b)) by the kernel: `(network, example, channel, y, x)`."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        x, w, b = x.contiguous(), w.contiguous(), b.contiguous()
        nets, n, _, rows, cols = x.shape
        y = x.new_empty(nets, n, w.shape[1], (rows - 4) // 2, (cols - 4) // 2)
        origin = torch.empty(y.shape, dtype=torch.uint8)
        _call("conv_forward", (x, w, b, y, origin), x, w)
        ctx.save_for_backward(x, w, origin)
        return y

    @staticmethod
    def backward(ctx: Any, gy: torch.Tensor) -> Any:
        x, w, origin = ctx.saved_tensors
        gw, gb = torch.empty_like(w), w.new_empty(w.shape[:2])
        gx = torch.empty_like(x) if ctx.needs_input_grad[0] else None
        _call("conv_backward", (x, w, gy.contiguous(), origin, gw, gb, gx), x, w)
        return gx, gw, gb


def _call(name: str, tensors: tuple[torch.Tensor | None, ...], x: torch.Tensor, w: torch.Tensor) -> None:
    sizes = (*map(c_long, x.shape[:2]), c_int(x.shape[2]), c_int(w.shape[1]), *map(c_int, x.shape[3:]))
    if getattr(kernel(x.dtype), name)(*map(address, tensors), *sizes):
        raise MemoryError("no memory left for a convolution")
