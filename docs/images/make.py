"""The pictures of docs/pictures.md: two trees, learned and drawn by `python docs/images/make.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_iris

from neuid3 import NeuID3Classifier, TrainingConfig
from neuid3.cli.demo import BACKGROUND, TESTS, windows

HERE = Path(__file__).parent


def iris() -> None:
    """A table of numbers with three classes, as SVG."""
    table = load_iris(as_frame=True)
    clf = NeuID3Classifier(max_depth=3, random_state=0).fit(table.data, table.target_names[table.target])
    (HERE / "iris.svg").write_text(clf.export_svg() + "\n", encoding="utf-8")


def cards() -> None:
    """The concept of `neuid3 demo`, with what its network sees on unseen cards, by matplotlib."""
    generator = np.random.default_rng(0)
    (X, y), (X_test, _) = windows(1500, generator), windows(1000, generator)
    clf = NeuID3Classifier(
        background=BACKGROUND,
        tests=TESTS,
        training=TrainingConfig(restarts=2),
        pos_label="holds",
        max_depth=2,
        random_state=0,
    ).fit(X, np.array(["violates", "holds"])[y])
    clf.plot(X_test)[0].figure.savefig(HERE / "cards.png", dpi=110)


if __name__ == "__main__":
    mpl.use("Agg")
    iris()
    cards()
