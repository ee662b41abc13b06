"""What does a card look like? A letter for its suit, a digit for its rank, both in the suit's colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from experiments.datasets.images import Images, Labels, emnist_letters, mnist
from neuid3.errors import DataError, did_you_mean

Numbers: TypeAlias = npt.NDArray[Any]

SUITS = ("diamonds", "clubs", "hearts", "spades")  # 1 to 4, shown as A to D; the first and third are red
RANKS = 8
DECK = 20_000
PARTS = ("train", "validation", "test")


@dataclass(frozen=True, slots=True, eq=False)
class Cards:
    """Cards by suit (1 to 4) and rank (1 to 8), and which letter and which digit shows each of them."""

    part: str
    suit: Labels
    rank: Labels
    letter: Labels
    digit: Labels

    def __len__(self) -> int:
        return len(self.suit)

    def __getitem__(self, rows: Any) -> Cards:
        return Cards(self.part, self.suit[rows], self.rank[rows], self.letter[rows], self.digit[rows])

    @property
    def red(self) -> npt.NDArray[np.bool_]:
        return is_red(self.suit)

    def suit_images(self) -> Images:
        return coloured(emnist_letters(_split(self.part))[0][self.letter], self.red)

    def rank_images(self) -> Images:
        return coloured(mnist(_split(self.part))[0][self.digit], self.red)


def is_red(suit: Numbers) -> npt.NDArray[np.bool_]:
    """Diamonds and hearts are red; clubs and spades, black on paper, are white here."""
    red: npt.NDArray[np.bool_] = np.asarray(suit) % 2 == 1
    return red


def coloured(images: Images, red: npt.NDArray[np.bool_]) -> Images:
    """Grey images (n, h, w) as colour images (n, 3, h, w): red in the first channel only, white in all three."""
    channels = np.ones((len(images), 3), dtype=np.uint8)
    channels[red, 1:] = 0
    return images[:, None] * channels[:, :, None, None]


def cards(part: str) -> Cards:
    """The cards for training, validation or testing, the same for every seed.

    Two sets of 20,000, every suit and rank equally often: one of training images, a tenth of which is for validation,
    and one of test images. A tenth of the training images of every label is kept for the validation cards, so that no
    two parts share an image. Within a part each image is used as often as any other of its label (or once more).
    """
    if part not in PARTS:
        raise DataError(f"There is no part {part!r} of the cards.{did_you_mean(part, PARTS)}")
    rng = np.random.default_rng(PARTS.index(part))
    size = {"train": DECK - DECK // 10, "validation": DECK // 10, "test": DECK}[part]
    kinds = rng.permutation(np.resize(np.arange(len(SUITS) * RANKS), size))
    suit, rank = kinds // RANKS + 1, kinds % RANKS + 1
    letters, digits = emnist_letters(_split(part))[1], mnist(_split(part))[1]
    return Cards(part, suit, rank, _shown(suit, letters, part, rng), _shown(rank, digits, part, rng))


def _split(part: str) -> str:
    return "test" if part == "test" else "train"


def _shown(wanted: Labels, labels: Labels, part: str, rng: np.random.Generator) -> Labels:
    """For every wanted label an image that shows it, out of those that belong to the part."""
    chosen = np.empty(len(wanted), dtype=np.int64)
    for label in np.unique(wanted):
        shown = np.flatnonzero(labels == label)
        apart = max(1, len(shown) // 10)
        mine = {"train": shown[apart:], "validation": shown[:apart], "test": shown}[part]
        if not len(mine):
            raise DataError(f"There are {len(shown)} images of label {label}; cards need at least two of each.")
        rows = np.flatnonzero(wanted == label)
        chosen[rows] = np.resize(rng.permutation(mine), len(rows))
    return chosen
