"""Worlds: examples whose parts have missing or probable entries, with these entries filled in, and their probabilities."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Boolean, Category, Column, Number, Probability
from neuid3.data.examples import Examples
from neuid3.data.parts import GroupedRows, Indices, has_parts, structure_of
from neuid3.data.priors import ColumnPrior, Priors, column_priors, part_kinds
from neuid3.data.slots import slot_name

Floats: TypeAlias = npt.NDArray[np.float64]

# The most worlds of one example whose probabilities are summed, and the draws that stand for more.
MAX_WORLDS = 1 << 14
DRAWS = 1 << 12


@dataclass(frozen=True, slots=True, eq=False)
class Worlds:
    """Examples with all entries of their parts, in the order of the examples that they stand for.

    Attributes
    ----------
    examples : the worlds as examples.
    owner : the number of the example that each stands for, `(world,)`.
    weights : the probability of each, which sum to 1 for every example, `(world,)`.
    """

    examples: Examples
    owner: Indices
    weights: Floats


@dataclass(frozen=True, slots=True, eq=False)
class OpenEntries:
    """The entries of one column of parts that are missing or only probable.

    Attributes
    ----------
    table : the type of part, or the relation.
    column : the name of the column.
    rows : the row of each entry in the table of all parts of this type, `(entry,)`.
    example : the example of each entry, in ascending order, `(entry,)`.
    values : the values that each may have, as the column holds them, `(entry, value)`.
    weights : their probabilities, `(entry, value)`.
    """

    table: str
    column: str
    rows: Indices
    example: Indices
    values: npt.NDArray[np.generic]
    weights: Floats


def open_entries(
    examples: Examples, priors: Priors, thresholds: Mapping[str, Sequence[float] | None] | None = None
) -> list[OpenEntries]:
    """The entries of parts that are missing or only probable, in columns that matter.

    Parameters
    ----------
    examples : the examples.
    priors : the distributions of missing entries, by names such as `car.long`.
    thresholds : for each column that matters, by its name alone, the numbers that it is compared with; values between two of
        them are one. None where every value matters. By default all columns matter.

    Returns
    -------
    One item for each column with such entries.

    Raises
    ------
    MissingPriorError : where a missing entry has no distribution.
    """
    found = []
    for table, name, column, example in _columns(examples):
        if thresholds is not None and name not in thresholds:
            continue
        rows = np.flatnonzero(_is_open(column))
        if len(rows):
            values, weights = _distribution(f"{table}.{name}", column, rows, priors, (thresholds or {}).get(name))
            weights = weights / weights.sum(axis=1, keepdims=True)
            found.append(OpenEntries(table, name, rows, example[rows], values, weights))
    return found


def world_counts(entries: Sequence[OpenEntries], size: int) -> Floats:
    """The number of worlds of each example, `(example,)`.

    Parameters
    ----------
    entries : the open entries.
    size : the number of examples.

    Returns
    -------
    Numbers, as floats, which may be very large.
    """
    logarithms = np.zeros(size)
    for of_column in entries:
        np.add.at(logarithms, of_column.example, np.log2((of_column.weights > 0.0).sum(axis=1)))
    return np.asarray(np.exp2(np.minimum(logarithms, 1000.0)))


def warn_of_counts(counts: Floats, entries: Sequence[OpenEntries]) -> None:
    """Warn of examples with so many worlds that a sample of them stands for all.

    Parameters
    ----------
    counts : the number of worlds of each example.
    entries : the open entries.

    Warns
    -----
    UserWarning : describes the first such example, by the column of its parts that has the most open entries.
    """
    if counts.max(initial=0) > MAX_WORLDS:
        row = int(np.argmax(counts > MAX_WORLDS))
        of_row = {f"{e.table}.{e.column}": int((e.example == row).sum()) for e in entries}
        most = max(of_row, key=lambda name: of_row[name])
        message = (
            f"An example has {of_row[most]} missing or probable entries in {most!r}, and {counts[row]:.3g} combinations of "
            f"such entries in all, more than {MAX_WORLDS:,}: its probabilities are means over {DRAWS:,} draws, with "
            f"standard errors of up to {0.5 / math.sqrt(DRAWS):.3f}. Fewer such entries make them exact."
        )
        warnings.warn(message, UserWarning, stacklevel=2)


def worlds_of(
    examples: Examples,
    entries: Sequence[OpenEntries],
    most: int,
    draws: int = DRAWS,
    generator: Callable[[int], np.random.Generator] = lambda _: np.random.default_rng(0),
) -> Worlds:
    """The ways to fill in the open entries: all of them, or draws of equal weights where an example has too many.

    Parameters
    ----------
    examples : the examples.
    entries : their open entries.
    most : the most worlds of an example that are enumerated.
    draws : the number of draws for an example with more.
    generator : the generator of each row's draws. By default they do not depend on the other rows.

    Returns
    -------
    The worlds.
    """
    counts = world_counts(entries, len(examples))
    bounds = [np.searchsorted(of_column.example, np.arange(len(examples) + 1)) for of_column in entries]
    chosen: list[list[npt.NDArray[np.generic]]] = [[] for _ in entries]
    sizes, weights = np.ones(len(examples), dtype=np.int64), []
    for row in range(len(examples)):
        own = [(number, entry) for number, at in enumerate(bounds) for entry in range(at[row], at[row + 1])]
        distributions = [entries[number].weights[entry] for number, entry in own]
        if counts[row] <= most:
            supports = [np.flatnonzero(distribution > 0.0) for distribution in distributions]
            size = math.prod(map(len, supports))
            digits = np.unravel_index(np.arange(size), [len(support) for support in supports]) if supports else ()
            values = [support[digit] for support, digit in zip(supports, digits, strict=True)]
            factors = [distribution[value] for distribution, value in zip(distributions, values, strict=True)]
            weights.append(np.prod(factors, axis=0) if factors else np.ones(1))
        else:
            size, random = draws, generator(row)
            values = [random.choice(len(of_entry), size=size, p=of_entry) for of_entry in distributions]
            weights.append(np.full(size, 1.0 / size))
        sizes[row] = size
        filled: list[list[npt.NDArray[np.generic]]] = [[] for _ in entries]
        for (number, entry), value in zip(own, values, strict=True):
            filled[number].append(entries[number].values[entry, value])
        for number, of_column in enumerate(filled):
            if of_column:  # world by world, and in each the entries in order
                chosen[number].append(np.stack(of_column, axis=1).ravel())
    return _filled(examples, entries, chosen, np.repeat(np.arange(len(examples)), sizes), np.concatenate(weights))


def most_probable(example: Examples, entries: Sequence[OpenEntries]) -> tuple[Examples, tuple[str, ...]]:
    """One example with its open entries filled in by their most probable values, and what was filled in.

    Parameters
    ----------
    example : one example.
    entries : its open entries.

    Returns
    -------
    The completed example, and a text such as `long(car_2) = false (0.69)` for each entry.
    """
    best = [of_column.weights.argmax(axis=1) for of_column in entries]
    chosen = [[e.values[np.arange(len(at)), at]] for e, at in zip(entries, best, strict=True)]
    completed = _filled(example, entries, chosen, np.zeros(1, dtype=np.int64), np.ones(1)).examples
    columns = {(table, name): column for table, name, column, _ in _columns(completed)}
    texts = [
        f"{e.column}({slot_name(e.table, row + 1)}) = {_value_text(columns[e.table, e.column], row)} ({weight:.2f})"
        for e, at in zip(entries, best, strict=True)
        for row, weight in zip(e.rows.tolist(), e.weights[np.arange(len(at)), at], strict=True)
    ]
    return completed, tuple(texts)


def _value_text(column: Column, row: int) -> str:
    match column.kind:
        case Boolean() | Probability():
            return "true" if column.values[row] else "false"
        case Category() as kind:
            return str(kind.domain[int(column.values[row])])
        case _:
            return f"{float(column.values[row]):g}"


def completions(
    examples: Examples,
    weights: Floats,
    most: int,
    seed: int,
    priors: Mapping[str, ColumnPrior] | None = None,
) -> Worlds | None:
    """Some completions of examples to learn from, by the distributions of their own columns.

    Parameters
    ----------
    examples : the examples.
    weights : the weight of each.
    most : the most completions of an example.
    seed : seed of the draws, where an example has more.
    priors : the distributions of the columns of parts; by default those of these examples.

    Returns
    -------
    The completed examples; None where no entry of a part is missing or only probable.
    """
    if not has_parts(examples.schema):
        return None
    known = column_priors(examples, weights) if priors is None else priors
    # A column without any known entry has no prior; what is missing everywhere stays so.
    names = {name.rsplit(".", 1)[1] for name in part_kinds(examples.schema) if name in known}
    entries = open_entries(examples, Priors(known), dict.fromkeys(names))
    return worlds_of(examples, entries, most, most, lambda row: np.random.default_rng((seed, row))) if entries else None


def _filled(
    examples: Examples,
    entries: Sequence[OpenEntries],
    chosen: Sequence[Sequence[npt.NDArray[np.generic]]],
    owner: Indices,
    weights: Floats,
) -> Worlds:
    """The worlds as examples: rows of the examples with the chosen values in place of the open entries."""
    repeated = examples[owner]
    replaced: dict[str, dict[str, Column]] = {}
    columns = {(table, name): column for table, name, column, _ in _columns(repeated)}
    for of_column, values in zip(entries, chosen, strict=True):
        column = columns[of_column.table, of_column.column]
        filled = column.values.copy()
        filled[_is_open(column)] = np.concatenate(values)
        replaced.setdefault(of_column.table, {})[of_column.column] = replace(column, values=filled, missing=None)
    return Worlds(_with_columns(repeated, replaced), owner, weights)


def _is_open(column: Column) -> npt.NDArray[np.bool_]:
    """The entries of a column that are missing or only probable."""
    is_open = np.zeros(len(column), dtype=bool) if column.missing is None else column.missing
    if isinstance(column.kind, Probability):
        is_open = is_open | ((column.values > 0.0) & (column.values < 1.0))
    return is_open


def _columns(examples: Examples) -> Iterator[tuple[str, str, Column, Indices]]:
    """The symbolic columns of parts and relations: type, name, column and the example of each row."""
    for owner, table in structure_of(examples).tables:
        for name, column in table.items():
            if isinstance(column.kind, (Boolean, Category, Number, Probability)):
                yield owner.name, name, column, owner.example


def _with_columns(examples: Examples, replaced: Mapping[str, Mapping[str, Column]]) -> Examples:
    """Examples whose parts and relations have other columns, by type and name."""
    columns = dict(examples.items())
    for name, column in examples.items():
        rows = column.values
        if isinstance(rows, GroupedRows) and rows.table is not None:
            inner = _with_columns(rows.table, replaced)
            table = Examples._of({**dict(inner.items()), **replaced.get(name, {})}, len(inner))
            columns[name] = replace(column, values=replace(rows, table=table))
    return Examples._of(columns, len(examples))


def _distribution(
    name: str, column: Column, rows: Indices, priors: Priors, thresholds: Sequence[float] | None
) -> tuple[npt.NDArray[np.generic], Floats]:
    """The values that entries in these rows may have, and their probabilities, `(entry, value)` each."""
    missing = np.zeros(len(rows), dtype=bool) if column.missing is None else column.missing[rows]
    values: npt.NDArray[Any]
    weights: Floats
    match column.kind:
        case Boolean():
            values, weights = np.array([False, True]), priors.column(name, column.kind)
        case Category():
            weights = priors.column(name, column.kind)
            values = np.arange(len(weights)).astype(column.values.dtype)
        case Probability():
            values = np.array([0.0, 1.0])
            known = np.where(missing, 0.0, column.values[rows])
            true = np.where(missing, priors.column(name, column.kind)[1] if missing.any() else 0.0, known)
            return np.tile(values, (len(rows), 1)), np.stack((1.0 - true, true), axis=1)
        case _:
            values, weights = priors.sample(name)
            if thresholds is not None:
                cells = np.searchsorted(np.unique(thresholds), values, side="left") * 2
                cells += np.isin(values, thresholds)  # a threshold itself is neither below nor above
                _, first, cell = np.unique(cells, return_index=True, return_inverse=True)
                values, weights = values[first], np.bincount(cell.ravel(), weights).astype(np.float64)
    return np.tile(values, (len(rows), 1)), np.tile(weights, (len(rows), 1))
