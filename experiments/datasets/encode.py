"""How does a column become binary attributes? Numbers by entropy, categories by lot."""

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
    """A number's column, cut at these thresholds; a value on a threshold lies below it."""

    column: str
    cuts: tuple[float, ...]

    @property
    def meanings(self) -> tuple[str, ...]:
        ends = [f"{cut:g}" for cut in self.cuts]
        if not ends:
            return (f"{self.column} is any number",)
        between = [f"{low} < {self.column} =< {high}" for low, high in pairwise(ends)]
        return (f"{self.column} =< {ends[0]}", *between, f"{self.column} > {ends[-1]}")

    def places(self, values: Array) -> Array:
        return np.searchsorted(self.cuts, values, side="left")


@dataclass(frozen=True, slots=True)
class Groups:
    """A category's column, its values gathered into groups."""

    column: str
    groups: tuple[tuple[str, ...], ...]

    @property
    def meanings(self) -> tuple[str, ...]:
        return tuple(f"{self.column} in {{{', '.join(group)}}}" for group in self.groups)

    def places(self, values: Array) -> Array:
        place = {value: i for i, group in enumerate(self.groups) for value in group}
        return np.array([place[value] for value in values])


Encoder: TypeAlias = Bins | Groups


def attributes(encoder: Encoder) -> dict[str, str]:
    """The names of the binary attributes that an encoder makes, and what each says.

    >>> attributes(Bins("age", (20.0, 40.0)))
    {'age_1': 'age =< 20', 'age_2': '20 < age =< 40', 'age_3': 'age > 40'}
    >>> attributes(Groups("sex", (("f",), ("m",))))
    {'sex': 'sex in {m}'}
    """
    meanings = encoder.meanings
    if len(meanings) <= 2:
        return {encoder.column: meanings[-1]}
    return {f"{encoder.column}_{place}": meaning for place, meaning in enumerate(meanings, start=1)}


def encode(encoder: Encoder, values: Array) -> dict[str, Booleans]:
    """The binary attributes of a column's values."""
    places, names = encoder.places(values), list(attributes(encoder))
    first = len(encoder.meanings) - len(names)  # one attribute says all that there is to say about two places
    return {name: places == place for place, name in enumerate(names, start=first)}


def fit(columns: Mapping[str, Array], positive: Booleans, rows: Array, d: int, seed: int) -> tuple[Encoder, ...]:
    """An encoder for every column: cuts are chosen on these rows only, groups are drawn without looking at classes."""
    return tuple(
        Bins(name, entropy_cuts(values[rows], positive[rows], d))
        if values.dtype.kind == "f"
        else random_groups(name, values, d, seed)
        for name, values in columns.items()
    )


def random_groups(column: str, values: Array, d: int, seed: int) -> Groups:
    """The values of a whole table dealt into at most d groups, as equal in number as can be.

    >>> random_groups("suit", np.array(["a", "b", "c", "d", "b"]), d=2, seed=0).groups
    (('c', 'd'), ('a', 'b'))
    """
    rng = np.random.default_rng([seed, zlib.crc32(column.encode())])
    known = np.unique(values)
    dealt = rng.permutation(known) if len(known) > d else known
    return Groups(column, tuple(tuple(sorted(map(str, dealt[start::d]))) for start in range(min(d, len(known)))))


def entropy_cuts(values: Array, positive: Booleans, bins: int) -> tuple[float, ...]:
    """Where to cut a number so that its bins tell most about the class (Fayyad and Irani, 1993).

    The cut that saves most bits is made first. Cuts that their description-length criterion accepts come before all
    others; it often accepts fewer than are wanted (as for pure noise), and then the best of the others follow, as far as
    there are distinct values, so that every number gives the same number of bins.

    >>> entropy_cuts(np.arange(8.0), np.arange(8) >= 6, bins=2)
    (5.5,)
    """
    order = np.argsort(values, kind="stable")
    ordered, classes = values[order], positive[order]
    edges = [0, len(values)]
    while len(edges) - 1 < bins:
        offers = [offer for low, high in pairwise(edges) if (offer := _best_cut(ordered, classes, low, high))]
        if not offers:
            break
        edges = sorted([*edges, max(offers).place])
    return tuple(float(ordered[edge - 1] / 2 + ordered[edge] / 2) for edge in edges[1:-1])


@dataclass(frozen=True, slots=True, order=True)
class _Offer:
    """A cut of one bin; the better the greater. Where nothing is saved, the fullest bin is halved."""

    accepted: bool
    saved: float
    size: int
    place: int


def _best_cut(ordered: Array, classes: Booleans, low: int, high: int) -> _Offer | None:
    places = np.arange(low + 1, high)
    places = places[ordered[places - 1] < ordered[places]]
    if not len(places):
        return None
    n, yes = high - low, int(classes[low:high].sum())
    left = places - low
    left_yes = np.concatenate(([0], np.cumsum(classes[low:high])))[left]
    sides = _bits(left, left_yes) + _bits(n - left, yes - left_yes)
    saved = np.round(_bits(np.array(n), np.array(yes)) - sides, 9)
    best = np.flatnonzero(saved == saved.max())
    chosen = best[np.abs(2 * left[best] - n).argmin()]
    return _Offer(
        accepted=bool(saved[chosen] > _price(n, yes, int(left[chosen]), int(left_yes[chosen]))),
        saved=float(saved[chosen]),
        size=n,
        place=int(places[chosen]),
    )


def _bits(n: Array, yes: Array) -> Array:
    """n times the entropy of n examples of which some are positive."""
    share = yes / n
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.stack([-part * np.log2(part) for part in (share, 1 - share)])
    total: Array = n * np.nan_to_num(each).sum(0)
    return total


def _price(n: int, yes: int, left: int, left_yes: int) -> float:
    """The bits that a cut must save: Fayyad and Irani's log2(N − 1) + Δ, times N on both sides of their inequality."""

    def kinds_and_entropy(size: int, positives: int) -> tuple[int, float]:
        return 1 if positives in (0, size) else 2, float(_bits(np.array(size), np.array(positives))) / size

    k, entropy = kinds_and_entropy(n, yes)
    k_left, entropy_left = kinds_and_entropy(left, left_yes)
    k_right, entropy_right = kinds_and_entropy(n - left, yes - left_yes)
    delta = np.log2(3.0**k - 2) - (k * entropy - k_left * entropy_left - k_right * entropy_right)
    return float(np.log2(n - 1) + delta)
