"""NeuID3 as a scikit-learn classifier."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from neuid3.data.examples import Examples, has_names
from neuid3.data.priors import Priors, column_priors
from neuid3.data.tables import (
    check_target,
    check_weights,
    class_index,
    drop_free_text,
    encode_classes,
    examples_from_array,
    refuse_missing_labels,
    warn_of_identifiers,
)
from neuid3.errors import DataError
from neuid3.estimators.model import NeurosymbolicTree
from neuid3.estimators.parameters import (
    BITS_PER_PRUNING,
    CONSTRAINTS,
    IRRELEVANT_TO_TREE,
    check_read_together,
    training_config,
)
from neuid3.explain import Explanation
from neuid3.export import export_svg, export_text, plot_tree
from neuid3.export.notebook import tree_html
from neuid3.export.onnx import OPSET, export_onnx
from neuid3.io.bank import Bank
from neuid3.io.estimators import classifier_to_json, learned_from_json, parameters_from_json
from neuid3.io.models import save_model
from neuid3.io.trained_tests import TrainedTest, trained_tests
from neuid3.learning.candidates import Candidates
from neuid3.learning.checkpoint import Checkpoint, CheckpointedLearner, fit_digests
from neuid3.learning.grow import GrowthLimits, TimedLearner, grow_tree
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.problem import Problem, check_device, check_networks, read_problem, varying_candidates
from neuid3.learning.progress import ProgressBar, SilentProgress
from neuid3.learning.sample import Sample
from neuid3.learning.statistics import with_statistics
from neuid3.learning.validation import read_validation, validation_split, with_validation
from neuid3.logic.program import Program
from neuid3.logic.sandbox import Limits
from neuid3.training.config import TrainingConfig
from neuid3.tree.criteria import column_importances
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.record import HELD_OUT, VALIDATION, Score, TrainingRecord, score_of
from neuid3.tree.tree import Branch, Node, Tree, paths

if TYPE_CHECKING:
    from torch import nn

    from neuid3.export.deepproblog import DeepProbLogProgram

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
    tests : "auto", or a list of tests
        The candidate tests: atoms, tests of an earlier tree (`clf.tests_`), and "auto" for those of the columns and
        rules: facts, values, cuts, a network for each image, and every instance of the rules' heads over image columns
        that their networks can read, which `rule_tests_` lists after a fit.
    bank : Bank, or the path of one, optional
        Trained tests, which are tried first: at a node where one of them is good enough, no network is trained. Copies
        of its networks are trained further in the joint training of the finished tree.
    modes : list of str, optional
        The columns that may fill each argument of a rule's head, as in `"gt_rank(+rank_1, +rank_2)"`.
    recipe : {"default", "paper"}
        How networks are trained: with the settings that measured best, or exactly as in the paper.
    max_depth : int, optional
        The most tests on a path.
    min_mass : float
        The least Σ P(κ|e) of a node that is split; each side must keep half of it.
    min_gain : float
        The least gain of a test, in bits.
    pruning : float
        The penalty of a split: it must save `pruning` · log₂ (M / T) bits in the description length of its examples'
        classes, where M is the number of candidates and T the number of those with the same gain (0: no pruning).
    epsilon : float
        Examples with P(κ|e) below it are left out of a node.
    max_candidates : int
        The most tests that rules may be expanded to.
    validation_fraction : float
        The fraction of examples in the validation split, which networks are scored on and not trained on, unless `fit`
        is given `validation`.
    pos_label : optional
        The class that a test should be true for; by default the second of `classes_`.
    class_weight : "balanced" or dict, optional
        The weight of an example of each class.
    epochs : int, optional
        Passes over a node's examples; this and the next parameters replace those of the recipe where they are given.
    batch_size : int, optional
        Examples in a minibatch.
    learning_rate : float, optional
        The learning rate of Adam.
    weight_decay : float, optional
        The weight decay of Adam.
    restarts : int, optional
        Random restarts of a rule's networks, between which successive halving chooses; half as many for a network that
        is a test by itself.
    joint_epochs : int, optional
        Epochs of the joint training of the finished tree.
    sharpness : float, optional
        The factor of a new network's last weights; above 1, its first outputs are far from uniform.
    loss : {"leaves", "branches"}, optional
        The likelihood of a tree with one test, or the paper's cross-entropy between the test and the positive class.
    one_cycle : bool, optional
        Whether the learning rate follows a one-cycle schedule; constant otherwise.
    warm_starts : bool
        Whether networks trained elsewhere in the tree may be reused, or initialize new ones.
    read_together : bool
        Whether four or more image columns share networks that are trained on all of them: for columns with images of
        one kind that are too little informative each.
    augment : bool
        Whether networks are trained on augmented images: slightly shifted, rotated, scaled and sheared.
    time_limit : float, optional
        Seconds after which no further node is split; the node in training at that time is finished.
    n_jobs : int, optional
        Workers that train networks; -1 for one per core. It does not change the tree.
    device : str
        Where networks run, as torch names it.
    random_state : int, RandomState, optional
        With a number, the same fit gives the same tree.
    verbose : int
        1 prints nodes as they are grown, 2 also the gains of tests with networks that were trained to the end.
    limits : Limits, optional
        The time, memory and circuit size that the background knowledge may take.
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
        recipe: str = "default",
        max_depth: int | None = None,
        min_mass: float = 2.0,
        min_gain: float = 1e-7,
        pruning: float = 0.75,
        epsilon: float = 1e-3,
        max_candidates: int = 1000,
        validation_fraction: float = 0.2,
        pos_label: Any = None,
        class_weight: Any = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        restarts: int | None = None,
        joint_epochs: int | None = None,
        sharpness: float | None = None,
        loss: str | None = None,
        one_cycle: bool | None = None,
        warm_starts: bool = True,
        read_together: bool = False,
        augment: bool = True,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: Any = None,
        verbose: int = 0,
        limits: Limits | None = None,
    ) -> None:
        self.background = background
        self.networks = networks
        self.tests = tests
        self.bank = bank
        self.modes = modes
        self.recipe = recipe
        self.max_depth = max_depth
        self.min_mass = min_mass
        self.min_gain = min_gain
        self.pruning = pruning
        self.epsilon = epsilon
        self.max_candidates = max_candidates
        self.validation_fraction = validation_fraction
        self.pos_label = pos_label
        self.class_weight = class_weight
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.restarts = restarts
        self.joint_epochs = joint_epochs
        self.sharpness = sharpness
        self.loss = loss
        self.one_cycle = one_cycle
        self.warm_starts = warm_starts
        self.read_together = read_together
        self.augment = augment
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.limits = limits

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

        Returns
        -------
        self

        Raises
        ------
        DataError : where columns, classes or weights are not as they should be.
        """
        draft = self._copied(without=LEARNED)
        draft._validate_params()
        draft._fit(X, y, sample_weight, validation, checkpoint)
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
        self, X: Any, y: Any, sample_weight: Any, validation: tuple[Any, Any] | None, folder: Path | str | None
    ) -> None:
        deadline = time.monotonic() + (np.inf if self.time_limit is None else self.time_limit)
        check_read_together(self.get_params(deep=False))
        examples, labels, weights = self._read(X, y, sample_weight)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        problem = self._problem(examples)
        check_networks(dict(self.networks or {}), problem.program)
        recipe = training_config(self.get_params(deep=False), len(self.classes_))
        check_device(self.device)
        digests = {} if folder is None else self._digests(examples, labels, weights, validation)
        with nullcontext() if folder is None else Checkpoint(folder, digests, seed) as checkpoint:
            seed = seed if checkpoint is None else checkpoint.seed
            validated = problem.are_neural and self.recipe == "default"
            sample = self._sample(examples, labels, weights, validation, seed, validated)
            learner = self._learner(
                sample, problem, varying_candidates(problem.candidates, examples, self.tests), recipe, seed
            )
            self.rule_tests_ = list(problem.candidates.expanded)
            learner.progress.expanded(self.rule_tests_)
            root, test_bits = self._grow(learner, checkpoint, deadline)
        self._set_learned(root, learner, problem.program)
        self.model_.training_record = self._record(sample, learner, seed)
        gains = [(self.model_.columns_of(test), bits) for test, bits in test_bits]
        self.feature_importances_ = column_importances(gains, self.schema_)

    def _grow(
        self, learner: NodeLearner, checkpoint: Checkpoint | None, deadline: float
    ) -> tuple[Node, Sequence[tuple[NodeTest, float]]]:
        """The root of the finished tree, and the bits that each test saved while it was grown."""
        limits = GrowthLimits(self.max_depth, self.min_mass, self.min_gain, self.epsilon, self._pruning())
        grower = learner if checkpoint is None else CheckpointedLearner(learner, checkpoint)
        timed = TimedLearner(grower, lambda: time.monotonic() >= deadline)
        with learner.progress, learner.pool:
            grown = grow_tree(timed, learner.root, limits, learner.progress.node)
            root = grown.node if timed.skipped_nodes else grower.refine(grown.node)
            regrower = None if timed.skipped_nodes or timed.is_out_of_time() else learner.regrower(root)
            if regrower is not None:
                regrown = grow_tree(regrower, regrower.root, limits)
                if not regrower.is_worse(regrown.node, root):
                    grown, root = regrown, regrown.node
        self._warn_of_small_tree(root, learner, timed.skipped_nodes)
        return root, grown.test_bits

    def _warn_of_small_tree(self, root: Node, learner: NodeLearner, skipped_nodes: int) -> None:
        """Warn where the time limit or the lack of good tests has kept the tree small."""
        if skipped_nodes:
            message = f"time_limit={self.time_limit:g} was reached: {skipped_nodes} nodes were not split further."
        elif isinstance(root, Branch) or self.max_depth == 0:
            return
        else:
            advice = "Their gains are below the penalty of a split; a lower `pruning` lowers it."
            if learner.neural is not None and learner.neural.tests:
                advice = "Networks may need more epochs or examples" + (
                    "."
                    if self.read_together
                    else "; if many columns of images show the same kind of thing, try read_together=True."
                )
            message = f"No candidate test was good enough; the tree is a single leaf. {advice}"
        warnings.warn(message, UserWarning, stacklevel=5)

    def _digests(self, examples: Examples, labels: Any, weights: Any, validation: Any) -> dict[str, str]:
        """Digests of everything that the tree depends on: the data, and the parameters that are relevant to it."""
        parameters = {name: v for name, v in self.get_params(deep=False).items() if name not in IRRELEVANT_TO_TREE}
        if self.bank is not None:  # its contents, not its path
            parameters["bank"] = (self.bank if isinstance(self.bank, Bank) else Bank(self.bank)).contents()
        held_out = None if validation is None else read_validation(validation, examples.schema)
        arrays = () if held_out is None else ([(c.values, c.missing) for _, c in held_out[0].items()], held_out[1])
        targets = {"classes": self.classes_, "labels": labels, "sample_weight": weights, "validation": arrays}
        return fit_digests(parameters, dict(examples.items()), **targets)

    def _pruning(self) -> float:
        return self.pruning if self.recipe == "default" else 0.0

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Examples, npt.NDArray[np.int64], Any]:
        """The examples, the number of each one's class, and its weight."""
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
        return examples, labels.astype(np.int64, copy=False), weights

    def _mentioned(self) -> str:
        """All parameters' text in which a column may be named."""
        tests = [self.tests] if isinstance(self.tests, str) else self.tests
        return "\n".join([self.background, *map(str, tests), *(self.modes or ())])

    def _problem(self, examples: Examples) -> Problem:
        return read_problem(
            examples.schema,
            background=self.background,
            tests=self.tests,
            bank=self.bank,
            modes=self.modes,
            most=self.max_candidates,
            limits=self.limits,
        )

    def _sample(
        self, examples: Examples, labels: Any, weights: Any, validation: Any, seed: int, validated: bool
    ) -> Sample:
        """The training sample, with a validation split where `validated`."""
        sample = Sample(examples, labels, weights, np.zeros(len(labels), dtype=bool), len(self.classes_), 1)
        if validated and validation is not None:
            class_weights = None if self.class_weight is None else self.class_weights_
            sample = with_validation(sample, validation, self.classes_, class_weights)
        elif validated:
            sample = validation_split(sample, self.validation_fraction, seed)
        return (
            sample if self.pos_label is None else replace(sample, positive=class_index(self.pos_label, self.classes_))
        )

    def _learner(
        self, sample: Sample, problem: Problem, candidates: Candidates, recipe: TrainingConfig, seed: int
    ) -> NodeLearner:
        return NodeLearner(
            sample,
            problem.program,
            candidates,
            dict(self.networks or {}),
            recipe,
            priors=Priors(column_priors(sample.examples, sample.weights)),
            penalty=BITS_PER_PRUNING * self._pruning(),
            min_child_mass=self.min_mass / 2,
            adaptive=self.recipe == "default" and self.warm_starts,
            share_networks=self.read_together,
            seed=seed,
            jobs=self.n_jobs,
            device=self.device,
            reused=problem.reused,
            bank_tests=problem.bank_tests,
            progress=ProgressBar(gains=self.verbose > 1) if self.verbose else SilentProgress(),
        )

    def _set_learned(self, root: Node, learner: NodeLearner, program: Program) -> None:
        """Set the attributes that hold the tree, its networks and its model."""
        classes = tuple(self.classes_.tolist())
        self.networks_: dict[str, Any] = learner.networks_of(Tree(root, classes).tests)
        self.tree_ = Tree(with_statistics(root, learner.inference, self.epsilon), classes)
        self.gradient_steps_ = learner.steps
        self.model_ = NeurosymbolicTree(
            self.tree_,
            self.schema_,
            background=program.text,
            networks=self.networks_,
            priors=learner.priors,
            limits=self.limits,
            device=self.device,
        )

    def _record(self, sample: Sample, learner: NodeLearner, seed: int) -> TrainingRecord:
        """The training record, with the score on the validation split where there is one."""
        record = TrainingRecord.of(sample.examples, sample.labels, seed)
        if not sample.unseen.any():
            return record
        rows = np.flatnonzero(sample.unseen)
        # The learner holds the outputs of its networks on these examples, so that no network runs again.
        reach = learner.inference.reach([path for path, _ in paths(self.tree_.root)], rows)  # (example, leaf)
        leaves = np.array([leaf.probabilities for leaf in self.tree_.leaves])
        return record.with_score(score_of(VALIDATION, reach @ leaves, sample.labels[rows]))

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
    def tests_(self) -> list[TrainedTest]:
        """The tests of the tree with their trained networks, for the parameter `tests` of another classifier."""
        return trained_tests(self._fitted().model_)

    # Files ---------------------------------------------------------------------------------------

    def save(self, path: Path | str, *, remember_rows: bool = True) -> Path:
        """Write the fitted classifier to one file, which `neuid3.load` reads without running any code of it.

        Networks of neuid3's own classes and registered ones are rebuilt from the file; for others, `load` needs a function
        that makes them. Parameters that are no plain values, such as functions and trained tests, are not saved. Without
        `remember_rows` the file holds no digests of the training rows, and they cannot be recognised later.
        """
        fitted = self._fitted()
        fields = {"kind": "classifier", **classifier_to_json(fitted)}
        return save_model(fitted.model_, path, fields, remember_rows=remember_rows)

    @classmethod
    def restored(cls, model: NeurosymbolicTree, fields: Mapping[str, Any]) -> NeuID3Classifier:
        """The classifier of a saved model and the JSON fields of its file."""
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
        """
        fitted = self._fitted()
        return fitted.model_.predict_proba(fitted._examples(X), threshold=threshold)

    def predict_log_proba(self, X: Any, *, threshold: float = 0.0) -> npt.NDArray[np.float64]:
        """The natural logarithm of `predict_proba`; −∞ where a class is impossible."""
        with np.errstate(divide="ignore"):
            logs: npt.NDArray[np.float64] = np.log(self.predict_proba(X, threshold=threshold))
        return logs

    def predict(self, X: Any, *, threshold: float = 0.0) -> npt.NDArray[Any]:
        """The most probable class of each example; `threshold` as in `predict_proba`."""
        fitted = self._fitted()
        most_probable: npt.NDArray[Any] = fitted.classes_[fitted.predict_proba(X, threshold=threshold).argmax(axis=1)]
        return most_probable

    def leaf_probabilities(self, X: Any, *, threshold: float = 0.0) -> npt.NDArray[np.float64]:
        """P(leaf | e) from left (all yes) to right (all no), `(example, leaf)`; `threshold` as in `predict_proba`."""
        fitted = self._fitted()
        return fitted.model_.apply(fitted._examples(X), threshold=threshold)

    def apply(self, X: Any, *, threshold: float = 0.0) -> npt.NDArray[np.int64]:
        """The number of each example's most probable leaf, counted from the left; `threshold` as in `predict_proba`."""
        leaves: npt.NDArray[np.int64] = self.leaf_probabilities(X, threshold=threshold).argmax(axis=1)
        return leaves

    def get_depth(self) -> int:
        """The most tests on a path from the root to a leaf; 0 for a tree of one leaf."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self)
        return len(self.tree_.leaves)

    def explain(self, X: Any, row: int = 0, *, proofs: int = 5, changes: int = 3) -> Explanation:
        """The explanation of a prediction; see `NeurosymbolicTree.explain`."""
        fitted = self._fitted()
        return fitted.model_.explain(fitted._examples(X), row, proofs=proofs, changes=changes)

    # Export --------------------------------------------------------------------------------------

    def export_text(self, decimals: int = 2, *, rules: bool = False) -> str:
        """The tree as text; its first line shows the root's test. With `rules`, the clauses behind its tests follow."""
        return export_text(self, decimals, rules=rules)

    def export_svg(self, X: Any = None, *, max_depth: int | None = None, images: int = 3) -> str:
        """The tree as an SVG image; with examples, each branch shows some of them (see `neuid3.export_svg`)."""
        return export_svg(self, X, max_depth=max_depth, images=images)

    def plot(self, X: Any = None, **options: Any) -> list[Any]:
        """The artists of the tree drawn with matplotlib; the options are those of `neuid3.plot_tree`."""
        return plot_tree(self, X, **options)

    def to_problog(self, X: Any, row: int = 0) -> str:
        """The tree as a ProbLog program for one example, with the outputs of the networks as probabilities."""
        fitted = self._fitted()
        return fitted.model_.to_problog(fitted._examples(X), row)

    def to_deepproblog(self, X: Any, row: int = 0) -> DeepProbLogProgram:
        """The tree as a DeepProbLog program with its networks, for one example's symbolic columns."""
        fitted = self._fitted()
        return fitted.model_.to_deepproblog(fitted._examples(X), row)

    def export_onnx(self, path: Path | str, *, opset: int = OPSET) -> Path:
        """Write the tree with its networks to one ONNX file, which runs without Python; see `neuid3.export_onnx`."""
        return export_onnx(self, path, opset=opset)

    def _repr_html_inner(self) -> str:
        """HTML for notebooks: the tree of a fitted classifier, and below it, folded, scikit-learn's diagram."""
        diagram: str = super()._repr_html_inner()
        tree: Tree | None = getattr(self, "tree_", None)
        return diagram if tree is None else tree_html(tree, "Parameters", diagram)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return {**shown, "text/html": self._repr_html_inner()} if "text/html" in shown else shown
