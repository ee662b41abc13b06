"""What does it look like? A tree over digit images, a fact and a rule, on data that needs no download."""

from __future__ import annotations

import numpy as np
import torch
from rich.console import Console
from sklearn.datasets import load_digits

from neuid3.data import Examples
from neuid3.export import export_text
from neuid3.infer import negative_log_likelihood
from neuid3.model import NeurosymbolicTree
from neuid3.tree import Branch, Leaf, Tree

BACKGROUND = """\
nn(rank_net, [Image], R, [1, 2, 3, 4, 5, 6, 7, 8]) :: rank(Image, R).
gt_rank(A, B) :- rank(A, R1), rank(B, R2), R1 < R2.
"""

TREE = Tree(
    Branch(
        "gt_rank(first, second)",
        Leaf(0.99),
        Branch("joker", Leaf(0.99), Leaf(0.01)),
    ),
    classes=("violates", "holds"),
)


def windows(n: int, generator: np.random.Generator) -> tuple[Examples, np.ndarray]:
    """Pairs of handwritten digits 1 to 8 and a joker; the concept: the rank rises, or a joker lies."""
    digits = load_digits()
    ranks = np.flatnonzero((digits.target >= 1) & (digits.target <= 8))
    first, second = generator.choice(ranks, size=(2, n))
    joker = generator.random(n) < 0.1
    label = (digits.target[first] < digits.target[second]) | joker
    images = (digits.images[:, None] / 16).astype(np.float32)
    return Examples({"first": images[first], "second": images[second], "joker": joker}), label.astype(np.int64)


def run() -> None:
    """Train a network through the tree it stands in, and check the tree's answers in ProbLog."""
    console = Console()
    torch.manual_seed(0)
    generator = np.random.default_rng(0)
    train, y = windows(2000, generator)
    test, y_test = windows(1000, generator)
    network = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8), torch.nn.Softmax(1)
    )
    model = NeurosymbolicTree(TREE, train.schema, background=BACKGROUND, networks={"rank_net": network})
    console.print("[bold]The rules[/bold]\n" + BACKGROUND)
    console.print("[bold]The tree[/bold]\n" + export_text(TREE) + "\n")
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    labels = torch.from_numpy(y)
    for _ in range(30):
        order = generator.permutation(len(train))
        for rows in np.array_split(order, 40):
            optimizer.zero_grad()
            loss = negative_log_likelihood(model.class_probabilities(train[rows]), labels[rows]).mean()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    accuracy = float((model.predict_proba(test).argmax(1) == y_test).mean())
    majority = float(max(y_test.mean(), 1 - y_test.mean()))
    console.print("The network never saw a digit's label, only whether a window holds or violates the concept.")
    console.print(f"Accuracy on unseen windows {accuracy:.3f}, majority class {majority:.3f}.")
    console.print(f"ProbLog runs the exported tree and differs by at most {model.verify(test, rows=3):.1e}.")
