"""Targets of estimators, classes or numbers: how they are read, and how predictions of them are scored."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import column_or_1d

from neuid3.data.examples import Examples
from neuid3.data.tables import (
    check_target,
    check_weights,
    class_index,
    class_numbers,
    encode_classes,
    refuse_missing_labels,
)
from neuid3.data.targets import number_targets
from neuid3.errors import DataError
from neuid3.learning.goal_values import class_candidates, goal_classes, number_values
from neuid3.learning.goals import NO_GOALS, GoalCandidates
from neuid3.learning.problem import Problem
from neuid3.tree.conformal import class_sets, number_intervals
from neuid3.tree.criteria import ClassCriterion, NumberCriterion
from neuid3.tree.criterion import Criterion
from neuid3.tree.record import HELD_OUT, NumberScore, Score, number_score, score_of
from neuid3.tree.target import Target

Numbers = npt.NDArray[np.float64]


class ClassTargets:
    """Classes as targets, a mixin of estimators; it sets `classes_` and, where weights are given, `class_weights_`."""

    pos_label: Any = None
    class_weight: Any = None

    classes_: npt.NDArray[Any]
    class_weights_: Numbers

    def _check_criterion(self) -> ClassCriterion:
        return ClassCriterion()

    def _refuse_missing_targets(self, y: Any) -> None:
        refuse_missing_labels(y)

    def _read_targets(self, y: npt.NDArray[Any], weights: npt.NDArray[np.float64]) -> Target:
        check_target(y)
        self.classes_, labels = encode_classes(y)
        if self.class_weight is not None:
            self.class_weights_ = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
            if not (np.isfinite(self.class_weights_) & (self.class_weights_ >= 0)).all():
                raise DataError(
                    f"class_weight={self.class_weight!r} has a weight that is negative or no number; give 0 or more."
                )
            weights = weights * self.class_weights_[labels]
        positive = 1 if self.pos_label is None else class_index(self.pos_label, self.classes_)
        criterion = self._check_criterion().for_classes(len(self.classes_), positive)
        return Target(labels.astype(np.int64, copy=False), weights, criterion)

    def _validation_targets(
        self,
        y: Any,
        criterion: Criterion,  # noqa: ARG002 - only numbers depend on it
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
        targets = class_numbers(y, self.classes_)
        return targets, np.ones(len(targets)) if self.class_weight is None else self.class_weights_[targets]

    def _digested_targets(self, target: Target) -> dict[str, Any]:
        return {"classes": self.classes_, "labels": target.values}

    def _with_goals(self, target: Target, problem: Problem) -> tuple[Target, GoalCandidates]:
        """The targets after values of goals have joined their classes, and the goals with their values as classes."""
        if not problem.goals:
            return target, NO_GOALS
        before, self.classes_ = self.classes_, goal_classes(problem.goals, problem.program, self.classes_)
        position = np.searchsorted(self.classes_, before)  # of the classes that rows have
        if self.class_weight is not None:
            weights = np.ones(len(self.classes_))
            weights[position] = self.class_weights_
            self.class_weights_ = weights
        criterion = target.criterion
        assert isinstance(criterion, ClassCriterion)
        extended = criterion.for_classes(len(self.classes_), int(position[criterion.positive]))
        goals = class_candidates(problem.goals, problem.program, self.classes_.tolist())
        return Target(position[target.values], target.weights, extended), goals

    @property
    def _tree_classes(self) -> tuple[Any, ...]:
        return tuple(self.classes_.tolist())

    def _class_codes(self, examples: Examples, y: Any) -> npt.NDArray[np.int64]:
        """The code of the class of each example; an error where one is unknown or they are not as many."""
        known = {label: code for code, label in enumerate(self.classes_.tolist())}
        labels = column_or_1d(y).tolist()
        unknown = [label for label in labels if label not in known]
        if unknown or len(labels) != len(examples):
            problem = f"the class {unknown[0]!r}, which the tree does not have" if unknown else f"{len(labels)} labels"
            raise DataError(f"y has {problem}, for {len(examples)} examples; give one of the tree's classes for each.")
        return np.array([known[label] for label in labels], dtype=np.int64)

    def _calibration_targets(self, examples: Examples, y: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        codes = self._class_codes(examples, y)
        return codes, codes

    def _fitted_target(self, examples: Examples, y: Any) -> Target:
        """The targets of examples in the classes of the fit, each of weight 1."""
        positive = 1 if self.pos_label is None else class_index(self.pos_label, self.classes_)
        criterion = self._check_criterion().for_classes(len(self.classes_), positive)
        return Target(self._class_codes(examples, y), np.ones(len(examples)), criterion)

    def _held_out_score(self, examples: Examples, y: Any) -> tuple[Score, npt.NDArray[np.int64]]:
        codes = self._class_codes(examples, y)
        return score_of(HELD_OUT, _model(self).predict_proba(examples), codes), codes

    def _validation_score(self, kind: str, examples: Examples, target: Target) -> Score:
        """The score of the fitted model on examples whose targets were read already."""
        return score_of(kind, _model(self).predict_proba(examples), target.values)

    def predict_sets(self, X: Any, coverage: float = 0.9, *, by_leaf: bool = False) -> npt.NDArray[np.bool_]:
        """The set of plausible classes of each example, by split conformal prediction; see `calibrate`.

        A set has the true class with a probability of `coverage` or more, for examples that come from where those of the
        calibration came from. It always has the predicted class; where it has others too, the model abstains between them.

        Parameters
        ----------
        X : the examples.
        coverage : the probability with which the set must have the true class, between 0 and 1.
        by_leaf : whether coverage must hold among the examples of every leaf with enough calibration rows, and among those
            of all other leaves together. Sets are larger then. For one tree only.

        Returns
        -------
        Whether each class is in the set, `(example, class)`, in the order of `classes_`.

        Raises
        ------
        DataError : where the classifier is not calibrated, or with too few rows for this coverage.
        ParameterError : where the coverage is not between 0 and 1.
        """
        fitted = _fitted(self)
        return class_sets(fitted.model_, fitted._examples(X), coverage, by_leaf)


class NumberTargets:
    """Numbers as targets, a mixin of estimators."""

    def _check_criterion(self) -> NumberCriterion:
        return NumberCriterion()

    def _refuse_missing_targets(self, y: Any) -> None:
        refuse_missing_labels(y, "number")

    def _read_targets(self, y: npt.NDArray[Any], weights: Numbers) -> Target:
        check_weights(weights)
        numbers, counted = number_targets(y), weights > 0
        criterion = self._check_criterion().for_targets(numbers[counted], weights[counted])
        return Target(criterion.standardized(numbers), weights, criterion)

    def _validation_targets(self, y: Any, criterion: Criterion) -> tuple[Numbers, Numbers]:
        assert isinstance(criterion, NumberCriterion)
        numbers = number_targets(column_or_1d(y), "y of the validation examples")
        return criterion.standardized(numbers), np.ones(len(numbers))

    def _digested_targets(self, target: Target) -> dict[str, Any]:
        criterion = target.criterion
        assert isinstance(criterion, NumberCriterion)
        return {"targets": target.values, "unit": np.array([criterion.center, criterion.scale])}

    def _with_goals(self, target: Target, problem: Problem) -> tuple[Target, GoalCandidates]:
        """The targets, and the goals with their values as the criterion takes targets."""
        if not problem.goals:
            return target, NO_GOALS
        criterion = target.criterion
        assert isinstance(criterion, NumberCriterion)
        values = number_values(problem.goals, problem.program)
        return target, GoalCandidates(problem.goals, tuple(criterion.standardized(of_goal) for of_goal in values))

    @property
    def _tree_classes(self) -> tuple[Any, ...]:
        return ()

    def _numbers(self, examples: Examples, y: Any) -> Numbers:
        """The number of each example; an error where they are not as many."""
        numbers = number_targets(column_or_1d(y))
        if len(numbers) != len(examples):
            raise DataError(f"y has {len(numbers)} numbers for {len(examples)} examples; give one for each.")
        return numbers

    def _calibration_targets(self, examples: Examples, y: Any) -> tuple[Numbers, None]:
        return self._numbers(examples, y), None

    def _fitted_target(self, examples: Examples, y: Any) -> Target:
        """The targets of examples, standardised by themselves, each of weight 1."""
        numbers, weights = self._numbers(examples, y), np.ones(len(examples))
        criterion = self._check_criterion().for_targets(numbers, weights)
        return Target(criterion.standardized(numbers), weights, criterion)

    def _held_out_score(self, examples: Examples, y: Any) -> tuple[NumberScore, None]:
        numbers = self._numbers(examples, y)
        return number_score(HELD_OUT, _model(self).predict(examples), numbers), None

    def _validation_score(self, kind: str, examples: Examples, target: Target) -> NumberScore:
        """The score of the fitted model on examples whose targets were read already."""
        criterion = target.criterion
        assert isinstance(criterion, NumberCriterion)
        return number_score(kind, _model(self).predict(examples), criterion.numbers(target.values))

    def predict_intervals(self, X: Any, coverage: float = 0.9, *, by_leaf: bool = False) -> Numbers:
        """The interval of plausible numbers of each example, by split conformal prediction; see `calibrate`.

        An interval has the true number with a probability of `coverage` or more, for examples that come from where those
        of the calibration came from.

        Parameters
        ----------
        X : the examples.
        coverage : the probability with which the interval must have the true number, between 0 and 1.
        by_leaf : whether coverage must hold among the examples of every leaf with enough calibration rows, and among those
            of all other leaves together. Intervals then have a length for each leaf. For one tree only.

        Returns
        -------
        Lower and upper end, `(example, 2)`.

        Raises
        ------
        DataError : where the regressor is not calibrated, or with too few rows for this coverage.
        ParameterError : where the coverage is not between 0 and 1.
        """
        fitted = _fitted(self)
        return number_intervals(fitted.model_, fitted._examples(X), coverage, by_leaf)


def _model(estimator: Any) -> Any:
    """The model of a fitted estimator, of one tree or of many."""
    return estimator.model_


def _fitted(estimator: Any) -> Any:
    """A snapshot of a fitted estimator; see `NeuID3Estimator`."""
    return estimator._fitted()
