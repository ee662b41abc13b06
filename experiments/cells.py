"""Cells of result tables: scores, times, readings and numbers of networks over the folds or seeds of a unit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from experiments import settings
from experiments.datasets.keel import FOLDS as KEEL_FOLDS
from experiments.published import Published
from experiments.store import Result
from experiments.tables import Cell, Entry, Table
from experiments.units import Unit

Results = Mapping[Unit, Result]
Score = Callable[[Result], float]

ONE_INSTANCE = 0.95  # bar of the share of trees that have one instance of each network


def unit_cell(results: Results, score: Score, first: Unit, reference: Published | float | None = None) -> Cell:
    """A cell over all folds or seeds of a unit."""
    return Cell(tuple(map(score, finished(results, first))), unit_count(first), reference)


def finished(results: Results, first: Unit) -> list[Result]:
    """The results of the finished folds or seeds of a unit."""
    numbered = (replace(first, number=number) for number in range(unit_count(first)))
    return [results[unit] for unit in numbered if unit in results]


def unit_count(unit: Unit) -> int:
    """Number of folds or seeds of a unit."""
    if unit.experiment in ("uci", "image-ensembles"):
        return settings.FOLDS
    if unit.experiment == "keel":
        return KEEL_FOLDS
    if unit.experiment in settings.SEEDS_OF:
        return settings.SEEDS_OF[unit.experiment]
    return settings.SEEDS_44M if unit.model == "nn44m" else settings.SEEDS


def accuracy_of(result: Result) -> float:
    return result.accuracy


def seconds_of(result: Result) -> float:
    return result.seconds


def f1_of(label: str) -> Score:
    return lambda result: result.f1(label)


def time_cell(results: Results, first: Unit, reference: float | None = None, bar: float | None = None) -> Cell:
    return replace(unit_cell(results, seconds_of, first, reference), bar=bar, at_most=True, decimals=None)


def mean_cell(cells: Sequence[Cell], per_unit: int = 1) -> Cell:
    """The mean over cells with finished units, and the published mean over the same cells; a unit belongs to `per_unit` cells.

    Where all cells have bars, the published mean is the bar of their mean.
    """
    nonempty = [cell for cell in cells if cell.values]
    references = [cell.published.mean for cell in nonempty if isinstance(cell.published, Published)]
    reference = fmean(references) if references and len(references) == len(nonempty) else None
    bar = reference if all(cell.bar is not None for cell in cells) else None
    finished_units, expected = (sum(counts) // per_unit for counts in zip(*(cell.units for cell in cells), strict=True))
    means = tuple(fmean(cell.values) for cell in nonempty)
    return Cell(means, len(cells), reference, bar, show_std=False, unit_counts=(finished_units, expected))


def column_means(rows: Sequence[tuple[Entry, ...]], per_unit: int = 1) -> list[Cell]:
    columns = list(zip(*rows, strict=True))[1:]
    return [mean_cell([cell for cell in column if isinstance(cell, Cell)], per_unit) for column in columns]


def reading_cell(
    results: Results,
    first: Unit,
    measure: str = "accuracy",
    predicate: str | None = None,
    without: float | None = None,
) -> Cell:
    """A measure of what the networks of trees read, as a mean over the instances of each tree.

    Parameters
    ----------
    results : results by unit.
    first : the first seed of the units.
    measure : "accuracy", "matched" or "sum_accuracy".
    predicate : the neural predicate; None for all that have true values.
    without : the value of a tree that has no such network; None leaves it out.
    """
    values: list[float] = []
    left_out = 0
    for result in finished(results, first):
        measured = [
            float(reading[measure])
            for reading in result.record["readings"]
            if predicate is None or reading["predicate"] == predicate
        ]
        if measured or without is not None:
            values.append(fmean(measured) if measured else float(without or 0.0))
        else:
            left_out += 1
    return Cell(tuple(values), unit_count(first) - left_out)


def instance_cell(results: Results, first: Unit) -> Cell:
    """The number of network instances of trees."""
    return replace(unit_cell(results, lambda result: float(result.record["instances"]), first), decimals=2)


def extreme_cell(
    choose: Callable[[Iterable[float]], float], cell: Cell, bar: float | None, at_most: bool = False
) -> Cell:
    """The lowest or highest value of a cell, with a bar of its own."""
    return Cell((choose(cell.values),) if cell.values else (), 1, bar=bar, at_most=at_most, decimals=cell.decimals)


def network_table(results: Results, groups: Mapping[str, Sequence[Unit]], bars: Collection[str] = ()) -> Table:
    """The number of network instances in groups of trees; those in `bars` are held to `ONE_INSTANCE`.

    Files of units that were run before the numbers were recorded do not count.
    """
    rows: list[tuple[Entry, ...]] = []
    for name, group in groups.items():
        records = [results[unit].record for unit in group if unit in results]
        counts = [
            (float(record["instances"]), float(record["declared"])) for record in records if "instances" in record
        ]
        single = tuple(float(instances == declared) for instances, declared in counts)
        share = Cell(single, len(group), bar=ONE_INSTANCE if name in bars else None, show_std=False)
        numbers = (Cell(tuple(pair[i] for pair in counts), len(group), decimals=2, show_std=False) for i in (0, 1))
        rows.append((name, share, *numbers))
    columns = ("trees", "share with one instance of each network", "network instances", "declared networks in use")
    return Table("Networks of the trees", columns, tuple(rows))
