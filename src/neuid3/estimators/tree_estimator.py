"""Methods of a fitted estimator that delegate to its tree: files, leaves, explanations, labels of concepts, exports."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from neuid3.data.derived import table_columns
from neuid3.data.examples import Examples, has_names
from neuid3.errors import DataError
from neuid3.estimators.base import NeuID3Estimator
from neuid3.estimators.model import NeurosymbolicTree
from neuid3.export import export_svg, export_text, plot_tree
from neuid3.export.notebook import tree_html
from neuid3.export.onnx import OPSET, export_onnx
from neuid3.identifiability.audit import audit_model
from neuid3.identifiability.reread import reread_model
from neuid3.identifiability.suggest import suggest_labels
from neuid3.identifiability.suggestions import LabelSuggestions
from neuid3.io.estimators import estimator_to_json, learned_from_json, parameters_from_json
from neuid3.io.models import save_model
from neuid3.io.trained_tests import TrainedTest, trained_tests
from neuid3.tree.concept_accuracy import score_concepts
from neuid3.tree.conformal import calibration_of
from neuid3.tree.record import AnyScore, ConceptScore, TrainingRecord
from neuid3.tree.tree import Tree

if TYPE_CHECKING:
    from neuid3.export.deepproblog import DeepProbLogProgram
    from neuid3.identifiability.certificate import Certificate


class TreeEstimator(NeuID3Estimator):
    """An estimator with a fitted tree, which files, explanations and exports show."""

    @property
    def training_record_(self) -> TrainingRecord | None:
        """Digests of the training rows, and the scores on held-out rows; None where there is no record."""
        check_is_fitted(self)
        return self.model_.training_record

    def record_score(self, X: Any, y: Any) -> AnyScore:
        """The score of the tree on examples that were not used in `fit`; it becomes part of the training record.

        The record is saved with the model and shown by `neuid3 show` and on the evidence page. A warning says where each
        of these rows is equal to a training row.

        Parameters
        ----------
        X : the examples.
        y : the target of each.

        Returns
        -------
        The score.

        Raises
        ------
        DataError : where the model has no training record, or targets do not fit.
        """
        record = self.training_record_
        if record is None:
            raise DataError("The model was loaded from a file without a training record; fit it again.")
        examples = self._examples(X)
        score, codes = self._held_out_score(examples, y)
        learned = record.learned(examples, self.schema_, codes)
        if learned is not None and learned.all():
            message = "Each of these rows is equal to a training row, so the score is no estimate for new examples."
            warnings.warn(message, UserWarning, stacklevel=2)
        self.model_.training_record = record.with_score(score)
        return score

    @abstractmethod
    def _held_out_score(self, examples: Examples, y: Any) -> tuple[AnyScore, npt.NDArray[np.int64] | None]:
        """The score on examples with these targets, and the codes of their classes, if they have any."""

    def calibrate(self, X: Any, y: Any) -> Self:
        """Calibrate the tree by examples that had no part in learning, for `predict_sets` or `predict_intervals`.

        The calibration is saved with the model. A later call replaces it, and so does a later fit, which ends it. A warning
        says where each of these rows is equal to a training row.

        Parameters
        ----------
        X : the examples, which must come from where later ones come from.
        y : the target of each.

        Returns
        -------
        self

        Raises
        ------
        DataError : where targets do not fit.
        """
        check_is_fitted(self)
        examples = self._examples(X)
        targets, codes = self._calibration_targets(examples, y)
        record = self.training_record_
        learned = None if record is None else record.learned(examples, self.schema_, codes)
        if learned is not None and learned.all():
            message = "Each of these rows is equal to a training row, so that sets will be smaller than they should be."
            warnings.warn(message, UserWarning, stacklevel=2)
        self.model_.calibration = calibration_of(self.model_, examples, targets)
        return self

    @abstractmethod
    def _calibration_targets(self, examples: Examples, y: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64] | None]:
        """The targets of calibration rows, as the model predicts them, and the codes of their classes, if any."""

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

    # Files ---------------------------------------------------------------------------------------

    def save(self, path: Path | str, *, remember_rows: bool = True) -> Path:
        """Write the fitted estimator to one file, which `neuid3.load` reads without running any code of it.

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
        fields = {"kind": fitted.file_kind, **estimator_to_json(fitted)}
        return save_model(fitted.model_, path, fields, remember_rows=remember_rows)

    @classmethod
    def restored(cls, model: NeurosymbolicTree, fields: Mapping[str, Any]) -> Self:
        """The estimator of a saved model and the JSON fields of its file.

        Parameters
        ----------
        model : the model of the file.
        fields : the JSON fields of the file.

        Returns
        -------
        The fitted estimator.
        """
        known = cls._get_param_names()
        estimator = cls(**parameters_from_json(fields, known))
        estimator.model_, estimator.tree_ = model, model.tree
        estimator.networks_, estimator.schema_ = model.networks, model.schema
        for name, value in learned_from_json(fields, model.classes, len(table_columns(model.schema))).items():
            setattr(estimator, name, value)
        return estimator

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
