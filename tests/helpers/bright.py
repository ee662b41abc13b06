"""A tree that compares the brightness of two images, and examples for it."""

from __future__ import annotations

import numpy as np
import torch

from neuid3 import Branch, Examples, Leaf, NeurosymbolicTree, Tree


class Bright(torch.nn.Module):
    """Says how bright an image is in one of four steps, and remembers how many images it was shown."""

    def __init__(self, sharpness: float = 40.0) -> None:
        super().__init__()
        self.sharpness, self.shown = sharpness, 0

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        self.shown += len(images)
        level = images.flatten(1).mean(1, keepdim=True)
        steps = torch.tensor([[0.125, 0.375, 0.625, 0.875]])
        return torch.softmax(-self.sharpness * (level - steps) ** 2, 1)


BACKGROUND = """
nn(bright_net, [I], B, [1, 2, 3, 4]) :: bright(I, B).  % a comment
darker(A, B) :- bright(A, X),
    bright(B, Y), X < Y.
"""
TREE = Tree(
    Branch(
        "darker(left, right)",
        Branch("alarm", Leaf(0.9), Leaf(0.4), gain=0.1, masses=(3.0, 5.0)),
        Branch("age =< 40.5", Leaf(0.2), Leaf(0.1)),
        gain=0.3,
        masses=(10.0, 6.0),
    ),
    classes=("no", "yes"),
)


def table(n: int = 60, seed: int = 0) -> Examples:
    rng = np.random.default_rng(seed)
    levels = rng.random((2, n, 1, 1)).astype("float32")
    images = np.clip(levels + rng.normal(0, 0.05, (2, n, 6, 6)), 0, 1).astype("float32")
    return Examples(
        {"right": images[1], "left": images[0], "alarm": rng.random(n) < 0.4, "age": rng.integers(20, 80, n)}
    )


def model(network: torch.nn.Module | None = None) -> NeurosymbolicTree:
    return NeurosymbolicTree(TREE, table().schema, background=BACKGROUND, networks={"bright_net": network or Bright()})


def labels(n: int = 60) -> np.ndarray:
    return np.where(np.random.default_rng(5).random(n) < 0.5, "yes", "no")
