"""The fast splitter of symbolic tests against the reference, which scores one test at a time by exact inference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuid3 import Category, Distribution, Examples, NeuID3Classifier
from neuid3.learning import Candidates, NodeLearner, ReferenceSplitter, ScoredCandidate
from neuid3.learning.grow import OpenNode

# Responses that are probabilities are held as 32-bit floats.
TOLERANCE = 1e-5
TESTS = ["auto", "age > 40", "risk"]
BACKGROUND = "risk :- alarm, suit(hearts). 0.3::risk :- suit(clubs)."


def table(seed: int, n: int, missing: float, classes: int) -> tuple[dict[str, Any], np.ndarray]:
    """Facts, categories and numbers with missing entries, probabilities and distributions; labels that depend on them."""
    rng = np.random.default_rng(seed)
    alarm, age = rng.random(n) < 0.5, rng.integers(3, 8, n) * 10.0
    suit = rng.choice(["hearts", "clubs", "spades"], n)
    y = (alarm + (suit == "hearts") + (age > 50) + (rng.random(n) < 0.2)) % classes

    def holes(values: Any) -> list[Any]:
        return [None if rng.random() < missing else value for value in values]

    columns: dict[str, Any] = {"alarm": holes(alarm.tolist()), "suit": holes(suit.tolist()), "age": holes(age.tolist())}
    if missing:
        columns |= {"noise": rng.random(n), "mood": holes(rng.dirichlet(np.ones(3), n).tolist())}
    return columns, y


def compared(learner: NodeLearner, node: OpenNode, min_child_mass: float) -> None:
    """Check the fast splitter at one node."""
    offered = learner.offered(node)
    fast = list(learner.symbolic.candidates(node, offered))
    reference = list(ReferenceSplitter(learner.inference, min_child_mass).candidates(node, offered))
    cuts, tests = _cuts(fast), {candidate.test: candidate for candidate in reference if candidate.candidate is not None}
    for column, expected in _cuts(reference).items():
        if expected.gain > TOLERANCE:
            assert cuts[column].gain == pytest.approx(expected.gain, abs=TOLERANCE)
            assert cuts[column].choices == pytest.approx(expected.choices)
    (best,) = (candidate for candidate in fast if candidate.candidate is not None)
    assert tests[best.test].gain == pytest.approx(best.gain, abs=TOLERANCE)
    assert best.gain == pytest.approx(max(candidate.gain for candidate in tests.values()), abs=TOLERANCE)
    assert best.choices == max(sum(candidate.choices for candidate in tests.values()), 1)
    assert best.test not in node.used


def _cuts(candidates: list[ScoredCandidate]) -> dict[str, ScoredCandidate]:
    return {str(c.test).split(" ")[0]: c for c in candidates if c.candidate is None}


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(6, 30),
    missing=st.sampled_from([0.0, 0.0, 0.2, 0.5]),
    classes=st.integers(2, 3),
    weighted=st.booleans(),
)
def test_the_fast_splitter_scores_as_the_reference_does(
    seed: int, n: int, missing: float, classes: int, weighted: bool
) -> None:
    columns, y = table(seed, n, missing, classes)
    if len(set(y)) < 2:
        y[0] = 1 - y[0]
    kinds = {"suit": Category(("hearts", "clubs", "spades")), "age": "number"}
    X = Examples(
        columns, kinds=kinds | ({"mood": Distribution(("a", "b", "c")), "noise": "probability"} if missing else {})
    )
    weights = np.random.default_rng(seed).integers(1, 4, n) if weighted else None
    min_mass = 0.0 if missing else 4.0
    best_split, nodes = NodeLearner.best_split, []

    def checking(self: NodeLearner, node: OpenNode) -> Any:
        compared(self, node, min_mass / 2)
        nodes.append(node)
        return best_split(self, node)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NodeLearner, "best_split", checking)
        NeuID3Classifier(
            tests=TESTS, background=BACKGROUND, pruning=0.0, min_mass=min_mass, max_depth=3, random_state=0
        ).fit(X, y, sample_weight=weights)
    assert nodes


def test_a_splitter_scores_tests_that_no_node_was_offered_before() -> None:
    columns, y = table(0, 40, 0.0, 2)
    X = Examples(columns, kinds={"age": "number"})
    seen = []

    def later(self: NodeLearner, node: OpenNode) -> None:
        """Offers one test first, then all of them."""
        listed = self.candidates.listed
        for offered in (Candidates(listed.tests[:1], ()), Candidates(listed.tests[2:4], ("age",)), listed):
            fast = list(self.symbolic.candidates(node, offered))
            assert {c.test for c in fast if c.candidate is not None} <= set(offered.tests)
            seen.append([(str(c.test), c.gain, c.choices) for c in fast])
        rescored = self.symbolic.candidates(node, Candidates(listed.tests, listed.numbers))
        assert seen[-1] == [(str(c.test), c.gain, c.choices) for c in rescored]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NodeLearner, "best_split", later)
        with pytest.warns(UserWarning, match="single leaf"):
            NeuID3Classifier(random_state=0).fit(X, y)
    assert [len(scores) for scores in seen] == [1, 2, 2]
    assert [choices for scores in seen for _, _, choices in scores[:1]] == [1, 2, 4]
