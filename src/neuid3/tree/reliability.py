"""Reliability of class probabilities: how often predictions are right, by how probable they were said to be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Rows whose predictions were about equally probable.

    Attributes
    ----------
    rows : how many rows there are.
    confidence : the mean probability of the predicted class.
    accuracy : the fraction of rows whose prediction is right.
    error : the standard error of this fraction, as far as so few rows tell.
    """

    rows: int
    confidence: float
    accuracy: float
    error: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """A reliability diagram and its expected calibration error.

    Attributes
    ----------
    rows : how many rows there are.
    bins : from the least to the most probable predictions, with about as many rows each.
    calibration_error : the mean difference between confidence and accuracy of the bins, weighted by their rows.
    error : its standard error.
    by_chance : the calibration error that a perfectly calibrated model would show on as many rows, on average.
    """

    rows: int
    bins: tuple[ReliabilityBin, ...]
    calibration_error: float
    error: float
    by_chance: float

    def __str__(self) -> str:
        return (
            f"expected calibration error {self.calibration_error:.3f} (standard error {self.error:.3f}); on {self.rows:,} rows "
            f"a perfectly calibrated model would show {self.by_chance:.3f}"
        )

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON.

        Returns
        -------
        Numbers by name, with one object for each bin.
        """
        return {
            "rows": self.rows,
            "calibration_error": self.calibration_error,
            "standard_error": self.error,
            "by_chance": self.by_chance,
            "bins": [
                {"rows": b.rows, "confidence": b.confidence, "accuracy": b.accuracy, "standard_error": b.error}
                for b in self.bins
            ],
        }


def reliability(probabilities: Floats, codes: npt.NDArray[np.int64], bins: int = 10) -> Reliability:
    """The reliability of class probabilities on rows with known classes.

    Bins hold about as many rows each; equally probable predictions are never divided between two. With few rows even a
    perfectly calibrated model shows some calibration error, see `by_chance`.

    Parameters
    ----------
    probabilities : class probabilities, `(row, class)`.
    codes : the index of the class of each row, `(row,)`.
    bins : the most bins.

    Returns
    -------
    The reliability.

    >>> found = reliability(np.array([[0.75, 0.25]] * 4 + [[0.0, 1.0]] * 4), np.array([0, 0, 0, 1, 1, 1, 1, 1]))
    >>> [(b.rows, b.confidence, b.accuracy) for b in found.bins], found.calibration_error
    ([(4, 0.75, 0.75), (4, 1.0, 1.0)], 0.0)
    """
    predicted = probabilities.argmax(axis=1)
    confidence = probabilities[np.arange(len(predicted)), predicted]
    is_right = (predicted == codes).astype(np.float64)
    order = np.argsort(confidence, kind="stable")
    parts = _equal_parts(confidence[order], bins)
    made, expected, variance = [], 0.0, 0.0
    for start, stop in parts:
        rows = order[start:stop]
        share, confidences = len(rows) / len(order), confidence[rows]
        accuracy = float(is_right[rows].mean())
        # Half a success and half a failure are added: that a few rows have no mistake does not make it certain.
        smoothed = (accuracy * len(rows) + 0.5) / (len(rows) + 1.0)
        error = math.sqrt(smoothed * (1.0 - smoothed) / len(rows))
        made.append(ReliabilityBin(len(rows), float(confidences.mean()), accuracy, error))
        variance += (share * error) ** 2
        # The mean absolute deviation of a normal variable with the variance of a calibrated bin.
        expected += share * math.sqrt(2.0 / math.pi * float((confidences * (1.0 - confidences)).sum())) / len(rows)
    difference = sum(b.rows * abs(b.confidence - b.accuracy) for b in made) / len(order)
    return Reliability(len(order), tuple(made), difference, math.sqrt(variance), expected)


def _equal_parts(ascending: Floats, parts: int) -> list[tuple[int, int]]:
    """Ranges of about as many entries of an ascending array; equal entries are in one range."""
    n = len(ascending)
    starts = np.searchsorted(ascending, ascending - 1e-12, side="left")  # where the run of equal entries begins
    cuts = {int(starts[round(i * n / parts)]) for i in range(1, parts) if 0 < round(i * n / parts) < n}
    bounds = [0, *sorted(cuts - {0}), n]
    return [(low, high) for low, high in pairwise(bounds) if high > low]
