"""Networks as ONNX: all networks of a tree are exported at once by torch and compared with the originals."""

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
from neuid3.data.priors import network_call_name
from neuid3.encoders.sentences import SentenceEncoder
from neuid3.errors import ExportError, NeuID3Error
from neuid3.export.deepproblog import as_module
from neuid3.export.onnx.graph import EXAMPLES, require
from neuid3.tree.base_model import BaseModel
from neuid3.tree.network_evidence import as_probabilities, check_output, input_dtype, run_network
from neuid3.tree.semantics import NetworkCall

# The largest difference between the probabilities of a network in onnxruntime and in torch.
TOLERANCE = 1e-4

# Batch sizes: networks are traced with one and compared with others, among them a single example.
_TRACED, _COMPARED = 3, (1, 4)


def precision(model: BaseModel, column: str) -> torch.dtype:
    """The precision of a tensor input: that of the networks that read it, at least single; single for an encoder."""
    kind = model.schema[column]
    if isinstance(kind, Tensor) and kind.encoded is not None:
        return torch.float32
    readers = [input_dtype(model.networks[network]) for network, inputs, _ in model.network_calls if column in inputs]
    return reduce(torch.promote_types, readers, torch.float32)


class Networks(nn.Module):
    """The networks of a tree as one module: from the columns of the file to the probabilities of each network call."""

    def __init__(self, model: BaseModel, calls: Sequence[NetworkCall]) -> None:
        super().__init__()
        self.calls, self.dtype = calls, model.dtype
        self.columns = [name for name in model.schema if any(name in inputs for _, inputs, _ in calls)]
        names = list(dict.fromkeys(network for network, _, _ in calls))
        # This attribute's name is part of the names of weights in exported files.
        self.held = nn.ModuleList(as_module(model.networks[name]) for name in names)
        # For each call, the index of its network and those of its columns.
        self.indices = [(names.index(name), [self.columns.index(i) for i in inputs]) for name, inputs, _ in calls]
        self.precisions = [input_dtype(model.networks[name]) for name in names]
        if isinstance(model.encoder, SentenceEncoder):
            raise ExportError(
                f"An ONNX file cannot hold the sentence encoder {model.encoder.name}; fit without `encoder`, or predict with neuid3."
            )
        self.encoder = None if model.encoder is None else model.encoder.module
        kinds = [model.schema[name] for name in self.columns]
        self.are_encoded = [isinstance(kind, Tensor) and kind.encoded is not None for kind in kinds]

    def forward(self, columns: list[torch.Tensor]) -> list[torch.Tensor]:
        """The probabilities of each call, as `(example, value)`."""
        columns = self.encoded(columns)
        pairs = zip(self.indices, self.calls, strict=True)
        return [
            as_probabilities(self.held[index](*self.inputs(columns, index, inputs)), self.dtype, width)
            for (index, inputs), (_, _, width) in pairs
        ]

    def encoded(self, columns: list[torch.Tensor]) -> list[torch.Tensor]:
        """The columns with the vectors of an encoder in place of pictures."""
        pairs = zip(columns, self.are_encoded, strict=True)
        return [self._vectors(column) if is_encoded else column for column, is_encoded in pairs]

    def _vectors(self, pictures: torch.Tensor) -> torch.Tensor:
        assert self.encoder is not None
        planes = pictures.unsqueeze(1) if pictures.ndim == 3 else pictures
        vectors: torch.Tensor = self.encoder(planes.float()).flatten(1)
        return vectors

    def inputs(self, columns: list[torch.Tensor], network: int, indices: list[int]) -> list[torch.Tensor]:
        """The inputs of a network: columns in its precision, a number as a vector of length 1."""
        converted = [columns[i].to(self.precisions[network]) for i in indices]
        return [column.unsqueeze(1) if column.ndim == 1 else column for column in converted]

    def check(self, columns: list[torch.Tensor]) -> None:
        """Refuse networks that do not return probabilities."""
        columns = self.encoded(columns)
        for (index, inputs), (network, names, width) in zip(self.indices, self.calls, strict=True):
            output = run_network(self.held[index], network, names, self.inputs(columns, index, inputs))
            check_output(output, network, names, len(columns[0]), width)


