"""How are networks written as ONNX? By torch, all of a tree at once, and then compared with themselves."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from functools import reduce
from io import StringIO
from typing import Any

import torch
from torch import nn

from neuid3.data.columns import Tensor
from neuid3.data.priors import network_use
from neuid3.errors import ExportError, NeuID3Error
from neuid3.export.deepproblog import as_module
from neuid3.export.onnx.graph import EXAMPLES, needed
from neuid3.tree.evidence import NetworkCall, as_probabilities, check_output, input_dtype, run_network
from neuid3.tree.model import TreeModel

# How far the probabilities that a network gives as ONNX may be from those it gives in torch.
TOLERANCE = 1e-4

# Networks are traced with one number of examples and compared with others, one example among them.
_TRACED, _COMPARED = 3, (1, 4)


def precision(model: TreeModel, column: str) -> torch.dtype:
    """In which precision a tensor is handed in: that of the networks that read it, single at least."""
    readers = [input_dtype(model.networks[network]) for network, inputs, _ in model.uses if column in inputs]
    return reduce(torch.promote_types, readers, torch.float32)


class Networks(nn.Module):
    """Networks of a tree as one module: from columns, as the file takes them, to probabilities for each look."""

    def __init__(self, model: TreeModel, looks: Sequence[NetworkCall]) -> None:
        super().__init__()
        self.looks, self.dtype = looks, model.dtype
        self.columns = [name for name in model.schema if any(name in inputs for _, inputs, _ in looks)]
        names = list(dict.fromkeys(network for network, _, _ in looks))
        self.held = nn.ModuleList(as_module(model.networks[name]) for name in names)
        self.places = [(names.index(name), [self.columns.index(i) for i in inputs]) for name, inputs, _ in looks]
        self.precisions = [input_dtype(model.networks[name]) for name in names]

    def forward(self, columns: list[torch.Tensor]) -> list[torch.Tensor]:
        shown = zip(self.places, self.looks, strict=True)
        return [
            as_probabilities(self.held[place](*self.read(columns, place, inputs)), self.dtype, width)
            for (place, inputs), (_, _, width) in shown
        ]

    def read(self, columns: list[torch.Tensor], place: int, inputs: list[int]) -> list[torch.Tensor]:
        """Columns as a network reads them: in its precision, a number as a vector of length 1."""
        given = [columns[i].to(self.precisions[place]) for i in inputs]
        return [column.unsqueeze(1) if column.ndim == 1 else column for column in given]

    def check(self, columns: list[torch.Tensor]) -> None:
        """Does every network return probabilities?"""
        for (place, inputs), (network, names, width) in zip(self.places, self.looks, strict=True):
            output = run_network(self.held[place], network, names, self.read(columns, place, inputs))
            check_output(output, network, names, len(columns[0]), width)


def write_networks(model: TreeModel, looks: Sequence[NetworkCall], opset: int) -> tuple[list[str], Any]:
    """The columns that networks read, and the ONNX model that makes a table of probabilities of them for each look."""
    needed("onnxscript")
    runtime = needed("onnxruntime")
    networks = Networks(model, looks)
    with model.evaluating(), torch.no_grad(), _quiet():
        samples = {n: _noise(model, networks.columns, n) for n in (_TRACED, *_COMPARED)}
        networks.check(samples[_TRACED])
        try:
            written = _write(networks, samples[_TRACED], opset)
            _compare(networks, _session(runtime, written), [samples[n] for n in _COMPARED])
        except NeuID3Error:
            raise
        except Exception as error:
            if len(looks) > 1:
                for look in looks:  # whoever fails alone is the culprit
                    write_networks(model, [look], opset)
            raise ExportError(
                f"{_called(looks)} cannot be written as ONNX ({_shortly(error)}); "
                "it must be made of operations that torch.onnx and onnxruntime know, for any number of examples."
            ) from error
    return networks.columns, written


def _noise(model: TreeModel, columns: Sequence[str], n: int) -> list[torch.Tensor]:
    """Examples that mean nothing, to be looked at."""
    generator = torch.Generator().manual_seed(n)
    made = []
    for name in columns:
        kind = model.schema[name]
        shape, dtype = (kind.shape, precision(model, name)) if isinstance(kind, Tensor) else ((), torch.float64)
        made.append(torch.rand(n, *shape, generator=generator).to(model.device, dtype))
    return made


def _write(networks: Networks, columns: list[torch.Tensor], opset: int) -> Any:
    captured = _captured(networks, columns)
    program = torch.onnx.export(captured, dynamo=True, opset_version=opset, verbose=False)
    assert program is not None
    return needed("onnx.inliner").inline_local_functions(program.model_proto)


def _captured(networks: Networks, columns: list[torch.Tensor]) -> Any:
    """What the networks do, for any number of examples."""
    shapes = ([{0: torch.export.Dim(EXAMPLES)} for _ in columns],)
    try:
        return torch.export.export(networks, (columns,), dynamic_shapes=shapes, strict=False)
    except Exception as error:
        try:
            # Slower; it reads the code itself, and so understands len(x).
            return torch.export.export(networks, (columns,), dynamic_shapes=shapes, strict=True)
        except Exception:
            raise error from None


def _session(runtime: Any, written: Any) -> Any:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1  # for a handful of examples, threads take more time than they save
    options.log_severity_level = 3  # errors, which are raised as well
    return runtime.InferenceSession(written.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _compare(networks: Networks, session: Any, samples: Sequence[list[torch.Tensor]]) -> None:
    """Refuse networks that answer otherwise in onnxruntime than in torch."""
    names = [given.name for given in session.get_inputs()]
    for columns in samples:
        theirs = session.run(None, {name: c.cpu().numpy() for name, c in zip(names, columns, strict=True)})
        for look, ours, found in zip(networks.looks, networks(columns), theirs, strict=True):
            expected = ours.cpu().numpy()
            difference = abs(expected - found).max() if found.shape == expected.shape else float("inf")
            if not difference <= TOLERANCE:
                raise ExportError(
                    f"{_called([look])} gives other probabilities as ONNX (a difference of {difference:.2g} for "
                    f"{len(expected)} examples); is it the same for any number of examples, and each time?"
                )


def _called(looks: Sequence[NetworkCall]) -> str:
    told = ", ".join(network_use(network, inputs) for network, inputs, _ in looks)
    return f"Network {told}" if len(looks) == 1 else f"Networks {told}"


def _shortly(error: BaseException) -> str:
    """The first line of what went wrong first."""
    while error.__cause__ is not None:
        error = error.__cause__
    told = str(error).strip().partition("\n")[0]
    return told[:200].rstrip(".!") or type(error).__name__


@contextmanager
def _quiet() -> Iterator[None]:
    """torch tells at length what it is doing, and what it could not do; our errors say what matters."""
    logger = logging.getLogger("torch")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
