"""Cost-complexity pruning by cross-validation, where it is clearly better than pruning by description length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from neuid3.data.splits import fold_numbers
from neuid3.learning.grow import GrownSubtree, GrowthLimits, Learner, OpenNode, Split, grow_tree
from neuid3.learning.inference import ExactInference
from neuid3.learning.sample import Sample
from neuid3.tree.criterion import Criterion
from neuid3.tree.record import row_digests
from neuid3.tree.tree import Branch, Path, node_paths, preorder

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

# The folds of cross-validation, and the rows up to which a tree is pruned by it: the description length of many rows
# depends little on the penalty.
FOLDS, MOST_ROWS = 5, 20_000

# The share of different rows from which on folds say how a tree does on unseen rows: where most rows occur again and again, as in a
# table of a few codes, a fold of equal rows leaves out a whole cell.
LEAST_DISTINCT = 0.5

# The simplest tree counts as good as the best where its loss on unseen rows is higher by no more than the first number of standard
# errors; and it must be better than the tree of least description length by the second, or by the third where that is a single leaf:
# trees that grow where bits say that there is nothing are mostly noise.
TOLERANCE, MARGIN, MARGIN_OF_LEAF = 0.5, 1.0, 2.0

# Losses that differ by no more than this count as equal, and class probabilities are rounded to so many decimals: the rest is
# rounding, which must not tell a repeated row from a row of double weight.
ROUNDING, DECIMALS = 1e-9, 9

# The most penalties that are compared.
MOST_PENALTIES = 200


@runtime_checkable
class PredictingCriterion(Protocol):
    """What a criterion also says where trees are pruned by cross-validation: those of classes and of numbers do."""

    def squared_errors(self, statistics: Floats) -> Floats:
        """The squared error of each node as a leaf, summed up over its examples, `(node,)`."""
        ...

    def predictions(self, statistics: Floats) -> Floats:
        """What each node predicts as a leaf, `(node, value)`."""
        ...

    def losses(self, predictions: Floats, targets: Any) -> Floats:
        """The loss of predictions, `(example, value)`, for these targets, `(example,)`."""
        ...


class RememberingLearner:
    """A learner that finds the best split of a node once, so that a tree can be grown again and pruned differently.

    Parameters
    ----------
    learner : finds the splits.

    Attributes
    ----------
    criterion : that of the learner.
    """

    def __init__(self, learner: Learner) -> None:
        self.learner, self.criterion = learner, learner.criterion
        self._splits: dict[Path, Split | None] = {}

    def leaf_statistics(self, node: OpenNode) -> Floats:
        return self.learner.leaf_statistics(node)

    def best_split(self, node: OpenNode) -> Split | None:
        if node.path not in self._splits:
            self._splits[node.path] = self.learner.best_split(node)
        return self._splits[node.path]


@dataclass(frozen=True, eq=False)
class PruningSequence:
    """The smaller and smaller trees that minimise squared error + penalty · leaves, as the penalty rises.

    Attributes
    ----------
    grown : the whole tree.
    criterion : counts its targets.
    """

    grown: GrownSubtree
    criterion: PredictingCriterion

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """The path of each node, in preorder."""
        return tuple(path for path, _ in node_paths(self.grown.node))

    @cached_property
    def parents(self) -> npt.NDArray[np.int64]:
        """The number of each node's parent, -1 for the root, in preorder."""
        return np.array([-1 if v.parent is None else v.parent for v in preorder(self.grown.node)])

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        """For each node, the number of leaves from the left up to its last one, in preorder."""
        return np.array([span[1] for span in self._spans])

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """For each node, the number of leaves to the left of it, in preorder."""
        return np.array([span[0] for span in self._spans])

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        parents = self.parents
        is_leaf = np.ones(len(parents), dtype=bool)
        is_leaf[parents[1:]] = False
        before = np.concatenate(([0], np.cumsum(is_leaf)))[:-1]
        ends = before + is_leaf
        for node in range(len(parents) - 1, 0, -1):  # children before their parents
            ends[parents[node]] = max(ends[parents[node]], ends[node])
        return list(zip(before.tolist(), ends.tolist(), strict=True))

    @cached_property
    def statistics(self) -> Floats:
        """The statistics of the targets at each node, `(node, statistic)`."""
        sums = np.cumsum(np.array(self.grown.leaf_statistics), axis=0)
        sums = np.vstack((np.zeros(sums.shape[1]), sums))
        exact: Floats = sums[self.ends] - sums[self.starts]
        is_leaf = self.ends - self.starts == 1
        exact[is_leaf] = np.array(self.grown.leaf_statistics)[self.starts[is_leaf]]
        return exact

    @cached_property
    def penalties(self) -> Floats:
        """The penalty from which on each node is a leaf, infinite for leaves of the whole tree, `(node,)`."""
        losses = np.maximum(self.criterion.squared_errors(self.statistics), 0.0)
        parents, leaves = self.parents, (self.ends - self.starts).astype(np.float64)
        below = losses * (leaves == 1)  # the loss of the leaves below a node
        for node in range(len(parents) - 1, 0, -1):
            below[parents[node]] += below[node]
        penalties = np.full(len(parents), np.inf)
        rates = np.where(leaves > 1, (losses - below) / np.maximum(leaves - 1, 1), np.inf)
        highest = 0.0
        while leaves[0] > 1:
            node = int(np.argmin(rates))
            highest = max(highest, float(rates[node]))
            penalties[node] = highest
            saved, gone = losses[node] - below[node], leaves[node] - 1
            rates[self._subtree(node)] = np.inf
            while node >= 0:
                below[node], leaves[node] = below[node] + saved, leaves[node] - gone
                if leaves[node] > 1:
                    rates[node] = (losses[node] - below[node]) / (leaves[node] - 1)
                node = int(parents[node])
        return penalties

    def _subtree(self, node: int) -> slice:
        """The nodes of a subtree, which follow each other in preorder."""
        later = np.flatnonzero(self.starts[node + 1 :] >= self.ends[node])
        return slice(node, node + 1 + int(later[0]) if len(later) else len(self.parents))

    def leaves_at(self, penalty: float) -> npt.NDArray[np.int64]:
        """The nodes that are the leaves of the tree with this penalty, from left to right."""
        is_leaf = (self.penalties <= penalty) | (self.ends - self.starts == 1)
        above = np.zeros(len(is_leaf), dtype=bool)
        for node in range(1, len(is_leaf)):
            above[node] = above[self.parents[node]] or is_leaf[self.parents[node]]
        return np.flatnonzero(is_leaf & ~above)

    def losses(self, reach: Floats, leaves: npt.NDArray[np.int64], targets: Any) -> Floats:
        """The loss of each unseen row under the tree with these leaves.

        Parameters
        ----------
        reach : P(leaf | e) of the leaves of the whole tree, summed up from the left, `(example, leaf + 1)`.
        leaves : the nodes that are leaves.
        targets : the targets of these rows.
        """
        of_leaves = reach[:, self.ends[leaves]] - reach[:, self.starts[leaves]]
        predictions = of_leaves @ self.criterion.predictions(self.statistics[leaves])
        return self.criterion.losses(predictions.round(DECIMALS), targets)


