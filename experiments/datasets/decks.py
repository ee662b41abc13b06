"""Pictures of real playing cards: two cards of a deck, as a camera above a green table would see them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from experiments.datasets.files import local
from experiments.datasets.problem import Labelled, Problem, Rules, TrueValues, one_label_per_value
from neuid3.data.examples import Examples
from neuid3.data.reading.pictures import open_image
from neuid3.errors import DataError, did_you_mean

Images: TypeAlias = npt.NDArray[np.uint8]
Numbers: TypeAlias = npt.NDArray[Any]

SUITS = ("clubs", "diamonds", "hearts", "spades")
RANKS = 13
CARDS = len(SUITS) * RANKS
KNOWN = (
    "ancient_french",
    "anglo",
    "anglo_poker",
    "berlin",
    "gnomangelo",
    "guyenne-classic",
    "lattmann",
    "orell",
    "simplistic",
    "slavic_costumes",
    "tango_nuevo",
    "tarocco",
)
UNSEEN = ("atlasnye", "paris", "plastic", "tigullio")
DRAWN_FROM = "the decks are drawings of Debian's package gnome-cards-data, see docs/datasets.md"

ROWS = {"train": 1000, "test": 1000, "unseen": 1000}
HEIGHT, WIDTH = 64, 44  # pixels of a picture
OVERSAMPLING = 2  # pictures are turned at this multiple of their size, and averaged
CHUNK = 256  # pictures that are made at a time
GREEN = (0, 100, 40)
MAX_TURN = math.radians(6)
MAX_SHIFT = 0.04  # of width and height
SCALES, LIGHTS = (0.96, 1.08), (0.75, 1.1)

BACKGROUND = """
nn(red_net, [Card]) :: red(Card).
nn(face_net, [Card]) :: face(Card).
nn(rank_net, [Card], R, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]) :: rank(Card, R).

