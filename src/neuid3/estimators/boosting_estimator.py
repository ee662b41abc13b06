"""The base class of estimators that learn a boosted sum: parameters and the fit."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval

from neuid3.data.derived import without_unused
from neuid3.errors import ParameterError
from neuid3.estimators.base import FitInputs
from neuid3.estimators.ensemble import EnsembleEstimator
from neuid3.estimators.parameters import SHARED_CONSTRAINTS
from neuid3.estimators.sum_model import NeurosymbolicSum
from neuid3.export.sums import sum_text
from neuid3.learning.boosting.boost import BoostingSettings
from neuid3.learning.boosting.fit import learn_sum
from neuid3.learning.boosting.stages import StageLimits
from neuid3.learning.fit import make_learner
from neuid3.learning.grow import GrowthLimits
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.perception import learn_perception
from neuid3.learning.validation import training_sample
from neuid3.training.config import TrainingConfig
from neuid3.tree.record import VALIDATION, TrainingRecord
from neuid3.tree.sums import BoostedSum
from neuid3.tree.target import column_importances
from neuid3.tree.trees_model import TreesModel

# The parameters that mean the same as for a single tree.
_SHARED = ("background", "networks", "tests", "bank", "modes", "training", "min_mass", "time_limit", "n_jobs")

_CONSTRAINTS = ("monotonic_cst", "interaction_cst")

BOOSTING_CONSTRAINTS: dict[str, Any] = {
    **{
        name: SHARED_CONSTRAINTS[name]
        for name in (*_SHARED, "random_state", "verbose", "limits", "relations", "encoder", *_CONSTRAINTS)
    },
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "max_splits": [Interval(Integral, 1, None, closed="left")],
    "max_trees": [Interval(Integral, 1, None, closed="left")],
    "max_depth": [Interval(Integral, 1, None, closed="left"), None],
    "l2": [Interval(Real, 0, None, closed="left")],
    "max_features": [Interval(Real, 0, 1, closed="right")],
    "cv": ["cv_object"],
    "patience": [Interval(Integral, 1, None, closed="left")],
}


class BoostingEstimator(EnsembleEstimator):
    """The base class of boosted sums; what the targets are is said by a derived class."""

    _structure: ClassVar[tuple[str, str]] = ("sum_", "boosted_sum")
    _model_kind: ClassVar[type[TreesModel]] = NeurosymbolicSum

    learning_rate: float
    max_splits: int
    max_trees: int
    l2: float
    max_features: float
    cv: Any
    patience: int
    sum_: BoostedSum

    # Learning ------------------------------------------------------------------------------------

    def _settings(self, inputs: FitInputs) -> BoostingSettings:
        tree = StageLimits(
            max_depth=self.max_depth,
            min_child_mass=self.min_mass / 2,
            min_reach=inputs.config.min_reach,
            l2=self.l2,
            max_features=self.max_features,
        )
        limits = (self.learning_rate, self.max_splits, self.max_trees, self.patience)
        if self.cv is None or isinstance(self.cv, Integral):
            return BoostingSettings(*limits, int(self.cv or 0), tree)
        rows = np.flatnonzero(inputs.kept)  # of the caller's table
        pairs = check_cv(self.cv).split(np.zeros((len(inputs.kept), 1)), inputs.y, inputs.row_groups)
        splits = [(np.isin(rows, learned), np.isin(rows, unseen)) for learned, unseen in pairs]
        if not splits:
            raise ParameterError("cv has no splits; give a number of folds, or None to learn up to the limits.")
        groups = inputs.groups
        for number, (learned, unseen) in enumerate(splits):
            if (learned & unseen).any() or not learned.any() or not unseen.any():
                raise ParameterError(
                    f"Split {number} (counted from 0) of cv has {int(learned.sum())} rows to learn from and "
                    f"{int(unseen.sum())} unseen rows, {int((learned & unseen).sum())} of them the same; give one or more of "
                    "each, and none twice."
                )
            if groups is not None and np.intersect1d(groups[learned], groups[unseen]).size:
                raise ParameterError(
                    f"cv divides a group in split {number} (counted from 0); give sklearn's GroupKFold, or a number of folds."
                )
        return BoostingSettings(*limits, len(splits), tree, splits)

    def _learn_trees(self, inputs: FitInputs) -> None:
        config, problem = inputs.config, inputs.problem
        growth = GrowthLimits(min_mass=self.min_mass, min_reach=config.min_reach)
        fraction = config.validation_fraction if problem.are_neural else None
        with inputs.checkpoint() as checkpoint:
            seed = inputs.seed if checkpoint is None else checkpoint.seed
            sample = training_sample(
                inputs.examples,
                inputs.target,
                validation=inputs.validation,
                # Without networks, validation examples of the caller choose the number of trees.
                fraction=fraction if inputs.validation is None else fraction or 0.0,
                seed=seed,
                anchors=inputs.anchors,
                groups=inputs.groups,
            )

            def make(settings: TrainingConfig) -> NodeLearner:
                return make_learner(
                    sample,
                    problem,
                    inputs.networks,
                    settings,
                    growth,
                    seed=seed,
                    jobs=self.n_jobs,
                    verbose=self.verbose,
                )

            single = GrowthLimits(min_reach=config.min_reach)
            learner = learn_perception(make, config, single, checkpoint, inputs.deadline)
            learned = learn_sum(
                learner, problem, self._settings(inputs), self._tree_classes, seed=seed, deadline=inputs.deadline
            )
        if learned.timed_out:
            message = (
                f"time_limit={self.time_limit:g} was reached before the sum was finished; it has "
                f"{len(learned.boosted_sum.trees)} trees."
            )
            warnings.warn(message, UserWarning, stacklevel=5)
        elif not learned.boosted_sum.trees:
            message = (
                "No tree made unseen examples likelier, so the sum has none: it predicts the same for every example."
            )
            warnings.warn(message, UserWarning, stacklevel=5)
        program = inputs.problem.program
        used = {name for test in learned.boosted_sum.tests for name in test.columns(program)}
        self.schema_ = without_unused(self.schema_, used)
        self._set_trees(
            learned.boosted_sum,
            inputs,
            networks=learner.networks_of(learned.boosted_sum.tests),
            priors=learner.priors.of_schema(self.schema_),
            backend=learner.config.backend,
            steps=learner.steps + learned.steps,
        )
        gains = [(self.model_.columns_of(test), gain) for test, gain in learned.test_gains]
        self.feature_importances_ = column_importances(gains, self.schema_)
        record = TrainingRecord.of(sample.examples, sample.criterion.codes(sample.target.values), seed)
        if sample.unseen.any():
            unseen = np.flatnonzero(sample.unseen)
            score = self._validation_score(VALIDATION, sample.examples[unseen], sample.target[unseen])
            record = record.with_score(score)
        self.model_.training_record = record

    @property
    def _sum_model(self) -> NeurosymbolicSum:
        return cast("NeurosymbolicSum", self.model_)

    # Prediction and export -----------------------------------------------------------------------

    def contributions(self, X: Any) -> npt.NDArray[np.float64]:
        """What each tree adds to each score, `(example, tree, score)`; with `sum_.initial` they add up to the scores.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.

        Returns
        -------
        Contributions, `(example, tree, score)`.
        """
        fitted = self._fitted()
        return fitted._sum_model.contributions(fitted._examples(X))

    def export_text(self, decimals: int = 2, *, max_terms: int | None = 20, rules: bool = False) -> str:
        """The sum as text: main effects of columns as step tables, and trees, the most influential first.

        Parameters
        ----------
        decimals : the number of decimals of scores.
        max_terms : the most terms that are listed; None for all.
        rules : whether the background knowledge follows.

        Returns
        -------
        Lines of text.
        """
        return sum_text(self._fitted().model_, decimals, max_terms=max_terms, rules=rules)
