"""Priors for missing entries: the distribution of each column, the average output of each network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from reprlib import repr as shorten
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import (
    BLOCK_ROWS,
    Boolean,
    Category,
    Column,
    Distribution,
    Kind,
    Number,
    Probability,
    Schema,
    Tensor,
    Value,
    stack_columns,
)
from neuid3.data.examples import Examples
from neuid3.data.parts import Parts, Relation, structure_of
from neuid3.errors import DataError, MissingPriorError, did_you_mean

ColumnPrior = float | Mapping[Value, float] | Sequence[float]
NumberPrior = Mapping[float, float] | Sequence[float]
Floats = npt.NDArray[np.float64]


# A missing number that rules calculate with has at most this many values.
QUANTILES = 16


class Cut(Protocol):
    """A boundary of a number column: just below `at`, or just above it."""

    @property
    def at(self) -> float: ...

    @property
    def above(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Priors:
    """Distributions of missing entries.

    Parameters
    ----------
    columns : by column: for a Boolean or probability column the probability of true; for a category or distribution column
        the probability of each value; for a number column a sample of its values, or a weight for each value.
    networks : the average output of a network, by its name, `rank_net`, or for one call of it, `rank_net(card_1)`.
    expressions : by the text of an arithmetic expression, `weight / height ** 2`: a sample of its values, or a weight for
        each value, for examples in which it is undefined.

    >>> Priors(columns={"alarm": 0.1, "suit": {"hearts": 0.25, "clubs": 0.75}}, networks={"n": [0.5, 0.5]}).columns["alarm"]
    0.1
    """

    columns: Mapping[str, ColumnPrior] = field(default_factory=dict)
    networks: Mapping[str, Sequence[float] | float] = field(default_factory=dict)
    expressions: Mapping[str, NumberPrior] = field(default_factory=dict)

    def column(self, name: str, kind: Kind) -> Floats:
        """The distribution of a missing entry over the values of its column.

        Parameters
        ----------
        name : the name of the column.
        kind : its kind; not a number or a tensor.

        Returns
        -------
        Probabilities, `(value,)`; for Boolean and probability columns those of false and true.
        """
        given = self._given(name)
        if isinstance(kind, (Boolean, Probability)):
            true = float(given)
            return np.array([1.0 - true, true])
        assert isinstance(kind, (Category, Distribution))
        return np.array([float(given.get(value, 0.0)) for value in kind.domain])

    def of_schema(self, schema: Schema) -> Priors:
        """The priors without those of columns that a schema does not have.

        Parameters
        ----------
        schema : the kinds of the columns by name.

        Returns
        -------
        The priors of these columns and of those of their parts, and of all networks and expressions.
        """
        names = {*schema, *part_kinds(schema)}
        return replace(self, columns={name: prior for name, prior in self.columns.items() if name in names})

    def cells(self, column: str, boundaries: Sequence[Cut]) -> Floats:
        """The distribution of a missing number over the intervals between boundaries.

        Parameters
        ----------
        column : the name of the number column.
        boundaries : the boundaries, in increasing order.

        Returns
        -------
        Probabilities, `(interval,)`, one more than there are boundaries.
        """
        return _cells(*self.sample(column), boundaries)

    def sample(self, column: str) -> tuple[Floats, Floats]:
        """The sorted values of a number column that may be missing, and their weights.

        Parameters
        ----------
        column : the name of the number column.

        Returns
        -------
        Numbers, `(value,)`, and weights, `(value,)`.
        """
        return _weighted_sample(self._given(column))

    def expression_cells(self, expression: object, boundaries: Sequence[Cut]) -> Floats:
        """The distribution of an expression that is undefined over the intervals between boundaries.

        Parameters
        ----------
        expression : an expression; its text is the key in `expressions`.
        boundaries : the boundaries, in increasing order.

        Returns
        -------
        Probabilities, `(interval,)`, one more than there are boundaries; uniform where the sample is empty.

        Raises
        ------
        MissingPriorError
            Where there is no prior for the expression.
        """
        given = self.expressions.get(str(expression))
        if given is None:
            raise MissingPriorError(
                f"'{expression}' is undefined for an example and has no prior; pass "
                f"priors=Priors(expressions={{{str(expression)!r}: …}}) or learn it from training examples."
            )
        if not len(given):
            return np.full(len(boundaries) + 1, 1.0 / (len(boundaries) + 1))
        return _cells(*_weighted_sample(given), boundaries)

    def network(self, network: str, inputs: tuple[str, ...], width: int) -> Floats:
        """The average output of a network, which stands in where an input is missing.

        Parameters
        ----------
        network : the name of the network.
        inputs : the columns that it reads.
        width : the number of its outputs.

        Returns
        -------
        Probabilities, `(width,)`.

        Raises
        ------
        MissingPriorError
            Where there is no prior for the network.
        DataError
            Where the prior is no distribution over its outputs.
        """
        call = network_call_name(network, inputs)
        given = self.networks.get(call, self.networks.get(network))
        if given is None:
            raise MissingPriorError(
                f"An input of {call} is missing and there is no prior for the output of network {network!r}; "
                f"pass priors=Priors(networks={{{network!r}: …}}) or learn it from training examples."
            )
        values = np.atleast_1d(np.asarray(given, dtype=np.float64))
        if values.shape != (width,):
            raise DataError(f"The prior of network {network!r} has {values.size} numbers; its output has {width}.")
        total = float(values.sum()) if width > 1 else 1.0
        if not ((values >= 0.0) & (values <= 1.0)).all() or abs(total - 1.0) > 1e-6:
            raise DataError(
                f"The prior of network {network!r} is not a distribution; give probabilities that sum to 1."
            )
        return values

    def _given(self, name: str) -> Any:
        if name not in self.columns:
            raise MissingPriorError(
                f"Column {name!r} has a missing entry and no prior; pass priors=Priors(columns={{{name!r}: …}}) "
                "or learn it from training examples that have an entry; of a column that is empty rules cannot say anything."
            )
        return self.columns[name]


def _cells(values: Floats, weights: Floats, boundaries: Sequence[Cut]) -> Floats:
    """The distribution of a weighted sample over the intervals between boundaries."""
    below = [
        weights[: np.searchsorted(values, boundary.at, side="right" if boundary.above else "left")].sum()
        for boundary in boundaries
    ]
    distribution: Floats = np.diff(np.array([0.0, *below, weights.sum()])) / weights.sum()
    return distribution


def quantiles(values: Floats, weights: Floats, count: int = QUANTILES) -> tuple[Floats, Floats]:
    """At most so many values that stand for a weighted sample: the sample itself, or the medians of equal shares of it.

    Parameters
    ----------
    values : the sorted values, `(value,)`.
    weights : their weights, `(value,)`.
    count : the most values.

    Returns
    -------
    The values, and their weights, which sum to 1.

    >>> quantiles(np.arange(100.0), np.ones(100), 4)
    (array([12., 37., 62., 87.]), array([0.25, 0.25, 0.25, 0.25]))
    """
    if len(values) > count:
        below = np.cumsum(weights) / weights.sum()
        middles = np.searchsorted(below, (np.arange(count) + 0.5) / count, side="left")
        values, weights = values[np.minimum(middles, len(values) - 1)], np.ones(count)
    distinct, index = np.unique(values, return_inverse=True)
    sums = np.bincount(np.reshape(index, -1), weights, len(distinct))
    return distinct, sums / sums.sum()


def with_quantiles(priors: Priors, columns: Iterable[str]) -> Priors:
    """The priors with at most `QUANTILES` values for each of these number columns.

    Where rules calculate with a column, all tests of it share one distribution, also plain cuts.
    """
    shortened: dict[str, ColumnPrior] = {}
    for name in columns:
        if name in priors.columns:
            values, weights = quantiles(*priors.sample(name))
            if len(values) < len(priors.columns[name]):  # type: ignore[arg-type]
                shortened[name] = dict(zip(values.tolist(), weights.tolist(), strict=True))
    return replace(priors, columns={**priors.columns, **shortened}) if shortened else priors


def network_call_name(network: str, inputs: tuple[str, ...]) -> str:
    """The name of a network call in priors.

    >>> network_call_name("same_net", ("card_1", "card_2"))
    'same_net(card_1, card_2)'
    """
    return f"{network}({', '.join(inputs)})"


def column_priors(examples: Examples, weights: Floats | None = None) -> dict[str, ColumnPrior]:
    """The empirical distribution of every column of these examples; image columns have none.

    Parameters
    ----------
    examples : the examples.
    weights : the weight of each example, `(example,)`; by default all weigh the same.
    """
    if weights is not None and (len(weights) == 0 or weights.min() == weights.max()):
        weights = None  # equal weights
    complete = {name: c.values for name, c in examples.items() if c.kind == Boolean() and c.missing is None}
    means = dict(zip(complete, _means(list(complete.values()), weights), strict=True))
    priors = {name: means[name] if name in means else _column_prior(c, weights) for name, c in examples.items()}
    return {**{name: prior for name, prior in priors.items() if prior is not None}, **_part_priors(examples, weights)}


def _part_priors(examples: Examples, weights: Floats | None) -> dict[str, ColumnPrior]:
    """The empirical distributions of the columns of parts and relations, named `car.long`; numbers as quantiles."""
    if not any(isinstance(c.kind, (Parts, Relation)) for _, c in examples.items()):
        return {}
    priors: dict[str, ColumnPrior] = {}
    for owner, table in structure_of(examples).tables:
        for column, entries in table.items():
            prior = _column_prior(entries, None if weights is None else weights[owner.example])
            if prior is not None:
                priors[f"{owner.name}.{column}"] = prior
    numbers = [name for name, prior in priors.items() if isinstance(prior, Mapping) and len(prior) > QUANTILES]
    kinds = part_kinds(examples.schema)
    cut = [name for name in numbers if isinstance(kinds.get(name), Number)]
    return dict(with_quantiles(Priors(priors), cut).columns)


def _means(columns: Sequence[npt.NDArray[np.bool_]], weights: Floats | None) -> list[float]:
    """The weighted mean of each Boolean column; the columns of a wide table are read together, which is faster than one by one."""
    if not columns:
        return []
    table, n = stack_columns(columns), len(columns[0])
    blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, n, BLOCK_ROWS)]
    if weights is None:
        counts = sum(table[block].sum(axis=0) for block in blocks)
    else:
        counts = sum(weights[block] @ table[block] for block in blocks)
    total = n if weights is None else float(weights.sum())
    return [min(float(count) / total, 1.0) for count in np.atleast_1d(counts)]  # sums of weights may round differently


def _column_prior(column: Column, weights: Floats | None) -> ColumnPrior | None:
    if isinstance(column.kind, (Tensor, Parts, Relation)):  # not read: it may be larger than memory
        return None
    present, counts = column.values, weights
    if column.missing is not None:
        present = present[~column.missing]
        counts = None if weights is None else weights[~column.missing]
    if len(present) == 0:
        return _uniform_prior(column.kind)
    match column.kind:
        case Boolean() | Probability():
            return float(np.average(present, weights=counts))
        case Category() as kind:
            means = np.bincount(present, counts, len(kind.domain)) / (len(present) if counts is None else counts.sum())
            return {value: float(mean) for value, mean in zip(kind.domain, means, strict=True)}
        case Distribution(values):
            means = np.average(present, axis=0, weights=counts)
            return {value: float(mean) for value, mean in zip(values, means, strict=True)}
        case Number():
            distinct, indices = np.unique(present, return_inverse=True)
            sums = np.bincount(indices, counts, len(distinct))
            return dict(zip(distinct.tolist(), (sums / sums.sum()).tolist(), strict=True))
        case Tensor() | Parts() | Relation():
            return None


def _uniform_prior(kind: Kind) -> ColumnPrior | None:
    """The prior of a column without entries: uniform over its values; None where they are not finite in number."""
    match kind:
        case Boolean() | Probability():
            return 0.5
        case Category() | Distribution() if kind.values:
            return dict.fromkeys(kind.values, 1.0 / len(kind.values))
        case _:
            return None


def _weighted_sample(given: Any) -> tuple[Floats, Floats]:
    """The sorted values of a sample, and their weights."""
    values = np.array(list(given), dtype=np.float64)
    weights = np.array(list(given.values()), dtype=np.float64) if isinstance(given, Mapping) else np.ones(len(values))
    order = np.argsort(values, kind="stable")
    return values[order], weights[order]


def part_kinds(schema: Schema) -> dict[str, Kind]:
    """The symbolic columns of parts and relations, named `car.long`, with their kinds.

    Parameters
    ----------
    schema : the kinds of the columns of examples.

    Returns
    -------
    Kinds by name.
    """
    kinds: dict[str, Kind] = {}
    for name, kind in schema.items():
        if isinstance(kind, (Parts, Relation)):
            own = kind.schema
            symbolic = (Boolean, Category, Distribution, Number, Probability)
            kinds |= {f"{name}.{column}": entry for column, entry in own.items() if isinstance(entry, symbolic)}
            kinds |= part_kinds({column: entry for column, entry in own.items() if isinstance(entry, Parts)})
    return kinds


def check_priors(priors: Priors, schema: Schema) -> None:
    """Refuse priors that name no column, do not fit its kind, or are no distribution.

    Raises
    ------
    DataError
        For the first such prior.
    """
    kinds = {**schema, **part_kinds(schema)}
    for name, given in priors.columns.items():
        if name not in kinds:
            raise DataError(f"There is a prior for {name!r}, which is not a column.{did_you_mean(name, kinds)}")
        match kinds[name]:
            case Boolean() | Probability():
                fits = isinstance(given, Real) and 0.0 <= float(given) <= 1.0
                needed = "a probability in [0, 1]"
            case Category() | Distribution() as kind:
                fits = isinstance(given, Mapping) and _is_distribution(given, kind.domain)
                needed = f"a probability for each of {', '.join(map(str, kind.domain))}, which sum to 1"
            case Number():
                fits, needed = (
                    _is_sample(given),
                    "a list of finite numbers, or a mapping of numbers to weights",
                )
            case Parts() | Relation():
                fits, needed = False, "left out: its entries are never missing"
            case Tensor():
                fits, needed = False, "given for the networks that read it, in `networks`"
        if not fits:
            raise DataError(f"The prior of column {name!r} must be {needed}; found {shorten(given)}.")

    for text, sample in priors.expressions.items():
        if len(sample) and not _is_sample(sample):
            raise DataError(
                f"The prior of '{text}' must be a list of finite numbers, or a mapping of numbers to weights; found "
                f"{shorten(sample)}."
            )


def _is_distribution(given: Mapping[Value, float], domain: tuple[Value, ...]) -> bool:
    known = all(value in domain for value in given)
    probabilities = list(given.values())
    are_valid = all(isinstance(probability, Real) and probability >= 0 for probability in probabilities)
    return known and are_valid and abs(sum(probabilities) - 1.0) < 1e-6


def _is_sample(given: Any) -> bool:
    if isinstance(given, Mapping):
        weights = list(given.values())
        return _is_sample(list(given)) and _is_sample(weights) and min(weights) >= 0.0 and 0.0 < sum(weights) < math.inf
    try:
        sample = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return sample.ndim == 1 and sample.size > 0 and bool(np.isfinite(sample).all())
