"""Windows of two cards, for measuring what learning is worth: suits as letters, ranks as digits, both coloured.

Reads MNIST and EMNIST letters from the folder that NEUID3_DATA names. Everything here is made of training images:
a tenth of them is kept apart for validation, and test images are never looked at.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from neuid3 import Examples

BACKGROUND = """
nn(rank_net, [I], R, [1, 2, 3, 4, 5, 6, 7, 8]) :: rank(I, R).
nn(suit_net, [I], S, [1, 2, 3, 4]) :: suit(I, S).
nn(attribute_net, [I], B, [0, 1]) :: rank_attribute(I, B).
gt_rank(A, B) :- rank(A, X), rank(B, Y), X < Y.
gt_suit(A, B) :- suit(A, X), suit(B, Y), X < Y.
modulo_suit(A, B) :- suit(A, X), suit(B, Y), Y =:= X mod 4 + 1.
alternate_attr_rank(A, B) :- rank_attribute(A, X), rank_attribute(B, Y), X \\= Y.
"""

Concept = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
CONCEPTS: dict[str, tuple[Concept, list[str]]] = {
    "hidden_order_simple": (
        lambda s0, r0, s1, r1: (s0 < s1) | (r0 < r1),
        ["gt_rank(rank_1, rank_2)", "gt_suit(suit_1, suit_2)"],
    ),
    "increase_suits": (lambda s0, r0, s1, r1: s1 == s0 % 4 + 1, ["modulo_suit(suit_1, suit_2)"]),  # noqa: ARG005 - a concept sees both cards
    "alternating_parity": (lambda s0, r0, s1, r1: r0 % 2 != r1 % 2, ["alternate_attr_rank(rank_1, rank_2)"]),  # noqa: ARG005 - likewise
}


@cache
def idx(name: str) -> np.ndarray:
    """An IDX file of the data folder."""
    content = gzip.decompress((Path(os.environ["NEUID3_DATA"]) / name).read_bytes())
    axes = content[3]
    shape = [int.from_bytes(content[4 + 4 * i : 8 + 4 * i], "big") for i in range(axes)]
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)


def pick(labels: np.ndarray, wanted: np.ndarray, unseen: bool, rng: np.random.Generator) -> np.ndarray:
    """For each wanted label an image that shows it, from the tenth kept apart or from the rest."""
    chosen = np.empty(len(wanted), dtype=np.int64)
    for label in np.unique(wanted):
        pool = np.flatnonzero(labels == label)
        pool = pool[: len(pool) // 10] if unseen else pool[len(pool) // 10 :]
        chosen[wanted == label] = rng.choice(pool, int((wanted == label).sum()))
    return chosen


def cards(n: int, unseen: bool, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Suits 1 to 4, ranks 1 to 8, and their pictures; diamonds and hearts are red, clubs and spades white."""
    suit, rank = rng.integers(1, 5, n), rng.integers(1, 9, n)
    letters = idx("emnist/emnist-letters-AD-train-images-idx3-ubyte.gz")
    digits = idx("mnist/train-images-idx3-ubyte.gz")
    suits = letters[pick(idx("emnist/emnist-letters-AD-train-labels-idx1-ubyte.gz"), suit, unseen, rng)]
    ranks = digits[pick(idx("mnist/train-labels-idx1-ubyte.gz"), rank, unseen, rng)]
    white = (suit % 2 == 0)[:, None, None, None]
    colour = np.array([True, False, False])[None, :, None, None] | white
    return suit, rank, suits[:, None] * colour, ranks[:, None] * colour


def windows(concept: str, n: int, unseen: bool, seed: int) -> tuple[Examples, np.ndarray]:
    """Windows of two cards, and whether they hold or violate a concept."""
    rng = np.random.default_rng([seed, int(unseen)])
    (s0, r0, suit_1, rank_1), (s1, r1, suit_2, rank_2) = cards(n, unseen, rng), cards(n, unseen, rng)
    y = np.where(CONCEPTS[concept][0](s0, r0, s1, r1), "holds", "violates")
    return Examples({"suit_1": suit_1, "suit_2": suit_2, "rank_1": rank_1, "rank_2": rank_2}), y
