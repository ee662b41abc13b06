"""The base class of the estimators: parameters, and what every fit reads and checks before it learns."""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from neuid3.data.derived import table_columns
from neuid3.data.examples import Examples, has_names
from neuid3.data.groups import group_numbers, take_groups
from neuid3.data.parts import has_parts
from neuid3.data.priors import column_priors
from neuid3.data.slots import needed_slots, unfolded
from neuid3.data.tables import check_weights, examples_from_array, read_free_text, warn_of_identifiers
from neuid3.data.worlds import completions
from neuid3.encoders.encoder import Encoder, read_encoder
from neuid3.errors import DataError, ParameterError
from neuid3.estimators.parameters import IRRELEVANT_TO_TREE, SHARED_CONSTRAINTS
from neuid3.io.bank import Bank
from neuid3.learning.checkpoint import Checkpoint, fit_digests
from neuid3.learning.derived_columns import with_derived_columns
from neuid3.learning.fit import check_fit
from neuid3.learning.generators import CandidateGenerator
from neuid3.learning.goals import GoalCandidates
from neuid3.learning.problem import Problem, read_problem, varying_candidates
from neuid3.learning.validation import read_validation
from neuid3.logic.program import Declaration, Program
from neuid3.logic.relations import with_relations
from neuid3.logic.sandbox import Limits
from neuid3.queries.grounding import read_program
from neuid3.training.config import TrainingConfig, changed_training, read_training
from neuid3.tree.anchors import Anchors, distinct, labels_of_rows
from neuid3.tree.constraints import read_constraints
from neuid3.tree.criterion import Criterion
from neuid3.tree.labels import read_labels, take_labels
from neuid3.tree.target import Target

if TYPE_CHECKING:
    from torch import nn

    from neuid3.encoders.frozen import FrozenEncoder
    from neuid3.encoders.sentences import SentenceEncoder

# What the fields of `training` are called among the parameters, as scikit-learn names nested parameters.
_FIELD_PREFIX = "training__"

# What `min_mass="auto"` is at least.
LEAST_MIN_MASS = 2.0

