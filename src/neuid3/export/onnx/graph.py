"""Builder of an ONNX graph: nodes are added one by one, and values are referred to by name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.errors import ExportError

# The names of intermediate values begin with this, so that they differ from those of columns and outputs.
PREFIX = "/"

# The name of the batch axis, which has any length.
EXAMPLES = "examples"


def require(package: str) -> Any:
    """Import an optional package that ONNX export needs.

    Raises
    ------
    ExportError : if it is not installed.
    """
    try:
        return import_module(package)
    except ImportError:
        name = package.split(".")[0]
        raise ExportError(f'ONNX files need {name}; install it with: pip install "neuid3[onnx]".') from None


class Graph:
    """Inputs, constants, nodes and outputs of a graph under construction."""

    def __init__(self, opset: int) -> None:
        self._onnx = require("onnx")
        self.opset = opset
        self._domains = {"": opset}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._nodes: list[Any] = []
        self._tensors: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def input(self, name: str, dtype: npt.DTypeLike, *shape: int) -> None:
        """Declare an input with this shape for each example."""
        self._inputs.append(self._value(name, dtype, shape))

    def output(self, value: str, name: str, dtype: npt.DTypeLike, *shape: int) -> None:
        """Declare a value as an output with this name, and this shape for each example."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._value(name, dtype, shape))

    def _value(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> Any:
        return self._onnx.helper.make_tensor_value_info(name, self._type(dtype), [EXAMPLES, *shape])

    def _type(self, dtype: npt.DTypeLike) -> int:
        tensor_type: int = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return tensor_type

    def constant(self, array: Any, dtype: npt.DTypeLike | None = None) -> str:
        """The name of a constant; equal constants are stored once."""
        values = np.asarray(array, dtype=dtype)
        key = (values.dtype.str, values.shape, values.tobytes())
        if key not in self._constants:
            name = self._constants[key] = f"{PREFIX}constant_{len(self._constants)}"
            self._tensors.append(self._onnx.numpy_helper.from_array(values, name))
        return self._constants[key]

    def add(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """Add an operation; returns the name of its output."""
        name = f"{PREFIX}{operation}_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operation, inputs, [name], **attributes))
        return name

    def cast(self, value: str, dtype: npt.DTypeLike) -> str:
        return self.add("Cast", value, to=self._type(dtype))

    def embed(self, model: Any, inputs: list[str]) -> list[str]:
        """Add another model to this graph, applied to these values; returns the names of its outputs."""
        graph = self._onnx.compose.add_prefix_graph(model.graph, f"{PREFIX}networks/")
        for value, target in zip(inputs, graph.input, strict=True):
            self._nodes.append(self._onnx.helper.make_node("Identity", [value], [target.name]))
        self._nodes.extend(graph.node)
        self._tensors.extend(graph.initializer)
        self._domains |= {entry.domain: entry.version for entry in model.opset_import}
        return [output.name for output in graph.output]

    def model(self, description: str, metadata: dict[str, str]) -> Any:
        """The finished model, checked."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, "neuid3", self._inputs, self._outputs, self._tensors)
        imports = [helper.make_opsetid(domain, version) for domain, version in self._domains.items()]
        # Most runtimes read the oldest format that has these operations.
        oldest = helper.find_min_ir_version_for(imports, ignore_unknown=True)
        producer = {"producer_name": "neuid3", "producer_version": metadata["neuid3_version"]}
        model = helper.make_model(graph, opset_imports=imports, ir_version=oldest, doc_string=description, **producer)
        helper.set_model_props(model, metadata)
        self._onnx.checker.check_model(model, full_check=True)
        return model
