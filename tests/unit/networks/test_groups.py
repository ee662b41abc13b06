"""Network groups: many networks run as one equal each network by itself, in outputs, gradients and training."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from neuid3.errors import KernelError
from neuid3.networks import kernel as network_kernel
from neuid3.networks.augmentation import Augmentation, InputColumns, augmented
from neuid3.networks.defaults import Dense, LeNet
from neuid3.networks.groups import (
    FunctionalGroup,
    LayerGroup,
    network_group,
    run_by_kernel,
    runs_by_kernel,
)
from neuid3.networks.layers import FusedConvolution, grouped_convolution
from neuid3.networks.torch_backend import ModuleGroup
from neuid3.utils import kernel as kernel_module

ROOT = Path(__file__).resolve().parents[3]


VARIANTS, NO_KERNEL = kernel_module.runnable_variants()


@contextmanager
def variant(name: str) -> Iterator[None]:
    """With this variant of the compiled kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEUID3_KERNEL", name)
        kernel_module.clear_choice()
        yield
    kernel_module.clear_choice()


class Own(nn.Module):
    """A user's module: plain layers in an order of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(6, 5), nn.Linear(5, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.two(torch.tanh(self.one(x.flatten(1)))), 1)


class Normed(nn.Module):
    """A module that carries state from batch to batch."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.end = nn.BatchNorm1d(6), nn.Linear(6, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.end(self.norm(x)))


