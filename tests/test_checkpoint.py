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
from sklearn.base import clone
from torch import nn

from interrupted import classifier, problem
from neuid3 import Bank, NeuID3Classifier
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


@pytest.mark.parametrize(
    "wrong",
    [
        {"background": "p(X :- a."},
        {"networks": {"net": nn.Linear(1, 1)}},
        {"pos_label": "perhaps"},
        {"background": "nn(net, [size]) :: big.", "tests": ["big"], "networks": {"net": lambda: 3}},
    ],
)
def test_what_is_refused_begins_no_checkpoint(tmp_path: Path, wrong: dict[str, Any]) -> None:
    X, y = problem()
    small = {"background": "", "tests": "auto"}
    with pytest.raises(NeuID3Error):
        classifier(**{**small, **wrong}).fit(X.select(["fact", "size"]), y, checkpoint=tmp_path)
    strange = (X.select(["fact", "size"]), np.full(len(y), "no class"))
    if "tests" in wrong:
        with pytest.raises(NeuID3Error):
            classifier(**{**small, **wrong, "networks": None}).fit(
                X.select(["fact", "size"]), y, validation=strange, checkpoint=tmp_path
            )
    assert list(tmp_path.iterdir()) == []


def test_what_is_left_of_an_unfinished_file_is_in_nobodys_way(tmp_path: Path) -> None:
    X, y = problem()
    (tmp_path / ".fit.json.x7.tmp").write_text("{")
    classifier(background="", tests="auto").fit(X.select(["fact", "size"]), y, checkpoint=tmp_path)
    assert (tmp_path / "fit.json").exists()


@pytest.mark.parametrize("state", [np.random.RandomState, np.int64])
def test_any_random_state_goes_on_as_it_began(tmp_path: Path, state: Any) -> None:
    X, y = problem()
    images = X.select(["left", "right"])
    how: dict[str, Any] = {"epochs": 1, "restarts": 1, "joint_epochs": 1, "max_depth": 1, "pruning": 0.0}
    clf = NeuID3Classifier(background="nn(eye, [I]) :: bright(I).", tests=["bright(left)"], **how)
    first = clone(clf).set_params(random_state=state(3)).fit(images, y, checkpoint=tmp_path)
    second = clone(clf).set_params(random_state=state(3)).fit(images, y, checkpoint=tmp_path)
    moved = state(3)
    if state is np.random.RandomState:
        moved.random_sample(5)
    third = clone(clf).set_params(random_state=moved).fit(images, y, checkpoint=tmp_path)
    for again in (second, third):
        assert (first.predict_proba(images) == again.predict_proba(images)).all()


def test_a_bank_and_networks_of_ones_own_go_on(tmp_path: Path) -> None:
    X, y = problem()
    rules, how = "nn(eye, [I]) :: bright(I).", {"epochs": 2, "restarts": 1, "max_depth": 1, "pruning": 0.0}
    shape = X.column("left").values.shape[1:]
    own = {"eye": lambda: nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(shape)), 1), nn.Sigmoid())}
    clf = NeuID3Classifier(background=rules, tests=["bright(left)"], networks=own, random_state=0, **how).fit(X, y)
    tests = [test.thawed() for test in clf.tests_]
    again = NeuID3Classifier(background=rules, tests=tests, joint_epochs=1, random_state=0, **how)
    first, second = (clone(again).fit(X, y, checkpoint=tmp_path / "own") for _ in range(2))
    assert (first.predict_proba(X) == second.predict_proba(X)).all()
    with_bank = {"background": rules, "tests": ["bright(left)"], "random_state": 0, **how}
    (tmp_path / "bank").mkdir()
    for bank in (Bank(tmp_path / "bank"), Bank(tmp_path / "bank"), tmp_path / "bank"):
        NeuID3Classifier(**with_bank, bank=bank).fit(X, y, checkpoint=tmp_path / "banked")
    plain = NeuID3Classifier(background=rules, tests=["bright(left)"], random_state=0, **how).fit(X, y)
    Bank(tmp_path / "bank").add("bright", plain.tests_[0])
    with pytest.raises(CheckpointError, match="parameter 'bank' differs"):
        NeuID3Classifier(**with_bank, bank=tmp_path / "bank").fit(X, y, checkpoint=tmp_path / "banked")


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
