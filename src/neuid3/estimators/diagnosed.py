"""A fitted estimator as the case of a diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from neuid3.data.derived import table_columns
from neuid3.data.examples import Examples
from neuid3.data.groups import take_groups
from neuid3.data.slots import unfolded
from neuid3.diagnosis.case import Case, Outcome
from neuid3.learning.derived_columns import with_derived_columns
from neuid3.training.config import read_training
from neuid3.tree.record import VALIDATION

if TYPE_CHECKING:
    from neuid3.estimators.tree_estimator import TreeEstimator

# Parameters that describe the tests, which a plain tree over other columns does not have.
_OF_TESTS: dict[str, Any] = {
    "background": "",
    "networks": None,
    "tests": "auto",
    "bank": None,
    "modes": None,
    "leaves": None,
    "relations": None,
    "monotonic_cst": None,
    "interaction_cst": None,
}


def diagnosed_case(fitted: TreeEstimator, X: Any, y: Any, groups: Any, location: Callable[[int], str]) -> Case:
    """What a diagnosis needs of a fitted estimator and its rows.

    Parameters
    ----------
    fitted : the fitted estimator.
    X : the examples.
    y : the target of each.
    groups : the group of each row, the name of the column that holds them, or None.
    location : what a row is called in texts.
    """
    groups = take_groups(X, groups)[1]
    read = fitted._examples(X)
    target, classes = fitted._fitted_target(read, y), fitted._tree_classes
    table = read.select(table_columns(read.schema))
    # The fit has chosen from more derived columns than the tree reads.
    without = fitted._constrained(table)
    examples = with_derived_columns(table, target, fitted._mentioned(), without, scores=fitted._has_scores)
    problem = fitted._problem(examples)

    def refit(
        changes: Mapping[str, Any],
        columns: Mapping[str, npt.NDArray[Any]] | None = None,
        weights: npt.NDArray[np.float64] | None = None,
    ) -> Outcome:
        estimator = clone(fitted).set_params(verbose=0, **(_OF_TESTS if columns is not None else {}), **changes)
        if estimator.random_state is None:
            estimator.set_params(random_state=0)
        rows = table if columns is None else Examples(columns)
        return _outcome(estimator.fit(rows, y, sample_weight=weights, groups=groups), rows, classes)

    config = read_training(fitted.training)
    return Case(
        unfolded(examples, problem.program.slots),
        target,
        problem,
        _outcome(fitted, read, classes),
        config,
        classes,
        fitted.min_mass / 2,
        max(p for p in fitted._split_penalties(problem) if p is not None) if config.prune else 0.0,
        refit,
        location,
    )


def _outcome(fitted: TreeEstimator, examples: Examples, classes: tuple[Any, ...]) -> Outcome:
    record = fitted.training_record_
    predictions = fitted.model_.predict(examples)
    if classes:
        known = {label: number for number, label in enumerate(classes)}
        predictions = np.array([known[label] for label in predictions.tolist()])
    return Outcome(fitted.tree_, None if record is None else record.score(VALIDATION), predictions)
