"""Boosted sums of trees as a scikit-learn classifier and regressor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import StrOptions

from neuid3.estimators.boosting_estimator import BOOSTING_CONSTRAINTS, BoostingEstimator
from neuid3.estimators.targets import ClassTargets, NumberTargets
from neuid3.io.bank import Bank
from neuid3.logic.sandbox import Limits
from neuid3.training.config import TrainingConfig

if TYPE_CHECKING:
    from torch import nn


class NeuID3BoostingClassifier(ClassTargets, ClassifierMixin, BoostingEstimator):  # type: ignore[misc]
    """A sum of small trees that gives log-odds, learned by gradient boosting with joint Newton steps.

    The score of an example is F(e) = F₀ + Σ_trees Σ_leaf P(leaf | e) · v: the log-odds of two classes, or one score for each
    of more, whose softmax is their distribution. Tests are facts, networks, or rules over the outputs of networks.

    Parameters
    ----------
    background : str
        Rules, probabilistic facts and neural declarations in DeepProbLog's syntax.
    networks : dict, optional
        For a network of the program, a function that makes a new one, or a module, which counts as trained.
    tests : "auto", a list of tests, or a CandidateGenerator
        The candidate tests, as in `NeuID3Classifier`.
    bank : Bank, or the path of one, optional
        Trained tests, which are tried first where networks are trained.
    modes : list of str, optional
        The columns that may fill each argument of a rule's head, as in `"gt_rank(+rank_1, +rank_2)"`.
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
    n_jobs : int, optional
        Workers that train networks; -1 for one per core. It does not change the sum.
    random_state : int, RandomState, optional
        With a number, the same fit gives the same sum.
    verbose : int
        1 prints the progress of networks in training, 2 also the gains of their tests.
    limits : Limits, optional
        The time, memory and circuit size that the background knowledge may take, and the most candidates that it may
        be expanded to.
    relations : dict, optional
        Rules without Prolog, as in `NeuID3Classifier`.
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
    networks_ : dict
        The networks of the sum, by instance.
    rule_tests_ : list of str
        The candidates that were made from rules.
    schema_ : dict
        The kind of every column, by name.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : array of shape (n_features_in_,)
        The names of the columns.
    feature_importances_ : array of shape (n_features_in_,)
        The decrease of the loss that each column contributes, as a fraction of the total.
    training_record_ : TrainingRecord
        The number of training rows, their digests, and scores on other rows.
    gradient_steps_ : int
        The number of gradient steps of the fit.

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
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
    ) -> None:
        super().__init__(
            background=background,
            networks=networks,
            tests=tests,
            bank=bank,
            modes=modes,
            training=training,
            learning_rate=learning_rate,
            max_splits=max_splits,
            max_trees=max_trees,
            max_depth=max_depth,
            min_mass=min_mass,
            l2=l2,
            max_features=max_features,
            cv=cv,
            patience=patience,
            time_limit=time_limit,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            limits=limits,
            relations=relations,
            monotonic_cst=monotonic_cst,
            interaction_cst=interaction_cst,
        )
        self.class_weight = class_weight

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

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """P(class | e) in the order of `classes_`, `(example, class)`.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.

        Returns
        -------
        Probabilities, `(example, class)`.
        """
        fitted = self._fitted()
        return fitted._sum_model.predict_proba(fitted._examples(X))

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The natural logarithm of `predict_proba`.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.

        Returns
        -------
        Logarithms of probabilities, `(example, class)`.
        """
        with np.errstate(divide="ignore"):
            logs: npt.NDArray[np.float64] = np.log(self.predict_proba(X))
        return logs

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each example.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.

        Returns
        -------
        Classes, `(example,)`.
        """
        fitted = self._fitted()
        most_probable: npt.NDArray[Any] = fitted.classes_[fitted.predict_proba(X).argmax(axis=1)]
        return most_probable


class NeuID3BoostingRegressor(NumberTargets, RegressorMixin, BoostingEstimator):  # type: ignore[misc]
    """A sum of small trees that predicts a number, learned by gradient boosting of the squared error.

    The prediction is F(e) = F₀ + Σ_trees Σ_leaf P(leaf | e) · v. Tests are facts, networks, or rules over the outputs of
    networks.

    Parameters
    ----------
    background : str
        Rules, probabilistic facts and neural declarations in DeepProbLog's syntax.
    networks : dict, optional
        For a network of the program, a function that makes a new one, or a module, which counts as trained.
    tests : "auto", a list of tests, or a CandidateGenerator
        The candidate tests, as in `NeuID3Classifier`.
    bank : Bank, or the path of one, optional
        Trained tests, which are tried first where networks are trained.
    modes : list of str, optional
        The columns that may fill each argument of a rule's head, as in `"gt_rank(+rank_1, +rank_2)"`.
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
    n_jobs : int, optional
        Workers that train networks; -1 for one per core. It does not change the sum.
    random_state : int, RandomState, optional
        With a number, the same fit gives the same sum.
    verbose : int
        1 prints the progress of networks in training, 2 also the gains of their tests.
    limits : Limits, optional
        The time, memory and circuit size that the background knowledge may take, and the most candidates that it may
        be expanded to.
    relations : dict, optional
        Rules without Prolog, as in `NeuID3Classifier`.
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
    networks_ : dict
        The networks of the sum, by instance.
    rule_tests_ : list of str
        The candidates that were made from rules.
    schema_ : dict
        The kind of every column, by name.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : array of shape (n_features_in_,)
        The names of the columns.
    feature_importances_ : array of shape (n_features_in_,)
        The decrease of the loss that each column contributes, as a fraction of the total.
    training_record_ : TrainingRecord
        The number of training rows, their digests, and scores on other rows.
    gradient_steps_ : int
        The number of gradient steps of the fit.

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
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
    ) -> None:
        super().__init__(
            background=background,
            networks=networks,
            tests=tests,
            bank=bank,
            modes=modes,
            training=training,
            learning_rate=learning_rate,
            max_splits=max_splits,
            max_trees=max_trees,
            max_depth=max_depth,
            min_mass=min_mass,
            l2=l2,
            max_features=max_features,
            cv=cv,
            patience=patience,
            time_limit=time_limit,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            limits=limits,
            relations=relations,
            monotonic_cst=monotonic_cst,
            interaction_cst=interaction_cst,
        )

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
