"""Export of a tree to DeepProbLog: program, networks and the tensors of one example."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from neuid3.errors import ExportError
from neuid3.export.problog import translate_row
from neuid3.logic.quoting import atom_text, plain_name
from neuid3.tree.model import TreeModel
from neuid3.tree.network_evidence import Network, input_dtype, readable


@dataclass(frozen=True, slots=True)
class DeepProbLogProgram:
    """A tree as a DeepProbLog program, with everything that is needed to run it.

    Attributes
    ----------
    program : the text of the program. The image of column `card` is `tensor(card(0))`: entry 0 of the tensor source `card`.
    class_atoms : the atom of each class, in the order of the tree's classes; of each leaf, where it predicts numbers.
    networks : the networks, by the names that the program uses.
    tensors : the tensors of the example, by their tensor source.
    """

    program: str
    class_atoms: tuple[str, ...]
    networks: Mapping[str, Network]
    tensors: Mapping[str, torch.Tensor]

    def model(self) -> Any:
        """A `deepproblog.model.Model` with an exact engine, ready to solve queries for the class atoms.

        Raises
        ------
        ExportError
            Where DeepProbLog is not installed.
        """
        try:
            from deepproblog.engines import ExactEngine
            from deepproblog.model import Model
            from deepproblog.network import Network as DeepProbLogNetwork
            from problog.logic import Constant

            from neuid3.logic.prolog.engine import ClosedEngine
        except ImportError as error:
            raise ExportError(
                f"DeepProbLog cannot be imported ({error}); install it with 'pip install --no-deps deepproblog'."
            ) from None
        networks = [
            DeepProbLogNetwork(as_module(network), name, batching=True) for name, network in self.networks.items()
        ]
        model = Model(self.program, networks, load=False)
        engine = ExactEngine(model)
        engine.engine = ClosedEngine()  # the program comes from a model, which may come from an untrusted source
        model.set_engine(engine, cache=False)
        for name, tensor in self.tensors.items():
            model.add_tensor_source(name, {(Constant(0),): tensor})
        model.eval()
        return model

    def class_probabilities(self) -> list[float]:
        """The probability of each class according to DeepProbLog; of each leaf, where the tree predicts numbers."""
        model = self.model()
        from deepproblog.query import Query
        from problog.logic import Term

        solutions = model.solve([Query(Term(atom)) for atom in self.class_atoms])
        class_probabilities = []
        for atom, solution in zip(self.class_atoms, solutions, strict=True):
            probabilities = {str(term): float(value) for term, value in solution.result.items()}
            class_probabilities.append(probabilities.get(atom, 0.0))
        return class_probabilities


def to_deepproblog(model: TreeModel, X: Any, row: int = 0) -> DeepProbLogProgram:
    """A tree as a DeepProbLog program with its networks, for one example.

    Parameters
    ----------
    model : the tree with its program and networks.
    X : a table of examples.
    row : the example whose symbolic columns and tensors are exported.

    Returns
    -------
    The program with its networks and tensors; `.model()` makes a DeepProbLog model of it.
    """
    examples = model.read(X)[row]
    columns = sorted({name for _, inputs, _ in model.network_calls for name in inputs})
    constants = {name: f"tensor({atom_text(name)}(0))" for name in columns}
    translation = translate_row(model, examples, 0, constants)
    present = [name for name in columns if examples.complete([name]).all()]
    device = torch.device(model.device)
    tensors = {atom_text(name): readable(examples.column(name), _precision(model, name), device)[0] for name in present}
    networks = {
        plain_name(name): model.networks[name] for name in sorted({network for network, _, _ in model.network_calls})
    }
    return DeepProbLogProgram(translation.program, translation.class_atoms, networks, tensors)


def _precision(model: TreeModel, column: str) -> torch.dtype:
    """The precision of a column for DeepProbLog: double if all networks that read it are double."""
    dtypes = {input_dtype(model.networks[network]) for network, inputs, _ in model.network_calls if column in inputs}
    return torch.float64 if dtypes == {torch.float64} else torch.get_default_dtype()


def as_module(network: Network) -> torch.nn.Module:
    """A network as a module; a plain function is wrapped."""
    return network if isinstance(network, torch.nn.Module) else _FunctionModule(network)


class _FunctionModule(torch.nn.Module):
    """A module that calls a plain function."""

    def __init__(self, function: Network) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)
