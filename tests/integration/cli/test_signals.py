"""The command in a process of its own: what a signal and a closed pipe do to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import neuid3
from neuid3 import NeuID3Classifier

RNG = np.random.default_rng(0)


def started(*arguments: str | Path) -> subprocess.Popen[str]:
    """The command in a process of its own, as a shell would start it."""
    return subprocess.Popen(
        [sys.executable, "-m", "neuid3", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(Path(neuid3.__file__).parents[1])},
        # Whoever runs the tests in the background has Ctrl-C switched off for them.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_ctrl_c_ends_with_130_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"{RNG.normal():.6f},{RNG.normal():.6f},{'ab'[i % 2]}\n" for i in range(60_000))
    monkeypatch.chdir(tmp_path)
    Path("noise.csv").write_text("x,z,y\n" + rows)
    running = started("fit", "noise.csv", "--target", "y")
    assert running.stdout is not None
    assert any(line.startswith("Learning 'y' from") for line in running.stdout)
    time.sleep(0.2)
    os.killpg(running.pid, signal.SIGINT)
    _, output = running.communicate(timeout=60)
    # Python ends by the signal itself where it was interrupted in a text that it executed; a shell says 130 of both.
    assert running.returncode in (130, -signal.SIGINT)
    assert output.endswith("Stopped.\n")
    assert "Traceback" not in output
    assert not list(tmp_path.glob("*.neuid3"))


def test_a_reader_who_has_had_enough_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    age = RNG.integers(18, 95, 8_000)
    model = NeuID3Classifier().fit({"age": age.astype(float)}, np.where(age > 60, "high", "low")).save("risk.neuid3")
    Path("many.csv").write_text("age\n" + "".join(f"{each}\n" for each in age))
    running = started("predict", model, "many.csv")
    assert running.stdout is not None
    assert running.stdout.readline() == "prediction,p_high,p_low\n"
    running.stdout.close()
    assert running.stderr is not None
    assert running.stderr.read() == ""
    assert running.wait() == 141
