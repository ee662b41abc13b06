"""The criterion of numbers: squared error, normal distributions at leaves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from neuid3.errors import DataError
from neuid3.tree.criterion import FLOOR, PRIOR_MASS, Criterion, Floats, Mask
from neuid3.tree.leaves import LeafNode, NumberLeaf
from neuid3.tree.record import AnyScore, number_score

if TYPE_CHECKING:  # tables without networks are learned without PyTorch
    import torch

# The floor of all deviations, as a fraction of the standard deviation of the training targets. It is also the precision
# to which numbers are coded, so that the code of a number takes log₂ 100 bits less where it is known as precisely as that.
RESOLUTION = 0.01

# Gains are rounded to this many binary digits, so that rounding errors do not decide which of two equally good tests is
# chosen.
BINARY_DIGITS = 36

# Numbers whose variance is below this fraction of the variance of all training targets are equal.
EQUAL = 1e-12

# Squares of numbers between these are finite, and not 0; variances need them.
SMALLEST, LARGEST = 1e-150, 1e150

# The prior of means and of the variance in `description_length`: the weight of those of the node, in examples.
PRIOR_OF_MEAN, PRIOR_OF_VARIANCE = 1.0, 1.0

# The leaves of a new test start so many deviations above and below the mean of their node.
TILT = 0.5

# The number of equally large strata of a validation split.
STRATA = 10

# The factor that makes the density of a number a probability, relative to the entropy of a normal distribution with the
# deviation RESOLUTION.
_CELL = RESOLUTION * math.sqrt(2.0 * math.pi * math.e)


@dataclass(frozen=True)
class NumberCriterion(Criterion):
    """Numbers, counted by (Σ w, Σ w·z, Σ w·z²); splits by the reduction of squared error, leaves with a mean and deviation.

    Targets are *standardised*: z = (y − center) / scale, where center and scale are the mean and the standard deviation of
    the training targets (`for_targets`, `standardized`). So a tree does not depend on the unit of its target, and a target
    of 10⁹ with a deviation of 1 loses no precision. Impurities and gains are fractions of the variance of all training
    targets. Leaves hold numbers in the unit of the target.

    Parameters
    ----------
    center : the mean of the training targets.
    scale : their standard deviation.

    >>> criterion = NumberCriterion().for_targets(np.array([1.0, 3.0, 5.0]), np.ones(3))
    >>> criterion.center, round(criterion.scale, 3)
    (3.0, 1.633)
    >>> z = criterion.standardized(np.array([1.0, 3.0, 5.0]))
    >>> round(float(criterion.gain(criterion.sums(z[:1], np.ones(1)), criterion.sums(z[1:], np.ones(2)))), 3)
    0.75
    >>> leaf = criterion.leaf(criterion.sums(z[1:], np.ones(2)))
    >>> round(leaf.mean, 6), round(leaf.deviation, 6)
    (4.0, 1.0)
    """

    name: ClassVar[str] = "squared_error"

    center: float = 0.0
    scale: float = 1.0

    def __init_subclass__(cls) -> None:
        """Name a criterion after its class, unless that has a `name`: it must not be saved under that of its parent."""
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def for_targets(self, targets: Floats, weights: Floats) -> NumberCriterion:
        """The same criterion for these training targets.

        Parameters
        ----------
        targets : finite numbers, `(example,)`.
        weights : the weight of each example, `(example,)`.

        Returns
        -------
        The new criterion.

        Raises
        ------
        DataError : where all targets are equal, or too large or too close to each other to compute with.
        """
        first, weights = float(targets[0]), weights / weights.max()
        if (highest := float(np.abs(targets).max())) > LARGEST:
            raise DataError(
                f"y holds {highest:g}, and numbers above {LARGEST:g} are too large to compute with; divide them by a common "
                "factor."
            )
        differences = targets - first
        largest = float(np.abs(differences).max())
        if largest == 0.0:
            raise DataError(
                f"y has one value only, {first:g} (n_samples = {len(targets)}); a regressor needs examples with at least "
                "two different numbers."
            )
        if largest < SMALLEST:
            raise DataError(
                f"The numbers in y differ by {largest:g} at most, which is too little to compute with; multiply them by a "
                "common factor."
            )
        fractions = differences / largest
        mean = float(np.average(fractions, weights=weights))
        deviation = math.sqrt(float(np.average((fractions - mean) ** 2, weights=weights)))
        return replace(self, center=first + largest * mean, scale=max(largest * deviation, SMALLEST))

    def standardized(self, targets: Floats) -> Floats:
        """Targets as multiples of the scale from the center.

        Parameters
        ----------
        targets : numbers in the unit of the target, `(example,)`.

        Returns
        -------
        Standardised targets, `(example,)`.
        """
        standardized: Floats = (targets - self.center) / self.scale
        return standardized

    def numbers(self, standardized: Any) -> Any:
        """Numbers in the unit of the target, the inverse of `standardized`.

        Parameters
        ----------
        standardized : standardised numbers.

        Returns
        -------
        Numbers in the unit of the target.
        """
        return self.center + self.scale * standardized

    @property
    def degrees_of_freedom(self) -> int:
        """One, the mean: the deviation is common to both children in `information_gain`."""
        return 1

    @property
    def description(self) -> str:
        return "numbers"

    # What is counted -----------------------------------------------------------------------------

    def statistics(self, targets: Floats, weights: Floats) -> Floats:
        first = weights * targets
        return np.stack((weights, first, first * targets), axis=1)

    def sums(self, targets: Floats, weights: Floats) -> Floats:
        first = weights * targets
        return np.array((weights.sum(), first.sum(), first @ targets))

    def mass(self, statistics: Floats) -> Floats:
        mass: Floats = statistics[..., 0]
        return mass

    def strata(self, targets: Floats) -> npt.NDArray[np.int64]:
        """The decile of each target."""
        edges = np.quantile(targets, np.linspace(0.0, 1.0, STRATA + 1)[1:-1])
        return np.searchsorted(np.unique(edges), targets).astype(np.int64)

    # How good a split is -------------------------------------------------------------------------

    def means(self, statistics: Floats) -> Floats:
        """The standardised mean along the last axis; 0 where there is no mass.

        Parameters
        ----------
        statistics : the statistics of a node, `(…, 3)`.

        Returns
        -------
        Means, with one axis fewer.
        """
        return _ratio(statistics[..., 1], statistics[..., 0])

    def number(self, statistics: Floats) -> Floats:
        """The mean, standardized."""
        return self.means(statistics)

    def impurity(self, statistics: Floats) -> Floats:
        """The variance along the last axis, as a fraction of the variance of all training targets."""
        variance: Floats = np.maximum(_ratio(statistics[..., 2], statistics[..., 0]) - self.means(statistics) ** 2, 0.0)
        return variance

    def gain(self, yes: Floats, no: Floats) -> Floats:
        """The decrease of variance: the mean of both children has this variance about that of the node.

        This form of it has no difference of large numbers. The variance of the means is
        S(τ)·S(¬τ)/S² · (mean(τ) − mean(¬τ))².
        """
        mass = yes[..., 0] + no[..., 0]
        fractions = _ratio(yes[..., 0], mass) * _ratio(no[..., 0], mass)
        return _rounded(np.maximum(fractions, 0.0) * (self.means(yes) - self.means(no)) ** 2)

    def entropy(self, statistics: Floats) -> Floats:
        """½ log₂ of the variance, in units of the squared `RESOLUTION`, in bits; 0 where all numbers are equal."""
        bits: Floats = 0.5 * np.log2(1.0 + self.impurity(statistics) / RESOLUTION**2)
        return bits

    def information_gain(self, yes: Floats, no: Floats) -> Floats:
        """The bits that the means of the children save, coded with the mean variance of both children."""
        total = self.impurity(yes + no)
        within = np.maximum(total - self.gain(yes, no), 0.0)
        bits: Floats = 0.5 * np.log2((total + RESOLUTION**2) / (within + RESOLUTION**2))
        return bits

    def is_pure(self, statistics: Floats) -> bool:
        return bool(self.impurity(statistics) <= EQUAL)

    def code_length(self, statistics: Floats, node: Floats) -> float:
        return self.description_length([statistics], node)

    def description_length(self, leaves: Sequence[Floats], node: Floats) -> float:
        """The description length of the numbers at the leaves, in bits, with a mean for each leaf and one variance for all.

        The prior is normal-inverse-gamma: `PRIOR_OF_MEAN` examples at the node's mean for each leaf, and
        `PRIOR_OF_VARIANCE` examples with the node's variance. So each number is coded with the mean and variance of those
        before it, the order of the examples does not matter, masses may be fractions, and a leaf with n examples takes about
        ½ log₂ n bits for its mean. The precision of the numbers, `RESOLUTION`, keeps the code of equal numbers finite.

        A variance of its own for each leaf would also reward splits that separate small from large deviations and leave
        the means as they are, and leaves that isolate a few large numbers.

        >>> criterion, node = NumberCriterion(), np.array([16.0, 0.0, 16.0])
        >>> halves = {"apart": [[8.0, 8.0, 8.0], [8.0, -8.0, 8.0]], "alike": [[8.0, 0.0, 8.0], [8.0, 0.0, 8.0]]}
        >>> bits = {name: criterion.description_length(np.array(leaves), node) for name, leaves in halves.items()}
        >>> bits["apart"] < criterion.code_length(node, node) < bits["alike"]
        True
        """
        node_mean, variance = float(self.means(node)), float(self.impurity(node)) + RESOLUTION**2
        prior_shape, prior_rate = 0.5 * PRIOR_OF_VARIANCE, 0.5 * PRIOR_OF_VARIANCE * variance
        total, rate, nats_of_means = 0.0, prior_rate, 0.0
        for leaf in leaves:
            mass = float(self.mass(leaf))
            weight = PRIOR_OF_MEAN + mass
            between = PRIOR_OF_MEAN * mass / weight * (float(self.means(leaf)) - node_mean) ** 2
            total, rate = total + mass, rate + 0.5 * (float(self.impurity(leaf)) * mass + between)
            nats_of_means += 0.5 * math.log(weight / PRIOR_OF_MEAN)
        shape = prior_shape + 0.5 * total
        of_variance = math.lgamma(prior_shape) - math.lgamma(shape) + shape * math.log(rate)
        unit = total * (0.5 * math.log(2.0 * math.pi) - math.log(_CELL))
        return (of_variance - prior_shape * math.log(prior_rate) + nats_of_means + unit) / math.log(2.0)

    # What a leaf says ----------------------------------------------------------------------------

    def squared_errors(self, statistics: Floats) -> Floats:
        """Σ w · (z − mean)² of the examples of a node.

        Parameters
        ----------
        statistics : (Σ w, Σ w·z, Σ w·z²), `(…, 3)`.

        Returns
        -------
        Errors, with one axis fewer.
        """
        errors: Floats = statistics[..., 2] - statistics[..., 1] * self.means(statistics)
        return errors

    def predictions(self, statistics: Floats) -> Floats:
        """The mean of the standardised numbers.

        Parameters
        ----------
        statistics : (Σ w, Σ w·z, Σ w·z²), `(node, 3)`.

        Returns
        -------
        Means, `(node, 1)`.
        """
        return self.means(statistics)[:, None]

    def losses(self, predictions: Floats, targets: Floats) -> Floats:
        """The squared error of each prediction.

        Parameters
        ----------
        predictions : standardised numbers, `(example, 1)`.
        targets : standardised numbers, `(example,)`.

        Returns
        -------
        Losses, `(example,)`.
        """
        errors: Floats = (predictions[:, 0] - targets) ** 2
        return errors

    def leaf(self, statistics: Floats) -> NumberLeaf:
        """A leaf with the mean and the deviation; those of all training targets where no mass reaches it."""
        mass = float(self.mass(statistics))
        variance = float(self.impurity(statistics)) if mass > 0 else 1.0
        deviation = self.scale * math.sqrt(max(variance, RESOLUTION**2))
        return NumberLeaf(float(self.numbers(self.means(statistics))), deviation, mass)

    def log_likelihoods(self, reach: Floats, statistics: Floats, targets: Floats) -> Floats:
        total = statistics.sum(0)
        counted = statistics + PRIOR_MASS * total / max(float(self.mass(total)), 1e-300)
        variances = np.maximum(self.impurity(counted), RESOLUTION**2)
        squares = (targets[:, None] - self.means(counted)) ** 2 / variances  # (example, leaf)
        densities = np.exp(-0.5 * squares) / np.sqrt(2.0 * np.pi * variances)
        likelihoods: Floats = np.log(np.maximum((reach * densities).sum(1) * _CELL, FLOOR))
        return likelihoods

    def score(self, kind: str, reach: Floats, leaves: Sequence[LeafNode], targets: Floats) -> AnyScore:
        means = np.array([leaf.value[0] for leaf in leaves])
        return number_score(kind, reach @ means, self.numbers(targets))

    # The loss ------------------------------------------------------------------------------------

    def initial_parameters(
        self,
        statistics: Floats,
        paths: int,
        flipped: bool,
        coins: Callable[[int], Mask],  # noqa: ARG002 - only classes need random draws
    ) -> Floats:
        """The mean, and the logarithm of the deviation; the means of a test are tilted apart, so that its leaves differ."""
        mean, deviation = float(self.means(statistics)), math.sqrt(max(float(self.impurity(statistics)), RESOLUTION**2))
        parameters = np.tile([mean, math.log(deviation)], (paths, 1))
        if paths <= 2:  # of more paths nothing is known about which belongs to large numbers
            upward = -1.0 if flipped else 1.0
            parameters[:, 0] += upward * TILT * deviation * np.array([1.0, -1.0])[:paths]
        return parameters

    def leaf_parameters(self, leaves: Sequence[LeafNode]) -> Floats:
        means, deviations = np.array([leaf.value for leaf in leaves]).T
        logs = np.log(np.maximum(deviations / self.scale, RESOLUTION))
        return np.stack(((means - self.center) / self.scale, logs), axis=1)

    def likelihoods(self, parameters: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        means, deviations = self._distribution(parameters)  # (path, restart, 1)
        squares = ((targets.to(parameters.dtype) - means) / deviations) ** 2
        return (-0.5 * squares).exp() * (_CELL / math.sqrt(2.0 * math.pi)) / deviations

    def _distribution(self, parameters: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        means = parameters[..., 0].T.unsqueeze(2)
        deviations = parameters[..., 1].exp().clamp_min(RESOLUTION).T.unsqueeze(2)
        return means, deviations

    def leaf_values(self, parameters: torch.Tensor) -> Floats:
        """Standardised means and deviations, `(path, 2)`."""
        means, deviations = self._distribution(parameters.double().unsqueeze(0))
        return np.stack((means.flatten().numpy(), deviations.flatten().numpy()), axis=1)

    def with_value(self, leaf: LeafNode, value: Floats) -> NumberLeaf:
        return NumberLeaf(float(self.numbers(value[0])), float(self.scale * value[1]), leaf.masses)

    # Leaves that compute -------------------------------------------------------------------------

    @property
    def value_scale(self) -> float:
        """The deviation of all training targets."""
        return self.scale

    @property
    def min_deviation(self) -> float:
        return RESOLUTION

    def value_likelihoods(self, values: Any, targets: Any, deviations: Any) -> Any:
        """Normal distributions around the values, all standardised; `e ** x` takes arrays and tensors."""
        densities = math.e ** (-0.5 * ((targets - values) / deviations) ** 2)
        return (_CELL / math.sqrt(2.0 * math.pi)) * densities / deviations

    def is_positive(self, targets: Any, flipped: Any = False) -> Any:
        """Whether a number is above the mean of all training targets."""
        return (targets > 0.0) ^ flipped

    def positive_fraction(self, statistics: Floats) -> float | None:  # noqa: ARG002 - the protocol's signature
        """None: sums do not say how many numbers are above the mean."""
        return None


def _ratio(values: Floats, masses: Floats) -> Floats:
    """Values per mass; 0 where there is no mass."""
    values = np.asarray(values, dtype=np.float64)
    ratio: Floats = np.divide(values, masses, out=np.zeros_like(values), where=np.asarray(masses) > 0)
    return ratio


def _rounded(gains: Floats) -> Floats:
    """Gains rounded to `BINARY_DIGITS` binary digits."""
    mantissas, exponents = np.frexp(gains)
    rounded: Floats = np.ldexp(np.round(np.ldexp(mantissas, BINARY_DIGITS)), exponents - BINARY_DIGITS)
    return rounded
