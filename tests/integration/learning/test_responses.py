"""Responses of symbolic columns against exact inference, one test at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuid3 import Examples, NeuID3Classifier
from neuid3.data.columns import Category, Distribution
from neuid3.learning import Candidates, NodeLearner, ReferenceSplitter
from neuid3.learning.grow import OpenNode


@given(seed=st.integers(0, 10_000), holes=st.floats(0.05, 0.5))
def test_values_of_a_column_on_the_path_are_counted_as_circuits_compute_them(seed: int, holes: float) -> None:
    """Where entries are missing or probable, the response of a value depends on the values that the path leaves possible."""
    rng = np.random.default_rng(seed)
    n = 60
    colour = rng.choice(["red", "green", "blue", "grey"], n)
    seen = rng.dirichlet(np.ones(4), n)
    X = Examples(
        {
            "colour": [None if rng.random() < holes else value for value in colour],
            "seen": [None if rng.random() < holes else row for row in seen.tolist()],
            "alarm": rng.random(n) < 0.5,
        },
        kinds={"colour": Category(("red", "green", "blue", "grey")), "seen": Distribution(("a", "b", "c", "d"))},
    )
    y = ((colour == "red") | (seen[:, 1] > 0.3)) ^ (rng.random(n) < 0.2)
    best_split, compared = NodeLearner.best_split, []

    def checking(self: NodeLearner, node: OpenNode) -> Any:
        reference = ReferenceSplitter(self.inference, min_child_mass=0.0).candidates(node, self.offered(node))
        for expected in reference:
            (scored,) = self.symbolic.candidates(node, Candidates((expected.test,), ()))
            assert scored.gain == pytest.approx(expected.gain, abs=1e-6)
            compared.append(expected.test)
        return best_split(self, node)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NodeLearner, "best_split", checking)
        NeuID3Classifier(pruning=0.0, max_depth=4, min_mass=0, random_state=0).fit(X, y)
    assert len(compared) > 20
