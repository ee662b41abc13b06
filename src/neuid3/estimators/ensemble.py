"""The base classes of estimators that learn many trees, forests and boosted sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from neuid3.data.priors import Priors
from neuid3.errors import ParameterError
from neuid3.estimators.base import FitInputs
from neuid3.estimators.fitted import FittedEstimator
from neuid3.estimators.targets import ClassTargets
from neuid3.export.onnx import OPSET, export_onnx
from neuid3.learning.problem import with_grids
from neuid3.networks.backend import Backend
from neuid3.tree.trees_model import Trees, TreesModel

if TYPE_CHECKING:
    from pathlib import Path

Numbers = npt.NDArray[np.float64]


class EnsembleEstimator(FittedEstimator):
    """The base class of forests and boosted sums; what the targets are is said by a derived class."""

    # The class of the model that the trees are part of.
    _model_kind: ClassVar[type[TreesModel]]

    # Many trees weigh phrases by themselves; scores, which are learned from the same rows, made boosted sums less accurate.
    _has_scores: ClassVar[bool] = False

    def _learn(self, inputs: FitInputs) -> None:
        goals = inputs.problem.goals
        if goals:
            raise ParameterError(
                f"modes give the leaves the goal '{goals[0]}', and the leaves of a {self._model_kind.noun} hold no goals; "
                "use NeuID3Classifier or NeuID3Regressor for leaves that compute."
            )
        # Families of constrained columns are left out, as in single trees.
        constrained = set() if self.monotonic_cst is None else set(self._constrained(inputs.examples))
        candidates = inputs.problem.candidates
        families = tuple(family for family in candidates.families if not constrained & family.columns)
        candidates = replace(candidates, families=families)
        self.rule_tests_ = list(candidates.names)
        problem = with_grids(replace(inputs.problem, candidates=candidates), inputs.examples)
        inputs = replace(inputs, problem=problem)
        self._learn_trees(inputs.completed(1))

    def _learn_trees(self, inputs: FitInputs) -> None:
        """Learn the trees, and set the attributes that hold them and what is known about them."""
        raise NotImplementedError

    def _set_trees(
        self,
        trees: Trees,
        inputs: FitInputs,
        *,
        networks: Mapping[str, Any],
        priors: Priors,
        backend: str | Backend,
        steps: int,
    ) -> None:
        """Set the attributes that hold the trees, their networks and the model."""
        setattr(self, self._structure[0], trees)
        self.networks_ = dict(networks)
        self.gradient_steps_ = steps
        self.model_ = self._model_kind(
            trees,
            self.schema_,
            background=inputs.problem.program.text,
            networks=self.networks_,
            priors=priors,
            limits=self.limits,
            device=inputs.config.device,
            backend=backend,
        )

    def _model(self) -> Any:
        """The fitted model, ready to predict."""
        return self.model_

    # Explanations and exports --------------------------------------------------------------------

    def explain(self, X: Any, row: int = 0) -> Any:
        """The explanation of a prediction, whose parts add up to it; `explain` of the model says what they are.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.
        row : the example.

        Returns
        -------
        The explanation; `print` shows it as text.
        """
        fitted = self._fitted()
        return fitted._model().explain(fitted._examples(X), row)

    def export_svg(self, **options: Any) -> str:
        """The trees as an SVG image; the options are those of `export_svg` of the model.

        Parameters
        ----------
        **options : as for the model.

        Returns
        -------
        The text of an SVG file.
        """
        svg: str = self._fitted()._model().export_svg(**options)
        return svg

    def export_onnx(self, path: Path | str, *, opset: int = OPSET) -> Path:
        """Write the trees with their networks to one ONNX file, which runs without Python; see `neuid3.export_onnx`.

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
        """HTML for notebooks: the picture of a fitted estimator, and below it scikit-learn's diagram."""
        diagram: str = super()._repr_html_inner()
        return diagram if not hasattr(self, "model_") else self.export_svg() + diagram


class EnsembleClassifier(ClassTargets, ClassifierMixin):  # type: ignore[misc]
    """Predictions of many trees that were learned from classes, a mixin."""

    def predict_proba(self, X: Any) -> Numbers:
        """P(class | e) in the order of `classes_`, `(example, class)`.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.

        Returns
        -------
        Probabilities, `(example, class)`.
        """
        fitted: Any = self._fitted()
        probabilities: Numbers = fitted._model().predict_proba(fitted._examples(X))
        return probabilities

    def predict_log_proba(self, X: Any) -> Numbers:
        """The natural logarithm of `predict_proba`; −∞ where a class is impossible.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.

        Returns
        -------
        Logarithms of probabilities, `(example, class)`.
        """
        with np.errstate(divide="ignore"):
            logs: Numbers = np.log(self.predict_proba(X))
        return logs

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each example.

        Parameters
        ----------
        X : a table with named columns, `Examples`, or an array, as in `fit`.

        Returns
        -------
        Classes, `(example,)`.
        """
        fitted: Any = self._fitted()
        most_probable: npt.NDArray[Any] = fitted.classes_[fitted.predict_proba(X).argmax(axis=1)]
        return most_probable
