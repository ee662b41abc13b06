"""Growth of a forest: trees from bootstrap samples and random tests, side by side, with out-of-bag predictions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed, effective_n_jobs

from neuid3.binned import (
    BinnedCriterion,
    BinnedForest,
    BinnedGrower,
    BinnedLimits,
    BinnedTable,
    BinnedTarget,
    BinnedTests,
    BinnedTree,
    ColumnValues,
    column_values,
)
from neuid3.binned.averaged import Forest
from neuid3.data.examples import Examples
from neuid3.errors import ParameterError
from neuid3.learning.candidates import Candidates
from neuid3.tree.criteria import ClassCriterion, NumberCriterion
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.target import Target

Floats = npt.NDArray[np.float64]

# The groups of trees that a worker grows one after the other, for each worker.
GROUPS = 4

# What "auto" is chosen from, the first of which is taken where it is not chosen: for classes, and for numbers.
MASSES = (2.0, 4.0, 10.0)
FEATURES: dict[bool, tuple[str | float, ...]] = {False: ("sqrt", "2sqrt", 1.0), True: (1.0, 1 / 3)}

# It is chosen by out-of-bag predictions of so many trees, on tables with at most so many rows.
PILOT_TREES, PILOT_ROWS = 40, 20_000

# Number columns of larger tables are divided into so many quantiles.
MANY_ROWS, QUANTILES = 20_000, 255


@dataclass(frozen=True, slots=True)
class ForestSettings:
    """How a forest is grown.

    Attributes
    ----------
    n_estimators : the number of trees.
    max_features : the tests that are drawn at each node: a number, a fraction, "sqrt", "log2", None for all, or "auto".
    min_mass : the least mass of a node that is split, or "auto".
    bootstrap : whether each tree has a bootstrap sample of the rows, or all of them.
    max_samples : the rows of a bootstrap sample: a number, a fraction, or None for as many as there are.
    limits : further limits of each tree.
    """

    n_estimators: int
    max_features: int | float | str | None
    min_mass: float | str
    bootstrap: bool
    max_samples: int | float | None
    limits: BinnedLimits


@dataclass(frozen=True, slots=True, eq=False)
class LearnedForest:
    """The outcome of a fit.

    Attributes
    ----------
    forest : the trees.
    oob_values : for each row, the average of the trees that it is out of bag of, `(row, value)`; None where not asked for.
    oob_counts : the number of these trees, `(row,)`.
    skipped_trees : trees that were not grown because time was up.
    """

    forest: Forest
    oob_values: Floats | None
    oob_counts: npt.NDArray[np.int64] | None
    skipped_trees: int


def drawn_number(max_features: int | float | str | None, tests: int) -> int:
    """The number of tests that are drawn at a node.

    Parameters
    ----------
    max_features : as in `ForestSettings`.
    tests : the number of tests that may be drawn.

    Raises
    ------
    ParameterError : where it is no such number.

    >>> drawn_number("sqrt", 50), drawn_number(0.3, 10), drawn_number(None, 10)
    (7, 3, 10)
    """
    match max_features:
        case None:
            return max(tests, 1)
        case "sqrt":
            return max(int(math.sqrt(tests)), 1)
        case "2sqrt":
            return min(max(int(2 * math.sqrt(tests)), 1), max(tests, 1))
        case "log2":
            return max(int(math.log2(max(tests, 1))), 1)
        case int() if max_features >= 1:
            return min(int(max_features), max(tests, 1))
        case float() if 0.0 < max_features <= 1.0:
            return max(int(max_features * tests), 1)
        case _:
            raise ParameterError(
                f"max_features={max_features!r} is no number of tests; give 'sqrt', 'log2', None, an integer from 1 or a "
                "fraction in (0, 1]."
            )


def forest_tests(table: BinnedTable, candidates: Candidates) -> BinnedTests:
    """What may be drawn at a node: one draw for each column, or for each of those values of it that are candidates.

    Parameters
    ----------
    table : the coded columns, with the responses of tests that are no columns.
    candidates : the candidates of the fit.
    """
    numbers = {column.name: j for j, column in enumerate(table.columns) if column.fact is None}
    draws: dict[tuple[int, int], None] = {}
    offered: dict[int, set[int]] = {}
    for test in candidates.tests:
        match test.column_value:
            case (name, True) if name in numbers:
                draws[numbers[name], -1] = None
            case (name, value) if name in numbers:
                offered.setdefault(numbers[name], set()).add(table.columns[numbers[name]].values.index(value))
    for j, codes in offered.items():
        occurring = set(np.flatnonzero(table.columns[j].prior > 0).tolist())
        draws |= dict.fromkeys([(j, -1)] if codes >= occurring else [(j, code) for code in sorted(codes)])
    draws |= dict.fromkeys((numbers[name], -1) for name in candidates.numbers if name in numbers)
    draws |= dict.fromkeys((j, -1) for j, column in enumerate(table.columns) if column.fact is not None)
    pairs = np.array(sorted(draws), dtype=np.int32).reshape(-1, 2)
    return BinnedTests(np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]))


def binned_target(target: Target) -> BinnedTarget:
    """Targets as the engine counts them.

    Parameters
    ----------
    target : the targets, with their weights and criterion.
    """
    criterion = target.criterion
    if isinstance(criterion, ClassCriterion):
        kind = BinnedCriterion.GINI if criterion.name == "gini" else BinnedCriterion.ENTROPY
        return BinnedTarget.of_classes(target.values, criterion.classes, target.weights, kind)
    return BinnedTarget.of_numbers(target.values, target.weights)


@dataclass(frozen=True, slots=True, eq=False)
class UnseenRows:
    """Rows that no network was trained on: below networks, they determine what nodes say.

    Attributes
    ----------
    rows : the numbers of these rows.
    values : their entries.
    neural : the columns whose tests call networks.
    """

    rows: npt.NDArray[np.int64]
    values: ColumnValues
    neural: frozenset[int]


class ForestGrower:
    """Grows the trees of a forest, side by side.

    Parameters
    ----------
    table : the coded columns.
    tests : what may be drawn at a node.
    target : the targets of all rows.
    settings : how the forest is grown.
    seed : seed of all draws; a tree depends on it and on its number alone.
    values : the entries of the rows, for out-of-bag predictions; None where these are not needed.
    unseen : the rows that no network was trained on; None where no network was trained.
    groups : the number of each row's group, which is in the bag of a tree as a whole; None without groups.
    """

    def __init__(
        self,
        table: BinnedTable,
        tests: BinnedTests,
        target: Target,
        settings: ForestSettings,
        seed: int,
        values: ColumnValues | None = None,
        unseen: UnseenRows | None = None,
        groups: npt.NDArray[np.int64] | None = None,
    ) -> None:
        self.unseen, self.groups = unseen, groups
        self.grower, self.tests, self.settings, self.seed, self.values = (
            BinnedGrower(table),
            tests,
            settings,
            seed,
            values,
        )
        self.target, self.criterion = binned_target(target), target.criterion
        settings = self.settings = _chosen(settings, isinstance(target.criterion, NumberCriterion))
        drawn = drawn_number(settings.max_features, len(tests))
        self.limits = replace(
            settings.limits,
            max_features=None if drawn >= len(tests) else drawn,
            min_mass=float(settings.min_mass),
        )
        self.rows = _sample_size(settings.max_samples, table.rows)

    def bag(self, number: int) -> Floats:
        """How often each row is in the bootstrap sample of a tree, `(row,)`.

        Parameters
        ----------
        number : the number of the tree.
        """
        rows = self.grower.table.rows
        if not self.settings.bootstrap:
            return np.ones(rows)
        rng = np.random.default_rng([self.seed, number])
        if self.groups is None:
            return np.bincount(rng.integers(0, rows, self.rows), minlength=rows).astype(np.float64)
        count = int(self.groups.max()) + 1
        drawn = rng.integers(0, count, max(round(count * self.rows / rows), 1))
        return np.bincount(drawn, minlength=count).astype(np.float64)[self.groups]

    def tree(self, number: int) -> BinnedTree:
        """A tree by its number.

        Parameters
        ----------
        number : the number of the tree.
        """
        target = self.target.weighted(self.target.weights * self.bag(number))
        tree = self.grower.grow(target, self.limits, _mixed_seed(self.seed, number), self.tests)
        return tree if self.unseen is None else self._estimated(tree, target, self.unseen)

    def _estimated(self, tree: BinnedTree, target: BinnedTarget, unseen: UnseenRows) -> BinnedTree:
        """The tree with the statistics of nodes below networks estimated from the rows that these have not seen."""
        starts, leaves, reach = BinnedForest([tree], self.grower.table.columns).reach(unseen.values)
        rows = np.repeat(unseen.rows, np.diff(starts))
        weights = target.weights[rows] * reach
        if target.criterion < BinnedCriterion.SQUARED_ERROR:
            counted = np.zeros((len(rows), target.width))
            counted[np.arange(len(rows)), target.classes[rows]] = weights
        else:
            numbers = target.first[rows] + target.offset
            counted = np.stack((weights, weights * numbers, weights * numbers**2), axis=1)
        sums = np.zeros_like(tree.statistics)
        np.add.at(sums, np.flatnonzero(tree.is_leaf)[leaves], counted)
        below_network = np.zeros(len(sums), dtype=bool)
        for node in range(1, len(sums)):
            parent = tree.parent[node]
            below_network[node] = below_network[parent] or int(tree.column[parent]) in unseen.neural
        for node in range(len(sums) - 1, 0, -1):  # children before their parents
            sums[tree.parent[node]] += sums[node]
        statistics = tree.statistics.copy()
        for node in np.flatnonzero(below_network).tolist():
            statistics[node] = self.criterion.leaf_statistics(tree.statistics[node], sums[node])
        return replace(tree, statistics=statistics)

    def forest(self, trees: Sequence[BinnedTree], classes: tuple[Any, ...]) -> Forest:
        """The forest of these trees.

        Parameters
        ----------
        trees : the trees.
        classes : the labels of the classes; none for numbers.
        """
        columns = tuple(column.without_rows() for column in self.grower.table.columns)
        classes = classes or tuple(range(self.target.width))
        if isinstance(self.criterion, NumberCriterion):
            return Forest(tuple(trees), columns, (), self.criterion.center, self.criterion.scale)
        return Forest(tuple(trees), columns, classes)

    def out_of_bag(self, forest: Forest, first: int = 0) -> tuple[Floats, npt.NDArray[np.int64]]:
        """For each row, the sum of the trees that it is out of bag of, and their number.

        Parameters
        ----------
        forest : the forest.
        first : the number of its first tree.
        """
        assert self.values is not None
        rows = self.grower.table.rows
        sums, counts = np.zeros((rows, forest.leaf_values.shape[1])), np.zeros(rows, dtype=np.int64)
        for i in range(len(forest)):
            out = np.flatnonzero(self.bag(first + i) == 0)
            if self.unseen is not None:  # never rows that networks were trained on
                out = np.intersect1d(out, self.unseen.rows)
            sums[out] += forest.applied.sums(self.values[out], forest.leaf_values, trees=[i])
            counts[out] += 1
        return sums, counts


def tuned(make: Callable[[ForestSettings], ForestGrower], settings: ForestSettings, jobs: int | None) -> ForestSettings:
    """The settings with `max_features` and `min_mass` chosen where they are "auto", by out-of-bag predictions.

    First the mass is chosen, then the number of tests. All forests that are compared have the same bootstrap samples.

    Parameters
    ----------
    make : makes the grower of a forest with these settings, with the entries of the rows.
    settings : the settings, some of them "auto".
    jobs : the number of workers.
    """
    pilot = replace(settings, n_estimators=min(PILOT_TREES, settings.n_estimators))
    best, scores = settings, {}

    def score(candidate: ForestSettings) -> float:
        grower = make(replace(pilot, max_features=candidate.max_features, min_mass=candidate.min_mass))
        key = (grower.limits.max_features, grower.limits.min_mass)
        if key not in scores:
            scores[key] = _oob_score(grow_forest(grower, (), jobs=jobs), grower)
        return scores[key]

    numbers = isinstance(make(pilot).criterion, NumberCriterion)
    if settings.min_mass == "auto":
        best = max((replace(best, min_mass=mass) for mass in MASSES), key=score)
    if settings.max_features == "auto":
        best = max((replace(best, max_features=features) for features in FEATURES[numbers]), key=score)
    return best


def _oob_score(learned: LearnedForest, grower: ForestGrower) -> float:
    """The weighted accuracy of out-of-bag predictions, or minus their mean squared error; the higher the better."""
    assert learned.oob_values is not None
    known, target = np.isfinite(learned.oob_values).all(1), grower.target
    if not known.any():
        return 0.0
    values, weights = learned.oob_values[known], target.weights[known]
    if target.criterion < BinnedCriterion.SQUARED_ERROR:
        return float(np.average(values.argmax(1) == target.classes[known], weights=weights))
    errors = values[:, 0] / learned.forest.scale - target.first[known] - target.offset
    return -float(np.average(errors**2, weights=weights))


def _chosen(settings: ForestSettings, numbers: bool) -> ForestSettings:
    """The settings with the first choice in place of "auto"."""
    if settings.min_mass == "auto":
        settings = replace(settings, min_mass=MASSES[0])
    return replace(settings, max_features=FEATURES[numbers][0]) if settings.max_features == "auto" else settings


def grow_forest(
    grower: ForestGrower,
    classes: tuple[Any, ...],
    *,
    jobs: int | None = None,
    deadline: float = math.inf,
    with_oob: bool = True,
    clock: Callable[[], float] = time.monotonic,
) -> LearnedForest:
    """The trees of a forest, grown by several workers; the result does not depend on their number.

    Parameters
    ----------
    grower : grows single trees.
    classes : the labels of the classes; none for numbers.
    jobs : the number of workers: threads here, or those of the joblib backend that is active, such as Dask's.
    deadline : the time of `clock` from which on no tree is begun; the first is always grown.
    with_oob : whether out-of-bag predictions are computed, where the grower has the entries of the rows.
    clock : tells the time.
    """
    count = grower.settings.n_estimators
    workers = effective_n_jobs(jobs)
    groups = np.array_split(np.arange(count), min(count, GROUPS * workers if workers > 1 or deadline < math.inf else 1))

    def grown(numbers: npt.NDArray[np.int64]) -> list[BinnedTree]:
        return [grower.tree(int(number)) for number in numbers if number == 0 or clock() < deadline]

    if workers == 1:
        parts = [grown(numbers) for numbers in groups]
    elif deadline < math.inf:
        parts = Parallel(n_jobs=workers, require="sharedmem")(delayed(grown)(numbers) for numbers in groups)
    else:
        parts = Parallel(n_jobs=workers, prefer="threads")(delayed(_grown)(grower, numbers) for numbers in groups)
    trees = [tree for part in parts for tree in part]
    forest = grower.forest(trees, classes)
    if grower.values is None or not with_oob:
        return LearnedForest(forest, None, None, count - len(trees))
    sums, counts = grower.out_of_bag(forest)
    values = np.divide(sums, counts[:, None], out=np.full_like(sums, np.nan), where=counts[:, None] > 0)
    return LearnedForest(forest, values, counts, count - len(trees))


def _grown(grower: ForestGrower, numbers: npt.NDArray[np.int64]) -> list[BinnedTree]:
    """Some trees, in a worker that may be another process."""
    return [grower.tree(int(number)) for number in numbers]


def training_values(
    table: BinnedTable, examples: Examples, facts: Mapping[NodeTest, npt.NDArray[Any]] | None = None
) -> ColumnValues:
    """The entries of all rows, as trees read them."""
    return column_values(table.columns, examples, facts=facts)


def max_bins_for(rows: int) -> int:
    """The codes of a number column: one for each distinct number of a small table, quantiles of a large one."""
    return QUANTILES if rows > MANY_ROWS else 65_535


def _sample_size(max_samples: int | float | None, rows: int) -> int:
    match max_samples:
        case None:
            return rows
        case int() if 1 <= max_samples <= rows:
            return int(max_samples)
        case float() if 0.0 < max_samples <= 1.0:
            return max(round(max_samples * rows), 1)
        case _:
            raise ParameterError(
                f"max_samples={max_samples!r} is no size of a sample of {rows} rows; give an integer from 1 to {rows}, a "
                "fraction in (0, 1], or None for all."
            )


def _mixed_seed(seed: int, number: int) -> int:
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])
