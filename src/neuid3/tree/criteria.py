"""Criteria of classes, and criteria by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from neuid3.errors import DataError
from neuid3.tree.criterion import FLOOR, PRIOR_MASS, Criterion, Floats, Mask
from neuid3.tree.leaves import Leaf, LeafNode
from neuid3.tree.number_criterion import NumberCriterion
from neuid3.tree.record import AnyScore, score_of
from neuid3.tree.target import Target, column_importances

if TYPE_CHECKING:  # tables without networks are learned without PyTorch
    import torch

__all__ = [
    "FLOOR",
    "ClassCriterion",
    "Criterion",
    "GiniCriterion",
    "NumberCriterion",
    "Target",
    "column_importances",
    "criterion_of",
    "register_criterion",
]

# The strength of the symmetric Dirichlet prior of `code_length`, in examples, over all classes together.
PRIOR_STRENGTH = 0.5

# The least probability of a leaf whose training continues: a logit of −∞ would never move.
MIN_LEAF_PROBABILITY = 1e-4


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

    @property
    def is_binary(self) -> bool:
        return self.classes == 2

    @property
    def description(self) -> str:
        return f"{self.classes} classes"

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

    def codes(self, targets: Floats) -> npt.NDArray[np.int64]:
        return targets

    def score(self, kind: str, reach: Floats, leaves: Sequence[LeafNode], targets: Floats) -> AnyScore:
        return score_of(kind, reach @ np.array([leaf.value for leaf in leaves]), targets)

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

    def number(self, statistics: Floats) -> Floats:
        """The probability of the positive class, of two classes."""
        probability: Floats = self.frequencies(statistics)[..., self.positive]
        return probability

    def excess(self, statistics: Floats, numbers: Floats) -> Floats:
        """The bits per example by which the classes take longer to code with these probabilities of the positive class."""
        own = np.stack((1.0 - self.number(statistics), self.number(statistics)), axis=-1)
        other = np.clip(np.stack((1.0 - numbers, numbers), axis=-1), FLOOR, None)
        logs = np.log2(own / other, out=np.zeros_like(own), where=own > 0)
        bits: Floats = (own * logs).sum(axis=-1)
        return bits

    def squared_errors(self, statistics: Floats) -> Floats:
        """The squared error of the class frequencies, summed up over the examples of a node: its mass times Gini impurity.

        Parameters
        ----------
        statistics : class masses, `(…, class)`.

        Returns
        -------
        Errors, with one axis fewer.
        """
        errors: Floats = self.mass(statistics) * (1.0 - (self.frequencies(statistics) ** 2).sum(axis=-1))
        return errors

    def predictions(self, statistics: Floats) -> Floats:
        """The class frequencies; equal ones where there is no mass.

        Parameters
        ----------
        statistics : class masses, `(node, class)`.

        Returns
        -------
        Probabilities, `(node, class)`.
        """
        return np.array([self._estimate(masses) for masses in statistics])

    def losses(self, predictions: Floats, targets: Floats) -> Floats:
        """1 where the most probable class is another one, otherwise 0.

        Parameters
        ----------
        predictions : class probabilities, `(example, class)`.
        targets : class numbers, `(example,)`.

        Returns
        -------
        Losses, `(example,)`.
        """
        losses: Floats = (predictions.argmax(axis=1) != targets).astype(np.float64)
        return losses

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

    def leaf_parameters(self, leaves: Sequence[LeafNode]) -> Floats:
        """Logits of the class probabilities."""
        probabilities = np.array([leaf.value for leaf in leaves])
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

    def with_value(self, leaf: LeafNode, value: Floats) -> Leaf:
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

    def excess(self, statistics: Floats, numbers: Floats) -> Floats:
        """The increase of the expected squared error of the probabilities of two classes."""
        squares: Floats = 2.0 * (self.number(statistics) - numbers) ** 2
        return squares


# Criteria by name --------------------------------------------------------------------------------

_Kind = TypeVar("_Kind", ClassCriterion, NumberCriterion)

_registered: dict[str, ClassCriterion | NumberCriterion] = {}


def register_criterion(criterion: _Kind) -> _Kind:
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
register_criterion(NumberCriterion())


def criterion_of(criterion: str | Criterion, kind: type[_Kind] = ClassCriterion) -> _Kind:  # type: ignore[assignment]
    """The criterion of this name; a criterion is returned as it is.

    Parameters
    ----------
    criterion : a criterion, or the name of a registered one.
    kind : what it is for, as a base class: `ClassCriterion` or `NumberCriterion`.

    Returns
    -------
    The criterion.

    Raises
    ------
    DataError : where no criterion of this kind with this name is registered.

    >>> criterion_of("gini")
    GiniCriterion(classes=2, positive=1)
    """
    found = _registered.get(criterion) if isinstance(criterion, str) else criterion
    if isinstance(found, kind):
        return found
    names = ", ".join(repr(name) for name, known in sorted(_registered.items()) if isinstance(known, kind))
    problem = "is not known" if found is None else f"is not one of {_TARGETS[kind]}"
    raise DataError(
        f"criterion={criterion!r} {problem}; give one of {names}, an instance of a `{kind.__name__}`, or register yours "
        "with `register_criterion`."
    )


_TARGETS: dict[type, str] = {ClassCriterion: "classes", NumberCriterion: "numbers"}
