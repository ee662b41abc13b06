"""How probable is each value of each variable, in each example of a batch?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch

from neuid3.data.columns import Boolean, Category, Column, Distribution, Probability
from neuid3.data.examples import Examples
from neuid3.data.priors import Priors, network_use
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

# How many examples a network looks at in one go when nobody asks for gradients: what its layers hand on fits the cache.
BLOCK = 512


class NetworkCall(NamedTuple):
    """A network, the columns it reads, and how many numbers it returns."""

    network: str
    inputs: tuple[str, ...]
    width: int


class Evidence:
    """A batch of examples seen through networks; every network runs at most once on each of its inputs."""

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
        self._looked: dict[tuple[str, tuple[str, ...]], Any] = {}  # masks of the examples that were shown
        self._weights: dict[Variable, torch.Tensor] = {}

    def __len__(self) -> int:
        return len(self.examples)

    def seen_through(self, networks: Mapping[str, Network], priors: Priors) -> Evidence:
        """The same examples seen through other networks; those that stay are not run again."""
        other = Evidence(self.examples, networks, self.declarations, priors, self.dtype, self.device)
        same = {name for name, network in networks.items() if self.networks.get(name) is network}
        other._outputs = {key: output for key, output in self._outputs.items() if key[0] in same}
        other._looked = {key: looked for key, looked in self._looked.items() if key[0] in same}
        return other

    def part(self, rows: Any, columns: Sequence[str], looks: Iterable[NetworkCall]) -> Evidence:
        """Some of the examples, with these columns, and with what these looks have shown of them; networks run on all of them first."""
        shown = {(look.network, look.inputs): self.output(*look) for look in looks}
        other = Evidence(
            self.examples.select(columns)[rows],
            self.networks,
            self.declarations,
            self.priors,
            self.dtype,
            self.device,
        )
        where = rows if isinstance(rows, slice) else torch.as_tensor(rows, dtype=torch.long, device=self.device)
        other._outputs = {key: output[where] for key, output in shown.items()}
        return other

    def is_missing(self, name: str) -> bool:
        """Is an entry of this column missing in this batch?"""
        missing = self.examples.column(name).missing
        return missing is not None and bool(missing.any())

    def weights(self, variable: Variable) -> torch.Tensor:
        """The probability of every value of a variable, as `(value, example)`."""
        if isinstance(variable, CellVariable):
            return self._weigh(variable)  # every path cuts its columns anew; keeping all cells would fill the memory
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
                held = self._tensor(column.values.astype(np.float64))
                known = torch.stack((1.0 - held, held))
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
        places = as_tensor(np.asarray(codes, dtype=np.int64)).to(self.device)
        return (torch.arange(size, device=self.device).unsqueeze(1) == places).to(self.dtype)  # (value, example)

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
        """What a network returns on these columns, `(example, width)`; average output where an input is missing."""
        key = (network, inputs)
        if key not in self._outputs:
            self._outputs[key] = self._run(network, inputs, width)
            self._looked[key] = np.ones(len(self), dtype=bool)
        if self._outputs[key].shape[1] != width:
            raise NetworkError(_wrong_width(network, inputs, tuple(self._outputs[key].shape), len(self), width))
        return self._outputs[key]

    def look(self, look: NetworkCall, wanted: Any) -> None:
        """Show a network the examples of this mask; of those it was never shown it knows nothing, and says so evenly."""
        network, inputs, width = look
        key = (network, inputs)
        looked = self._looked.get(key, np.zeros(len(self), dtype=bool))
        rows = np.flatnonzero(wanted & ~looked)
        if len(rows) == len(self):
            self._outputs[key] = self._run(network, inputs, width)
        else:
            clueless = torch.full((len(self), width), 1.0 / max(width, 2), dtype=self.dtype, device=self.device)
            output = self._outputs.setdefault(key, clueless)
            if rows.size:
                found = self._run(network, inputs, width, rows)
                self._outputs[key] = output.index_copy(0, torch.as_tensor(rows, device=self.device), found)
        self._looked[key] = looked | wanted
        for variable in [v for v in self._weights if isinstance(v, NeuralVariable) and (v.network, v.inputs) == key]:
            del self._weights[variable]

    def looked(self, look: NetworkCall) -> Any:
        """A mask of the examples that this network was shown."""
        return self._looked.get((look[0], look[1]), np.zeros(len(self), dtype=bool))

    def unseen(self, look: NetworkCall) -> bool:
        """Is there an example that this network was not shown?"""
        looked = self._looked.get((look[0], look[1]))
        return looked is None or not bool(looked.all())

    def tensor(self, name: str, dtype: torch.dtype | None = None) -> torch.Tensor:
        """A column as networks read it."""
        return readable(self.examples.column(name), dtype or torch.get_default_dtype(), self.device)

    def _run(self, network: str, inputs: tuple[str, ...], width: int, rows: Any = None) -> torch.Tensor:
        """What a network returns on these rows, all of them by default."""
        columns = [self.examples.column(name) for name in inputs]
        columns = columns if rows is None else [column.take(rows) for column in columns]
        n = len(columns[0])
        gone = np.zeros(n, dtype=bool)
        for column in columns:
            gone |= False if column.missing is None else column.missing
        if not gone.any():
            return self._call(network, inputs, columns, width)
        present = np.flatnonzero(~gone)
        average = self._tensor(self.priors.network(network, inputs, width))
        filled = average.expand(n, width).clone()
        if present.size:
            seen = self._call(network, inputs, [column.take(present) for column in columns], width)
            filled = filled.index_copy(0, torch.as_tensor(present, device=self.device), seen)
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
        read = [readable(column, input_dtype(function), self.device) for column in columns]
        output = run_network(function, network, inputs, read)
        check_output(output, network, inputs, len(columns[0]), width)
        return as_probabilities(output, self.dtype, width)


def run_network(function: Network, network: str, inputs: tuple[str, ...], read: Sequence[torch.Tensor]) -> torch.Tensor:
    """What a network returns; where it fails, the error says which network and on what."""
    try:
        return function(*read)
    except NetworkError:
        raise
    except Exception as error:
        shapes = ", ".join(str(tuple(tensor.shape)) for tensor in read)
        raise NetworkError(
            f"Network {network_use(network, inputs)} failed on inputs of shape {shapes}: {error}; does it fit its columns?"
        ) from error


def as_probabilities(output: torch.Tensor, dtype: torch.dtype, width: int) -> torch.Tensor:
    """What a network returned, as probabilities in the precision of the tree."""
    exact = output.to(dtype)
    # Single precision sums to 1 ± 1e-7; in double precision that would be seen in every leaf.
    return exact.clamp(0.0, 1.0) if width == 1 else exact / exact.sum(1, keepdim=True)


def as_tensor(array: Any) -> torch.Tensor:
    """An array as a tensor; one that may not be written to is copied, since torch has no such tensors."""
    plain = np.ascontiguousarray(array)
    return torch.from_numpy(plain if plain.flags.writeable else plain.copy())


def readable(column: Column, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A column as networks read it: bytes as fractions of 255, a number as a vector of length 1."""
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
    """The precision in which a network is handed what it reads: its own, or the one that it asks for by `input_dtype`."""
    wanted = getattr(function, "input_dtype", None)
    return wanted if isinstance(wanted, torch.dtype) else dtype_of(function)