colour_changes(A, B) :- red(A), \\+ red(B).
colour_changes(A, B) :- \\+ red(A), red(B).
face_changes(A, B) :- face(A), \\+ face(B).
face_changes(A, B) :- \\+ face(A), face(B).
higher(A, B) :- rank(A, X), rank(B, Y), X < Y.
"""
TESTS = (
    "colour_changes(last, played)",
    "face_changes(last, played)",
    "higher(last, played)",
    "higher(played, last)",
)
RULES = Rules(BACKGROUND, TESTS)

# What is to be learned, and the test that says so.
CONCEPTS: Mapping[str, str] = {"colour_alternates": TESTS[0], "higher": TESTS[2]}
LABELLED_CARDS = (0, RANKS)


def decks(concept: str, seed: int, labelled: int = 0) -> Problem:
    """Rows of two cards of one deck, "last" and "played", as pictures (3, 64, 44); a concept of them holds or is violated.

    Each picture is turned, moved, scaled and lit at random. Training and test rows are of twelve decks; those in `unseen`,
    whose cards have known values, of four others.

    Parameters
    ----------
    concept : "colour_alternates" (one card is red, the other is not) or "higher" (the rank of the played card is higher).
    seed : which cards are drawn, and how they lie.
    labelled : 0, or 13 for one labelled card of each rank: its rank, its colour, and whether it is a face.

    Returns
    -------
    The problem.
    """
    if concept not in CONCEPTS:
        raise DataError(f"There is no concept {concept!r}.{did_you_mean(concept, CONCEPTS)}")
    if labelled not in LABELLED_CARDS:
        raise DataError(f"{labelled} cards cannot be labelled here; give 0 or {RANKS}.")
    rng = np.random.default_rng([seed, RANKS])
    train, values = deck_rows(concept, KNOWN, ROWS["train"], rng)
    test, _ = deck_rows(concept, KNOWN, ROWS["test"], rng)
    unseen, shown = deck_rows(concept, UNSEEN, ROWS["unseen"], rng)
    cards = one_label_per_value(values["rank(last)"]) if labelled else {}
    labels = {
        f"{predicate}(last)": {row: values[f"{predicate}(last)"][row].item() for row in cards}
        for predicate in ("rank", "red", "face")
    }
    return Problem(train, None, test, labels if cards else {}, TrueValues(unseen[0], shown), unseen)


def deck_files(deck: str) -> list[str]:
    """The names of the files of a deck, suit by suit from the ace to the king."""
    return [f"decks/{deck}/{suit}-{rank:02}.png" for suit in SUITS for rank in range(1, RANKS + 1)]


def deck_rows(
    concept: str, names: Sequence[str], n: int, rng: np.random.Generator
) -> tuple[Labelled, dict[str, npt.NDArray[Any]]]:
    """Rows with their classes, and the true values of their cards."""
    deck = rng.integers(0, len(names), n)
    last = rng.integers(0, CARDS, n)
    played = (last + rng.integers(1, CARDS, n)) % CARDS  # another card of the same deck
    cards = {"last": last, "played": played}
    columns = {column: photographs(names, deck, card, rng) for column, card in cards.items()}
    values: dict[str, npt.NDArray[Any]] = {}
    for column, card in cards.items():
        rank = card % RANKS + 1
        values[f"rank({column})"] = rank
        values[f"red({column})"] = np.isin(card // RANKS, [SUITS.index("diamonds"), SUITS.index("hearts")])
        values[f"face({column})"] = rank > RANKS - 3
    if concept == "higher":
        holds = values["rank(last)"] < values["rank(played)"]
    else:
        holds = values["red(last)"] != values["red(played)"]
    return (Examples(columns), np.where(holds, "holds", "violates")), values


def photographs(names: Sequence[str], deck: Numbers, card: Numbers, rng: np.random.Generator) -> Images:
    """Pictures of cards, turned, moved, scaled and lit at random, on green, `(n, 3, height, width)`.

    Parameters
    ----------
    names : names of decks.
    deck : for each picture the number of its deck among these names.
    card : for each picture the number of its card, 0 to 51.
    rng : source of turns, shifts, scales and lights.
    """
    drawings = np.stack([_drawings(name) for name in names])  # (deck, card, 3, height, width), oversampled
    n = len(card)
    turn = rng.uniform(-MAX_TURN, MAX_TURN, n)
    scale = rng.uniform(*SCALES, n)
    shift = rng.uniform(-MAX_SHIFT, MAX_SHIFT, (n, 2))
    light = rng.uniform(*LIGHTS, n)
    inverse = _picture_to_drawing(turn, scale, shift)
    pictures = np.empty((n, 3, HEIGHT, WIDTH), dtype=np.uint8)
    for start in range(0, n, CHUNK):
        rows = slice(start, start + CHUNK)
        pictures[rows] = _render(drawings[deck[rows], card[rows]], inverse[rows], light[rows])
    return pictures


def _picture_to_drawing(turn: Numbers, scale: Numbers, shift: Numbers) -> npt.NDArray[np.float32]:
    """For each picture the affine map from its coordinates to those of the drawing, both from −1 to 1, `(n, 2, 3)`."""
    cos, sin = np.cos(turn) / scale, np.sin(turn) / scale
    across = HEIGHT / WIDTH
    linear = np.stack([np.stack([cos, sin * across], 1), np.stack([-sin / across, cos], 1)], 1)
    offset = -np.einsum("nij,nj->ni", linear, 2 * shift)
    return np.concatenate([linear, offset[:, :, None]], axis=2).astype(np.float32)


def _render(drawings: Images, maps: npt.NDArray[np.float32], light: Numbers) -> Images:
    """Drawings seen through affine maps, averaged to the size of a picture and lit."""
    import torch
    from torch.nn.functional import affine_grid, avg_pool2d, grid_sample

    green = torch.tensor(GREEN, dtype=torch.float32)[:, None, None]
    drawn = torch.from_numpy(drawings).float() - green  # what lies outside of a drawing is 0, and so green
    grid = affine_grid(torch.from_numpy(maps), list(drawn.shape), align_corners=False)
    small = avg_pool2d(grid_sample(drawn, grid, align_corners=False), OVERSAMPLING) + green
    lit = small * torch.from_numpy(light.astype(np.float32))[:, None, None, None]
    pixels: Images = lit.round().clamp(0, 255).to(torch.uint8).numpy()
    return pixels


@cache
def _read_drawing(path: str) -> Images:
    """A card in the middle of a green picture, as large as it fits, `(3, height, width)`, oversampled."""
    from PIL import Image

    height, width = HEIGHT * OVERSAMPLING, WIDTH * OVERSAMPLING
    with open_image(Path(path), path, "get the decks again") as image:
        card = image.convert("RGB")
        zoom = min(width / card.width, height / card.height)
        size = (round(card.width * zoom), round(card.height * zoom))
        table = Image.new("RGB", (width, height), GREEN)
        table.paste(card.resize(size, Image.Resampling.BOX), ((width - size[0]) // 2, (height - size[1]) // 2))
        return np.moveaxis(np.asarray(table), -1, 0)


def _drawings(deck: str) -> Images:
    """The 52 cards of a deck, `(card, 3, height, width)`, oversampled."""
    return np.stack([_read_drawing(str(local(name, DRAWN_FROM))) for name in deck_files(deck)])
