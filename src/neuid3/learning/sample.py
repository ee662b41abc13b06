"""Labelled examples, network instances and scored candidates: the values that learning passes around."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from neuid3.data.examples import Examples
from neuid3.learning.grow import OpenNode
from neuid3.tree.criteria import Criterion, Target
from neuid3.tree.node_tests import NodeTest

if TYPE_CHECKING:
    from torch import nn

Floats = npt.NDArray[Any]
Factory = Callable[[], "nn.Module"]

# Gains that differ by no more than this count as equal: the rest is rounding.
GAIN_TOLERANCE = 1e-12


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
    """

    examples: Examples
    target: Target
    unseen: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.target)

    @property
    def criterion(self) -> Criterion:
        """What is counted, how good a split is, what a leaf says."""
        return self.target.criterion

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
        masks = {name: self.examples.column(name).missing for name in names}
        of_rows = {name: mask[rows] for name, mask in masks.items() if mask is not None}
        return {name: mask for name, mask in of_rows.items() if mask.any()}

    def target_at(self, node: OpenNode) -> Target:
        """The targets of the examples that reach a node, with their weighted reach.

        Parameters
        ----------
        node : the node, with the rows that reach it and their P(κ|e).

        Returns
        -------
        The targets of these rows.
        """
        values, weights = self.target.values[node.rows], node.reach_of_rows * self.weights[node.rows]
        return Target(values, weights, self.criterion)


@dataclass(slots=True)
class ScoredCandidate:
    """A test at a node with its score.

    Attributes
    ----------
    test : the test, with the network instances that it calls.
    gain : its gain per example, in the unit of the criterion.
    bits : information gain times the mass of the examples that it was measured on, for tests with networks; NaN for
        others, which are pruned by description length.
    candidate : the candidate that the test stands for; None where it may be chosen again further down.
    validated : whether the gain was measured on validation examples.
    choices : the number of candidates of which this is the best.
    ties : how many of these have the same gain.
    tolerance : other candidates whose gain is lower by no more than this count as equal.
    instances : newly trained networks of the test.
    """

    test: NodeTest
    gain: float
    bits: float
    candidate: NodeTest | None
    validated: bool
    choices: float = 1
    ties: int = 1
    tolerance: float = GAIN_TOLERANCE
    instances: dict[str, Instance] = field(default_factory=dict)


def best_candidate(candidates: Sequence[ScoredCandidate], penalty: float = 0.0) -> tuple[ScoredCandidate, float] | None:
    """The candidate with the highest gain, and the number of candidates per tie; None where none is good enough.

    Candidates that were scored on validation examples must have at least `penalty` bits.
    """
    worthwhile = [candidate for candidate in candidates if not candidate.validated or candidate.bits >= penalty]
    if not worthwhile:
        return None
    chosen = max(worthwhile, key=lambda candidate: candidate.gain)
    ties = sum(candidate.ties for candidate in candidates if candidate.gain >= chosen.gain - chosen.tolerance)
    return chosen, sum(candidate.choices for candidate in candidates) / ties


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    """Whether two modules have the same layers and equal weights, bit by bit."""
    if not same_architecture(one, other):
        return False
    theirs = other.state_dict()
    return all(tensor.equal(theirs[name]) for name, tensor in one.state_dict().items())


def same_architecture(one: nn.Module, other: nn.Module) -> bool:
    """Whether two modules have the same layers, so that one can replace the other."""
    ours = [(name, tuple(tensor.shape)) for name, tensor in one.state_dict().items()]
    theirs = [(name, tuple(tensor.shape)) for name, tensor in other.state_dict().items()]
    return type(one) is type(other) and ours == theirs
