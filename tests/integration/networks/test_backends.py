"""Backends: the laws of the interface, and the default backend against the reference."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from neuid3.errors import BackendError
from neuid3.networks import (
    Backend,
    BatchedBackend,
    Dense,
    GroupOptimizer,
    LeNet,
    NetworkGroup,
    TorchBackend,
    backend_name,
    backend_names,
    register_backend,
    select_backend,
)
from neuid3.utils import kernel as kernel_module

REFERENCE = TorchBackend()
BACKENDS = [TorchBackend(), BatchedBackend()]
VARIANTS, _ = kernel_module.runnable_variants()


@pytest.fixture(params=["kernel", "no kernel"], autouse=True)
def kernel_setting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """With the compiled kernel where there is one, and with torch's own operations."""
    if request.param == "kernel" and not VARIANTS:
        pytest.skip("there is no kernel here")
    monkeypatch.setenv("NEUID3_KERNEL", "on" if request.param == "kernel" else "off")
    kernel_module.clear_choice()
    yield
    kernel_module.clear_choice()


# Architectures ---------------------------------------------------------------------------------------


class TwoBranches(nn.Module):
    """A module whose branches are added, one of them scaled by a parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.end = nn.Linear(6, 5), nn.Linear(6, 5), nn.Linear(5, 3)
        self.scale = nn.Parameter(torch.tensor(0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.flatten(1)
        return torch.softmax(self.end(torch.relu(self.left(flat)) + self.scale * torch.tanh(self.right(flat))), 1)


class UnusualOperations(nn.Module):
    """A module of einsum, sorting, cumulative sums and a writing in place."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs, self.bias = nn.Parameter(torch.randn(6, 6) / 6), nn.Parameter(torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.flatten(1).sort(1).values.cumsum(1).clone()
        flat[:, 0] = 1.0
        return torch.sigmoid(torch.einsum("ni,ij,nj->n", flat, self.pairs, flat)[:, None] + self.bias)


