"""Labelled examples and network instances of a fit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from neuid3.data.examples import Examples
from neuid3.learning.grow import OpenNode
from neuid3.tree.anchors import Anchors
from neuid3.tree.criteria import Criterion, Target

if TYPE_CHECKING:
    from torch import nn

Floats = npt.NDArray[Any]
Factory = Callable[[], "nn.Module"]


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """An instance of a declared network, with weights.

    Attributes
    ----------
    module : the network.
    network : the name that it was declared by.
    trained_on : columns whose training examples it was trained on; none for a network that came trained.
    frozen : whether training leaves its weights as they are.
    is_shared : whether it was trained on many columns at once, to be called on others.
    """

    module: nn.Module
    network: str
    trained_on: frozenset[str]
    frozen: bool
    is_shared: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Labelled examples.

    Attributes
    ----------
    examples : the columns.
    target : the targets, their sample weights and the criterion that counts them.
    unseen : mask of the validation examples, on which networks are scored and never trained, `(example,)`.
    anchors : labels that networks are trained on, by declared network.
    held_out_anchors : labels that they are not trained on, by declared network.
    growth_target : the targets that splits are scored with, where these are not `target`: see `learning.goals`.
    groups : the number of each example's group, which no split divides, `(example,)`; None without groups.
    """

    examples: Examples
    target: Target
    unseen: npt.NDArray[np.bool_]
    anchors: Anchors = field(default_factory=dict)
    held_out_anchors: Anchors = field(default_factory=dict)
    growth_target: Target | None = None
    groups: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.target)

    def rows(self, rows: npt.NDArray[np.int64]) -> Sample:
        """Some of the examples, without labels of concepts.

        Parameters
        ----------
        rows : the numbers of these examples.

        Returns
        -------
        The smaller sample.
        """
        return Sample(self.examples[rows], self.target[rows], self.unseen[rows])

    @property
    def criterion(self) -> Criterion:
        """What is counted, how good a split is, what a leaf says."""
        return self.target.criterion

    @property
    def growth_criterion(self) -> Criterion:
        """How good a split is while a tree is grown, and what its leaves say."""
        return self.criterion if self.growth_target is None else self.growth_target.criterion

    @property
    def weights(self) -> Floats:
        """Sample weights, `(example,)`."""
        return self.target.weights

    def sums(self, reach: Floats) -> Floats:
        """The statistics of all targets, each example with its weight times P(κ|e), `(statistic,)`.

        Parameters
        ----------
        reach : P(κ|e) of each example, `(example,)`.

        Returns
        -------
        Statistics, `(statistic,)`.
        """
        return self.target.weighted(reach * self.weights).sums()

    def missing(self, names: Sequence[str], rows: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.bool_]]:
        """Masks of missing entries in these rows, for the columns that have any.

        Parameters
        ----------
        names : the names of the columns.
        rows : row indices.

        Returns
        -------
        Masks, `(row,)`, by column.
        """
        return _some({name: self.examples.column(name).missing for name in names}, rows)

    def absent(self, names: Sequence[str], rows: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.bool_]]:
        """Masks of the rows in which there is no such part, for the columns of parts that some rows do not have.

        Parameters
        ----------
        names : the names of the columns.
        rows : row indices.

        Returns
        -------
        Masks, `(row,)`, by column.
        """
        return _some({name: self.examples.column(name).absent for name in names}, rows)

    def target_at(self, node: OpenNode) -> Target:
        """The targets of the examples that reach a node, with their weighted reach.

        Parameters
        ----------
        node : the node, with the rows that reach it and their P(κ|e).

        Returns
        -------
        The targets of these rows.
        """
        target = self.target if self.growth_target is None else self.growth_target
        values, weights = target.values[node.rows], node.reach_of_rows * self.weights[node.rows]
        return Target(values, weights, target.criterion)


def _some(
    masks: Mapping[str, npt.NDArray[np.bool_] | None], rows: npt.NDArray[np.int64]
) -> dict[str, npt.NDArray[np.bool_]]:
    """The masks in these rows, where they are true anywhere."""
    of_rows = {name: mask[rows] for name, mask in masks.items() if mask is not None}
    return {name: mask for name, mask in of_rows.items() if mask.any()}


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    """Whether two modules have the same layers and equal weights, bit by bit."""
    if not same_architecture(one, other):
        return False
    theirs = other.state_dict()
    return all(tensor.equal(theirs[name]) for name, tensor in one.state_dict().items())


def same_architecture(one: nn.Module, other: nn.Module) -> bool:
    """Whether two modules have the same layers, so that one can replace the other."""
    return architecture_of(one) == architecture_of(other)


def architecture_of(module: nn.Module) -> Hashable:
    """What is equal for modules with the same layers."""
    return type(module), tuple((name, tuple(tensor.shape)) for name, tensor in module.state_dict().items())
