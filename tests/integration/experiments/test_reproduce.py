"""Runs of units in processes: failures and kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from unit_records import UNION, record

from experiments.runner import run_units
from experiments.store import read
from experiments.units import Unit

# Running ---------------------------------------------------------------------------------------------

SLOW_RUN = """
import sys, time
from pathlib import Path
from experiments.runner import run_units
from experiments.units import Unit

folder = Path(sys.argv[1])

def work(unit):
    time.sleep(float(sys.argv[2]))
    found = {"scores": {"accuracy": unit.number / 10, "f1": {}}, "processor_seconds": {"fit": 0.1}, "configuration": {}}
    return {**found, "made_by": sys.argv[3]}

run_units([Unit("uci", "zoo", "onehot", "tree", "default", n) for n in range(5)], folder, work)
"""


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    first = subprocess.Popen([sys.executable, "-c", SLOW_RUN, str(tmp_path), "0.4", "first"], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(read(tmp_path)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    assert 2 <= len(kept) < 5

    command = [sys.executable, "-c", SLOW_RUN, str(tmp_path), "0", "second"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output.startswith(f"5 units, {len(kept)} of them finished before.")
    assert all(path.read_bytes() == content for path, content in kept.items())
    made = [result.record["made_by"] for result in read(tmp_path).values()]
    assert sorted(made) == ["first"] * len(kept) + ["second"] * (5 - len(kept))


def test_a_failing_unit_is_reported_and_the_others_go_on(tmp_path: Path) -> None:
    def work(unit: Unit) -> dict[str, Any]:
        if unit.number == 1:
            raise ValueError("no such luck")
        return record()

    lines: list[str] = []
    some = [replace(UNION, number=n) for n in range(4)]
    outcomes = run_units(some, tmp_path, work, jobs=2, log=lines.append)
    assert [outcome.error is not None for outcome in sorted(outcomes, key=lambda o: o.unit.number)] == [
        False,
        True,
        False,
        False,
    ]
    assert {unit.number for unit in read(tmp_path)} == {0, 2, 3}
    assert sum("failed: ValueError: no such luck" in line for line in lines) == 1
    assert lines[-1].startswith("[4 of 4]")


def test_a_worker_whose_run_was_killed_starts_nothing_more(tmp_path: Path) -> None:
    orphan = (
        "import sys; from pathlib import Path; from experiments.runner import attempt; "
        "from experiments.units import Unit; unit = Unit('uci', 'zoo', 'onehot', 'tree', 'default', 0); "
        "attempt(unit, Path(sys.argv[1]), lambda unit: {'scores': {}}, int(sys.argv[2]))"
    )
    for starter, starts in ((os.getpid(), True), (os.getppid(), False)):
        folder = tmp_path / str(starter)
        subprocess.run([sys.executable, "-c", orphan, str(folder), str(starter)], check=False)
        assert bool(list(folder.rglob("*.json"))) == starts