class DependsOnValues(nn.Module):
    """A module whose path through the code depends on its inputs, which `torch.func` cannot trace."""

    def __init__(self) -> None:
        super().__init__()
        self.low, self.high = nn.Linear(6, 1), nn.Linear(6, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.flatten(1)
        return torch.sigmoid((self.high if float(flat.sum()) > 0 else self.low)(flat))


class Normalised(nn.Module):
    """A module with batch normalisation, whose buffers change from batch to batch."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.end = nn.BatchNorm1d(6), nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.end(self.norm(x.flatten(1))), 1)


class Tied(nn.Module):
    """A module that uses one layer twice, under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.first = self.second = nn.Linear(6, 6)
        self.end = nn.Linear(6, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.end(torch.tanh(self.second(torch.tanh(self.first(x.flatten(1)))))))


class SharedWeight(Tied):
    """A module of two layers with one matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.second = nn.Linear(6, 6)
        self.second.weight = self.first.weight


class PartlyFrozen(nn.Module):
    """A module of two inputs, of which a part is not trained."""

    def __init__(self) -> None:
        super().__init__()
        self.fixed, self.free = nn.Linear(6, 4).requires_grad_(False), nn.Linear(8, 1)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.free(torch.cat([torch.relu(self.fixed(v.flatten(1))) for v in (x, y)], 1)))


@dataclass(frozen=True)
class Architecture:
    """How a network is made, and the shapes of an entry of its inputs."""

    make: Callable[[], nn.Module]
    shapes: tuple[tuple[int, ...], ...]


def standardised_dense(width: int, sizes: list[int], hidden: int) -> nn.Module:
    network = Dense(width, sizes, hidden, standardised=True)
    network.standardise.fit(torch.randn(9, sum(sizes), dtype=torch.float64).numpy())  # type: ignore[operator]
    return network


@st.composite
def lenets(draw: st.DrawFn) -> Architecture:
    size = draw(st.tuples(st.integers(6, 30), st.integers(6, 30)))
    width, inputs, channels = draw(st.tuples(st.integers(1, 4), st.integers(1, 2), st.sampled_from([1, 3])))
    flat = channels == 1 and draw(st.booleans())
    shape = size if flat else (channels, *size)
    return Architecture(lambda: LeNet(width, inputs=inputs, channels=channels, size=size), (shape,) * inputs)


@st.composite
def dense(draw: st.DrawFn) -> Architecture:
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    width, hidden = draw(st.tuples(st.integers(1, 4), st.integers(1, 9)))
    make = standardised_dense if draw(st.booleans()) else Dense
    return Architecture(lambda: make(width, sizes, hidden), tuple((size,) for size in sizes))


@st.composite
def sequences(draw: st.DrawFn) -> Architecture:
    layers: list[Callable[[], nn.Module]] = [nn.Flatten]
    activations = st.sampled_from([nn.ReLU, nn.Tanh, nn.GELU, nn.Softplus, nn.Identity])
    width = 6
    for _ in range(draw(st.integers(0, 2))):
        following = draw(st.integers(2, 6))
        layers.append(lambda a=width, b=following: nn.Linear(a, b, bias=b % 2 == 0))
        if draw(st.booleans()):
            kind = draw(st.sampled_from([nn.BatchNorm1d, nn.LayerNorm]))
            layers.append(lambda kind=kind, b=following: kind(b))
        layers.append(draw(activations))
        width = following
    layers += [lambda a=width: nn.Linear(a, 3), lambda: nn.Softmax(1)]
    return Architecture(lambda: nn.Sequential(*(layer() for layer in layers)), ((2, 3),))


OWN_MODULES = [
    Architecture(TwoBranches, ((2, 3),)),
    Architecture(UnusualOperations, ((6,),)),
    Architecture(DependsOnValues, ((6,),)),
    Architecture(Normalised, ((2, 3),)),
    Architecture(Tied, ((6,),)),
    Architecture(SharedWeight, ((6,),)),
    Architecture(PartlyFrozen, ((2, 3), (6,))),
]
ARCHITECTURES = lenets() | dense() | sequences() | st.sampled_from(OWN_MODULES)


def make_networks(
    architecture: Architecture, count: int, examples: int, dtype: torch.dtype, seed: int
) -> tuple[list[nn.Module], list[torch.Tensor]]:
    """Networks of an architecture, and random inputs `(network, example, …)` for them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        networks = [architecture.make().to(dtype) for _ in range(count)]
        precision = getattr(networks[0], "input_dtype", None) or dtype
        return networks, [torch.randn(count, examples, *shape, dtype=precision) for shape in architecture.shapes]


def group_of(runs_on: Backend, networks: Sequence[nn.Module], inputs: Sequence[torch.Tensor]) -> NetworkGroup:
    return runs_on.group(copy.deepcopy(list(networks)), [x[:, :2] for x in inputs])


def backward(group: NetworkGroup, inputs: Sequence[torch.Tensor]) -> torch.Tensor:
    """The outputs of a group, after a backward pass of a loss that treats all of them differently."""
    for weights in group.weights.values():
        assert weights.grad is not None
        weights.grad.zero_()
    outputs = group(*inputs)
    factors = torch.linspace(-1.0, 2.0, outputs.numel(), dtype=outputs.dtype).view(outputs.shape)
    (factors * outputs).sum().backward()
    return outputs.detach()


# The default backend against the reference ----------------------------------------------------------


@given(
    architecture=ARCHITECTURES,
    count=st.integers(1, 4),
    examples=st.integers(2, 6),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    training=st.booleans(),
    seed=st.integers(0, 999),
)
def test_the_default_backend_agrees_with_the_reference_in_outputs_gradients_and_a_step(
    architecture: Architecture, count: int, examples: int, dtype: torch.dtype, training: bool, seed: int
) -> None:
    networks, inputs = make_networks(architecture, count, examples, dtype, seed)
    near = {"rtol": 1e-3, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 1e-9, "atol": 1e-10}
    groups = [group_of(each, networks, inputs) for each in BACKENDS]
    for group in groups:
        group.train(training)
    expected, outputs = (backward(group, inputs) for group in groups)
    assert outputs.dtype == expected.dtype
    torch.testing.assert_close(outputs, expected, **near)
    reference, fast = (group.weights for group in groups)
    assert list(fast) == list(reference)
    for name, weights in reference.items():
        torch.testing.assert_close(fast[name].grad, weights.grad, **near)
        fast[name].grad.copy_(weights.grad)  # Adam would amplify differences of gradients near 0
    rates = [0.01 * (i + 1) for i in range(count)]
    for each, group in zip(BACKENDS, groups, strict=True):
        optimizer = each.optimizer(list(group.weights.values()), 0.1)
        optimizer.step(1, rates, 0.8)
        optimizer.step(2, rates, 0.9)
    for i in range(count):
        theirs = groups[0].module(i).state_dict()
        for name, values in groups[1].module(i).state_dict().items():
            torch.testing.assert_close(values, theirs[name], **near)


@given(architecture=ARCHITECTURES, dtype=st.sampled_from([torch.float32, torch.float64]), seed=st.integers(0, 999))
def test_the_default_backend_predicts_as_the_reference_does(
    architecture: Architecture, dtype: torch.dtype, seed: int
) -> None:
    (network,), inputs = make_networks(architecture, 1, 4, dtype, seed)
    network.eval()
    with torch.no_grad():
        expected, outputs = (each.run(network, *(x[0] for x in inputs)) for each in BACKENDS)
    torch.testing.assert_close(outputs, expected, rtol=1e-4, atol=1e-5 if dtype == torch.float32 else 1e-10)
    assert not network.training


def test_the_reference_is_the_modules_themselves_and_the_optimizer_of_torch() -> None:
    networks, inputs = make_networks(Architecture(TwoBranches, ((2, 3),)), 3, 5, torch.float64, 0)
    group = group_of(REFERENCE, networks, inputs)
    outputs = backward(group, inputs)
    optimizer = REFERENCE.optimizer(list(group.weights.values()), 0.1)
    optimizer.step(1, [0.01, 0.02, 0.03])
    factors = torch.linspace(-1.0, 2.0, outputs.numel(), dtype=torch.float64).view(outputs.shape)
    for i, network in enumerate(networks):
        alone = network(*(x[i] for x in inputs))
        assert torch.equal(outputs[i], alone.detach())
        (factors[i] * alone).sum().backward()
        torch.optim.AdamW(network.parameters(), 0.01 * (i + 1), weight_decay=0.1).step()
        trained = group.module(i)
        for name, parameter in network.named_parameters():
            torch.testing.assert_close(trained.get_parameter(name), parameter, rtol=1e-12, atol=1e-14)


# Laws of each backend --------------------------------------------------------------------------------

LAW_CASES = [
    Architecture(lambda: LeNet(3, size=(17, 20)), ((17, 20),)),
    Architecture(lambda: Dense(2, [6]), ((6,),)),
    Architecture(TwoBranches, ((2, 3),)),
    Architecture(Normalised, ((6,),)),
]
laws = pytest.mark.parametrize(
    ("each", "architecture"),
    [pytest.param(b, a, id=f"{b.name}-{i}") for b in BACKENDS for i, a in enumerate(LAW_CASES)],
)


def train(group: NetworkGroup, optimizer: GroupOptimizer, inputs: Sequence[torch.Tensor], steps: range) -> None:
    group.train()
    for number in steps:
        backward(group, inputs)
        optimizer.step(number, [0.01] * len(inputs[0]), 0.9)


@laws
def test_nan_in_one_network_leaves_the_others_as_they_are(each: Backend, architecture: Architecture) -> None:
    networks, inputs = make_networks(architecture, 3, 4, torch.float32, 1)
    whole = group_of(each, networks, inputs)
    with torch.no_grad():
        for parameter in networks[1].parameters():
            parameter.fill_(float("nan"))
    broken = group_of(each, networks, inputs)
    expected, outputs = backward(whole, inputs), backward(broken, inputs)
    assert torch.isnan(outputs[1]).all()
    for i in (0, 2):
        torch.testing.assert_close(outputs[i], expected[i])
        for name, weights in whole.weights.items():
            torch.testing.assert_close(broken.weights[name].grad[i], weights.grad[i])


@laws
def test_copies_share_no_memory_with_the_group(each: Backend, architecture: Architecture) -> None:
    networks, inputs = make_networks(architecture, 2, 4, torch.float32, 2)
    group = group_of(each, networks, inputs)
    optimizer = each.optimizer(list(group.weights.values()))
    train(group, optimizer, inputs, range(1, 2))
    copied, moments = group.module(1), optimizer.moments(1)
    before = copy.deepcopy((copied.state_dict(), moments))
    train(group, optimizer, inputs, range(2, 4))
    assert all(torch.equal(values, before[0][name]) for name, values in copied.state_dict().items())
    for pair, pair_before in zip(moments, before[1], strict=True):
        assert all(map(torch.equal, pair, pair_before))
    later = optimizer.moments(1)
    assert not all(torch.equal(now[0], then[0]) for now, then in zip(later, moments, strict=True))


@laws
@pytest.mark.parametrize("other", BACKENDS, ids=lambda b: f"on {b.name}")
def test_training_continues_from_copies_as_if_it_had_not_paused(
    each: Backend, architecture: Architecture, other: Backend
) -> None:
    networks, inputs = make_networks(architecture, 2, 5, torch.float64, 3)
    group = group_of(each, networks, inputs)
    optimizer = each.optimizer(list(group.weights.values()), 0.1)
    train(group, optimizer, inputs, range(1, 4))
    resumed = other.group([group.module(i) for i in range(2)], [x[:, :2] for x in inputs])
    continued = other.optimizer(list(resumed.weights.values()), 0.1)
    for i in range(2):
        continued.resume(i, optimizer.moments(i))
    train(group, optimizer, inputs, range(4, 7))
    train(resumed, continued, inputs, range(4, 7))
    for i in range(2):
        theirs = group.module(i).state_dict()
        for name, values in resumed.module(i).state_dict().items():
            torch.testing.assert_close(values, theirs[name], rtol=1e-7, atol=1e-9)


@laws
def test_prediction_uses_the_weights_and_hooks_that_a_network_has_now(
    each: Backend, architecture: Architecture
) -> None:
    (network,), inputs = make_networks(architecture, 1, 4, torch.float64, 4)
    arguments, calls = [x[0] for x in inputs], []
    network.eval()
    with torch.no_grad():
        before = each.run(network, *arguments)
        for parameter in network.parameters():
            parameter.mul_(-2.0)
        after = each.run(network, *arguments)
        next(network.children()).register_forward_hook(lambda *_: calls.append(1))
        hooked = each.run(network, *arguments)
    assert not torch.allclose(before, after)
    torch.testing.assert_close(after, hooked)
    assert calls == [1]


@laws
def test_the_same_calls_give_the_same_bits(each: Backend, architecture: Architecture) -> None:
    networks, inputs = make_networks(architecture, 2, 4, torch.float32, 5)
    trained = []
    for _ in range(2):
        group = group_of(each, networks, inputs)
        train(group, each.optimizer(list(group.weights.values()), 0.1), inputs, range(1, 4))
        trained.append(group.module(1).state_dict())
    assert all(torch.equal(values, trained[1][name]) for name, values in trained[0].items())


@pytest.mark.parametrize("each", BACKENDS, ids=lambda b: b.name)
def test_a_backend_is_a_value_that_can_be_pickled(each: Backend) -> None:
    received = pickle.loads(pickle.dumps(each))
    assert received == each
    assert hash(received) == hash(each)
    assert select_backend(each.name) == each
    assert each.supports(UnusualOperations(), torch.device("cpu"))


# Names -----------------------------------------------------------------------------------------------


class Renamed(TorchBackend):
    """A user's backend."""

    name = "mine"


def test_a_registered_backend_is_found_by_its_name() -> None:
    registered = register_backend(Renamed())
    assert select_backend("mine") is registered
    assert "mine" in backend_names()
    assert backend_name(registered) == backend_name("mine") == "mine"


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BackendError, match=r"No backend is called 'tensorflow' here\. Known: auto, batched,.* torch\."):
        select_backend("tensorflow")
    assert backend_name("tensorflow") == "tensorflow", "a file may name a backend that is not here"


def test_names_of_our_own_cannot_be_taken() -> None:
    with pytest.raises(BackendError, match="'torch' belongs to a backend of neuid3; give yours another name"):
        register_backend(TorchBackend())


def test_an_object_that_is_no_backend_is_refused_with_what_it_lacks() -> None:
    class Half:
        name = "half"

        def supports(self, *_: object) -> bool:
            return True

    with pytest.raises(BackendError, match="has no group, optimizer, run"):
        select_backend(Half())  # type: ignore[arg-type]
    with pytest.raises(BackendError, match="is a class; pass an instance of it"):
        select_backend(TorchBackend)  # type: ignore[arg-type]

    class Unhashable(TorchBackend):
        name = "unhashable"
        __hash__ = None  # type: ignore[assignment]

    with pytest.raises(BackendError, match="'unhashable' is not hashable"):
        select_backend(Unhashable())
