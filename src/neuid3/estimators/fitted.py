"""Methods of fitted estimators of one tree and of many: scores on held-out rows, calibration, and files."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from neuid3.data.derived import table_columns
from neuid3.data.examples import Examples
from neuid3.errors import DataError
from neuid3.estimators.base import NeuID3Estimator
from neuid3.io.estimators import estimator_to_json, learned_from_json, parameters_from_json
from neuid3.tree.conformal import calibration_of
from neuid3.tree.record import AnyScore, TrainingRecord


class FittedEstimator(NeuID3Estimator):
    """An estimator with a fitted model, of one tree or of many."""

    # The attribute that holds the tree or trees, and the attribute of the model that it comes from.
    _structure: ClassVar[tuple[str, str]]

    model_: Any
    networks_: dict[str, Any]

    @property
    def training_record_(self) -> TrainingRecord | None:
        """Digests of the training rows, and the scores on held-out rows; None where there is no record."""
        check_is_fitted(self)
        record: TrainingRecord | None = self.model_.training_record
        return record

    def record_score(self, X: Any, y: Any) -> AnyScore:
        """The score of the model on examples that were not used in `fit`; it becomes part of the training record.

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
        self._warn_of_training_rows(examples, codes, "the score is no estimate for new examples")
        self.model_.training_record = record.with_score(score)
        return score

    def calibrate(self, X: Any, y: Any) -> Self:
        """Calibrate the model by examples that had no part in learning, for `predict_sets` or `predict_intervals`.

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
        self._warn_of_training_rows(examples, codes, "that sets will be smaller than they should be")
        self.model_.calibration = calibration_of(self.model_, examples, targets)
        return self

    def _warn_of_training_rows(self, examples: Examples, codes: npt.NDArray[np.int64] | None, consequence: str) -> None:
        """Warn where more than half of some rows are equal to a training row; in tables of few values some always are."""
        record = self.training_record_
        learned = None if record is None else record.learned(examples, self.schema_, codes)
        if learned is None or 2 * int(learned.sum()) <= len(learned):
            return
        count = "Each" if learned.all() else f"{int(learned.sum()):,}"
        verb = "is" if learned.all() else "are"
        message = f"{count} of these {len(learned):,} rows {verb} equal to a training row, so {consequence}."
        warnings.warn(message, UserWarning, stacklevel=3)

    @abstractmethod
    def _held_out_score(self, examples: Examples, y: Any) -> tuple[AnyScore, npt.NDArray[np.int64] | None]:
        """The score on examples with these targets, and the codes of their classes, if they have any."""

    @abstractmethod
    def _calibration_targets(self, examples: Examples, y: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64] | None]:
        """The targets of calibration rows, as the model predicts them, and the codes of their classes, if any."""

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
        written: Path = fitted.model_.write(path, fields, remember_rows=remember_rows)
        return written

    @classmethod
    def restored(cls, model: Any, fields: Mapping[str, Any]) -> Self:
        """The estimator of a saved model and the JSON fields of its file.

        Parameters
        ----------
        model : the model of the file.
        fields : the JSON fields of the file.

        Returns
        -------
        The fitted estimator.
        """
        kind: Any = cls  # every class that is no base class has defaults
        estimator: Self = kind(**parameters_from_json(fields, cls._get_param_names()))
        name, of_model = cls._structure
        setattr(estimator, name, getattr(model, of_model))
        estimator.model_, estimator.networks_, estimator.schema_ = model, model.networks, model.schema
        for name, value in learned_from_json(fields, model.classes, len(table_columns(model.schema))).items():
            setattr(estimator, name, value)
        return estimator
