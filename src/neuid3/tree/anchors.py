"""Anchors: labels that say which value a network should return for some images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from neuid3.data.splits import held_out_rows
from neuid3.logic.program import Declaration
from neuid3.logic.quoting import atom_name

# From so many labels of a network on, a fraction of them is held out to measure concept accuracy.
MIN_HELD_OUT_LABELS, HELD_OUT_FRACTION = 50, 0.2

Ints: TypeAlias = npt.NDArray[np.int64]
Anchors: TypeAlias = Mapping[str, "NetworkLabels"]


@dataclass(frozen=True, slots=True, eq=False)
class NetworkLabels:
    """The labels of one declared network, one for each labelled entry of a column or tuple of columns, by call and row.

    Attributes
    ----------
    network : the declared name of the network.
    concept : the predicate that the labels speak of.
    calls : the tuples of columns that hold labelled images.
    call_numbers : for each label the number of its tuple in `calls`, `(label,)`.
    rows : for each label the row of the examples, `(label,)`.
    values : the number of the value that the network should return; for a neural fact 1 for yes, `(label,)`.
    repeated : whether a label stands before it that has an equal image, `(label,)`.
    """

    network: str
    concept: str
    calls: tuple[tuple[str, ...], ...]
    call_numbers: Ints
    rows: Ints
    values: Ints
    repeated: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, labels: npt.NDArray[Any]) -> NetworkLabels:
        """Some of the labels, given by a mask or by sorted indices."""
        return NetworkLabels(
            self.network,
            self.concept,
            self.calls,
            self.call_numbers[labels],
            self.rows[labels],
            self.values[labels],
            self.repeated[labels],
        )

    def by_call(self) -> Iterator[tuple[tuple[str, ...], Ints, Ints]]:
        """For each tuple of columns with labels, the labelled rows and their values, in the order of the labels."""
        for number, inputs in enumerate(self.calls):
            mine = self.call_numbers == number
            if mine.any():
                yield inputs, self.rows[mine], self.values[mine]


def distinct(labels: Anchors) -> Anchors:
    """One label of each labelled image, which networks are trained on and measured by.

    Parameters
    ----------
    labels : labels by network.

    Returns
    -------
    Labels by network, without those of images that have one already.
    """
    return {network: of_network[~of_network.repeated] for network, of_network in labels.items()}


def labels_of_rows(labels: Anchors, rows: Ints) -> Anchors:
    """The labels of some rows, which count from 0 in their order.

    Parameters
    ----------
    labels : labels by network.
    rows : row numbers, in ascending order.

    Returns
    -------
    Labels by network, without networks that have none.
    """
    kept = {network: of_network[np.isin(of_network.rows, rows)] for network, of_network in labels.items()}
    return {
        network: replace(of_network, rows=np.searchsorted(rows, of_network.rows))
        for network, of_network in kept.items()
        if len(of_network)
    }


def anchored_rows(anchors: Anchors, length: int) -> npt.NDArray[np.bool_]:
    """The mask of rows whose labels must all be trained on: those of networks with too few labels to hold some out.

    Parameters
    ----------
    anchors : labels by network.
    length : the number of rows.

    Returns
    -------
    A Boolean mask, `(row,)`.
    """
    mask = np.zeros(length, dtype=bool)
    for labels in anchors.values():
        if len(labels) < MIN_HELD_OUT_LABELS:
            mask[labels.rows] = True
    return mask


def split_anchors(
    anchors: Anchors,
    unseen: npt.NDArray[np.bool_],
    seed: int,
    groups: npt.NDArray[np.int64] | None = None,
) -> tuple[Anchors, Anchors]:
    """The labels that networks are trained on, and those that are held out to measure concept accuracy.

    Labels of validation examples are never trained on. Of a network with `MIN_HELD_OUT_LABELS` labels or more, these are
    held out, and others with them until a fifth is, drawn from every value alike.

    Parameters
    ----------
    anchors : labels by network.
    unseen : the mask of the validation examples, `(example,)`.
    seed : seed of the draw.
    groups : the number of each example's group, `(example,)`, all of whose labels are held out or none; None without groups.

    Returns
    -------
    Labels to train on and held-out labels, by network.
    """
    training, held_out = {}, {}
    for network, labels in anchors.items():
        validation = unseen[labels.rows]
        if len(labels) >= MIN_HELD_OUT_LABELS:
            missing = HELD_OUT_FRACTION - float(validation.mean())
            drawn = np.zeros(len(labels), dtype=bool)
            if missing > 0:
                rest = np.flatnonzero(~validation)
                fraction = missing * len(labels) / len(rest)
                of_rest = None if groups is None else groups[labels.rows[rest]]
                drawn[rest[held_out_rows(labels.values[rest], fraction, seed, groups=of_rest)]] = True
            held_out[network] = labels[validation | drawn]
            validation = validation | drawn
        if not validation.all():
            training[network] = labels[~validation]
    return training, held_out


def selected_concepts(
    anchors: Anchors, declarations: Mapping[int, Declaration], rows: npt.NDArray[np.bool_]
) -> dict[str, dict[tuple[str, ...], dict[int, Any]]]:
    """The labels of some rows, in the form that `read_labels` takes for the table of these rows.

    An image that also occurs in other rows is labelled once, so that rows and the other rows share no labelled image.

    Parameters
    ----------
    anchors : labels by network.
    declarations : the neural declarations of the program.
    rows : the mask of the rows, `(row,)`.

    Returns
    -------
    Values by network, by call and by row.
    """
    position = np.cumsum(rows) - 1
    values = {d.network: None if d.values is None else [atom_name(v) for v in d.values] for d in declarations.values()}
    selected: dict[str, dict[tuple[str, ...], dict[int, Any]]] = {}
    for network, labels in anchors.items():
        names = values[network]
        for inputs, label_rows, numbers in labels.by_call():
            of_call = {
                int(position[row]): bool(number) if names is None else names[number]
                for row, number in zip(label_rows, numbers, strict=True)
                if rows[row]
            }
            if of_call:
                selected.setdefault(network, {})[inputs] = of_call
    return selected
