"""Write the golden files of this version: `python tests/golden/make.py`. Files of released versions are never rewritten."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from neuid3 import AtomTest, Branch, Examples, Leaf, NeuID3Classifier, NeurosymbolicTree, Tree
from neuid3.io.container import VERSION
from neuid3.networks.defaults import Dense, LeNet

FOLDER = Path(__file__).parent / f"v{VERSION}"
RULES = """
nn(eye, [I], V, [low, middle, high]) :: level(I, V).
0.9 :: sensor.
louder(A, B) :- level(A, high), \\+ level(B, high), sensor.
"""


def examples(n: int = 12) -> Examples:
    """The examples that golden models predict."""
    rng = np.random.default_rng(0)
    return Examples(
        {
            "alarm": rng.random(n) < 0.5,
            "suit": rng.choice(["hearts", "clubs", "a b"], n),
            "weight": np.where(np.arange(n) == 3, np.nan, rng.normal(size=n)),
            "left": rng.random((n, 6, 6)).astype(np.float32),
            "right": rng.random((n, 6, 6)).astype(np.float32),
            "signal": rng.random((n, 4)).astype(np.float32),
        },
        kinds={"signal": "tensor"},
    )


def classifier() -> NeuID3Classifier:
    """A classifier of facts, values and numbers."""
    X = examples(200)
    y = np.where(
        (X.column("weight").values > 0) & X.column("alarm").values, 2, np.where(X.column("suit").values == 0, 1, 0)
    )
    return NeuID3Classifier(tests=["alarm", "suit(hearts)", "weight =< 0.0"], random_state=0).fit(X, y)


def tree() -> NeurosymbolicTree:
    """A tree of a rule, a network and a fact."""
    torch.manual_seed(0)
    test = AtomTest("louder(left, right)", (("eye", "eye@1"),))
    root = Branch(test, Leaf((0.1, 0.9)), Branch("alarm", Branch("hum(signal)", Leaf(0.8), Leaf(0.3)), Leaf(0.25)), 0.5)
    X = examples()
    return NeurosymbolicTree(
        Tree(root, classes=("quiet", "loud")),
        X.schema,
        background=RULES + "nn(ear, [S]) :: hum(S).",
        networks={"eye@1": LeNet(3, size=6), "ear": Dense(1, [4], hidden=8)},
    ).learn_priors(X)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    predictions = {}
    for name, model in (("classifier", classifier()), ("tree", tree())):
        model.save(FOLDER / f"{name}.neuid3")
        predictions[name] = model.predict_proba(examples()).tolist()
    (FOLDER / "predictions.json").write_text(json.dumps(predictions, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
