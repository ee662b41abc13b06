"""Losses of boosted sums: gradients and Hessians of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from neuid3.tree.sum_model import class_probabilities

Floats = npt.NDArray[np.float64]

# The least second derivative of a score: where an example is certain, a Newton step would otherwise divide by 0.
MIN_HESSIAN = 1e-12


class Loss(Protocol):
    """The loss of scores given targets.

    Attributes
    ----------
    width : the number of scores.
    """

    @property
    def width(self) -> int:
        """The number of scores."""
        ...

    def initial(self, targets: npt.NDArray[Any], weights: Floats) -> Floats:
        """The constant scores with the least loss, `(score,)`.

        Parameters
        ----------
        targets : the target of each example, `(example,)`.
        weights : their weights, `(example,)`.

        Returns
        -------
        F₀.
        """
        ...

    def derivatives(self, scores: Floats, targets: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        """The gradient of the loss of each example, and the diagonal of its Hessian, `(example, score)` each.

        Parameters
        ----------
        scores : F(e), `(example, score)`.
        targets : the target of each example, `(example,)`.

        Returns
        -------
        First and second derivatives.
        """
        ...

    def losses(self, scores: Floats, targets: npt.NDArray[Any]) -> Floats:
        """The loss of each example, `(example,)`.

        Parameters
        ----------
        scores : F(e), `(example, score)`.
        targets : the target of each example, `(example,)`.

        Returns
        -------
        Losses.
        """
        ...


@dataclass(frozen=True, slots=True)
class LogisticLoss:
    """−log P(class | e), with one log-odds for two classes and a softmax of one score a class for more.

    Targets are class numbers from 0.

    Attributes
    ----------
    classes : how many classes there are.

    >>> gradient, hessian = LogisticLoss(2).derivatives(np.zeros((2, 1)), np.array([0, 1]))
    >>> gradient.tolist(), hessian.tolist()
    ([[0.5], [-0.5]], [[0.25], [0.25]])
    """

    classes: int

    @property
    def width(self) -> int:
        """One score for two classes, otherwise one a class."""
        return 1 if self.classes == 2 else self.classes

    def initial(self, targets: npt.NDArray[Any], weights: Floats) -> Floats:
        """The log-odds, or the logarithms, of the class frequencies.

        Parameters
        ----------
        targets : class numbers, `(example,)`.
        weights : their weights, `(example,)`.

        Returns
        -------
        F₀, `(score,)`.
        """
        masses = np.bincount(targets, weights, self.classes)
        # A class of weight 0 keeps a finite score.
        logarithms: Floats = np.log(np.maximum(masses / masses.sum(), 1e-6))
        return logarithms[1:] - logarithms[0] if self.width == 1 else logarithms

    def derivatives(self, scores: Floats, targets: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        """P − 1 for the class of an example and P for the others; P · (1 − P).

        Parameters
        ----------
        scores : F(e), `(example, score)`.
        targets : class numbers, `(example,)`.

        Returns
        -------
        First and second derivatives, `(example, score)`.
        """
        probabilities = class_probabilities(scores)[:, -self.width :]
        first = probabilities.copy()
        if self.width == 1:
            first[:, 0] -= targets
        else:
            first[np.arange(len(first)), targets] -= 1.0
        return first, np.maximum(probabilities * (1.0 - probabilities), MIN_HESSIAN)

    def losses(self, scores: Floats, targets: npt.NDArray[Any]) -> Floats:
        """−log P(class | e), in nats.

        Parameters
        ----------
        scores : F(e), `(example, score)`.
        targets : class numbers, `(example,)`.

        Returns
        -------
        Losses, `(example,)`.
        """
        both = np.concatenate((np.zeros_like(scores), scores), axis=1) if self.width == 1 else scores
        top = both.max(axis=1)
        total: Floats = np.log(np.exp(both - top[:, None]).sum(axis=1)) + top - both[np.arange(len(both)), targets]
        return total


@dataclass(frozen=True, slots=True)
class SquaredLoss:
    """½ (F − y)² of one score, the predicted number.

    >>> SquaredLoss().derivatives(np.array([[3.0]]), np.array([1.0]))
    (array([[2.]]), array([[1.]]))
    """

    @property
    def width(self) -> int:
        """One score."""
        return 1

    def initial(self, targets: npt.NDArray[Any], weights: Floats) -> Floats:
        """The mean.

        Parameters
        ----------
        targets : numbers, `(example,)`.
        weights : their weights, `(example,)`.

        Returns
        -------
        F₀, `(1,)`.
        """
        return np.array([np.average(targets, weights=weights)])

    def derivatives(self, scores: Floats, targets: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        """F − y, and 1.

        Parameters
        ----------
        scores : F(e), `(example, 1)`.
        targets : numbers, `(example,)`.

        Returns
        -------
        First and second derivatives, `(example, 1)`.
        """
        return scores - targets[:, None], np.ones_like(scores)

    def losses(self, scores: Floats, targets: npt.NDArray[Any]) -> Floats:
        """½ (F − y)².

        Parameters
        ----------
        scores : F(e), `(example, 1)`.
        targets : numbers, `(example,)`.

        Returns
        -------
        Losses, `(example,)`.
        """
        halves: Floats = 0.5 * (scores[:, 0] - targets) ** 2
        return halves
