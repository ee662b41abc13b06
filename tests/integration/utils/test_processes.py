"""Child processes end with the process that started them, and leave nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from neuid3.cli.commands import TERMINATED
from neuid3.cli.main import main
from neuid3.utils import files

SCRIPT = Path(__file__).parents[2] / "helpers" / "abandoned.py"

# `experiments` is part of the checkout and not of the installed library.
IN_CHECKOUT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(SCRIPT.parent.parent), os.environ.get("PYTHONPATH", "")]),
}
GENEROUS = 60.0


def soon(holds: Callable[[], bool], seconds: float = GENEROUS) -> bool:
    """Does this hold, now or later? A busy machine takes its time."""
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()


def lives(pid: int) -> bool:
    """Does a process still compute? One that has ended may wait for somebody to ask for its exit code."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return not Path("/proc/self").exists()


def shared(pid: int) -> list[Path]:
    """What a process has put into shared memory for its workers."""
    names = f"joblib_memmapping_folder_{pid}_*", f"sem.loky-{pid}-*"
    return [path for base in ("/dev/shm", "/tmp") for name in names for path in Path(base).glob(name)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("kind", ["busy", "locked", "idle", "multiprocessing", "units", "problog"])
def test_children_end_with_their_parent(kind: str, number: int, tmp_path: Path) -> None:
    if kind == "locked" and sys.platform != "linux":
        pytest.skip("only Linux signals the end of a pipe")
    command = [sys.executable, str(SCRIPT), kind, str(tmp_path)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=IN_CHECKOUT)
    assert run.stdout is not None
    count = 1 if kind == "problog" else 2
    try:
        assert soon(lambda: len(list(tmp_path.iterdir())) == count)
        children = [int(path.name) for path in tmp_path.iterdir()]
        if kind == "idle":
            (tmp_path / "idle").touch()
            assert run.stdout.readline() == "idle\n"
        assert all(map(lives, children))
        run.send_signal(number)
        run.communicate(timeout=GENEROUS)  # to the end of its output, which every child inherits
        assert soon(lambda: not any(map(lives, children)))
        assert soon(lambda: not shared(run.pid))
    finally:
        for pid in (run.pid, *(int(path.name) for path in tmp_path.iterdir() if path.name.isdigit())):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_a_worker_pool_keeps_the_initializer_it_was_given(tmp_path: Path) -> None:
    program = f"""
import joblib, os, pathlib
from neuid3.training.parallel.pool import WorkerPool
with joblib.parallel_config(backend="loky", initializer=os.chdir, initargs=({str(tmp_path)!r},)), WorkerPool(2) as pool:
    print(set(map(str, pool(joblib.delayed(pathlib.Path.cwd)() for _ in range(4)))) == {{{str(tmp_path.resolve())!r}}})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=GENEROUS, check=True)
    assert done.stdout == "True\n"


# The command line ------------------------------------------------------------------------------------


def table(folder: Path) -> Path:
    rows = "".join(f"{number % 2},{number % 3},{'yes' if number % 2 else 'no'}\n" for number in range(60))
    path = folder / "table.csv"
    path.write_text("left,right,label\n" + rows)
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="what a file without a name holds is read through /proc")
@pytest.mark.parametrize(
    ("written", "content"),
    [("fit.json", b'"about"'), ("node-00000.neuid3", b'"kind": "node"'), ("model.neuid3", b'"kind": "classifier"')],
)
def test_sigterm_while_a_file_is_written_leaves_no_part_of_it(
    written: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = os.fsync

    def terminated(descriptor: int) -> None:
        synced(descriptor)
        if content in Path(f"/proc/self/fd/{descriptor}").read_bytes():
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(files.os, "fsync", terminated)
    out, checkpoint = tmp_path / "model.neuid3", tmp_path / "checkpoint"
    command = ["fit", str(table(tmp_path)), "--target", "label", "--out", str(out), "--checkpoint", str(checkpoint)]
    stopped = CliRunner().invoke(main, command)
    assert stopped.exit_code == TERMINATED == 143
    assert not re.search("Error|Traceback|Warning", stopped.stderr)
    assert not list(tmp_path.rglob(".*"))
    assert not (tmp_path / written).exists()
    assert not (checkpoint / written).exists()
    monkeypatch.undo()
    assert CliRunner().invoke(main, command).exit_code == 0
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_fit_of_the_command_line_ends_after_sigterm_with_all_that_hold_its_output(tmp_path: Path) -> None:
    files = CliRunner().invoke(main, ["demo", "--files", str(tmp_path / "cards")])
    assert files.exit_code == 0
    fit = ["fit", "cards.csv", "--target", "result", "--background", "rules.pl", "--checkpoint", "checkpoint"]
    run = subprocess.Popen(
        [sys.executable, "-m", "neuid3", *fit, "--jobs", "2"],
        cwd=tmp_path / "cards",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert soon(lambda: bool(shared(run.pid)) or run.poll() is not None)
    run.terminate()
    output, _ = run.communicate(timeout=GENEROUS)
    assert run.returncode == TERMINATED, output
    assert not re.search("Error|Traceback|Warning", output), output
    assert soon(lambda: not shared(run.pid))
