"""The demonstration: a hidden concept over images of cards, a symbolic column and rules."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt
from rich.console import Console
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score

from neuid3.data.examples import Examples
from neuid3.estimators.classifier import NeuID3Classifier
from neuid3.training.config import TrainingConfig

SUITS = ("clubs", "diamonds", "hearts", "spades")

BACKGROUND = """\
nn(rank_net, [Image], R, [1, 2, 3, 4, 5, 6, 7, 8]) :: rank(Image, R).
nn(red_net, [Image]) :: red(Image).
gt_rank(A, B) :- rank(A, R1), rank(B, R2), R1 < R2.
same_colour(A, B) :- red(A), red(B).
same_colour(A, B) :- \\+ red(A), \\+ red(B).
"""

# Each glyph is drawn on 8 × 8 pixels: a club, a diamond, a heart and a spade.
_GLYPHS = (
    "...##... ..####.. ..####.. ######## ######## .##..##. ...##... ..####..",
    "...##... ..####.. .######. ######## ######## .######. ..####.. ...##...",
    ".##..##. ######## ######## ######## .######. ..####.. ...##... ........",
    "...##... ..####.. .######. ######## ######## ##.##.## ...##... ..####..",
)


def glyphs(suits: npt.NDArray[np.int64], generator: np.random.Generator) -> npt.NDArray[np.float32]:
    """Images of suits, shifted and with noise, `(n, 8, 8)`."""
    drawn = np.array(
        [[[pixel == "#" for pixel in row] for row in glyph.split()] for glyph in _GLYPHS], dtype=np.float32
    )
    images = drawn[suits]
    shifted = [np.roll(image, tuple(generator.integers(-1, 2, 2)), axis=(0, 1)) for image in images]
    noisy = np.stack(shifted) * generator.uniform(0.6, 1.0, (len(suits), 1, 1)) + generator.normal(
        0, 0.15, images.shape
    )
    return np.clip(noisy, 0, 1).astype(np.float32)


def windows(n: int, generator: np.random.Generator) -> tuple[Examples, npt.NDArray[np.int64]]:
    """Pairs of cards with a joker, and their labels: whether the rank increases or there is a joker, the hidden concept."""
    digits = load_digits()
    ranks = np.flatnonzero((digits.target >= 1) & (digits.target <= 8))
    first, second = generator.choice(ranks, size=(2, n))
    suits = generator.integers(0, 4, (2, n))
    joker = generator.random(n) < 0.1
    label = (digits.target[first] < digits.target[second]) | joker
    images = (digits.images / 16).astype(np.float32)
    table = {
        "first": images[first],
        "second": images[second],
        "first_suit": glyphs(suits[0], generator),
        "second_suit": glyphs(suits[1], generator),
        "joker": joker,
        "player": generator.choice(["ann", "bob", "cleo"], n),
    }
    return Examples(table), label.astype(np.int64)


TESTS = (
    "joker",
    "player(ann)",
    "player(bob)",
    "player(cleo)",
    "gt_rank(first, second)",
    "same_colour(first_suit, second_suit)",
)


def run(jobs: int = 2) -> None:
    """Learn the concept from labelled windows, print the tree and its scores on unseen windows, and verify it with ProbLog."""
    console = Console(highlight=False, soft_wrap=True)  # a line of the tree stays one line
    generator = np.random.default_rng(0)
    (X, y), (X_test, y_test) = windows(1500, generator), windows(1000, generator)
    labels = np.array(["violates", "holds"])
    console.print("[bold]1,500 windows of two cards[/bold]: images of ranks and suits, a joker, the player's name.\n")
    console.print("[bold]The rules[/bold]\n" + BACKGROUND)
    started = time.monotonic()
    clf = NeuID3Classifier(
        background=BACKGROUND,
        tests=TESTS,
        training=TrainingConfig(restarts=2),
        pos_label="holds",
        max_depth=2,
        n_jobs=jobs,
        random_state=0,
    ).fit(X, labels[y])
    console.print(f"[bold]The tree[/bold], learned in {time.monotonic() - started:.0f} s")
    console.print(clf.export_text() + "\n")
    predictions = clf.predict(X_test)
    scores = ", ".join(f"{label} {f1_score(labels[y_test], predictions, pos_label=label):.3f}" for label in labels)
    accuracy, majority = float((predictions == labels[y_test]).mean()), float(max(y_test.mean(), 1 - y_test.mean()))
    console.print(f"On 1,000 unseen windows: accuracy {accuracy:.3f} (majority class {majority:.3f}), F1 {scores}.")
    console.print("No network was trained on labels of digits, only on whether a window holds or violates the concept.")
    console.print(f"ProbLog runs the exported tree and differs by at most {clf.model_.verify(X_test, rows=3):.1e}.")
