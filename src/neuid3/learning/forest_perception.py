"""Perception of a forest: networks trained once, by a single tree, and the responses of the tests that call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.examples import Examples
from neuid3.learning.checkpoint import Checkpoint
from neuid3.learning.fit import make_learner
from neuid3.learning.forest_fit import Facts, Perceived, as_fact
from neuid3.learning.grow import GrowthLimits
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.perception import learn_perception, perceiving
from neuid3.learning.problem import Problem
from neuid3.learning.regrow import network_responses
from neuid3.learning.responses import BooleanResponse, ProbabilisticResponse
from neuid3.learning.validation import training_sample
from neuid3.logic.formula import NeuralVariable, sources
from neuid3.training.config import TrainingConfig
from neuid3.tree.anchors import Anchors
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.target import Target


def perceive(
    examples: Examples,
    target: Target,
    problem: Problem,
    networks: Mapping[str, Any],
    config: TrainingConfig,
    *,
    seed: int,
    jobs: int | None,
    verbose: int,
    validation: tuple[Examples, Any, Any] | None,
    anchors: Anchors,
    groups: npt.NDArray[np.int64] | None,
    deadline: float,
    folder: Path | str | None,
    digests: Callable[[], dict[str, str]],
) -> Perceived:
    """Trained networks, and the responses of all tests that call them.

    A single tree is learned, which trains one instance of each network that it needs. Every candidate whose networks are
    trained then has responses. Part of the rows are its validation split, which no network has seen.

    Parameters
    ----------
    examples, target, problem, networks, config, seed, jobs, verbose, validation, anchors, groups, deadline, folder, digests : as in
        `learn_forest`.

    Returns
    -------
    The networks and responses.
    """
    growth = GrowthLimits(min_reach=config.min_reach)
    with nullcontext() if folder is None else Checkpoint(folder, digests(), seed) as checkpoint:
        seed = seed if checkpoint is None else checkpoint.seed
        sample = training_sample(
            examples,
            target,
            validation=validation,
            fraction=config.validation_fraction,
            seed=seed,
            anchors=anchors,
            groups=groups,
        )

        def make(settings: TrainingConfig) -> NodeLearner:
            return make_learner(sample, problem, networks, settings, growth, seed=seed, jobs=jobs, verbose=verbose)

        learner = learn_perception(make, config, growth, checkpoint, deadline)
    return Perceived(
        sample,
        _responses(learner),
        lambda tests: learner.networks_of(tests),
        lambda: learner.priors,
        learner.config.backend,
        learner.steps,
        any(instance.trained_on for instance in learner.instances.values()),
    )


def _responses(learner: NodeLearner) -> Facts:
    """The responses of the tests whose networks are trained.

    Where no two tests depend on the same network output, a response is P(τ | e), and the tests of a path are independent.
    Otherwise it is the likelier one, so that the responses of related tests contradict each other in no row.
    """
    learning = learner.network_learning
    if learning is None or learner.neural is None:
        return {}
    inference = learner.inference
    names = perceiving(inference)
    decided = network_responses(names, learning.pretrainer.columns, learner.neural.tests)
    if _are_independent(list(decided), learner):
        return {
            test.standalone: as_fact(np.asarray(inference.conditional((), test), dtype=np.float64)) for test in decided
        }
    facts: Facts = {}
    for test, response in decided.items():
        assert isinstance(response, (BooleanResponse, ProbabilisticResponse))
        facts[test.standalone] = np.asarray(response.column)
    return facts


def _are_independent(tests: list[NodeTest], learner: NodeLearner) -> bool:
    """Whether no two tests depend on the output of the same network call."""
    seen: set[Any] = set()
    for test in tests:
        formula = learner.inference.semantics.formula(test)
        calls = {(s.network, s.inputs) for s in sources(formula) if isinstance(s, NeuralVariable)}
        if calls & seen:
            return False
        seen |= calls
    return True
