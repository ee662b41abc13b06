"""Re-reading of a model by labels: its networks take other names and places for their values."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, count
from typing import Any, TypeVar

import numpy as np

from neuid3.data.columns import Tensor
from neuid3.identifiability.audit import network_kinds
from neuid3.identifiability.rereading import SECONDS, Order, Rereading, most_likely_rereading
from neuid3.identifiability.symmetries import Deadline
from neuid3.tree.anchors import distinct
from neuid3.tree.concept_accuracy import check_labels, confirmed_values, label_likelihoods
from neuid3.tree.labels import model_labels
from neuid3.tree.model import TreeModel
from neuid3.tree.node_tests import AtomTest
from neuid3.tree.semantics import NetworkCall
from neuid3.tree.tree import Tree

_Model = TypeVar("_Model", bound=TreeModel)


def reread_model(
    model: _Model,
    X: Any,
    concepts: Mapping[str, Any] | None = None,
    *,
    networks: Mapping[str, Any] | None = None,
    time_limit: float = SECONDS,
) -> _Model:
    """The model in the form under which labels are most likely; it predicts the same, to rounding.

    Parameters
    ----------
    model : the tree with its program and networks; functions that are no torch modules keep their values.
    X : labelled examples, as `Examples` or a table with the columns of the schema; columns such as `rank(first)` hold
        labels.
    concepts : further labels, as in `neuid3.tree.labels.model_labels`.
    networks : factories and modules of networks that a fit was given, by name; those of modules keep their values.
    time_limit : seconds that the search may take.

    Returns
    -------
    A new model, which knows the values that labels have fixed; the given one where nothing is new.

    Raises
    ------
    DataError : where there are no labels, or labels are not as they should be.
    """
    examples, labels = model_labels(model, X, concepts)
    check_labels(labels)
    with model.evaluating():
        likelihoods = label_likelihoods(
            model.inference, model.networks, examples, distinct(labels), model.network_calls
        )
    calls = {call.network: call for call in sorted(model.network_calls)}
    semantics = model.inference.semantics
    # Goals of leaves say what the values of their networks mean.
    computed = {call.network for goal in model.tree.goals for call in semantics.goal_calls(goal)}
    reading = most_likely_rereading(
        model.tree.root,
        model.program,
        likelihoods,
        candidates=[AtomTest(atom) for atom in model.candidates or ()],
        kinds=network_kinds(model, networks),
        fixed=[
            name
            for name in calls
            if name in computed or not hasattr(model.networks[name], "state_dict") or _is_given(name, networks)
        ],
        name=lambda network: next(
            n for n in chain([network], (f"{network}#{i}" for i in count(2))) if n not in model.networks
        ),
        apart=True,
        deadline=Deadline.after(time_limit),
    )
    reread = _applied(reading, model, calls) if reading.gain else model
    known = _kept_values(reading, model)
    for name, values in confirmed_values(reread, examples, distinct(labels)).items():
        known[name] = tuple(sorted({*known.get(name, ()), *values}))
    if known != dict(reread.labelled_values):
        reread = copy.copy(reread)
        reread.labelled_values, reread.certificate = known, None
    return reread


def _kept_values(reading: Rereading, model: TreeModel) -> dict[str, tuple[int, ...]]:
    """The values that labels had fixed before and that keep their names."""
    kept = {name: values for name, values in model.labelled_values.items() if name not in model.networks}
    declarations = model.program.declarations
    declared = {instance: declarations[number].network for number, instance in model.declarations_and_instances}
    for name, source in reading.networks.items():
        values = model.labelled_values.get(source.instance, ())
        same = tuple(value for value in values if source.order[value] == value)
        if same and declared[source.instance] == reading.declared[name]:
            kept[name] = same
    return kept


def _is_given(instance: str, networks: Mapping[str, Any] | None) -> bool:
    """Whether an instance is a module that a fit was given: its values have a meaning, and stay as they are."""
    return hasattr((networks or {}).get(instance), "state_dict")


def _applied(reading: Rereading, model: _Model, calls: Mapping[str, NetworkCall]) -> _Model:
    """A model of another reading of a tree."""
    from neuid3.networks.reordering import reordered

    modules, priors = {}, {}
    for name, source in reading.networks.items():
        module = model.networks[source.instance]
        if source.is_reordered:
            kinds = [model.program.schema[column] for column in calls[source.instance].inputs]
            shapes = [kind.input_shape if isinstance(kind, Tensor) else (1,) for kind in kinds]
            module = reordered(module.eval(), source.order, shapes)  # type: ignore[attr-defined]
        modules[name] = module
        for key, prior in model.priors.networks.items():
            instance, parenthesis, inputs = key.partition("(")
            if instance == source.instance:
                priors[name + parenthesis + inputs] = _reordered_prior(prior, source.order)
    reread = type(model)(
        Tree(reading.root, model.tree.classes),
        model.schema,
        background=model.program.text,
        networks=modules,
        priors=replace(model.priors, networks=priors),
        limits=model.program.limits,
        dtype=model.precision,
        device=model.device,
        backend=model.backend,
    )
    reread.candidates, reread.encoder = model.candidates, model.encoder
    if model.training_record is not None:  # concept scores were those of the former names
        reread.training_record = model.training_record.with_concepts(())
    return reread


def _reordered_prior(prior: Any, order: Order) -> tuple[float, ...]:
    values = np.atleast_1d(np.asarray(prior, dtype=np.float64))
    if len(values) == 1:
        return (float(1.0 - values[0] if order == (1, 0) else values[0]),)
    return tuple(values[list(order)].tolist())
