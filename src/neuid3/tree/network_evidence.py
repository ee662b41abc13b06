"""Outputs of networks for a batch of examples, as evidence about the random variables of neural predicates."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import torch

from neuid3.circuits.arrays import Arrays
from neuid3.circuits.torch_arrays import TorchArrays, as_tensor
from neuid3.data.columns import Column
from neuid3.data.examples import Examples
from neuid3.data.priors import Priors, network_call_name
from neuid3.errors import NetworkError
from neuid3.logic.formula import NeuralVariable
from neuid3.logic.program import Declaration
from neuid3.networks.backend import Backend
from neuid3.tree.evidence import Evidence
from neuid3.tree.semantics import NetworkCall

# Called as net(x1, …, xk) on batches; returns probabilities, (n, k) for a predicate and (n, 1) for a fact.
Network: TypeAlias = Callable[..., torch.Tensor]

# How far from 1 the outputs of a network may sum; single precision needs some slack.
TOLERANCE = 1e-3

# Examples in one forward pass without gradients: the activations between layers then fit the processor's cache.
BLOCK = 512


# Modules in `eval()` mode for the time of a prediction: how many threads use them, and their `training` flag before.
_MODES: dict[torch.nn.Module, tuple[int, bool]] = {}
_MODES_LOCK = threading.Lock()


class NetworkEvidence(Evidence):
    """Evidence with networks, in torch; network outputs are computed once and kept.

    Parameters
    ----------
    examples : the batch.
    networks : the network of every instance name.
    declarations : the neural declarations of the program by their numbers.
    priors : the distributions that stand for missing entries.
    arrays : the precision of the weights, and where they are computed.
    """

    def __init__(
        self,
        examples: Examples,
        networks: Mapping[str, Network],
        declarations: Mapping[int, Declaration],
        priors: Priors | None = None,
        arrays: Arrays | None = None,
    ) -> None:
        self._torch = TorchArrays() if arrays is None else arrays
        assert isinstance(self._torch, TorchArrays), "networks run in torch"
        super().__init__(examples, priors, self._torch)
        self.networks = networks
        self.declarations = declarations
        self.dtype, self.device = self._torch.dtype, self._torch.device
        self._outputs: dict[tuple[str, tuple[str, ...]], torch.Tensor] = {}
        self._evaluated: dict[tuple[str, tuple[str, ...]], Any] = {}  # masks of the examples with a network output

    def with_networks(self, networks: Mapping[str, Network], priors: Priors) -> NetworkEvidence:
        """The same examples with other networks; outputs of networks that are the same object are kept."""
        other = NetworkEvidence(self.examples, networks, self.declarations, priors, self._torch)
        same = {name for name, network in networks.items() if self.networks.get(name) is network}
        other._outputs = {key: output for key, output in self._outputs.items() if key[0] in same}
        other._evaluated = {key: mask for key, mask in self._evaluated.items() if key[0] in same}
        return other

    def subset(self, rows: Any, columns: Sequence[str], calls: Iterable[NetworkCall] = ()) -> NetworkEvidence:
        """The evidence of some rows and columns, with the outputs of these network calls.

        The networks run on all examples of this evidence first.
        """
        outputs = {(call.network, call.inputs): self.output(*call) for call in calls}
        examples = self.examples.select(columns)[rows]
        other = NetworkEvidence(examples, self.networks, self.declarations, self.priors, self._torch)
        index = rows if isinstance(rows, slice) else self._torch.indices(rows)
        other._outputs = {key: output[index] for key, output in outputs.items()}
        return other

    def _neural(self, variable: NeuralVariable) -> torch.Tensor:
        declaration = self.declarations[variable.declaration]
        output = self.output(variable.network, variable.inputs, declaration.width)  # (example, value)
        if declaration.values is None:
            return torch.stack((1.0 - output[:, 0], output[:, 0]))
        return output.T

    def output(self, network: str, inputs: tuple[str, ...], width: int) -> torch.Tensor:
        """The output of a network on these columns, `(example, width)`; its prior where an input is missing.

        Raises
        ------
        NetworkError : where the network fails, or its output has another width or is no distribution.
        """
        key = (network, inputs)
        if key not in self._outputs:
            self._outputs[key] = self._run(network, inputs, width)
            self._evaluated[key] = np.ones(len(self), dtype=bool)
        if self._outputs[key].shape[1] != width:
            raise NetworkError(_wrong_width(network, inputs, tuple(self._outputs[key].shape), len(self), width))
        return self._outputs[key]

    def evaluate(self, call: NetworkCall, mask: Any) -> None:
        """Run a network on the examples of a mask, `(example,)`, where it has not run yet.

        Examples that it never runs on have a uniform output.
        """
        network, inputs, width = call
        key = (network, inputs)
        evaluated = self._evaluated.get(key, np.zeros(len(self), dtype=bool))
        rows = np.flatnonzero(mask & ~evaluated)
        if len(rows) == len(self):
            self._outputs[key] = self._run(network, inputs, width)
        else:
            uniform = torch.full((len(self), width), 1.0 / max(width, 2), dtype=self.dtype, device=self.device)
            output = self._outputs.setdefault(key, uniform)
            if rows.size:
                new = self._run(network, inputs, width, rows)
                self._outputs[key] = output.index_copy(0, torch.as_tensor(rows, device=self.device), new)
        self._evaluated[key] = evaluated | mask
        for variable in [v for v in self._weights if isinstance(v, NeuralVariable) and (v.network, v.inputs) == key]:
            del self._weights[variable]

    def evaluated(self, call: NetworkCall) -> Any:
        """The mask of the examples that a network has run on, `(example,)`."""
        return self._evaluated.get((call.network, call.inputs), np.zeros(len(self), dtype=bool))

    def _run(self, network: str, inputs: tuple[str, ...], width: int, rows: Any = None) -> torch.Tensor:
        """The output of a network on these rows, all of them by default; its prior where an input is missing."""
        columns = [self.examples.column(name) for name in inputs]
        columns = columns if rows is None else [column.take(rows) for column in columns]
        n = len(columns[0])
        missing = np.zeros(n, dtype=bool)
        for column in columns:
            missing |= False if column.missing is None else column.missing
        if not missing.any():
            return self._call(network, inputs, columns, width)
        present = np.flatnonzero(~missing)
        absent = np.logical_or.reduce([np.zeros(n, bool) if c.absent is None else c.absent for c in columns])
        if (missing & ~absent).any():
            average = self._torch.floats(self.priors.network(network, inputs, width))
        else:  # where a slot is empty, nothing depends on what a network would say
            average = self._torch.full((width,), 1.0 / max(width, 2))
        filled = average.expand(n, width).clone()
        if present.size:
            output = self._call(network, inputs, [column.take(present) for column in columns], width)
            filled = filled.index_copy(0, torch.as_tensor(present, device=self.device), output)
        return filled

    def _call(self, network: str, inputs: tuple[str, ...], columns: list[Column], width: int) -> torch.Tensor:
        n = len(columns[0])
        if n > BLOCK and not torch.is_grad_enabled():
            whole = torch.empty(n, width, dtype=self.dtype, device=self.device)
            for start in range(0, n, BLOCK):
                block = [column.take(slice(start, start + BLOCK)) for column in columns]
                whole[start : start + BLOCK] = self._call(network, inputs, block, width)
            return whole
        function = self.networks[network]
        tensors = [readable(column, input_dtype(function), self.device) for column in columns]
        output = run_network(function, network, inputs, tensors)
        check_output(output, network, inputs, len(columns[0]), width)
        return as_probabilities(output, self.dtype, width)


def run_network(
    function: Network, network: str, inputs: tuple[str, ...], tensors: Sequence[torch.Tensor]
) -> torch.Tensor:
    """The output of a network on these tensors.

    Raises
    ------
    NetworkError : where the network fails; it names the network, its columns and the shapes of its inputs.
    """
    try:
        return function(*tensors)
    except NetworkError:
        raise
    except Exception as error:
        shapes = ", ".join(str(tuple(tensor.shape)) for tensor in tensors)
        raise NetworkError(
            f"Network {network_call_name(network, inputs)} failed on inputs of shape {shapes}: {error}; does it fit its columns?"
        ) from error


def as_probabilities(output: torch.Tensor, dtype: torch.dtype, width: int) -> torch.Tensor:
    """The output of a network as probabilities that sum to 1 in the precision of the tree."""
    exact = output.to(dtype)
    # Single precision sums to 1 ± 1e-7; in double precision that error would show in every leaf.
    return exact.clamp(0.0, 1.0) if width == 1 else exact / exact.sum(1, keepdim=True)


def readable(column: Column, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A column as input of a network: bytes as fractions of 255, a number as a vector of length 1."""
    tensor = as_tensor(column.inputs).to(device, dtype)
    scaled = tensor / 255 if column.inputs.dtype == np.uint8 else tensor
    return scaled.unsqueeze(1) if scaled.ndim == 1 else scaled


