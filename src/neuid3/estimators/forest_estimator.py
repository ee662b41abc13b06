"""The base class of estimators that learn a forest: parameters and the fit."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from neuid3.binned import BinnedLimits
from neuid3.binned.averaged import Forest
from neuid3.errors import ParameterError
from neuid3.estimators.base import FitInputs
from neuid3.estimators.ensemble import EnsembleEstimator
from neuid3.estimators.forest_model import ForestTrees, NeurosymbolicForest
from neuid3.estimators.parameters import SHARED_CONSTRAINTS
from neuid3.learning.forest import ForestSettings
from neuid3.learning.forest_fit import FittedForest, cross_fitted_values, learn_forest
from neuid3.learning.generators import CandidateGenerator
from neuid3.training.config import TrainingConfig
from neuid3.tree.record import AnyScore, TrainingRecord
from neuid3.tree.target import column_importances
from neuid3.tree.trees_model import TreesModel

_SHARED = ("background", "networks", "tests", "bank", "modes", "training", "max_depth", "min_mass", "min_gain")
_SETTINGS = ("time_limit", "n_jobs", "random_state", "verbose", "limits", "relations", "encoder")

FOREST_CONSTRAINTS: dict[str, Any] = {
    **{name: SHARED_CONSTRAINTS[name] for name in (*_SHARED, *_SETTINGS)},
    "min_mass": [*SHARED_CONSTRAINTS["min_mass"], StrOptions({"auto"})],
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "max_features": [
        StrOptions({"auto", "sqrt", "log2"}),
        Interval(Integral, 1, None, closed="left"),
        Interval(Real, 0, 1, closed="right"),
        None,
    ],
    "bootstrap": ["boolean"],
    "max_samples": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="right"), None],
    "oob_score": ["boolean"],
}


class ForestEstimator(EnsembleEstimator):
    """The base class of forests; what the targets are is said by a derived class."""

    _structure: ClassVar[tuple[str, str]] = ("forest_", "forest")
    _model_kind: ClassVar[type[TreesModel]] = NeurosymbolicForest

    criterion: str
    n_estimators: int
    max_features: int | float | str | None
    min_gain: float
    bootstrap: bool
    max_samples: int | float | None
    oob_score: bool
    forest_: Forest

    # Learning ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.oob_score and not self.bootstrap:
            raise ParameterError(
                "oob_score=True needs bootstrap=True: without it every tree learns from every row; set one of them "
                "differently."
            )
        if isinstance(self.tests, CandidateGenerator):
            raise ParameterError(
                f"tests is a {type(self.tests).__name__}, and a forest draws the tests of each node itself; give 'auto' or "
                "a list of tests."
            )

    def _settings(self, config: TrainingConfig) -> ForestSettings:
        limits = BinnedLimits(
            max_depth=self.max_depth,
            min_gain=float(self.min_gain),
            min_reach=config.min_reach,
        )
        return ForestSettings(
            self.n_estimators,
            _plain(self.max_features),
            self.min_mass,
            self.bootstrap,
            _plain(self.max_samples),
            limits,
        )

    def _learn_trees(self, inputs: FitInputs) -> None:
        fitted = self._forest(inputs, self._settings(inputs.config), with_oob=self.oob_score)
        if fitted.skipped_trees:
            message = f"time_limit={self.time_limit:g} was reached: {fitted.skipped_trees} trees were not grown."
            warnings.warn(message, UserWarning, stacklevel=5)
        elif not fitted.forest.used and self.max_depth != 0:
            message = (
                "No tree of the forest has a test, so it predicts the same for every example. A lower `min_mass` or "
                "`min_gain` lets trees split smaller nodes."
            )
            warnings.warn(message, UserWarning, stacklevel=5)
        self._set_trees(
            fitted.forest,
            inputs,
            networks=fitted.networks,
            priors=fitted.priors,
            backend=fitted.backend,
            steps=fitted.steps,
        )
        self.max_features_ = fitted.settings.max_features
        self.min_mass_ = float(fitted.settings.min_mass)
        gains = zip(self.model_.columns_of_gains(), self.forest_.column_gains().tolist(), strict=True)
        self.feature_importances_ = column_importances(gains, self.schema_)
        target = inputs.target
        record = TrainingRecord.of(inputs.examples, target.criterion.codes(target.values), inputs.seed)
        values = fitted.oob_values
        if self.oob_score and fitted.has_trained:
            values = cross_fitted_values(
                lambda rows, settings: self._forest(inputs.rows(rows), settings),
                inputs.examples,
                target,
                inputs.problem,
                fitted,
                inputs.seed,
                inputs.groups,
                inputs.deadline,
            )
            if np.isnan(values).any():
                message = (
                    f"time_limit={self.time_limit:g} was reached before all rows were predicted by networks that have not seen "
                    "them: the out-of-bag score counts none or half of the rows."
                )
                warnings.warn(message, UserWarning, stacklevel=5)
        if values is not None:
            score = self._set_oob(values, target.values, target.weights)
            record = record if score is None else record.with_score(score)
        self.model_.training_record = record

    def _forest(self, inputs: FitInputs, settings: ForestSettings, with_oob: bool = False) -> FittedForest:
        """The forest of these rows."""
        return learn_forest(
            inputs.examples,
            inputs.target,
            inputs.problem,
            inputs.networks,
            inputs.config,
            settings,
            self._tree_classes,
            seed=inputs.seed,
            jobs=self.n_jobs,
            verbose=self.verbose,
            with_oob=with_oob,
            deadline=inputs.deadline,
            validation=inputs.validation,
            anchors=inputs.anchors,
            groups=inputs.groups,
            folder=inputs.folder,
            digests=inputs.digests,
        )

    def _set_oob(
        self, values: npt.NDArray[np.float64], targets: npt.NDArray[Any], weights: npt.NDArray[np.float64]
    ) -> AnyScore | None:
        """Set the attributes of out-of-bag predictions; returns their score, if there is one."""
        raise NotImplementedError

    def _model(self) -> NeurosymbolicForest:
        """The model, which predicts by as many threads as there are workers."""
        model = cast("NeurosymbolicForest", self.model_)
        model.threads = effective_n_jobs(self.n_jobs)
        return model

    @property
    def estimators_(self) -> ForestTrees:
        """The trees one by one, as models that share the networks of the forest."""
        check_is_fitted(self)
        return cast("NeurosymbolicForest", self.model_).trees

    # Export --------------------------------------------------------------------------------------

    def export_text(
        self, decimals: int = 2, *, max_trees: int = 3, max_depth: int | None = 3, rules: bool = False
    ) -> str:
        """The forest as text: importances of columns, the tests that most trees ask, and the first trees.

        Parameters
        ----------
        decimals : the number of decimals.
        max_trees : the most trees that are shown.
        max_depth : the depth to which they are shown; None for all.
        rules : whether the background knowledge follows.

        Returns
        -------
        Lines of text.
        """
        return self._fitted()._model().export_text(decimals, max_trees=max_trees, max_depth=max_depth, rules=rules)


def _plain(parameter: Any) -> Any:
    """A number of numpy, such as one of a grid, as Python's."""
    return parameter.item() if isinstance(parameter, np.generic) else parameter
