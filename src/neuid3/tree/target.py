"""Targets of examples with their weights, and the importance of columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Schema
from neuid3.data.derived import source_columns, table_columns
from neuid3.tree.criterion import Criterion, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """Targets of some examples with their weights, and the criterion that counts them.

    Attributes
    ----------
    values : what the criterion takes as targets, for classes their numbers, `(example,)`.
    weights : the weight of each example; at a node, times P(κ|e), `(example,)`.
    criterion : counts them.

    >>> from neuid3.tree.criteria import ClassCriterion
    >>> target = Target(np.array([0, 0, 1]), np.ones(3), ClassCriterion(2))
    >>> target.sums().tolist(), round(target.gain(np.array([1.0, 1.0, 0.0])), 3)
    ([2.0, 1.0], 0.918)
    """

    values: npt.NDArray[Any]
    weights: Floats
    criterion: Criterion

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Target:
        """The targets of these rows."""
        return Target(self.values[rows], self.weights[rows], self.criterion)

    @property
    def width(self) -> int:
        """The number of statistics."""
        width: int = self[:0].statistics().shape[1]
        return width

    def weighted(self, weights: Floats) -> Target:
        """The same targets with other weights.

        Parameters
        ----------
        weights : the new weights, `(example,)`.

        Returns
        -------
        The new target.
        """
        return Target(self.values, weights, self.criterion)

    def concatenated(self, values: npt.NDArray[Any], weights: Floats) -> Target:
        """These targets and others.

        Parameters
        ----------
        values : further targets, `(example,)`.
        weights : their weights, `(example,)`.

        Returns
        -------
        The new target.
        """
        return Target(np.concatenate((self.values, values)), np.concatenate((self.weights, weights)), self.criterion)

    def sums(self) -> Floats:
        """The sum of the statistics, `(statistic,)`."""
        return self.criterion.sums(self.values, self.weights)

    def statistics(self) -> Floats:
        """The statistics of each example, `(example, statistic)`."""
        return self.criterion.statistics(self.values, self.weights)

    def sums_by_code(self, codes: npt.NDArray[Any], size: int) -> Floats:
        """The sum of the statistics over the examples of each code, `(code, statistic)`.

        Parameters
        ----------
        codes : the code of each example, `(example,)`.
        size : the number of codes.

        Returns
        -------
        Statistics, `(code, statistic)`.
        """
        return self.criterion.sums_by_code(codes, size, self.values, self.weights)

    def sides(self, responses: Floats) -> tuple[Floats, Floats]:
        """The statistics of both children of a test with these responses P(τ | κ, e), `(statistic,)` each.

        Parameters
        ----------
        responses : P(τ | κ, e) of each example, `(example,)`.

        Returns
        -------
        The statistics of yes and of no.
        """
        yes = self.weighted(self.weights * responses).sums()
        return yes, self.weighted(self.weights * (1.0 - responses)).sums()

    def gain(self, responses: Floats) -> float:
        """The gain of a test with these responses P(τ | κ, e), `(example,)`.

        Parameters
        ----------
        responses : P(τ | κ, e) of each example, `(example,)`.

        Returns
        -------
        The gain.
        """
        return float(self.criterion.gain(*self.sides(responses)))

    def information_gain(self, responses: Floats) -> float:
        """The information gain of a test with these responses, in bits.

        Parameters
        ----------
        responses : P(τ | κ, e) of each example, `(example,)`.

        Returns
        -------
        Bits.
        """
        return float(self.criterion.information_gain(*self.sides(responses)))

    def mean_information_gain(self, sides: Floats) -> float:
        """Mean information gain of several tests, each applied to examples of its own, weighted by their mass, in bits.

        Parameters
        ----------
        sides : `(side, example)`; for each test a row of responses and a row of their complements, 0 for other examples.

        Returns
        -------
        Bits.

        >>> from neuid3.tree.criteria import ClassCriterion
        >>> sides = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
        >>> target = Target(np.array([0, 1, 1]), np.ones(3), ClassCriterion(2))
        >>> round(target.mean_information_gain(sides), 3)  # the first test separates its two examples
        0.667
        """
        sums = np.stack([self.weighted(self.weights * side).sums() for side in sides])
        gains = self.criterion.information_gain(sums[0::2], sums[1::2])
        return float(np.average(gains, weights=self.criterion.mass(sums[0::2] + sums[1::2])))


def column_importances(gains: Iterable[tuple[Sequence[str], float]], schema: Schema) -> npt.NDArray[np.float64]:
    """Importance of each column: its fraction of the total gain; a test divides its gain evenly among its columns.

    The gain of a derived column, such as `month(ordered)`, is that of the columns that it is computed from.

    Parameters
    ----------
    gains : for each test its columns and its gain times the mass of its node; others than those below, as the pictures of
        slots, count for nothing.
    schema : the kinds of all columns; the result has the order of those that are not derived.

    >>> from neuid3.data.columns import Number
    >>> column_importances([(("a", "b"), 2.0), (("b",), 2.0)], dict.fromkeys("abc", Number())).tolist()
    [0.25, 0.75, 0.0]
    """
    importance = dict.fromkeys(table_columns(schema), 0.0)
    for columns, total_gain in gains:
        known = [name for name in source_columns(columns, schema) if name in importance]
        for name in known:
            importance[name] += total_gain / len(known)
    total = sum(importance.values()) or 1.0
    return np.array([value / total for value in importance.values()])