def dtype_of(function: Network) -> torch.dtype:
    """The precision that a network computes in."""
    if isinstance(function, torch.nn.Module):
        for parameter in function.parameters():
            if parameter.is_floating_point():
                return parameter.dtype
    return torch.get_default_dtype()


def input_dtype(function: Network) -> torch.dtype:
    """The precision of a network's inputs: that of its attribute `input_dtype`, or else that of its parameters."""
    declared = getattr(function, "input_dtype", None)
    return declared if isinstance(declared, torch.dtype) else dtype_of(function)


def check_output(output: Any, network: str, inputs: tuple[str, ...], n: int, width: int) -> None:
    """Raise a `NetworkError` unless an output holds probabilities, `(n, width)`, that sum to 1 where `width` > 1."""
    if not isinstance(output, torch.Tensor) or tuple(output.shape) != (n, width):
        shape = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
        raise NetworkError(_wrong_width(network, inputs, shape, n, width))
    values = output.detach()
    lowest, highest = values.aminmax()
    total = values.sum(1) if width > 1 else highest.new_ones(1)
    least, most = total.aminmax()
    # Comparisons with NaN are false, so the extremes are enough to accept a valid output.
    if (
        float(lowest) >= 0.0
        and float(highest) <= 1.0 + TOLERANCE
        and float(most) - 1.0 <= TOLERANCE >= 1.0 - float(least)
    ):
        return
    end = "sigmoid" if width == 1 else "softmax over dimension 1"
    if not bool(torch.isfinite(values).all()):
        problem = "NaN or infinity; check its inputs, its weights and its learning rate"
    elif float(lowest) < 0.0 or float(highest) > 1.0 + TOLERANCE:
        problem = f"{float(lowest if float(lowest) < 0.0 else highest):.4g}, no probability; end it with a {end}"
    else:
        problem = f"rows that do not sum to 1; end it with a {end}"
    raise NetworkError(f"Network {network_call_name(network, inputs)} returned {problem}.")


