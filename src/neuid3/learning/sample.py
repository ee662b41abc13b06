"""What is learned from, and what comes of it: labelled examples, networks with weights, and candidates with scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from neuid3.data.examples import Examples
from neuid3.learning.grow import OpenNode
from neuid3.tree.node_tests import NodeTest

Floats = npt.NDArray[Any]
Factory = Callable[[], nn.Module]

# Gains this close are the same, but for rounding.
TIE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A network with weights: the module, the name it was declared by, and what it was trained on.

    `read` are the columns whose training examples it has seen; an instance that came trained has seen none of ours.
    A `reader` has learned from many columns at once, to be asked about others.
    """

    module: nn.Module
    network: str
    read: frozenset[str]
    frozen: bool
    reader: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Labelled examples. Networks never train on `unseen` ones; those judge what the networks learned."""

    examples: Examples
    labels: npt.NDArray[np.int64]
    weights: Floats
    unseen: npt.NDArray[np.bool_]
    classes: int
    positive: int

    def masses(self, reach: Floats) -> Floats:
        """Σ P(κ|e) of each class, weighted."""
        return np.bincount(self.labels, reach * self.weights, self.classes)

    def missing(self, names: Sequence[str], rows: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.bool_]]:
        """For each of these columns that is missing somewhere in these rows, a mask of where."""
        masks = {name: self.examples.column(name).missing for name in names}
        here = {name: mask[rows] for name, mask in masks.items() if mask is not None}
        return {name: mask for name, mask in here.items() if mask.any()}

    def here(self, place: OpenNode) -> tuple[npt.NDArray[np.int64], Floats]:
        """The labels of the examples that reach a place, and their weighted reach."""
        return self.labels[place.rows], place.shares * self.weights[place.rows]


@dataclass(slots=True)
class ScoredCandidate:
    """A candidate at a node with its score; `bits` is how much its answer tells about the examples that judged it.

    `among` is for how many candidates it stands: it is the best of them, and `tied` of them tell as much. Others whose gain
    is below its own by no more than `blur` tell as much, too.
    """

    test: NodeTest
    gain: float
    bits: float
    asked: NodeTest | None
    vouched: bool
    among: float = 1
    tied: int = 1
    blur: float = TIE
    instances: dict[str, Instance] = field(default_factory=dict)


def best_candidate(options: Sequence[ScoredCandidate], price: float = 0.0) -> tuple[ScoredCandidate, float] | None:
    """The option with the highest gain, of those worth it, and how many it was chosen among for each that would do as well."""
    worth = [option for option in options if not option.vouched or option.bits >= price]
    if not worth:
        return None
    chosen = max(worth, key=lambda option: option.gain)
    tied = sum(option.tied for option in options if option.gain >= chosen.gain - chosen.blur)
    return chosen, sum(option.among for option in options) / tied


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    """Are two modules the same network, bit by bit?"""
    if not same_architecture(one, other):
        return False
    theirs = other.state_dict()
    return all(torch.equal(tensor, theirs[name]) for name, tensor in one.state_dict().items())


def same_architecture(one: nn.Module, other: nn.Module) -> bool:
    """Do two modules have the same layers, so that one can stand in for the other?"""
    ours = [(name, tuple(tensor.shape)) for name, tensor in one.state_dict().items()]
    theirs = [(name, tuple(tensor.shape)) for name, tensor in other.state_dict().items()]
    return type(one) is type(other) and ours == theirs