def content_folds(sample: Sample, groups: Rows | None = None) -> Rows | None:
    """The fold of each row, which depends on the columns of rows and not on how often or where they stand.

    Rows with equal columns are in one fold, whatever their targets: with those of one class in another fold, the learned rows would
    say the opposite of the unseen ones.

    Parameters
    ----------
    sample : labelled examples.
    groups : the number of each row's group, `(row,)`, which stays together; None without groups.

    Returns
    -------
    Numbers from 0, `(row,)`; None where there are too few different rows.
    """
    random, targets = np.random.default_rng(0), sample.target.values
    if groups is not None:
        return fold_numbers(targets, min(FOLDS, int(groups.max()) + 1), random, groups)
    by_target = np.argsort(targets, kind="stable")  # of equal rows, the one with the least target counts
    distinct, first, row_of = np.unique(
        row_digests(sample.examples, 0)[by_target], return_index=True, return_inverse=True
    )
    if len(distinct) < max(2 * FOLDS, LEAST_DISTINCT * sample.weights.sum()):
        return None
    folds = np.empty(len(sample), dtype=np.int64)
    folds[by_target] = fold_numbers(targets[by_target][first], FOLDS, random)[row_of.reshape(-1)]
    return folds


def grow_pruned(
    learner: Learner,
    root: OpenNode,
    limits: GrowthLimits,
    sample: Sample,
    inference: ExactInference,
    folds: Rows,
    make: Callable[[Rows], tuple[Learner, OpenNode]],
    on_node: Callable[[OpenNode, Split | None], None] | None = None,
) -> GrownSubtree:
    """A tree of least description length, or a tree with a penalty for each leaf that predicts unseen rows better.

    The penalty is chosen by cross-validation: the trees of the folds are pruned with the same penalty for each leaf and
    unit of mass, and the losses of all unseen rows are compared.

    Parameters
    ----------
    learner : finds the splits of the tree.
    root : the root, with all examples.
    limits : stopping criteria, and the penalty of description length.
    sample : labelled examples.
    inference : exact inference of these examples.
    folds : the fold of each row.
    make : makes a learner of some of the rows, with its root.
    on_node : called with each node that was learned and its split, None where there is none.
    """
    remembering, whole = RememberingLearner(learner), replace(limits, pruning=0.0)
    criterion = cast("PredictingCriterion", learner.criterion)
    sequence = PruningSequence(grow_tree(remembering, root, whole, on_node), criterion)
    shortest = grow_tree(remembering, root, limits)
    candidates = _candidates(sequence.penalties)
    if not len(candidates):
        return shortest
    weights = sample.weights
    losses, of_shortest = np.empty((len(candidates), len(sample))), np.empty(len(sample))
    for fold in range(int(folds.max()) + 1):
        learned, unseen = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        learner_of_fold, root_of_fold = make(learned)
        part = RememberingLearner(learner_of_fold)
        of_fold = PruningSequence(grow_tree(part, root_of_fold, whole), criterion)
        targets, fraction = sample.target.values[unseen], weights[learned].sum() / weights.sum()
        reach = _summed_reach(inference, of_fold, unseen)
        for number, penalty in enumerate(candidates):
            losses[number, unseen] = of_fold.losses(reach, of_fold.leaves_at(penalty * fraction), targets)
        kept = _leaves_of(of_fold, grow_tree(part, root_of_fold, limits))
        of_shortest[unseen] = of_fold.losses(reach, kept, targets)
    margin = MARGIN if isinstance(shortest.node, Branch) else MARGIN_OF_LEAF
    chosen = _chosen(losses, of_shortest, weights, margin)
    if chosen is None:
        return shortest
    leaves = {sequence.paths[node] for node in sequence.leaves_at(float(candidates[chosen])).tolist()}
    return grow_tree(remembering, root, whole, is_leaf=lambda node: node.path in leaves)


