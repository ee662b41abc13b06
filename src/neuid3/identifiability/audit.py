"""Audit of a model: its certificate on examples, and the short form that exports show."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Tensor
from neuid3.errors import CircuitLimitError, DataError, GroundingLimitError, ParameterError, did_you_mean
from neuid3.identifiability.certificate import Certificate, Contradictions, certify, tree_variables
from neuid3.identifiability.forms import results
from neuid3.identifiability.observations import UNKNOWN, Observations, observe, value_texts
from neuid3.identifiability.readings import ValueOf, possible_results
from neuid3.logic.formula import Literal, NeuralVariable, Or, Variable, sources
from neuid3.logic.program import Program
from neuid3.tree.labels import call_text
from neuid3.tree.model import TreeModel
from neuid3.tree.node_tests import AtomTest

# The time that text, pictures and pages take for the structural part of a certificate, in seconds.
SHORT_SECONDS = 2.0

# With more labels than this in one example, a smallest contradicting set is not looked for.
MAX_LABELS = 10


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
    variables = tree_variables(model.tree.root, model.program)
    observations = observe(model, X, variables, concepts)
    classes = None if y is None else _class_codes(y, model.classes, len(observations.complete))
    rows = observations.complete
    certificate = observed_certificate(model, observations, seconds=float(time_limit), networks=networks)
    if certificate.networks:
        contradictions = None if classes is None else _contradictions(model, observations, classes)
        certificate = replace(certificate, incomplete_rows=int(np.sum(~rows)), contradictions=contradictions)
    model.certificate = certificate
    return certificate


def check_time_limit(time_limit: Any) -> None:
    """Raise a `ParameterError` unless a time limit is a number of seconds, 0 or more."""
    if isinstance(time_limit, bool) or not isinstance(time_limit, (int, float)) or not time_limit >= 0:
        raise ParameterError(f"time_limit={time_limit!r} is no number of seconds; give 0 or more.")


def observed_certificate(
    model: TreeModel,
    observations: Observations,
    *,
    settled: Iterable[ValueOf] = (),
    seconds: float,
    networks: Mapping[str, Any] | None = None,
) -> Certificate:
    """The certificate of a model on observed examples, without those that are not complete.

    Parameters
    ----------
    model : the tree with its program and networks.
    observations : the values of its variables.
    settled : values that labels have settled.
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
        seconds=seconds,
    )


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
                model.tree.root, model.program, candidates=candidates, kinds=kinds, seconds=SHORT_SECONDS
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
    The words by network instance; empty for trees without rules about networks.
    """
    return {network.name: network.short_form for network in structural_certificate(model).networks}


def _has_bound_networks(model: TreeModel) -> bool:
    """Whether a test is more than the yes of one network."""
    formulas = [model.inference.semantics.formula(test) for test in model.tree.tests]
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
        shapes = [kind.shape if isinstance(kind := model.schema[column], Tensor) else (1,) for column in call.inputs]
        kinds[call.network] = _architecture(model.networks[call.network], shapes, call.width)
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


def _architecture(network: Any, shapes: list[tuple[int, ...]], width: int) -> Hashable:
    from neuid3.networks.defaults import default_network

    layers = _layers(network)
    return "default" if layers == _layers(default_network(shapes, width)) else layers


def _layers(network: Any) -> Hashable:
    state: Callable[[], Mapping[str, Any]] | None = getattr(network, "state_dict", None)
    if state is None:
        return ("function", id(network))
    return type(network), tuple((name, tuple(tensor.shape)) for name, tensor in state().items())


def _class_codes(y: Any, classes: tuple[Any, ...], n: int) -> npt.NDArray[np.int64]:
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise DataError(f"y has shape {labels.shape} for {n} examples; give one class for each.")
    index = {label: i for i, label in enumerate(classes)}
    for label in labels.tolist():
        if label not in index:
            hint = did_you_mean(str(label), map(str, classes))
            raise DataError(f"y has the class {str(label)!r:.40}, which the tree does not know.{hint}")
    return np.array([index[label] for label in labels.tolist()], dtype=np.int64)


def _contradictions(
    model: TreeModel, observations: Observations, classes: npt.NDArray[np.int64]
) -> Contradictions | None:
    """Examples for which no value of images without labels makes the tree predict their class; None without any."""
    if not observations.labels:
        return None
    distributions, formulas = results(model.tree.root, model.program)
    predicted = [int(np.argmax(probabilities)) for probabilities in distributions]
    by_class = [
        Or(tuple(f for f, k in zip(formulas, predicted, strict=True) if k == c)) for c in range(len(model.classes))
    ]

    def possible(rows: npt.NDArray[np.int64], labelled: set[NeuralVariable]) -> npt.NDArray[np.bool_]:
        """Whether the class of each of these rows is possible with the labels of these variables."""
        domains = {v: _domain(v, observations, rows, v in labelled) for v in observations.codes}
        truths = possible_results(by_class, domains, len(rows), model.program.limits)
        return np.array(truths)[classes[rows], np.arange(len(rows))]

    try:
        rows = np.flatnonzero(np.any([codes != UNKNOWN for codes in observations.labels.values()], axis=0))
        rows = rows[~possible(rows, set(observations.labels))] if len(rows) else rows
        if not len(rows):
            return None
        first = rows[:1]
        labelled = [v for v, codes in observations.labels.items() if codes[first[0]] != UNKNOWN]
        smallest = set(labelled)
        if len(labelled) <= MAX_LABELS:
            subsets = (set(chosen) for n in range(len(labelled) + 1) for chosen in combinations(labelled, n))
            smallest = next(chosen for chosen in subsets if not possible(first, chosen)[0])
    except (CircuitLimitError, GroundingLimitError):
        return None
    texts = [_label_text(v, observations.labels[v][first[0]], model.program) for v in labelled if v in smallest]
    labels = " and ".join(texts) or "its columns alone"
    sentence = f"row {first[0]}: {labels}, and the class {model.classes[classes[first[0]]]}"
    return Contradictions(tuple(rows.tolist()), sentence)


def _label_text(variable: NeuralVariable, value: int, program: Program) -> str:
    """A label as text: `rank(first) = 5`."""
    call = call_text(program.declarations[variable.declaration].predicate, variable.inputs)
    return f"{call} = {value_texts(variable, program)[value]}"


def _domain(
    variable: Variable, observations: Observations, rows: npt.NDArray[np.int64], labelled: bool
) -> npt.NDArray[np.bool_]:
    """The possible values of a variable, `(value, row)`: one where it is observed, otherwise all."""
    if isinstance(variable, NeuralVariable):
        codes = observations.labels[variable][rows] if labelled else np.full(len(rows), UNKNOWN)
    else:
        codes = np.where(observations.complete[rows], observations.codes[variable][rows], UNKNOWN)
    domain: npt.NDArray[np.bool_] = (codes == UNKNOWN) | (np.arange(variable.size)[:, None] == codes)
    return domain
