"""A fit from its problem to its tree: learner, growth, joint training, regrowing and the training record."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.parts import has_parts
from neuid3.data.priors import Priors, column_priors
from neuid3.errors import DataError
from neuid3.learning.checkpoint import Checkpoint, CheckpointedLearner
from neuid3.learning.goals import NO_GOALS, GoalCandidates
from neuid3.learning.grow import GrownSubtree, GrowthLimits, OpenNode, TimedLearner, grow_tree
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.problem import Problem, check_device, check_networks
from neuid3.learning.progress import ProgressBar, SilentProgress
from neuid3.learning.pruning import grow_pruned, grow_worthwhile
from neuid3.learning.sample import Sample
from neuid3.training.config import TrainingConfig
from neuid3.tree.components import components
from neuid3.tree.criteria import ClassCriterion
from neuid3.tree.criterion import Criterion
from neuid3.tree.goals import GoalLeaf
from neuid3.tree.monotone import check_two_classes
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.query_tests import rooted
from neuid3.tree.record import VALIDATION, TrainingRecord
from neuid3.tree.tree import Branch, Node

# The bits on unseen examples that a trained test must save, for each unit of `pruning`.
BITS_PER_PRUNING = 8 / 3


# Each test with its gain times the mass of its node.
TestGains = tuple[tuple[NodeTest, float], ...]


@dataclass(frozen=True, slots=True)
class LearnedTree:
    """The outcome of a fit.

    Attributes
    ----------
    root : the root of the finished tree.
    test_gains : each test with its gain times the mass of its node, as the tree was grown.
    skipped_nodes : nodes that became leaves because time was up.
    """

    root: Node
    test_gains: TestGains
    skipped_nodes: int


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """Folds of the training rows.

    Attributes
    ----------
    numbers : the fold of each row, `(row,)`.
    learner : makes the learner of some of the rows.
    """

    numbers: npt.NDArray[np.int64]
    learner: Callable[[npt.NDArray[np.int64]], NodeLearner]


def check_fit(problem: Problem, networks: Mapping[str, Any], config: TrainingConfig, criterion: Criterion) -> None:
    """Check that a problem can be learned with these networks and this training, before anything is trained.

    Raises
    ------
    NetworkError : where a given network is not used, is no network, or cannot run on the device.
    ParameterError : where more than two classes are to be monotone.
    DataError : where the paper's training is to be used with anything but two classes.
    """
    check_networks(networks, problem.program)
    if problem.constraints.directions:
        check_two_classes(criterion.degrees_of_freedom + 1 if isinstance(criterion, ClassCriterion) else 0)
    is_paper = config.loss == "branches" and config.validation_fraction is None
    if is_paper and not criterion.is_binary:
        raise DataError(
            "training='paper' (loss='branches' without a validation split) is for two classes and y has "
            f"{criterion.description}; use training='default', which takes any number of classes, and numbers."
        )
    check_device(config.device)


def make_learner(
    sample: Sample,
    problem: Problem,
    networks: Mapping[str, Any],
    config: TrainingConfig,
    limits: GrowthLimits,
    *,
    seed: int,
    jobs: int | None,
    verbose: int,
    goals: GoalCandidates = NO_GOALS,
    time_limit: float | None = None,
) -> NodeLearner:
    """The learner of the nodes of a tree.

    Parameters
    ----------
    sample : labelled examples, with the validation split.
    problem : the program, the candidates and the networks of reused tests.
    networks : the networks that the caller gave, by name.
    config : how networks are trained.
    limits : stopping and pruning criteria.
    seed : seed of all random draws.
    jobs : the number of workers.
    verbose : 0 for no reports, 1 for nodes, 2 for gains too.
    goals : the goals that leaves may hold.
    time_limit : the seconds that the fit may take, for its reports.
    """
    progress = ProgressBar(gains=verbose > 1, time_limit=time_limit) if verbose else SilentProgress()
    learner = NodeLearner(
        sample,
        problem.program,
        problem.candidates,
        networks,
        config,
        priors=Priors(column_priors(sample.examples, sample.weights)),
        penalty=BITS_PER_PRUNING * limits.pruning,
        min_child_mass=limits.min_mass / 2,
        adaptive=config.reuse,
        share_networks=config.shared,
        seed=seed,
        jobs=jobs,
        device=config.device,
        reused=problem.reused,
        generator=problem.generator,
        bank_tests=problem.bank_tests,
        progress=progress,
        goals=goals,
        constraints=problem.constraints,
        language=problem.language,
    )
    progress.expanded(problem.candidates.names)
    return learner


def learn_tree(
    learner: NodeLearner,
    limits: GrowthLimits,
    checkpoint: Checkpoint | None = None,
    deadline: float = np.inf,
    folds: CrossValidation | None = None,
) -> LearnedTree:
    """The tree that is grown, trained jointly, and regrown where its networks allow it.

    Parameters
    ----------
    learner : finds the best split of each node.
    limits : stopping and pruning criteria.
    checkpoint : where finished nodes are saved, if anywhere.
    deadline : the time of `time.monotonic` from which on no node is split.
    folds : the folds of the cross-validation by which the tree is pruned; None to prune it by description length alone.
    """
    grower = learner if checkpoint is None else CheckpointedLearner(learner, checkpoint)

    def is_out_of_time() -> bool:
        return time.monotonic() >= deadline

    timed = TimedLearner(grower, is_out_of_time)

    def grow() -> GrownSubtree:
        if folds is not None:
            return grow_pruned(
                timed,
                learner.root,
                limits,
                learner.sample,
                learner.inference,
                folds.numbers,
                lambda rows: _of_rows(folds.learner(rows), is_out_of_time),
                learner.progress.node,
            )
        if limits.root_pruning is not None:
            return grow_worthwhile(timed, learner.root, limits, limits.root_pruning, learner.progress.node)
        return grow_tree(timed, learner.root, limits, learner.progress.node)

    with learner.progress, learner.pool, learner.threads:
        if learner.teaches_goals:
            from neuid3.learning.alternation import alternate_from_goals

            root, test_gains = alternate_from_goals(grower, grow, limits, is_out_of_time)
            return LearnedTree(root, test_gains, timed.skipped_nodes)
        learned = None
        if learner.pretrains_first and not is_out_of_time():
            from neuid3.learning.alternation import alternate_from_candidates

            learned = alternate_from_candidates(grower, grow, limits, is_out_of_time)
        if learned is None:
            grown = grow()
            learned = learner.settled(grown.node), grown.test_gains
            if learner.network_learning is not None and not timed.skipped_nodes:
                # Imported here, since a table without networks is learned without torch.
                from neuid3.learning.alternation import alternate

                learned = alternate(grower, grown, limits, is_out_of_time)
    root, test_gains = learned
    root, lost = learner.constrained(root)
    if has_parts(learner.sample.examples.schema):
        root = rooted(root)
    return LearnedTree(root, _without(test_gains, lost), timed.skipped_nodes)


def _of_rows(learner: NodeLearner, is_out_of_time: Callable[[], bool]) -> tuple[TimedLearner, OpenNode]:
    """The learner of a fold, which stops in time, and its root."""
    return TimedLearner(learner, is_out_of_time), learner.root


def _without(test_gains: TestGains, lost: Sequence[Branch]) -> TestGains:
    """The tests with their gains, without one entry for each branch that the tree has lost."""
    remaining = list(test_gains)
    for branch in lost:
        entry = next((entry for entry in remaining if entry[0] == branch.test), None)
        if entry is not None:
            remaining.remove(entry)
    return tuple(remaining)


def warn_of_small_tree(
    learned: LearnedTree, learner: NodeLearner, max_depth: int | None, time_limit: float | None
) -> None:
    """Warn where the time limit or the lack of good tests has kept a tree small."""
    if learned.skipped_nodes:
        message = f"time_limit={time_limit:g} was reached: {learned.skipped_nodes} nodes were not split further."
    elif isinstance(learned.root, (Branch, GoalLeaf)) or max_depth == 0:
        return
    else:
        advice = "Their gains are below the penalty of a split; a lower `pruning` lowers it."
        if learner.neural is not None and learner.neural.tests:
            advice = "Networks may need more epochs or examples" + (
                "."
                if learner.config.shared
                else "; if many columns of images show the same kind of thing, try TrainingConfig(shared=True)."
            )
        message = f"No candidate test was good enough; the tree is a single leaf. {advice} `diagnose` says why."
    warnings.warn(message, UserWarning, stacklevel=5)


def training_record(root: Node, learner: NodeLearner, seed: int, classes: Sequence[Any] = ()) -> TrainingRecord:
    """The training record of a finished tree, with the score on the validation split where there is one."""
    sample = learner.sample
    record = TrainingRecord.of(sample.examples, sample.criterion.codes(sample.target.values), seed)
    if not sample.unseen.any():
        return record
    rows = np.flatnonzero(sample.unseen)
    parts = components(root, learner.inference.semantics)
    # The learner holds the outputs of its networks on these examples, so that no network runs again.
    reach = learner.inference.reach(parts.paths, rows)  # (example, component)
    targets = sample.target.values[rows]
    return record.with_score(sample.criterion.score(VALIDATION, reach, parts.plain_leaves(classes), targets))