def _wrong_width(network: str, inputs: tuple[str, ...], shape: Any, n: int, width: int) -> str:
    return f"Network {network_call_name(network, inputs)} returned {shape}; its declaration needs shape ({n}, {width})."


@contextmanager
def evaluating(networks: Iterable[Any]) -> Iterator[None]:
    """A context with these networks in `eval()` mode; their modes are restored at its end, also between threads."""
    modules = [module for module in networks if isinstance(module, torch.nn.Module)]
    submodules = list({submodule: None for module in modules for submodule in module.modules()})
    with _MODES_LOCK:
        for submodule in submodules:
            users, training = _MODES.get(submodule, (0, submodule.training))
            _MODES[submodule] = users + 1, training
        for module in modules:
            module.eval()
    try:
        yield
    finally:
        with _MODES_LOCK:
            for submodule in submodules:
                users, training = _MODES.pop(submodule)
                if users > 1:
                    _MODES[submodule] = users - 1, training
                else:
                    submodule.training = training


def on_backend(network: Network, backend: Backend, device: torch.device | str) -> Network:
    """The network as it runs in predictions: on the backend where it supports the network, else as it is."""
    if not isinstance(network, torch.nn.Module) or not backend.supports(network, torch.device(device)):
        return network
    return _BackendNetwork(network, backend)


class _BackendNetwork(torch.nn.Module):
    """A network that runs on a backend; its parameters and the precision of its inputs are those of the network."""

    def __init__(self, network: torch.nn.Module, backend: Backend) -> None:
        super().__init__()
        self.network, self.backend = network, backend
        self.input_dtype = getattr(network, "input_dtype", None)

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.backend.run(self.network, *inputs)
