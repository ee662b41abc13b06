"""The protocol of criteria: what is counted, how good a split is, what a leaf says, and the loss of leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from neuid3.errors import ParameterError
from neuid3.tree.leaves import LeafNode
from neuid3.tree.record import AnyScore

if TYPE_CHECKING:  # tables without networks are learned without PyTorch
    import torch

Floats: TypeAlias = npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]

# The weight of the examples that an estimate is shrunk to, in examples.
PRIOR_MASS = 2.0

# The least likelihood in a logarithm, so that one certain mistake adds about 28 nats and not infinity.
FLOOR = 1e-12


@runtime_checkable
class Criterion(Protocol):
    """What is counted, how good a split is, what a leaf says, and the loss of leaves in training.

    Examples are counted by *statistics*: a vector for each example, times its mass, whose sum over examples is all that
    splits, pruning and leaves depend on. Classes are counted by one mass a class, numbers by (Σ w, Σ w·y, Σ w·y²).
    An example may reach both children of a node, so masses are fractions.

    One for classes derives from `ClassCriterion`, one for numbers from `NumberCriterion`, and overrides what differs; one
    for other targets derives from this class and gives all methods without a default. Laws that the learner relies on:

    - statistics add up: those of a node are the sum of those of its children;
    - `gain` and `information_gain` are 0 or more, and 0 where both children have the same statistics per mass;
    - methods do not change their arguments, and their results depend on nothing else, so that a fit can be repeated.

    Attributes
    ----------
    name : the name by which the estimator's parameter, and a saved model, refer to it.
    degrees_of_freedom : the numbers that the value of a leaf is made of: for K classes, K − 1.
    """

    name: ClassVar[str]

    @property
    def degrees_of_freedom(self) -> int:
        """The numbers that the value of a leaf is made of; for K classes, K − 1."""
        ...

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes, which the paper's loss of branches can tell apart."""
        return False

    @property
    def description(self) -> str:
        """What the targets are, for messages: "3 classes", or "numbers"."""
        ...

    # What is counted -----------------------------------------------------------------------------

    def statistics(self, targets: Floats, weights: Floats) -> Floats:
        """The statistics of each example, times its weight, `(example, statistic)`; both arguments are `(example,)`.

        Parameters
        ----------
        targets : the target of each example, `(example,)`.
        weights : the mass of each example, `(example,)`.

        Returns
        -------
        Statistics, `(example, statistic)`.
        """
        ...

    def sums(self, targets: Floats, weights: Floats) -> Floats:
        """The sum of the statistics over all examples, `(statistic,)`.

        Parameters
        ----------
        targets : the target of each example, `(example,)`.
        weights : the mass of each example, `(example,)`.

        Returns
        -------
        Statistics, `(statistic,)`.
        """
        total: Floats = self.statistics(targets, weights).sum(axis=0)
        return total

    def sums_by_code(self, codes: npt.NDArray[Any], size: int, targets: Floats, weights: Floats) -> Floats:
        """The sum of the statistics over the examples of each code below `size`, `(code, statistic)`.

        Parameters
        ----------
        codes : the code of each example, `(example,)`.
        size : the number of codes.
        targets : the target of each example, `(example,)`.
        weights : the mass of each example, `(example,)`.

        Returns
        -------
        Statistics, `(code, statistic)`.
        """
        columns = self.statistics(targets, weights).T
        return np.stack([np.bincount(codes, column, size) for column in columns], axis=-1)

    def mass(self, statistics: Floats) -> Floats:
        """The mass Σ w of the examples with these statistics; the last axis is summed up.

        Parameters
        ----------
        statistics : the statistics of a node, `(…, statistic)`.

        Returns
        -------
        Masses, with one axis fewer.
        """
        ...

    def strata(self, targets: Floats) -> npt.NDArray[np.int64]:
        """A code for each example; a validation split has the same fraction of every code. By default all are equal.

        Parameters
        ----------
        targets : the target of each example, `(example,)`.

        Returns
        -------
        Codes from 0, `(example,)`.
        """
        return np.zeros(len(targets), dtype=np.int64)

    def codes(self, targets: Floats) -> npt.NDArray[np.int64]:
        """A code for each example, by which the training record tells equal rows apart. By default all are equal.

        Parameters
        ----------
        targets : the target of each example, `(example,)`.

        Returns
        -------
        Codes from 0, `(example,)`.
        """
        return np.zeros(len(targets), dtype=np.int64)

    # How good a split is -------------------------------------------------------------------------

    def impurity(self, statistics: Floats) -> Floats:
        """What a split is to reduce, per unit of mass, along the last axis; 0 where the targets are all equal.

        Parameters
        ----------
        statistics : the statistics of a node, `(…, statistic)`.

        Returns
        -------
        Impurities, with one axis fewer.
        """
        ...

    def entropy(self, statistics: Floats) -> Floats:
        """The bits per unit of mass that a perfect test could save, along the last axis.

        Parameters
        ----------
        statistics : the statistics of a node, `(…, statistic)`.

        Returns
        -------
        Bits, with one axis fewer.
        """
        ...

    def gain(self, yes: Floats, no: Floats) -> Floats:
        """The decrease of impurity by a split, per unit of mass; candidates are ranked by it.

        Parameters
        ----------
        yes, no : statistics of the children, along the last axis; other axes are candidates.

        Returns
        -------
        Gains, one for each candidate.
        """
        return _decrease(self.impurity, self.mass, yes, no)

    def information_gain(self, yes: Floats, no: Floats) -> Floats:
        """The decrease of entropy by a split, in bits per unit of mass; penalties of trained tests are compared with it.

        Parameters
        ----------
        yes, no : statistics of the children, along the last axis; other axes are candidates.

        Returns
        -------
        Bits, one for each candidate.
        """
        return _decrease(self.entropy, self.mass, yes, no)

    def is_pure(self, statistics: Floats) -> bool:
        """Whether nothing is left to split at a node.

        Parameters
        ----------
        statistics : the statistics of the node, `(statistic,)`.

        Returns
        -------
        True if all targets are equal.
        """
        return bool(self.impurity(statistics) <= 0.0)

    def minority_mass(self, statistics: Floats) -> float:
        """The mass of the examples that a network can learn to tell from the rest; by default of all of them.

        Parameters
        ----------
        statistics : the statistics of the node, `(statistic,)`.

        Returns
        -------
        A mass.
        """
        return float(self.mass(statistics))

    def code_length(self, statistics: Floats, node: Floats) -> float:
        """The description length of the targets of a leaf, in bits.

        Parameters
        ----------
        statistics : those of the leaf.
        node : those of the node whose subtree is compared with a leaf; both codes may assume what these show.

        Returns
        -------
        Bits.
        """
        ...

    def description_length(self, leaves: Sequence[Floats], node: Floats) -> float:
        """The description length of the targets at a node whose subtree has these leaves; by default the sum over leaves.

        Parameters
        ----------
        leaves : the statistics of each leaf.
        node : those of the node, as in `code_length`.

        Returns
        -------
        Bits.
        """
        return sum(self.code_length(leaf, node) for leaf in leaves)

    # What monotone constraints need ----------------------------------------------------------------

    def number(self, statistics: Floats) -> Floats:  # noqa: ARG002 - for criteria that have it
        """What a leaf of these statistics predicts, as the number that monotone constraints are about.

        Parameters
        ----------
        statistics : the statistics of a node, `(…, statistic)`.

        Returns
        -------
        Numbers, with one axis fewer.

        Raises
        ------
        ParameterError : where the targets have no order.
        """
        raise ParameterError(
            f"{type(self).__name__} has no method `number`, which monotonic_cst needs; add it, or leave out monotonic_cst."
        )

    def excess(self, statistics: Floats, numbers: Floats) -> Floats:
        """By how much impurity grows, per unit of mass, where leaves predict these numbers instead of their own.

        Parameters
        ----------
        statistics : the statistics of leaves, `(…, statistic)`.
        numbers : what they predict, with one axis fewer.

        Returns
        -------
        Differences of impurity, 0 or more; by default the squares of differences.
        """
        squares: Floats = (self.number(statistics) - numbers) ** 2
        return squares

    # What a leaf says ----------------------------------------------------------------------------

    def leaf(self, statistics: Floats) -> LeafNode:
        """The leaf that is estimated from statistics.

        Parameters
        ----------
        statistics : the statistics of the node, `(statistic,)`.

        Returns
        -------
        The leaf.
        """
        ...

    def leaf_statistics(self, everyone: Floats, unseen: Floats) -> Floats:
        """The statistics that a leaf is estimated from, below networks that were trained on these examples.

        Networks route their training examples too well: counted on these, the leaf would be overconfident. So the
        validation examples determine the proportions, shrunk to those of all examples by `PRIOR_MASS` examples.

        Parameters
        ----------
        everyone : the statistics of all examples.
        unseen : those of the validation examples among them.

        Returns
        -------
        Statistics, `(statistic,)`.
        """
        mass = self.mass(everyone)
        mean = everyone / float(mass) if mass > 0 else np.zeros_like(everyone)
        estimated: Floats = (unseen + PRIOR_MASS * mean) / (self.mass(unseen) + PRIOR_MASS) * mass
        return estimated

    def log_likelihoods(self, reach: Floats, statistics: Floats, targets: Floats) -> Floats:
        """The log-likelihood of each target under the leaves of a tree, in nats, `(example,)`.

        Parameters
        ----------
        reach : P(leaf | e), `(example, leaf)`.
        statistics : those that each leaf is estimated from, `(leaf, statistic)`; they are shrunk to their sum.
        targets : `(example,)`.

        Returns
        -------
        Log-likelihoods in nats, `(example,)`.
        """
        ...

    def score(self, kind: str, reach: Floats, leaves: Sequence[LeafNode], targets: Floats) -> AnyScore:
        """The score of a tree on rows that it was not learned from.

        Parameters
        ----------
        kind : the kind of rows, such as held-out rows or the validation split.
        reach : P(leaf | e), `(example, leaf)`.
        leaves : the leaves, from left to right.
        targets : the target of each example, `(example,)`.

        Returns
        -------
        The score.
        """
        ...

    # The loss ------------------------------------------------------------------------------------

    def initial_parameters(self, statistics: Floats, paths: int, flipped: bool, coins: Callable[[int], Mask]) -> Floats:
        """The parameters of the leaves that training begins with, `(path, parameter)`.

        Parameters
        ----------
        statistics : those of the training examples.
        paths : the number of leaves: 2 for a test, whose first leaf is that of a yes.
        flipped : whether the test is to be true for the negative examples, see `is_positive`.
        coins : draws so many random Booleans, from the restart's random generator.

        Returns
        -------
        Parameters, `(path, parameter)`.
        """
        ...

    def leaf_parameters(self, leaves: Sequence[LeafNode]) -> Floats:
        """The parameters of the leaves of a finished tree, whose training continues, `(leaf, parameter)`.

        Parameters
        ----------
        leaves : the leaves, from left to right.

        Returns
        -------
        Parameters, `(leaf, parameter)`.
        """
        ...

    def likelihoods(self, parameters: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The likelihood of each target at each leaf, `(path, restart, row)`; the loss is −log Σ P(path | e) · likelihood.

        Parameters
        ----------
        parameters : those of the leaves, `(restart, path, parameter)`; gradients go through them.
        targets : `(restart, row)`.

        Returns
        -------
        Likelihoods, `(path, restart, row)`, with gradients.
        """
        ...

    def leaf_values(self, parameters: torch.Tensor) -> Floats:
        """What trained leaves say, `(path, value)`, from their parameters, `(path, parameter)`.

        Parameters
        ----------
        parameters : the trained parameters, `(path, parameter)`.

        Returns
        -------
        Values, `(path, value)`.
        """
        ...

    def with_value(self, leaf: LeafNode, value: Floats) -> LeafNode:
        """A leaf with another value, `(value,)`, as `leaf_values` returns it, and the statistics of the old one.

        Parameters
        ----------
        leaf : the leaf.
        value : its new value, `(value,)`.

        Returns
        -------
        The new leaf.
        """
        ...

    # Leaves that compute -------------------------------------------------------------------------

    @property
    def value_scale(self) -> float | None:
        """The unit of standardised deviations around the value of a goal; None where a value is a class."""
        return None

    @property
    def min_deviation(self) -> float:
        """The least standardised deviation around the value of a goal."""
        return 1e-3

    def value_likelihoods(self, values: Any, targets: Any, deviations: Any) -> Any:  # noqa: ARG002 - numbers need it
        """The likelihood of targets where the value of a leaf's goal is known; arrays or tensors, which are broadcast.

        By default it is 1 where a target equals the value, and 0 elsewhere.

        Parameters
        ----------
        values : the values, as targets are given.
        targets : the targets.
        deviations : the standardised deviation of a number around each value; without effect for classes.

        Returns
        -------
        Likelihoods.
        """
        return (targets == values) * 1.0

    def is_positive(self, targets: Any, flipped: Any = False) -> Any:
        """The mask of the examples that a test is to be true for, of an array or tensor of targets.

        Restarts of a test differ in this polarity; with `flipped` the test is to be true for the others.

        Parameters
        ----------
        targets : targets, as an array or a tensor.
        flipped : whether the test is to be true for the other examples instead.

        Returns
        -------
        A Boolean mask of the same shape.
        """
        ...

    def positive_fraction(self, statistics: Floats) -> float | None:
        """The fraction of positive examples; None where the polarity of a restart makes no difference.

        Parameters
        ----------
        statistics : the statistics of the node, `(statistic,)`.

        Returns
        -------
        A fraction, or None.
        """
        ...


def _decrease(measure: Callable[[Floats], Floats], mass: Callable[[Floats], Floats], yes: Floats, no: Floats) -> Floats:
    """M(κ) − S(τ)/S · M(κ∧τ) − S(¬τ)/S · M(κ∧¬τ) of a test τ at a node κ, for a measure M and the mass S."""
    total, before = mass(yes + no), measure(yes + no)
    after = mass(yes) * measure(yes) + mass(no) * measure(no)
    # Rounding errors must not give a gain to a useless test, nor a negative gain to any.
    gain: Floats = np.maximum(before - np.divide(after, total, out=np.zeros_like(before), where=total > 0), 0.0)
    return gain
