"""Random splits of examples into training rows and others, which may keep groups of rows together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# Numbers are divided into so many strata of equal size where folds keep groups together.
STRATA = 10


def held_out_rows(
    labels: Any,
    fraction: float,
    seed: int,
    *,
    kept: npt.NDArray[np.bool_] | None = None,
    groups: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.bool_]:
    """Mask of a random fraction of every class, `(row,)`, which splits no group.

    Parameters
    ----------
    labels : the classes, `(row,)`.
    fraction : the fraction of each class that is selected; with groups, about this fraction.
    seed : seed of the draw.
    kept : the mask of rows that should not be selected, if any, `(row,)`.
    groups : the number of each row's group, `(row,)`; None where every row is drawn by itself.

    Returns
    -------
    A Boolean mask, `(row,)`.

    >>> held_out_rows([0, 1] * 4, 0.5, 0, groups=np.array([0, 0, 1, 1, 2, 2, 3, 3])).reshape(4, 2).sum(axis=1).tolist()
    [2, 0, 2, 0]
    """
    if groups is not None:
        return whole_groups(labels, fraction, np.random.default_rng(seed), groups, kept)
    unseen = stratified(labels, fraction, np.random.default_rng(seed))
    return unseen if kept is None else exchanged(unseen, kept, labels, np.random.default_rng(seed))


def whole_groups(
    labels: Any,
    fraction: float,
    rng: np.random.Generator,
    groups: npt.NDArray[np.int64],
    kept: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.bool_]:
    """Mask of random groups that hold about a fraction of every class; some rows of each class stay in training.

    Groups are visited in random order, and a group is selected where this brings the selected rows of the classes closer to
    the fraction. Where this selects none, the group that comes closest is selected.

    Parameters
    ----------
    labels : the classes, `(row,)`.
    fraction : the fraction of each class that should be selected.
    rng : the generator that draws the order.
    groups : the number of each row's group, `(row,)`.
    kept : the mask of rows whose groups are not selected, `(row,)`.

    Returns
    -------
    A Boolean mask, `(row,)`; all False where every group has rows of a class that no other group has.
    """
    codes = np.unique(labels, return_inverse=True)[1]
    members = np.unique(groups, return_inverse=True)[1]
    counts = np.zeros((members.max(initial=-1) + 1, codes.max(initial=-1) + 1))  # (group, class)
    np.add.at(counts, (members, codes), 1.0)
    totals = counts.sum(axis=0)
    may_go = np.ones(len(counts), dtype=bool)
    if kept is not None:
        may_go[members[kept]] = False
    order = [group for group in rng.permutation(len(counts)).tolist() if may_go[group]]
    selected, chosen = np.zeros(len(totals)), np.zeros(len(counts), dtype=bool)

    def distance(rows: npt.NDArray[np.float64]) -> float:
        return float(((rows - fraction * totals) ** 2 / totals).sum())

    def leaves_some(group: int) -> bool:
        return bool((selected + counts[group] < totals)[counts[group] > 0].all())

    for group in order:
        if leaves_some(group) and distance(selected + counts[group]) < distance(selected):
            selected, chosen[group] = selected + counts[group], True
    others = [group for group in order if leaves_some(group)]
    if not chosen.any() and others and fraction * len(members) >= 0.5:
        chosen[min(others, key=lambda group: distance(counts[group]))] = True
    return chosen[members]


def drawn_rows(
    fraction: float, rng: np.random.Generator, free: npt.NDArray[np.bool_], groups: npt.NDArray[np.int64] | None = None
) -> npt.NDArray[np.bool_]:
    """Mask of a random fraction of all rows, drawn without regard to classes from the rows that are free.

    Parameters
    ----------
    fraction : the fraction of all rows.
    rng : the generator that draws them.
    free : the mask of the rows that may be drawn, `(row,)`; of a group, all or none.
    groups : the number of each row's group, `(row,)`, which is drawn as a whole: the result then has about the fraction.

    Returns
    -------
    A Boolean mask, `(row,)`.
    """
    count, drawn = round(fraction * len(free)), np.zeros(len(free), dtype=bool)
    others = np.flatnonzero(free)
    if groups is None:
        drawn[rng.permutation(others)[:count]] = True
        return drawn
    names, members, sizes = np.unique(groups[others], return_inverse=True, return_counts=True)
    chosen, rows = np.zeros(len(names), dtype=bool), 0
    for group in rng.permutation(len(names)).tolist():
        if abs(rows + sizes[group] - count) < abs(rows - count):
            chosen[group], rows = True, rows + sizes[group]
    if count and not chosen.any():
        chosen[int(np.argmin(sizes))] = True
    drawn[others] = chosen[members]
    return drawn


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


def fold_numbers(
    targets: Any, folds: int, rng: np.random.Generator, groups: npt.NDArray[np.int64] | None = None
) -> npt.NDArray[np.int64]:
    """The fold of each example in cross-validation: every fold has about the same classes, or the same spread of numbers.

    Parameters
    ----------
    targets : classes or numbers, `(example,)`.
    folds : how many folds there are.
    rng : the generator that draws them.
    groups : the number of each example's group, `(example,)`, all of which is in one fold; None without groups.

    Returns
    -------
    Numbers from 0 to `folds` − 1, `(example,)`.

    >>> numbers = fold_numbers(np.array([0, 1, 0, 1]), 2, np.random.default_rng(0))
    >>> int(numbers[[0, 2]].sum()), int(numbers[[1, 3]].sum())
    (1, 1)
    """
    if groups is not None:
        return _fold_numbers_of_groups(np.asarray(targets), folds, rng, groups)
    shuffled = rng.permutation(len(targets))
    order = shuffled[np.argsort(np.asarray(targets)[shuffled], kind="stable")]
    blocks = [rng.permutation(folds) for _ in range(-(-len(order) // folds))]
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.concatenate(blocks)[: len(order)]
    return numbers


def _fold_numbers_of_groups(
    targets: npt.NDArray[Any], folds: int, rng: np.random.Generator, groups: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Folds that split no group: the largest groups first, each joins the fold that is left most even."""
    values, strata = np.unique(targets, return_inverse=True)
    if len(values) > 2 * STRATA:
        strata = np.argsort(np.argsort(targets, kind="stable")) * STRATA // len(targets)
    members = np.unique(groups, return_inverse=True)[1]
    counts = np.zeros((members.max(initial=-1) + 1, strata.max(initial=-1) + 1))  # (group, stratum)
    np.add.at(counts, (members, strata), 1.0)
    totals = np.maximum(counts.sum(axis=0), 1.0)
    shuffled = rng.permutation(len(counts))
    order = shuffled[np.argsort(-counts[shuffled].sum(axis=1), kind="stable")]
    shares, fold_of = np.zeros((folds, len(totals))), np.empty(len(counts), dtype=np.int64)
    for group in order.tolist():
        share = counts[group] / totals
        evenness = list(zip((shares @ share).tolist(), shares.sum(axis=1).tolist(), strict=True))
        fold_of[group] = evenness.index(min(evenness))
        shares[fold_of[group]] += share
    return fold_of[members]
