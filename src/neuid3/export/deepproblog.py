"""How does a tree run in DeepProbLog? Its program, its networks, and the tensors of one example."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from neuid3.errors import ExportError
from neuid3.tree.evidence import Network


@dataclass(frozen=True, slots=True)
class DeepProbLogProgram:
    """A tree for DeepProbLog: `program` as text, `networks` by the names it uses, `tensors` by their source.

    In the program the image of column `card` is `tensor(card(0))`: entry 0 of the tensor source `card`.
    """

    program: str
    class_atoms: tuple[str, ...]
    networks: Mapping[str, Network]
    tensors: Mapping[str, torch.Tensor]

    def model(self) -> Any:
        """A `deepproblog.model.Model` with an exact engine, ready to be asked for the class atoms."""
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
        engine.engine = ClosedEngine()  # a program comes from a model, which may come from anywhere
        model.set_engine(engine, cache=False)
        for name, tensor in self.tensors.items():
            model.add_tensor_source(name, {(Constant(0),): tensor})
        model.eval()
        return model

    def class_probabilities(self) -> list[float]:
        """What DeepProbLog says about each class, in the order of the tree's classes."""
        model = self.model()
        from deepproblog.query import Query
        from problog.logic import Term

        answers = model.solve([Query(Term(atom)) for atom in self.class_atoms])
        found = []
        for atom, answer in zip(self.class_atoms, answers, strict=True):
            probabilities = {str(term): float(value) for term, value in answer.result.items()}
            found.append(probabilities.get(atom, 0.0))
        return found


def as_module(network: Network) -> torch.nn.Module:
    """A network as a module, which a plain function becomes."""
    return network if isinstance(network, torch.nn.Module) else _Wrapped(network)


class _Wrapped(torch.nn.Module):
    """A plain function as a module."""

    def __init__(self, function: Network) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)
