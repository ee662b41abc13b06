"""Criteria: what is counted, how good a split is, what a leaf says, and the loss of leaves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from neuid3.errors import DataError
from neuid3.tree.tree import Leaf

if TYPE_CHECKING:  # tables without networks are learned without PyTorch
    import torch

Floats: TypeAlias = npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]

# The strength of the symmetric Dirichlet prior of `code_length`, in examples, over all classes together.
PRIOR_STRENGTH = 0.5

# The weight of the examples that an estimate is shrunk to, in examples.
PRIOR_MASS = 2.0

# The least likelihood in a logarithm, so that one certain mistake adds about 28 nats and not infinity.
FLOOR = 1e-12

# The least probability of a leaf whose training continues: a logit of −∞ would never move.
MIN_LEAF_PROBABILITY = 1e-4


@runtime_checkable
class Criterion(Protocol):
    """What is counted, how good a split is, what a leaf says, and the loss of leaves in training.

    Examples are counted by *statistics*: a vector for each example, times its mass, whose sum over examples is all that
    splits, pruning and leaves depend on. Classes are counted by one mass a class, numbers by (Σ w, Σ w·y, Σ w·y²).
    An example may reach both children of a node, so masses are fractions.

    Whoever writes a criterion for classes derives it from `ClassCriterion` and overrides what differs. One for other
    targets derives from this class and gives all methods without a default. Laws that the learner relies on:

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

    # What a leaf says ----------------------------------------------------------------------------

    def leaf(self, statistics: Floats) -> Leaf:
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

    def leaf_parameters(self, leaves: Sequence[Leaf]) -> Floats:
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

    def with_value(self, leaf: Leaf, value: Floats) -> Leaf:
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

    def value_likelihoods(self, values: Any, targets: Any, deviations: Any) -> Any:
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
    both = yes + no
    total = mass(both)
    after = mass(yes) * measure(yes) + mass(no) * measure(no)
    before = measure(both)
    # Rounding errors must not give a gain to a useless test, nor a negative gain to any.
    gain: Floats = np.maximum(before - np.divide(after, total, out=np.zeros_like(before), where=total > 0), 0.0)
    return gain


