"""What would a missing entry have been? Each column's prevalence, each network's average output."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from reprlib import repr as shorten
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import (
    BLOCK,
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
    side_by_side,
)
from neuid3.data.examples import Examples
from neuid3.errors import DataError, MissingPriorError, did_you_mean

ColumnPrior = float | Mapping[Value, float] | Sequence[float]
Floats = npt.NDArray[np.float64]


class Cut(Protocol):
    """Where a number column is cut: just below `at`, or just above it."""

    @property
    def at(self) -> float: ...

    @property
    def above(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Priors:
    """Distributions for entries that are missing.

    `columns`: for a Boolean or probability column the probability that it holds, for a category or
    distribution column a probability for each value, for a number column a sample of its values or a share for each.
    `networks`: for a network `rank_net`, or for one use of it, `rank_net(card_1)`, its average output.

    >>> Priors(columns={"alarm": 0.1, "suit": {"hearts": 0.25, "clubs": 0.75}}, networks={"n": [0.5, 0.5]}).columns["alarm"]
    0.1
    """

    columns: Mapping[str, ColumnPrior] = field(default_factory=dict)
    networks: Mapping[str, Sequence[float] | float] = field(default_factory=dict)

    def column(self, name: str, kind: Kind) -> Floats:
        """How a missing entry of this column is distributed over the values of its variable."""
        given = self._given(name)
        if isinstance(kind, (Boolean, Probability)):
            held = float(given)
            return np.array([1.0 - held, held])
        assert isinstance(kind, (Category, Distribution))
        return np.array([float(given.get(value, 0.0)) for value in kind.domain])

    def cells(self, column: str, boundaries: Sequence[Cut]) -> Floats:
        """How a missing number is distributed over the cells that its column is cut into."""
        values, shares = _sample(self._given(column))
        below = [
            shares[: np.searchsorted(values, boundary.at, side="right" if boundary.above else "left")].sum()
            for boundary in boundaries
        ]
        found: Floats = np.diff(np.array([0.0, *below, shares.sum()])) / shares.sum()
        return found

    def network(self, network: str, inputs: tuple[str, ...], width: int) -> Floats:
        """The average output of a network where what it reads is missing."""
        use = network_use(network, inputs)
        given = self.networks.get(use, self.networks.get(network))
        if given is None:
            raise MissingPriorError(
                f"An input of {use} is missing and no prior says what network {network!r} returns on average; "
                f"pass priors=Priors(networks={{{network!r}: …}}) or learn them from training examples."
            )
        values = np.atleast_1d(np.asarray(given, dtype=np.float64))
        if values.shape != (width,):
            raise DataError(f"The prior of network {network!r} has {values.size} numbers; its output has {width}.")
        total = float(values.sum()) if width > 1 else 1.0
        if not ((values >= 0.0) & (values <= 1.0)).all() or abs(total - 1.0) > 1e-6:
            raise DataError(f"The prior of network {network!r} is no distribution; give probabilities that sum to 1.")
        return values

    def _given(self, name: str) -> Any:
        if name not in self.columns:
            raise MissingPriorError(
                f"Column {name!r} has a missing entry and no prior; pass priors=Priors(columns={{{name!r}: …}}) "
                "or learn them from training examples."
            )
        return self.columns[name]


def network_use(network: str, inputs: tuple[str, ...]) -> str:
    """How one use of a network is called in priors.

    >>> network_use("same_net", ("card_1", "card_2"))
    'same_net(card_1, card_2)'
    """
    return f"{network}({', '.join(inputs)})"


def column_priors(examples: Examples, weights: Floats | None = None) -> dict[str, ColumnPrior]:
    """The prevalence of every column in these examples, weighted; a column that is missing throughout has none."""
    if weights is not None and (len(weights) == 0 or weights.min() == weights.max()):
        weights = None  # all alike
    whole = {name: c.values for name, c in examples.items() if c.kind == Boolean() and c.missing is None}
    held = dict(zip(whole, _means(list(whole.values()), weights), strict=True))
    found = {name: held[name] if name in held else _prevalence(column, weights) for name, column in examples.items()}
    return {name: prior for name, prior in found.items() if prior is not None}


def _means(columns: Sequence[npt.NDArray[np.bool_]], weights: Floats | None) -> list[float]:
    """How often each of these facts holds; many columns of a wide table are read together, each by itself is slow."""
    if not columns:
        return []
    table, n = side_by_side(columns), len(columns[0])
    blocks = [slice(start, start + BLOCK) for start in range(0, n, BLOCK)]
    if weights is None:
        counts = sum(table[block].sum(axis=0) for block in blocks)
    else:
        counts = sum(weights[block] @ table[block] for block in blocks)
    total = n if weights is None else float(weights.sum())
    return [min(float(count) / total, 1.0) for count in np.atleast_1d(counts)]  # sums of weights may round differently


def _prevalence(column: Column, weights: Floats | None) -> ColumnPrior | None:
    if isinstance(column.kind, Tensor):  # not to be looked at: it may be larger than memory
        return None
    present, counts = column.values, weights
    if column.missing is not None:
        present = present[~column.missing]
        counts = None if weights is None else weights[~column.missing]
    if len(present) == 0:
        return _anything(column.kind)
    match column.kind:
        case Boolean() | Probability():
            return float(np.average(present, weights=counts))
        case Category() as kind:
            shares = np.bincount(present, counts, len(kind.domain)) / (len(present) if counts is None else counts.sum())
            return {value: float(share) for value, share in zip(kind.domain, shares, strict=True)}
        case Distribution(values):
            means = np.average(present, axis=0, weights=counts)
            return {value: float(share) for value, share in zip(values, means, strict=True)}
        case Number():
            known, places = np.unique(present, return_inverse=True)
            shares = np.bincount(places, counts, len(known))
            return dict(zip(known.tolist(), (shares / shares.sum()).tolist(), strict=True))
        case Tensor():
            return None


def _anything(kind: Kind) -> ColumnPrior | None:
    """What can be said of a column without a single entry: any of its values is as probable as any other."""
    match kind:
        case Boolean() | Probability():
            return 0.5
        case Category() | Distribution() if kind.values:
            return dict.fromkeys(kind.values, 1.0 / len(kind.values))
        case _:
            return None


def _sample(given: Any) -> tuple[Floats, Floats]:
    """Values in order, and how often each is met."""
    values = np.array(list(given), dtype=np.float64)
    shares = np.array(list(given.values()), dtype=np.float64) if isinstance(given, Mapping) else np.ones(len(values))
    order = np.argsort(values, kind="stable")
    return values[order], shares[order]


def check_priors(priors: Priors, schema: Schema) -> None:
    """Every prior names a column, fits its kind, and is a distribution."""
    for name, given in priors.columns.items():
        if name not in schema:
            raise DataError(f"There is a prior for {name!r}, which is no column.{did_you_mean(name, schema)}")
        match schema[name]:
            case Boolean() | Probability():
                fits = isinstance(given, Real) and 0.0 <= float(given) <= 1.0
                needed = "a probability in [0, 1]"
            case Category() | Distribution() as kind:
                fits = isinstance(given, Mapping) and _is_distribution(given, kind.domain)
                needed = f"a probability for each of {', '.join(map(str, kind.domain))}, which sum to 1"
            case Number():
                fits, needed = (
                    _is_sample(given),
                    "a sample of its values, finite numbers in a list, or a share for each",
                )
            case Tensor():
                fits, needed = False, "given for the networks that read it, in `networks`"
        if not fits:
            raise DataError(f"The prior of column {name!r} must be {needed}; found {shorten(given)}.")


def _is_distribution(given: Mapping[Value, float], domain: tuple[Value, ...]) -> bool:
    known = all(value in domain for value in given)
    shares = list(given.values())
    return known and all(isinstance(share, Real) and share >= 0 for share in shares) and abs(sum(shares) - 1.0) < 1e-6


def _is_sample(given: Any) -> bool:
    if isinstance(given, Mapping):
        shares = list(given.values())
        return _is_sample(list(given)) and _is_sample(shares) and min(shares) >= 0.0 and 0.0 < sum(shares) < math.inf
    try:
        sample = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return sample.ndim == 1 and sample.size > 0 and bool(np.isfinite(sample).all())