KINDS = {
    "lenet": (lambda: LeNet(4), [(1, 28, 28)], LayerGroup),
    "lenet of flat images": (lambda: LeNet(4), [(28, 28)], LayerGroup),
    "lenet of colour": (lambda: LeNet(1, channels=3, size=(20, 24)), [(3, 20, 24)], LayerGroup),
    "lenet of two": (lambda: LeNet(1, inputs=2), [(1, 28, 28), (1, 28, 28)], LayerGroup),
    "small lenet": (lambda: LeNet(3, size=8), [(1, 8, 8)], LayerGroup),
    "dense": (lambda: Dense(2, [6, 1]), [(2, 3), (1,)], LayerGroup),
    "sequence": (lambda: nn.Sequential(nn.Flatten(), nn.Linear(6, 2), nn.Softmax(1)), [(2, 3)], LayerGroup),
    "dropout": (lambda: LeNet(2, dropout=0.3), [(1, 28, 28)], ModuleGroup),
    "own": (Own, [(2, 3)], FunctionalGroup),
    "normed": (Normed, [(6,)], ModuleGroup),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("way")
def test_a_group_gives_the_outputs_of_its_networks(kind: str) -> None:
    make, shapes, expected = KINDS[kind]
    torch.manual_seed(0)
    nets = [make().double() for _ in range(3)]
    alone = copy.deepcopy(nets)
    inputs = [torch.rand(3, 7, *shape, dtype=torch.float64) for shape in shapes]
    group = network_group(nets, inputs)
    assert type(group) is expected
    group.train(False)
    found = group(*inputs)
    want = torch.stack([net.eval()(*(x[i] for x in inputs)) for i, net in enumerate(alone)])
    assert found.shape == want.shape
    assert torch.allclose(found, want, rtol=0, atol=1e-12)
    gradients = torch.rand(found.shape, dtype=torch.float64)
    for leaf in group.weights.values():
        leaf.grad.zero_()
    (found * gradients).sum().backward()
    (want * gradients).sum().backward()
    for i, net in enumerate(alone):
        for name, parameter in net.named_parameters():
            assert torch.allclose(group.weights[name].grad[i], parameter.grad, rtol=1e-10, atol=1e-12)
    for i, net in enumerate(alone):
        same = group.module(i).state_dict()
        assert all(torch.equal(value, same[name]) for name, value in net.state_dict().items())


@pytest.mark.parametrize("name", VARIANTS)
@given(
    nets=st.integers(1, 3),
    n=st.integers(1, 4),
    channels=st.integers(1, 4),
    filters=st.integers(1, 9) | st.sampled_from([16, 24]),
    rows=st.integers(6, 31),
    cols=st.integers(6, 41),
    seed=st.integers(0, 99),
)
def test_the_kernel_is_a_convolution_a_pool_and_a_rectifier(
    name: str, nets: int, n: int, channels: int, filters: int, rows: int, cols: int, seed: int
) -> None:
    random = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=random, dtype=torch.float64).requires_grad_()

    given_ = draw(nets, n, channels, rows, cols), draw(nets, filters, channels, 5, 5), draw(nets, filters)
    seen = grouped_convolution(*given_)
    plain = functional.relu(functional.max_pool2d(seen.flatten(0, 1), 2)).unflatten(0, (nets, n))
    gradients = torch.randn(plain.shape, generator=random, dtype=torch.float64)
    plain_gradients = torch.autograd.grad((plain * gradients).sum(), given_)
    with variant(name):
        ours = FusedConvolution.apply(*given_)
        assert torch.allclose(ours, plain, rtol=0, atol=1e-12)
        for a, b in zip(torch.autograd.grad((ours * gradients).sum(), given_), plain_gradients, strict=True):
            assert torch.allclose(a, b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_exact_on_whole_numbers(name: str, dtype: torch.dtype) -> None:
    random = torch.Generator().manual_seed(0)
    for channels, filters, rows, cols in ((1, 6, 28, 28), (3, 16, 12, 15), (4, 5, 9, 31)):

        def draw(*shape: int) -> torch.Tensor:
            return torch.randint(-3, 4, shape, generator=random).to(dtype).requires_grad_()

        given_ = draw(2, 3, channels, rows, cols), draw(2, filters, channels, 5, 5), draw(2, filters)
        plain = functional.relu(functional.max_pool2d(grouped_convolution(*given_).flatten(0, 1), 2)).unflatten(
            0, (2, 3)
        )
        gradients = draw(*plain.shape).detach()
        with variant(name):
            ours = FusedConvolution.apply(*given_)
            found = torch.autograd.grad((ours * gradients).sum(), given_)
        assert torch.equal(ours, plain)
        assert all(map(torch.equal, found, torch.autograd.grad((plain * gradients).sum(), given_)))


@pytest.mark.skipif("x86-64-v4" not in VARIANTS, reason="this processor has no larger registers to do without")
@pytest.mark.parametrize("filters", [6, 16, 32])
def test_a_processor_with_larger_registers_gives_the_same_bits(filters: int) -> None:
    random = torch.Generator().manual_seed(filters)
    x, w, b = (
        torch.randn(shape, generator=random) for shape in ((2, 3, 6, 12, 15), (2, filters, 6, 5, 5), (2, filters))
    )
    found = []
    for name in ("x86-64-v3", "x86-64-v4"):
        with variant(name):
            found.append(FusedConvolution.apply(x, w, b))
    assert torch.equal(*found)


@pytest.mark.skipif(not (ROOT / "hatch_build.py").exists(), reason="there is no source tree here")
@pytest.mark.parametrize("package", ["binned", "networks"])
def test_the_kernels_of_this_source_tree_are_compiled_from_their_source(package: str) -> None:
    folder = kernel_module.compiled_folder(package)
    record = folder / "build.json"
    assert record.exists(), "run `python hatch_build.py` first"
    source = hashlib.sha256((folder.parent / "kernel.c").read_bytes()).hexdigest()
    assert json.loads(record.read_text("utf-8"))["source"] == source, "run `python hatch_build.py` first"


@pytest.mark.skipif(not VARIANTS, reason=str(NO_KERNEL))
def test_the_processor_runs_the_fastest_variant_that_it_can() -> None:
    flags = set(kernel_module.processor().split())  # as Linux tells them
    with variant("on"):
        chosen = kernel_module.chosen_kernel()
    assert chosen == kernel_module.KernelChoice(VARIANTS[-1])
    if "x86-64" in VARIANTS and "sse2" in flags:
        assert ("x86-64-v3" in VARIANTS) == ({"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm"} <= flags)
        wide = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
        assert ("x86-64-v4" in VARIANTS) == ("x86-64-v3" in VARIANTS and wide <= flags)


@pytest.mark.parametrize(("wanted", "variants"), [("x86-64-v9", VARIANTS), ("x86-64-v4", VARIANTS[:1])])
def test_a_variant_that_does_not_run_here_is_refused(
    wanted: str, variants: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_module, "runnable_variants", lambda: (variants, None))
    with variant(wanted), pytest.raises(KernelError, match=f"NEUID3_KERNEL={wanted} .*choose one of: off"):
        network_kernel.kernel(torch.float32)


FOLDERS = {
    "none": ({}, "python hatch_build.py"),
    "no compiler": ({"build.json": '{"variants": {}, "reason": "no C compiler was found"}'}, "no C compiler was found"),
    "of another machine": (
        {"build.json": '{"variants": {"sparc": 0}, "reason": null}', "kernel-sparc-float32.so": "no library"},
        "cannot be loaded",
    ),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_where_no_library_can_be_loaded_torch_runs_and_the_reason_is_given(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, reason = FOLDERS[case]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(kernel_module, "compiled_folder", lambda _: tmp_path)
    kernel_module.runnable_variants.cache_clear()
    try:
        with variant("on"):
            assert reason in str(kernel_module.chosen_kernel().reason)
            assert network_kernel.kernel(torch.float32) is None
    finally:
        kernel_module.runnable_variants.cache_clear()


def test_nan_weights_give_nan_outputs_of_that_network_only() -> None:
    nets = [LeNet(2) for _ in range(2)]
    with torch.no_grad():
        nets[1].look[0].weight[:] = float("nan")
    found = network_group(nets, [])(torch.rand(2, 3, 1, 28, 28))
    assert torch.isfinite(found[0]).all()
    assert torch.isnan(found[1]).all()


def test_the_kernel_runs_a_network_as_it_is_now() -> None:
    if not VARIANTS:
        pytest.skip(NO_KERNEL)
    torch.manual_seed(0)
    for inputs, shape in ((1, (5, 28, 28)), (2, (5, 1, 20, 31))):
        net = LeNet(3, inputs=inputs, size=shape[-2:]).requires_grad_(False).eval()
        seen = [torch.rand(shape) for _ in range(inputs)]
        assert runs_by_kernel(net)
        for _ in range(2):
            assert torch.allclose(run_by_kernel(net, *seen), net(*seen), atol=1e-6)
            net.look[0].weight.mul_(-1)
        net.look[0].register_forward_hook(lambda *_: None)
        assert not runs_by_kernel(net), "the kernel would skip the hook"
    assert not runs_by_kernel(nn.utils.parametrizations.weight_norm(LeNet(3).look[0]))
    augmented = LeNet(3)
    nn.utils.parametrizations.weight_norm(augmented.look[0])
    assert not runs_by_kernel(augmented)
    assert not runs_by_kernel(LeNet(3, dropout=0.5).train())


@pytest.mark.parametrize("shape", [(3, 17, 20), (17, 20)])
@pytest.mark.parametrize("kind", [np.uint8, np.float32])
@pytest.mark.usefixtures("way")
def test_images_are_shifted_and_made_grayscale(shape: tuple[int, ...], kind: type) -> None:
    rng = np.random.default_rng(0)
    column = (rng.random((6, *shape)) * (255 if kind is np.uint8 else 1)).astype(kind)
    rows = torch.tensor([4, 0, 0, 5])
    augmentation = Augmentation(
        torch.tensor([-2, 0, 1, 2]), torch.tensor([1, 0, -2, 2]), torch.tensor([True, False, True, False])
    )
    to = torch.empty(4, *shape)
    InputColumns({"x": column}).read("x", rows, to, augmentation)
    for image, row, down, right, grayscale in zip(
        to, rows, augmentation.down, augmentation.right, augmentation.grayscale, strict=True
    ):
        whole = column[row].astype(np.float64) / (255 if kind is np.uint8 else 1)
        planes = whole if whole.ndim == 3 else whole[None]
        planes = np.broadcast_to(planes.max(0), planes.shape) if grayscale else planes
        padded = np.pad(planes, ((0, 0), (2, 2), (2, 2)))
        y, x = 2 + int(down), 2 + int(right)
        want = padded[:, y : y + shape[-2], x : x + shape[-1]]
        assert np.allclose(image.numpy(), want if len(shape) == 3 else want[0], atol=1e-5)
    plain = torch.from_numpy(column).double()
    assert torch.allclose(augmented(plain, Augmentation.identity(6)), plain, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("shape", [(3, 17, 20), (17, 20)])
def test_the_kernel_warps_as_torch_does(shape: tuple[int, ...]) -> None:
    if not VARIANTS:
        pytest.skip(NO_KERNEL)
    rng, random = np.random.default_rng(1), torch.Generator().manual_seed(0)
    column = (rng.random((5, *shape)) * 255).astype(np.uint8)
    augmentation = Augmentation(
        torch.tensor([0, 1, -2, 2, 0]),
        torch.tensor([0, -2, 1, 0, 2]),
        torch.tensor([True, False, False, True, False]),
        torch.eye(2, dtype=torch.float64) + 0.4 * (torch.rand(5, 2, 2, generator=random, dtype=torch.float64) - 0.5),
    )
    to = torch.empty(5, *shape, dtype=torch.float64)
    InputColumns({"x": column}).read("x", torch.arange(5), to, augmentation)
    plain = torch.from_numpy(column).double() / 255
    assert torch.allclose(to, augmented(plain, augmentation), atol=1e-6)
