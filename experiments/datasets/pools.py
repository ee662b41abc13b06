"""Pools of candidate tests for trees of Eleusis, and whether a test can express a concept."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from experiments.datasets.cards import RANKS, SUITS, is_red
from experiments.datasets.eleusis import Concept, concept_of
from neuid3.errors import DataError, NodeTestError, did_you_mean

# The paper's appendix. Its equal_* compares with "not equal" there, which its name and the other rules contradict, and its
# modulo_* counts to 10; both are read as they are meant. A pair of attribute networks may compute two different attributes.
POOL_BACKGROUND = """
nn(rel_rank_net, [A, B]) :: rel_rank(A, B).
nn(rel_suit_net, [A, B]) :: rel_suit(A, B).
nn(rank_net, [I], R, [1, 2, 3, 4, 5, 6, 7, 8]) :: rank(I, R).
nn(suit_net, [I], S, [1, 2, 3, 4]) :: suit(I, S).
nn(ra_net, [I], B, [0, 1]) :: rank_attribute(I, B).
nn(ra1_net, [I], B, [0, 1]) :: rank_attribute_1(I, B).
nn(ra2_net, [I], B, [0, 1]) :: rank_attribute_2(I, B).
nn(sa_net, [I], B, [0, 1]) :: suit_attribute(I, B).
nn(sa1_net, [I], B, [0, 1]) :: suit_attribute_1(I, B).
nn(sa2_net, [I], B, [0, 1]) :: suit_attribute_2(I, B).

alternate_attr_rank(A, B) :- rank_attribute(A, X), rank_attribute(B, Y), X \\= Y.
equal_ranks(A, B) :- rank(A, X), rank(B, Y), X =:= Y.
modulo_rank(A, B) :- rank(A, X), rank(B, Y), Y =:= X mod 8 + 1.
increment_rank(A, B) :- rank(A, X), rank(B, Y), Y =:= X + 1.
gt_rank(A, B) :- rank(A, X), rank(B, Y), X < Y.
eq_rank_attrs(A, B) :- rank_attribute_1(A, X), rank_attribute_2(B, Y), X = Y.

