"""Cards whose values are written in their first pixels, networks that read them there, and trees about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from neuid3 import Branch, Examples, Leaf, NeuID3Classifier, NeurosymbolicTree, Tree, register

RULES = """
nn(rank_net, [X], R, [1, 2, 3, 4, 5]) :: rank(X, R).
nn(red_net, [X]) :: red(X).
nn(same_net, [X, Y]) :: same(X, Y).
higher(A, B) :- rank(A, X), rank(B, Y), X < Y.
"""

# The pixels of the first row that hold each value, and the doubt of all networks, from 0 to 255.
RANK, RED, SUIT, DOUBT = range(4)
STEP = 40


@register
class Corner(torch.nn.Module):
    """Reads a value off a pixel; with doubt, all values become more alike. Two images are compared for equal values."""

    def __init__(self, pixel_index: int, width: int) -> None:
        super().__init__()
        self.settings = {"pixel_index": pixel_index, "width": width}
        self.pixel_index, self.width = pixel_index, width

    def forward(self, *images: torch.Tensor) -> torch.Tensor:
        pixels = [image.flatten(1) * 255 for image in images]
        values = [(pixel[:, self.pixel_index] / STEP).round().long() for pixel in pixels]
        value = values[0].clamp(max=max(self.width, 2) - 1) if len(values) == 1 else (values[0] == values[1]).long()
        doubt = pixels[0][:, DOUBT : DOUBT + 1] / 255
        sure = torch.nn.functional.one_hot(value, max(self.width, 2)).to(images[0].dtype)
        mixed = (1 - doubt) * sure + doubt / sure.shape[1]
        return mixed[:, 1:] if self.width == 1 else mixed


NETWORKS = {"rank_net": Corner(RANK, 5), "red_net": Corner(RED, 1), "same_net": Corner(SUIT, 1)}


def pictures(ranks: Any, reds: Any = 0, suits: Any = 0, doubts: Any = 0) -> np.ndarray:
    """Grey images of 16 × 16 pixels; each is another one, also where the values are the same."""
    ranks = np.asarray(ranks)
    images = np.zeros((len(ranks), 16, 16), dtype=np.uint8)
    images[:, 2:, 2:] = np.random.default_rng(0).integers(0, 255, (len(ranks), 14, 14))
    for pixel_index, values in ((RANK, ranks - 1), (RED, reds), (SUIT, suits)):
        images[:, 0, pixel_index] = STEP * np.asarray(values)
    images[:, 0, DOUBT] = doubts
    return images


def model(root: Any, X: Examples, candidates: tuple[str, ...] | None = None) -> NeurosymbolicTree:
    """A tree about cards with the networks that it calls."""
    tree = Tree(root, classes=("lose", "win"))
    calls = str([str(test) for test in tree.tests])
    needed = {"rank_net": ("rank", "higher"), "red_net": ("red",), "same_net": ("same",)}
    networks = {
        name: NETWORKS[name] for name, predicates in needed.items() if any(f"{w}(" in calls for w in predicates)
    }
    built = NeurosymbolicTree(tree, X.schema, background=RULES, networks=networks)
    built.candidates = candidates
    return built


ALL_KINDS = Branch(
    "higher(last, played)",
    Branch("red(played)", Leaf(0.9), Leaf(0.7)),
    Branch("same(last, played)", Leaf(0.4), Leaf(0.1)),
)


def cards(n: int = 40, seed: int = 0) -> Examples:
    """Rows of two cards with values at random."""
    draw = np.random.default_rng(seed)
    columns = {
        name: pictures(draw.integers(1, 6, n), draw.integers(0, 2, n), draw.integers(0, 4, n), draw.integers(0, 120, n))
        for name in ("last", "played")
    }
    columns["played"][:, 15, 15] = 1  # no image is in both columns
    columns["last"][:, 15, 15] = 0
    return Examples(columns)


def fitted(n: int = 200) -> tuple[NeuID3Classifier, Examples]:
    """A classifier that calls all three networks, as they are given, and the examples of its fit."""
    X = cards(n)
    last, played = (np.asarray(X.column(name).values)[:, 0, :DOUBT] for name in ("last", "played"))
    higher, red, same = last[:, RANK] < played[:, RANK], played[:, RED] > 0, last[:, SUIT] == played[:, SUIT]
    clf = NeuID3Classifier(
        background=RULES,
        networks=NETWORKS,
        tests=["higher(last, played)", "higher(played, last)", "red(played)", "same(last, played)"],
        max_depth=2,
        random_state=0,
    )
    return clf.fit(X, np.where(np.where(higher, red, same), "win", "lose")), X


def save_folder(folder: Path) -> Path:
    """Write a model, its rules, a table and its images: `cards.neuid3`, `rules.pl`, `cards.csv` and what it names."""
    from PIL import Image

    clf, X = fitted()
    clf.save(folder / "cards.neuid3")
    (folder / "rules.pl").write_text(RULES)
    lines = ["last,played,result"]
    results = clf.predict(X)
    for row in range(40):
        for name in ("last", "played"):
            Image.fromarray(np.asarray(X.column(name).values[row])).save(folder / f"{name} {row}.png")
        lines.append(f"last {row}.png,played {row}.png,{results[row]}")
    (folder / "cards.csv").write_text("\n".join(lines) + "\n")
    return folder
