"""Probabilities of the values of random variables for a batch of examples, from columns, priors and networks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch

from neuid3.data.columns import Boolean, Category, Column, Distribution, Probability
from neuid3.data.examples import Examples
from neuid3.data.priors import Priors, network_call_name
from neuid3.errors import NetworkError
from neuid3.logic.formula import (
    CellVariable,
    ChoiceVariable,
    ColumnVariable,
    NeuralVariable,
    Variable,
)
from neuid3.logic.program import Declaration

# Called as net(x1, …, xk) on batches; returns probabilities, (n, k) for a predicate and (n, 1) for a fact.
Network: TypeAlias = Callable[..., torch.Tensor]

# How far from 1 the outputs of a network may sum; single precision needs some slack.
TOLERANCE = 1e-3

# Examples in one forward pass without gradients: the activations between layers then fit the processor's cache.
BLOCK = 512


class NetworkCall(NamedTuple):
    """An instance of a network applied to input columns.

    Attributes
    ----------
    network : the name of the instance.
    inputs : the columns that it reads, in the order of its arguments.
    width : how many numbers it returns for an example.
    """

    network: str
    inputs: tuple[str, ...]
    width: int


class Evidence:
    """The weights of random variables for a batch of examples; network outputs are computed once and kept.

    Parameters
    ----------
    examples : the batch.
    networks : the network of every instance name.
    declarations : the neural declarations of the program by their numbers.
    priors : the distributions that stand for missing entries.
    dtype : the precision of the weights.
    device : where the weights are computed.
    """

    def __init__(
        self,
        examples: Examples,
        networks: Mapping[str, Network],
        declarations: Mapping[int, Declaration],
        priors: Priors | None = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> None:
        self.examples = examples
        self.networks = networks
        self.declarations = declarations
        self.priors = priors or Priors()
        self.dtype, self.device = dtype, torch.device(device)
        self._outputs: dict[tuple[str, tuple[str, ...]], torch.Tensor] = {}
        self._evaluated: dict[tuple[str, tuple[str, ...]], Any] = {}  # masks of the examples with a network output
        self._weights: dict[Variable, torch.Tensor] = {}

    def __len__(self) -> int:
        return len(self.examples)

    def with_networks(self, networks: Mapping[str, Network], priors: Priors) -> Evidence:
        """The same examples with other networks; outputs of networks that are the same object are kept."""
        other = Evidence(self.examples, networks, self.declarations, priors, self.dtype, self.device)
        same = {name for name, network in networks.items() if self.networks.get(name) is network}
        other._outputs = {key: output for key, output in self._outputs.items() if key[0] in same}
        other._evaluated = {key: mask for key, mask in self._evaluated.items() if key[0] in same}
        return other

    def subset(self, rows: Any, columns: Sequence[str], calls: Iterable[NetworkCall]) -> Evidence:
        """The evidence of some rows and columns, with the outputs of these network calls.

        The networks run on all examples of this evidence first.
        """
        outputs = {(call.network, call.inputs): self.output(*call) for call in calls}
        other = Evidence(
            self.examples.select(columns)[rows],
            self.networks,
            self.declarations,
            self.priors,
            self.dtype,
            self.device,
        )
        index = rows if isinstance(rows, slice) else torch.as_tensor(rows, dtype=torch.long, device=self.device)
        other._outputs = {key: output[index] for key, output in outputs.items()}
        return other

    def is_missing(self, name: str) -> bool:
        """Whether an entry of this column is missing in this batch."""
        missing = self.examples.column(name).missing
        return missing is not None and bool(missing.any())

    def weights(self, variable: Variable) -> torch.Tensor:
        """The probability of every value of a variable, as `(value, example)`."""
        if isinstance(variable, CellVariable):
            # Every path has cells of its own; a cache of all of them would fill the memory.
            return self._weigh(variable)
        if variable not in self._weights:
            self._weights[variable] = self._weigh(variable)
        return self._weights[variable]

    def _weigh(self, variable: Variable) -> torch.Tensor:
        match variable:
            case ColumnVariable():
                return self._column(variable)
            case CellVariable():
                return self._cells(variable)
            case ChoiceVariable(weights=weights):
                return self._tensor(np.array(weights)).unsqueeze(1).expand(-1, len(self))
            case NeuralVariable():
                return self._neural(variable)

    def _tensor(self, array: Any) -> torch.Tensor:
        return as_tensor(array).to(self.device, self.dtype)

    def _column(self, variable: ColumnVariable) -> torch.Tensor:
        column = self.examples.column(variable.column)
        match column.kind:
            case Boolean() | Probability():
                true = self._tensor(column.values.astype(np.float64))
                known = torch.stack((1.0 - true, true))
            case Category():
                known = self._one_hot(column.values, variable.size)
            case Distribution():
                known = self._tensor(np.ascontiguousarray(column.values.T))
            case other:
                raise AssertionError(f"a {other} column is no variable by itself")
        if not self.is_missing(variable.column):
            return known
        return self._fill(known, column, self.priors.column(variable.column, column.kind))

    def _cells(self, variable: CellVariable) -> torch.Tensor:
        column = self.examples.column(variable.column)
        numbers = column.values
        beyond = [numbers > cut.at if cut.above else numbers >= cut.at for cut in variable.boundaries]
        known = self._one_hot(np.sum(beyond, axis=0), variable.size)
        if not self.is_missing(variable.column):
            return known
        return self._fill(known, column, self.priors.cells(variable.column, variable.boundaries))

    def _one_hot(self, codes: Any, size: int) -> torch.Tensor:
        values = as_tensor(np.asarray(codes, dtype=np.int64)).to(self.device)
        return (torch.arange(size, device=self.device).unsqueeze(1) == values).to(self.dtype)  # (value, example)

    def _fill(self, known: torch.Tensor, column: Column, prior: Any) -> torch.Tensor:
        missing = as_tensor(np.asarray(column.missing)).to(self.device)
        return torch.where(missing, self._tensor(prior).unsqueeze(1), known)

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

    def is_complete(self, call: NetworkCall) -> bool:
        """Whether a network has run on all examples."""
        mask = self._evaluated.get((call.network, call.inputs))
        return mask is not None and bool(mask.all())

    def tensor(self, name: str, dtype: torch.dtype | None = None) -> torch.Tensor:
        """A column as input of a network; see `readable`."""
        return readable(self.examples.column(name), dtype or torch.get_default_dtype(), self.device)

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
        average = self._tensor(self.priors.network(network, inputs, width))
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


def as_tensor(array: Any) -> torch.Tensor:
    """An array as a tensor; a read-only array is copied, since torch has no read-only tensors."""
    plain = np.ascontiguousarray(array)
    return torch.from_numpy(plain if plain.flags.writeable else plain.copy())


def readable(column: Column, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A column as input of a network: bytes as fractions of 255, a number as a vector of length 1."""
    tensor = as_tensor(column.values).to(device, dtype)
    scaled = tensor / 255 if column.values.dtype == np.uint8 else tensor
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
