"""Stagewise learning of a boosted sum, and the number of its stages by unseen examples."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.splits import fold_numbers
from neuid3.learning.boosting.losses import Loss
from neuid3.learning.boosting.stages import Stage, StageConstraints, StageGrower, StageLimits
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.sums import with_scores
from neuid3.tree.tree import Branch, Node, preorder

# From so many examples on, one fold of cross-validation suffices.
LARGE = 20_000

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BoostingSettings:
    """How a sum is learned.

    Attributes
    ----------
    learning_rate : the factor of what each tree adds.
    max_splits : the most splits of all trees together.
    max_trees : the most trees.
    patience : stages without a lower loss of unseen examples after which learning stops.
    folds : the folds of cross-validation by which the number of trees is chosen where no example is unseen; 0 to learn up
        to the limits, whatever unseen examples say.
    splits : masks of the examples that are learned from and of those that are unseen, one pair for each fold, which take
        the place of random folds.
    tree : limits of each tree.
    """

    learning_rate: float = 0.1
    max_splits: int = 1000
    max_trees: int = 300
    patience: int = 20
    folds: int = 5
    tree: StageLimits = field(default_factory=StageLimits)
    splits: Sequence[tuple[Mask, Mask]] | None = None


@dataclass(slots=True)
class Boosting:
    """A sum while it is learned.

    Attributes
    ----------
    grower : grows the trees.
    loss : what is minimised.
    targets : the target of each example, `(example,)`.
    weights : their weights, `(example,)`.
    learned : the mask of the examples that are learned from; the others are unseen.
    settings : how it is learned.
    seed : of random draws.
    constraints : what the trees must satisfy, if anything.
    deadline : the time of `time.monotonic` from which on no tree is added.
    groups : the number of each example's group, which no fold divides, `(example,)`; None without groups.
    stages : the trees so far, with the scores of their leaves.
    initial : F₀, `(score,)`.
    scores : F of every example, `(example, score)`.
    splits : the splits of all trees so far.
    unseen_losses : the mean loss of unseen examples after each number of trees, from 0 on; empty without any.
    """

    grower: StageGrower
    loss: Loss
    targets: npt.NDArray[Any]
    weights: Floats
    learned: Mask
    settings: BoostingSettings
    seed: int
    constraints: StageConstraints | None = None
    deadline: float = np.inf
    groups: npt.NDArray[np.int64] | None = None
    stages: list[tuple[Stage, Floats]] = field(default_factory=list)
    initial: Floats = field(init=False)
    scores: Floats = field(init=False)
    splits: int = 0
    unseen_losses: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.initial = self.loss.initial(self.targets[self.learned], self.weights[self.learned])
        self.scores = np.tile(self.initial, (len(self.targets), 1))
        self._record()

    def _record(self) -> None:
        unseen = ~self.learned & (self.weights > 0)
        if unseen.any():
            losses = self.loss.losses(self.scores[unseen], self.targets[unseen])
            self.unseen_losses.append(float(np.average(losses, weights=self.weights[unseen])))

    def advance(self) -> bool:
        """Add a tree.

        Returns
        -------
        False where no tree decreases the loss, or all splits and trees are used up.
        """
        settings, left = self.settings, self.settings.max_splits - self.splits
        if left <= 0 or len(self.stages) >= settings.max_trees or time.monotonic() >= self.deadline:
            return False
        first, second = self.loss.derivatives(self.scores, self.targets)
        weights = np.where(self.learned, self.weights, 0.0)
        most = left if settings.tree.max_splits is None else min(left, settings.tree.max_splits)
        limits = replace(settings.tree, max_splits=most)
        stage = self.grower.grow(first, second, weights, limits, self.seed + len(self.stages))
        if stage.leaves < 2:
            return False
        reach = stage.reach()
        scores = settings.learning_rate * reach.newton_scores(first, second, weights, settings.tree.l2)
        if self.constraints is not None:
            scores = self.constraints.scores(stage.root(), scores)
        self.stages.append((stage, scores))
        self.scores = self.scores + reach.sums(scores)
        self.splits += reach.leaves - 1
        self._record()
        return True

    def keep(self, count: int) -> None:
        """Drop all trees but the first `count`.

        Parameters
        ----------
        count : the number of trees that remain.
        """
        for stage, scores in self.stages[count:]:
            self.scores = self.scores - stage.reach().sums(scores)
            self.splits -= stage.leaves - 1
        del self.stages[count:]

    def trees(self) -> list[Node]:
        """The trees so far, with the scores and masses of their leaves.

        Returns
        -------
        Their roots.
        """
        weights = np.where(self.learned, self.weights, 0.0)
        return [
            with_scores(stage.root(), scores, stage.reach().totals(weights).tolist()) for stage, scores in self.stages
        ]


def boosted(boosting: Boosting) -> list[Node]:
    """The trees of a sum: up to the limits, or up to the number of trees that unseen examples choose.

    Where some examples are unseen, learning stops after `patience` trees by which their loss was not lowered, and the
    trees after the best are dropped. Where all examples are learned from, cross-validation finds that number: one sum for each
    fold is learned side by side, tree by tree, and judged on the fold.

    Parameters
    ----------
    boosting : a sum without trees.

    Returns
    -------
    The trees.
    """
    settings = boosting.settings
    if not boosting.learned.all() and settings.folds:
        boosting.keep(_best_count([boosting]))
        return boosting.trees()
    folds = list(_folds(boosting)) if boosting.learned.all() else []
    count = _best_count(folds) if folds else settings.max_trees
    while len(boosting.stages) < count and boosting.advance():
        pass
    return boosting.trees()


def _folds(boosting: Boosting) -> Iterator[Boosting]:
    """A sum for each fold of cross-validation, which has not seen the fold."""
    settings, weights = boosting.settings, boosting.weights
    splits = settings.splits
    if splits is None:
        if settings.folds < 2 or len(weights) < 2 * settings.folds:
            return
        groups, folds = boosting.groups, settings.folds
        folds = folds if groups is None else min(folds, int(groups.max()) + 1)
        numbers = fold_numbers(boosting.targets, folds, np.random.default_rng(boosting.seed), groups)
        count = folds if len(weights) < LARGE else 1
        splits = [(numbers != fold, numbers == fold) for fold in range(count)]
    for learned, unseen in splits:
        yield Boosting(
            boosting.grower,
            boosting.loss,
            boosting.targets,
            np.where(learned | unseen, weights, 0.0),
            learned,
            settings,
            boosting.seed,
            constraints=boosting.constraints,
            deadline=boosting.deadline,
        )


def _best_count(sums: Sequence[Boosting]) -> int:
    """The number of trees at which the loss of unseen examples, over all of these sums, is least."""
    masses = [float(one.weights[~one.learned].sum()) for one in sums]
    losses = [_mean_loss(sums, masses, 0)]
    advancing = list(sums)
    while advancing and len(losses) - int(np.argmin(losses)) <= sums[0].settings.patience:
        advancing = [one for one in advancing if one.advance()]
        if advancing:
            losses.append(_mean_loss(sums, masses, len(losses)))
    return int(np.argmin(losses))


def _mean_loss(sums: Sequence[Boosting], masses: Sequence[float], trees: int) -> float:
    """The mean loss of unseen examples after so many trees; a sum that has ended stays as it is."""
    losses = [one.unseen_losses[min(trees, len(one.unseen_losses) - 1)] for one in sums]
    return float(np.average(losses, weights=masses))


def test_decreases(trees: Sequence[Node]) -> list[tuple[NodeTest, float]]:
    """Each test of the trees with the decrease of the loss by its split, for importances."""
    decreases = []
    for root in trees:
        for visit in preorder(root):
            node = visit.node
            if isinstance(node, Branch):
                mass = 0.0 if node.summary is None else node.summary.mass or 0.0
                decreases.append((node.test, (node.gain or 0.0) * mass))
    return decreases
