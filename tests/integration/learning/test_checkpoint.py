"""Interrupted runs: killed at any moment and started again, a fit ends with the tree of an undisturbed one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interrupted import classifier, problem
from sklearn.base import clone
from torch import nn

from neuid3 import Bank, NeuID3Classifier, TrainingConfig
from neuid3.errors import CheckpointError
from neuid3.learning.node_learner import NodeLearner

SCRIPT = Path(__file__).parents[2] / "helpers" / "interrupted.py"


KILLS = int(os.environ.get("NEUID3_KILLS", "2"))


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
            run.send_signal(signal.SIGTERM if number == 1 else signal.SIGKILL)
        run.communicate()
        started(checkpoint, model).communicate()
        assert model.read_bytes() == expected


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often a node was learned."""
    calls: list[int] = []
    best = NodeLearner.best_split

    def counting(self: NodeLearner, node: Any) -> Any:
        calls.append(len(node.path))
        return best(self, node)

    monkeypatch.setattr(NodeLearner, "best_split", counting)
    return calls


def test_finished_nodes_are_not_learned_again(tmp_path: Path, counted: list[int]) -> None:
    X, y = problem()
    whole = classifier().fit(X, y)
    nodes = len(counted)
    assert nodes >= 3
    for stop in {1, nodes // 2, nodes - 1}:
        folder = tmp_path / str(stop)
        with pytest.MonkeyPatch.context() as patch:
            learned = NodeLearner.best_split

            def stopping(
                self: NodeLearner, node: Any, stop: int = stop, folder: Path = folder, learned: Any = learned
            ) -> Any:
                if len(list(folder.glob("node-*"))) >= stop:
                    raise KeyboardInterrupt
                return learned(self, node)

            patch.setattr(NodeLearner, "best_split", stopping)
            with pytest.raises(KeyboardInterrupt):
                classifier().fit(X, y, checkpoint=folder)
        counted.clear()
        resumed = classifier(n_jobs=2 if stop == 1 else 1).fit(X, y, checkpoint=folder)
        assert len(counted) == nodes - stop
        assert resumed.tree_ == whole.tree_
        assert (resumed.predict_proba(X) == whole.predict_proba(X)).all()
        assert (resumed.feature_importances_ == whole.feature_importances_).all()
        assert resumed.gradient_steps_ == whole.gradient_steps_
    counted.clear()
    classifier().fit(X, y, checkpoint=folder)
    assert not counted


@pytest.mark.parametrize("state", [np.random.RandomState, np.int64])
def test_any_random_state_is_resumed_as_it_was(tmp_path: Path, state: Any) -> None:
    X, y = problem()
    images = X.select(["left", "right"])
    how: dict[str, Any] = {
        "max_depth": 1,
        "pruning": 0.0,
        "training": TrainingConfig(epochs=1, restarts=1, joint_epochs=1),
    }
    clf = NeuID3Classifier(background="nn(eye, [I]) :: bright(I).", tests=["bright(left)"], **how)
    first = clone(clf).set_params(random_state=state(3)).fit(images, y, checkpoint=tmp_path)
    second = clone(clf).set_params(random_state=state(3)).fit(images, y, checkpoint=tmp_path)
    moved = state(3)
    if state is np.random.RandomState:
        moved.random_sample(5)
    third = clone(clf).set_params(random_state=moved).fit(images, y, checkpoint=tmp_path)
    for resumed in (second, third):
        assert (first.predict_proba(images) == resumed.predict_proba(images)).all()


def test_a_fit_with_a_bank_and_given_networks_is_resumed(tmp_path: Path) -> None:
    X, y = problem()
    rules, short = "nn(eye, [I]) :: bright(I).", TrainingConfig(epochs=2, restarts=1)
    how: dict[str, Any] = {"max_depth": 1, "pruning": 0.0, "training": short}
    shape = X.column("left").values.shape[1:]
    own = {"eye": lambda: nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(shape)), 1), nn.Sigmoid())}
    clf = NeuID3Classifier(background=rules, tests=["bright(left)"], networks=own, random_state=0, **how).fit(X, y)
    tests = [test.thawed() for test in clf.tests_]
    jointly = how | {"training": replace(short, joint_epochs=1)}
    resumed = NeuID3Classifier(background=rules, tests=tests, random_state=0, **jointly)
    first, second = (clone(resumed).fit(X, y, checkpoint=tmp_path / "own") for _ in range(2))
    assert (first.predict_proba(X) == second.predict_proba(X)).all()
    with_bank = {"background": rules, "tests": ["bright(left)"], "random_state": 0, **how}
    (tmp_path / "bank").mkdir()
    for bank in (Bank(tmp_path / "bank"), Bank(tmp_path / "bank"), tmp_path / "bank"):
        NeuID3Classifier(**with_bank, bank=bank).fit(X, y, checkpoint=tmp_path / "banked")
    plain = NeuID3Classifier(background=rules, tests=["bright(left)"], random_state=0, **how).fit(X, y)
    Bank(tmp_path / "bank").add("bright", plain.tests_[0])
    with pytest.raises(CheckpointError, match="parameter 'bank' differs"):
        NeuID3Classifier(**with_bank, bank=tmp_path / "bank").fit(X, y, checkpoint=tmp_path / "banked")


