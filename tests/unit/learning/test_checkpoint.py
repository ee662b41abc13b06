"""Checkpoints that are damaged, edited, locked, or of another fit."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from interrupted import classifier, problem
from torch import nn

from neuid3.cli.main import main
from neuid3.errors import CheckpointError, NeuID3Error
from neuid3.learning.checkpoint import VERSION
from neuid3.learning.node_learner import NodeLearner
from neuid3.utils.locks import FileLock


def test_a_checkpoint_of_another_fit_is_refused(tmp_path: Path) -> None:
    X, y = problem()
    facts = X.select(["fact", "size"])
    small = {"background": "", "tests": "auto"}
    classifier(**small).fit(facts, y, checkpoint=tmp_path / "c")
    longer = replace(classifier().training, epochs=9)
    with pytest.raises(CheckpointError, match=r"another fit: parameter 'training__epochs' differs; resume it with"):
        classifier(**small, training=longer).fit(facts, y, checkpoint=tmp_path / "c")
    with pytest.raises(CheckpointError, match=r"parameter 'max_depth' differs; resume it with"):
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
def test_a_refused_fit_writes_no_checkpoint(tmp_path: Path, wrong: dict[str, Any]) -> None:
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


def test_temporary_files_of_an_interrupted_write_are_removed(tmp_path: Path) -> None:
    X, y = problem()
    (tmp_path / ".fit.json.x7.tmp").write_text("{")
    classifier(background="", tests="auto").fit(X.select(["fact", "size"]), y, checkpoint=tmp_path)
    assert (tmp_path / "fit.json").exists()


# Damage ----------------------------------------------------------------------------------------------

FACTS: dict[str, Any] = {"background": "", "tests": "auto"}


def facts() -> tuple[Any, Any]:
    X, y = problem()
    return X.select(["fact", "size"]), y


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a finished fit; beside it, that of the same fit with another seed."""
    folder = tmp_path_factory.mktemp("checkpoints")
    classifier(**FACTS).fit(*facts(), checkpoint=folder / "one")
    state = np.random.RandomState(7)  # whose seed is no part of the settings
    classifier(**FACTS, random_state=state).fit(*facts(), checkpoint=folder / "other")
    return folder / "one"


def edited(path: Path, **changed: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def replaced(path: Path, make: Callable[[Path], Any]) -> None:
    path.unlink()
    make(path)


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-20]),
    "emptied": lambda path: path.write_bytes(b""),
    "extended": lambda path: path.write_bytes(path.read_bytes() + b"{}"),
    "rubbish": lambda path: path.write_bytes(b"PK rubbish"),
    "one bit": flipped,
    "a folder": lambda path: replaced(path, Path.mkdir),
    "a pipe": lambda path: replaced(path, os.mkfifo),
    "a device": lambda path: replaced(path, lambda link: link.symlink_to("/dev/zero")),
    "a link to nothing": lambda path: replaced(path, lambda link: link.symlink_to("nothing")),
}
EDITS: dict[str, Callable[[Path], Any]] = {
    "seed": lambda folder: edited(folder / "fit.json", seed=12345),
    "settings": lambda folder: edited(folder / "fit.json", about={}),
    "digest": lambda folder: edited(folder / "fit.json", digest="0" * 64),
    "no digest": lambda folder: (folder / "fit.json").write_text(
        json.dumps({"version": VERSION, "seed": 1, "about": {}})
    ),
    "no object": lambda folder: (folder / "fit.json").write_text("[2]"),
    "deep": lambda folder: (folder / "fit.json").write_text("[" * 100_000),
    "no settings": lambda folder: (folder / "fit.json").unlink(),
    "exchanged nodes": lambda folder: shutil.copy(folder / "node-00001.neuid3", folder / "node-00000.neuid3"),
    "a node of another fit": lambda folder: shutil.copy(
        folder.parent / "other" / "node-00000.neuid3", folder / "node-00000.neuid3"
    ),
    "a model": lambda folder: classifier(**FACTS).fit(*facts()).save(folder / "node-00000.neuid3"),
}


@pytest.mark.parametrize("file", ["fit.json", "node-00000.neuid3"])
@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_named_with_the_next_move(kind: str, file: str, finished: Path) -> None:
    with TemporaryDirectory() as copied:
        folder = Path(shutil.copytree(finished, Path(copied, "c")))
        DAMAGE[kind](folder / file)
        with pytest.raises(CheckpointError, match=f"{file} is damaged .*; delete the folder {folder} and start"):
            classifier(**FACTS).fit(*facts(), checkpoint=folder)


