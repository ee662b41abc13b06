"""The strength of pruning where it is not given: chosen by cross-validation on small tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.examples import Examples
from neuid3.data.priors import Priors, column_priors
from neuid3.learning.fit import make_learner
from neuid3.learning.generators import FixedCandidates
from neuid3.learning.grow import GrowthLimits, grow_tree
from neuid3.learning.problem import Problem
from neuid3.learning.sample import Sample
from neuid3.training.config import TrainingConfig
from neuid3.tree.criteria import ClassCriterion
from neuid3.tree.model import TreeModel
from neuid3.tree.target import Target
from neuid3.tree.tree import Tree

# The usual strength, and a weaker one. The description length of a table does not tell whether its rows are repeated
# measurements of a few things, which even a tree with a leaf for each thing predicts well; unseen rows do.
PRUNING, WEAK_PRUNING = 0.75, 0.25

# The weaker one is chosen where it predicts unseen rows better by so many standard errors, on tables of so many rows.
STANDARD_ERRORS, MAX_ROWS = 2.0, 2000

FOLDS = 5


def chosen_pruning(
    examples: Examples, target: Target, problem: Problem, config: TrainingConfig, limits: GrowthLimits
) -> float:
    """The usual strength of pruning, or the weaker one where cross-validation on these rows clearly prefers it.

    Only tables of classes without networks are asked, with at most `MAX_ROWS` rows; others have the usual strength.

    Parameters
    ----------
    examples : the training examples.
    target : their targets.
    problem : the program and the candidates.
    config : the training configuration.
    limits : stopping criteria.
    """
    is_asked = (
        isinstance(target.criterion, ClassCriterion)
        and len(examples) <= MAX_ROWS
        and not problem.are_neural
        and isinstance(problem.generator, FixedCandidates)
        and (limits.max_depth is None or limits.max_depth > 1)
    )
    if not is_asked:
        return PRUNING
    differences = np.concatenate(
        [_differences(examples, target, problem, config, limits, fold) for fold in _folds(target.values)]
    )  # (row,), of correct predictions
    error = float(differences.std()) / max(len(differences), 1) ** 0.5
    return WEAK_PRUNING if float(differences.mean()) > STANDARD_ERRORS * error else PRUNING


def _folds(classes: npt.NDArray[Any]) -> list[npt.NDArray[np.bool_]]:
    """Masks of the rows of each fold; the rows of a class are dealt out in a fixed random order."""
    order = np.random.default_rng(0).permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    folds = np.empty(len(classes), dtype=np.int64)
    folds[order] = np.arange(len(classes)) % FOLDS
    return [folds == fold for fold in range(FOLDS) if (folds == fold).any() and (folds != fold).any()]


def _differences(
    examples: Examples,
    target: Target,
    problem: Problem,
    config: TrainingConfig,
    limits: GrowthLimits,
    fold: npt.NDArray[np.bool_],
) -> npt.NDArray[np.float64]:
    """For each row of a fold, whether the weakly pruned tree of the others is correct, less whether the usual one is."""
    train, test = np.flatnonzero(~fold), np.flatnonzero(fold)
    sample = Sample(examples[train], target[train], np.zeros(len(train), dtype=bool))
    learner = make_learner(sample, problem, {}, config, limits, seed=0, jobs=1, verbose=0)
    priors = Priors(column_priors(sample.examples, sample.weights))
    criterion = target.criterion
    assert isinstance(criterion, ClassCriterion)
    correct: dict[float, Any] = {}
    for strength in (PRUNING, WEAK_PRUNING):
        root = grow_tree(learner, learner.root, replace(limits, pruning=strength)).node
        tree = Tree(root, tuple(range(criterion.classes)))
        model = TreeModel(tree, examples.schema, background=problem.program.text, priors=priors)
        correct[strength] = model.predict_proba(examples[test]).argmax(axis=1) == target.values[test]
    difference: npt.NDArray[np.float64] = correct[WEAK_PRUNING].astype(np.float64) - correct[PRUNING]
    return difference
