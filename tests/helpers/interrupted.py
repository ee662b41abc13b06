"""A small fit with networks, run by itself so that it can be killed: `python interrupted.py CHECKPOINT MODEL`."""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np

from neuid3 import Examples, NeuID3Classifier, TrainingConfig

RULES = "nn(eye, [I]) :: bright(I). both(A, B) :- bright(A), bright(B)."


def problem() -> tuple[Examples, Any]:
    rng = np.random.default_rng(0)
    n = 160
    bright = rng.random((2, n)) < 0.5
    images = (rng.random((2, n, 6, 6)) * 0.6 + 0.4 * bright[:, :, None, None]).astype(np.float32)
    fact = rng.random(n) < 0.5
    size = rng.normal(size=n)
    y = np.where(bright[0], bright[1] ^ (rng.random(n) < 0.05), fact | (size > 1))
    return Examples({"left": images[0], "right": images[1], "fact": fact, "size": size}), y


def classifier(**changed: Any) -> NeuID3Classifier:
    how: dict[str, Any] = {
        "background": RULES,
        "random_state": 0,
        "max_depth": 3,
        "pruning": 0.1,
        "training": TrainingConfig(epochs=3, restarts=2, joint_epochs=2),
    }
    return NeuID3Classifier(**(how | changed))


def main(checkpoint: str, model: str) -> None:
    X, y = problem()
    print("ready", flush=True)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier().fit(X, y, checkpoint=checkpoint).save(model)
    print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
