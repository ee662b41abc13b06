"""The base class of estimators of one tree: its fit, leaves, explanations, labels of concepts, exports."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from neuid3.data.derived import without_unused
from neuid3.data.examples import Examples, has_names
from neuid3.data.parts import has_parts
from neuid3.diagnosis.findings import Diagnosis
from neuid3.estimators.base import FitInputs
from neuid3.estimators.diagnosed import diagnosed_case
from neuid3.estimators.fitted import FittedEstimator
from neuid3.estimators.model import NeurosymbolicTree
from neuid3.export import export_svg, export_text, plot_tree
from neuid3.export.notebook import tree_html
from neuid3.export.onnx import OPSET, export_onnx
from neuid3.identifiability.audit import audit_model
from neuid3.identifiability.reread import reread_model
from neuid3.identifiability.suggest import suggest_labels
from neuid3.identifiability.suggestions import LabelSuggestions
from neuid3.io.trained_tests import TrainedTest, trained_tests
from neuid3.learning.fit import (
    CrossValidation,
    LearnedTree,
    learn_tree,
    make_learner,
    training_record,
    warn_of_small_tree,
)
from neuid3.learning.generators import FixedCandidates
from neuid3.learning.grow import GrowthLimits
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.problem import Problem
from neuid3.learning.pruning import content_folds, is_cross_validated
from neuid3.learning.sample import Sample
from neuid3.learning.statistics import with_statistics
from neuid3.learning.validation import training_sample
from neuid3.logic.program import Program
from neuid3.training.config import TrainingConfig
from neuid3.tree.concept_accuracy import concept_scores, confirmed_values, score_concepts
from neuid3.tree.criterion import Criterion
from neuid3.tree.record import ConceptScore, TrainingRecord
from neuid3.tree.target import Target, column_importances
from neuid3.tree.tree import Tree

if TYPE_CHECKING:
    from neuid3.export.deepproblog import DeepProbLogProgram
    from neuid3.identifiability.certificate import Certificate


# The most completions of an example whose parts have missing or probable entries.
COMPLETIONS = 4


class TreeEstimator(FittedEstimator):
    """An estimator that learns one tree, which files, explanations and exports show."""

    _structure: ClassVar[tuple[str, str]] = ("tree_", "tree")

    criterion: str | Criterion
    min_gain: float
    pruning: float | str
    _default_pruning: ClassVar[float]  # with pruning="auto"
    _query_pruning: ClassVar[float]  # the same where queries over parts are tried, without networks
    tree_: Tree
    model_: NeurosymbolicTree

    def _split_penalties(self, problem: Problem) -> tuple[float, float | None]:
        """The penalty of a split as a number, also with `pruning="auto"`, and the higher one that some split must be worth."""
        if self.pruning != "auto":
            return float(self.pruning), None
        if problem.language is None or problem.are_neural:
            return self._default_pruning, None
        return self._query_pruning, self._default_pruning

    def _learn(self, inputs: FitInputs) -> None:
        given, inputs = inputs, inputs.completed(COMPLETIONS)
        config, target, problem, anchors = inputs.config, inputs.target, inputs.problem, inputs.anchors
        penalties = self._split_penalties(problem) if config.prune else (0.0, None)
        growth = GrowthLimits(self.max_depth, self.min_mass, self.min_gain, config.min_reach, *penalties)
        with inputs.checkpoint() as checkpoint:
            seed = inputs.seed if checkpoint is None else checkpoint.seed
            sample = training_sample(
                inputs.examples,
                target,
                validation=inputs.validation,
                fraction=config.validation_fraction if problem.are_neural else None,
                seed=seed,
                anchors=anchors,
                groups=inputs.groups,
            )

            def make(of_learner: Sample, verbose: int) -> NodeLearner:
                return make_learner(
                    of_learner,
                    problem,
                    inputs.networks,
                    config,
                    growth,
                    seed=seed,
                    jobs=self.n_jobs,
                    verbose=verbose,
                    goals=inputs.goals,
                    time_limit=self.time_limit,
                )

            learner = make(sample, self.verbose)
            folds = self._folds(inputs, sample, lambda rows: make(sample.rows(rows), 0))
            learned = learn_tree(learner, growth, checkpoint, inputs.deadline, folds)
        warn_of_small_tree(learned, learner, self.max_depth, self.time_limit)
        self._set_learned(learned, learner, config, problem.program)
        record = training_record(self.tree_.root, learner, seed, self.tree_.classes)
        if inputs is not given:
            codes = target.criterion.codes(given.target.values)
            record = replace(TrainingRecord.of(given.examples, codes, seed), scores=record.scores)
        trained = {network: len(of_network) for network, of_network in sample.anchors.items()}
        scores = concept_scores(self.model_, sample.examples, sample.held_out_anchors, trained) if anchors else ()
        self.model_.training_record = record.with_concepts(scores)
        if anchors:
            self.model_.labelled_values = confirmed_values(self.model_, given.examples, given.anchors)
            self._warn_of_contradictions(given)

    def _folds(
        self, inputs: FitInputs, sample: Sample, learner: Callable[[npt.NDArray[np.int64]], NodeLearner]
    ) -> CrossValidation | None:
        """The folds by which the tree is pruned; None where it is pruned by description length alone."""
        problem, candidates = inputs.problem, inputs.problem.candidates
        is_flat = not (problem.are_neural or problem.goals or has_parts(problem.program.schema))
        is_plain = is_flat and isinstance(problem.generator, FixedCandidates)
        cut = (*candidates.numbers, *candidates.families)
        if self.pruning != "auto" or not (
            inputs.config.prune and is_plain and is_cross_validated(sample, cut, sample.criterion)
        ):
            return None
        folds = content_folds(sample, inputs.groups)
        return None if folds is None else CrossValidation(folds, learner)

    def _warn_of_contradictions(self, inputs: FitInputs) -> None:
        """Warn where labels of concepts contradict targets; by default they do not."""

    def _set_learned(
        self, learned: LearnedTree, learner: NodeLearner, config: TrainingConfig, program: Program
    ) -> None:
        """Set the attributes that hold the tree, its networks and its model."""
        classes = self._tree_classes
        self.networks_ = learner.networks_of_tree(Tree(learned.root, classes))
        self.tree_ = Tree(with_statistics(learned.root, learner.inference, config.min_reach), classes)
        used = {name for test in self.tree_.tests for name in test.columns(program)}
        self.schema_ = without_unused(self.schema_, used)
        self.gradient_steps_ = learner.steps
        self.model_ = NeurosymbolicTree(
            self.tree_,
            self.schema_,
            background=program.text,
            networks=self.networks_,
            priors=learner.priors.of_schema(self.schema_),
            limits=self.limits,
            device=config.device,
            backend=learner.config.backend,
        )
        gains = [(self.model_.columns_of(test), gain) for test, gain in learned.test_gains]
        self.feature_importances_ = column_importances(gains, self.schema_)

    @abstractmethod
    def _fitted_target(self, examples: Examples, y: Any) -> Target:
        """The targets of examples as the criterion of the fit counts them, each of weight 1."""

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

    def reread(self, X: Any, concepts: Mapping[str, Any] | None = None) -> Self:
        """The estimator in the form under which labels are most likely: it predicts the same, and nothing is trained.

        Parameters
        ----------
        X : labelled examples; columns with names such as `rank(first)` hold labels.
        concepts : further labels, as in `fit`.

        Returns
        -------
        A new estimator with the tests and networks of that form; see `NeurosymbolicTree.reread`.

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
        """The tests of the tree with their trained networks, for the parameter `tests` of another estimator."""
        return trained_tests(self._fitted().model_)

    # Leaves, explanations and labels -------------------------------------------------------------

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

    def diagnose(
        self, X: Any, y: Any, *, groups: Any = None, location: Callable[[int], str] = "row {}".format
    ) -> Diagnosis:
        """Why nothing was learned, with the evidence and the smallest change that would help; or that nothing is wrong.

        Where the tree predicts unseen rows badly, networks are trained again with four times as many restarts, which takes
        as much longer than the fit.

        Parameters
        ----------
        X : the examples of the fit.
        y : the target of each.
        groups : as in `fit`.
        location : what a row is called in texts, by its number.

        Returns
        -------
        The causes, the most likely first; `print` shows them as text.

        Raises
        ------
        DataError : where columns are missing, or targets do not fit.

        >>> from neuid3 import NeuID3Classifier
        >>> X = {"age": [31.5, 31.5, 64.5, 64.5] * 10, "salt": list(range(20)) * 2}
        >>> clf = NeuID3Classifier(tests=["age"], random_state=0).fit(X, ["ill", "well"] * 20)
        >>> clf.diagnose(X, ["ill", "well"] * 20).cause
        'no_candidate'
        """
        from neuid3.diagnosis.diagnose import diagnose

        fitted = self._fitted()
        with warnings.catch_warnings():  # the fit has given them
            warnings.simplefilter("ignore")
            return diagnose(diagnosed_case(fitted, X, y, groups, location))

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
        """HTML for notebooks: the tree of a fitted estimator, and below it, folded, scikit-learn's diagram."""
        diagram: str = super()._repr_html_inner()
        tree: Tree | None = getattr(self, "tree_", None)
        return diagram if tree is None else tree_html(tree, "Parameters", diagram)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return {**shown, "text/html": self._repr_html_inner()} if "text/html" in shown else shown