# Damage ----------------------------------------------------------------------------------------------
def test_networks_that_changed_meanwhile_are_distinguished_from_damage(tmp_path: Path) -> None:
    X, y = problem()

    def fitted(width: int) -> None:
        def network() -> nn.Module:
            return nn.Sequential(nn.Flatten(), nn.Linear(36, width), nn.ReLU(), nn.Linear(width, 1), nn.Sigmoid())

        how: dict[str, Any] = {
            "max_depth": 1,
            "pruning": 0.0,
            "random_state": 0,
            "training": TrainingConfig(epochs=1, restarts=1),
        }
        rules = "nn(eye, [I]) :: bright(I)."
        clf = NeuID3Classifier(background=rules, tests=["bright(left)"], networks={"eye": network}, **how)
        clf.fit(X, y, checkpoint=tmp_path)

    fitted(4)
    with pytest.raises(CheckpointError, match=r"does not match the networks of this fit .*size mismatch"):
        fitted(5)


# One fit at a time -----------------------------------------------------------------------------------
def test_a_second_process_is_refused_and_a_killed_one_leaves_the_folder_free(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    run = started(folder, tmp_path / "model.neuid3")
    while not ((folder / ".lock").exists() and (folder / ".lock").read_text()):
        assert run.poll() is None
    run.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(CheckpointError, match=rf"in use by process {run.pid} on .*; wait until that fit ends"):
            classifier().fit(*problem(), checkpoint=folder)
    finally:
        run.kill()
        run.communicate()
    resumed = classifier().fit(*problem(), checkpoint=folder)
    assert not (folder / ".lock").exists()
    assert resumed.tree_ == classifier().fit(*problem()).tree_


def test_without_a_random_state_it_is_resumed_as_it_was(tmp_path: Path) -> None:
    X, y = problem()
    images = X.select(["left", "right"])
    how: dict[str, Any] = {
        "max_depth": 1,
        "pruning": 0.0,
        "random_state": None,
        "training": TrainingConfig(epochs=1, restarts=1, joint_epochs=0),
    }
    first = NeuID3Classifier(background="nn(eye, [I]) :: bright(I).", tests=["bright(left)"], **how)
    first.fit(images, y, checkpoint=tmp_path)
    second = NeuID3Classifier(background="nn(eye, [I]) :: bright(I).", tests=["bright(left)"], **how)
    second.fit(images, y, checkpoint=tmp_path)
    assert (first.predict_proba(images) == second.predict_proba(images)).all()
