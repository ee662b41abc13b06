"""Growing, joint training, pretraining and regrowing in turn, with one instance of each network."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from alternating import edges, edges_classifier, parity, parity_classifier, stripes

from neuid3 import Examples, NeuID3Classifier, TrainingConfig, evidence_page, export_graphviz, export_text, load
from neuid3.errors import CheckpointError
from neuid3.learning.checkpoint import Checkpoint
from neuid3.learning.node_learner import NodeLearner

SCRIPT = Path(__file__).parents[2] / "helpers" / "alternating.py"


# Pretraining ----------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> tuple[NeuID3Classifier, Path, bytes]:
    """The tree of `parity`, its checkpoint, and the bytes of its file."""
    folder = tmp_path_factory.mktemp("parity")
    clf = parity_classifier().fit(*parity(), checkpoint=folder / "checkpoint")
    return clf, folder / "checkpoint", clf.save(folder / "model.neuid3").read_bytes()


def test_networks_that_no_rule_can_teach_alone_are_pretrained_by_all(pretrained: Any) -> None:
    clf, folder, _ = pretrained
    X, y = parity(300, 99)
    assert clf.score(X, y) > 0.98
    assert {str(test) for test in clf.tree_.tests} == {"same(a, b)", "same(c, d)"}
    assert (folder / "pretrained-00.neuid3").is_file()
    assert len(list(folder.glob("tree-*.neuid3"))) >= 2, "the leaf that was grown, and a tree that was regrown"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fields", [{"pretrain": False}, {"validation_fraction": 0.0}, {"reuse": False}])
def test_without_pretraining_the_tree_is_a_single_leaf(fields: dict[str, Any], tmp_path: Path) -> None:
    assert parity_classifier(**fields).fit(*parity(), checkpoint=tmp_path / "fit").tree_.depth == 0
    assert (tmp_path / "fit" / "fit.json").is_file()
    assert not (tmp_path / "fit" / "pretrained-00.neuid3").exists()


def test_every_declared_network_has_one_instance(pretrained: Any) -> None:
    clf = pretrained[0]
    (names,) = clf.tree_.network_instances.values()
    assert list(clf.networks_) == list(names)
    assert len(names) == 1
    assert "instances" not in export_text(clf)
    assert f"[{names[0]}]" not in export_text(clf)


def test_pretraining_and_joint_trainings_are_reported(pretrained: Any, capfd: pytest.CaptureFixture[str]) -> None:
    clf, folder, _ = pretrained
    parity_classifier().set_params(verbose=1).fit(*parity(), checkpoint=folder)
    lines = " ".join(capfd.readouterr().err.split())
    assert re.search(r"tree after joint training: a single leaf, 1\.0\d\d bits per unseen example", lines)
    assert re.search(rf"regrown tree: {len(clf.tree_.leaves)} leaves, 0\.\d\d\d bits per unseen example", lines)


# Time -----------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore")
def test_when_time_is_up_after_growing_nothing_further_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock jumps when the grown tree has been trained jointly."""
    passed, refine, monotonic = [0.0], NodeLearner.refine, time.monotonic

    def slow(self: NodeLearner, root: Any, *further: Any) -> Any:
        passed[0] += 1000.0
        return refine(self, root, *further)

    monkeypatch.setattr(NodeLearner, "refine", slow)
    monkeypatch.setattr("neuid3.learning.fit.time.monotonic", lambda: monotonic() + passed[0])
    clf = parity_classifier().set_params(time_limit=500).fit(*parity(), checkpoint=tmp_path)
    assert clf.tree_.depth == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fit.json", "node-00000.neuid3", "tree-00.neuid3"]


def test_without_rounds_the_tree_is_trained_jointly_once(tmp_path: Path) -> None:
    clf = edges_classifier(rounds=0, joint_epochs=2).fit(*edges(), checkpoint=tmp_path)
    assert clf.tree_.depth == 2
    trees = sorted(path.name for path in tmp_path.glob("tree-*"))
    assert trees == ["tree-00.neuid3", "tree-01.neuid3"], "and once with an instance of its own for every test"


