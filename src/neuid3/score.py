"""How well does a test split? Masses of classes in, bits out; pure arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Masses: TypeAlias = npt.NDArray[Any]


def entropy(masses: Masses) -> Masses:
    """H = −Σ p log₂ p of the classes along the last axis, in bits; nothing at all has no entropy.

    >>> float(entropy(np.array([2.0, 2.0])))
    1.0
    """
    total = masses.sum(axis=-1, keepdims=True)
    share = np.divide(masses, total, out=np.zeros_like(masses, dtype=np.float64), where=total > 0)
    logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
    bits: Masses = -(share * logs).sum(axis=-1)
    return bits


def information_gain(yes: Masses, no: Masses) -> Masses:
    """H(κ) − S(τ)/S · H(κ∧τ) − S(¬τ)/S · H(κ∧¬τ): how many bits the answer tells us about the class.

    `yes` and `no` hold, along the last axis, the mass Σ P(κ∧τ | e) of each class on either side; other axes are tests.

    >>> float(information_gain(np.array([2.0, 0.0]), np.array([0.0, 2.0])))
    1.0
    """
    both = yes + no
    total = both.sum(axis=-1)
    after = yes.sum(axis=-1) * entropy(yes) + no.sum(axis=-1) * entropy(no)
    before = entropy(both)
    # Rounding must not make a useless test look useful, nor a test lose information.
    gain: Masses = np.maximum(before - np.divide(after, total, out=np.zeros_like(before), where=total > 0), 0.0)
    return gain


def leaf_estimate(masses: Masses) -> tuple[float, ...]:
    """P(class | leaf): the share of each class in the mass that reaches the leaf; even shares where none does."""
    total = float(masses.sum())
    if total <= 0:
        return tuple([1.0 / len(masses)] * len(masses))
    return tuple((masses / total).tolist())


def gain_of(answers: Masses, weights: Masses, labels: npt.NDArray[np.int64], classes: int) -> float:
    """The information gain of a test that is true with these probabilities."""
    yes = np.bincount(labels, weights * answers, classes)
    no = np.bincount(labels, weights * (1.0 - answers), classes)
    return float(information_gain(yes, no))
