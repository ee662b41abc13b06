"""NeuID3 as a scikit-learn classifier."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from neuid3.data.examples import Examples, has_names
from neuid3.data.tables import (
    check_target,
    check_weights,
    class_index,
    class_numbers,
    drop_free_text,
    encode_classes,
    examples_from_array,
    refuse_missing_labels,
    warn_of_identifiers,
)
from neuid3.errors import DataError, LabelWarning, ParameterError
from neuid3.estimators.model import NeurosymbolicTree
from neuid3.estimators.parameters import CONSTRAINTS, IRRELEVANT_TO_TREE
from neuid3.explain import Explanation
from neuid3.export import export_svg, export_text, plot_tree
from neuid3.export.notebook import tree_html
from neuid3.export.onnx import OPSET, export_onnx
from neuid3.identifiability.audit import audit_model
from neuid3.identifiability.contradictions import contradiction_message
from neuid3.identifiability.reread import reread_model
from neuid3.identifiability.suggest import suggest_labels
from neuid3.identifiability.suggestions import LabelSuggestions
from neuid3.io.bank import Bank
from neuid3.io.estimators import classifier_to_json, learned_from_json, parameters_from_json
from neuid3.io.models import save_model
from neuid3.io.trained_tests import TrainedTest, trained_tests
from neuid3.learning.checkpoint import Checkpoint, fit_digests
from neuid3.learning.fit import LearnedTree, check_fit, learn_tree, make_learner, training_record, warn_of_small_tree
from neuid3.learning.generators import CandidateGenerator
from neuid3.learning.goal_values import class_candidates, goal_classes
from neuid3.learning.grow import GrowthLimits
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.problem import Problem, read_problem, varying_candidates
from neuid3.learning.statistics import with_statistics
from neuid3.learning.validation import read_validation, training_sample
from neuid3.logic.program import Declaration, Program
from neuid3.logic.sandbox import Limits
from neuid3.training.config import TrainingConfig, changed_training, read_training
from neuid3.tree.anchors import Anchors, distinct
from neuid3.tree.concept_accuracy import concept_scores, score_concepts
from neuid3.tree.criteria import ClassCriterion, Target, column_importances, criterion_of
from neuid3.tree.labels import read_labels, take_labels
from neuid3.tree.record import HELD_OUT, ConceptScore, Score, TrainingRecord, score_of
from neuid3.tree.tree import Tree

# What the fields of `training` are called among the parameters, as scikit-learn names nested parameters.
_FIELD_PREFIX = "training__"

if TYPE_CHECKING:
    from torch import nn

    from neuid3.export.deepproblog import DeepProbLogProgram
    from neuid3.identifiability.certificate import Certificate

# The attributes that a fit sets.
LEARNED = frozenset(
    {
        "class_weights_",
        "classes_",
        "feature_importances_",
        "feature_names_in_",
        "gradient_steps_",
        "model_",
        "n_features_in_",
        "networks_",
        "rule_tests_",
        "schema_",
        "tree_",
    }
)


class NeuID3Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
        The columns that may fill each argument of a rule's head, as in `"gt_rank(+rank_1, +rank_2)"`.
    leaves : list of str, optional
        Goals with one open argument that leaves may hold besides class probabilities: the value of the argument is the
        class, as in `"plus(first, second, Y)"`. Modes with a `-class` argument stand for several:
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
    pruning : float
        The penalty of a split: it must save `pruning` · log₂ (M / T) bits in the description length of its examples'
        classes, where M is the number of candidates and T the number of those with the same gain (0: no pruning).
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

    _parameter_constraints: ClassVar[dict[str, Any]] = CONSTRAINTS

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
        pruning: float = 0.75,
        pos_label: Any = None,
        class_weight: Any = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        limits: Limits | None = None,
    ) -> None:
        self.background = background
        self.networks = networks
        self.tests = tests
        self.bank = bank
        self.modes = modes
        self.leaves = leaves
        self.training = training
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_mass = min_mass
        self.min_gain = min_gain
        self.pruning = pruning
        self.pos_label = pos_label
        self.class_weight = class_weight
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.limits = limits

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; where `deep`, also the fields of `training`, as in `training__epochs`.

        Parameters
        ----------
        deep : whether the fields of `training` are included.

        Returns
        -------
        Values by name.
        """
        parameters: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            with suppress(ParameterError):  # an invalid `training` has no fields; `fit` reports it
                config = read_training(self.training)
                parameters |= {f"{_FIELD_PREFIX}{field.name}": getattr(config, field.name) for field in fields(config)}
        return parameters

    def set_params(self, **params: Any) -> NeuID3Classifier:
        """Set parameters; `training__epochs` and the like replace one field of `training`.

        Parameters
        ----------
        **params : new values by name.

        Returns
        -------
        The classifier itself.
        """
        changes = {name.removeprefix(_FIELD_PREFIX): v for name, v in params.items() if name.startswith(_FIELD_PREFIX)}
        super().set_params(**{name: v for name, v in params.items() if not name.startswith(_FIELD_PREFIX)})
        if changes:
            self.training = changed_training(self.training, changes)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    # Learning ------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
        checkpoint: Path | str | None = None,
        concepts: Mapping[str, Any] | None = None,
    ) -> NeuID3Classifier:
        """Grow a tree from the root.

        Other threads may predict meanwhile: they use the previous fit until this one has ended.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array.
        y : the class of each row.
        sample_weight : the weight of each row, 1 by default; rows of weight 0 are left out.
        validation : examples and classes, `(X, y)`, that networks are scored on and not trained on.
        checkpoint : a folder to which every finished node is written. A fit that was interrupted continues from it when
            it is called with the same arguments, and ends with the same tree, bit by bit. One fit at a time may use it.
        concepts : labels for some images, by what reads them: `{"rank(first)": [5, None, …], "same(first, second)":
            {17: True}}`, or by predicate and column, `{"rank": {"first": [5, None, …]}}`. The labels of a column are one
            entry for each row, None or NaN where there is no label, or a mapping of rows to values. Columns of `X` with
            such names hold labels too.

        Returns
        -------
        self

        Raises
        ------
        DataError : where columns, classes, weights or labels of concepts are not as they should be.
        """
        draft = self._copied(without=LEARNED)
        draft._validate_params()
        draft._fit(X, y, sample_weight, validation, checkpoint, concepts)
        learned = {name: value for name, value in vars(draft).items() if name.endswith("_")}
        # One assignment: other threads read the old fit or the new one; a fit that fails does not get here.
        self.__dict__ = {**vars(self._copied(without=LEARNED)), **learned}
        return self

    def _copied(self, without: Container[str] = ()) -> NeuID3Classifier:
        """A shallow copy with the current parameters and attributes."""
        copied: NeuID3Classifier = object.__new__(type(self))
        copied.__dict__.update((name, value) for name, value in self.__dict__.copy().items() if name not in without)
        return copied

    def _fitted(self) -> NeuID3Classifier:
        """A snapshot, which a fit that ends in another thread does not change."""
        fitted = self._copied()
        check_is_fitted(fitted)
        return fitted

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
        criterion = criterion_of(self.criterion)
        pruning = self.pruning if config.prune else 0.0
        growth = GrowthLimits(self.max_depth, self.min_mass, self.min_gain, config.min_reach, pruning)
        networks = dict(self.networks or {})
        X, concepts = take_labels(X, concepts, self._declarations)
        examples, labels, weights, kept = self._read(X, y, sample_weight)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        problem = self._problem(examples)
        labels = self._with_goal_values(labels, problem)
        given = read_labels(concepts, examples, problem.program.declarations, kept=kept)
        anchors = distinct(given)
        check_fit(problem, networks, config, len(self.classes_))
        self.rule_tests_ = list(problem.candidates.expanded)
        digests = {} if folder is None else self._digests(examples, labels, weights, validation, anchors)
        with nullcontext() if folder is None else Checkpoint(folder, digests, seed) as checkpoint:
            seed = seed if checkpoint is None else checkpoint.seed
            positive = 1 if self.pos_label is None else class_index(self.pos_label, self.classes_)
            sample = training_sample(
                examples,
                Target(labels, weights, criterion.for_classes(len(self.classes_), positive)),
                validation=self._validation(validation, examples),
                fraction=config.validation_fraction if problem.are_neural else None,
                seed=seed,
                anchors=anchors,
            )
            learner = make_learner(
                sample,
                problem,
                networks,
                config,
                growth,
                seed=seed,
                jobs=self.n_jobs,
                verbose=self.verbose,
                goals=class_candidates(problem.goals, problem.program, self.classes_.tolist()),
            )
            learned = learn_tree(learner, growth, checkpoint, deadline)
        warn_of_small_tree(learned, learner, self.max_depth, self.time_limit)
        self._set_learned(learned, learner, config, problem.program)
        record = training_record(self.tree_.root, learner, seed, self.tree_.classes)
        trained = {network: len(of_network) for network, of_network in sample.anchors.items()}
        scores = concept_scores(self.model_, sample.examples, sample.held_out_anchors, trained) if anchors else ()
        self.model_.training_record = record.with_concepts(scores)
        if anchors:
            rows = np.flatnonzero(kept)
            message = contradiction_message(self.model_, examples, given, labels, lambda row: f"row {rows[row]}")
            if message is not None:
                warnings.warn(message, LabelWarning, stacklevel=3)
        self.model_.candidates = tuple(dict.fromkeys(atom for test in problem.candidates.tests for atom in test.atoms))

    def _with_goal_values(self, labels: npt.NDArray[np.int64], problem: Problem) -> npt.NDArray[np.int64]:
        """The class number of each example, after the values of goals have joined the classes."""
        if not problem.goals:
            return labels
        before, self.classes_ = self.classes_, goal_classes(problem.goals, problem.program, self.classes_)
        position = np.searchsorted(self.classes_, before)
        if self.class_weight is not None:
            weights = np.ones(len(self.classes_))
            weights[position] = self.class_weights_
            self.class_weights_ = weights
        return position[labels]

    def _validation(self, validation: Any, examples: Examples) -> tuple[Examples, Any, Any] | None:
        """The validation examples of the caller with their class numbers and weights; None without any."""
        if validation is None:
            return None
        added, labels = read_validation(validation, examples.schema)
        targets = class_numbers(labels, self.classes_)
        return added, targets, np.ones(len(targets)) if self.class_weight is None else self.class_weights_[targets]

    def _digests(
        self, examples: Examples, labels: Any, weights: Any, validation: Any, anchors: Anchors
    ) -> dict[str, str]:
        """Digests of everything that the tree depends on: the data, and the parameters that are relevant to it."""
        parameters = {name: v for name, v in self.get_params().items() if name not in IRRELEVANT_TO_TREE}
        if self.bank is not None:  # its contents, not its path
            parameters["bank"] = (self.bank if isinstance(self.bank, Bank) else Bank(self.bank)).contents()
        criterion = criterion_of(self.criterion)  # its class and settings: the usual `repr` has an address
        parameters["criterion"] = (type(criterion).__qualname__, vars(criterion))
        held_out = None if validation is None else read_validation(validation, examples.schema)
        arrays = () if held_out is None else ([(c.values, c.missing) for _, c in held_out[0].items()], held_out[1])
        targets = {"classes": self.classes_, "labels": labels, "sample_weight": weights, "validation": arrays}
        if anchors:
            targets["concepts"] = [
                (network, n.calls, n.call_numbers, n.rows, n.values) for network, n in sorted(anchors.items())
            ]
        return fit_digests(parameters, dict(examples.items()), **targets)

    def _declarations(self, columns: Mapping[str, Any]) -> Mapping[int, Declaration]:
        """The neural declarations of the background knowledge for these columns."""
        if not columns or not self.background.strip():
            return {}
        return Program(self.background, Examples(columns).schema, self.limits).declarations

    def _read(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Examples, npt.NDArray[np.int64], Any, npt.NDArray[np.bool_]]:
        """The examples, the number of each one's class, its weight; and the mask of the rows with a positive weight."""
        refuse_missing_labels(y)
        if has_names(X):
            examples = drop_free_text(X if isinstance(X, Examples) else Examples(X), self._mentioned())
            y = column_or_1d(y, warn=True)
            self.n_features_in_ = examples.shape[1]
            self.feature_names_in_ = np.array(examples.names, dtype=object)
        else:
            X, y = validate_data(self, X, y, accept_sparse="csc", dtype=None, ensure_all_finite="allow-nan")
            examples = examples_from_array(X)
        warn_of_identifiers(examples)
        if len(y) != len(examples):
            raise DataError(
                f"Found input variables with inconsistent numbers of samples: X has {len(examples)} and y has {len(y)}."
            )
        check_target(y)
        self.classes_, labels = encode_classes(y)
        weights = _check_sample_weight(sample_weight, labels, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            self.class_weights_ = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
            if not (np.isfinite(self.class_weights_) & (self.class_weights_ >= 0)).all():
                raise DataError(
                    f"class_weight={self.class_weight!r} has a weight that is negative or no number; give 0 or more."
                )
            weights = weights * self.class_weights_[labels]
        check_weights(weights)
        positive = weights > 0
        if not positive.all():
            examples, labels, weights = examples[positive], labels[positive], weights[positive]
        self.schema_ = examples.schema
        return examples, labels.astype(np.int64, copy=False), weights, positive

    def _mentioned(self) -> str:
        """All parameters' text in which a column may be named."""
        listed = self.tests.tests if isinstance(self.tests, CandidateGenerator) else self.tests
        tests = [listed] if isinstance(listed, str) else listed
        return "\n".join([self.background, *map(str, tests), *(self.modes or ()), *map(str, self.leaves or ())])

    def _problem(self, examples: Examples) -> Problem:
        problem = read_problem(
            examples.schema,
            background=self.background,
            tests=self.tests,
            bank=self.bank,
            modes=self.modes,
            limits=self.limits,
            leaves=self.leaves,
        )
        return varying_candidates(problem, examples)

    def _set_learned(
        self, learned: LearnedTree, learner: NodeLearner, config: TrainingConfig, program: Program
    ) -> None:
        """Set the attributes that hold the tree, its networks and its model."""
        classes = tuple(self.classes_.tolist())
        self.networks_: dict[str, Any] = learner.networks_of_tree(Tree(learned.root, classes))
        self.tree_ = Tree(with_statistics(learned.root, learner.inference, config.min_reach), classes)
        self.gradient_steps_ = learner.steps
        self.model_ = NeurosymbolicTree(
            self.tree_,
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
    def training_record_(self) -> TrainingRecord | None:
        """Digests of the training rows, and the scores on held-out rows; None where there is no record."""
        check_is_fitted(self)
        return self.model_.training_record

    def record_score(self, X: Any, y: Any) -> Score:
        """The score of the tree on examples that were not used in `fit`; it becomes part of the training record.

        The record is saved with the model and shown by `neuid3 show` and on the evidence page. A warning says where each
        of these rows is equal to a training row.

        Parameters
        ----------
        X : the examples.
        y : the class of each.

        Returns
        -------
        The score.

        Raises
        ------
        DataError : where the model has no training record, or labels do not fit.
        """
        record = self.training_record_
        if record is None:
            raise DataError("The model was loaded from a file without a training record; fit it again.")
        examples = self._examples(X)
        known = {label: code for code, label in enumerate(self.classes_.tolist())}
        labels = column_or_1d(y).tolist()
        unknown = [label for label in labels if label not in known]
        if unknown or len(labels) != len(examples):
            problem = f"the class {unknown[0]!r}, which the tree does not have" if unknown else f"{len(labels)} labels"
            raise DataError(f"y has {problem}, for {len(examples)} examples; give one of the tree's classes for each.")
        codes = np.array([known[label] for label in labels], dtype=np.int64)
        learned = record.learned(examples, self.schema_, codes)
        if learned is not None and learned.all():
            message = "Each of these rows is equal to a training row, so the score is no estimate for new examples."
            warnings.warn(message, UserWarning, stacklevel=2)
        score = score_of(HELD_OUT, self.model_.predict_proba(examples), codes)
        self.model_.training_record = record.with_score(score)
        return score

    @property
    def concept_scores_(self) -> tuple[ConceptScore, ...]:
        """The concept accuracy of each network of the tree that has labels, on held-out labels; empty without labels."""
        record = self.training_record_
        return () if record is None else record.concepts

    def score_concepts(self, X: Any, concepts: Mapping[str, Any] | None = None) -> tuple[ConceptScore, ...]:
        """The concept accuracy of each network of the tree on labelled examples that were not used in `fit`.

        Parameters
        ----------
        X : the examples.
        concepts : their labels, as in `fit`; columns of `X` with names such as `rank(first)` hold labels too.

        Returns
        -------
        One score for each network that the tree calls and that has labels.

        Raises
        ------
        DataError : where there are no labels, or labels are not as they should be.
        """
        fitted = self._fitted()
        return score_concepts(fitted.model_, X if has_names(X) else fitted._examples(X), concepts)

    def reread(self, X: Any, concepts: Mapping[str, Any] | None = None) -> NeuID3Classifier:
        """The classifier in the form under which labels are most likely: it predicts the same, and nothing is trained.

        Parameters
        ----------
        X : labelled examples; columns with names such as `rank(first)` hold labels.
        concepts : further labels, as in `fit`.

        Returns
        -------
        A new classifier with the tests and networks of that form; see `NeurosymbolicTree.reread`.

        Raises
        ------
        DataError : where there are no labels, or labels are not as they should be.
        """
        fitted = self._fitted()
        table = X if has_names(X) else fitted._examples(X)
        fitted.model_ = reread_model(fitted.model_, table, concepts, networks=fitted.networks)
        fitted.tree_, fitted.networks_ = fitted.model_.tree, fitted.model_.networks
        return fitted

    @property
    def tests_(self) -> list[TrainedTest]:
        """The tests of the tree with their trained networks, for the parameter `tests` of another classifier."""
        return trained_tests(self._fitted().model_)

    # Files ---------------------------------------------------------------------------------------

    def save(self, path: Path | str, *, remember_rows: bool = True) -> Path:
        """Write the fitted classifier to one file, which `neuid3.load` reads without running any code of it.

        Networks of neuid3's own classes and registered ones are rebuilt from the file; for others, `load` needs a function
        that makes them. Parameters that are no plain values, such as functions and trained tests, are not saved. Without
        `remember_rows` the file holds no digests of the training rows, and they cannot be recognised later.

        Parameters
        ----------
        path : the file; an ending is added where there is none.
        remember_rows : whether digests of the training rows are stored, by which they are recognised later.

        Returns
        -------
        The path of the file.
        """
        fitted = self._fitted()
        fields = {"kind": "classifier", **classifier_to_json(fitted)}
        return save_model(fitted.model_, path, fields, remember_rows=remember_rows)

    @classmethod
    def restored(cls, model: NeurosymbolicTree, fields: Mapping[str, Any]) -> NeuID3Classifier:
        """The classifier of a saved model and the JSON fields of its file.

        Parameters
        ----------
        model : the model of the file.
        fields : the JSON fields of the file.

        Returns
        -------
        The fitted classifier.
        """
        known = cls().get_params(deep=False)
        classifier = cls(**parameters_from_json(fields, known))
        classifier.model_, classifier.tree_ = model, model.tree
        classifier.networks_, classifier.schema_ = model.networks, model.schema
        for name, value in learned_from_json(fields, model.classes, len(model.schema)).items():
            setattr(classifier, name, value)
        return classifier

    # Prediction -------------------------------------------------------------------------------------

    def _examples(self, X: Any) -> Examples:
        if not has_names(X):
            X = validate_data(self, X, reset=False, accept_sparse="csc", dtype=None, ensure_all_finite="allow-nan")
        return Examples.read(X, self.schema_)

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

    def leaf_probabilities(self, X: Any, *, threshold: float = 0.0) -> npt.NDArray[np.float64]:
        """P(leaf | e) from left (all yes) to right (all no), `(example, leaf)`; `threshold` as in `predict_proba`.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.
        threshold : as in `predict_proba`.

        Returns
        -------
        Probabilities that sum to 1 for each example, `(example, leaf)`, leaves from left (all yes) to right (all no).
        """
        fitted = self._fitted()
        return fitted.model_.leaf_probabilities(fitted._examples(X), threshold=threshold)

    def apply(self, X: Any, *, threshold: float = 0.0) -> npt.NDArray[np.int64]:
        """The index of each example's most probable leaf, counted from the left, `(example,)`; see `predict_proba`.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.
        threshold : as in `predict_proba`.

        Returns
        -------
        Leaf numbers, counted from the left, `(example,)`.
        """
        fitted = self._fitted()
        return fitted.model_.apply(fitted._examples(X), threshold=threshold)

    def get_depth(self) -> int:
        """The most tests on a path from the root to a leaf; 0 for a tree of one leaf."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self)
        return len(self.tree_.leaves)

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

    def audit(
        self, X: Any, y: Any = None, *, concepts: Mapping[str, Any] | None = None, time_limit: float = 60.0
    ) -> Certificate:
        """The certificate of the tree: what the values of its networks are fixed up to; see `NeurosymbolicTree.audit`.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.
        y : the class of each row; with labels, rows whose labels contradict their class are reported.
        concepts : labels, as in `fit`; columns of `X` with names such as `rank(first)` hold labels too.
        time_limit : seconds after which counts are bounds; 0 gives bounds only.

        Returns
        -------
        The certificate; `print` shows it as text.

        Raises
        ------
        DataError : where columns are missing, or classes or labels do not fit.
        ParameterError : where `time_limit` is no number, or negative.
        """
        fitted = self._fitted()
        table = X if has_names(X) else fitted._examples(X)
        return audit_model(fitted.model_, table, y, concepts=concepts, time_limit=time_limit, networks=fitted.networks)

    def suggest_labels(
        self, X: Any, n: int = 5, *, concepts: Mapping[str, Any] | None = None, time_limit: float = 60.0
    ) -> LabelSuggestions:
        """The images whose labels settle most of what the networks' values mean; see `NeurosymbolicTree.suggest_labels`.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.
        n : the most images.
        concepts : labels that are known already, as in `audit`.
        time_limit : seconds for the search of a smallest set of labels.

        Returns
        -------
        The suggestions: `print` shows them as text, `to_frame` and `to_csv` give a table to fill in.

        Raises
        ------
        DataError : where columns are missing, or labels do not fit.
        ParameterError : where `n` is no positive integer, or `time_limit` is no number or negative.
        """
        fitted = self._fitted()
        return suggest_labels(
            fitted.model_,
            X if has_names(X) else fitted._examples(X),
            n,
            concepts=concepts,
            time_limit=time_limit,
            networks=fitted.networks,
        )

    # Export --------------------------------------------------------------------------------------

    def export_text(self, decimals: int = 2, *, rules: bool = False) -> str:
        """The tree as text; its first line shows the root's test. With `rules`, the clauses behind its tests follow.

        Parameters
        ----------
        decimals : the number of decimals of gains and class probabilities.
        rules : whether the clauses behind the tests follow below the tree.

        Returns
        -------
        One line for each node.
        """
        return export_text(self, decimals, rules=rules)

    def export_svg(self, X: Any = None, *, max_depth: int | None = None, images: int = 3) -> str:
        """The tree as an SVG image; with examples, each branch shows some of them (see `neuid3.export_svg`).

        Parameters
        ----------
        X : examples, some of which are shown beside tests that read images.
        max_depth : the depth of the deepest tests that are drawn; None for all.
        images : the most examples for each response of a test.

        Returns
        -------
        The text of an SVG file.
        """
        return export_svg(self, X, max_depth=max_depth, images=images)

    def plot(self, X: Any = None, **options: Any) -> list[Any]:
        """The artists of the tree drawn with matplotlib; the options are those of `neuid3.plot_tree`.

        Parameters
        ----------
        X : examples, some of which are shown beside tests that read images.
        **options : the other parameters of `neuid3.plot_tree`.

        Returns
        -------
        The matplotlib artists.
        """
        return plot_tree(self, X, **options)

    def to_problog(self, X: Any, row: int = 0) -> str:
        """The tree as a ProbLog program for one example, with the outputs of the networks as probabilities.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.
        row : the example.

        Returns
        -------
        The text of the program.
        """
        fitted = self._fitted()
        return fitted.model_.to_problog(fitted._examples(X), row)

    def to_deepproblog(self, X: Any, row: int = 0) -> DeepProbLogProgram:
        """The tree as a DeepProbLog program with its networks, for one example's symbolic columns.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.
        row : the example.

        Returns
        -------
        The program with its networks and tensors.
        """
        fitted = self._fitted()
        return fitted.model_.to_deepproblog(fitted._examples(X), row)

    def export_onnx(self, path: Path | str, *, opset: int = OPSET) -> Path:
        """Write the tree with its networks to one ONNX file, which runs without Python; see `neuid3.export_onnx`.

        Parameters
        ----------
        path : the file.
        opset : the version of the ONNX operators.

        Returns
        -------
        The path of the file.
        """
        return export_onnx(self, path, opset=opset)

    def _repr_html_inner(self) -> str:
        """HTML for notebooks: the tree of a fitted classifier, and below it, folded, scikit-learn's diagram."""
        diagram: str = super()._repr_html_inner()
        tree: Tree | None = getattr(self, "tree_", None)
        return diagram if tree is None else tree_html(tree, "Parameters", diagram)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return {**shown, "text/html": self._repr_html_inner()} if "text/html" in shown else shown
