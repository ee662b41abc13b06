"""Entropy, information gain, description length and leaf estimates, from masses of classes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Masses: TypeAlias = npt.NDArray[Any]

# The strength of the symmetric Dirichlet prior of `code_length`, in examples, over all classes together.
PRIOR_STRENGTH = 0.5


def entropy(masses: Masses) -> Masses:
    """H = −Σ p log₂ p of the classes along the last axis, in bits; 0 where there is no mass.

    >>> float(entropy(np.array([2.0, 2.0])))
    1.0
    """
    total = masses.sum(axis=-1, keepdims=True)
    frequencies = np.divide(masses, total, out=np.zeros_like(masses, dtype=np.float64), where=total > 0)
    logs = np.log2(frequencies, out=np.zeros_like(frequencies), where=frequencies > 0)
    bits: Masses = -(frequencies * logs).sum(axis=-1)
    return bits


def information_gain(yes: Masses, no: Masses) -> Masses:
    """Probabilistic information gain H(κ) − S(τ)/S · H(κ∧τ) − S(¬τ)/S · H(κ∧¬τ) of a test τ at a node κ, in bits.

    Parameters
    ----------
    yes, no : masses Σ P(κ∧τ | e) and Σ P(κ∧¬τ | e) of each class, along the last axis; other axes are tests.

    >>> float(information_gain(np.array([2.0, 0.0]), np.array([0.0, 2.0])))
    1.0
    """
    both = yes + no
    total = both.sum(axis=-1)
    after = yes.sum(axis=-1) * entropy(yes) + no.sum(axis=-1) * entropy(no)
    before = entropy(both)
    # Rounding errors must not give a gain to a useless test, nor a negative gain to any.
    gain: Masses = np.maximum(before - np.divide(after, total, out=np.zeros_like(before), where=total > 0), 0.0)
    return gain


def code_length(masses: Masses) -> float:
    """Description length of the classes of a mass, in bits, under a symmetric Dirichlet prior.

    Each example is coded with the class frequencies of those before it, smoothed by half an example over all classes
    (`PRIOR_STRENGTH`). The order of the examples does not matter, masses may be fractions, and a leaf with many
    examples of two classes takes about ½ log₂ n bits more than its entropy: the bits that code the class frequency.

    >>> round(code_length(np.array([8.0, 0.0])), 3), round(code_length(np.array([4.0, 4.0])), 3)
    (1.777, 10.566)
    """
    prior = PRIOR_STRENGTH / len(masses)
    log_classes = sum(math.lgamma(prior + float(mass)) - math.lgamma(prior) for mass in masses)
    log_total = math.lgamma(PRIOR_STRENGTH + float(masses.sum())) - math.lgamma(PRIOR_STRENGTH)
    return (log_total - log_classes) / math.log(2.0)


def leaf_estimate(masses: Masses) -> tuple[float, ...]:
    """P(class | leaf): the relative mass of each class at the leaf; uniform where no mass reaches it."""
    total = float(masses.sum())
    if total <= 0:
        return tuple([1.0 / len(masses)] * len(masses))
    return tuple((masses / total).tolist())


def gain_of(responses: Masses, weights: Masses, labels: npt.NDArray[np.int64], classes: int) -> float:
    """Information gain of a test with probabilistic responses, in bits.

    Parameters
    ----------
    responses : P(τ | κ, e), `(example,)`.
    weights : the weight of each example at the node, `(example,)`.
    labels : the number of each example's class, `(example,)`.
    classes : how many classes there are.
    """
    yes = np.bincount(labels, weights * responses, classes)
    no = np.bincount(labels, weights * (1.0 - responses), classes)
    return float(information_gain(yes, no))


def gain_of_tests(sides: Masses, weights: Masses, labels: npt.NDArray[np.int64], classes: int) -> float:
    """Mean information gain of several tests, each applied to examples of its own, weighted by their mass, in bits.

    Parameters
    ----------
    sides : `(side, example)`; for each test a row of responses and a row of their complements, 0 for other examples.
    weights, labels, classes : as in `gain_of`.

    >>> sides = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    >>> round(gain_of_tests(sides, np.ones(3), np.array([0, 1, 1]), 2), 3)  # the first test separates its two examples
    0.667
    """
    masses = np.stack([np.bincount(labels, weights * side, classes) for side in sides])
    gains = information_gain(masses[0::2], masses[1::2])
    return float(np.average(gains, weights=(masses[0::2] + masses[1::2]).sum(axis=1)))


def column_importances(gains: Iterable[tuple[Sequence[str], float]], names: Iterable[str]) -> npt.NDArray[np.float64]:
    """Importance of each column: its fraction of the total gain; a test divides its gain evenly among its columns.

    Parameters
    ----------
    gains : for each test its columns and its gain times the mass of its node, in bits.
    names : all columns, in the order of the result.

    >>> column_importances([(("a", "b"), 2.0), (("b",), 2.0)], ["a", "b", "c"]).tolist()
    [0.25, 0.75, 0.0]
    """
    importance = dict.fromkeys(names, 0.0)
    for columns, bits in gains:
        for name in columns:
            importance[name] += bits / len(columns)
    total = sum(importance.values()) or 1.0
    return np.array([value / total for value in importance.values()])
