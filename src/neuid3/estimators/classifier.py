"""NeuID3 as a scikit-learn classifier: `__init__` remembers, `fit` learns, and what was learned ends in an underscore."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data
from torch import nn

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
    check_shared_reading,
    training_config,
)
from neuid3.explain import Explanation
from neuid3.export import export_svg, export_text, plot_tree
from neuid3.export.deepproblog import DeepProbLogProgram
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
from neuid3.tree.criteria import shares_of
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.record import HELD_OUT, VALIDATION, Score, TrainingRecord, score_of
from neuid3.tree.tree import Branch, Node, Tree, paths

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
    """A decision tree whose tests are facts, networks, or rules over what networks see.

    Parameters
    ----------
    background : str
        Rules, probabilistic facts and neural declarations in DeepProbLog's syntax.
    networks : dict, optional
        For a network of the program, a function that makes a fresh one, or a ready module, which counts as trained.
        A declared network that is not given gets a default for its input's shape.
    tests : "auto", or a list of tests
        What may be asked: atoms, tests of an earlier tree (`clf.tests_`), and "auto" for what the columns and rules
        offer: facts, values, cuts, a network for each image, and every instance of the rules' heads over image columns
        that their networks can read, which `rule_tests_` lists after a fit.
    bank : Bank, or the path of one, optional
        Tests trained before, which are tried first: where one of them is worth asking, nothing is trained. Copies of its
        networks are trained further when the finished tree is trained as one.
    modes : list of str, optional
        Which columns may fill which argument, as in `"gt_rank(+rank_1, +rank_2)"`.
    recipe : {"default", "paper"}
        How tests are trained: as measured to work best, or exactly as in the paper.
    max_depth : int, optional
        The most tests on a path.
    min_mass : float
        The least Σ P(κ|e) of a node that is split; each side must keep half of it.
    min_gain : float
        The least gain of a test, in bits.
    pruning : float
        How dear a split is: it must save `pruning` · log₂ (M / T) bits about the classes of its examples, where M is the
        number of tests it was chosen among and T how many of them tell as much (0: nothing is cut off again).
    epsilon : float
        Examples with P(κ|e) below it are left out of a node.
    max_candidates : int
        The most tests that rules may be expanded to.
    validation_fraction : float
        The share of examples that networks never train on and that judge them, unless `fit` is given `validation`.
    pos_label : optional
        The class that a test should be true for; by default the second of `classes_`.
    class_weight : "balanced" or dict, optional
        What an example of each class counts.
    epochs : int, optional
        How often a node's examples are gone through; where given, it replaces that of the recipe, as do the next ones.
    batch_size : int, optional
        Examples in a step of training.
    learning_rate : float, optional
        Adam's rate.
    weight_decay : float, optional
        How much weights shrink while they are trained.
    restarts : int, optional
        How many fresh starts of a rule compete; half as many of a network that is asked directly.
    joint_epochs : int, optional
        How long the finished tree is trained as one.
    sharpness : float, optional
        By how much the last weights of a fresh network are multiplied, so that it starts out decided between values.
    loss : {"leaves", "branches"}, optional
        The likelihood of a one-test tree, or the paper's cross-entropy, which wants one class on each side.
    one_cycle : bool, optional
        Whether the learning rate rises and falls once, or stays as it is.
    warm_starts : bool
        Whether networks trained elsewhere in the tree may be asked again, or be started from.
    read_together : bool
        Whether four or more columns of images are read by networks that learn from all of them at once: for columns that
        show one kind of thing and tell too little each.
    augment : bool
        Whether images are shifted, turned, stretched and slanted a little while networks are trained.
    time_limit : float, optional
        Seconds after which no further node is split; the node that is being trained then is finished first.
    n_jobs : int, optional
        How many workers train networks; -1 for one a core. It does not change the tree.
    device : str
        Where networks run, in torch's words.
    random_state : int, RandomState, optional
        With a number, the same fit gives the same tree.
    verbose : int
        1 tells of nodes as they are made, 2 also of the gains of tests with networks that were not given up early.
    limits : Limits, optional
        How much time, memory and space the background knowledge may take.
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
        """Grow a tree from the top. `validation=(X, y)` are examples that judge the networks and never train them.

        With `checkpoint`, a folder, every finished node is written there, and a fit that was stopped goes on when it is
        called again in the same way: with the same tree in the end, bit by bit. One fit at a time may use the folder.
        Other threads may predict meanwhile: they see the fit before this one until it has ended, and then all of this one.
        """
        draft = self._copied(without=LEARNED)
        draft._validate_params()
        draft._fit(X, y, sample_weight, validation, checkpoint)
        learned = {name: value for name, value in vars(draft).items() if name.endswith("_")}
        # One assignment: other threads see the old fit or the new one, and a fit that fails never comes here.
        self.__dict__ = {**vars(self._copied(without=LEARNED)), **learned}
        return self

    def _copied(self, without: Container[str] = ()) -> NeuID3Classifier:
        """A shallow copy with the parameters and attributes of this moment."""
        copied: NeuID3Classifier = object.__new__(type(self))
        copied.__dict__.update((name, value) for name, value in self.__dict__.copy().items() if name not in without)
        return copied

    def _fitted(self) -> NeuID3Classifier:
        """A snapshot to read several attributes from; a fit that ends meanwhile in another thread does not change it."""
        fitted = self._copied()
        check_is_fitted(fitted)
        return fitted

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, validation: tuple[Any, Any] | None, folder: Path | str | None
    ) -> None:
        deadline = time.monotonic() + (np.inf if self.time_limit is None else self.time_limit)
        check_shared_reading(self.get_params(deep=False))
        examples, labels, weights = self._read(X, y, sample_weight)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        questions = self._questions(examples)
        check_networks(dict(self.networks or {}), questions.program)
        recipe = training_config(self.get_params(deep=False), len(self.classes_))
        check_device(self.device)
        about = {} if folder is None else self._about(examples, labels, weights, validation)
        with nullcontext() if folder is None else Checkpoint(folder, about, seed) as checkpoint:
            seed = seed if checkpoint is None else checkpoint.seed
            judged = questions.are_neural and self.recipe == "default"
            sample = self._sample(examples, labels, weights, validation, seed, judged)
            learner = self._learner(
                sample, questions, varying_candidates(questions.candidates, examples, self.tests), recipe, seed
            )
            self.rule_tests_ = list(questions.candidates.expanded)
            learner.progress.expanded(self.rule_tests_)
            root, worth = self._grow(learner, checkpoint, deadline)
        self._keep(root, learner, questions.program)
        self.model_.training_record = self._record(sample, learner, seed)
        told = [(self.model_.columns_of(test), bits) for test, bits in worth]
        self.feature_importances_ = shares_of(told, self.schema_)

    def _grow(
        self, learner: NodeLearner, checkpoint: Checkpoint | None, deadline: float
    ) -> tuple[Node, Sequence[tuple[NodeTest, float]]]:
        """The finished tree, and the bits that each test told while it was grown."""
        settings = GrowthLimits(self.max_depth, self.min_mass, self.min_gain, self.epsilon, self._pruning())
        grower = learner if checkpoint is None else CheckpointedLearner(learner, checkpoint)
        timed = TimedLearner(grower, lambda: time.monotonic() >= deadline)
        with learner.progress, learner.pool:
            grown = grow_tree(timed, learner.root, settings, learner.progress.node)
            root = grown.node if timed.skipped_nodes else grower.refine(grown.node)
            again = None if timed.skipped_nodes or timed.is_out_of_time() else learner.regrower(root)
            if again is not None:
                anew = grow_tree(again, again.root, settings)
                if not again.is_worse(anew.node, root):
                    grown, root = anew, anew.node
        self._tell(root, learner, timed.skipped_nodes)
        return root, grown.test_bits

    def _tell(self, root: Node, learner: NodeLearner, given_up: int) -> None:
        """Warn of a tree that is smaller than anybody asked for."""
        if given_up:
            told = f"time_limit={self.time_limit:g} was reached: {given_up} nodes were not split further."
        elif isinstance(root, Branch) or self.max_depth == 0:
            return
        else:
            advice = "What they tell about the classes does not pay for a split; a lower `pruning` asks less of it."
            if learner.neural.tests:
                advice = "Networks may need more epochs or examples" + (
                    "."
                    if self.read_together
                    else "; if many columns of images show the same kind of thing, try read_together=True."
                )
            told = f"No candidate test was worth asking; the tree is a single leaf. {advice}"
        warnings.warn(told, UserWarning, stacklevel=5)

    def _about(self, examples: Examples, labels: Any, weights: Any, validation: Any) -> dict[str, str]:
        """What the tree depends on; not on how many workers grow it, where, and how loudly."""
        parameters = {name: v for name, v in self.get_params(deep=False).items() if name not in IRRELEVANT_TO_TREE}
        if self.bank is not None:  # what is in it, wherever it lies
            parameters["bank"] = (self.bank if isinstance(self.bank, Bank) else Bank(self.bank)).contents()
        judges = None if validation is None else read_validation(validation, examples.schema)
        more = () if judges is None else ([(c.values, c.missing) for _, c in judges[0].items()], judges[1])
        told = {"classes": self.classes_, "labels": labels, "sample_weight": weights, "validation": more}
        return fit_digests(parameters, dict(examples.items()), **told)

    def _pruning(self) -> float:
        return self.pruning if self.recipe == "default" else 0.0

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Examples, npt.NDArray[np.int64], Any]:
        """Columns, labels as numbers, and weights, whatever the caller has."""
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
        kept = weights > 0
        if not kept.all():
            examples, labels, weights = examples[kept], labels[kept], weights[kept]
        self.schema_ = examples.schema
        return examples, labels.astype(np.int64, copy=False), weights

    def _mentioned(self) -> str:
        """All text in which the caller may name a column."""
        tests = [self.tests] if isinstance(self.tests, str) else self.tests
        return "\n".join([self.background, *map(str, tests), *(self.modes or ())])

    def _questions(self, examples: Examples) -> Problem:
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
        self, examples: Examples, labels: Any, weights: Any, validation: Any, seed: int, judged: bool
    ) -> Sample:
        """What is learned from, with examples that judge networks where there are any to be trained."""
        sample = Sample(examples, labels, weights, np.zeros(len(labels), dtype=bool), len(self.classes_), 1)
        if judged and validation is not None:
            weighted = None if self.class_weight is None else self.class_weights_
            sample = with_validation(sample, validation, self.classes_, weighted)
        elif judged:
            sample = validation_split(sample, self.validation_fraction, seed)
        return (
            sample if self.pos_label is None else replace(sample, positive=class_index(self.pos_label, self.classes_))
        )

    def _learner(
        self, sample: Sample, questions: Problem, candidates: Candidates, recipe: TrainingConfig, seed: int
    ) -> NodeLearner:
        return NodeLearner(
            sample,
            questions.program,
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
            reused=questions.reused,
            bank_tests=questions.bank_tests,
            progress=ProgressBar(gains=self.verbose > 1) if self.verbose else SilentProgress(),
        )

    def _keep(self, root: Node, learner: NodeLearner, program: Program) -> None:
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
        """What the tree was learned from, and how it does on the examples that networks were not trained on."""
        record = TrainingRecord.of(sample.examples, sample.labels, seed)
        if not sample.unseen.any():
            return record
        rows = np.flatnonzero(sample.unseen)
        # The learner's networks have looked at these examples, and look at no example twice.
        reach = learner.inference.reach([path for path, _ in paths(self.tree_.root)], rows)  # (example, leaf)
        leaves = np.array([leaf.probabilities for leaf in self.tree_.leaves])
        return record.with_score(score_of(VALIDATION, reach @ leaves, sample.labels[rows]))

    @property
    def training_record_(self) -> TrainingRecord | None:
        """Which rows the tree was learned from, and its scores on rows kept apart; None where nothing is remembered."""
        check_is_fitted(self)
        return self.model_.training_record

    def record_score(self, X: Any, y: Any) -> Score:
        """Measure the tree on examples that had no part in `fit`, and remember the score with the model.

        It is saved with the model and shown by `neuid3 show` and on the evidence page. Warns where each of these rows is equal
        to one that the tree was learned from. Raises a `DataError` where the model remembers nothing, or labels do not fit.
        """
        record = self.training_record_
        if record is None:
            raise DataError("The model was loaded from a file that remembers nothing of its training; fit it again.")
        examples = self._examples(X)
        known = {label: code for code, label in enumerate(self.classes_.tolist())}
        labels = column_or_1d(y).tolist()
        strange = [label for label in labels if label not in known]
        if strange or len(labels) != len(examples):
            found = f"the class {strange[0]!r}, which the tree does not know" if strange else f"{len(labels)} labels"
            raise DataError(f"y has {found}, for {len(examples)} examples; give one of the tree's classes for each.")
        codes = np.array([known[label] for label in labels], dtype=np.int64)
        learned = record.learned(examples, self.schema_, codes)
        if learned is not None and learned.all():
            told = (
                "Each of these rows is equal to one that the tree was learned from, so the score says little of others."
            )
            warnings.warn(told, UserWarning, stacklevel=2)
        score = score_of(HELD_OUT, self.model_.predict_proba(examples), codes)
        self.model_.training_record = record.with_score(score)
        return score

    @property
    def tests_(self) -> list[TrainedTest]:
        """The tests of the tree with their trained networks, to be given to another classifier."""
        return trained_tests(self._fitted().model_)

    # Files ---------------------------------------------------------------------------------------

    def save(self, path: Path | str, *, remember_rows: bool = True) -> Path:
        """Write the fitted tree to one file, from which `neuid3.load` makes it again without running any code of it.

        Networks of our own classes and registered ones are rebuilt from the file; `load` asks for the factory of others.
        Parameters that are no plain values, such as factories and trained tests, are not kept. Without `remember_rows` the
        file holds no digests of the rows that the tree was learned from, and they cannot be recognised later.
        """
        fitted = self._fitted()
        words = {"kind": "classifier", **classifier_to_json(fitted)}
        return save_model(fitted.model_, path, words, remember_rows=remember_rows)

    @classmethod
    def restored(cls, model: NeurosymbolicTree, words: Mapping[str, Any]) -> NeuID3Classifier:
        """The classifier that a file tells of."""
        known = cls().get_params(deep=False)
        made = cls(**parameters_from_json(words, known))
        made.model_, made.tree_, made.networks_, made.schema_ = model, model.tree, model.networks, model.schema
        for name, value in learned_from_json(words, model.classes, len(model.schema)).items():
            setattr(made, name, value)
        return made

    # Answers -------------------------------------------------------------------------------------

    def _examples(self, X: Any) -> Examples:
        if not has_names(X):
            X = validate_data(self, X, reset=False, accept_sparse="csc", dtype=None, ensure_all_finite="allow-nan")
        return Examples.read(X, self.schema_)

    def predict_proba(self, X: Any, *, threshold: float = 0.0) -> npt.NDArray[np.float64]:
        """P(class | e) in the order of `classes_`, exactly unless a `threshold` says which branches are too improbable.

        A network looks at an example only if a branch that asks it is reached with a probability above `threshold`; no
        probability changes by more than the mass that was dropped (see `NeurosymbolicTree.predict_proba`).
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
        best: npt.NDArray[Any] = fitted.classes_[fitted.predict_proba(X, threshold=threshold).argmax(axis=1)]
        return best

    def leaf_probabilities(self, X: Any, *, threshold: float = 0.0) -> npt.NDArray[np.float64]:
        """P(leaf | e) for every leaf from left (all yes) to right (all no); `threshold` as in `predict_proba`."""
        fitted = self._fitted()
        return fitted.model_.apply(fitted._examples(X), threshold=threshold)

    def apply(self, X: Any, *, threshold: float = 0.0) -> npt.NDArray[np.int64]:
        """The leaf in which each example most probably lands, counted from the left; `threshold` as in `predict_proba`."""
        leaves: npt.NDArray[np.int64] = self.leaf_probabilities(X, threshold=threshold).argmax(axis=1)
        return leaves

    def get_depth(self) -> int:
        """The most tests between the root and a leaf; 0 for a tree of one leaf."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self)
        return len(self.tree_.leaves)

    def explain(self, X: Any, row: int = 0, *, proofs: int = 5, changes: int = 3) -> Explanation:
        """Why an example gets its class; see `NeurosymbolicTree.explain`."""
        fitted = self._fitted()
        return fitted.model_.explain(fitted._examples(X), row, proofs=proofs, changes=changes)

    # Elsewhere -----------------------------------------------------------------------------------

    def export_text(self, decimals: int = 2, *, rules: bool = False) -> str:
        """The tree as text; its first line shows the root's test. With `rules`, what they say follows below."""
        return export_text(self, decimals, rules=rules)

    def export_svg(self, X: Any = None, *, max_depth: int | None = None, images: int = 3) -> str:
        """The tree as an SVG picture; with examples, its networks show what they see (see `neuid3.export_svg`)."""
        return export_svg(self, X, max_depth=max_depth, images=images)

    def plot(self, X: Any = None, **options: Any) -> list[Any]:
        """The tree drawn with matplotlib, with the options of `neuid3.plot_tree`; returns the artists."""
        return plot_tree(self, X, **options)

    def to_problog(self, X: Any, row: int = 0) -> str:
        """The tree as a ProbLog program for one example, with the networks' outputs written in."""
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
        """In a notebook a fitted classifier shows its tree, and folded below it what scikit-learn shows."""
        diagram: str = super()._repr_html_inner()
        tree: Tree | None = getattr(self, "tree_", None)
        return diagram if tree is None else tree_html(tree, "Parameters", diagram)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return {**shown, "text/html": self._repr_html_inner()} if "text/html" in shown else shown