def test_a_regrown_tree_of_the_same_tests_is_not_trained_again_where_each_network_reads_one_image(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(0)
    shown = rng.random((2, 200)) < 0.5
    X = Examples({name: stripes(2 * values, rng) for name, values in zip("ab", shown, strict=True)})
    fields = {"restarts": 2, "epochs": 12, "joint_epochs": 6, "augment": False, "pretrain": False}
    rules = {"background": "nn(net, [I, J]) :: bright(I, J).", "tests": ["bright(a, b)"]}
    for name, named in (("one image", {}), ("two images", rules)):
        clf = NeuID3Classifier(**named, training=TrainingConfig(**fields), random_state=0)
        clf.fit(X, shown[0], checkpoint=tmp_path / name)
        assert clf.tree_.depth == 1
        trainings = len(list((tmp_path / name).glob("tree-*.neuid3")))
        assert (trainings == 1) == (name == "one image")


# More than one instance -----------------------------------------------------------------------------
@pytest.fixture(scope="module")
def untied() -> tuple[NeuID3Classifier, Any, Any]:
    X, y = edges()
    return edges_classifier().fit(X, y), X, y


def test_a_second_instance_is_kept_where_unseen_examples_clearly_ask_for_it(untied: Any) -> None:
    clf = untied[0]
    (names,) = clf.tree_.network_instances.values()
    assert len(names) == len(clf.networks_) == 2
    assert clf.score(*edges(300, 99)) > 0.95, "a network for both images has 0.82"
    assert len({dict(test.instances)["net"] for test in clf.tree_.tests}) == 2


def test_a_network_that_has_labels_keeps_one_instance() -> None:
    X, y = edges()
    labels = {"bright(a)": {0: bool(y[0] >= 2)}}
    assert len(edges_classifier().fit(X, y, concepts=labels).networks_) == 1


def test_text_pictures_page_explanation_and_programs_say_which_test_calls_which_instance(
    untied: Any, tmp_path: Path
) -> None:
    clf, X, y = untied
    names = clf.tree_.network_instances["net"]
    called = [f"{test} [{dict(test.instances)['net']}]" for test in clf.tree_.tests]
    assert [clf.tree_.test_names[test] for test in clf.tree_.tests] == called
    line = f"net has 2 instances: {names[0]}, {names[1]}"
    text = export_text(clf)
    assert line in text.splitlines()
    assert all(f"{test}?" in text for test in called)
    drawn = " ".join(ElementTree.fromstring(clf.export_svg()).itertext())
    assert all(part in drawn for part in (line, *called))
    assert all(f'label="{test}' in export_graphviz(clf) for test in called)
    page = re.search(r'id="content">(.*?)</script>', evidence_page(clf, X, y))
    assert page is not None
    content = json.loads(page.group(1))
    assert content["instances"] == [line]
    assert {network["name"] for network in content["networks"]} == set(names)
    assert {node["test"] for node in content["nodes"] if "test" in node} == set(called)
    why = clf.explain(X, 0)
    assert {step.test for leaf in why.leaves for step in leaf.steps} == set(called)
    assert all(f"{test}: " in str(why) for test in called)
    program = clf.to_problog(X, 0)
    assert f"% {line}" in program.splitlines()
    assert clf.model_.verify(X, rows=2) < 1e-6
    assert export_text(load(clf.save(tmp_path / "model.neuid3"))) == text


# Interruptions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", ["tree-00.neuid3", "pretrained-00.neuid3", "tree-01.neuid3"])
def test_a_fit_that_was_stopped_after_any_stage_is_resumed_to_the_same_bytes(
    last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pretrained: Any
) -> None:
    _, whole, expected = pretrained
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    for path in sorted(whole.iterdir(), key=lambda path: path.stat().st_mtime_ns):
        shutil.copy2(path, folder)
        if path.name == last:
            break
    left = {path.name for path in folder.iterdir()}
    written: list[str] = []
    write = Checkpoint.write

    def noting(self: Checkpoint, path: Path, saved: Any) -> None:
        written.append(path.name)
        write(self, path, saved)

    monkeypatch.setattr(Checkpoint, "write", noting)
    clf = parity_classifier().fit(*parity(), checkpoint=folder)
    assert not left.intersection(written), "what was finished is loaded"
    assert left | set(written) == {path.name for path in whole.iterdir()}
    assert clf.save(tmp_path / "model.neuid3").read_bytes() == expected


def test_a_fit_that_was_killed_while_it_alternated_is_resumed_to_the_same_bytes(
    tmp_path: Path, pretrained: Any
) -> None:
    checkpoint, model = tmp_path / "checkpoint", tmp_path / "model.neuid3"
    moments = random.Random(0)
    for is_last in (False, True):
        command = [sys.executable, str(SCRIPT), str(checkpoint), str(model)]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        while not is_last and not (checkpoint / "tree-00.neuid3").exists() and run.poll() is None:
            time.sleep(0.01)
        if not is_last:
            time.sleep(moments.uniform(0.0, 0.5))
            run.kill()
        run.communicate()
    assert model.read_bytes() == pretrained[2]


@pytest.mark.parametrize("name", ["tree-00.neuid3", "tree-01.neuid3", "pretrained-00.neuid3"])
@pytest.mark.parametrize("damage", ["cut", "changed", "of another stage"])
def test_a_damaged_file_of_a_stage_is_named_with_the_next_move(
    name: str, damage: str, tmp_path: Path, pretrained: Any
) -> None:
    folder = tmp_path / "checkpoint"
    shutil.copytree(pretrained[1], folder)
    content = (folder / name).read_bytes()
    changed = content[:-1] + bytes([content[-1] ^ 1])
    other = (folder / "node-00000.neuid3").read_bytes()
    (folder / name).write_bytes({"cut": content[: len(content) // 2], "changed": changed}.get(damage, other))
    message = re.escape(f"{folder / name} is damaged (its digest does not match); delete the folder {folder}")
    with pytest.raises(CheckpointError, match=message):
        parity_classifier().fit(*parity(), checkpoint=folder)
