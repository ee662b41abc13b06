"""Random splits of examples into training and validation rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def stratified(labels: Any, fraction: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Mask of a random fraction of every class, for validation; a class of one example stays in training.

    Parameters
    ----------
    labels : the classes, `(example,)`.
    fraction : the fraction of each class that is selected.
    rng : the generator that draws it.
    """
    unseen = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        unseen[rows[: min(round(fraction * len(rows)), len(rows) - 1)]] = True
    return unseen


def exchanged(
    unseen: npt.NDArray[np.bool_], kept: npt.NDArray[np.bool_], labels: Any, rng: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """A validation mask in which rows that should be trained on are replaced by others of the same class.

    Parameters
    ----------
    unseen : the mask of the validation rows, `(row,)`.
    kept : the mask of rows that should be training rows, `(row,)`; where a class has no others, they stay.
    labels : the classes, `(row,)`.
    rng : the generator that draws the others.

    Returns
    -------
    A mask with as many rows of each class, `(row,)`.

    >>> mask = exchanged(np.array([True, False, False]), np.array([True, False, False]), [0, 1, 0], np.random.default_rng(0))
    >>> mask.tolist()
    [False, False, True]
    """
    unseen, labels = unseen.copy(), np.asarray(labels)
    for label in np.unique(labels[unseen & kept]):
        leaving = np.flatnonzero(unseen & kept & (labels == label))
        entering = rng.permutation(np.flatnonzero(~unseen & ~kept & (labels == label)))[: len(leaving)]
        unseen[leaving[: len(entering)]] = False
        unseen[entering] = True
    return unseen


def fold_numbers(targets: Any, folds: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The fold of each example in cross-validation: every fold has about the same classes, or the same spread of numbers.

    Parameters
    ----------
    targets : classes or numbers, `(example,)`.
    folds : how many folds there are.
    rng : the generator that draws them.

    Returns
    -------
    Numbers from 0 to `folds` − 1, `(example,)`.

    >>> numbers = fold_numbers(np.array([0, 1, 0, 1]), 2, np.random.default_rng(0))
    >>> numbers[[0, 2]].sum(), numbers[[1, 3]].sum()
    (np.int64(1), np.int64(1))
    """
    shuffled = rng.permutation(len(targets))
    order = shuffled[np.argsort(np.asarray(targets)[shuffled], kind="stable")]
    blocks = [rng.permutation(folds) for _ in range(-(-len(order) // folds))]
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.concatenate(blocks)[: len(order)]
    return numbers
