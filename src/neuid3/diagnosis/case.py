"""What a diagnosis looks at: examples, targets, candidates, the fitted tree, and other fits of the same data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from neuid3.data.derived import parse_derived, table_columns
from neuid3.data.examples import Examples
from neuid3.data.kinds import Series, Tensor, Text
from neuid3.learning.problem import Problem
from neuid3.training.config import TrainingConfig
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.record import AnyScore, Score
from neuid3.tree.semantics import Semantics
from neuid3.tree.target import Target
from neuid3.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class Outcome:
    """A fitted tree.

    Attributes
    ----------
    tree : the tree.
    validation : its score on the validation split, which no network was trained on; None without one.
    predictions : the class number or the number that it predicts for each example, `(example,)`.
    """

    tree: Tree
    validation: AnyScore | None
    predictions: npt.NDArray[Any]


class Refit(Protocol):
    """Fits of the same data with some parameters changed."""

    def __call__(
        self,
        changes: Mapping[str, Any],
        columns: Mapping[str, npt.NDArray[Any]] | None = None,
        weights: npt.NDArray[np.float64] | None = None,
    ) -> Outcome:
        """The outcome of a fit with changed parameters, or of a plain tree over other columns.

        Parameters
        ----------
        changes : new values of parameters, by name.
        columns : the columns that a tree without background knowledge is learned from; None for the data as they are.
        weights : the weight of each row, 1 by default.
        """
        ...


@dataclass(frozen=True, eq=False)
class Case:
    """A fit that is diagnosed.

    Attributes
    ----------
    examples : the examples.
    target : their targets, each of weight 1.
    problem : the program and the candidates.
    outcome : the fitted tree.
    config : how networks are trained.
    classes : the labels of the classes; none for numbers.
    min_child_mass : the least mass of each child of a split.
    pruning : the strength of pruning.
    refit : fits of the same data with some parameters changed.
    location : what a row is called in texts.
    """

    examples: Examples
    target: Target
    problem: Problem
    outcome: Outcome
    config: TrainingConfig
    classes: tuple[Any, ...]
    min_child_mass: float
    pruning: float
    refit: Refit
    location: Callable[[int], str]

    @cached_property
    def semantics(self) -> Semantics:
        """The formulas and network calls of the candidates."""
        return Semantics(self.problem.program, self.problem.candidates.tests)

    @cached_property
    def neural_tests(self) -> tuple[NodeTest, ...]:
        """The candidates that call networks."""
        return tuple(test for test in self.problem.candidates.tests if self.semantics.is_neural(test))

    @property
    def symbolic_tests(self) -> tuple[NodeTest, ...]:
        """The candidates that call none, without the cuts of number columns."""
        neural = set(self.neural_tests)
        return tuple(test for test in self.problem.candidates.tests if test not in neural)

    @cached_property
    def columns(self) -> list[str]:
        """The columns of the table that candidates read, in its order; all of them where a generator makes candidates."""
        candidates, program = self.problem.candidates, self.problem.program
        read = set(candidates.numbers).union(*(test.columns(program) for test in candidates.tests))
        for family in candidates.families:
            read |= family.test(0.0, program).columns(program)
        schema = self.examples.schema
        derived = [found for name in read if (found := parse_derived(name, schema)) is not None]
        read |= {name for found in derived for name in found.columns}
        return [name for name in table_columns(schema) if name in read or not read]

    @cached_property
    def phrases(self) -> frozenset[str]:
        """The derived columns of phrases, which were chosen by what they tell of the targets."""
        schema = self.examples.schema
        derived = {name: parse_derived(name, schema) for name in self.examples.names}
        return frozenset(name for name, found in derived.items() if found is not None and found.phrase is not None)

    @cached_property
    def pictures(self) -> list[str]:
        """The columns of images and vectors that networks of candidates read, without texts and series."""
        read = set[str]().union(*(test.columns(self.problem.program) for test in self.neural_tests))
        kinds = {name: self.examples.schema[name] for name in self.columns if name in read}
        return [
            name for name, kind in kinds.items() if isinstance(kind, Tensor) and not isinstance(kind, (Text, Series))
        ]

    @property
    def is_single_leaf(self) -> bool:
        """Whether the tree has no test."""
        return not self.outcome.tree.tests

    @property
    def baseline(self) -> float:
        """The accuracy of the most frequent class; 0 for numbers."""
        return float(np.bincount(self.target.values).max() / len(self.target)) if self.classes else 0.0


def is_confirmed(score: AnyScore, baseline: float) -> bool:
    """Whether unseen rows confirm that something was learned.

    For classes, the most frequent class would be right so often with a probability below 0.01; for numbers, more than a
    twentieth of the variance is explained.

    Parameters
    ----------
    score : the score on the unseen rows.
    baseline : the accuracy of the most frequent class.
    """
    if isinstance(score, Score):
        return chance(round(score.accuracy * score.rows), score.rows, baseline) < 0.01
    return bool(score.r2 > max(0.05, 4 / max(score.rows, 1)))


def chance(successes: int, trials: int, rate: float) -> float:
    """The probability of so many successes or more, each with the same rate.

    >>> round(chance(9, 10, 0.5), 4)
    0.0107
    """
    from scipy.stats import binom

    return float(binom.sf(successes - 1, trials, rate))


def accuracy_of(score: AnyScore) -> float:
    """Accuracy, or R² of numbers."""
    return score.accuracy if isinstance(score, Score) else float(score.r2)
