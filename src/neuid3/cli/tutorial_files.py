"""The files of the tutorial: a table of card games, images of digits, and rules."""

from __future__ import annotations

import csv
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

from neuid3.errors import DataError, MissingPackageError

RULES = """\
% A network classifies the image of a card by its rank.
nn(rank_net, [Card], Rank, [1, 2, 3, 4, 5]) :: rank(Card, Rank).

% One card is higher than another if its rank is.
higher(A, B) :- rank(A, X), rank(B, Y), X > Y.
"""

PLAYERS = ("ann", "bob", "cleo")


def write_files(folder: Path, rows: int = 600, new: int = 100, seed: int = 0) -> str:
    """Create a folder with `cards.csv`, `new.csv`, `rules.pl` and `images/`; returns a summary.

    In each game two cards are drawn; the second player wins with a higher card, or with a joker. The images of `new.csv` are
    disjoint from those of `cards.csv`.

    Parameters
    ----------
    folder : the new folder.
    rows : the number of games in `cards.csv`.
    new : the number of games in `new.csv`, which have no result.
    seed : the random seed.
    """
    new_folder(folder)
    generator = np.random.default_rng(seed)
    digits = load_digits()
    ranks = generator.permutation(np.flatnonzero((digits.target >= 1) & (digits.target <= 5)))
    old, unseen = np.split(ranks, [len(ranks) * 3 // 4])
    draw_images(folder, digits.images, ranks)
    games = _games(digits.target, generator.choice(old, (rows, 2)), generator)
    write_csv(folder / "cards.csv", ("first", "second", "joker", "player", "result"), games)
    write_csv(
        folder / "new.csv",
        ("first", "second", "joker", "player"),
        [game[:-1] for game in _games(digits.target, generator.choice(unseen, (new, 2)), generator)],
    )
    (folder / "rules.pl").write_text(RULES, encoding="utf-8")
    return (
        f"{folder} has cards.csv ({rows:,} games), new.csv ({new:,} games without a result), rules.pl and images.\n"
        f"Next: neuid3 fit {folder}/cards.csv --target result --background {folder}/rules.pl"
    )


def _games(
    digit: npt.NDArray[np.int64], cards: npt.NDArray[np.int64], generator: np.random.Generator
) -> list[tuple[str, ...]]:
    joker = generator.random(len(cards)) < 0.1
    player = generator.choice(PLAYERS, len(cards))
    won = (digit[cards[:, 1]] > digit[cards[:, 0]]) | joker
    return [
        (image_name(first), image_name(second), "yes" if j else "no", str(p), "win" if w else "lose")
        for (first, second), j, p, w in zip(cards.tolist(), joker, player, won, strict=True)
    ]


def image_name(number: int) -> str:
    """The path of the image of a digit, as cells of a table have it."""
    return f"images/{number:04}.png"


def new_folder(folder: Path) -> None:
    """Create a folder with one for images; refuse one that exists, or a missing Pillow, before anything is written.

    Parameters
    ----------
    folder : the new folder.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{folder} exists already; give a new folder.")
    if find_spec("PIL") is None:
        raise MissingPackageError('Images need Pillow: pip install "neuid3[tables]".')
    (folder / "images").mkdir(parents=True)


def draw_images(folder: Path, images: npt.NDArray[np.float64], chosen: npt.NDArray[np.int64]) -> None:
    """Draw digits, each into a file named by its number.

    Parameters
    ----------
    folder : the folder of the table.
    images : the pixels of all digits, from 0 to 16.
    chosen : the numbers of the digits to draw.
    """
    from PIL import Image

    for number in chosen.tolist():
        pixels = (images[number] * 255 / 16).round().astype(np.uint8)
        Image.fromarray(pixels).save(folder / image_name(number))


def write_csv(path: Path, names: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Write a table.

    Parameters
    ----------
    path : the file.
    names : the names of the columns.
    rows : the cells of each row.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([names, *rows])
