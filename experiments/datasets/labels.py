"""Windows of Eleusis with one labelled image for each value of the networks whose meaning a person can name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy.typing as npt

from experiments.datasets.cards import RANKS, Cards
from experiments.datasets.eleusis import deal, eleusis
from experiments.datasets.problem import Problem, TrueValues, one_label_per_value

Value: TypeAlias = Callable[[Cards], npt.NDArray[Any]]


def _is_odd(cards: Cards) -> npt.NDArray[Any]:
    return cards.rank % 2


def _is_face(cards: Cards) -> npt.NDArray[Any]:
    return (cards.rank > RANKS // 2).astype(int)


def _is_white(cards: Cards) -> npt.NDArray[Any]:
    return (~cards.red).astype(int)


# What the attributes of the rules made for a concept stand for, 0 or 1. In other concepts attributes have no meaning.
ATTRIBUTES: Mapping[str, Mapping[str, Value]] = {
    "alternating_parity": {"rank_attribute(rank_1)": _is_odd, "rank_attribute(rank_2)": _is_odd},
    "alternating_faces": {"rank_attribute(rank_1)": _is_face, "rank_attribute(rank_2)": _is_face},
    "color_parity_rule": {"rank_attribute_1(rank_1)": _is_odd, "rank_attribute_2(rank_2)": _is_white},
}


def labelled_eleusis(concept: str, seed: int) -> Problem:
    """The windows of `eleusis`, with one labelled training image for each value, and the true values of all test images.

    Ranks and suits are labelled for every concept, attributes where the concept is about them.

    Parameters
    ----------
    concept : the name of the concept.
    seed : the seed of the windows.

    Returns
    -------
    The problem.
    """
    windows = eleusis(concept, seed)
    labels, labelled = {}, set()
    for call, values in true_values(concept, seed, "train").items():
        predicate = call.partition("(")[0]
        if predicate not in labelled:  # one image per value, of the first column that the network reads
            labelled.add(predicate)
            labels[call] = one_label_per_value(values)
    shown = TrueValues(windows.test[0], true_values(concept, seed, "test"))
    return Problem(windows.train, windows.validation, windows.test, labels, shown)


def true_values(concept: str, seed: int, part: str) -> dict[str, npt.NDArray[Any]]:
    """The true value of every image of a part, `(window,)`, by neural predicate and column, as in `rank(rank_1)`."""
    values: dict[str, npt.NDArray[Any]] = {}
    for position, cards in enumerate(deal(concept, seed, part), 1):
        values |= {f"rank(rank_{position})": cards.rank, f"suit(suit_{position})": cards.suit}
        for call, value in ATTRIBUTES.get(concept, {}).items():
            if call.endswith(f"_{position})"):
                values[call] = value(cards)
    return values
