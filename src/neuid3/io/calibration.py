"""The calibration of a model in its file: scores and leaves of calibration rows among the tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.io.container import Tensors
from neuid3.tree.conformal import Calibration

# Names of tensors; no network has the name `/calibration`.
SCORES, LEAVES = "/calibration/scores", "/calibration/leaves"


def calibration_tensors(calibration: Calibration | None) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a calibration; empty without one."""
    if calibration is None:
        return {}
    return {SCORES: calibration.scores.astype(np.float64), LEAVES: calibration.leaves.astype(np.int32)}


def without_calibration(tensors: Tensors) -> Tensors:
    """The tensors of a file that are not those of its calibration."""
    return {name: values for name, values in tensors.items() if name not in (SCORES, LEAVES)}


def calibration_from_tensors(tensors: Tensors, leaves: int) -> Calibration | None:
    """The calibration of a file; None where it has none.

    Parameters
    ----------
    tensors : those of the file.
    leaves : the number of leaves of its tree.
    """
    if SCORES not in tensors:
        return None
    scores, of_rows = np.asarray(tensors[SCORES]), np.asarray(tensors[LEAVES])
    kinds = (scores.dtype, of_rows.dtype) == (np.dtype(np.float64), np.dtype(np.int32))
    if not kinds or scores.ndim != 1 or scores.shape != of_rows.shape or not len(scores):
        raise ValueError("the scores of its calibration are inconsistent")
    if not (np.isfinite(scores).all() and scores.min() >= -1e-6 and of_rows.min() >= 0 and of_rows.max() < leaves):
        raise ValueError("its calibration has a score or a leaf that cannot be")
    return Calibration(scores, of_rows.astype(np.int64))
