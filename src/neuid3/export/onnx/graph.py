"""How is an ONNX graph written down? Node by node; every value is known by its name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.errors import ExportError

# All values that we make are called "/…", which keeps them apart from columns and outputs.
OURS = "/"

# The axis of the batch; its length is whatever the caller hands in.
EXAMPLES = "examples"


def needed(package: str) -> Any:
    """A package that only those need who write ONNX files."""
    try:
        return import_module(package)
    except ImportError:
        told = f'ONNX files need {package.split(".")[0]}; install it with: pip install "neuid3[onnx]".'
        raise ExportError(told) from None


class Graph:
    """Inputs, constants, nodes and outputs of a graph that is being written."""

    def __init__(self, opset: int) -> None:
        self._onnx = needed("onnx")
        self.opset = opset
        self._domains = {"": opset}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._nodes: list[Any] = []
        self._tensors: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def input(self, name: str, dtype: npt.DTypeLike, *shape: int) -> None:
        """A value that the caller hands in, of this shape for each example."""
        self._inputs.append(self._value(name, dtype, shape))

    def output(self, value: str, name: str, dtype: npt.DTypeLike, *shape: int) -> None:
        """Hand a value out by this name."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._value(name, dtype, shape))

    def _value(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> Any:
        return self._onnx.helper.make_tensor_value_info(name, self._type(dtype), [EXAMPLES, *shape])

    def _type(self, dtype: npt.DTypeLike) -> int:
        found: int = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return found

    def constant(self, array: Any, dtype: npt.DTypeLike | None = None) -> str:
        """A value that is the same for all examples; equal ones are kept once."""
        values = np.asarray(array, dtype=dtype)
        key = (values.dtype.str, values.shape, values.tobytes())
        if key not in self._constants:
            name = self._constants[key] = f"{OURS}constant_{len(self._constants)}"
            self._tensors.append(self._onnx.numpy_helper.from_array(values, name))
        return self._constants[key]

    def add(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """The value that an operation makes of others."""
        name = f"{OURS}{operation}_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operation, inputs, [name], **attributes))
        return name

    def cast(self, value: str, dtype: npt.DTypeLike) -> str:
        return self.add("Cast", value, to=self._type(dtype))

    def embed(self, model: Any, inputs: list[str]) -> list[str]:
        """Another model as a part of this graph: the names of what it makes of these values."""
        graph = self._onnx.compose.add_prefix_graph(model.graph, f"{OURS}networks/")
        for value, given in zip(inputs, graph.input, strict=True):
            self._nodes.append(self._onnx.helper.make_node("Identity", [value], [given.name]))
        self._nodes.extend(graph.node)
        self._tensors.extend(graph.initializer)
        self._domains |= {entry.domain: entry.version for entry in model.opset_import}
        return [made.name for made in graph.output]

    def model(self, told: str, metadata: dict[str, str]) -> Any:
        """The finished model, checked; `told` says in words what it is."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, "neuid3", self._inputs, self._outputs, self._tensors)
        imports = [helper.make_opsetid(domain, version) for domain, version in self._domains.items()]
        # The oldest format that has these operations is read by most programs.
        oldest = helper.find_min_ir_version_for(imports, ignore_unknown=True)
        made_by = {"producer_name": "neuid3", "producer_version": metadata["neuid3_version"]}
        model = helper.make_model(graph, opset_imports=imports, ir_version=oldest, doc_string=told, **made_by)
        helper.set_model_props(model, metadata)
        self._onnx.checker.check_model(model, full_check=True)
        return model
