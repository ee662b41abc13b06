"""Boosted sums of trees as a scikit-learn classifier and regressor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import StrOptions

from neuid3.estimators.boosting_estimator import BOOSTING_CONSTRAINTS, BoostingEstimator
from neuid3.estimators.ensemble import EnsembleClassifier
from neuid3.estimators.targets import NumberTargets
from neuid3.io.bank import Bank
from neuid3.logic.sandbox import Limits
from neuid3.training.config import TrainingConfig

if TYPE_CHECKING:
    from torch import nn

    from neuid3.encoders.encoder import Encoder


class NeuID3BoostingClassifier(EnsembleClassifier, BoostingEstimator):
    """A sum of small trees that gives log-odds, learned by gradient boosting with joint Newton steps.

    The score of an example is F(e) = F₀ + Σ_trees Σ_leaf P(leaf | e) · v: the log-odds of two classes, or one score for each
    of more, whose softmax is their distribution. Tests are facts, networks, or rules over the outputs of networks.

    Parameters
    ----------
    background, networks, tests, bank, modes : as for `NeuID3Classifier`.
    training : "default", "paper", or TrainingConfig
        How networks are trained, selected and reused. A single tree trains one instance of each network; all trees of the
        sum share it, and at the end all of them train it further.
    learning_rate : float
        The factor of what each tree adds.
    max_splits : int
        The most splits of all trees together.
    max_trees : int
        The most trees.
    max_depth : int, optional
        The most tests on a path of a tree; with 1, the sum is a scorecard of single tests.
    min_mass : float
        The least Σ P(κ|e) of a node that is split; each side must keep half of it.
    l2 : float
        The constant λ that is added to the second derivative of each leaf, which shrinks leaves of few examples.
    max_features : float
        The fraction of columns and tests that are tried at each node, drawn at random.
    cv : int, cross-validation splitter, iterable of splits, or None
        The folds of the cross-validation that chooses the number of trees. With validation examples, or where networks
        are trained, the validation split chooses it instead. None learns up to the limits.
    patience : int
        The trees after which learning stops where none of them lowers the loss of unseen examples.
    class_weight : "balanced" or dict, optional
        The weight of an example of each class.
    time_limit : float, optional
        Seconds after which no tree is added.
    n_jobs, random_state, verbose, limits, relations, encoder : as for `NeuID3Classifier`.
    monotonic_cst : dict, or array of shape (n_features,), optional
        For each constrained column, 1 where the probability of the second of two classes never falls as the column
        rises, and -1 where it never rises; 0 for no constraint. Every tree of the sum keeps to it.
    interaction_cst : {"pairwise", "no_interactions"} or list of lists of columns, optional
        Groups of columns that may be tested on one path; columns in no group form one more group.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    class_weights_ : array of shape (n_classes,)
        The weight of each class, where `class_weight` is given.
    sum_ : BoostedSum
        The learned sum; trees that ask the same tests are one tree.
    model_ : NeurosymbolicSum
        The sum with its program, networks and priors.
    networks_, rule_tests_, schema_, n_features_in_, feature_names_in_, training_record_, gradient_steps_ : \
