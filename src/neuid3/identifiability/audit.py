"""Audit of a model: its certificate on examples, and the short form that exports show."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Kind
from neuid3.data.examples import Examples
from neuid3.errors import DataError, ParameterError, did_you_mean
from neuid3.identifiability.certificate import Certificate
from neuid3.identifiability.certification import certify, tree_variables
from neuid3.identifiability.contradictions import find_contradictions
from neuid3.identifiability.observations import BATCH_ROWS, UNKNOWN, Observations, observed_values
from neuid3.identifiability.readings import ValueOf
from neuid3.logic.formula import Literal, NeuralVariable, sources
from neuid3.tree.anchors import distinct
from neuid3.tree.concept_accuracy import confirmed_values
from neuid3.tree.labels import model_labels
from neuid3.tree.model import TreeModel
from neuid3.tree.node_tests import AtomTest

# The time that text, pictures and pages take for the structural part of a certificate, in seconds.
SHORT_SECONDS = 2.0


def audit_model(
    model: TreeModel,
    X: Any,
    y: Any = None,
    *,
    concepts: Mapping[str, Any] | None = None,
    time_limit: float = 60.0,
    networks: Mapping[str, Any] | None = None,
) -> Certificate:
    """The certificate of a model on examples; text, pictures and pages of the model show its short form from then on.

    Parameters
    ----------
    model : the tree with its program and networks.
    X : the examples, as `Examples` or a table with the columns of the schema.
    y : their classes; with labels, examples whose labels contradict their class are reported.
    concepts : for a network call, as in `rank(first)`, the true value of each example, None or NaN where it is unknown.
        The most probable value of a network stands for a label that is not given.
    time_limit : seconds after which counts are bounds; 0 gives bounds only.
    networks : factories and modules of networks that a fit was given, by name.

    Returns
    -------
    The certificate.

    Raises
    ------
    DataError : where columns are missing, or classes or labels do not fit.
    ParameterError : where `time_limit` is no number, or negative.
    """
    check_time_limit(time_limit)
    examples, labels = model_labels(model, X, concepts)  # which may need more slots, and so give tests other formulas
    variables = tree_variables(model.tree.root, model.program)
    observations = observed_values(model, examples, labels, variables)
    classes = None if y is None else _class_codes(y, model.classes, len(observations.complete))
    rows = observations.complete
    fixed = {**model.labelled_values}
    for name, values in confirmed_values(model, examples, distinct(labels)).items():
        fixed[name] = tuple(sorted({*fixed.get(name, ()), *values}))
    certificate = observed_certificate(
        model,
        observations,
        given=settled_values(model, observations),
        fixed=fixed,
        seconds=float(time_limit),
        networks=networks,
    )
    if certificate.networks:
        contradicting = None if classes is None else find_contradictions(model, observations, classes)
        certificate = replace(certificate, incomplete_rows=int(np.sum(~rows)), contradictions=contradicting)
        if certificate.given is not None:
            wrong, compared = disagreements(model, examples, observations)
            certificate = replace(certificate, given=replace(certificate.given, wrong=wrong, compared=compared))
    model.certificate = certificate
    return certificate


def check_time_limit(time_limit: Any) -> None:
    """Raise a `ParameterError` unless a time limit is a number of seconds, 0 or more."""
    if isinstance(time_limit, bool) or not isinstance(time_limit, Real) or not float(time_limit) >= 0:
        raise ParameterError(f"time_limit={time_limit!r} is no number of seconds; give 0 or more.")


def observed_certificate(
    model: TreeModel,
    observations: Observations,
    *,
    settled: Iterable[ValueOf] = (),
    given: Iterable[ValueOf] = (),
    fixed: Mapping[str, Collection[int]] | None = None,
    seconds: float,
    networks: Mapping[str, Any] | None = None,
) -> Certificate:
    """The certificate of a model on observed examples, without those that are not complete.

    Parameters
    ----------
    model : the tree with its program and networks.
    observations : the values of its variables.
    settled, given, fixed : as in `certify`.
    seconds : the time limit.
    networks : factories and modules of networks that a fit was given, by name.

    Returns
    -------
    The certificate.
    """
    rows = observations.complete
    return certify(
        model.tree.root,
        model.program,
        codes={v: codes[rows] for v, codes in observations.codes.items()} if rows.any() else None,
        source=observations.source,
        candidates=None if model.candidates is None else map(AtomTest, model.candidates),
        kinds=network_kinds(model, networks),
        settled=settled,
        given=given,
        fixed=fixed,
        seconds=seconds,
    )


def settled_values(model: TreeModel, observations: Observations) -> set[ValueOf]:
    """The values of network instances that labels have settled: those of the examples, and those of the fit.

    Parameters
    ----------
    model : the tree with its networks.
    observations : the values of its variables in examples, with their labels.

    Returns
    -------
    Pairs of an instance and the index of a value.
    """
    of_fit = {(name, value) for name, values in model.labelled_values.items() for value in values}
    return of_fit | {
        (call.network, value)
        for call, codes in observations.labels.items()
        for value in np.unique(codes[codes != UNKNOWN]).tolist()
    }


def disagreements(model: TreeModel, examples: Examples, observations: Observations) -> tuple[int, int]:
    """The number of labels that are not what the networks say, and of those that were compared.

    Parameters
    ----------
    model : the tree with its networks.
    examples : the examples.
    observations : the values of its variables in these, with their labels.

    Returns
    -------
    Two numbers.
    """
    arrays = model.inference.arrays
    wrong = total = 0
    with model.evaluating(), arrays.without_gradients():
        for call, codes in observations.labels.items():
            labelled = np.flatnonzero((codes != UNKNOWN) & examples.complete(call.inputs))
            for start in range(0, len(labelled), BATCH_ROWS):
                rows = labelled[start : start + BATCH_ROWS]
                weights = arrays.to_numpy(model.evidence_of(examples[rows]).weights(call))  # (value, example)
                wrong += int((weights.argmax(axis=0) != codes[rows]).sum())
                total += len(rows)
    return wrong, total


def structural_certificate(model: TreeModel) -> Certificate:
    """The certificate of a model's last audit, or that of its structure alone, for exports.

    Parameters
    ----------
    model : the tree with its program and networks.

    Returns
    -------
    The certificate. It has no networks where rules do not mention any: a network whose yes is itself a test needs none.
    """
    if model.certificate is None:
        if _has_bound_networks(model):
            candidates = None if model.candidates is None else map(AtomTest, model.candidates)
            kinds = network_kinds(model)
            model.certificate = certify(
                model.tree.root,
                model.program,
                candidates=candidates,
                kinds=kinds,
                fixed=model.labelled_values,
                seconds=SHORT_SECONDS,
            )
        else:
            model.certificate = Certificate(())
    certificate: Certificate = model.certificate
    return certificate


def short_forms(model: TreeModel) -> dict[str, str]:
    """What the values of each network are fixed up to, in a few words, for text, pictures and pages.

    Parameters
    ----------
    model : the tree with its program and networks.

    Returns
    -------
    The words, by what text calls the network; empty for trees without rules about networks.
    """
    return {network.display_name: network.short_form for network in structural_certificate(model).networks}


def _has_bound_networks(model: TreeModel) -> bool:
    """Whether a test is more than the yes of one network, or a leaf has a goal with networks."""
    semantics = model.inference.semantics
    of_goals = [test for goal in model.tree.goals for _, test in semantics.value_tests(goal)]
    formulas = [semantics.formula(test) for test in (*model.tree.tests, *of_goals)]
    return any(
        not (
            isinstance(formula, Literal) and isinstance(formula.variable, NeuralVariable) and formula.variable.size == 2
        )
        and any(isinstance(source, NeuralVariable) for source in sources(formula))
        for formula in formulas
    )


def network_kinds(model: TreeModel, networks: Mapping[str, Any] | None = None) -> dict[str, Hashable]:
    """The architecture of each network, for the comparison of networks that could be exchanged.

    Parameters
    ----------
    model : the tree with its program and networks.
    networks : factories and modules of networks that a fit was given, by name; None where they are not known.

    Returns
    -------
    A value for each network instance of the tree. Where `networks` is given, also one for each declared network: networks
    of equal values have the same architecture.
    """
    if not model.network_calls:
        return {}
    import torch

    with torch.random.fork_rng(devices=[]):  # networks that are made for the comparison draw random weights
        return _network_kinds(model, networks)


def _network_kinds(model: TreeModel, networks: Mapping[str, Any] | None) -> dict[str, Hashable]:
    kinds: dict[str, Hashable] = {}
    for call in model.network_calls:
        inputs = [model.program.schema[column] for column in call.inputs]
        kinds[call.network] = _architecture(model.networks[call.network], inputs, call.width)
    if networks is not None:
        for name in model.program.networks:
            given = networks.get(name)
            kinds.setdefault(name, "default" if given is None else _given_architecture(name, given))
    return kinds


def _given_architecture(name: str, given: Any) -> Hashable:
    import torch

    if isinstance(given, torch.nn.Module):
        return ("trained", name)  # its values have a meaning, so it takes no other place
    return _layers(given())


def _architecture(network: Any, inputs: list[Kind], width: int) -> Hashable:
    from neuid3.networks.architectures import default_architecture

    layers = _layers(network)
    return "default" if layers == _layers(default_architecture(inputs, width)) else layers


def _layers(network: Any) -> Hashable:
    state: Callable[[], Mapping[str, Any]] | None = getattr(network, "state_dict", None)
    if state is None:
        return ("function", id(network))
    return type(network), tuple((name, tuple(tensor.shape)) for name, tensor in state().items())


def _class_codes(y: Any, classes: tuple[Any, ...], n: int) -> npt.NDArray[np.int64]:
    if not classes:
        raise DataError("The tree predicts numbers, which labels of concepts cannot contradict; leave y out.")
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise DataError(f"y has shape {labels.shape} for {n} examples; give one class for each.")
    index = {label: i for i, label in enumerate(classes)}
    for label in labels.tolist():
        if label not in index:
            hint = did_you_mean(str(label), map(str, classes))
            raise DataError(f"y has the class {str(label)!r:.40}, which the tree does not know.{hint}")
    return np.array([index[label] for label in labels.tolist()], dtype=np.int64)