def grow_worthwhile(
    learner: Learner,
    root: OpenNode,
    limits: GrowthLimits,
    penalty: float,
    on_node: Callable[[OpenNode, Split | None], None] | None = None,
) -> GrownSubtree:
    """A tree of least description length, or a single leaf where a higher penalty leaves no split.

    Parameters
    ----------
    learner : finds the splits of the tree.
    root : the root, with all examples.
    limits : stopping criteria, and the penalty of description length.
    penalty : the higher penalty of a split.
    on_node : called with each node that was learned and its split, None where there is none.
    """
    remembering = RememberingLearner(learner)
    strict = grow_tree(remembering, root, replace(limits, pruning=penalty), on_node)
    return grow_tree(remembering, root, limits) if isinstance(strict.node, Branch) else strict


def _candidates(penalties: Floats) -> Floats:
    """Penalties between those at which the tree changes, as their geometric means, the least first; 0 is the first."""
    changes = np.unique(penalties[np.isfinite(penalties)])
    if not len(changes):
        return changes
    between = np.sqrt(np.maximum(changes[:-1], 1e-12) * changes[1:])
    candidates = np.concatenate(([0.0] if changes[0] > 0 else [], between, [1.5 * changes[-1] + 1e-12]))
    if len(candidates) > MOST_PENALTIES:
        candidates = candidates[np.linspace(0, len(candidates) - 1, MOST_PENALTIES).round().astype(int)]
    return candidates


def _summed_reach(inference: ExactInference, sequence: PruningSequence, rows: Rows) -> Floats:
    """P(leaf | e) of unseen rows, summed up from the left, `(example, leaf + 1)`."""
    is_leaf = sequence.ends - sequence.starts == 1
    reach = inference.reach([path for path, leaf in zip(sequence.paths, is_leaf.tolist(), strict=True) if leaf], rows)
    return np.hstack((np.zeros((len(rows), 1)), np.cumsum(np.asarray(reach, dtype=np.float64), axis=1)))


def _leaves_of(sequence: PruningSequence, pruned: GrownSubtree) -> npt.NDArray[np.int64]:
    """The nodes of the whole tree that are the leaves of a pruned one."""
    numbers = {path: number for number, path in enumerate(sequence.paths)}
    smaller = PruningSequence(pruned, sequence.criterion)
    is_leaf = smaller.ends - smaller.starts == 1
    return np.array([numbers[path] for path, leaf in zip(smaller.paths, is_leaf.tolist(), strict=True) if leaf])


def _chosen(losses: Floats, of_shortest: Floats, weights: Floats, margin: float) -> int | None:
    """The number of the chosen penalty; None where the tree of least description length is not worse by the margin."""
    totals = losses @ weights
    best = int(np.flatnonzero(totals <= totals.min() + ROUNDING)[-1])

    def error(one: Floats, other: Floats) -> float:
        return float(np.sqrt(weights @ (one - other) ** 2))

    good = (
        n
        for n, total in enumerate(totals)
        if total - totals[best] <= TOLERANCE * error(losses[n], losses[best]) + ROUNDING
    )
    chosen = max(good)
    gain = float(weights @ of_shortest - totals[chosen])
    return chosen if gain > margin * error(of_shortest, losses[chosen]) + ROUNDING else None


def is_cross_validated(sample: Sample, numbers: Sequence[Any], criterion: Criterion) -> bool:
    """Whether a tree is pruned by cross-validation: where it may cut numbers, and has not too many rows.

    Parameters
    ----------
    sample : labelled examples.
    numbers : the number columns and families of tests that may be cut.
    criterion : counts the targets.
    """
    return bool(numbers) and isinstance(criterion, PredictingCriterion) and len(sample) <= MOST_ROWS
