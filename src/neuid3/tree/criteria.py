"""How well does a test split? Masses of classes in, bits out; pure arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Masses: TypeAlias = npt.NDArray[Any]

# How many examples the belief is worth that all classes are equally frequent.
DOUBT = 0.5


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


def code_length(masses: Masses) -> float:
    """How many bits it takes to tell the classes of all this mass, when nobody knows their shares beforehand.

    Each example is told with the shares that those before it suggest, and half an example of doubt shared among the
    classes: the code of a Dirichlet prior. The order does not matter, masses may be fractions, and a leaf with many
    examples of both classes costs about ½ log₂ n bits more than its entropy says: what it takes to tell its share.

    >>> round(code_length(np.array([8.0, 0.0])), 3), round(code_length(np.array([4.0, 4.0])), 3)
    (1.777, 10.566)
    """
    prior = DOUBT / len(masses)
    told = sum(math.lgamma(prior + float(mass)) - math.lgamma(prior) for mass in masses)
    return (math.lgamma(DOUBT + float(masses.sum())) - math.lgamma(DOUBT) - told) / math.log(2.0)


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


def gain_of_tests(sides: Masses, weights: Masses, labels: npt.NDArray[np.int64], classes: int) -> float:
    """The average gain of several tests, of which each example is asked one: `(side, example)`, a yes and a no for each.

    >>> sides = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    >>> round(gain_of_tests(sides, np.ones(3), np.array([0, 1, 1]), 2), 3)  # two examples are told apart, one is alone
    0.667
    """
    masses = np.stack([np.bincount(labels, weights * side, classes) for side in sides])
    gains = information_gain(masses[0::2], masses[1::2])
    return float(np.average(gains, weights=(masses[0::2] + masses[1::2]).sum(axis=1)))


def shares_of(told: Iterable[tuple[Sequence[str], float]], names: Iterable[str]) -> npt.NDArray[np.float64]:
    """The share of each column in the bits that tests told; a test of several columns shares its own out evenly.

    >>> shares_of([(("a", "b"), 2.0), (("b",), 2.0)], ["a", "b", "c"]).tolist()
    [0.25, 0.75, 0.0]
    """
    share = dict.fromkeys(names, 0.0)
    for columns, bits in told:
        for name in columns:
            share[name] += bits / len(columns)
    total = sum(share.values()) or 1.0
    return np.array([value / total for value in share.values()])