# The attributes that a fit sets.
LEARNED = frozenset(
    {
        "class_weights_",
        "classes_",
        "feature_importances_",
        "feature_names_in_",
        "forest_",
        "gradient_steps_",
        "max_features_",
        "min_mass_",
        "model_",
        "n_features_in_",
        "networks_",
        "oob_decision_function_",
        "oob_prediction_",
        "oob_score_",
        "rule_tests_",
        "schema_",
        "sum_",
        "tree_",
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class FitInputs:
    """What a fit has read and checked before it learns.

    Attributes
    ----------
    examples : the training rows with a positive weight.
    target : their targets, with weights and criterion.
    y : the targets of all rows, as the caller gave them.
    kept : which rows of the caller's table these are, `(row,)`.
    row_groups : the groups of all rows, as the caller gave them; None without any.
    groups : the numbers of the groups of the training rows, `(row,)`; None without any.
    problem : the program, the candidates and the constraints.
    goals : the goals that leaves may hold.
    networks : the networks of the caller, by name.
    config : how networks are trained.
    seed : seed of all random draws.
    labels : the labels of concepts as they were given; `anchors` has each of them once.
    anchors : labels of concepts, by declared network.
    validation : examples of the caller that are not learned from, with their targets and weights; None without any.
    folder : the folder of the checkpoint; None without one.
    digests : digests of everything that the result depends on, for the checkpoint.
    deadline : the time of `time.monotonic` from which on nothing more is begun.
    """

    examples: Examples
    target: Target
    y: Any
    kept: npt.NDArray[np.bool_]
    row_groups: Any
    groups: npt.NDArray[np.int64] | None
    problem: Problem
    goals: GoalCandidates
    networks: dict[str, Any]
    config: TrainingConfig
    seed: int
    labels: Anchors
    anchors: Anchors
    validation: tuple[Examples, Any, Any] | None
    folder: Path | str | None
    digests: Callable[[], dict[str, str]]
    deadline: float

    def rows(self, rows: npt.NDArray[np.int64]) -> FitInputs:
        """The inputs of a fit of some of the rows, without a checkpoint.

        Parameters
        ----------
        rows : the numbers of training rows, in ascending order.

        Returns
        -------
        The inputs of the smaller fit.
        """
        return replace(
            self,
            examples=self.examples[rows],
            target=self.target[rows],
            groups=None if self.groups is None else self.groups[rows],
            labels=labels_of_rows(self.labels, rows),
            anchors=labels_of_rows(self.anchors, rows),
            folder=None,
        )

    def completed(self, most: int) -> FitInputs:
        """The inputs of a fit in which no entry of a part is missing or only probable.

        Parameters
        ----------
        most : in how many ways an example is completed at most. They share its weight, and form a group.

        Returns
        -------
        These inputs themselves where no entry is.
        """
        worlds = completions(self.examples, self.target.weights, most, self.seed)
        validation = self.validation
        if validation is not None:
            added, targets, weights = validation
            of_added = completions(added, weights, most, self.seed, column_priors(self.examples, self.target.weights))
            if of_added is not None:
                validation = of_added.examples, targets[of_added.owner], weights[of_added.owner] * of_added.weights
        if worlds is None:
            return self if validation is self.validation else replace(self, validation=validation)
        owner, weights = worlds.owner, self.target.weights[worlds.owner] * worlds.weights
        first = np.searchsorted(owner, np.arange(len(self.examples)))
        groups = np.arange(len(self.examples)) if self.groups is None else self.groups
        return replace(
            self,
            examples=worlds.examples,
            target=Target(self.target.values[owner], weights, self.target.criterion),
            groups=self.groups if most == 1 else groups[owner],
            labels={name: replace(labels, rows=first[labels.rows]) for name, labels in self.labels.items()},
            anchors={name: replace(labels, rows=first[labels.rows]) for name, labels in self.anchors.items()},
            validation=validation,
        )

    def checkpoint(self) -> AbstractContextManager[Checkpoint | None]:
        """The checkpoint of the fit, as a context; None without a folder."""
        return nullcontext() if self.folder is None else Checkpoint(self.folder, self.digests(), self.seed)


class NeuID3Estimator(BaseEstimator):  # type: ignore[misc]
    """The base class of the estimators: parameters, and what every fit does before it learns.

    A derived class says what its targets are: `_read_targets` turns them into a `Target` with its criterion; and what is
    learned from them: `_learn` sets the attributes of the fit. Its `__init__` names all parameters with their defaults.

    Attributes
    ----------
    file_kind : what a file says that it holds.
    """

    file_kind: ClassVar[str]
    _has_scores: ClassVar[bool] = True  # whether texts have scores of phrases
    _parameter_constraints: ClassVar[dict[str, Any]] = SHARED_CONSTRAINTS

    background: str
    networks: Mapping[str, Callable[[], nn.Module] | nn.Module] | None
    tests: str | Sequence[Any]
    bank: Bank | Path | str | None
    modes: Sequence[str] | None
    leaves: Sequence[str] | None = None  # only single trees have goals
    training: str | TrainingConfig
    max_depth: int | None
    min_mass: Any
    time_limit: float | None
    n_jobs: int | None
    random_state: Any
    verbose: int
    limits: Limits | None
    monotonic_cst: Any = None
    interaction_cst: Any = None
    relations: Mapping[str, Sequence[str]] | None
    encoder: str | nn.Module | Encoder | None

    def _remember(self, parameters: Mapping[str, Any]) -> None:
        """Set the attribute of every parameter to its value, of the local variables of `__init__`."""
        for name in self._get_param_names():
            setattr(self, name, parameters[name])

    # What the targets are ------------------------------------------------------------------------

    @abstractmethod
    def _check_criterion(self) -> Criterion:
        """The criterion of the parameters, before it knows the targets; an error where it is none."""

    @abstractmethod
    def _refuse_missing_targets(self, y: Any) -> None:
        """Raise a `DataError` where a target is missing."""

    @abstractmethod
    def _read_targets(self, y: npt.NDArray[Any], weights: npt.NDArray[np.float64]) -> Target:
        """The targets of all rows with their weights; attributes that describe them are set."""

    @abstractmethod
    def _validation_targets(self, y: Any, criterion: Criterion) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
        """The targets of validation examples, as the criterion takes them, and their relative weights."""

    @abstractmethod
    def _digested_targets(self, target: Target) -> dict[str, Any]:
        """What the targets add to the digests of a checkpoint, by name."""

    @property
    @abstractmethod
    def _tree_classes(self) -> tuple[Any, ...]:
        """The classes of the tree; none where it predicts numbers."""

    @abstractmethod
    def _with_goals(self, target: Target, problem: Problem) -> tuple[Target, GoalCandidates]:
        """The targets after values of goals have joined their classes, and the goals with their values as targets."""

    @abstractmethod
    def _learn(self, inputs: FitInputs) -> None:
        """Learn from what was read, and set the attributes that hold the result, among them `model_`."""

    # Parameters ----------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise an error where parameters contradict each other, before anything is read."""
        self._check_criterion()

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

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `training__epochs` and the like replace one field of `training`.

        Parameters
        ----------
        **params : new values by name.

        Returns
        -------
        The estimator itself.
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
        groups: Any = None,
    ) -> Self:
        """Learn from examples.

        Other threads may predict meanwhile: they use the previous fit until this one has ended.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array.
        y : the target of each row: its class, or its number.
        sample_weight : the weight of each row, 1 by default, which counts as so many equal rows; rows of weight 0 are left
            out.
        validation : examples and targets, `(X, y)`, that are not learned from: networks are scored on them, and the number
            of trees of a boosted sum is the one with the least loss on them.
        checkpoint : a folder to which every finished node is written; of many trees, those of the tree that trains
            networks. A fit that was interrupted continues from it when it is called with the same arguments, and ends with
            the same result, bit by bit. One fit at a time may use it.
        concepts : labels for some images, by what reads them: `{"rank(first)": [5, None, …], "same(first, second)":
            {17: True}}`, or by predicate and column, `{"rank": {"first": [5, None, …]}}`. The labels of a column are one
            entry for each row, None or NaN where there is no label, or a mapping of rows to values. Columns of `X` with
            such names hold labels too.
        groups : the group of each row, such as the patient that it is about, or the name of the column of `X` that holds
            them, which is then no candidate test. The validation split, folds, bootstrap samples and the labels held out do
            not divide a group; splits of a boosted sum's `cv` that do are an error.

        Returns
        -------
        self

        Raises
        ------
        DataError : where columns, targets, weights, groups or labels of concepts are not as they should be.
        """
        draft = self._copied(without=LEARNED)
        draft._validate_params()
        draft._fit(X, y, sample_weight, validation, checkpoint, concepts, groups)
        learned = {name: value for name, value in vars(draft).items() if name.endswith("_")}
        # One assignment: other threads read the old fit or the new one; a fit that fails does not get here.
        self.__dict__ = {**vars(self._copied(without=LEARNED)), **learned}
        return self

    def _validate_params(self) -> None:
        """Check the parameters as scikit-learn does, whose message names the parameter and the values that it may have."""
        try:
            super()._validate_params()
        except ValueError as error:
            raise ParameterError(str(error)) from None

    def _copied(self, without: Container[str] = ()) -> Self:
        """A shallow copy with the current parameters and attributes."""
        copied: Self = object.__new__(type(self))
        copied.__dict__.update((name, value) for name, value in self.__dict__.copy().items() if name not in without)
        return copied

    def _fitted(self) -> Self:
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
        groups: Any,
    ) -> None:
        deadline = time.monotonic() + (np.inf if self.time_limit is None else self.time_limit)
        config = read_training(self.training)
        self._check_parameters()
        networks = dict(self.networks or {})
        X, row_groups = take_groups(X, groups)
        X, concepts = take_labels(X, concepts, self._declarations)
        examples, target, kept = self._read(X, y, sample_weight)
        encoder = self._freeze_encoder(examples)
        examples = self._encoded(examples, encoder)
        numbers = group_numbers(row_groups, kept)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        problem = self._problem(examples, validation)
        examples = unfolded(examples, problem.program.slots)
        target, goals = self._with_goals(target, problem)
        labels = read_labels(concepts, examples, problem.program.declarations, kept=kept)
        anchors = distinct(labels)
        check_fit(problem, networks, config, target.criterion)
        self.rule_tests_ = list(problem.candidates.names)
        inputs = FitInputs(
            examples,
            target,
            y,
            kept,
            row_groups,
            numbers,
            problem,
            goals,
            networks,
            config,
            seed,
            labels,
            anchors,
            self._validation(validation, target, problem.program, encoder),
            folder,
            lambda: self._digests(examples, target, validation, anchors, numbers, encoder),
            deadline,
        )
        self._learn(inputs)
        self.model_.encoder = encoder
        self.model_.candidates = tuple(dict.fromkeys(atom for test in problem.candidates.tests for atom in test.atoms))

    def _freeze_encoder(self, examples: Examples) -> FrozenEncoder | SentenceEncoder | None:
        """The encoder of the parameters with its weights; None without one."""
        encoder = read_encoder(self.encoder)
        if encoder is None:
            return None
        from neuid3.encoders.frozen import freeze  # which imports torch

        return freeze(encoder, examples)

    def _encoded(self, examples: Examples, encoder: FrozenEncoder | SentenceEncoder | None) -> Examples:
        """The examples with the vectors of their pictures, which become part of the schema."""
        if encoder is not None:
            examples = encoder.encoded(examples)
            self.schema_ = examples.schema
        return examples

    def _validation(
        self, validation: Any, target: Target, program: Program, encoder: FrozenEncoder | SentenceEncoder | None
    ) -> tuple[Examples, Any, Any] | None:
        """The validation examples of the caller with their targets and weights; None without any."""
        if validation is None:
            return None
        added, labels = read_validation(validation, self.schema_)
        added = added if encoder is None else encoder.encoded(added)
        return unfolded(added, program.slots), *self._validation_targets(labels, target.criterion)

    def _digests(
        self,
        examples: Examples,
        target: Target,
        validation: Any,
        anchors: Anchors,
        groups: npt.NDArray[np.int64] | None,
        encoder: FrozenEncoder | SentenceEncoder | None,
    ) -> dict[str, str]:
        """Digests of everything that the tree depends on: the data, and the parameters that are relevant to it."""
        parameters = {name: v for name, v in self.get_params().items() if name not in IRRELEVANT_TO_TREE}
        parameters |= {} if encoder is None else {"encoder": encoder.key}
        if self.bank is not None:  # its contents, not its path
            parameters["bank"] = (self.bank if isinstance(self.bank, Bank) else Bank(self.bank)).contents()
        criterion = self._check_criterion()  # its class and settings: the usual `repr` has an address
        parameters["criterion"] = (type(criterion).__qualname__, vars(criterion))
        held_out = None if validation is None else read_validation(validation, self.schema_)
        arrays = () if held_out is None else ([(c.values, c.missing) for _, c in held_out[0].items()], held_out[1])
        digested = {**self._digested_targets(target), "sample_weight": target.weights, "validation": arrays}
        if anchors:
            digested["concepts"] = [
                (network, n.calls, n.call_numbers, n.rows, n.values) for network, n in sorted(anchors.items())
            ]
        if groups is not None:
            digested["groups"] = groups
        return fit_digests(parameters, dict(examples.items()), **digested)

    def _declarations(self, columns: Mapping[str, Any]) -> Mapping[int, Declaration]:
        """The neural declarations of the background knowledge for these columns."""
        if not columns or not (self.background.strip() or self.relations):
            return {}
        with warnings.catch_warnings():  # those of reading are given once, by `_read`
            warnings.simplefilter("ignore")
            schema = read_free_text(Examples(columns), self._mentioned()).schema
        background = with_relations(self.background, self.relations, schema, self.limits)
        return read_program(background, schema, self.limits).declarations

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Examples, Target, npt.NDArray[np.bool_]]:
        """The examples, their targets and weights; and the mask of the rows with a positive weight."""
        self._refuse_missing_targets(y)
        if has_names(X):
            examples = read_free_text(X if isinstance(X, Examples) else Examples(X), self._mentioned())
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
        weights = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
        target = self._read_targets(y, weights)
        check_weights(target.weights)
        positive = target.weights > 0
        if not positive.all():
            examples, target = examples[positive], target[positive]
        self._warn_of_small_weights(target)
        without = self._constrained(examples)
        examples = with_derived_columns(examples, target, self._mentioned(), without, scores=self._has_scores)
        self.schema_ = examples.schema
        return examples, target, positive

    def _warn_of_small_weights(self, target: Target) -> None:
        """Warn where no node can be split because weights are fractions of 1, such as those that sum to 1."""
        total, least = float(target.weights.sum()), self.min_mass
        least = LEAST_MIN_MASS if isinstance(least, str) else least
        if total < min(least, len(target)):
            warnings.warn(
                f"The weights of the {len(target):,} rows sum to {total:.3g}, and nodes of less than min_mass={least:g} are not "
                "split, so nothing is learned. A weight counts as so many equal rows; multiply sample_weight, so that its mean "
                "is 1.",
                UserWarning,
                stacklevel=5,
            )

    def _constrained(self, examples: Examples) -> Collection[str]:
        """The columns that constraints are about, of which nothing is derived that rules do not mention."""
        if self.interaction_cst is not None or not isinstance(self.monotonic_cst, (Mapping, type(None))):
            return examples.names
        return self.monotonic_cst or ()

    def _mentioned(self) -> str:
        """All parameters' text in which a column may be named."""
        listed = self.tests.tests if isinstance(self.tests, CandidateGenerator) else self.tests
        tests = [listed] if isinstance(listed, str) else listed
        return "\n".join(
            [
                self.background,
                *map(str, tests),
                *(self.modes or ()),
                *(self.relations or ()),
                *map(str, self.leaves or ()),
            ]
        )

    def _problem(self, examples: Examples, validation: tuple[Any, Any] | None = None) -> Problem:
        slots = None
        if has_parts(examples.schema):
            slots = needed_slots(examples)
            if validation is not None:
                slots = slots.union(needed_slots(read_validation(validation, examples.schema)[0]))
        problem = read_problem(
            examples.schema,
            background=self.background,
            tests=self.tests,
            bank=self.bank,
            modes=self.modes,
            limits=self.limits,
            leaves=self.leaves,
            relations=self.relations,
            slots=slots,
        )
        constraints = read_constraints(self.monotonic_cst, self.interaction_cst, table_columns(examples.schema))
        if problem.goals and constraints.directions:
            raise ParameterError(
                f"monotonic_cst constrains {constraints.directions[0][0]!r} and leaves may hold goals, whose values follow "
                "rules and not the order of a column; leave one of them out."
            )
        return replace(varying_candidates(problem, examples), constraints=constraints)

    def _examples(self, X: Any) -> Examples:
        if not has_names(X):
            X = validate_data(self, X, reset=False, accept_sparse="csc", dtype=None, ensure_all_finite="allow-nan")
        return Examples.read(X, self.schema_)
