"""The base class of estimators that learn a boosted sum: parameters, the fit, files and exports."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from neuid3.errors import DataError, ParameterError
from neuid3.estimators.base import NeuID3Estimator
from neuid3.estimators.parameters import SHARED_CONSTRAINTS
from neuid3.estimators.sum_model import NeurosymbolicSum
from neuid3.explain.sums import SumExplanation
from neuid3.export.sums import sum_svg, sum_text
from neuid3.io.bank import Bank
from neuid3.io.estimators import estimator_to_json, learned_from_json, parameters_from_json
from neuid3.io.sums import save_sum
from neuid3.learning.boosting.boost import BoostingSettings
from neuid3.learning.boosting.fit import LearnedSum, learn_sum
from neuid3.learning.boosting.stages import StageLimits
from neuid3.learning.checkpoint import Checkpoint
from neuid3.learning.fit import check_fit, make_learner
from neuid3.learning.grow import GrowthLimits
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.validation import training_sample
from neuid3.logic.program import Program
from neuid3.logic.sandbox import Limits
from neuid3.training.config import TrainingConfig, read_training
from neuid3.tree.anchors import distinct
from neuid3.tree.labels import read_labels, take_labels
from neuid3.tree.record import VALIDATION, TrainingRecord
from neuid3.tree.target import column_importances

if TYPE_CHECKING:
    from torch import nn

# The parameters that mean the same as for a single tree.
_SHARED = ("background", "networks", "tests", "bank", "modes", "training", "min_mass", "time_limit", "n_jobs")

_CONSTRAINTS = ("monotonic_cst", "interaction_cst")

BOOSTING_CONSTRAINTS: dict[str, Any] = {
    **{
        name: SHARED_CONSTRAINTS[name]
        for name in (*_SHARED, "random_state", "verbose", "limits", "relations", *_CONSTRAINTS)
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


class BoostingEstimator(NeuID3Estimator):
    """The base class of boosted sums; what the targets are is said by a derived class."""

    # The leaves of a sum hold numbers that are added up, and no goals.
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
        learning_rate: float,
        max_splits: int,
        max_trees: int,
        max_depth: int | None,
        min_mass: float,
        l2: float,
        max_features: float,
        cv: Any,
        patience: int,
        time_limit: float | None,
        n_jobs: int | None,
        random_state: Any,
        verbose: int,
        limits: Limits | None,
        relations: Mapping[str, Sequence[str]] | None,
        monotonic_cst: Any,
        interaction_cst: Any,
    ) -> None:
        self.background = background
        self.networks = networks
        self.tests = tests
        self.bank = bank
        self.modes = modes
        self.training = training
        self.learning_rate = learning_rate
        self.max_splits = max_splits
        self.max_trees = max_trees
        self.max_depth = max_depth
        self.min_mass = min_mass
        self.l2 = l2
        self.max_features = max_features
        self.cv = cv
        self.patience = patience
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.limits = limits
        self.relations = relations
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst

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
        """Learn a sum of trees.

        Other threads may predict meanwhile: they use the previous fit until this one has ended.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array.
        y : the target of each row: its class, or its number.
        sample_weight : the weight of each row, 1 by default; rows of weight 0 are left out.
        validation : examples and targets, `(X, y)`, that are not learned from: networks are scored on them, and the number
            of trees is the one with the least loss on them.
        checkpoint : a folder to which every finished node of the tree that trains networks is written; an interrupted
            fit continues from it. Without effect where there are no networks.
        concepts : labels for some images, as in `NeuID3Classifier.fit`.

        Returns
        -------
        self

        Raises
        ------
        DataError : where columns, targets, weights or labels of concepts are not as they should be.
        """
        return super().fit(X, y, sample_weight, validation, checkpoint, concepts)

    def _settings(self, config: TrainingConfig, y: Any, kept: npt.NDArray[np.bool_]) -> BoostingSettings:
        tree = StageLimits(
            max_depth=self.max_depth,
            min_child_mass=self.min_mass / 2,
            min_reach=config.min_reach,
            l2=self.l2,
            max_features=self.max_features,
        )
        limits = (self.learning_rate, self.max_splits, self.max_trees, self.patience)
        if self.cv is None or isinstance(self.cv, Integral):
            return BoostingSettings(*limits, int(self.cv or 0), tree)
        rows = np.flatnonzero(kept)  # of the caller's table
        pairs = check_cv(self.cv).split(np.zeros((len(kept), 1)), y)
        splits = [(np.isin(rows, learned), np.isin(rows, unseen)) for learned, unseen in pairs]
        return BoostingSettings(*limits, len(splits), tree, splits)

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
        config = read_training(self.training)
        growth = GrowthLimits(min_mass=self.min_mass, min_reach=config.min_reach)
        networks = dict(self.networks or {})
        X, concepts = take_labels(X, concepts, self._declarations)
        examples, target, kept = self._read(X, y, sample_weight)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        problem = self._problem(examples)
        if problem.goals:
            raise ParameterError(
                f"modes give the leaves the goal '{problem.goals[0]}', and the leaves of a sum of trees hold numbers; use "
                "NeuID3Classifier or NeuID3Regressor for leaves that compute."
            )
        anchors = distinct(read_labels(concepts, examples, problem.program.declarations, kept=kept))
        check_fit(problem, networks, config, target.criterion)
        self.rule_tests_ = list(problem.candidates.expanded)
        fraction = config.validation_fraction if problem.are_neural else None
        digests = {} if folder is None else self._digests(examples, target, validation, anchors)
        with nullcontext() if folder is None else Checkpoint(folder, digests, seed) as saved:
            seed = seed if saved is None else saved.seed
            sample = training_sample(
                examples,
                target,
                validation=self._validation(validation, examples, target),
                # Without networks, validation examples of the caller choose the number of trees.
                fraction=fraction if validation is None else fraction or 0.0,
                seed=seed,
                anchors=anchors,
            )
            learner = make_learner(
                sample, problem, networks, config, growth, seed=seed, jobs=self.n_jobs, verbose=self.verbose
            )
            learned = learn_sum(
                learner,
                problem,
                self._settings(config, y, kept),
                self._tree_classes,
                seed=seed,
                checkpoint=saved,
                deadline=deadline,
            )
        if not learned.boosted_sum.trees:
            message = (
                "No tree made unseen examples likelier, so the sum has none: it predicts the same for every example."
            )
            warnings.warn(message, UserWarning, stacklevel=4)
        self._set_sum(learned, learner, config, problem.program)
        record = TrainingRecord.of(sample.examples, sample.criterion.codes(sample.target.values), seed)
        if sample.unseen.any():
            unseen = np.flatnonzero(sample.unseen)
            record = record.with_score(
                self._validation_score(VALIDATION, sample.examples[unseen], sample.target[unseen])
            )
        self.model_.training_record = record
        self.model_.candidates = tuple(dict.fromkeys(atom for test in problem.candidates.tests for atom in test.atoms))

    def _set_sum(self, learned: LearnedSum, learner: NodeLearner, config: TrainingConfig, program: Program) -> None:
        """Set the attributes that hold the sum, its networks and its model."""
        self.sum_ = learned.boosted_sum
        self.networks_: dict[str, Any] = learner.networks_of(self.sum_.tests)
        self.gradient_steps_ = learner.steps + learned.steps
        self.model_: Any = NeurosymbolicSum(
            self.sum_,
            self.schema_,
            background=program.text,
            networks=self.networks_,
            priors=learner.priors,
            limits=self.limits,
            device=config.device,
            backend=learner.config.backend,
        )
        gains = [(self.model_.columns_of(test), gain) for test, gain in learned.test_gains]
        self.feature_importances_ = column_importances(gains, self.schema_)

    @property
    def _sum_model(self) -> NeurosymbolicSum:
        return cast("NeurosymbolicSum", self.model_)

    @property
    def training_record_(self) -> TrainingRecord | None:
        """Digests of the training rows, and the scores on held-out rows; None where there is no record."""
        check_is_fitted(self)
        return self._sum_model.training_record

    def record_score(self, X: Any, y: Any) -> Any:
        """The score of the sum on examples that were not used in `fit`; it becomes part of the training record.

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
        score, codes = self._held_out_score(examples, y)
        learned = record.learned(examples, self.schema_, codes)
        if learned is not None and learned.all():
            message = "Each of these rows is equal to a training row, so the score is no estimate for new examples."
            warnings.warn(message, UserWarning, stacklevel=2)
        self.model_.training_record = record.with_score(score)
        return score

    # Prediction ----------------------------------------------------------------------------------

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

    def explain(self, X: Any, row: int = 0) -> SumExplanation:
        """The explanation of a prediction: what each test adds to the scores; see `NeurosymbolicSum.explain`.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.
        row : the example.

        Returns
        -------
        The explanation; `print` shows it as text.
        """
        fitted = self._fitted()
        return fitted._sum_model.explain(fitted._examples(X), row)

    # Export --------------------------------------------------------------------------------------

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

    def export_svg(self, *, max_terms: int | None = 20) -> str:
        """The sum as an SVG image: a scorecard with bars.

        Parameters
        ----------
        max_terms : the most terms that are drawn; None for all.

        Returns
        -------
        The text of an SVG file.
        """
        return sum_svg(self._fitted().model_, max_terms=max_terms)

    def _repr_html_inner(self) -> str:
        """HTML for notebooks: the sum of a fitted estimator, and below it scikit-learn's diagram."""
        diagram: str = super()._repr_html_inner()
        return diagram if not hasattr(self, "model_") else sum_svg(self.model_) + diagram

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
        return save_sum(fitted.model_, path, fields, remember_rows=remember_rows)

    @classmethod
    def restored(cls, model: NeurosymbolicSum, fields: Mapping[str, Any]) -> Self:
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
        estimator: Self = kind(**parameters_from_json(fields, kind().get_params(deep=False)))
        estimator.model_, estimator.sum_ = model, model.boosted_sum
        estimator.networks_, estimator.schema_ = model.networks, model.schema
        for name, value in learned_from_json(fields, model.classes, len(model.schema)).items():
            setattr(estimator, name, value)
        return estimator
