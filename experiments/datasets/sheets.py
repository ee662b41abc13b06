"""Contact sheets of datasets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.datasets.cards import RANKS, SUITS, cards
from experiments.datasets.decks import CARDS, KNOWN, UNSEEN, photographs
from experiments.datasets.eleusis import CONCEPTS, eleusis
from experiments.datasets.folds import uci_fold
from experiments.datasets.images import LETTERS, Images, Labels, digits, emnist_letters, fashion_mnist, mnist
from experiments.datasets.tables import UCI
from neuid3.errors import DataError, did_you_mean

BACKGROUND = 56  # grey value between images
GAP = 2  # pixels
GREEN, RED = (64, 176, 88), (208, 64, 64)

SHEETS = ("mnist", "letters", "fashion", "digits", "cards", "decks", *CONCEPTS, *UCI)


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """A picture (h, w, 3) and the lines of its legend."""

    picture: Images
    legend: tuple[str, ...]


def sheet(name: str, seed: int = 0) -> Sheet:
    """The contact sheet of a dataset; the same seed gives the same picture."""
    rng = np.random.default_rng(seed)
    match name:
        case "mnist":
            return Sheet(
                _by_label(*mnist("train"), rng, zoom=2), ("Rows: the digits 0 to 9 of MNIST's training images.",)
            )
        case "letters":
            legend = f"Rows: the letters {', '.join(LETTERS)} of EMNIST's training images, both cases."
            return Sheet(_by_label(*emnist_letters("train"), rng, zoom=2), (legend,))
        case "fashion":
            legend = "Rows: the ten labels of Fashion-MNIST's training images, from 0."
            return Sheet(_by_label(*fashion_mnist("train"), rng, zoom=2), (legend,))
        case "decks":
            return _decks_sheet(rng)
        case "digits":
            return Sheet(_by_label(*digits(), rng, zoom=5), ("Rows: scikit-learn's digits 0 to 9.",))
        case "cards":
            return _cards_sheet(rng)
        case _ if name in CONCEPTS:
            return _concept_sheet(name, seed)
        case _ if name in UCI:
            return _table_sheet(name, seed)
        case _:
            raise DataError(f"There is no dataset {name!r} to show.{did_you_mean(name, SHEETS)}")


def _by_label(images: Images, labels: Labels, rng: np.random.Generator, zoom: int) -> Images:
    rows = [images[rng.choice(np.flatnonzero(labels == label), 16)] for label in np.unique(labels)]
    return _zoomed(_framed(_column([_row([_rgb(image) for image in row]) for row in rows])), zoom)


def _cards_sheet(rng: np.random.Generator) -> Sheet:
    deck = cards("train")
    rows = []
    for suit in range(1, len(SUITS) + 1):
        same = [np.flatnonzero((deck.suit == suit) & (deck.rank == rank)) for rank in range(1, RANKS + 1)]
        drawn = deck[np.array([rng.choice(kind) for kind in same])]
        pairs = zip(drawn.suit_images(), drawn.rank_images(), strict=True)
        rows.append(_row([_row([_rgb(suit_image), _rgb(rank_image)], 0) for suit_image, rank_image in pairs], 3 * GAP))
    legend = f"Rows: {', '.join(SUITS)}; columns: ranks 1 to {RANKS}. Each card is a suit image and a rank image."
    return Sheet(_zoomed(_framed(_column(rows, 3 * GAP)), 2), (legend,))


def _decks_sheet(rng: np.random.Generator, across: int = 10) -> Sheet:
    names = (*KNOWN, *UNSEEN)
    deck = np.repeat(np.arange(len(names)), across)
    pictures = photographs(names, deck, rng.integers(0, CARDS, len(deck)), rng)
    rows = [_row([_rgb(picture) for picture in pictures[i : i + across]]) for i in range(0, len(deck), across)]
    legend = f"Rows: the decks {', '.join(KNOWN)}; and, not for training, {', '.join(UNSEEN)}."
    return Sheet(_framed(_column(rows)), (legend,))


def _concept_sheet(name: str, seed: int, windows: int = 24, across: int = 3) -> Sheet:
    X, y = eleusis(name, seed).train
    blocks = []
    for label, colour in (("holds", GREEN), ("violates", RED)):
        shown = [
            _row([_rgb(X.column(column).values[row]) for column in ("suit_1", "rank_1", "suit_2", "rank_2")], 0)
            for row in np.flatnonzero(y == label)[:windows]
        ]
        rows = [
            _row([_marked(window, colour) for window in shown[i : i + across]], 4 * GAP)
            for i in range(0, len(shown), across)
        ]
        blocks.append(_column(rows))
    fraction = (y == "holds").mean()
    legend = (
        f"{name}: {CONCEPTS[name].description}.",
        "Green, above: windows that hold the concept; red, below: windows that violate it.",
        f"Each window is suit_1, rank_1, suit_2, rank_2. {fraction:.0%} of the training windows hold.",
    )
    return Sheet(_zoomed(_framed(_column(blocks, 6 * GAP)), 2), legend)


def _table_sheet(name: str, seed: int, each: int = 8) -> Sheet:
    fold = uci_fold(name, "mnist", seed=seed)
    X, y = fold.train
    blocks = []
    for label, colour in (("positive", GREEN), ("negative", RED)):
        rows = np.flatnonzero(y == label)[:each]
        shown = [_row([_rgb(X.column(column).values[row]) for column in X.names]) for row in rows]
        blocks.append(_column([_marked(row, colour) for row in shown]))
    columns = tuple(
        f"{number:3} {column}: {meaning}" for number, (column, meaning) in enumerate(fold.meanings.items(), 1)
    )
    legend = "Green, above: rows of the most frequent class; red, below: the others. Columns from the left, a 1 says:"
    return Sheet(_zoomed(_framed(_column(blocks, 6 * GAP)), 2 if len(columns) < 20 else 1), (legend, *columns))


def _rgb(image: Images) -> Images:
    """A grey (h, w) or colour (3, h, w) image as (h, w, 3)."""
    return np.repeat(image[:, :, None], 3, axis=2) if image.ndim == 2 else image.transpose(1, 2, 0)


def _row(images: list[Images], gap: int = GAP) -> Images:
    """Images beside one another."""
    return _column([image.transpose(1, 0, 2) for image in images], gap).transpose(1, 0, 2)


def _column(images: list[Images], gap: int = GAP) -> Images:
    """Images below one another, aligned to the left."""
    width = max(image.shape[1] for image in images)
    padded = [
        np.pad(image, ((0, gap), (0, width - image.shape[1]), (0, 0)), constant_values=BACKGROUND) for image in images
    ]
    joined = np.concatenate(padded)
    return joined[: len(joined) - gap]


def _framed(image: Images) -> Images:
    return np.pad(image, ((2 * GAP, 2 * GAP), (2 * GAP, 2 * GAP), (0, 0)), constant_values=BACKGROUND)


def _marked(image: Images, colour: tuple[int, int, int]) -> Images:
    """An image with a bar of this colour on its left."""
    bar = np.full((image.shape[0], 2 * GAP, 3), colour, dtype=np.uint8)
    return np.concatenate((bar, image), axis=1)


def _zoomed(image: Images, zoom: int) -> Images:
    return image.repeat(zoom, axis=0).repeat(zoom, axis=1)
