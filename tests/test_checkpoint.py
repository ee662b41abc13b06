"""Interrupted runs: killed at any moment and started again, a fit ends with the tree of an undisturbed one."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interrupted import classifier, problem
from neuid3 import NeuID3Classifier
from neuid3.errors import CheckpointError, NeuID3Error
from neuid3.learn import NodeLearner

SCRIPT = Path(__file__).with_name("interrupted.py")
KILLS = int(os.environ.get("NEUID3_KILLS", "3"))


def started(checkpoint: Path, model: Path) -> subprocess.Popen[str]:
    run = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(checkpoint), str(model)], stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    assert run.stdout.readline().strip() == "ready"
    return run


def test_killed_at_any_moment_it_ends_with_the_same_tree(tmp_path: Path) -> None:
    undisturbed = started(tmp_path / "whole", tmp_path / "whole.neuid3")
    seconds = float(undisturbed.communicate()[0])
    expected = (tmp_path / "whole.neuid3").read_bytes()
    moments = random.Random(0)
    for number in range(KILLS):
        checkpoint, model = tmp_path / f"part{number}", tmp_path / f"part{number}.neuid3"
        run = started(checkpoint, model)
        try:
            run.wait(moments.uniform(0.02, 0.98) * seconds)
        except subprocess.TimeoutExpired:
            run.kill()
        run.communicate()
        started(checkpoint, model).communicate()
        assert model.read_bytes() == expected


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often a node was learned."""
    calls: list[int] = []
    best = NodeLearner.best

    def counting(self: NodeLearner, place: Any) -> Any:
        calls.append(len(place.path))
        return best(self, place)

    monkeypatch.setattr(NodeLearner, "best", counting)
    return calls


def test_finished_nodes_are_not_learned_again(tmp_path: Path, counted: list[int]) -> None:
    X, y = problem()
    whole = classifier().fit(X, y)
    nodes = len(counted)
    assert nodes >= 3
    for stop in {1, nodes // 2, nodes - 1}:
        folder = tmp_path / str(stop)
        with pytest.MonkeyPatch.context() as patch:
            learned = NodeLearner.best

            def stopping(
                self: NodeLearner, place: Any, stop: int = stop, folder: Path = folder, learned: Any = learned
            ) -> Any:
                if len(list(folder.glob("node-*"))) >= stop:
                    raise KeyboardInterrupt
                return learned(self, place)

            patch.setattr(NodeLearner, "best", stopping)
            with pytest.raises(KeyboardInterrupt):
                classifier().fit(X, y, checkpoint=folder)
        counted.clear()
        again = classifier(n_jobs=2 if stop == 1 else 1).fit(X, y, checkpoint=folder)
        assert len(counted) == nodes - stop
        assert again.tree_ == whole.tree_
        assert (again.predict_proba(X) == whole.predict_proba(X)).all()
        assert (again.feature_importances_ == whole.feature_importances_).all()
        assert again.gradient_steps_ == whole.gradient_steps_
    counted.clear()
    classifier().fit(X, y, checkpoint=folder)
    assert not counted


def test_a_checkpoint_of_another_fit_is_refused(tmp_path: Path) -> None:
    X, y = problem()
    facts = X.select(["fact", "size"])
    small = {"background": "", "tests": "auto"}
    classifier(**small).fit(facts, y, checkpoint=tmp_path / "c")
    with pytest.raises(CheckpointError, match=r"parameter 'max_depth' differs; go on with"):
        classifier(**small, max_depth=2).fit(facts, y, checkpoint=tmp_path / "c")
    with pytest.raises(CheckpointError, match="labels differs"):
        classifier(**small).fit(facts, np.roll(y, 1), checkpoint=tmp_path / "c")
    with pytest.raises(CheckpointError, match=r"column 'fact'.*differ"):
        classifier(**small).fit(facts[::-1], y, checkpoint=tmp_path / "c")
    with pytest.raises(CheckpointError, match="sample_weight differs"):
        classifier(**small).fit(facts, y, np.arange(len(y)) + 1.0, checkpoint=tmp_path / "c")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(CheckpointError, match="not empty and holds no checkpoint"):
        classifier(**small).fit(facts, y, checkpoint=tmp_path / "other")
    assert (tmp_path / "other" / "letter.txt").read_text() == "mine"
    with pytest.raises(CheckpointError, match="is no folder"):
        classifier(**small).fit(facts, y, checkpoint=tmp_path / "other" / "letter.txt")


def test_a_damaged_node_is_told(tmp_path: Path) -> None:
    X, y = problem()
    facts = X.select(["fact", "size"])
    how = {"background": "", "tests": "auto"}
    classifier(**how).fit(facts, y, checkpoint=tmp_path)
    (tmp_path / "node-00000.neuid3").write_bytes(b"PK rubbish")
    with pytest.raises(NeuID3Error, match=r"node-00000\.neuid3 is damaged"):
        classifier(**how).fit(facts, y, checkpoint=tmp_path)


def test_without_a_random_state_it_goes_on_as_it_began(tmp_path: Path) -> None:
    X, y = problem()
    images = X.select(["left", "right"])
    how: dict[str, Any] = {
        "epochs": 1,
        "restarts": 1,
        "joint_epochs": 0,
        "max_depth": 1,
        "pruning": 0.0,
        "random_state": None,
    }
    first = NeuID3Classifier(background="nn(eye, [I]) :: bright(I).", tests=["bright(left)"], **how)
    first.fit(images, y, checkpoint=tmp_path)
    second = NeuID3Classifier(background="nn(eye, [I]) :: bright(I).", tests=["bright(left)"], **how)
    second.fit(images, y, checkpoint=tmp_path)
    assert (first.predict_proba(images) == second.predict_proba(images)).all()
