"""A file is there whole or not at all, also when its writer is killed, and nothing is left beside it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import pytest

import neuid3
from neuid3.errors import UnwritableFileError
from neuid3.utils import files

WRITER = """
import os, sys
from pathlib import Path
from neuid3.utils import files
if sys.argv[2] == "named":
    del os.O_TMPFILE
print("ready", flush=True)
while True:
    for letter in b"ab":
        files.write_atomically(Path(sys.argv[1]), bytes([letter]) * 3_000_000)
"""


def unfinished(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.startswith(".")]


def killed(path: Path, how: str, seconds: float) -> None:
    """A process that writes one file repeatedly is killed after these seconds."""
    variables = {"PYTHONPATH": str(Path(neuid3.__file__).parents[1])}
    command = [sys.executable, "-c", WRITER, str(path), how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **variables}) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(seconds)
        writer.send_signal(signal.SIGKILL)


def age(folder: Path) -> None:
    """Let two minutes pass for unfinished files."""
    for path in unfinished(folder):
        os.utime(path, (time.time() - 120,) * 2)


def is_whole(path: Path) -> bool:
    return not path.exists() or path.read_bytes() in (b"a" * 3_000_000, b"b" * 3_000_000)


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="no files without a name here")
def test_a_killed_writer_leaves_a_whole_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "model.neuid3"
    for trial in range(6):
        killed(path, "unnamed", 0.02 + 0.013 * trial)
        assert is_whole(path)
    assert len(unfinished(tmp_path)) <= 1, "only the moment before the file is moved to its place leaves a name"


def test_where_files_need_a_name_the_next_write_removes_what_is_left(tmp_path: Path) -> None:
    path = tmp_path / "model.neuid3"
    left = 0
    for trial in range(12):
        killed(path, "named", 0.02 + 0.013 * trial)
        assert is_whole(path)
        left = len(unfinished(tmp_path))
        if left:
            break
    assert left == 1, "of a dozen kills one hits the middle of a write"
    files.write_atomically(tmp_path / "other", b"new")
    assert len(unfinished(tmp_path)) == 1, "it might be another machine's"
    age(tmp_path)
    files.write_atomically(tmp_path / "other", b"newer")
    assert unfinished(tmp_path) == []


def _keep_open(folder: str, ready: Callable[[], None], wait: Callable[[], object]) -> None:
    def stuck(_: int) -> None:
        ready()
        wait()
        os._exit(0)  # as if it were killed before it has finished

    os.fsync = stuck
    files.write_atomically(Path(folder) / "theirs", b"new")


def test_what_another_process_is_writing_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    context = get_context("fork")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=_keep_open, args=(str(tmp_path), ready.set, done.wait))
    other.start()
    assert ready.wait(60)
    age(tmp_path)
    files.write_atomically(tmp_path / "mine", b"new")
    assert len(unfinished(tmp_path)) == 1
    done.set()
    other.join()
    files.write_atomically(tmp_path / "mine", b"newer")
    assert unfinished(tmp_path) == []


@pytest.mark.parametrize("named", [False, True])
def test_files_are_written_and_replaced_with_the_permissions_they_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    if named:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path = tmp_path / ("n" * 255)
    before = os.umask(0o027)
    try:
        files.write_atomically(path, b"one")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    files.write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    (tmp_path / "link").symlink_to(path)
    files.write_atomically(tmp_path / "link", b"three")
    assert path.read_bytes() == b"three"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link", path.name]


@pytest.mark.parametrize("named", [False, True])
def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool) -> None:
    if named:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path = files.write_atomically(tmp_path / "x", b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnwritableFileError, match="x cannot be written \\(No space left on device\\); write somewhere"):
        files.write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_to_if_there_is_a_reader(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UnwritableFileError, match="No such device or address"):
        files.write_atomically(pipe, b"lost")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    files.write_atomically(pipe, b"here")
    assert os.read(reader, 10) == b"here"
    os.close(reader)