@dataclass(frozen=True)
class ClassCriterion(Criterion):
    """Classes, counted by their masses; splits by information gain, leaves with class probabilities.

    Targets are class numbers from 0.

    Parameters
    ----------
    classes : how many classes there are.
    positive : the number of the class that a test is to be true for.

    >>> criterion = ClassCriterion(2)
    >>> criterion.sums(np.array([0, 1, 1]), np.array([1.0, 0.5, 1.0])).tolist()
    [1.0, 1.5]
    >>> float(criterion.gain(np.array([2.0, 0.0]), np.array([0.0, 2.0])))
    1.0
    >>> criterion.leaf(np.array([1.0, 3.0]))
    Leaf(probabilities=(0.25, 0.75))
    """

    name: ClassVar[str] = "entropy"

    classes: int = 2
    positive: int = 1

    def __init_subclass__(cls) -> None:
        """Name a criterion after its class, unless that has a `name`: it must not be saved under that of its parent."""
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def for_classes(self, classes: int, positive: int) -> ClassCriterion:
        """The same criterion for so many classes, with the number of the positive one.

        Parameters
        ----------
        classes : the number of classes.
        positive : the number of the positive class.

        Returns
        -------
        The new criterion.
        """
        return replace(self, classes=classes, positive=positive)

    @property
    def degrees_of_freedom(self) -> int:
        return self.classes - 1

    def statistics(self, targets: Floats, weights: Floats) -> Floats:
        counted = np.zeros((len(targets), self.classes))
        counted[np.arange(len(targets)), targets] = weights
        return counted

    def sums(self, targets: Floats, weights: Floats) -> Floats:
        return np.bincount(targets, weights, self.classes)

    def sums_by_code(self, codes: npt.NDArray[Any], size: int, targets: Floats, weights: Floats) -> Floats:
        cells = codes.astype(np.intp) * self.classes + targets
        return np.bincount(cells, weights, size * self.classes).reshape(size, self.classes)

    def mass(self, statistics: Floats) -> Floats:
        mass: Floats = statistics.sum(axis=-1)
        return mass

    def strata(self, targets: Floats) -> npt.NDArray[np.int64]:
        return targets

    def impurity(self, statistics: Floats) -> Floats:
        return self.entropy(statistics)

    def entropy(self, statistics: Floats) -> Floats:
        """H = −Σ p log₂ p of the classes along the last axis, in bits; 0 where there is no mass.

        >>> float(ClassCriterion().entropy(np.array([2.0, 2.0])))
        1.0
        """
        frequencies = self.frequencies(statistics)
        logs = np.log2(frequencies, out=np.zeros_like(frequencies), where=frequencies > 0)
        bits: Floats = -(frequencies * logs).sum(axis=-1)
        return bits

    def frequencies(self, statistics: Floats) -> Floats:
        """The relative mass of each class along the last axis; 0 where there is no mass.

        Parameters
        ----------
        statistics : class masses, `(…, class)`.

        Returns
        -------
        Fractions that sum to 1, `(…, class)`.
        """
        total = statistics.sum(axis=-1, keepdims=True)
        frequencies: Floats = np.divide(
            statistics, total, out=np.zeros_like(statistics, dtype=np.float64), where=total > 0
        )
        return frequencies

    def is_pure(self, statistics: Floats) -> bool:
        return bool(np.count_nonzero(statistics > 1e-9 * max(float(statistics.sum()), 1e-300)) <= 1)

    def minority_mass(self, statistics: Floats) -> float:
        """The mass outside the majority class."""
        return float(statistics.sum() - statistics.max())

    def code_length(self, statistics: Floats, node: Floats) -> float:
        """The description length of the classes, in bits, under a symmetric Dirichlet prior.

        Each example is coded with the class frequencies of those before it, smoothed by half an example over all classes
        (`PRIOR_STRENGTH`). The order of the examples does not matter, masses may be fractions, and a leaf with many
        examples of two classes takes about ½ log₂ n bits more than its entropy: the bits that code the class frequency.
        Only classes that are present at the node count: a node of two classes is not charged for the third.

        >>> node = np.array([8.0, 8.0])
        >>> [round(ClassCriterion().code_length(np.array(masses), node), 3) for masses in ([8.0, 0.0], [4.0, 4.0])]
        [1.777, 10.566]
        """
        masses = statistics[node > 0]
        prior = PRIOR_STRENGTH / max(len(masses), 1)
        log_classes = sum(math.lgamma(prior + float(mass)) - math.lgamma(prior) for mass in masses)
        log_total = math.lgamma(PRIOR_STRENGTH + float(masses.sum())) - math.lgamma(PRIOR_STRENGTH)
        return (log_total - log_classes) / math.log(2.0)

    def leaf(self, statistics: Floats) -> Leaf:
        """A leaf with the relative mass of each class; uniform where no mass reaches it."""
        return Leaf(self._estimate(statistics), tuple(statistics.tolist()))

    def _estimate(self, masses: Floats) -> tuple[float, ...]:
        total = float(masses.sum())
        if total <= 0:
            return tuple([1.0 / len(masses)] * len(masses))
        return tuple((masses / total).tolist())

    def log_likelihoods(self, reach: Floats, statistics: Floats, targets: Floats) -> Floats:
        counted = statistics + PRIOR_MASS * np.array(self._estimate(statistics.sum(0)))
        probabilities = reach @ (counted / counted.sum(1, keepdims=True))  # (example, class)
        of_targets = probabilities[np.arange(len(probabilities)), targets]
        likelihoods: Floats = np.log(np.maximum(of_targets, FLOOR))
        return likelihoods

    def initial_parameters(self, statistics: Floats, paths: int, flipped: bool, coins: Callable[[int], Mask]) -> Floats:
        """Logits of the class frequencies; those of a test are tilted apart, so that its leaves differ."""
        masses = statistics + 1e-3
        prior = np.log(masses / masses.sum())
        if paths > 2:  # nothing is known about which path belongs to which class
            return np.tile(prior, (paths, 1))
        upward = self.is_positive(np.arange(2), flipped) if self.classes == 2 else coins(self.classes)
        tilt = np.where(upward, 1.0, -1.0)
        return np.stack((prior + tilt, prior - tilt))

    def leaf_parameters(self, leaves: Sequence[Leaf]) -> Floats:
        """Logits of the class probabilities."""
        probabilities = np.array([leaf.probabilities for leaf in leaves])
        logits: Floats = np.log(np.clip(probabilities, MIN_LEAF_PROBABILITY, None))
        return logits

    def likelihoods(self, parameters: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        probabilities = parameters.softmax(2)  # (restart, path, class)
        restarts = targets.new_tensor(range(len(targets))).unsqueeze(1)
        return probabilities[restarts, :, targets].permute(2, 0, 1)

    def leaf_values(self, parameters: torch.Tensor) -> Floats:
        """Class probabilities, `(path, class)`."""
        values: Floats = parameters.double().softmax(1).numpy()
        return values

    def with_value(self, leaf: Leaf, value: Floats) -> Leaf:
        return Leaf(tuple((value / value.sum()).tolist()), leaf.masses)

    def is_positive(self, targets: Any, flipped: Any = False) -> Any:
        """Whether the class is the positive one. Of more than two classes none is the opposite of it: `flipped` is ignored."""
        positive = targets == self.positive
        return positive ^ flipped if self.classes == 2 else positive

    def positive_fraction(self, statistics: Floats) -> float | None:
        if self.classes != 2:
            return None
        return float(statistics[self.positive] / max(statistics.sum(), 1e-300))


@dataclass(frozen=True)
class GiniCriterion(ClassCriterion):
    """Classes, with splits by the decrease of Gini impurity, as in CART; pruning and training are those of entropy.

    Attributes
    ----------
    classes : how many classes there are.
    positive : the number of the class that a test is to be true for.

    >>> float(GiniCriterion().gain(np.array([2.0, 0.0]), np.array([0.0, 2.0])))
    0.5
    """

    name: ClassVar[str] = "gini"

    def impurity(self, statistics: Floats) -> Floats:
        """1 − Σ p² of the classes along the last axis; 0 where there is no mass."""
        impurity: Floats = np.where(
            self.mass(statistics) > 0, 1.0 - (self.frequencies(statistics) ** 2).sum(axis=-1), 0.0
        )
        return impurity


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """Targets of some examples with their weights, and the criterion that counts them.

    Attributes
    ----------
    values : what the criterion takes as targets, for classes their numbers, `(example,)`.
    weights : the weight of each example; at a node, times P(κ|e), `(example,)`.
    criterion : counts them.

    >>> target = Target(np.array([0, 0, 1]), np.ones(3), ClassCriterion(2))
    >>> target.sums().tolist(), round(target.gain(np.array([1.0, 1.0, 0.0])), 3)
    ([2.0, 1.0], 0.918)
    """

    values: npt.NDArray[Any]
    weights: Floats
    criterion: Criterion

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Target:
        """The targets of these rows."""
        return Target(self.values[rows], self.weights[rows], self.criterion)

    @property
    def width(self) -> int:
        """The number of statistics."""
        width: int = self[:0].statistics().shape[1]
        return width

    def weighted(self, weights: Floats) -> Target:
        """The same targets with other weights.

        Parameters
        ----------
        weights : the new weights, `(example,)`.

        Returns
        -------
        The new target.
        """
        return Target(self.values, weights, self.criterion)

    def concatenated(self, values: npt.NDArray[Any], weights: Floats) -> Target:
        """These targets and others.

        Parameters
        ----------
        values : further targets, `(example,)`.
        weights : their weights, `(example,)`.

        Returns
        -------
        The new target.
        """
        return Target(np.concatenate((self.values, values)), np.concatenate((self.weights, weights)), self.criterion)

    def sums(self) -> Floats:
        """The sum of the statistics, `(statistic,)`."""
        return self.criterion.sums(self.values, self.weights)

    def statistics(self) -> Floats:
        """The statistics of each example, `(example, statistic)`."""
        return self.criterion.statistics(self.values, self.weights)

    def sums_by_code(self, codes: npt.NDArray[Any], size: int) -> Floats:
        """The sum of the statistics over the examples of each code, `(code, statistic)`.

        Parameters
        ----------
        codes : the code of each example, `(example,)`.
        size : the number of codes.

        Returns
        -------
        Statistics, `(code, statistic)`.
        """
        return self.criterion.sums_by_code(codes, size, self.values, self.weights)

    def sides(self, responses: Floats) -> tuple[Floats, Floats]:
        """The statistics of both children of a test with these responses P(τ | κ, e), `(statistic,)` each.

        Parameters
        ----------
        responses : P(τ | κ, e) of each example, `(example,)`.

        Returns
        -------
        The statistics of yes and of no.
        """
        yes = self.weighted(self.weights * responses).sums()
        return yes, self.weighted(self.weights * (1.0 - responses)).sums()

    def gain(self, responses: Floats) -> float:
        """The gain of a test with these responses P(τ | κ, e), `(example,)`.

        Parameters
        ----------
        responses : P(τ | κ, e) of each example, `(example,)`.

        Returns
        -------
        The gain.
        """
        return float(self.criterion.gain(*self.sides(responses)))

    def information_gain(self, responses: Floats) -> float:
        """The information gain of a test with these responses, in bits.

        Parameters
        ----------
        responses : P(τ | κ, e) of each example, `(example,)`.

        Returns
        -------
        Bits.
        """
        return float(self.criterion.information_gain(*self.sides(responses)))

    def mean_information_gain(self, sides: Floats) -> float:
        """Mean information gain of several tests, each applied to examples of its own, weighted by their mass, in bits.

        Parameters
        ----------
        sides : `(side, example)`; for each test a row of responses and a row of their complements, 0 for other examples.

        Returns
        -------
        Bits.

        >>> sides = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
        >>> target = Target(np.array([0, 1, 1]), np.ones(3), ClassCriterion(2))
        >>> round(target.mean_information_gain(sides), 3)  # the first test separates its two examples
        0.667
        """
        sums = np.stack([self.weighted(self.weights * side).sums() for side in sides])
        gains = self.criterion.information_gain(sums[0::2], sums[1::2])
        return float(np.average(gains, weights=self.criterion.mass(sums[0::2] + sums[1::2])))


# Criteria by name --------------------------------------------------------------------------------

_registered: dict[str, ClassCriterion] = {}


def register_criterion(criterion: ClassCriterion) -> ClassCriterion:
    """The same criterion, which from now on can be given, saved and loaded by its name.

    Parameters
    ----------
    criterion : the criterion.

    Returns
    -------
    The same criterion.

    Raises
    ------
    DataError : where another criterion has the name.
    """
    known = _registered.setdefault(criterion.name, criterion)
    if type(known) is not type(criterion):
        raise DataError(
            f"The name {criterion.name!r} belongs to {type(known).__qualname__}; give {type(criterion).__qualname__} "
            "another `name`."
        )
    return criterion


register_criterion(ClassCriterion())
register_criterion(GiniCriterion())


def criterion_of(criterion: str | ClassCriterion) -> ClassCriterion:
    """The criterion of this name; a criterion is returned as it is.

    Parameters
    ----------
    criterion : a criterion, or the name of a registered one.

    Returns
    -------
    The criterion.

    Raises
    ------
    DataError : where no criterion with this name is registered.

    >>> criterion_of("gini")
    GiniCriterion(classes=2, positive=1)
    """
    if not isinstance(criterion, str):
        return criterion
    if criterion not in _registered:
        raise DataError(
            f"criterion={criterion!r} is not known; give one of {', '.join(map(repr, sorted(_registered)))}, an instance "
            "of a `ClassCriterion`, or register yours with `register_criterion`."
        )
    return _registered[criterion]


def column_importances(gains: Iterable[tuple[Sequence[str], float]], names: Iterable[str]) -> npt.NDArray[np.float64]:
    """Importance of each column: its fraction of the total gain; a test divides its gain evenly among its columns.

    Parameters
    ----------
    gains : for each test its columns and its gain times the mass of its node.
    names : all columns, in the order of the result.

    >>> column_importances([(("a", "b"), 2.0), (("b",), 2.0)], ["a", "b", "c"]).tolist()
    [0.25, 0.75, 0.0]
    """
    importance = dict.fromkeys(names, 0.0)
    for columns, total_gain in gains:
        for name in columns:
            importance[name] += total_gain / len(columns)
    total = sum(importance.values()) or 1.0
    return np.array([value / total for value in importance.values()])
