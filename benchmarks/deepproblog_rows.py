"""DeepProbLog on the same problems, one example after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from deepproblog.engines import ExactEngine
from deepproblog.model import Model
from deepproblog.network import Network
from deepproblog.query import Query
from deepproblog.semiring.graph_semiring import GraphSemiring
from deepproblog.train import TrainObject
from problog.logic import Constant, Term

from neuid3.logic.prolog.engine import ClosedEngine


def deepproblog_step(
    program: str,
    predicate: str,
    name: str,
    network: torch.nn.Module,
    columns: Mapping[str, torch.Tensor],
    labels: torch.Tensor,
    *,
    cache: bool,
) -> Callable[[], Any]:
    """Forward and backward for every example, without an optimizer; rules are compiled before, when cached."""
    model = _model(program, name, network, columns, cache)
    queries = _queries(predicate, columns, [float(label) for label in labels])
    trainer = TrainObject(model)

    def step() -> Any:
        network.zero_grad(set_to_none=True)
        return trainer.get_loss(queries, GraphSemiring.cross_entropy)

    return step


def deepproblog_probabilities(
    program: str, predicate: str, name: str, network: torch.nn.Module, columns: Mapping[str, torch.Tensor]
) -> torch.Tensor:
    """DeepProbLog's probability for each example."""
    model = _model(program, name, network, columns, cache=True)
    rows = len(next(iter(columns.values())))
    results = model.solve(_queries(predicate, columns, [1.0] * rows))
    return torch.stack([torch.as_tensor(next(iter(result.result.values()))).detach() for result in results])


def _model(program: str, name: str, network: torch.nn.Module, columns: Mapping[str, torch.Tensor], cache: bool) -> Any:
    model = Model(program, [Network(network, name, batching=True)], load=False)
    engine = ExactEngine(model)
    engine.engine = ClosedEngine()
    model.set_engine(engine, cache=cache)
    for column, values in columns.items():
        model.add_tensor_source(column, {(Constant(i),): values[i] for i in range(len(values))})
    return model


def _queries(predicate: str, columns: Mapping[str, torch.Tensor], targets: Sequence[float]) -> list[Query]:
    """A query for each example, the columns as placeholders so that compiled rules can be kept."""
    goal = Term(predicate, *(Term(column) for column in columns))

    def tensors(row: int) -> dict[Term, Term]:
        return {Term(column): Term("tensor", Term(column, Constant(row))) for column in columns}

    return [Query(goal, tensors(row), p=target) for row, target in enumerate(targets)]
