"""Forests as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import StrOptions

from neuid3.estimators.ensemble import EnsembleClassifier
from neuid3.estimators.forest_estimator import FOREST_CONSTRAINTS, ForestEstimator
from neuid3.estimators.targets import NumberTargets
from neuid3.io.bank import Bank
from neuid3.logic.sandbox import Limits
from neuid3.training.config import TrainingConfig
from neuid3.tree.criteria import ClassCriterion, NumberCriterion, criterion_of
from neuid3.tree.record import OUT_OF_BAG, Score, score_of

if TYPE_CHECKING:
    from torch import nn

    from neuid3.encoders.encoder import Encoder

Numbers = npt.NDArray[np.float64]


class NeuID3ForestClassifier(EnsembleClassifier, ForestEstimator):
    """A forest of decision trees whose tests are facts, networks, or rules over the outputs of networks.

    Each tree is grown from a bootstrap sample of the rows, with the best of a few random tests at each node. The
    prediction is the average of the trees. Networks are trained once: all trees share one instance of each.

    Parameters
    ----------
    background, networks, tests, bank, modes, training : as for `NeuID3Classifier`.
    criterion : {"entropy", "gini"}
        How good a split is: information gain, or the decrease of Gini impurity.
    n_estimators : int
        The number of trees.
    max_features : {"auto", "sqrt", "log2"}, int, float or None
        The tests that are drawn at each node, as a number or a fraction of all; None for all. A number column counts
        once, with all its cuts, and so does a category with all its values. "auto" chooses by out-of-bag predictions of
        40 trees, on tables with at most 20,000 rows; see `max_features_`.
    max_depth : int, optional
        The most tests on a path.
    min_mass : float or "auto"
        The least Σ P(κ|e) of a node that is split; each side must keep half of it. "auto" chooses 2, 4 or 10 in the same
        way; see `min_mass_`.
    min_gain : float
        The least gain of a test, in the unit of the criterion.
    bootstrap : bool
        Whether each tree has a bootstrap sample of the rows; otherwise all rows.
    max_samples : int, float, optional
        The number, or the fraction, of rows in a bootstrap sample; by default as many as there are rows.
    oob_score : bool
        Whether `oob_score_` is computed: the accuracy of predictions for each row by the trees that it is no part of.
    class_weight : "balanced" or dict, optional
        The weight of an example of each class.
    time_limit : float, optional
        Seconds after which no further tree is grown.
    n_jobs, random_state, verbose, limits, relations, encoder : as for `NeuID3Classifier`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    class_weights_ : array of shape (n_classes,)
        The weight of each class, where `class_weight` is given.
    forest_ : Forest
        The trees.
    model_ : NeurosymbolicForest
        The trees with their program, networks and priors.
    estimators_ : sequence of NeurosymbolicTree
        The trees one by one, each with the shared networks.
    networks_, rule_tests_, schema_, n_features_in_, feature_names_in_, training_record_, gradient_steps_ : \
