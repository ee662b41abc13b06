"""Trees whose networks read the vectors of a sentence encoder: learned, saved and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuid3 import Examples, NeuID3Classifier, TrainingConfig, load
from neuid3.errors import EncoderError, NeuID3Error

HAPPY, SAD = ["joy", "delight", "glad", "cheer"], ["grief", "gloom", "sorrow", "tears"]
QUICK = TrainingConfig(epochs=30, restarts=2, rounds=1)


def meanings(texts: list[str]) -> Any:
    """Two numbers a text: how many happy and how many sad words it has."""
    return np.array([[sum(word in text.split() for word in words) for words in (HAPPY, SAD)] for text in texts], float)


def test_a_network_reads_the_vectors_of_a_function(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.random(160) < 0.5
    texts = [
        f"{rng.choice(HAPPY if happy else SAD)} on day {rng.integers(1000)} of {rng.integers(1000)}" for happy in y
    ]
    X = Examples({"note": texts}, kinds={"note": "text"})
    rules = "nn(mood_net, [note]) :: mood(note)."
    clf = NeuID3Classifier(background=rules, tests=["mood(note)"], encoder=meanings, training=QUICK, random_state=0)
    clf.fit(X[:120], y[:120])
    assert clf.score(X[120:], y[120:]) > 0.95
    path = clf.save(tmp_path / "model")
    loaded = load(path, networks={"encoder": lambda: meanings})
    assert np.allclose(loaded.predict_proba(X), clf.predict_proba(X), atol=1e-6)
    with pytest.raises((EncoderError, NeuID3Error), match="sentence encoder meanings"):
        load(path)
