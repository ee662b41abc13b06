"""The base class of estimators that learn a forest: parameters, the fit, files and exports."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from neuid3.binned import BinnedLimits
from neuid3.errors import DataError, ParameterError
from neuid3.estimators.base import NeuID3Estimator
from neuid3.estimators.forest_model import ForestTrees, NeurosymbolicForest
from neuid3.estimators.parameters import SHARED_CONSTRAINTS
from neuid3.explain.forests import ForestExplanation
from neuid3.export.forests import forest_text
from neuid3.io.bank import Bank
from neuid3.io.estimators import estimator_to_json, learned_from_json, parameters_from_json
from neuid3.io.forests import save_forest
from neuid3.learning.fit import check_fit
from neuid3.learning.forest import ForestSettings
from neuid3.learning.forest_fit import FittedForest, learn_forest
from neuid3.learning.generators import CandidateGenerator
from neuid3.logic.sandbox import Limits
from neuid3.training.config import TrainingConfig, read_training
from neuid3.tree.anchors import distinct
from neuid3.tree.labels import read_labels, take_labels
from neuid3.tree.record import AnyScore, TrainingRecord
from neuid3.tree.target import column_importances

if TYPE_CHECKING:
    from torch import nn

_SHARED = ("background", "networks", "tests", "bank", "modes", "training", "max_depth", "min_mass", "min_gain")
_SETTINGS = ("time_limit", "n_jobs", "random_state", "verbose", "limits", "relations")

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


class ForestEstimator(NeuID3Estimator):
    """The base class of forests; what the targets are is said by a derived class."""

    min_mass: Any
    # Parameters of single trees, which forests do not have.
    monotonic_cst: Any = None
    interaction_cst: Any = None
    leaves: Any = None
    encoder: Any = None

    def __init__(
        self,
        *,
        background: str,
        networks: Mapping[str, Callable[[], nn.Module] | nn.Module] | None,
        tests: str | Sequence[Any],
        bank: Bank | Path | str | None,
        modes: Sequence[str] | None,
        training: str | TrainingConfig,
        criterion: str,
        n_estimators: int,
        max_features: int | float | str | None,
        max_depth: int | None,
        min_mass: float | str,
        min_gain: float,
        bootstrap: bool,
        max_samples: int | float | None,
        oob_score: bool,
        time_limit: float | None,
        n_jobs: int | None,
        random_state: Any,
        verbose: int,
        limits: Limits | None,
        relations: Mapping[str, Sequence[str]] | None,
    ) -> None:
        self.background = background
        self.networks = networks
        self.tests = tests
        self.bank = bank
        self.modes = modes
        self.training = training
        self.criterion = criterion
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_mass = min_mass
        self.min_gain = min_gain
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.limits = limits
        self.relations = relations

    # Learning ------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
        checkpoint: Path | str | None = None,
        concepts: Mapping[str, Any] | None = None,
    ) -> Self:
        """Grow a forest; where networks take part, they are trained first, by a single tree.

        Other threads may predict meanwhile: they use the previous fit until this one has ended.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array.
        y : the target of each row: its class, or its number.
        sample_weight : the weight of each row, 1 by default; rows of weight 0 are left out.
        validation : examples and targets, `(X, y)`, that networks are scored on and not trained on. Without effect where
            there are no networks.
        checkpoint : a folder to which every finished node of the tree that trains networks is written; an interrupted fit
            continues from it. Without effect where there are no networks.
        concepts : labels for some images, as in `NeuID3Classifier.fit`.

        Returns
        -------
        self

        Raises
        ------
        DataError : where columns, targets, weights or labels of concepts are not as they should be.
        ParameterError : where parameters contradict each other.
        """
        return super().fit(X, y, sample_weight, validation, checkpoint, concepts)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        validation: tuple[Any, Any] | None,
        folder: Path | str | None,
        concepts: Mapping[str, Any] | None,
    ) -> None:
        deadline = time.monotonic() + (np.inf if self.time_limit is None else self.time_limit)
        self._check_parameters()
        config = read_training(self.training)
        networks = dict(self.networks or {})
        X, concepts = take_labels(X, concepts, self._declarations)
        examples, target, kept = self._read(X, y, sample_weight)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        problem = self._problem(examples)
        anchors = distinct(read_labels(concepts, examples, problem.program.declarations, kept=kept))
        check_fit(problem, networks, config, target.criterion)
        self.rule_tests_ = list(problem.candidates.expanded)
        fitted = learn_forest(
            examples,
            target,
            problem,
            networks,
            config,
            self._settings(config),
            self._tree_classes,
            seed=seed,
            jobs=self.n_jobs,
            verbose=self.verbose,
            with_oob=self.oob_score,
            deadline=deadline,
            validation=self._validation(validation, examples, target),
            anchors=anchors,
            folder=folder,
            digests=lambda: self._digests(examples, target, validation, anchors),
        )
        if fitted.skipped_trees:
            message = f"time_limit={self.time_limit:g} was reached: {fitted.skipped_trees} trees were not grown."
            warnings.warn(message, UserWarning, stacklevel=4)
        self._set_forest(fitted, config, problem.program.text)
        record = TrainingRecord.of(examples, target.criterion.codes(target.values), seed)
        if fitted.oob_values is not None:
            score = self._set_oob(fitted.oob_values, target.values, target.weights)
            record = record if score is None else record.with_score(score)
        self.model_.training_record = record
        self.model_.candidates = tuple(dict.fromkeys(atom for test in problem.candidates.tests for atom in test.atoms))

    def _check_parameters(self) -> None:
        self._check_criterion()
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
            self.n_estimators, self.max_features, self.min_mass, self.bootstrap, self.max_samples, limits
        )

    def _set_forest(self, fitted: FittedForest, config: TrainingConfig, background: str) -> None:
        """Set the attributes that hold the forest, its networks and its model."""
        self.forest_ = fitted.forest
        self.networks_: dict[str, Any] = dict(fitted.networks)
        self.gradient_steps_ = fitted.steps
        self.max_features_ = fitted.settings.max_features
        self.min_mass_ = float(fitted.settings.min_mass)
        self.model_: Any = NeurosymbolicForest(
            self.forest_,
            self.schema_,
            background=background,
            networks=self.networks_,
            priors=fitted.priors,
            limits=self.limits,
            device=config.device,
            backend=fitted.backend,
        )
        gains = zip(self.model_.columns_of_gains(), self.forest_.column_gains().tolist(), strict=True)
        self.feature_importances_ = column_importances(gains, self.schema_)

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

    @property
    def training_record_(self) -> TrainingRecord | None:
        """Digests of the training rows, and the scores on held-out rows; None where there is no record."""
        check_is_fitted(self)
        return cast("NeurosymbolicForest", self.model_).training_record

    def record_score(self, X: Any, y: Any) -> AnyScore:
        """The score of the forest on examples that were not used in `fit`; it becomes part of the training record.

        Parameters
        ----------
        X : the examples.
        y : the target of each.

        Returns
        -------
        The score.

        Raises
        ------
        DataError : where the model has no training record, or targets do not fit.
        """
        record = self.training_record_
        if record is None:
            raise DataError("The model was loaded from a file without a training record; fit it again.")
        examples = self._examples(X)
        score, codes = cast("tuple[AnyScore, Any]", self._held_out_score(examples, y))
        learned = record.learned(examples, self.schema_, codes)
        if learned is not None and learned.all():
            message = "Each of these rows is equal to a training row, so the score is no estimate for new examples."
            warnings.warn(message, UserWarning, stacklevel=2)
        self.model_.training_record = record.with_score(score)
        return score

    # Explanations and exports --------------------------------------------------------------------

    def explain(self, X: Any, row: int = 0) -> ForestExplanation:
        """The explanation of a prediction: what each column contributes, and how the trees differ.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.
        row : the example.

        Returns
        -------
        The explanation; `print` shows it as text.
        """
        fitted = self._fitted()
        return fitted._model().explain(fitted._examples(X), row)

    def export_text(self, decimals: int = 2, *, max_trees: int = 3, max_depth: int | None = 3) -> str:
        """The forest as text: importances of columns, the tests that most trees ask, and the first trees.

        Parameters
        ----------
        decimals : the number of decimals.
        max_trees : the most trees that are shown.
        max_depth : the depth to which they are shown; None for all.

        Returns
        -------
        Lines of text.
        """
        return forest_text(self._fitted()._model(), decimals, max_trees=max_trees, max_depth=max_depth)

    # Files ---------------------------------------------------------------------------------------

    def save(self, path: Path | str, *, remember_rows: bool = True) -> Path:
        """Write the fitted estimator to one file, which `neuid3.load` reads without running any code of it.

        Parameters
        ----------
        path : the file; an ending is added where there is none.
        remember_rows : whether digests of the training rows are stored, by which they are recognised later.

        Returns
        -------
        The path of the file.
        """
        fitted = self._fitted()
        fields = {"kind": self.file_kind, **estimator_to_json(fitted)}
        return save_forest(fitted._model(), path, fields, remember_rows=remember_rows)

    @classmethod
    def restored(cls, model: NeurosymbolicForest, fields: Mapping[str, Any]) -> Self:
        """The estimator of a saved model and the JSON fields of its file.

        Parameters
        ----------
        model : the model of the file.
        fields : the JSON fields of the file.

        Returns
        -------
        The fitted estimator.
        """
        kind: Any = cls  # every class that is no base class has defaults
        estimator: Self = kind(**parameters_from_json(fields, cls._get_param_names()))
        estimator.model_, estimator.forest_ = model, model.forest
        estimator.networks_, estimator.schema_ = model.networks, model.schema
        for name, value in learned_from_json(fields, model.classes, len(model.schema)).items():
            setattr(estimator, name, value)
        return estimator