alternate_attr_suit(A, B) :- suit_attribute(A, X), suit_attribute(B, Y), X \\= Y.
equal_suits(A, B) :- suit(A, X), suit(B, Y), X =:= Y.
modulo_suit(A, B) :- suit(A, X), suit(B, Y), Y =:= X mod 4 + 1.
increment_suit(A, B) :- suit(A, X), suit(B, Y), Y =:= X + 1.
gt_suit(A, B) :- suit(A, X), suit(B, Y), X < Y.
eq_suit_attrs(A, B) :- suit_attribute_1(A, X), suit_attribute_2(B, Y), X = Y.
"""

Relation: TypeAlias = Callable[[int, int], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """The definition of a test on two images, for `can_express`.

    Attributes
    ----------
    reads : "rank" or "suit" images.
    values : number of values of the networks.
    relation : relation of the two values; None for a neural fact, which may be any relation of the images.
    one_network : whether one network reads both images.
    """

    reads: str
    values: int = 0
    relation: Relation | None = None
    one_network: bool = True


def _follows(values: int) -> Relation:
    return lambda x, y: y == x % values + 1


def _is_next(x: int, y: int) -> bool:
    return y == x + 1


# The same rules as in the program above, for `can_express`; a unit test compares both.
RULES = {
    "rel_rank": Rule("rank"),
    "rel_suit": Rule("suit"),
    "alternate_attr_rank": Rule("rank", 2, operator.ne),
    "equal_ranks": Rule("rank", RANKS, operator.eq),
    "modulo_rank": Rule("rank", RANKS, _follows(RANKS)),
    "increment_rank": Rule("rank", RANKS, _is_next),
    "gt_rank": Rule("rank", RANKS, operator.lt),
    "eq_rank_attrs": Rule("rank", 2, operator.eq, one_network=False),
    "alternate_attr_suit": Rule("suit", 2, operator.ne),
    "equal_suits": Rule("suit", len(SUITS), operator.eq),
    "modulo_suit": Rule("suit", len(SUITS), _follows(len(SUITS))),
    "increment_suit": Rule("suit", len(SUITS), _is_next),
    "gt_suit": Rule("suit", len(SUITS), operator.lt),
    "eq_suit_attrs": Rule("suit", 2, operator.eq, one_network=False),
}
TESTS = {f"{name}({rule.reads}_1, {rule.reads}_2)": rule for name, rule in RULES.items()}
NEURAL_FACTS = tuple(test for test, rule in TESTS.items() if rule.relation is None)
UNION = tuple(test for test in TESTS if test not in NEURAL_FACTS)
POOLS = ("nf", "bad", "union", "opt")


def pool(concept: str, kind: str) -> tuple[str, ...]:
    """The candidate tests of a tree for this concept.

    "nf": two networks that read both ranks or both suits; "union": all twelve rules; "opt": the rules made for the concept;
    "bad": everything but those.

    >>> pool("suit_order", "opt")
    ('gt_suit(suit_1, suit_2)',)
    """
    opt = concept_of(concept).opt
    match kind:
        case "nf":
            return NEURAL_FACTS
        case "union":
            return UNION
        case "opt":
            return opt
        case "bad":
            return tuple(test for test in (*UNION, *NEURAL_FACTS) if test not in opt)
        case _:
            raise DataError(f"There is no pool {kind!r}.{did_you_mean(kind, POOLS)}")


def can_express(test: str, concept: str) -> bool:
    """Whether some networks make this one test, or its negation, agree with the concept on every pair of cards.

    A suit image shows the suit; a rank image shows rank and colour. All functions from what is shown to the values that
    a network chooses from are tried, by search; a disjunction of two rules is therefore beyond every single rule.

    >>> can_express("eq_rank_attrs(rank_1, rank_2)", "alternating_parity")
    True
    >>> can_express("modulo_rank(rank_1, rank_2)", "rank_order")
    False
    """
    if test not in TESTS:
        raise NodeTestError(f"{test!r} is no test of the pools.{did_you_mean(test, TESTS)}")
    rule = TESTS[test]
    target = _target_relation(concept_of(concept), rule.reads)
    if target is None or rule.relation is None:
        return target is not None
    merged = _merged(target, rule.one_network)
    return any(_is_expressible(merged, rule.values, rule.relation, when) for when in (True, False))


Shown: TypeAlias = tuple[int, bool]


def _target_relation(concept: Concept, reads: str) -> dict[tuple[Shown, Shown], bool] | None:
    """The concept as a relation of the contents of two images; None if it depends on more than that."""
    kinds = list(itertools.product(range(1, len(SUITS) + 1), range(1, RANKS + 1)))
    pairs = list(itertools.product(kinds, kinds))
    holds = concept.holds(*np.array([(*first, *second) for first, second in pairs]).T).tolist()
    target: dict[tuple[Shown, Shown], bool] = {}
    for (first, second), value in zip(pairs, holds, strict=True):
        if target.setdefault((_shown(first, reads), _shown(second, reads)), value) != value:
            return None
    return target


def _shown(card: tuple[int, int], reads: str) -> Shown:
    suit, rank = card
    return (suit if reads == "suit" else rank), bool(is_red(np.array(suit)))


def _merged(target: Mapping[tuple[Shown, Shown], bool], one_network: bool) -> dict[tuple[Hashable, Hashable], bool]:
    """The same relation over classes of images that it does not distinguish: networks need not distinguish them either."""
    shown = sorted({image for pair in target for image in pair})
    first = {a: ("first", *(target[a, b] for b in shown)) for a in shown}
    second = {b: ("second", *(target[a, b] for a in shown)) for b in shown}
    if one_network:
        both = {image: (first[image], second[image]) for image in shown}
        return {(both[a], both[b]): value for (a, b), value in target.items()}
    return {(first[a], second[b]): value for (a, b), value in target.items()}


def _is_expressible(
    target: Mapping[tuple[Hashable, Hashable], bool], values: int, relation: Relation, when: bool
) -> bool:
    """Whether the images can be assigned values such that the relation holds exactly where the target is `when`."""
    images = list(dict.fromkeys(image for pair in target for image in pair))

    def extends(assigned: dict[Hashable, int]) -> bool:
        if len(assigned) == len(images):
            return True
        return any(
            agrees(extension) and extends(extension)
            for extension in ({**assigned, images[len(assigned)]: value} for value in range(1, values + 1))
        )

    def agrees(assigned: Mapping[Hashable, int]) -> bool:
        decided = ((a, b, holds) for (a, b), holds in target.items() if a in assigned and b in assigned)
        return all(relation(assigned[a], assigned[b]) == (holds == when) for a, b, holds in decided)

    return extends({})
