"""Numbers as targets, and the choice between classes and numbers."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.errors import DataError

_MOMENTS = (dt.date, dt.time, dt.timedelta)


def number_targets(y: npt.NDArray[Any], where: str = "y") -> npt.NDArray[np.float64]:
    """Targets as finite numbers.

    Parameters
    ----------
    y : the targets, `(example,)`.
    where : what holds them, for messages.

    Raises
    ------
    DataError : where one is text, a date or a duration, or not finite.
    """
    if y.dtype.kind in "OUS" and any(isinstance(label, (str, bytes)) for label in y.tolist()):
        text = next(label for label in y.tolist() if isinstance(label, (str, bytes)))
        raise DataError(
            f"{where} holds text such as {text!r:.40}, and a regressor predicts numbers; to predict classes use "
            "NeuID3Classifier, or `neuid3 fit --task classification`."
        )
    if y.dtype.kind in "mM" or any(isinstance(label, _MOMENTS) for label in y[:1].tolist()):
        raise DataError(
            f"{where} holds dates or times such as {y[0]}, and a regressor predicts numbers; give a number of days or "
            "seconds, for instance (dates - dates.min()).dt.days."
        )
    try:
        numbers = y.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"{where} holds something that is no number ({error}); give one number for each example."
        ) from None
    if np.isnan(numbers).any():
        raise DataError(f"Input {where} contains NaN: every example needs a number; drop the rows without one.")
    if not np.isfinite(numbers).all():
        raise DataError(
            f"Input {where} contains infinity or a value too large for dtype('float64'); every example needs a finite "
            "number."
        )
    return numbers
