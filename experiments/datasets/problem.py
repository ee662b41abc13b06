"""Problems: training, validation and test examples, labels of images, and true values to compare readings with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from neuid3.data.examples import Examples

Classes: TypeAlias = npt.NDArray[Any]
Labelled: TypeAlias = tuple[Examples, Classes]


class Rules(NamedTuple):
    """Background knowledge, the candidate tests of a tree, and the goals that its leaves may hold."""

    background: str
    tests: tuple[str, ...]
    leaves: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class TrueValues:
    """Examples whose images have known values.

    Attributes
    ----------
    examples : the examples, with all columns of the problem.
    values : the true value of each example's image, `(example,)`, by neural predicate and column, as in `rank(last)`.
    """

    examples: Examples
    values: Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """The examples of a unit.

    Attributes
    ----------
    train, validation, test : examples with their classes.
    concepts : labels of training images for `fit`: by predicate and column, the value of some rows.
    shown : examples whose images have known values, for the accuracy of what networks read.
    unseen : a second test set, of images of another kind.
    """

    train: Labelled
    validation: Labelled | None
    test: Labelled
    concepts: Mapping[str, Mapping[int, Any]] = field(default_factory=dict)
    shown: TrueValues | None = None
    unseen: Labelled | None = None


def one_label_per_value(values: npt.NDArray[Any]) -> dict[int, Any]:
    """The first row of every value, with the value.

    >>> one_label_per_value(np.array([3, 3, 1, 2, 1]))
    {2: 1, 3: 2, 0: 3}
    """
    found, rows = np.unique(values, return_index=True)
    return dict(zip(rows.tolist(), found.tolist(), strict=True))