as for `NeuID3Classifier`.
    feature_importances_ : array of shape (n_features_in_,)
        The decrease of the loss that each column contributes, as a fraction of the total.

    >>> X = {"fever": [True] * 4 + [False] * 4, "age": [30, 40, 50, 60] * 2}
    >>> clf = NeuID3BoostingClassifier(cv=None, max_depth=1, max_splits=5, max_features=1.0)
    >>> clf.fit(X, ["ill"] * 4 + ["well"] * 4).predict({"fever": [True, False], "age": [35, 35]}).tolist()
    ['ill', 'well']
    """

    file_kind: ClassVar[str] = "boosting classifier"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BOOSTING_CONSTRAINTS,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        *,
        background: str = "",
        networks: Mapping[str, Callable[[], nn.Module] | nn.Module] | None = None,
        tests: str | Sequence[Any] = "auto",
        bank: Bank | Path | str | None = None,
        modes: Sequence[str] | None = None,
        training: str | TrainingConfig = "default",
        learning_rate: float = 0.1,
        max_splits: int = 5000,
        max_trees: int = 300,
        max_depth: int | None = 6,
        min_mass: float = 4.0,
        l2: float = 1.0,
        max_features: float = 0.5,
        cv: Any = 3,
        patience: int = 20,
        class_weight: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        limits: Limits | None = None,
        relations: Mapping[str, Sequence[str]] | None = None,
        encoder: str | nn.Module | Encoder | None = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
    ) -> None:
        self._remember(locals())

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """The scores F(e): `(example,)` log-odds of the second of two classes, or `(example, class)`.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.

        Returns
        -------
        Scores.
        """
        fitted = self._fitted()
        scores = fitted._sum_model.scores(fitted._examples(X))
        return scores[:, 0] if scores.shape[1] == 1 else scores


class NeuID3BoostingRegressor(NumberTargets, RegressorMixin, BoostingEstimator):  # type: ignore[misc]
    """A sum of small trees that predicts a number, learned by gradient boosting of the squared error.

    The prediction is F(e) = F₀ + Σ_trees Σ_leaf P(leaf | e) · v. Tests are facts, networks, or rules over the outputs of
    networks.

    Parameters
    ----------
    background, networks, tests, bank, modes : as for `NeuID3Classifier`.
    training : "default", "paper", or TrainingConfig
        How networks are trained, selected and reused. A single tree trains one instance of each network; all trees of the
        sum share it, and at the end all of them train it further.
    learning_rate : float
        The factor of what each tree adds.
    max_splits : int
        The most splits of all trees together.
    max_trees : int
        The most trees.
    max_depth : int, optional
        The most tests on a path of a tree; with 1, the sum is a scorecard of single tests.
    min_mass : float
        The least Σ P(κ|e) of a node that is split; each side must keep half of it.
    l2 : float
        The constant λ that is added to the second derivative of each leaf, which shrinks leaves of few examples.
    max_features : float
        The fraction of columns and tests that are tried at each node, drawn at random.
    cv : int, cross-validation splitter, iterable of splits, or None
        The folds of the cross-validation that chooses the number of trees. With validation examples, or where networks
        are trained, the validation split chooses it instead. None learns up to the limits.
    patience : int
        The trees after which learning stops where none of them lowers the loss of unseen examples.
    time_limit : float, optional
        Seconds after which no tree is added.
    n_jobs, random_state, verbose, limits, relations, encoder : as for `NeuID3Classifier`.
    monotonic_cst : dict, or array of shape (n_features,), optional
        For each constrained column, 1 where the prediction never falls as the column
        rises, and -1 where it never rises; 0 for no constraint. Every tree of the sum keeps to it.
    interaction_cst : {"pairwise", "no_interactions"} or list of lists of columns, optional
        Groups of columns that may be tested on one path; columns in no group form one more group.

    Attributes
    ----------
    sum_ : BoostedSum
        The learned sum; trees that ask the same tests are one tree.
    model_ : NeurosymbolicSum
        The sum with its program, networks and priors.
    networks_, rule_tests_, schema_, n_features_in_, feature_names_in_, training_record_, gradient_steps_ : \
as for `NeuID3Classifier`.
    feature_importances_ : array of shape (n_features_in_,)
        The decrease of the loss that each column contributes, as a fraction of the total.

    >>> X = {"late": [True] * 4 + [False] * 4}
    >>> reg = NeuID3BoostingRegressor(cv=None, learning_rate=1.0, max_trees=1, min_mass=2.0, l2=0.0)
    >>> reg.fit(X, [30, 32, 31, 33, 2, 4, 3, 5]).predict({"late": [True, False]}).round(2).tolist()
    [31.5, 3.5]
    """

    file_kind: ClassVar[str] = "boosting regressor"
    _parameter_constraints: ClassVar[dict[str, Any]] = BOOSTING_CONSTRAINTS

    def __init__(
        self,
        *,
        background: str = "",
        networks: Mapping[str, Callable[[], nn.Module] | nn.Module] | None = None,
        tests: str | Sequence[Any] = "auto",
        bank: Bank | Path | str | None = None,
        modes: Sequence[str] | None = None,
        training: str | TrainingConfig = "default",
        learning_rate: float = 0.1,
        max_splits: int = 5000,
        max_trees: int = 300,
        max_depth: int | None = 4,
        min_mass: float = 20.0,
        l2: float = 1.0,
        max_features: float = 0.5,
        cv: Any = 3,
        patience: int = 20,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        limits: Limits | None = None,
        relations: Mapping[str, Sequence[str]] | None = None,
        encoder: str | nn.Module | Encoder | None = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
    ) -> None:
        self._remember(locals())

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """The predicted number of each example, F(e).

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.

        Returns
        -------
        Numbers, `(example,)`.
        """
        fitted = self._fitted()
        return fitted._sum_model.scores(fitted._examples(X))[:, 0]