@pytest.mark.parametrize("kind", EDITS)
def test_an_edited_checkpoint_is_refused(kind: str, finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished.parent, tmp_path, dirs_exist_ok=True)
    EDITS[kind](tmp_path / "one")
    with pytest.raises(CheckpointError, match=r"(is damaged|is missing).*delete the folder .* and start the fit anew"):
        classifier(**FACTS).fit(*facts(), checkpoint=tmp_path / "one")


@pytest.mark.parametrize("version", [1, VERSION - 1, VERSION + 1, str(VERSION)])
def test_a_checkpoint_of_another_version_says_what_to_do(version: Any, finished: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(finished, tmp_path / "c"))
    edited(folder / "fit.json", version=version)
    if version == 1:  # the first format named no version
        settings = json.loads((folder / "fit.json").read_text())
        (folder / "fit.json").write_text(json.dumps({name: settings[name] for name in ("seed", "about")}))
    with pytest.raises(CheckpointError, match=rf"another version of neuid3 \(format {version!r}; .*delete the folder"):
        classifier(**FACTS).fit(*facts(), checkpoint=folder)


def test_on_the_command_line_a_damaged_checkpoint_is_a_mistake(tmp_path: Path) -> None:
    table, folder = tmp_path / "table.csv", tmp_path / "checkpoint"
    table.write_text("left,label\n" + "".join(f"{n % 2},{'ab'[n % 2]}\n" for n in range(40)))
    command = ["fit", str(table), "--target", "label", "--out", str(tmp_path / "m"), "--checkpoint", str(folder)]
    assert CliRunner().invoke(main, command).exit_code == 0
    edited(folder / "fit.json", seed=1)
    refused = CliRunner().invoke(main, command)
    assert refused.exit_code == 2
    assert "fit.json is damaged (its digest does not match); delete the folder" in refused.stderr


# One fit at a time -----------------------------------------------------------------------------------


def test_a_second_thread_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    best, messages = NodeLearner.best_split, []

    def meanwhile(self: NodeLearner, node: Any) -> Any:
        if not messages:
            messages.append("")
            with ThreadPoolExecutor(1) as pool:
                second = pool.submit(classifier(**FACTS, random_state=None).fit, *facts(), checkpoint=tmp_path)
                messages.append(str(second.exception()))
        return best(self, node)

    monkeypatch.setattr(NodeLearner, "best_split", meanwhile)
    classifier(**FACTS, random_state=None).fit(*facts(), checkpoint=tmp_path)
    assert f"is in use by process {os.getpid()}" in messages[1]
    assert "another thread" in messages[1]
    classifier(**FACTS, random_state=None).fit(*facts(), checkpoint=tmp_path)


def test_a_failed_fit_gives_the_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(NodeLearner, "best_split", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            classifier(**FACTS).fit(*facts(), checkpoint=tmp_path)
    assert not list(tmp_path.iterdir())
    classifier(**FACTS).fit(*facts(), checkpoint=tmp_path)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("../victim")])
def test_a_folder_that_cannot_be_locked_is_named(make: Callable[[Path], Any], tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "c").mkdir()
    make(tmp_path / "c" / ".lock")
    with pytest.raises(CheckpointError, match=r"\.lock cannot be locked .*; remove it"):
        classifier(**FACTS).fit(*facts(), checkpoint=tmp_path / "c")
    assert (tmp_path / "victim").read_text() == "mine"


def test_a_lock_has_one_holder_also_where_its_file_comes_and_goes(tmp_path: Path) -> None:
    holders, most, turns = 0, 0, Counter[bool]()
    counting = threading.Lock()

    def take_turns() -> None:
        nonlocal holders, most
        for _ in range(300):
            lock = FileLock(tmp_path / "lock")
            taken = lock.acquire()
            if taken:
                with counting:
                    holders += 1
                    most = max(most, holders)
                time.sleep(0)
                with counting:
                    holders -= 1
                lock.release()
            with counting:
                turns[taken] += 1

    threads = [threading.Thread(target=take_turns) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert turns[True]
    assert not (tmp_path / "lock").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_does_not_keep_the_lock_of_a_process_that_was_killed(tmp_path: Path) -> None:
    program = """
import os, signal, sys, time
from pathlib import Path
from neuid3.utils.locks import FileLock
assert FileLock(Path(sys.argv[1])).acquire()
if os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(1000)
os.wait()
"""
    run = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "lock")], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    fork = int(run.stdout.readline())
    lock = FileLock(tmp_path / "lock")
    try:
        assert not lock.acquire()
        assert lock.holder().startswith(f"process {run.pid} on ")
        run.kill()
        run.wait()
        assert lock.acquire()
    finally:
        os.kill(fork, signal.SIGKILL)
        run.communicate()
        lock.release()