def check_output(output: Any, network: str, inputs: tuple[str, ...], n: int, width: int) -> None:
    if not isinstance(output, torch.Tensor) or tuple(output.shape) != (n, width):
        shape = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
        raise NetworkError(_wrong_width(network, inputs, shape, n, width))
    told = output.detach()
    lowest, highest = told.aminmax()
    total = told.sum(1) if width > 1 else highest.new_ones(1)
    least, most = total.aminmax()
    # Comparisons with NaN are false, so one look at the extremes of a healthy network is enough.
    if (
        float(lowest) >= 0.0
        and float(highest) <= 1.0 + TOLERANCE
        and float(most) - 1.0 <= TOLERANCE >= 1.0 - float(least)
    ):
        return
    use = network_use(network, inputs)
    end = "sigmoid" if width == 1 else "softmax over dimension 1"
    if not bool(torch.isfinite(told).all()):
        problem = "NaN or infinity; look at its inputs, its weights and its learning rate"
    elif float(lowest) < 0.0 or float(highest) > 1.0 + TOLERANCE:
        problem = f"{float(lowest if float(lowest) < 0.0 else highest):.4g}, no probability; end it with a {end}"
    else:
        problem = f"rows that do not sum to 1; end it with a {end}"
    raise NetworkError(f"Network {use} returned {problem}.")


def _wrong_width(network: str, inputs: tuple[str, ...], found: Any, n: int, width: int) -> str:
    return f"Network {network_use(network, inputs)} returned {found}; its declaration needs shape ({n}, {width})."
