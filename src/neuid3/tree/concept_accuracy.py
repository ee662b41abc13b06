"""Concept accuracy: the values that the networks of a tree return, compared with labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.examples import Examples
from neuid3.errors import DataError
from neuid3.tree.anchors import Anchors, NetworkLabels, distinct
from neuid3.tree.inference import Inference
from neuid3.tree.labels import model_labels
from neuid3.tree.model import TreeModel
from neuid3.tree.record import ConceptScore
from neuid3.tree.semantics import NetworkCall

Floats = npt.NDArray[np.float64]

# No label is less probable than this, so that a wrong one does not outweigh all others.
LEAST_PROBABILITY = 1e-4


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
        correct = np.zeros(0, dtype=bool) if of_network is None else _correct(model, examples, of_network, call)
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
    check_labels(labels)
    record = model.training_record
    trained = {} if record is None else {score.network: score.trained for score in record.concepts}
    scores = concept_scores(model, examples, distinct(labels))
    return tuple(replace(score, trained=trained.get(score.network, 0)) for score in scores)


def check_labels(labels: Anchors) -> None:
    """Check that there are labels.

    Raises
    ------
    DataError : where there are none.
    """
    if not labels:
        raise DataError(
            "There are no labels to compare with; give concepts={'PREDICATE(COLUMN)': labels}, or a table with such a column."
        )


def _first_calls(model: TreeModel) -> dict[str, NetworkCall]:
    """A call of each instance."""
    return {call.network: call for call in sorted(model.network_calls, reverse=True)}


def _declared(model: TreeModel, instance: str) -> int:
    """The number of the declaration whose network an instance is."""
    return next(number for number, name in model.declarations_and_instances if name == instance)


def _correct(model: TreeModel, examples: Examples, labels: NetworkLabels, call: NetworkCall) -> npt.NDArray[np.bool_]:
    """Whether the value of each label is the most probable one; labels of inputs of another shape are left out."""
    with model.evaluating():
        outputs, values = label_outputs(model.inference, model.networks, examples, labels, call)
    correct: npt.NDArray[np.bool_] = outputs.argmax(1) == values
    return correct


def confirmed_values(model: TreeModel, examples: Examples, labels: Anchors) -> dict[str, tuple[int, ...]]:
    """The values that networks of a tree have learned as labels name them.

    Parameters
    ----------
    model : the tree with its networks.
    examples : the labelled examples, with the kinds of the model's schema.
    labels : the labels, by declared network.

    Returns
    -------
    For each network instance the values whose labelled inputs it reads as this value in more than half of the cases; none
    for a labelled network that the tree does not call, by its declared name.
    """
    confirmed: dict[str, tuple[int, ...]] = {}
    of_instances = {
        instance: (model.program.declarations[_declared(model, instance)].network, call)
        for instance, call in _first_calls(model).items()
    }
    with model.evaluating():
        for instance, (network, call) in of_instances.items():
            if network in labels:
                outputs, values = label_outputs(model.inference, model.networks, examples, labels[network], call)
                right = outputs.argmax(1) == values
                learned = tuple(v for v in np.unique(values).tolist() if right[values == v].mean() > 0.5)
                confirmed |= {instance: learned} if learned else {}
    called = {network for network, _ in of_instances.values()}
    return confirmed | {network: () for network in labels if network not in called}


def label_outputs(
    inference: Inference, networks: Mapping[str, Any], examples: Examples, labels: NetworkLabels, call: NetworkCall
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """The probabilities that a network gives to its values on labelled inputs.

    Parameters
    ----------
    inference : exact inference under the program.
    networks : the networks, by instance.
    examples : the labelled examples.
    labels : the labels; those of inputs of another shape than the call's are left out.
    call : a call of the network.

    Returns
    -------
    Probabilities, `(label, value)`, with the values no and yes of a neural fact; and the values of the labels, `(label,)`.
    """
    schema = inference.semantics.program.schema
    outputs, values = [np.zeros((0, max(call.width, 2)))], [np.zeros(0, dtype=np.int64)]
    for inputs, rows, of_call in labels.by_call():
        if [schema[name] for name in inputs] == [schema[name] for name in call.inputs]:
            evidence = inference.evidence(examples.select(list(dict.fromkeys(inputs)))[rows], networks)
            _, probabilities = inference.outputs(evidence, NetworkCall(call.network, inputs, call.width))
            outputs.append(np.hstack((1.0 - probabilities, probabilities)) if call.width == 1 else probabilities)
            values.append(of_call)
    return np.concatenate(outputs), np.concatenate(values)


def label_likelihoods(
    inference: Inference,
    networks: Mapping[str, Any],
    examples: Examples,
    labels: Anchors,
    calls: Iterable[NetworkCall],
) -> dict[tuple[str, str], Floats]:
    """How likely labels of each declared network are, if they are read off the outputs of each instance.

    Parameters
    ----------
    inference : exact inference under the program.
    networks : the networks, by instance.
    examples : the labelled examples.
    labels : labels by declared network.
    calls : calls of the instances of a tree.

    Returns
    -------
    For an instance and a declared network of as many values the sum of log P(output) over the labels of each value,
    relative to a network that guesses, in nats, `(output, value)`.
    """
    widths = {
        declaration.network: declaration.width for declaration in inference.semantics.program.declarations.values()
    }
    likelihoods: dict[tuple[str, str], Floats] = {}
    for call in {call.network: call for call in sorted(calls, reverse=True)}.values():
        for network, of_network in labels.items():
            if widths[network] != call.width:
                continue
            outputs, values = label_outputs(inference, networks, examples, of_network, call)
            if len(values):
                size = outputs.shape[1]
                logs = np.log(np.maximum(outputs, LEAST_PROBABILITY) * size)  # (label, output)
                likelihoods[call.network, network] = logs.T @ np.eye(size)[values]
    return likelihoods
