"""NeuID3 as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from neuid3.errors import LabelWarning
from neuid3.estimators.base import FitInputs
from neuid3.estimators.parameters import CLASSIFIER_CONSTRAINTS
from neuid3.estimators.targets import ClassTargets
from neuid3.estimators.tree_estimator import TreeEstimator
from neuid3.explain import Explanation
from neuid3.identifiability.contradictions import contradiction_message
from neuid3.io.bank import Bank
from neuid3.logic.sandbox import Limits
from neuid3.training.config import TrainingConfig
from neuid3.tree.criteria import ClassCriterion, criterion_of

if TYPE_CHECKING:
    from torch import nn

    from neuid3.encoders.encoder import Encoder


class NeuID3Classifier(ClassTargets, ClassifierMixin, TreeEstimator):  # type: ignore[misc]
    """A decision tree whose tests are facts, networks, or rules over the outputs of networks.

    Parameters
    ----------
    background : str
        Rules, probabilistic facts and neural declarations in DeepProbLog's syntax.
    networks : dict, optional
        For a network of the program, a function that makes a new one, or a module, which counts as trained.
        A declared network that is not given gets the default architecture for its input's shape.
    tests : "auto", a list of tests, or a CandidateGenerator
        The candidate tests: atoms, tests of an earlier tree (`clf.tests_`), and "auto" for those of the columns and
        rules: facts, values, cuts, a network for each image, and every instance of the rules' heads over image columns
        that their networks can read, which `rule_tests_` lists after a fit. A generator offers candidates node by node.
    bank : Bank, or the path of one, optional
        Trained tests, which are tried first: at a node where one of them is good enough, no network is trained. Copies
        of its networks are trained further in the joint training of the finished tree.
    modes : list of str, optional
        The columns that may fill each argument of a rule's head, as in `"gt_rank(+rank_1, +rank_2)"`, and the literals that
        queries over parts may have, as in `"load(+car, -load)"`.
    leaves : list of str, optional
        Goals with one open argument that leaves may hold besides class probabilities: the value of the argument is the
        class, as in `"plus(first, second, Y)"`. Modes with a `-class` argument stand for several goals, as in
        `"digit(+tensor, -class)"`; they may also be among `modes`. Values that no row of `y` has join `classes_`.
    training : "default", "paper", or TrainingConfig
        How networks are trained, selected and reused: with the settings that measured best, exactly as in the paper, or
        with your own, as in `TrainingConfig(epochs=10, restarts=8)`. A single field is set by
        `set_params(training__epochs=10)`, and searched by `GridSearchCV` under that name.
    criterion : {"entropy", "gini"} or ClassCriterion
        How good a split is: information gain, the decrease of Gini impurity, or a criterion of your own.
    max_depth : int, optional
        The most tests on a path.
    min_mass : float
        The least Σ P(κ|e) of a node that is split; each side must keep half of it.
    min_gain : float
        The least gain of a test, in the unit of the criterion: bits for entropy.
    pruning : "auto" or float
        A number is the penalty of a split: it must save `pruning` · log₂ (M / T) bits in the description length of its
        examples' classes, where M is the number of candidates and T the number of those with the same gain (0: no pruning). With
        "auto" it is 0.75, and 0.5 for queries over parts without networks; where a tree without networks or parts may cut
        numbers, a tree with a penalty for each leaf, which 5-fold cross-validation chooses, takes the place of this one if it
        is better on unseen rows by two standard errors.
    pos_label : optional
        The class that a test should be true for; by default the second of `classes_`.
    class_weight : "balanced" or dict, optional
        The weight of an example of each class.
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
        For each constrained column, 1 where the probability of the positive class (the second of `classes_`, or `pos_label`)
        never falls as the column rises, and -1 where it never rises; 0 for no constraint. Numbers, Booleans and
        probabilities can be constrained, for two classes.
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
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    class_weights_ : array of shape (n_classes,)
        The weight of each class, where `class_weight` is given.
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
    """

    _default_pruning: ClassVar[float] = 0.75
    # Many refinements of a query have nearly the same responses, and count less than other choices: docs/notes/learning.md.
    _query_pruning: ClassVar[float] = 0.5
    file_kind: ClassVar[str] = "classifier"
    _parameter_constraints: ClassVar[dict[str, Any]] = CLASSIFIER_CONSTRAINTS

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
        criterion: str | ClassCriterion = "entropy",
        max_depth: int | None = None,
        min_mass: float = 2.0,
        min_gain: float = 1e-7,
        pruning: float | str = "auto",
        pos_label: Any = None,
        class_weight: Any = None,
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

    def _check_criterion(self) -> ClassCriterion:
        return criterion_of(self.criterion, ClassCriterion)

    def _warn_of_contradictions(self, inputs: FitInputs) -> None:
        rows = np.flatnonzero(inputs.kept)
        message = contradiction_message(
            self.model_, inputs.examples, inputs.labels, inputs.target.values, lambda row: f"row {rows[row]}"
        )
        if message is not None:
            warnings.warn(message, LabelWarning, stacklevel=5)

    # Prediction ----------------------------------------------------------------------------------

    def predict_proba(self, X: Any, *, threshold: float = 0.0) -> npt.NDArray[np.float64]:
        """P(class | e) in the order of `classes_`, `(example, class)`; exact where `threshold` is 0.

        A network runs on an example only if a branch that needs it is reached with a probability above `threshold`; no
        probability changes by more than the dropped mass (see `NeurosymbolicTree.predict_proba`).

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.
        threshold : the probability up to which branches are dropped, in [0, 1); 0 is exact.

        Returns
        -------
        Probabilities, `(example, class)`.
        """
        fitted = self._fitted()
        return fitted.model_.predict_proba(fitted._examples(X), threshold=threshold)

    def predict_log_proba(self, X: Any, *, threshold: float = 0.0) -> npt.NDArray[np.float64]:
        """The natural logarithm of `predict_proba`; −∞ where a class is impossible.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.
        threshold : as in `predict_proba`.

        Returns
        -------
        Logarithms of probabilities, `(example, class)`.
        """
        with np.errstate(divide="ignore"):
            logs: npt.NDArray[np.float64] = np.log(self.predict_proba(X, threshold=threshold))
        return logs

    def predict(self, X: Any, *, threshold: float = 0.0) -> npt.NDArray[Any]:
        """The most probable class of each example; `threshold` as in `predict_proba`.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.
        threshold : as in `predict_proba`.

        Returns
        -------
        Classes, `(example,)`.
        """
        fitted = self._fitted()
        most_probable: npt.NDArray[Any] = fitted.classes_[fitted.predict_proba(X, threshold=threshold).argmax(axis=1)]
        return most_probable

    def explain(self, X: Any, row: int = 0, *, proofs: int = 5, changes: int = 3) -> Explanation:
        """The explanation of a prediction; see `NeurosymbolicTree.explain`.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.
        row : the example.
        proofs : the most proofs of a test.
        changes : the most changes in a counterfactual.

        Returns
        -------
        The explanation; `print` shows it as text.
        """
        fitted = self._fitted()
        return fitted.model_.explain(fitted._examples(X), row, proofs=proofs, changes=changes)
