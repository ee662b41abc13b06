"""A fit of a boosted sum: perception, stages, and joint fine-tuning where networks take part."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuid3.learning.boosting.binned_stages import BinnedStageGrower
from neuid3.learning.boosting.boost import Boosting, BoostingSettings, boosted, test_decreases
from neuid3.learning.boosting.losses import LogisticLoss, Loss, SquaredLoss
from neuid3.learning.boosting.perception import perceive
from neuid3.learning.boosting.stages import PlainStageGrower, StageConstraints, StageGrower
from neuid3.learning.boosting.sum_constraints import SumConstraints
from neuid3.learning.candidates import Candidates
from neuid3.learning.first_order import FirstOrderCandidates
from neuid3.learning.generators import FixedCandidates
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.problem import Problem
from neuid3.learning.query_pool import MIN_CHILD_MASS, query_pool
from neuid3.learning.responses import Response
from neuid3.tree.criteria import ClassCriterion
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.number_criterion import NumberCriterion
from neuid3.tree.sum_model import SumModel
from neuid3.tree.sums import BoostedSum, score_leaves, with_scores


@dataclass(frozen=True, slots=True)
class LearnedSum:
    """The outcome of a fit.

    Attributes
    ----------
    boosted_sum : the sum.
    test_gains : each test with the decrease of the loss by its splits.
    steps : the number of gradient steps of fine-tuning.
    timed_out : whether time was up before the sum was finished.
    """

    boosted_sum: BoostedSum
    test_gains: tuple[tuple[NodeTest, float], ...]
    steps: int
    timed_out: bool


def learn_sum(
    learner: NodeLearner,
    problem: Problem,
    settings: BoostingSettings,
    classes: tuple[Any, ...],
    *,
    seed: int,
    deadline: float = np.inf,
) -> LearnedSum:
    """A sum that is learned stage by stage and fine-tuned jointly where networks take part.

    Parameters
    ----------
    learner : holds the examples, candidates and networks, which a single tree has trained.
    problem : the program and the generator of candidates.
    settings : how the sum is learned.
    classes : the labels; empty for numbers.
    seed : of random draws.
    deadline : the time of `time.monotonic` from which on no tree is added.

    Returns
    -------
    The sum and the gains of its tests.
    """
    constraints = None if learner.orders is None else SumConstraints(learner.orders, learner.candidates)
    responses = perceive(learner)
    loss, targets = _loss(learner)
    sample = learner.sample
    boosting = Boosting(
        _grower(learner, problem, responses, constraints),
        loss,
        targets,
        sample.weights,
        ~sample.unseen,
        settings,
        seed,
        constraints,
        deadline,
        sample.groups,
    )
    trees = boosted(boosting)
    boosted_sum = BoostedSum(tuple(trees), tuple(boosting.initial.tolist()), classes, settings.learning_rate).merged()
    if isinstance(sample.criterion, NumberCriterion):
        boosted_sum = _in_unit_of_targets(boosted_sum, sample.criterion)
    steps, timed_out = 0, time.monotonic() >= deadline
    if responses and not timed_out:
        boosted_sum, steps = _fine_tuned(boosted_sum, learner, problem, seed)
        if constraints is not None:
            trees_in_order = tuple(constraints.ordered(root) for root in boosted_sum.trees)
            boosted_sum = replace(boosted_sum, trees=trees_in_order)
    return LearnedSum(boosted_sum, tuple(test_decreases(trees)), steps, timed_out)


def _loss(learner: NodeLearner) -> tuple[Loss, Any]:
    """The loss of the criterion's targets, and the targets as it takes them.

    Numbers stay standardised, so that the sum does not depend on their unit: limits of the loss are absolute.
    """
    target = learner.sample.target
    criterion = target.criterion
    if isinstance(criterion, ClassCriterion):
        return LogisticLoss(criterion.classes), target.values
    assert isinstance(criterion, NumberCriterion)
    return SquaredLoss(), target.values


def _in_unit_of_targets(standardised: BoostedSum, criterion: NumberCriterion) -> BoostedSum:
    """A sum of standardised numbers as the sum of the numbers themselves."""
    trees = []
    for root in standardised.trees:
        scores = np.array([leaf.value for leaf in score_leaves(root)])  # (leaf, 1)
        trees.append(with_scores(root, criterion.scale * scores))
    initial = tuple(criterion.numbers(score) for score in standardised.initial)
    return replace(standardised, trees=tuple(trees), initial=initial)


def _grower(
    learner: NodeLearner,
    problem: Problem,
    responses: Mapping[NodeTest, Response],
    constraints: StageConstraints | None,
) -> StageGrower:
    """The engine of coded columns, or the plain grower where candidates differ from node to node or are constrained.

    Queries over parts are refined before any tree is grown, and count as fixed.
    """
    tests = learner.symbolic.tests
    if problem.language is not None:
        tests = (*tests, *query_pool(learner.inference, problem.language, MIN_CHILD_MASS))
    listed = Candidates(tests, tuple(learner.symbolic.numbers))
    generator = problem.generator
    generator = generator.generator if isinstance(generator, FirstOrderCandidates) else generator
    if constraints is None and isinstance(generator, FixedCandidates):
        return BinnedStageGrower(learner.inference, listed, responses)
    return PlainStageGrower(learner.inference, listed, responses, learner.candidates.at, constraints)


def _fine_tuned(boosted_sum: BoostedSum, learner: NodeLearner, problem: Problem, seed: int) -> tuple[BoostedSum, int]:
    """The sum after joint fine-tuning, and its gradient steps; the networks of the learner change with it."""
    from neuid3.learning.boosting.fine_tuning import fine_tuned

    model = SumModel(
        boosted_sum,
        problem.program.given_schema,
        background=problem.program.text,
        networks=learner.networks_of(boosted_sum.tests),
        priors=learner.priors,
        limits=problem.program.limits,
    )
    tuned = fine_tuned(model, learner.inference, learner.config, seed)
    if tuned.networks:
        learner.inference.replace_networks(tuned.networks)
    return tuned.boosted_sum, tuned.steps
