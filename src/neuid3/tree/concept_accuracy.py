"""Concept accuracy: the values that the networks of a tree return, compared with labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from neuid3.data.examples import Examples
from neuid3.errors import DataError
from neuid3.tree.anchors import Anchors, NetworkLabels, distinct
from neuid3.tree.labels import model_labels
from neuid3.tree.model import TreeModel
from neuid3.tree.record import ConceptScore
from neuid3.tree.semantics import NetworkCall


def concept_scores(
    model: TreeModel, examples: Examples, labels: Anchors, trained: Mapping[str, int] | None = None
) -> tuple[ConceptScore, ...]:
    """The concept accuracy of every network of a tree that has labels.

    Parameters
    ----------
    model : the tree with its networks.
    examples : the labelled examples, with the kinds of the model's schema.
    labels : labels to measure on, by declared network.
    trained : the number of labels that networks were trained on, by declared network.

    Returns
    -------
    One score for each instance of a network that the tree calls, in the order of their names.
    """
    trained = trained or {}
    scores = []
    for instance, call in sorted(_first_calls(model).items()):
        declaration = _declared(model, instance)
        network = model.program.declarations[declaration].network
        concept = model.program.declarations[declaration].predicate
        of_network = labels.get(network)
        correct = np.zeros(0) if of_network is None else _correct(model, examples, of_network, call)
        if len(correct) or trained.get(network):
            accuracy = float(correct.mean()) if len(correct) else None
            scores.append(ConceptScore(instance, concept, trained.get(network, 0), len(correct), accuracy))
    return tuple(scores)


def score_concepts(model: TreeModel, X: Any, concepts: Mapping[str, Any] | None = None) -> tuple[ConceptScore, ...]:
    """The concept accuracy of each network of a tree on labelled examples.

    Parameters
    ----------
    model : the tree with its networks.
    X : the examples, as `Examples` or a table with the columns of the schema; columns such as `rank(first)` hold labels.
    concepts : further labels, as in `neuid3.tree.labels.model_labels`.

    Returns
    -------
    One score for each network that the tree calls and that has labels.

    Raises
    ------
    DataError : where there are no labels, or labels are not as they should be.
    """
    examples, labels = model_labels(model, X, concepts)
    if not labels:
        raise DataError(
            "There are no labels to compare with; give concepts={'PREDICATE(COLUMN)': labels}, or a table with such a column."
        )
    record = model.training_record
    trained = {} if record is None else {score.network: score.trained for score in record.concepts}
    scores = concept_scores(model, examples, distinct(labels))
    return tuple(replace(score, trained=trained.get(score.network, 0)) for score in scores)


def _first_calls(model: TreeModel) -> dict[str, NetworkCall]:
    """A call of each instance."""
    return {call.network: call for call in sorted(model.network_calls, reverse=True)}


def _declared(model: TreeModel, instance: str) -> int:
    """The number of the declaration whose network an instance is."""
    return next(number for number, name in model.declarations_and_instances if name == instance)


def _correct(
    model: TreeModel, examples: Examples, labels: NetworkLabels, call: NetworkCall
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """1 for each label whose value is the most probable one, else 0; labels of inputs of another shape are left out."""
    schema = model.schema
    parts = []
    for inputs, rows, values in labels.by_call():
        if [schema[name] for name in inputs] == [schema[name] for name in call.inputs]:
            needed = list(dict.fromkeys(inputs))
            evidence = model.evidence_of(examples.select(needed)[rows])
            _, outputs = model.inference.outputs(evidence, NetworkCall(call.network, inputs, call.width))
            predicted = outputs[:, 0] > 0.5 if call.width == 1 else outputs.argmax(1)
            parts.append((predicted == values).astype(np.float64))
    return np.concatenate(parts) if parts else np.zeros(0)
