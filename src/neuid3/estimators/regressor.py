"""NeuID3 as a scikit-learn regressor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin

from neuid3.estimators.parameters import REGRESSOR_CONSTRAINTS
from neuid3.estimators.targets import NumberTargets
from neuid3.estimators.tree_estimator import TreeEstimator
from neuid3.explain import Explanation
from neuid3.io.bank import Bank
from neuid3.logic.sandbox import Limits
from neuid3.training.config import TrainingConfig
from neuid3.tree.criteria import NumberCriterion, criterion_of

if TYPE_CHECKING:
    from torch import nn

    from neuid3.encoders.encoder import Encoder

Numbers = npt.NDArray[np.float64]


class NeuID3Regressor(NumberTargets, RegressorMixin, TreeEstimator):  # type: ignore[misc]
    """A regression tree whose tests are facts, networks, or rules over the outputs of networks.

    A leaf holds a mean and a standard deviation. The prediction is Σ P(leaf | e) · mean.

    Parameters
    ----------
    background : str
        Rules, probabilistic facts and neural declarations in DeepProbLog's syntax.
    networks : dict, optional
        For a network of the program, a function that makes a new one, or a module, which counts as trained.
        A declared network that is not given gets the default architecture for its input's shape.
    tests : "auto", a list of tests, or a CandidateGenerator
        The candidate tests, as for `NeuID3Classifier`.
    bank : Bank, or the path of one, optional
        Trained tests, which are tried first, as for `NeuID3Classifier`.
    modes : list of str, optional
        The columns that may fill each argument of a rule's head, as in `"gt_rank(+rank_1, +rank_2)"`, and the literals that
        queries over parts may have, as in `"load(+car, -load)"`.
    leaves : list of str, optional
        Goals with one open argument that leaves may hold besides a mean: the value of the argument is the number, as in
        `"plus(first, second, Y)"`; see `NeuID3Classifier`.
    training : "default" or TrainingConfig
        How networks are trained, selected and reused, as for `NeuID3Classifier`.
    criterion : {"squared_error"} or NumberCriterion
        How good a split is: the reduction of the expected squared error, or a criterion of your own.
    max_depth : int, optional
        The most tests on a path.
    min_mass : float
        The least Σ P(κ|e) of a node that is split; each side must keep half of it.
    min_gain : float
        The least gain of a test, as a fraction of the variance of the training targets.
    pruning : "auto" or float
        A number is the penalty of a split: it must save `pruning` · log₂ (M / T) bits in the description length of its
        examples' numbers, where M is the number of candidates and T the number of those with the same gain (0: no pruning). With
        "auto" it is 0.6; where a tree without networks may cut numbers, a tree with a penalty for each leaf, which 5-fold
        cross-validation chooses, takes the place of this one if it is better on unseen rows by two standard errors.
    time_limit : float, optional
        Seconds after which no further node is split; the node in training at that time is finished.
    n_jobs : int, optional
        Workers that train networks; -1 for one per core. It does not change the tree.
    random_state : int, RandomState, optional
        With a number, the same fit gives the same tree.
    verbose : int
        1 prints nodes as they are grown, 2 also the gains of tests with networks that were trained to the end.
    limits : Limits, optional
        The time, memory and circuit size that the background knowledge may take, and the most candidates that it may
        be expanded to.
    monotonic_cst : dict, or array of shape (n_features,), optional
        For each constrained column, 1 where the prediction never falls as the column rises, and -1 where it never rises; 0
        for no constraint. Numbers, Booleans and probabilities can be constrained.
    interaction_cst : {"pairwise", "no_interactions"} or list of lists of columns, optional
        Groups of columns that may be tested on one path; columns in no group form one more group.
    relations : dict, optional
        Rules that are written for a neural predicate or a category, as in `{"rank": ["order", "equal"]}`; `"rank[1..5]"`
        declares the predicate too. `neuid3.logic.relations.RELATIONS` has all relations.
    encoder : str, torch.nn.Module or Encoder, optional
        What turns each picture into a vector, which networks read in its place: "self" is learned from the pictures of the
        table, without their targets; "resnet18" and the like have weights in a local file; a module of your own maps
        pictures to vectors. It is not trained with the tree. See `neuid3.Encoder`.

    Attributes
    ----------
    tree_ : Tree
        The learned tree.
    model_ : NeurosymbolicTree
        The tree with its program, networks and priors.
    networks_ : dict
        The networks of the tree, by instance.
    tests_ : list of TrainedTest
        The atoms among the tests, with their networks, for reuse in another fit.
    rule_tests_ : list of str
        The candidates that were made from rules.
    schema_ : dict
        The kind of every column, by name.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : array of shape (n_features_in_,)
        The names of the columns.
    feature_importances_ : array of shape (n_features_in_,)
        The gain that each column contributes, as a fraction of the total.
    concept_scores_ : tuple of ConceptScore
        The concept accuracy of each network of the tree that has labels, on those that were held out.
    training_record_ : TrainingRecord
        The number of training rows, their digests, and scores on other rows.
    gradient_steps_ : int
        The number of gradient steps of the fit.

    >>> reg = NeuID3Regressor().fit({"late": [True] * 4 + [False] * 4}, [30, 32, 31, 33, 2, 4, 3, 5])
    >>> reg.predict({"late": [True, False]}).round(2).tolist()
    [31.5, 3.5]
    """

    _default_pruning: ClassVar[float] = 0.6
    _query_pruning: ClassVar[float] = 0.6
    file_kind: ClassVar[str] = "regressor"
    _parameter_constraints: ClassVar[dict[str, Any]] = REGRESSOR_CONSTRAINTS

    def __init__(
        self,
        *,
        background: str = "",
        networks: Mapping[str, Callable[[], nn.Module] | nn.Module] | None = None,
        tests: str | Sequence[Any] = "auto",
        bank: Bank | Path | str | None = None,
        modes: Sequence[str] | None = None,
        leaves: Sequence[str] | None = None,
        training: str | TrainingConfig = "default",
        criterion: str | NumberCriterion = "squared_error",
        max_depth: int | None = None,
        min_mass: float = 2.0,
        min_gain: float = 1e-7,
        pruning: float | str = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        limits: Limits | None = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        relations: Mapping[str, Sequence[str]] | None = None,
        encoder: str | nn.Module | Encoder | None = None,
    ) -> None:
        self._remember(locals())

    # What the targets are ------------------------------------------------------------------------

    def _check_criterion(self) -> NumberCriterion:
        return criterion_of(self.criterion, NumberCriterion)

    # Prediction ----------------------------------------------------------------------------------

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False, *, threshold: float = 0.0) -> Numbers: ...

    @overload
    def predict(self, X: Any, return_std: Literal[True], *, threshold: float = 0.0) -> tuple[Numbers, Numbers]: ...

    def predict(self, X: Any, return_std: bool = False, *, threshold: float = 0.0) -> Numbers | tuple[Numbers, Numbers]:
        """The expected number of each example, Σ P(leaf | e) · mean, and with `return_std` its standard deviation.

        The standard deviation is that of the mixture of leaves: of the numbers at each leaf, and of which leaf it is.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.
        return_std : whether the predictive standard deviations are returned too.
        threshold : the probability up to which branches are dropped, in [0, 1); 0 is exact. See
            `NeurosymbolicTree.predict_proba`.

        Returns
        -------
        Numbers, `(example,)`, or a pair of numbers and their standard deviations.
        """
        fitted = self._fitted()
        means, deviations = fitted.model_.predict_number(fitted._examples(X), threshold=threshold)
        return (means, deviations) if return_std else means

    def explain(
        self, X: Any, row: int = 0, *, proofs: int = 5, changes: int = 3, threshold: float | None = None
    ) -> Explanation:
        """The explanation of a predicted number: what moves it, and the smallest change that moves it past a threshold.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.
        row : the example.
        proofs : the most proofs of a test.
        changes : the most changes in a counterfactual.
        threshold : the number that the changes move the prediction across; by default the mean of the training targets.

        Returns
        -------
        The explanation; `print` shows it as text.
        """
        fitted = self._fitted()
        return fitted.model_.explain(fitted._examples(X), row, proofs=proofs, changes=changes, threshold=threshold)