def write_networks(model: BaseModel, calls: Sequence[NetworkCall], opset: int) -> tuple[list[str], Any]:
    """An ONNX model of network calls.

    Returns
    -------
    The columns that it reads, in order, and the model, with an output `(example, value)` for each call.

    Raises
    ------
    ExportError : if a network cannot be exported, or gives other probabilities as ONNX.
    """
    require("onnxscript")
    runtime = require("onnxruntime")
    networks = Networks(model, calls)
    with model.evaluating(), torch.no_grad(), _quiet():
        samples = {n: _random_columns(model, networks.columns, n) for n in (_TRACED, *_COMPARED)}
        networks.check(samples[_TRACED])
        try:
            written = _write(networks, samples[_TRACED], opset)
            _compare(networks, _session(runtime, written), [samples[n] for n in _COMPARED])
        except NeuID3Error:
            raise
        except Exception as error:
            if len(calls) > 1:
                for call in calls:  # the first one that fails alone is named in the error
                    write_networks(model, [call], opset)
            raise ExportError(
                f"{_named(calls)} cannot be written as ONNX ({_first_line(error)}); "
                "it must consist of operations that torch.onnx and onnxruntime support, for any number of examples."
            ) from error
    return networks.columns, written


def _random_columns(model: BaseModel, columns: Sequence[str], n: int) -> list[torch.Tensor]:
    """Random numbers of the shapes of these columns, for tracing and comparing."""
    generator = torch.Generator().manual_seed(n)
    tensors = []
    for name in columns:
        kind = model.schema[name]
        shape, dtype = (kind.shape, precision(model, name)) if isinstance(kind, Tensor) else ((), torch.float64)
        tensors.append(torch.rand(n, *shape, generator=generator).to(model.device, dtype))
    return tensors


def _write(networks: Networks, columns: list[torch.Tensor], opset: int) -> Any:
    traced = _traced(networks, columns)
    program = torch.onnx.export(traced, dynamo=True, opset_version=opset, verbose=False)
    assert program is not None
    return require("onnx.inliner").inline_local_functions(program.model_proto)


def _traced(networks: Networks, columns: list[torch.Tensor]) -> Any:
    """The networks as a `torch.export` program for any number of examples."""
    shapes = ([{0: torch.export.Dim(EXAMPLES)} for _ in columns],)
    try:
        return torch.export.export(networks, (columns,), dynamic_shapes=shapes, strict=False)
    except Exception as error:
        try:
            # Slower, but it analyses the bytecode and so supports len(x).
            return torch.export.export(networks, (columns,), dynamic_shapes=shapes, strict=True)
        except Exception:
            raise error from None


def _session(runtime: Any, written: Any) -> Any:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1  # for a few examples, threads cost more time than they save
    options.log_severity_level = 3  # errors, which are raised as well
    return runtime.InferenceSession(written.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _compare(networks: Networks, session: Any, samples: Sequence[list[torch.Tensor]]) -> None:
    """Refuse networks whose probabilities in onnxruntime differ from those in torch."""
    names = [value.name for value in session.get_inputs()]
    for columns in samples:
        outputs = session.run(None, {name: c.cpu().numpy() for name, c in zip(names, columns, strict=True)})
        for call, reference, output in zip(networks.calls, networks(columns), outputs, strict=True):
            expected = reference.cpu().numpy()
            difference = abs(expected - output).max() if output.shape == expected.shape else float("inf")
            if not difference <= TOLERANCE:
                raise ExportError(
                    f"{_named([call])} gives other probabilities as ONNX (a difference of {difference:.2g} for "
                    f"{len(expected)} examples); make it deterministic and independent of the number of examples."
                )


def _named(calls: Sequence[NetworkCall]) -> str:
    names = ", ".join(network_call_name(network, inputs) for network, inputs, _ in calls)
    return f"Network {names}" if len(calls) == 1 else f"Networks {names}"


def _first_line(error: BaseException) -> str:
    """The first line of the message of the original error."""
    while error.__cause__ is not None:
        error = error.__cause__
    line = str(error).strip().partition("\n")[0]
    return line[:200].rstrip(".!") or type(error).__name__


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the log, the warnings and the messages of torch; errors of this module carry what matters."""
    logger = logging.getLogger("torch")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
