"""Binary attributes of table columns: numbers are cut by entropy, categories are grouped at random."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Booleans: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Bins:
    """A numeric column cut at thresholds; a value on a threshold belongs to the lower bin."""

    column: str
    cuts: tuple[float, ...]

    @property
    def meanings(self) -> tuple[str, ...]:
        ends = [f"{cut:g}" for cut in self.cuts]
        if not ends:
            return (f"{self.column} is any number",)
        between = [f"{low} < {self.column} =< {high}" for low, high in pairwise(ends)]
        return (f"{self.column} =< {ends[0]}", *between, f"{self.column} > {ends[-1]}")

    def indices(self, values: Array) -> Array:
        """The bin of every value, from 0."""
        return np.searchsorted(self.cuts, values, side="left")


@dataclass(frozen=True, slots=True)
class Groups:
    """A categorical column whose values are partitioned into groups."""

    column: str
    groups: tuple[tuple[str, ...], ...]

    @property
    def meanings(self) -> tuple[str, ...]:
        return tuple(f"{self.column} in {{{', '.join(group)}}}" for group in self.groups)

    def indices(self, values: Array) -> Array:
        """The group of every value, from 0."""
        index = {value: i for i, group in enumerate(self.groups) for value in group}
        return np.array([index[value] for value in values])


Encoder: TypeAlias = Bins | Groups


def attributes(encoder: Encoder) -> dict[str, str]:
    """The names of the binary attributes of an encoder, and the meaning of each.

    >>> attributes(Bins("age", (20.0, 40.0)))
    {'age_1': 'age =< 20', 'age_2': '20 < age =< 40', 'age_3': 'age > 40'}
    >>> attributes(Groups("sex", (("f",), ("m",))))
    {'sex': 'sex in {m}'}
    """
    meanings = encoder.meanings
    if len(meanings) <= 2:
        return {encoder.column: meanings[-1]}
    return {f"{encoder.column}_{number}": meaning for number, meaning in enumerate(meanings, start=1)}


def encode(encoder: Encoder, values: Array) -> dict[str, Booleans]:
    """The binary attributes of a column's values."""
    indices, names = encoder.indices(values), list(attributes(encoder))
    first = len(encoder.meanings) - len(names)  # one attribute is enough for two bins or groups
    return {name: indices == index for index, name in enumerate(names, start=first)}


def fit(columns: Mapping[str, Array], positive: Booleans, rows: Array, d: int, seed: int) -> tuple[Encoder, ...]:
    """An encoder for every column: cuts depend on the classes of these rows only, groups on no classes."""
    return tuple(
        Bins(name, entropy_cuts(values[rows], positive[rows], d))
        if values.dtype.kind == "f"
        else random_groups(name, values, d, seed)
        for name, values in columns.items()
    )


def random_groups(column: str, values: Array, d: int, seed: int) -> Groups:
    """The values of a whole table in at most d random groups of nearly equal size.

    >>> random_groups("suit", np.array(["a", "b", "c", "d", "b"]), d=2, seed=0).groups
    (('c', 'd'), ('a', 'b'))
    """
    rng = np.random.default_rng([seed, zlib.crc32(column.encode())])
    distinct = np.unique(values)
    shuffled = rng.permutation(distinct) if len(distinct) > d else distinct
    return Groups(column, tuple(tuple(sorted(map(str, shuffled[start::d]))) for start in range(min(d, len(distinct)))))


def entropy_cuts(values: Array, positive: Booleans, bins: int) -> tuple[float, ...]:
    """Thresholds of a numeric column with high information gain about the class (Fayyad and Irani, 1993).

    The cut with the highest gain is made first. Cuts that the minimum description length criterion accepts come before all
    others; it often accepts too few (as for pure noise), and then the best of the others follow, as far as there are
    distinct values, so that all numeric columns have the same number of bins.

    >>> entropy_cuts(np.arange(8.0), np.arange(8) >= 6, bins=2)
    (5.5,)
    """
    order = np.argsort(values, kind="stable")
    ordered, classes = values[order], positive[order]
    edges = [0, len(values)]
    while len(edges) - 1 < bins:
        candidates = [cut for low, high in pairwise(edges) if (cut := best_cut(ordered, classes, low, high))]
        if not candidates:
            break
        edges = sorted([*edges, max(candidates).position])
    return tuple(float(ordered[edge - 1] / 2 + ordered[edge] / 2) for edge in edges[1:-1])


@dataclass(frozen=True, slots=True, order=True)
class _Cut:
    """A cut of one bin, ordered by quality. Where no cut has a gain, the largest bin is halved."""

    accepted: bool
    gain: float
    size: int
    position: int


def best_cut(ordered: Array, classes: Booleans, low: int, high: int) -> _Cut | None:
    positions = np.arange(low + 1, high)
    positions = positions[ordered[positions - 1] < ordered[positions]]
    if not len(positions):
        return None
    n, yes = high - low, int(classes[low:high].sum())
    left = positions - low
    left_yes = np.concatenate(([0], np.cumsum(classes[low:high])))[left]
    sides = _bits(left, left_yes) + _bits(n - left, yes - left_yes)
    gain = np.round(_bits(np.array(n), np.array(yes)) - sides, 9)
    best = np.flatnonzero(gain == gain.max())
    chosen = best[np.abs(2 * left[best] - n).argmin()]
    return _Cut(
        accepted=bool(gain[chosen] > _mdl_threshold(n, yes, int(left[chosen]), int(left_yes[chosen]))),
        gain=float(gain[chosen]),
        size=n,
        position=int(positions[chosen]),
    )


def _bits(n: Array, yes: Array) -> Array:
    """n times the entropy of the classes of n examples, `yes` of which are positive, in bits."""
    positive = yes / n
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.stack([-p * np.log2(p) for p in (positive, 1 - positive)])
    total: Array = n * np.nan_to_num(each).sum(0)
    return total


def _mdl_threshold(n: int, yes: int, left: int, left_yes: int) -> float:
    """The lowest gain of an accepted cut, times n: Fayyad and Irani's log2(N − 1) + Δ, times N on both sides of their inequality."""

    def kinds_and_entropy(size: int, positives: int) -> tuple[int, float]:
        return 1 if positives in (0, size) else 2, float(_bits(np.array(size), np.array(positives))) / size

    k, entropy = kinds_and_entropy(n, yes)
    k_left, entropy_left = kinds_and_entropy(left, left_yes)
    k_right, entropy_right = kinds_and_entropy(n - left, yes - left_yes)
    delta = np.log2(3.0**k - 2) - (k * entropy - k_left * entropy_left - k_right * entropy_right)
    return float(np.log2(n - 1) + delta)
