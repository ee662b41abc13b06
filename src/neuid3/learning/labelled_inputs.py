"""Labelled inputs of the networks of a training task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from neuid3.learning.candidates import shapes_of
from neuid3.learning.sample import Sample
from neuid3.training.parallel.shared import SharedColumns, StackedRows
from neuid3.training.task import LabelledInputs

_INPUT = "input"


def labelled_inputs(
    sample: Sample, network: str, inputs: Sequence[str], shared_columns: SharedColumns
) -> LabelledInputs | None:
    """The labelled inputs of a declared network; None where it has none.

    A label belongs to an image, not to a test: it is used wherever the network is trained, also where the test reads
    other columns, and where the row of the label does not reach the node.

    Parameters
    ----------
    sample : the examples, with the labels to train on.
    network : the declared name of the network.
    inputs : columns that the network is called on; labels of inputs of another shape are left out.
    shared_columns : columns that the workers hold.
    """
    labels = sample.anchors.get(network)
    if labels is None:
        return None
    schema = sample.examples.schema
    shapes = shapes_of(inputs, schema)
    parts = [(call, rows, values) for call, rows, values in labels.by_call() if shapes_of(call, schema) == shapes]
    if not parts:
        return None
    arguments = tuple(
        StackedRows(shared_columns, _INPUT, tuple((call[i], rows) for call, rows, _ in parts))
        for i in range(len(inputs))
    )
    return LabelledInputs(arguments, np.concatenate([values for _, _, values in parts]))


def labels_of_instances(
    sample: Sample, calls: Mapping[str, tuple[str, Sequence[str]]], shared_columns: SharedColumns
) -> dict[str, LabelledInputs]:
    """The labelled inputs of each instance whose network has any.

    Parameters
    ----------
    sample : the examples, with the labels to train on.
    calls : by instance, its declared network and columns that it is called on.
    shared_columns : columns that the workers hold.
    """
    found = {
        instance: labelled_inputs(sample, network, inputs, shared_columns)
        for instance, (network, inputs) in calls.items()
    }
    return {instance: labels for instance, labels in found.items() if labels is not None}
