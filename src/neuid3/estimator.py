"""NeuID3 as a scikit-learn classifier: `__init__` remembers, `fit` learns, and what was learned ends in an underscore."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data
from torch import nn

from neuid3.bank import Bank
from neuid3.candidates import Candidates, make_candidates, neural_facts
from neuid3.checkpoint import Checkpoint, Remembering, about_fit
from neuid3.data import Examples
from neuid3.errors import DataError, ModelFileError, NetworkError, NodeTestError, did_you_mean
from neuid3.explain import Explanation
from neuid3.export import export_svg, export_text, plot_tree
from neuid3.export.deepproblog import DeepProbLogProgram
from neuid3.export.notebook import tree_html
from neuid3.export.onnx import OPSET, export_onnx
from neuid3.induce import InTime, Place, Settings, induce
from neuid3.learn import Instance, NodeLearner, Sample, same_weights
from neuid3.logic.formula import NeuralVariable, sources
from neuid3.logic.program import Program
from neuid3.logic.sandbox import Limits
from neuid3.model import NeurosymbolicTree
from neuid3.nodetest import AtomTest, NodeTest
from neuid3.priors import Priors, column_priors
from neuid3.progress import Bar, Silent
from neuid3.saved.words import labels_from_words, labels_to_words
from neuid3.tables import from_array, has_holes, has_names, is_constant, stratified
from neuid3.task import PAPER, Recipe
from neuid3.trained import TrainedTest
from neuid3.tree import Branch, Node, Tree

# How many bits about unseen examples a trained test must be worth for each unit of `pruning`.
PRICE = 8 / 3

# Parameters that change nothing about the tree that a fit ends with.
NO_MATTER = frozenset({"n_jobs", "device", "verbose", "limits", "time_limit"})

# Checks of scikit-learn's `check_estimator` that do not apply, each with its reason.
EXPECTED_FAILED_CHECKS: dict[str, str] = {}


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
        offer: facts, values, cuts, a network for each image, and every instance of the rules' heads.
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
        How many fresh starts of a test compete.
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
        1 tells of nodes as they are made.
    limits : Limits, optional
        How much time, memory and space the background knowledge may take.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "background": [str],
        "networks": [dict, Mapping, None],
        "tests": [str, list, tuple],
        "bank": [Bank, str, Path, None],
        "modes": [list, tuple, None],
        "recipe": [StrOptions({"default", "paper"})],
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "min_mass": [Interval(Real, 0, None, closed="left")],
        "min_gain": [Interval(Real, 0, None, closed="left")],
        "pruning": [Interval(Real, 0, None, closed="left")],
        "epsilon": [Interval(Real, 0, 1, closed="left")],
        "max_candidates": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "pos_label": "no_validation",
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "epochs": [Interval(Integral, 1, None, closed="left"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
        "weight_decay": [Interval(Real, 0, None, closed="left"), None],
        "restarts": [Interval(Integral, 1, None, closed="left"), None],
        "joint_epochs": [Interval(Integral, 0, None, closed="left"), None],
        "sharpness": [Interval(Real, 0, None, closed="neither"), None],
        "loss": [StrOptions({"leaves", "branches"}), None],
        "one_cycle": ["boolean", None],
        "warm_starts": ["boolean"],
        "augment": ["boolean"],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "device": [str],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "limits": [Limits, None],
    }

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
        called again in the same way: with the same tree in the end, bit by bit.
        """
        self._validate_params()
        before = {name: value for name, value in vars(self).items() if name.endswith("_")}
        try:
            self._fit(X, y, sample_weight, validation, checkpoint)
        except BaseException:
            # Stopped halfway, the classifier is what it was before.
            for name in [name for name in vars(self) if name.endswith("_")]:
                delattr(self, name)
            self.__dict__.update(before)
            raise
        return self

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, validation: tuple[Any, Any] | None, folder: Path | str | None
    ) -> None:
        deadline = time.monotonic() + (np.inf if self.time_limit is None else self.time_limit)
        examples, labels, weights = self._read(X, y, sample_weight)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        checkpoint = None
        if folder is not None:
            about = self._about(examples, labels, weights, validation)
            checkpoint = Checkpoint(folder, about, seed, seeded=self.random_state is not None)
            seed = checkpoint.seed
        program, candidates, reused, first = self._candidates(examples)
        neural = self._is_neural(program, candidates)
        recipe = self._recipe()
        sample = self._sample(examples, labels, weights, validation, seed, neural and self.recipe == "default")
        learner = NodeLearner(
            sample,
            program,
            self._useful(candidates, examples),
            self._given(program),
            recipe,
            priors=Priors(column_priors(sample.examples, sample.weights)),
            price=PRICE * self._pruning(),
            least=self.min_mass / 2,
            adaptive=self.recipe == "default" and self.warm_starts,
            seed=seed,
            jobs=self.n_jobs,
            device=self.device,
            reused=reused,
            first=first,
            told=Bar() if self.verbose else Silent(),
        )
        settings = Settings(self.max_depth, self.min_mass, self.min_gain, self.epsilon, self._pruning())
        grower = learner if checkpoint is None else Remembering(learner, checkpoint)
        timed = InTime(grower, lambda: time.monotonic() >= deadline)
        with learner.told, learner.crew:
            grown = induce(timed, Place.root(len(sample.labels), learner.everything), settings, learner.told.node)
            root = grown.node if timed.given_up else grower.refine(grown.node)
        if timed.given_up:
            warnings.warn(
                f"time_limit={self.time_limit:g} was reached: {timed.given_up} nodes were not split further.",
                UserWarning,
                stacklevel=3,
            )
        self._keep(root, learner, program)
        self._importances(grown.worth)

    def _about(self, examples: Examples, labels: Any, weights: Any, validation: Any) -> dict[str, str]:
        """What the tree depends on; not on how many workers grow it, where, and how loudly."""
        parameters = {name: v for name, v in self.get_params(deep=False).items() if name not in NO_MATTER}
        judges = None if validation is None else self._judges(validation, examples)
        more = () if judges is None else ([(c.values, c.missing) for _, c in judges[0].items()], judges[1])
        told = {"classes": self.classes_, "labels": labels, "sample_weight": weights, "validation": more}
        return about_fit(parameters, dict(examples.items()), **told)

    def _pruning(self) -> float:
        return self.pruning if self.recipe == "default" else 0.0

    def _recipe(self) -> Recipe:
        if self.recipe == "paper":
            if len(self.classes_) > 2:
                raise DataError(
                    f"recipe='paper' is for two classes and y has {len(self.classes_)}; use recipe='default', which takes any number."
                )
            start = PAPER
        else:
            start = Recipe() if self.augment else replace(Recipe(), shift=0, warp=0.0)
        names = (
            "epochs",
            "batch_size",
            "learning_rate",
            "weight_decay",
            "restarts",
            "joint_epochs",
            "sharpness",
            "loss",
            "one_cycle",
        )
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        changed: Recipe = replace(start, **given)
        return changed

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Examples, npt.NDArray[np.int64], Any]:
        """Columns, labels as numbers, and weights, whatever the caller has."""
        if y is not None and has_holes(np.asarray(y)):
            raise DataError("Input y contains NaN: every example needs a class; drop the rows without one.")
        if has_names(X):
            examples = X if isinstance(X, Examples) else Examples(X)
            y = column_or_1d(y, warn=True)
            self.n_features_in_ = examples.shape[1]
            self.feature_names_in_ = np.array(examples.names, dtype=object)
        else:
            X, y = validate_data(self, X, y, dtype=None, ensure_all_finite="allow-nan")
            examples = from_array(X)
        if len(y) != len(examples):
            raise DataError(
                f"Found input variables with inconsistent numbers of samples: X has {len(examples)} and y has {len(y)}."
            )
        check_classification_targets(y)
        if y.dtype == object and any(label is None or label != label for label in y):
            raise DataError("Input y contains NaN: every example needs a class; drop the rows without one.")
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(
                f"y has one class only, {str(self.classes_[0])!r}; a classifier needs examples of at least two classes."
            )
        weights = _check_sample_weight(sample_weight, labels, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            self.class_weights_ = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
            weights = weights * self.class_weights_[labels]
        kept = weights > 0
        if not kept.all():
            examples, labels, weights = examples[kept], labels[kept], weights[kept]
        self.schema_ = examples.schema
        return examples, labels.astype(np.int64, copy=False), weights

    def _candidates(self, examples: Examples) -> tuple[Program, Candidates, dict[str, Instance], frozenset[NodeTest]]:
        """The program with what belongs to it, the candidates, the networks that come trained, and tests to try first."""
        schema = examples.schema
        listed = [self.tests] if isinstance(self.tests, str) else list(self.tests)
        background = self.background
        if "auto" in listed and "auto" not in schema:
            read = Program(background, schema, self.limits)
            extra = neural_facts(schema, read.predicates)
            background = f"{background}\n{extra}" if extra else background
        program = Program(background, schema, self.limits)
        bank = self.bank if isinstance(self.bank, Bank) or self.bank is None else Bank(self.bank)
        if bank is not None and (extra := bank.clauses(program)):
            program = Program(f"{background}\n{extra}", schema, self.limits)
        kept = [] if bank is None else [test.thawed() for _, test in bank.fitting(program)]
        reused: dict[str, Instance] = {}
        named: list[Any] = []
        for number, test in enumerate([*listed, *kept]):
            if isinstance(test, TrainedTest):
                names = _reuse(test, _declared(test.test, program), number, reused)
                named.append(AtomTest(test.test.atom, tuple(sorted(names.items()))))
            elif isinstance(test, (str, NodeTest)):
                named.append(test)
            else:
                raise NodeTestError(f"tests[{number}] is a {type(test).__name__}; give an atom as a string, or a test.")
        if not named and self.modes is None:
            raise NodeTestError("`tests` is empty; name some tests, or use tests='auto'.")
        first = frozenset(named[len(listed) :])
        return program, make_candidates(named, self.modes, program, self.max_candidates), reused, first

    def _given(self, program: Program) -> dict[str, Any]:
        given = dict(self.networks or {})
        for name, network in given.items():
            if name not in program.networks:
                raise NetworkError(
                    f"Network {name!r} is given and the background knowledge never uses it.{did_you_mean(name, program.networks)}"
                )
            if not isinstance(network, nn.Module) and not callable(network):
                raise NetworkError(
                    f"networks[{name!r}] is a {type(network).__name__}; give a module or a function that makes one."
                )
        return given

    @staticmethod
    def _is_neural(program: Program, candidates: Candidates) -> bool:
        return any(
            isinstance(source, NeuralVariable) for test in candidates.tests for source in sources(test.formula(program))
        )

    def _useful(self, candidates: Candidates, examples: Examples) -> Candidates:
        """Candidates without those that say the same of every example; a warning where such a one was named."""
        constant = {name for name, column in examples.items() if is_constant(column)}
        named = set() if isinstance(self.tests, str) else {test for test in self.tests if isinstance(test, str)}
        for name in sorted(constant & named):
            warnings.warn(f"Column {name!r} is constant and was skipped.", UserWarning, stacklevel=3)
        kept = tuple(test for test in candidates.tests if getattr(test, "column", None) not in constant)
        return Candidates(kept, tuple(name for name in candidates.numbers if name not in constant))

    def _sample(self, examples: Examples, labels: Any, weights: Any, validation: Any, seed: int, split: bool) -> Sample:
        unseen = np.zeros(len(labels), dtype=bool)
        if validation is not None and split:
            more, judges = self._judges(validation, examples)
            known = {label: i for i, label in enumerate(self.classes_)}
            try:
                extra = np.array([known[label] for label in judges], dtype=np.int64)
            except KeyError as error:
                raise DataError(f"The validation examples have the class {error}, which y does not have.") from None
            examples, labels = examples.joined(more), np.concatenate((labels, extra))
            weights = np.concatenate((weights, self._class_weights(extra) * float(weights.mean())))
            unseen = np.concatenate((unseen, np.ones(len(extra), dtype=bool)))
        elif split and self.validation_fraction > 0:
            unseen = stratified(labels, self.validation_fraction, np.random.default_rng(seed))
        elif split:
            warnings.warn(
                "validation_fraction=0: networks are judged by the examples they were trained on, which they may know by "
                "heart; keep some apart, or give fit(…, validation=(X, y)).",
                UserWarning,
                stacklevel=4,
            )
        return Sample(examples, labels, weights, unseen, len(self.classes_), self._positive())

    def _judges(self, validation: Any, examples: Examples) -> tuple[Examples, Any]:
        """The validation examples and their labels."""
        try:
            table, labels = validation
        except (TypeError, ValueError):
            raise DataError(
                "`validation` must be a pair of examples and labels: fit(X, y, validation=(X_val, y_val))."
            ) from None
        more, labels = Examples.read(table, examples.schema), column_or_1d(labels)
        if len(more) != len(labels):
            raise DataError(
                f"The validation examples have {len(more)} rows and {len(labels)} labels; give one label each."
            )
        return more, labels

    def _class_weights(self, labels: Any) -> Any:
        """The weight of each label's class, relative to the average example."""
        if self.class_weight is None:
            return np.ones(len(labels))
        weights = self.class_weights_[labels]
        return weights / weights.mean()

    def _positive(self) -> int:
        if self.pos_label is None:
            return 1
        found = np.flatnonzero(self.classes_ == self.pos_label)
        if not len(found):
            raise DataError(f"pos_label={self.pos_label!r} is no class of y; the classes are {self.classes_.tolist()}.")
        return int(found[0])

    def _keep(self, root: Node, learner: NodeLearner, program: Program) -> None:
        if not isinstance(root, Branch):
            warnings.warn(
                "No candidate test was worth asking; the tree is a single leaf. Networks may need more epochs or examples.",
                UserWarning,
                stacklevel=3,
            )
        self.tree_ = Tree(root, tuple(self.classes_.tolist()))
        used = {
            source.network
            for test in self.tree_.tests
            for source in sources(test.formula(program))
            if isinstance(source, NeuralVariable)
        }
        learner.know(self.tree_.tests)
        self.networks_: dict[str, Any] = {name: learner.instances[name].module.eval() for name in sorted(used)}
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

    def _importances(self, worth: Sequence[tuple[NodeTest, float]]) -> None:
        """The share of each column in the bits that the tests told when the tree was grown."""
        share = dict.fromkeys(self.schema_, 0.0)
        for test, bits in worth:
            columns = self.model_.columns_of(test)
            for name in columns:
                share[name] += bits / len(columns)
        total = sum(share.values()) or 1.0
        self.feature_importances_ = np.array([value / total for value in share.values()])

    @property
    def tests_(self) -> list[TrainedTest]:
        """The tests of the tree with their trained networks, to be given to another classifier."""
        check_is_fitted(self)
        found = []
        for test in self.tree_.tests:
            names = {s.network for s in sources(test.formula(self.model_.program)) if isinstance(s, NeuralVariable)}
            if isinstance(test, AtomTest):
                networks = {name: self.networks_[name] for name in sorted(names)}
                columns = {name: self.schema_[name] for name in self.model_.columns_of(test)}
                found.append(TrainedTest(test, networks, background=self.model_.program.text, columns=columns))
        return found

    # Files ---------------------------------------------------------------------------------------

    def save(self, path: Path | str) -> Path:
        """Write the fitted tree to one file, from which `neuid3.load` makes it again without running any code of it.

        Networks of our own classes and registered ones are rebuilt from the file; `load` asks for the factory of others.
        Parameters that are no plain values, such as factories and trained tests, are not kept.
        """
        check_is_fitted(self)
        return self.model_.save_as(path, {"kind": "classifier", **self._words()})

    def _words(self) -> dict[str, Any]:
        """What a file says of a classifier beside its tree."""
        return {
            "parameters": {name: value for name, value in self.get_params(deep=False).items() if _is_plain(value)},
            "labels": labels_to_words(self.classes_),
            "features": int(self.n_features_in_),
            "names": self.feature_names_in_.tolist() if hasattr(self, "feature_names_in_") else None,
            "importances": self.feature_importances_.tolist(),
            "steps": int(self.gradient_steps_),
        }

    @classmethod
    def restored(cls, model: NeurosymbolicTree, words: Mapping[str, Any]) -> NeuID3Classifier:
        """The classifier that a file tells of."""
        known = cls().get_params(deep=False)
        made = cls(**{name: value for name, value in words["parameters"].items() if name in known})
        made.model_, made.tree_, made.networks_, made.schema_ = model, model.tree, model.networks, model.schema
        made.classes_ = labels_from_words(words["labels"])
        if tuple(made.classes_.tolist()) != model.classes:
            raise ModelFileError("The classes of the classifier are not those of its tree; save the model again.")
        made.n_features_in_ = int(words["features"])
        if words["names"] is not None:
            made.feature_names_in_ = np.array(words["names"], dtype=object)
        made.feature_importances_ = np.array(words["importances"], dtype=float)
        made.gradient_steps_ = int(words["steps"])
        return made

    # Answers -------------------------------------------------------------------------------------

    def _examples(self, X: Any) -> Examples:
        check_is_fitted(self)
        if not has_names(X):
            X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite="allow-nan")
        return Examples.read(X, self.schema_)

    def predict_proba(self, X: Any, *, threshold: float = 0.0) -> npt.NDArray[np.float64]:
        """P(class | e) in the order of `classes_`, exactly unless a `threshold` says which branches are too improbable.

        A network looks at an example only if a branch that asks it is reached with a probability above `threshold`; no
        probability changes by more than the mass that was dropped (see `NeurosymbolicTree.predict_proba`).
        """
        examples = self._examples(X)
        return self.model_.predict_proba(examples, threshold=threshold)

    def predict(self, X: Any, *, threshold: float = 0.0) -> npt.NDArray[Any]:
        """The most probable class of each example; `threshold` as in `predict_proba`."""
        check_is_fitted(self)
        best: npt.NDArray[Any] = self.classes_[self.predict_proba(X, threshold=threshold).argmax(axis=1)]
        return best

    def leaf_probabilities(self, X: Any, *, threshold: float = 0.0) -> npt.NDArray[np.float64]:
        """P(leaf | e) for every leaf from left (all yes) to right (all no); `threshold` as in `predict_proba`."""
        examples = self._examples(X)
        return self.model_.apply(examples, threshold=threshold)

    def apply(self, X: Any, *, threshold: float = 0.0) -> npt.NDArray[np.int64]:
        """The leaf in which each example most probably lands, counted from the left; `threshold` as in `predict_proba`."""
        leaves: npt.NDArray[np.int64] = self.leaf_probabilities(X, threshold=threshold).argmax(axis=1)
        return leaves

    def explain(self, X: Any, row: int = 0, *, proofs: int = 5, changes: int = 3) -> Explanation:
        """Why an example gets its class; see `NeurosymbolicTree.explain`."""
        return self.model_.explain(self._examples(X), row, proofs=proofs, changes=changes)

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
        examples = self._examples(X)
        return self.model_.to_problog(examples, row)

    def to_deepproblog(self, X: Any, row: int = 0) -> DeepProbLogProgram:
        """The tree as a DeepProbLog program with its networks, for one example's symbolic columns."""
        examples = self._examples(X)
        return self.model_.to_deepproblog(examples, row)

    def export_onnx(self, path: Path | str, *, opset: int = OPSET) -> Path:
        """Write the tree with its networks to one ONNX file, which runs without Python; see `neuid3.export_onnx`."""
        return export_onnx(self, path, opset=opset)

    def _repr_html_inner(self) -> str:
        """In a notebook a fitted classifier shows its tree, and folded below it what scikit-learn shows."""
        diagram: str = super()._repr_html_inner()
        return tree_html(self.tree_, "Parameters", diagram) if self.__sklearn_is_fitted__() else diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return {**shown, "text/html": self._repr_html_inner()} if "text/html" in shown else shown


def _is_plain(value: Any) -> bool:
    """Can JSON hold this as it is?"""
    if isinstance(value, (list, tuple)):
        return all(isinstance(item, str) for item in value)
    return value is None or isinstance(value, (str, bool, int, float))


def _reuse(test: TrainedTest, declared: Sequence[str], number: int, reused: dict[str, Instance]) -> dict[str, str]:
    """The instances that a reused test looks through; tests that shared a network in their tree share it again."""
    held, names = dict(test.test.instances), {}
    for network in declared:
        module = test.networks[held.get(network, network)]
        known = (n for n, i in reused.items() if i.frozen == test.frozen and same_weights(i.module, module))
        names[network] = next(known, f"{network}@{number}")
        if names[network] not in reused:
            own = module if test.frozen else copy.deepcopy(module)
            reused[names[network]] = Instance(own, network, frozenset(), test.frozen)
    return names


def _declared(test: AtomTest, program: Program) -> list[str]:
    plain = AtomTest(test.atom).formula(program)
    return sorted({source.network for source in sources(plain) if isinstance(source, NeuralVariable)})
