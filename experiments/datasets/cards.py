"""Cards as images: a letter for the suit, a digit for the rank, both in the colour of the suit."""

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
    """A set of cards.

    Attributes
    ----------
    part : "train", "validation" or "test".
    suit, rank : 1 to 4 and 1 to 8, one per card.
    letter, digit : row of the suit image among the letters and of the rank image among the digits.
    """

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
    and one of test images. A tenth of the training images of every label is for the validation cards, so that no
    two parts share an image. Within a part each image is used as often as any other of its label (or once more).
    """
    if part not in PARTS:
        raise DataError(f"There is no part {part!r} of the cards.{did_you_mean(part, PARTS)}")
    rng = np.random.default_rng(PARTS.index(part))
    size = {"train": DECK - DECK // 10, "validation": DECK // 10, "test": DECK}[part]
    kinds = rng.permutation(np.resize(np.arange(len(SUITS) * RANKS), size))
    suit, rank = kinds // RANKS + 1, kinds % RANKS + 1
    letters, digits = emnist_letters(_split(part))[1], mnist(_split(part))[1]
    return Cards(part, suit, rank, _image_rows(suit, letters, part, rng), _image_rows(rank, digits, part, rng))


def _split(part: str) -> str:
    return "test" if part == "test" else "train"


def _image_rows(card_labels: Labels, labels: Labels, part: str, rng: np.random.Generator) -> Labels:
    """For every card the row of an image with its label, among the images of the part."""
    image_rows = np.empty(len(card_labels), dtype=np.int64)
    for label in np.unique(card_labels):
        images = np.flatnonzero(labels == label)
        held_out = max(1, len(images) // 10)
        available = {"train": images[held_out:], "validation": images[:held_out], "test": images}[part]
        if not len(available):
            raise DataError(f"There are {len(images)} images of label {label}; cards need at least two of each.")
        rows = np.flatnonzero(card_labels == label)
        image_rows[rows] = np.resize(rng.permutation(available), len(rows))
    return image_rows
