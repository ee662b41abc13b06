"""A fit of a forest: perception where networks take part, coded columns, and the growth of the trees."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.binned import BinnedTable, ColumnValues, bin_columns
from neuid3.binned.averaged import Forest
from neuid3.binned.model import ForestModel
from neuid3.data.examples import Examples
from neuid3.data.priors import Priors, column_priors
from neuid3.data.splits import fold_numbers
from neuid3.learning.forest import (
    PILOT_ROWS,
    ForestGrower,
    ForestSettings,
    UnseenRows,
    forest_tests,
    grow_forest,
    max_bins_for,
    training_values,
    tuned,
)
from neuid3.learning.inference import ExactInference
from neuid3.learning.problem import Problem
from neuid3.learning.query_pool import MIN_CHILD_MASS, query_pool
from neuid3.learning.sample import Sample
from neuid3.networks.backend import Backend
from neuid3.training.config import TrainingConfig
from neuid3.tree.anchors import Anchors
from neuid3.tree.inference import arrays_for
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.semantics import Semantics
from neuid3.tree.target import Target

# The folds of the rows by which a forest with trained networks is scored on unseen rows: each trains its own networks.
FOLDS = 2

Rows = npt.NDArray[np.int64]
Facts = dict[NodeTest, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class FittedForest:
    """The outcome of a fit.

    Attributes
    ----------
    forest : the trees.
    networks : the networks that their tests call, by instance.
    priors : the distributions that stand for missing entries.
    backend : who runs the networks.
    steps : the number of gradient steps.
    oob_values : for each row, the average of the trees that it is out of bag of, `(row, value)`; None where not asked for.
    skipped_trees : trees that were not grown because time was up.
    settings : the settings of the forest, with what was chosen in place of "auto".
    has_trained : whether networks were trained on the rows.
    """

    forest: Forest
    networks: Mapping[str, Any]
    priors: Priors
    backend: str | Backend
    steps: int
    oob_values: npt.NDArray[np.float64] | None
    skipped_trees: int
    settings: ForestSettings
    has_trained: bool


@dataclass(frozen=True, slots=True, eq=False)
class Perceived:
    """Trained networks and the responses of the tests that call them.

    Attributes
    ----------
    sample : the examples with the validation split, which networks were not trained on.
    responses : P(τ | e), or the likelier response, of each test for all rows of the sample.
    networks_of : the trained networks of some tests, by instance.
    priors : the distributions that stand for missing entries and missing network outputs.
    backend : who runs the networks.
    steps : the number of gradient steps.
    were_trained : whether some network was trained on rows of the sample.
    """

    sample: Sample
    responses: Facts
    networks_of: Callable[[tuple[NodeTest, ...]], Mapping[str, Any]]
    priors: Callable[[], Priors]
    backend: str | Backend
    steps: int
    were_trained: bool


def learn_forest(
    examples: Examples,
    target: Target,
    problem: Problem,
    networks: Mapping[str, Any],
    config: TrainingConfig,
    settings: ForestSettings,
    classes: tuple[Any, ...],
    *,
    seed: int,
    jobs: int | None = None,
    verbose: int = 0,
    with_oob: bool = False,
    deadline: float = math.inf,
    validation: tuple[Examples, Any, Any] | None = None,
    anchors: Anchors | None = None,
    groups: npt.NDArray[np.int64] | None = None,
    folder: Path | str | None = None,
    digests: Callable[[], dict[str, str]] = dict,
) -> FittedForest:
    """A forest whose trees share the networks that a single tree has trained.

    Parameters
    ----------
    examples : the training examples.
    target : their targets, with weights and criterion.
    problem : the program and the candidates.
    networks : the networks that the caller gave, by name.
    config : how networks are trained.
    settings : how the forest is grown.
    classes : the labels of the classes; none for numbers.
    seed : seed of all draws.
    jobs : the number of workers.
    verbose : as in the estimators.
    with_oob : whether out-of-bag predictions are computed.
    deadline : the time of `time.monotonic` from which on no tree is grown.
    validation : examples of the caller that networks are scored on, with targets and weights.
    anchors : labels of concepts, by declared network.
    groups : the number of each example's group, which no split and no bootstrap sample divides; None without groups.
    folder : where the nodes of the tree that trains networks are saved, if anywhere.
    digests : digests of what that tree depends on.

    Returns
    -------
    The forest with its networks.
    """
    perceived, unseen, rows = None, None, len(examples)
    if problem.are_neural:
        # Imported here, since a table without networks is learned without torch.
        from neuid3.learning.forest_perception import perceive

        perceived = perceive(
            examples,
            target,
            problem,
            networks,
            config,
            seed=seed,
            jobs=jobs,
            verbose=verbose,
            validation=validation,
            anchors=anchors or {},
            groups=groups,
            deadline=deadline,
            folder=folder,
            digests=digests,
        )
        examples, target, groups = perceived.sample.examples, perceived.sample.target, perceived.sample.groups
        unseen = perceived.sample.unseen if perceived.were_trained and perceived.sample.unseen.any() else None
    priors = Priors(column_priors(examples, target.weights))
    problem = _with_queries(problem, examples, target, priors)
    facts = _symbolic_facts(examples, target, problem, priors) | ({} if perceived is None else perceived.responses)
    names = _columns_of(problem)
    table = bin_columns(examples, target.weights, names=names, facts=facts, max_bins=max_bins_for(len(examples)))
    is_auto = "auto" in (settings.max_features, settings.min_mass)
    is_tuned = is_auto and settings.bootstrap and len(examples) <= PILOT_ROWS
    values = training_values(table, examples, facts) if with_oob or is_tuned else None
    tests = forest_tests(table, problem.candidates)
    held_out = _unseen_rows(unseen, table, perceived, values, examples, facts)

    def make(chosen: ForestSettings) -> ForestGrower:
        return ForestGrower(table, tests, target, chosen, seed, values, held_out, groups)

    grower = make(tuned(make, settings, jobs) if is_tuned else settings)
    learned = grow_forest(grower, classes, jobs=jobs, deadline=deadline, with_oob=with_oob)
    trained: Mapping[str, Any] = {}
    backend: str | Backend = "auto"
    steps = 0
    if perceived is not None:
        trained = perceived.networks_of(learned.forest.tests)
        priors, backend, steps = perceived.priors(), perceived.backend, perceived.steps
    oob_values = None if learned.oob_values is None else learned.oob_values[:rows]
    return FittedForest(
        learned.forest,
        trained,
        priors,
        backend,
        steps,
        oob_values,
        learned.skipped_trees,
        grower.settings,
        perceived is not None and perceived.were_trained,
    )


def cross_fitted_values(
    fit: Callable[[Rows, ForestSettings], FittedForest],
    examples: Examples,
    target: Target,
    problem: Problem,
    fitted: FittedForest,
    seed: int,
    groups: npt.NDArray[np.int64] | None = None,
    deadline: float = math.inf,
) -> npt.NDArray[np.float64]:
    """Predictions for each row by a forest whose networks and trees were learned from other rows, `(row, value)`.

    A network has seen the rows that it was trained on, and so has every tree that asks it: no row is out of bag. Bootstrap
    samples are the same fraction of fewer rows. Where time is up before a forest is finished, its rows are NaN: its networks
    were hardly trained.

    Parameters
    ----------
    fit : learns a forest from some of the rows, with these settings.
    examples, target : all rows.
    problem : the program and the candidates.
    fitted : the forest of all rows.
    seed : seed of the folds.
    groups : the number of each row's group, which no fold divides.
    deadline : the time of `time.monotonic` by which forests must be finished.
    """
    settings = fitted.settings
    if isinstance(settings.max_samples, int):
        settings = replace(settings, max_samples=min(settings.max_samples / len(examples), 1.0))
    folds = fold_numbers(target.values, FOLDS, np.random.default_rng(seed), groups)
    values = np.full((len(examples), fitted.forest.leaf_values.shape[1]), np.nan)
    for fold in range(FOLDS):
        if time.monotonic() >= deadline:
            break
        unseen = np.flatnonzero(folds == fold)
        part = fit(np.flatnonzero(folds != fold), settings)
        if time.monotonic() >= deadline:
            break
        model = ForestModel(
            part.forest,
            problem.program.given_schema,
            background=problem.program.text,
            networks=part.networks,
            priors=part.priors,
            limits=problem.program.limits,
            backend=part.backend,
        )
        values[unseen] = model.values(examples[unseen])
    return values


def _unseen_rows(
    unseen: npt.NDArray[np.bool_] | None,
    table: BinnedTable,
    perceived: Perceived | None,
    values: ColumnValues | None,
    examples: Examples,
    facts: Facts,
) -> UnseenRows | None:
    """The rows that no network was trained on, where networks were trained on the others."""
    if unseen is None or perceived is None:
        return None
    values = training_values(table, examples, facts) if values is None else values
    neural = frozenset(j for j, column in enumerate(table.columns) if column.fact in perceived.responses)
    return UnseenRows(np.flatnonzero(unseen), values[np.flatnonzero(unseen)], neural)


def _columns_of(problem: Problem) -> list[str]:
    """The columns that candidates test directly, in the order of the schema."""
    names = set(problem.candidates.numbers)
    names |= {test.column_value[0] for test in problem.candidates.tests if test.column_value is not None}
    return [name for name in problem.program.schema if name in names]


def _with_queries(problem: Problem, examples: Examples, target: Target, priors: Priors) -> Problem:
    """The problem with queries over parts among the candidates, since the trees of a forest do not refine any."""
    if problem.language is None:
        return problem
    sample = Sample(examples, target, np.zeros(len(examples), dtype=bool))
    inference = ExactInference(sample, Semantics(problem.program), {}, priors, "cpu", arrays_for(neural=False))
    queries = query_pool(inference, problem.language, MIN_CHILD_MASS)
    candidates = problem.candidates
    return replace(problem, candidates=replace(candidates, tests=(*candidates.tests, *queries)))


def _symbolic_facts(examples: Examples, target: Target, problem: Problem, priors: Priors) -> Facts:
    """The responses of candidates that are no plain columns and call no network: Boolean where they are certain."""
    semantics = Semantics(problem.program, problem.candidates.tests)
    schema = problem.program.schema
    tests = [
        test for test in problem.candidates.tests if not _is_column(test, schema) and not semantics.is_neural(test)
    ]
    if not tests:
        return {}
    sample = Sample(examples, target, np.zeros(len(examples), dtype=bool))
    inference = ExactInference(sample, semantics, {}, priors, "cpu", arrays_for(neural=False))
    facts: Facts = {}
    for test in tests:
        responses = inference.conditional((), test)
        facts[test] = as_fact(responses)
    return facts


def as_fact(responses: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Boolean responses where all are certain; otherwise as they are."""
    certain = responses >= 1.0
    return certain if bool((certain | (responses <= 0.0)).all()) else responses


def _is_column(test: NodeTest, schema: Mapping[str, Any]) -> bool:
    return test.column_value is not None and test.column_value[0] in schema
