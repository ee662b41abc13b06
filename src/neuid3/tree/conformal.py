"""Split conformal prediction: sets of classes and intervals of numbers that cover the truth with a chosen probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.examples import Examples
from neuid3.errors import DataError, ParameterError
from neuid3.tree.criterion import PRIOR_MASS
from neuid3.tree.tree import Branch, Node

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# A leaf has a threshold of its own where it has this many times the calibration rows that the coverage needs.
ROWS_OF_A_LEAF = 2

# Scores that differ by no more than this count as equal: the rest is rounding.
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Scores of calibration rows, from which the size of sets and intervals follows for any coverage.

    Attributes
    ----------
    scores : how badly the prediction for each calibration row fits its target, `(row,)`: 1 − P(class), or the absolute
        error of a number.
    leaves : the most probable leaf of each of these rows, counted from the left, `(row,)`.
    """

    scores: Floats
    leaves: Integers

    def __len__(self) -> int:
        return len(self.scores)

    def thresholds(self, coverage: float, leaves: Integers | None = None) -> Any:
        """The score up to which a target belongs to a set.

        Parameters
        ----------
        coverage : the probability with which sets must have the target.
        leaves : the most probable leaf of each new row, `(row,)`, where coverage must hold in every leaf group.

        Returns
        -------
        One threshold, or one for each new row, `(row,)`.

        Raises
        ------
        ParameterError : where the coverage is not between 0 and 1.
        DataError : where there are too few calibration rows for it.
        """
        needed = required_rows(coverage)
        if len(self) < needed:
            raise DataError(
                f"A coverage of {coverage:g} needs at least {needed} calibration rows, and there are {len(self)}; calibrate "
                "with more rows, or ask for a lower coverage."
            )
        if leaves is None:
            return conformal_quantile(self.scores, coverage)
        size = int(max(self.leaves.max(), leaves.max(initial=0))) + 1
        groups = leaf_groups(np.bincount(self.leaves, minlength=size), ROWS_OF_A_LEAF * needed)
        of_group = {
            group: conformal_quantile(self.scores[groups[self.leaves] == group], coverage)
            for group in np.unique(groups[self.leaves]).tolist()
        }
        # A leaf that no calibration row reaches has too few of them: its group has those of others.
        return np.array([of_group[group] for group in groups[leaves].tolist()])


def required_rows(coverage: float) -> int:
    """The least number of calibration rows with which sets can have a coverage without having every class.

    Parameters
    ----------
    coverage : the probability with which sets must have the target.

    Returns
    -------
    A number of rows.

    Raises
    ------
    ParameterError : where the coverage is not between 0 and 1.

    >>> required_rows(0.9), required_rows(0.95)
    (9, 19)
    """
    is_number = isinstance(coverage, (int, float, np.floating)) and not isinstance(coverage, bool)
    if not is_number or not 0.0 < coverage < 1.0:
        raise ParameterError(f"coverage={coverage!r} is no probability between 0 and 1; give a number such as 0.9.")
    return max(math.ceil(coverage / (1.0 - coverage) - TOLERANCE), 1)


def conformal_quantile(scores: Floats, coverage: float) -> float:
    """The ⌈(n + 1) · coverage⌉-th smallest of n scores, infinite where that is more than n.

    The score of a new row that is exchangeable with these is at most this with the probability `coverage`, or more.

    Parameters
    ----------
    scores : the scores of calibration rows, `(row,)`.
    coverage : a probability.

    Returns
    -------
    The quantile.

    >>> conformal_quantile(np.arange(1.0, 10.0), 0.9), conformal_quantile(np.arange(1.0, 10.0), 0.5)
    (9.0, 5.0)
    """
    rank = math.ceil((len(scores) + 1) * coverage - TOLERANCE)
    return float(np.partition(scores, rank - 1)[rank - 1]) if rank <= len(scores) else math.inf


def leaf_groups(counts: Integers, needed: int) -> Integers:
    """The group of each leaf: those with enough calibration rows are groups of their own, all others are one group.

    Where the others together have too few, the smallest of the large leaves join them.

    Parameters
    ----------
    counts : the number of calibration rows of each leaf, `(leaf,)`.
    needed : how many are enough.

    Returns
    -------
    Group numbers, `(leaf,)`; -1 is that of the others.

    >>> leaf_groups(np.array([30, 2, 3, 25, 40]), 20).tolist()
    [0, -1, -1, -1, 4]
    """
    groups = np.arange(len(counts))
    ascending = np.argsort(counts, kind="stable")
    joined = int((counts < needed).sum())
    while 0 < joined < len(counts) and counts[ascending[:joined]].sum() < needed:
        joined += 1
    groups[ascending[:joined]] = -1
    return groups


# Models -----------------------------------------------------------------------------------------


def calibration_of(model: Any, examples: Examples, targets: npt.NDArray[Any]) -> Calibration:
    """The calibration of a model by rows that it was not learned from.

    Parameters
    ----------
    model : the model.
    examples : the calibration rows, in the schema of the model.
    targets : the index of the class of each row, or its number, `(row,)`.

    Returns
    -------
    The calibration.

    Raises
    ------
    DataError : where there are no rows, or not one target for each.
    """
    if not len(examples) or len(targets) != len(examples):
        raise DataError(
            f"There are {len(examples)} calibration rows and {len(targets)} targets; give one target for each of at least "
            "one row."
        )
    if model.predicts_numbers:
        errors = np.abs(np.asarray(targets, dtype=np.float64) - model.predict(examples))
        return Calibration(errors, model.leaf_groups(examples))
    plausibilities, leaves = model.plausibilities(examples)
    return Calibration(1.0 - plausibilities[np.arange(len(targets)), targets], leaves)


