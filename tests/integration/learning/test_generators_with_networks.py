"""Generators of candidates whose networks are trained: workers, checkpoints, and tests that come up below the root."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuid3 import AtomTest, Branch, CandidateGenerator, Candidates, NeuID3Classifier, NodeContext, TrainingConfig
from neuid3.tree.tree import branches

BACKGROUND = "nn(lit_net, [I]) :: lit(I). nn(odd_net, [I]) :: odd(I)."
QUICK: dict[str, Any] = {
    "training": TrainingConfig(epochs=30, restarts=4, joint_epochs=0),
    "max_depth": 2,
    "random_state": 0,
}


def drawn(n: int = 400) -> tuple[dict[str, Any], np.ndarray]:
    """Two images that are dark or bright; the class is that of the left one where there is an alarm, else of the right."""
    rng = np.random.default_rng(0)
    levels, alarm = rng.random((2, n)) < [[0.7], [0.3]], rng.random(n) < 0.5
    images = (levels[..., None, None] * 0.8 + rng.random((2, n, 8, 8)) * 0.2).astype(np.float32)
    return {"left": images[0], "right": images[1], "alarm": alarm}, np.where(alarm, levels[0], levels[1])


X, Y = drawn()


@dataclass(frozen=True)
class Deeper(CandidateGenerator):
    """The alarm at the root; below it one of the images, in a test that no other node is offered."""

    tests: tuple[str, ...] = ("alarm",)

    def candidates(self, context: NodeContext) -> Candidates:
        if not context.node.path:
            return context.listed
        ((_, is_alarmed),) = context.node.path
        return Candidates((AtomTest("lit(left)") if is_alarmed else AtomTest("odd(right)"),), ())


def fitted(**settings: Any) -> NeuID3Classifier:
    checkpoint = settings.pop("checkpoint", None)
    clf = NeuID3Classifier(tests=Deeper(), background=BACKGROUND, **QUICK, **settings)
    return clf.fit(X, Y, checkpoint=checkpoint)


@pytest.fixture(scope="module")
def clf() -> NeuID3Classifier:
    return fitted()


def same(one: NeuID3Classifier, other: NeuID3Classifier) -> bool:
    return one.tree_ == other.tree_ and bool((one.predict_proba(X) == other.predict_proba(X)).all())


def test_networks_of_tests_that_come_up_below_the_root_are_trained(clf: NeuID3Classifier) -> None:
    root = clf.tree_.root
    assert [str(branch.test) for branch in branches(root)] == ["alarm", "lit(left)", "odd(right)"]
    assert isinstance(root, Branch)
    assert isinstance(root.yes, Branch)
    assert root.yes.test.instances
    assert clf.score(X, Y) > 0.9


def test_workers_and_checkpoints_give_the_same_tree(clf: NeuID3Classifier, tmp_path: Path) -> None:
    assert same(fitted(n_jobs=2, checkpoint=tmp_path), clf)
    (tmp_path / "node-00002.neuid3").unlink()  # as if the fit had been interrupted before its last node
    (tmp_path / "tree-00.neuid3").unlink()
    assert same(fitted(checkpoint=tmp_path), clf)
