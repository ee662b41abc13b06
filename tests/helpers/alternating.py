"""Small images for which a tree needs pretraining or a second instance; as a script, a fit that can be killed.

`python alternating.py CHECKPOINT MODEL` learns the tree of `parity`.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np

from neuid3 import Examples, NeuID3Classifier, TrainingConfig

RULES = """
nn(net, [I], V, [0, 1, 2]) :: value(I, V).
same(A, B) :- value(A, V), value(B, V).
"""


def stripes(values: Any, rng: np.random.Generator) -> Any:
    """Images of 6 × 6 pixels with noise, in which two rows are bright: the first, the middle or the last ones."""
    images = rng.normal(0.0, 0.1, (len(values), 6, 6))
    for value in range(3):
        images[values == value, 2 * value : 2 * value + 2] += 1.0
    return images.astype(np.float32)


def parity(n: int = 300, seed: int = 1) -> tuple[Examples, Any]:
    """Two pairs of images, and whether exactly one of them shows equal stripes: each pair by itself says nothing."""
    rng = np.random.default_rng(seed)
    same, first = rng.random((2, n)) < 0.5, rng.integers(0, 3, (2, n))
    second = np.where(same, first, (first + rng.integers(1, 3, (2, n))) % 3)
    shown = {"a": first[0], "b": second[0], "c": first[1], "d": second[1]}
    return Examples({name: stripes(values, rng) for name, values in shown.items()}), same[0] ^ same[1]


def parity_classifier(**fields: Any) -> NeuID3Classifier:
    """A classifier that learns `parity`, with other fields of the training."""
    how: dict[str, Any] = {"restarts": 2, "epochs": 12, "joint_epochs": 6, "augment": False}
    return NeuID3Classifier(
        background=RULES,
        tests=["same(a, b)", "same(c, d)"],
        max_depth=2,
        random_state=0,
        training=TrainingConfig(**(how | fields)),
    )


def edges(n: int = 300, seed: int = 0) -> tuple[Examples, Any]:
    """Two images with one bright row edge and one bright column edge each, and four classes.

    The row edge of `a` and the column edge of `b` decide the class. In an image both are related: a network that reads
    one of them says something about the other, and no network reads both images right.
    """
    rng = np.random.default_rng(seed)
    columns, is_first = {}, {}
    for name in ("a", "b"):
        rows = rng.random(n) < 0.5
        across = rows ^ (rng.random(n) > 0.8)
        images = rng.normal(0.0, 0.1, (n, 6, 6))
        images[rows, :2] += 1.0
        images[~rows, -2:] += 1.0
        images[across, :, :2] += 1.0
        images[~across, :, -2:] += 1.0
        columns[name], is_first[name] = images.astype(np.float32), (rows, across)
    return Examples(columns), 2 * is_first["a"][0] + is_first["b"][1]


def edges_classifier(**fields: Any) -> NeuID3Classifier:
    """A classifier that learns `edges`, with other fields of the training."""
    how: dict[str, Any] = {"restarts": 2, "epochs": 20, "augment": False, "pretrain": False}
    return NeuID3Classifier(
        background="nn(net, [I]) :: bright(I).",
        tests=["bright(a)", "bright(b)"],
        max_depth=2,
        random_state=0,
        training=TrainingConfig(**(how | fields)),
    )


def main(checkpoint: str, model: str) -> None:
    X, y = parity()
    print("ready", flush=True)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parity_classifier().fit(X, y, checkpoint=checkpoint).save(model)
    print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