def class_sets(model: Any, examples: Examples, coverage: float, by_leaf: bool) -> Mask:
    """The set of plausible classes of each row; it has the most probable class in any case.

    Parameters
    ----------
    model : a model with a calibration that predicts classes.
    examples : the rows, in the schema of the model.
    coverage : the probability with which sets must have the class.
    by_leaf : whether coverage must hold in every leaf group.

    Returns
    -------
    Whether each class is in the set, `(row, class)`.

    Raises
    ------
    DataError : where the model has no calibration, or one with too few rows.
    ParameterError : where the coverage is not between 0 and 1.
    """
    calibration = required_calibration(model, coverage)
    if model.predicts_numbers:
        raise DataError(f"The {model.noun} predicts numbers, which have no sets of classes; use `predict_intervals`.")
    check_leaves(model, by_leaf)
    plausibilities, leaves = model.plausibilities(examples)
    thresholds = np.asarray(calibration.thresholds(coverage, leaves if by_leaf else None))
    sets: Mask = 1.0 - plausibilities <= thresholds.reshape(-1, 1) + TOLERANCE
    sets[np.arange(len(sets)), model.predict_proba(examples).argmax(axis=1)] = True
    return sets


def number_intervals(model: Any, examples: Examples, coverage: float, by_leaf: bool) -> Floats:
    """The interval of plausible numbers of each row, about its prediction.

    Parameters
    ----------
    model : a model with a calibration that predicts numbers.
    examples : the rows, in the schema of the model.
    coverage : the probability with which intervals must have the number.
    by_leaf : whether coverage must hold in every leaf group, so that the length of an interval depends on the leaf.

    Returns
    -------
    Lower and upper end, `(row, 2)`.

    Raises
    ------
    DataError : where the model has no calibration, or one with too few rows.
    ParameterError : where the coverage is not between 0 and 1.
    """
    calibration = required_calibration(model, coverage)
    if not model.predicts_numbers:
        raise DataError(f"The {model.noun} predicts classes, which have no intervals; use `predict_sets`.")
    check_leaves(model, by_leaf)
    thresholds = np.asarray(calibration.thresholds(coverage, model.leaf_groups(examples) if by_leaf else None))
    predicted = model.predict(examples)
    return np.stack((predicted - thresholds, predicted + thresholds), axis=1)


def check_leaves(model: Any, by_leaf: bool) -> None:
    """Raise a `ParameterError` where leaf groups are asked for and examples have no leaf of their own.

    Parameters
    ----------
    model : the model.
    by_leaf : whether coverage must hold in every leaf group.

    Raises
    ------
    ParameterError : where a model of many trees is asked for leaf groups.
    """
    if by_leaf and not model.has_leaves:
        raise ParameterError(
            f"by_leaf=True is for one tree, and the model is a {model.noun}, where an example has no leaf of its own; leave "
            "it out."
        )


def required_calibration(model: Any, coverage: float) -> Calibration:
    """The calibration of a model.

    Parameters
    ----------
    model : the model.
    coverage : the coverage that is asked for.

    Returns
    -------
    The calibration.

    Raises
    ------
    DataError : where it has none.
    ParameterError : where the coverage is not between 0 and 1.
    """
    required_rows(coverage)
    calibration: Calibration | None = model.calibration
    if calibration is None:
        raise DataError(
            "The model is not calibrated; call `calibrate(X, y)` with rows that had no part in learning, or fit with "
            "`neuid3 fit --calibration 0.2`."
        )
    return calibration


def smoothed_leaves(root: Node) -> Floats:
    """The class probabilities of leaves, shrunk to those of their parents by `PRIOR_MASS` examples, `(leaf, class)`.

    In a leaf of few examples most classes have no example and the probability 0. Which of them is the more plausible, the
    nodes above say. Where masses are not known, the probabilities themselves.

    Parameters
    ----------
    root : the root of a tree of classes.

    Returns
    -------
    Probabilities that sum to 1, leaves from left to right.

    >>> from neuid3 import Leaf
    >>> root = Branch("a", Leaf((0.5, 0.5, 0.0), (2.0, 2.0, 0.0)), Leaf((0.0, 0.0, 1.0), (0.0, 0.0, 4.0)), masses=(2, 2, 4))
    >>> smoothed_leaves(root)[1].round(2).tolist()
    [0.09, 0.09, 0.82]
    """
    rows: list[Floats] = []
    stack: list[tuple[Node, Floats | None]] = [(root, None)]
    while stack:
        node, above = stack.pop()
        estimate = above
        if node.masses is not None:
            total = sum(node.masses)
            # Leaves that were trained jointly say something else than their masses.
            masses = np.array(node.masses) if isinstance(node, Branch) else total * np.array(node.value)
            prior = np.full(len(masses), 1.0 / len(masses)) if above is None else above
            estimate = (masses + PRIOR_MASS * prior) / (total + PRIOR_MASS)
        if isinstance(node, Branch):
            stack += [(node.no, estimate), (node.yes, estimate)]
        else:
            rows.append(np.array(node.value) if node.masses is None else np.asarray(estimate))
    return np.array(rows)
