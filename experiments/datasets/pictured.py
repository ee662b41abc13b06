"""Examples whose parts are pictures: trains with pictured loads and wheels, hands of real cards, and Eleusis histories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from experiments.datasets.decks import CARDS, KNOWN, RANKS, SUITS, photographs
from experiments.datasets.images import fashion_mnist, mnist
from experiments.datasets.problem import Labelled, Problem
from experiments.datasets.relational import relational
from neuid3.data.examples import Examples
from neuid3.data.parts import structure_of
from neuid3.errors import DataError, did_you_mean

Numbers: TypeAlias = npt.NDArray[Any]

ROWS = {"train": 1000, "test": 1000}
HAND_SIZES, HISTORY_SIZES = (3, 7), (3, 10)
RED = (SUITS.index("diamonds"), SUITS.index("hearts"))
COURT = RANKS - 3  # jack, queen and king are above
MOST_ATTEMPTS = 1000

CARD_NETWORKS = """
nn(rank_net, [C], R, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]) :: rank(C, R).
nn(suit_net, [C], S, [clubs, diamonds, hearts, spades]) :: suit(C, S).
nn(red_net, [C]) :: red(C).
"""
HANDS = f"""{CARD_NETWORKS}
nn(court_net, [C]) :: court(C).
same_rank(A, B) :- rank(A, R), rank(B, R).
same_suit(A, B) :- suit(A, S), suit(B, S).
red_court(C) :- red(C), court(C).
"""
HISTORIES = """
nn(suit_net, [C], S, [clubs, diamonds, hearts, spades]) :: suit(C, S).
nn(red_net, [C]) :: red(C).
same_suit(A, B) :- suit(A, S), suit(B, S).
same_colour(A, B) :- red(A), red(B).
same_colour(A, B) :- \\+ red(A), \\+ red(B).
follows(A) :- next(B, A), same_colour(B, A).
goes_on(A) :- next(A, B), same_colour(A, B).
odd_so_far(A) :- card(A), \\+ follows(A).
odd_so_far(A) :- next(B, A), same_colour(B, A), even_so_far(B).
even_so_far(A) :- next(B, A), same_colour(B, A), odd_so_far(B).
ends_even_run(A) :- even_so_far(A), \\+ goes_on(A).
ends_odd_run(A) :- odd_so_far(A), \\+ goes_on(A).
in_last_run(A) :- next(A, P), played(P).
in_last_run(A) :- next(A, B), same_colour(A, B), \\+ played(B), in_last_run(B).
repeats_suit(A) :- in_last_run(A), played(P), same_suit(A, P).
"""
TRAINS = """
nn(shape_net, [L], S, [circle, rectangle, hexagon, diamond, triangle, inverted_triangle]) :: shape(L, S).
nn(wheels_net, [C], W, [2, 3]) :: wheels(C, W).
"""
SHAPES = ("circle", "rectangle", "hexagon", "diamond", "triangle", "inverted_triangle")


def has_pair(cards: Numbers) -> bool:
    """Whether two cards have the same rank."""
    return len(set((cards % RANKS).tolist())) < len(cards)


def has_two_red_courts(cards: Numbers) -> bool:
    """Whether at least two cards are red jacks, queens or kings."""
    return int((np.isin(cards // RANKS, RED) & (cards % RANKS + 1 > COURT)).sum()) >= 2


def is_of_one_suit(cards: Numbers) -> bool:
    """Whether all cards have the same suit."""
    return len(set((cards // RANKS).tolist())) == 1


def has_odd_runs(cards: Numbers) -> bool:
    """Whether all runs of a colour have odd length."""
    red = np.isin(cards // RANKS, RED)
    starts = np.flatnonzero(np.r_[True, red[1:] != red[:-1], True])
    return bool((np.diff(starts) % 2 == 1).all())


def differs_from_last_run(cards: Numbers) -> bool:
    """Whether the last card differs in suit from all cards of the run of a colour before it."""
    red, suits = np.isin(cards // RANKS, RED), cards // RANKS
    start = len(cards) - 2
    while start > 0 and red[start - 1] == red[start]:
        start -= 1
    return bool((suits[start:-1] != suits[-1]).all())


class Concept(NamedTuple):
    """What holds of some sequences of cards, the background knowledge, and the numbers of cards."""

    holds: Callable[[Numbers], bool]
    background: str
    sizes: tuple[int, int]
    is_history: bool = False


CONCEPTS: Mapping[str, Concept] = {
    "pair": Concept(has_pair, HANDS, HAND_SIZES),
    "red-courts": Concept(has_two_red_courts, HANDS, HAND_SIZES),
    "one-suit": Concept(is_of_one_suit, HANDS, HAND_SIZES),
    "odd-runs": Concept(has_odd_runs, HISTORIES, HISTORY_SIZES, True),
    "other-suit": Concept(differs_from_last_run, HISTORIES, HISTORY_SIZES, True),
}
PROBLEMS = ("trains", *CONCEPTS)


def background_of(problem: str) -> str:
    """The background knowledge of a problem."""
    return TRAINS if problem == "trains" else CONCEPTS[problem].background


def pictured(problem: str, seed: int, rows: Mapping[str, int] = ROWS) -> Problem:
    """Examples whose parts are pictures, in balanced classes; for trains, those of a fold.

    Parameters
    ----------
    problem : "trains", or a concept of hands or histories.
    seed : which cards are drawn and how they lie; the fold of trains.
    rows : how many examples there are to learn from and to test.
    """
    if problem == "trains":
        symbolic = relational("trains1", "folds", seed)
        return Problem(
            (_with_pictures(symbolic.train[0], "train", seed), symbolic.train[1]),
            None,
            (_with_pictures(symbolic.test[0], "test", seed), symbolic.test[1]),
        )
    if problem not in CONCEPTS:
        raise DataError(f"There is no problem {problem!r}.{did_you_mean(problem, PROBLEMS)}")
    rng = np.random.default_rng([seed, len(problem)])
    train, test = (_cards(CONCEPTS[problem], rows[part], rng) for part in ("train", "test"))
    return Problem(train, None, test)


def _cards(concept: Concept, count: int, rng: np.random.Generator) -> Labelled:
    """Hands or histories of one deck each, half of which satisfy the concept."""
    drawn = [_drawn(concept, bool(row % 2), rng) for row in range(count)]
    sizes = np.array([len(cards) for cards in drawn])
    owner, cards = np.repeat(np.arange(count), sizes), np.concatenate(drawn)
    decks = np.repeat(rng.integers(0, len(KNOWN), count), sizes)
    last = np.r_[owner[1:] != owner[:-1], True]
    table = {"card": np.arange(len(cards)), "hand": owner, "face": photographs(KNOWN, decks, cards, rng)}
    relations = {}
    if concept.is_history:
        before = np.flatnonzero(~last)
        relations = {"next": {"card_1": before, "card_2": before + 1}}
        table["played"] = last
    X = Examples({"hand": np.arange(count)}, parts={"card": (table, "hand")}, relations=relations)
    return X, np.where(np.arange(count) % 2 == 1, "holds", "violates")


def _drawn(concept: Concept, holds: bool, rng: np.random.Generator) -> Numbers:
    """Cards that satisfy a concept or do not, by rejection; every second attempt draws from one suit."""
    low, high = concept.sizes
    for attempt in range(MOST_ATTEMPTS):
        size = int(rng.integers(low, high + 1))
        of_one_suit = attempt % 2 == 1 and not concept.is_history
        pool = np.arange(RANKS) + RANKS * rng.integers(len(SUITS)) if of_one_suit else np.arange(CARDS)
        cards = rng.choice(pool, size, replace=False)
        if concept.holds(cards) == holds:
            return cards
    raise AssertionError("every concept can be satisfied and violated")


def _with_pictures(X: Examples, part: str, seed: int) -> Examples:
    """Trains in which pictures of clothes stand for the shapes of loads, and pictures of digits for counts of wheels."""
    rng = np.random.default_rng([seed, len(part)])
    structure = structure_of(X)
    cars, loads = structure.parts["car"], structure.parts["load"]
    assert cars.table is not None
    assert loads.table is not None
    shapes = np.argmax([np.asarray(loads.table.column(shape).values) for shape in SHAPES], axis=0)
    wheels = np.where(np.asarray(cars.table.column("three_wheels").values), 3, 2)
    left_out = ("two_wheels", "three_wheels", "load", *SHAPES)
    car_table = {name: column for name, column in cars.table.items() if name not in left_out}
    load_table = {name: column for name, column in loads.table.items() if name not in left_out}
    return Examples(
        {"train": np.arange(len(X))},
        parts={
            "car": (
                {
                    **car_table,
                    "car": np.arange(len(cars)),
                    "train": cars.example,
                    "digit": _of(mnist(part), wheels, rng),
                },
                "train",
            ),
            "load": ({**load_table, "car": loads.owner, "cloth": _of(fashion_mnist(part), shapes, rng)}, "car"),
        },
    )


def _of(source: tuple[Any, Any], values: Numbers, rng: np.random.Generator) -> Numbers:
    """A random picture of each value."""
    pictures, labels = source
    rows = {value: np.flatnonzero(labels == value) for value in np.unique(values)}
    chosen = np.array([rng.choice(rows[value]) for value in values])
    shown: Numbers = np.asarray(pictures)[chosen][:, None]
    return shown
