"""The concepts of Eleusis, and windows of two cards that hold or violate them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from experiments.datasets.cards import RANKS, SUITS, Cards, cards, is_red
from neuid3.data.examples import Examples
from neuid3.errors import DataError, did_you_mean

Numbers: TypeAlias = npt.NDArray[Any]
Labelled: TypeAlias = tuple[Examples, npt.NDArray[np.str_]]

SIZES = {"train": 1000, "validation": 200, "test": 1000}


class Pair(NamedTuple):
    """Suits and ranks of the first and of the second card."""

    s0: Numbers
    r0: Numbers
    s1: Numbers
    r1: Numbers


@dataclass(frozen=True, slots=True)
class Concept:
    """A rule about two consecutive cards.

    Attributes
    ----------
    description : the rule in English.
    rule : the rule as a function of suits and ranks.
    opt : the tests that were made for it.
    """

    name: str
    description: str
    rule: Callable[[Pair], Numbers]
    opt: tuple[str, ...]

    def holds(self, s0: Numbers, r0: Numbers, s1: Numbers, r1: Numbers) -> npt.NDArray[np.bool_]:
        """Whether windows hold the concept, from suits 1 to 4 and ranks 1 to 8."""
        return np.asarray(self.rule(Pair(*map(np.asarray, (s0, r0, s1, r1)))), dtype=bool)


def _next_suit(pair: Pair) -> Numbers:
    is_next: Numbers = pair.s1 == pair.s0 % len(SUITS) + 1
    return is_next


def _next_rank(pair: Pair) -> Numbers:
    is_next: Numbers = pair.r1 == pair.r0 % RANKS + 1
    return is_next


GT_RANK, GT_SUIT = "gt_rank(rank_1, rank_2)", "gt_suit(suit_1, suit_2)"
MODULO_RANK, MODULO_SUIT = "modulo_rank(rank_1, rank_2)", "modulo_suit(suit_1, suit_2)"
ALTERNATE_ATTR_RANK, EQ_RANK_ATTRS = "alternate_attr_rank(rank_1, rank_2)", "eq_rank_attrs(rank_1, rank_2)"

_ALL = (
    Concept(
        "hidden_modulo_simple",
        "the next rank follows the first, or the next suit does, in a circle",
        lambda pair: _next_rank(pair) | _next_suit(pair),
        (MODULO_RANK, MODULO_SUIT),
    ),
    Concept(
        "hidden_order_simple",
        "the rank rises or the suit rises",
        lambda pair: (pair.r0 < pair.r1) | (pair.s0 < pair.s1),
        (GT_RANK, GT_SUIT),
    ),
    Concept(
        "color_parity_rule",
        "after an odd rank comes white, after an even rank red",
        lambda pair: (pair.r0 % 2 == 1) != is_red(pair.s1),
        (EQ_RANK_ATTRS,),
    ),
    Concept("increase_suits", "the next suit follows the first, in a circle", _next_suit, (MODULO_SUIT,)),
    Concept("suit_order", "the suit rises", lambda pair: pair.s0 < pair.s1, (GT_SUIT,)),
    Concept("rank_order", "the rank rises", lambda pair: pair.r0 < pair.r1, (GT_RANK,)),
    Concept(
        "alternating_parity",
        "one rank is odd, the other even",
        lambda pair: pair.r0 % 2 != pair.r1 % 2,
        (ALTERNATE_ATTR_RANK,),
    ),
    Concept(
        "alternating_faces",
        "one card is a face (ranks 5 to 8), the other is not",
        lambda pair: (pair.r0 > RANKS // 2) != (pair.r1 > RANKS // 2),
        (ALTERNATE_ATTR_RANK,),
    ),
)

CONCEPTS: dict[str, Concept] = {concept.name: concept for concept in _ALL}


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """1000 training, 200 validation and 1000 test windows."""

    train: Labelled
    validation: Labelled
    test: Labelled


def concept_of(name: str) -> Concept:
    if name not in CONCEPTS:
        raise DataError(f"There is no concept {name!r}.{did_you_mean(name, CONCEPTS)}")
    return CONCEPTS[name]


def eleusis(concept: str, seed: int) -> Windows:
    """Windows of two cards that hold or violate a concept: columns suit_1, rank_1, suit_2, rank_2 of images (3, 28, 28).

    Every concept and seed has windows of its own, of cards drawn at random; no card is in two windows of a part. The
    same arguments give the same bytes.
    """
    rule, parts = concept_of(concept), {}
    for part in SIZES:
        first, second = deal(concept, seed, part)
        holds = rule.holds(first.suit, first.rank, second.suit, second.rank)
        images = {
            "suit_1": first.suit_images(),
            "rank_1": first.rank_images(),
            "suit_2": second.suit_images(),
            "rank_2": second.rank_images(),
        }
        parts[part] = (Examples(images), np.where(holds, "holds", "violates"))
    return Windows(**parts)


def deal(concept: str, seed: int, part: str) -> tuple[Cards, Cards]:
    """The first and the second card of every window of a part."""
    deck, n = cards(part), SIZES[part]
    rng = np.random.default_rng([seed, zlib.crc32(f"{concept} {part}".encode())])
    drawn = rng.permutation(len(deck))[: 2 * n]
    return deck[drawn[:n]], deck[drawn[n:]]