as for `NeuID3Classifier`.
    feature_importances_ : array of shape (n_features_in_,)
        The gain that each column contributes, averaged over the trees.
    oob_score_ : float
        The accuracy of out-of-bag predictions, where `oob_score` is set.
    oob_decision_function_ : array of shape (n_samples, n_classes)
        Out-of-bag class probabilities; NaN for rows that every tree has learned from.
    max_features_, min_mass_ : number, text or None; float
        The values of these parameters, also where they were chosen; "2sqrt" is twice the square root.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = NeuID3ForestClassifier(n_estimators=20, oob_score=True, random_state=0).fit(X, y)
    >>> len(forest.estimators_), forest.oob_score_ > 0.9
    (20, True)
    """

    file_kind: ClassVar[str] = "forest classifier"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **FOREST_CONSTRAINTS,
        "criterion": [StrOptions({"entropy", "gini"})],
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
        criterion: str = "entropy",
        n_estimators: int = 100,
        max_features: int | float | str | None = "auto",
        max_depth: int | None = None,
        min_mass: float | str = "auto",
        min_gain: float = 1e-7,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: bool = False,
        class_weight: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        limits: Limits | None = None,
        relations: Mapping[str, Sequence[str]] | None = None,
        encoder: str | nn.Module | Encoder | None = None,
    ) -> None:
        self._remember(locals())

    def _check_criterion(self) -> ClassCriterion:
        return criterion_of(self.criterion, ClassCriterion)

    def _set_oob(self, values: Numbers, targets: npt.NDArray[Any], weights: Numbers) -> Score | None:
        known = np.isfinite(values).all(1)
        self.oob_decision_function_ = values
        if not known.any():
            self.oob_score_ = np.nan
            return None
        correct = values[known].argmax(1) == targets[known]
        self.oob_score_ = float(np.average(correct, weights=weights[known]))
        return score_of(OUT_OF_BAG, values[known], targets[known])


class NeuID3ForestRegressor(NumberTargets, RegressorMixin, ForestEstimator):  # type: ignore[misc]
    """A forest of regression trees whose tests are facts, networks, or rules over the outputs of networks.

    Each tree is grown from a bootstrap sample of the rows. The prediction is the average of the trees. Networks are
    trained once: all trees share one instance of each.

    Parameters
    ----------
    background, networks, tests, bank, modes, training : as for `NeuID3Classifier`.
    criterion : {"squared_error"}
        How good a split is: the reduction of the expected squared error.
    n_estimators : int
        The number of trees.
    max_features : {"auto", "sqrt", "log2"}, int, float or None
        The tests that are drawn at each node, as a number or a fraction of all; None for all. A number column counts
        once, with all its cuts, and so does a category with all its values. "auto" chooses by out-of-bag predictions of
        40 trees, on tables with at most 20,000 rows; see `max_features_`.
    max_depth : int, optional
        The most tests on a path.
    min_mass : float or "auto"
        The least Σ P(κ|e) of a node that is split; each side must keep half of it. "auto" chooses 2, 4 or 10 in the same
        way; see `min_mass_`.
    min_gain : float
        The least gain of a test, as a fraction of the variance of the training targets.
    bootstrap : bool
        Whether each tree has a bootstrap sample of the rows; otherwise all rows.
    max_samples : int, float, optional
        The number, or the fraction, of rows in a bootstrap sample; by default as many as there are rows.
    oob_score : bool
        Whether `oob_score_` is computed: the R² of predictions for each row by the trees that it is no part of.
    time_limit : float, optional
        Seconds after which no further tree is grown.
    n_jobs, random_state, verbose, limits, relations, encoder : as for `NeuID3Classifier`.

    Attributes
    ----------
    forest_ : Forest
        The trees.
    model_ : NeurosymbolicForest
        The trees with their program, networks and priors.
    estimators_ : sequence of NeurosymbolicTree
        The trees one by one, each with the shared networks.
    networks_, rule_tests_, schema_, n_features_in_, feature_names_in_, training_record_, gradient_steps_ : \
as for `NeuID3Classifier`.
    feature_importances_ : array of shape (n_features_in_,)
        The gain that each column contributes, averaged over the trees.
    oob_score_ : float
        R² of out-of-bag predictions, where `oob_score` is set.
    oob_prediction_ : array of shape (n_samples,)
        Out-of-bag predictions; NaN for rows that every tree has learned from.
    max_features_, min_mass_ : number, text or None; float
        The values of these parameters, also where they were chosen; "2sqrt" is twice the square root.

    >>> reg = NeuID3ForestRegressor(random_state=0).fit({"late": [True] * 4 + [False] * 4}, [30, 32, 31, 33, 2, 4, 3, 5])
    >>> bool(reg.predict({"late": [True]})[0] > 25)
    True
    """

    file_kind: ClassVar[str] = "forest regressor"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **FOREST_CONSTRAINTS,
        "criterion": [StrOptions({"squared_error"})],
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
        criterion: str = "squared_error",
        n_estimators: int = 100,
        max_features: int | float | str | None = "auto",
        max_depth: int | None = None,
        min_mass: float | str = "auto",
        min_gain: float = 1e-12,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: bool = False,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        limits: Limits | None = None,
        relations: Mapping[str, Sequence[str]] | None = None,
        encoder: str | nn.Module | Encoder | None = None,
    ) -> None:
        self._remember(locals())

    def _check_criterion(self) -> NumberCriterion:
        return criterion_of(self.criterion, NumberCriterion)

    def _set_oob(self, values: Numbers, targets: npt.NDArray[Any], weights: Numbers) -> None:
        """The R² of out-of-bag predictions; targets are standardised."""
        known = np.isfinite(values).all(1)
        self.oob_prediction_ = self.forest_.center + values[:, 0]
        if not known.any():
            self.oob_score_ = np.nan
            return
        errors = np.average((values[known, 0] / self.forest_.scale - targets[known]) ** 2, weights=weights[known])
        mean = np.average(targets[known], weights=weights[known])
        variance = np.average((targets[known] - mean) ** 2, weights=weights[known])
        self.oob_score_ = float(1.0 - errors / max(float(variance), 1e-300))

    # Prediction ----------------------------------------------------------------------------------

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> Numbers: ...

    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[Numbers, Numbers]: ...

    def predict(self, X: Any, return_std: bool = False) -> Numbers | tuple[Numbers, Numbers]:
        """The expected number of each example, the average of the trees, and with `return_std` its standard deviation.

        The standard deviation is that of the mixture of all leaves: of the numbers at each leaf, of which leaf it is, and
        of how the trees differ.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.
        return_std : whether the predictive standard deviations are returned too.

        Returns
        -------
        Numbers, `(example,)`, or a pair of numbers and their standard deviations.
        """
        fitted = self._fitted()
        means, deviations = fitted._model().predict_number(fitted._examples(X))
        return (means, deviations) if return_std else means
