"""The training record in a model file: numbers and scores in JSON, digests of rows among the tensors."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.io.container import Tensors
from neuid3.io.serialize import Json
from neuid3.tree.record import (
    HELD_OUT,
    MOST_ROWS,
    VALIDATION,
    AnyScore,
    ConceptScore,
    NumberScore,
    Score,
    TrainingRecord,
)
from neuid3.utils.json_values import as_count, as_number

# Names of tensors; no network has the name `/training`.
DIGESTS, LABELS = "/training/digests", "/training/labels"


def record_to_json(record: TrainingRecord) -> Json:
    """The fields of a record."""
    fields: Json = {
        "rows": record.rows,
        "salt": record.salt,
        "scores": [_score_to_json(score) for score in record.scores],
    }
    if record.concepts:  # files of fits without labels stay as they were
        fields["concepts"] = [
            {
                "network": score.network,
                "concept": score.concept,
                "trained": score.trained,
                "labels": score.labels,
                "accuracy": score.accuracy,
            }
            for score in record.concepts
        ]
    return fields


def _score_to_json(score: AnyScore) -> Json:
    """The fields of a score; JSON has no NaN."""
    return {n: None if isinstance(v, float) and math.isnan(v) else v for n, v in asdict(score).items()}


def record_tensors(record: TrainingRecord) -> dict[str, npt.NDArray[Any]]:
    """The digests of a record and the classes of their rows; empty where it has none."""
    if record.digests is None or record.labels is None:
        return {}
    return {DIGESTS: record.digests.view(np.int64), LABELS: record.labels.astype(np.int32)}


def without_record(fields: Json | None, tensors: Tensors) -> Tensors:
    """The tensors of a file that are not those of its record."""
    return tensors if fields is None else {n: values for n, values in tensors.items() if n not in (DIGESTS, LABELS)}


def record_from_json(fields: Json | None, tensors: Tensors, classes: int) -> TrainingRecord | None:
    """The record of a file; None where it has none, as in files of early versions."""
    if fields is None:
        return None
    rows, salt = as_count(fields["rows"]), as_count(fields["salt"])
    scores = tuple(map(_score, fields["scores"]))
    concepts = tuple(map(_concept_score, fields.get("concepts", ())))
    if DIGESTS not in tensors:
        return TrainingRecord(rows, salt, scores=scores, concepts=concepts)
    digests, labels = np.asarray(tensors[DIGESTS]), np.asarray(tensors[LABELS])
    kinds = (digests.dtype, labels.dtype) == (np.dtype(np.int64), np.dtype(np.int32))
    if not kinds or digests.ndim != 1 or digests.shape != labels.shape or not len(digests) <= min(rows, MOST_ROWS):
        raise ValueError("the digests of its training record are inconsistent")
    codes = labels.astype(np.int64)
    if len(codes) and not (codes.min() >= 0 and codes.max() < max(classes, 1)):
        raise ValueError("its training record has a class that its tree does not have")
    return TrainingRecord(rows, salt, digests.view(np.uint64), codes, scores, concepts)


def _score(fields: Any) -> AnyScore:
    kind = fields["kind"]
    if kind not in (HELD_OUT, VALIDATION):
        raise ValueError(f"{kind!r:.40} is not a kind of score")
    if "r2" in fields:
        return _number_score(kind, fields)
    accuracy, loss = fields["accuracy"], fields["log_loss"]
    for number in (accuracy, loss):
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number < math.inf:
            raise TypeError(f"{number!r:.40} is not a score")
    if accuracy > 1:
        raise ValueError(f"{accuracy!r} is not an accuracy")
    return Score(kind, as_count(fields["rows"]), float(accuracy), float(loss))


def _number_score(kind: str, fields: Any) -> NumberScore:
    r2 = math.nan if fields["r2"] is None else as_number(fields["r2"])
    errors = [as_number(fields[name]) for name in ("mean_absolute_error", "root_mean_squared_error")]
    if r2 > 1 or min(errors) < 0:
        raise ValueError("its score has an R² above 1, or a negative error")
    return NumberScore(kind, as_count(fields["rows"]), float(r2), *map(float, errors))


def _concept_score(fields: Any) -> ConceptScore:
    network, concept, accuracy = fields["network"], fields["concept"], fields["accuracy"]
    if not isinstance(network, str) or not isinstance(concept, str):
        raise TypeError("a concept score names no network")
    if accuracy is not None and (
        isinstance(accuracy, bool) or not isinstance(accuracy, (int, float)) or not 0 <= accuracy <= 1
    ):
        raise TypeError(f"{accuracy!r:.40} is not an accuracy")
    counts = as_count(fields["trained"]), as_count(fields["labels"])
    return ConceptScore(network, concept, *counts, None if accuracy is None else float(accuracy))
