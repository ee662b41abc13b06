"""Whatever becomes of the output, what was learned is saved, and the command ends as other tools do."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import neuid3
from neuid3.utils.output import Stream, guard, guarded, is_output_writable, set_outcome, to_ascii

ROOT = Path(__file__).resolve().parents[3]

full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [(age, "größer" if age > 40 else "klein…") for age in range(80)]
    with open("t.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("age", "klass"), *rows])
    return tmp_path


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The outcome of a line in bash in which `neuid3` is our command, and `python` finds our packages."""
    start = f'python() {{ "{sys.executable}" "$@"; }}\nneuid3() {{ python -m neuid3 "$@"; }}\n'
    path = {"PYTHONPATH": os.pathsep.join(map(str, (Path(neuid3.__file__).parents[1], ROOT)))}
    return subprocess.run(["bash", "-c", start + line], capture_output=True, env={**os.environ, **path, **environment})


def test_a_reader_that_leaves_does_not_stop_a_fit(table: Path) -> None:
    done = shell("neuid3 fit t.csv --target klass 2>&1 | head -n 1; echo ${PIPESTATUS[0]}")
    assert done.stdout == b"t.csv: 80 rows\n141\n"
    assert done.stderr == b""
    assert len(neuid3.load(table / "t.neuid3").tree_.tests) == 1


@full_disk
def test_a_full_disk_is_reported_once_the_model_is_saved(table: Path) -> None:
    done = shell("neuid3 fit t.csv --target klass > /dev/full")
    assert done.returncode == 2
    output = done.stderr.decode().splitlines()[-1]
    assert output == (
        "Error: The standard output could not be written (No space left on device); the model is saved in t.neuid3."
    )
    assert len(neuid3.load(table / "t.neuid3").tree_.tests) == 1
    assert shell("neuid3 fit t.csv --target klass --out u.neuid3 > /dev/full 2>&1").returncode == 2
    assert (table / "u.neuid3").read_bytes() == (table / "t.neuid3").read_bytes()


@full_disk
@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    "call",
    [
        "neuid3 --help",
        "neuid3 --version",
        "neuid3 fit --help",
        "neuid3 completion bash",
        "python -m experiments datasets list",
        "python -m benchmarks --list",
    ],
)
def test_output_that_is_lost_is_an_error_of_every_command(call: str) -> None:
    done = shell(f"{call} > /dev/full")
    assert done.returncode == 2
    assert done.stderr == (
        b"Error: The standard output could not be written (No space left on device); redirect it somewhere else.\n"
    )


@full_disk
def test_the_error_names_what_was_written(table: Path) -> None:
    done = shell("neuid3 demo --files cards > /dev/full")
    assert done.returncode == 2
    assert done.stderr.endswith(b"(No space left on device); the files are in cards.\n")
    assert (table / "cards" / "cards.csv").is_file()


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_tree_is_drawn_with_what_the_terminal_has(encoding: str) -> None:
    done = shell("neuid3 fit t.csv --target klass && neuid3 show t.neuid3", PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    shown = done.stdout.decode(encoding)
    lines = shown[shown.rindex("mass 64") :].splitlines()[1:3]
    stroke, bend, small = ("├─", "└─", "klein…") if encoding == "utf-8" else ("|-", "`-", "klein...")
    large = "gr\\u00f6\\u00dfer" if encoding == "ascii" else "größer"
    small = "klein…" if encoding == "cp1252" else small
    assert lines[0].startswith(f"{stroke} yes: {small}")
    assert lines[1].startswith(f"{bend} no:  {large}")


@pytest.mark.usefixtures("table")
def test_json_stays_json_in_ascii() -> None:
    done = shell("neuid3 fit t.csv --target klass --json", PYTHONIOENCODING="ascii")
    assert json.loads(done.stdout.decode("ascii"))["classes"] == ["größer", "klein..."]


def test_escapes_are_those_of_json() -> None:
    for text in ("größer", "💡", "葉\udce9"):
        assert json.loads(f'"{to_ascii(text)}"') == text


class Failing(io.StringIO):
    """A stream that takes one line."""

    def write(self, text: str) -> int:
        if self.getvalue():
            raise BrokenPipeError(32, "Broken pipe")
        return super().write(text)


def test_a_stream_that_has_failed_takes_everything_and_writes_nothing() -> None:
    failing = Failing()
    stream = Stream(failing)
    stream.writelines(["one\n", "two\n", "three\n"])
    stream.flush()
    assert failing.getvalue() == "one\n"
    assert isinstance(stream.failure, BrokenPipeError)


def test_commands_learn_that_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_output_writable()
    with guarded() as session:
        other = guard(Failing())
        other.write("one\n")
        assert is_output_writable()
        other.write("two\n")
        assert not is_output_writable()
        assert session.exit_code(0) == 141
        assert session.exit_code(130) == 130
    assert is_output_writable()
    monkeypatch.setattr(sys, "stdout", None)
    with guarded() as session:
        set_outcome("nothing is lost")
        assert session.exit_code(0) == 0
