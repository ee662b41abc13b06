"""Every path of every command may be wrong in every way: the outcome is a sentence and exit code 2, never a wait."""

from __future__ import annotations

import csv
import os
import shutil
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from benchmarks.commands import bench
from experiments.__main__ import main as experiments
from neuid3 import NeuID3Classifier, TrainingConfig, load, read_table
from neuid3.cli.main import main
from neuid3.errors import MissingFileError, NeuID3Error, UnreadableFileError, UnwritableFileError

NOBODY = 65534

# Calls that begin with one of these names are `python -m NAME`, all others `neuid3`.
PROGRAMS = {"experiments": experiments, "benchmarks": bench}

# Paths that a command reads, each as ODD, and those that it writes.
READS = [
    "fit ODD --target risk",
    "fit people.csv --target risk --background ODD",
    "predict ODD people.csv",
    "predict people.neuid3 ODD",
    "show ODD",
    "explain ODD people.csv --row 0",
    "explain people.neuid3 ODD --row 0",
    "report ODD people.csv",
    "report people.neuid3 ODD",
    "audit ODD people.csv",
    "audit people.neuid3 ODD",
    "label ODD people.csv",
    "label people.neuid3 ODD",
    "bank add bank ODD",
    "experiments reproduce table --results results --into ODD",
    "benchmarks --table --history ODD",
    "benchmarks --table --history history.jsonl --into ODD",
]


WRITES = [
    "fit people.csv --target risk --out ODD",
    "predict people.neuid3 people.csv --out ODD",
    "show people.neuid3 --out ODD",
    "explain people.neuid3 people.csv --row 0 --out ODD",
    "report people.neuid3 people.csv --out ODD",
    "audit people.neuid3 people.csv --out ODD",
]


PICTURES = [  # the name says which picture it is, so not every odd path can be tried
    "experiments datasets show digits --out ODD.png",
    "experiments reproduce figure ODD.svg --results results",
    "benchmarks --history history.jsonl --plot ODD.svg",
]


FOLDERS = [
    "fit people.csv --target risk --bank ODD",
    "bank list ODD",
    "bank show ODD test",
    "bank remove ODD test",
    "experiments reproduce table --results ODD",
]


NEW_FOLDERS = ["bank add ODD bright.neuid3", "demo --files ODD"]

# What is no file, and what is not even a path.
NO_FILES = ["folder", "pipe", "socket", "/dev/zero", "loop"]


NO_PATHS = ["loop", "x" * 300, "long/" * 1000, "a\0b", "people.csv/below", "caf\udce9/x"]


def run(call: str, odd: str) -> Result:
    first, *rest = call.split()
    program, arguments = (PROGRAMS[first], rest) if first in PROGRAMS else (main, [first, *rest])
    return CliRunner().invoke(program, [word.replace("ODD", odd) for word in arguments])


class WaitsError(Exception):
    """A command does not end."""


@contextmanager
def alarm(seconds: int = 60) -> Iterator[None]:
    """Turn a call that waits for ever into an error."""

    def late(*_: object) -> None:
        raise WaitsError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def assert_refused(done: Result, call: str) -> None:
    assert done.exit_code == 2, (call, done.exit_code, done.output, done.exception)
    lines = done.stderr.splitlines()
    assert lines[-1].startswith("Error: "), (call, done.stderr)
    assert "Traceback" not in done.output


@pytest.fixture(scope="module")
def odd_folder() -> Iterator[Path]:
    """A folder that anybody may enter, with a table, two models, and odd things."""
    folder = Path(mkdtemp(prefix="odd-", dir="/tmp"))
    folder.chmod(0o777)
    before = Path.cwd()
    os.chdir(folder)
    generator = np.random.default_rng(0)
    age = generator.integers(18, 95, 60)
    with open("people.csv", "w", newline="") as file:
        csv.writer(file).writerows([("age", "risk"), *((a, "high" if a > 60 else "low") for a in age)])
    read = read_table("people.csv", target="risk")
    NeuID3Classifier(max_depth=1, random_state=0).fit(read.examples, read.labels).save("people.neuid3")
    light = generator.random(60) < 0.5
    images = np.where(light[:, None, None], 0.9, 0.1).repeat(8, 1).repeat(8, 2).astype("float32")
    how = {
        "pruning": 0,
        "max_depth": 1,
        "random_state": 0,
        "n_jobs": 1,
        "training": TrainingConfig(epochs=8, restarts=1),
    }
    NeuID3Classifier(**how).fit({"image": images}, light).save("bright.neuid3")
    Path("folder").mkdir()
    Path("results/uci").mkdir(parents=True)
    Path("history.jsonl").write_text("")
    os.mkfifo("pipe")
    Path("loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
    yield folder
    os.chdir(before)
    shutil.rmtree(folder)


@pytest.mark.usefixtures("odd_folder")
@pytest.mark.parametrize("odd", [*NO_FILES, *NO_PATHS], ids=repr)
@pytest.mark.parametrize("call", READS)
def test_what_cannot_be_read_is_refused(call: str, odd: str) -> None:
    with alarm():
        assert_refused(run(call, odd), call)


@pytest.mark.usefixtures("odd_folder")
@pytest.mark.parametrize("odd", ["folder", "pipe", "socket", *NO_PATHS], ids=repr)
@pytest.mark.parametrize("call", WRITES)
def test_what_cannot_be_written_is_refused(call: str, odd: str) -> None:
    with alarm():
        assert_refused(run(call, odd), call)


@pytest.mark.usefixtures("odd_folder")
@pytest.mark.parametrize("odd", ["loop/x", "x" * 300, "a\0b", "people.csv/below"], ids=repr)
@pytest.mark.parametrize("call", PICTURES)
def test_where_no_picture_can_be_is_refused(call: str, odd: str) -> None:
    assert_refused(run(call, odd), call)


@pytest.mark.usefixtures("odd_folder")
@pytest.mark.parametrize("odd", ["people.csv", "pipe", "/dev/zero", *NO_PATHS], ids=repr)
@pytest.mark.parametrize("call", FOLDERS)
def test_what_is_no_folder_is_refused(call: str, odd: str) -> None:
    with alarm():
        assert_refused(run(call, odd), call)


@pytest.mark.usefixtures("odd_folder")
@pytest.mark.parametrize("odd", ["people.csv", "pipe", "/dev/zero", "loop", "x" * 300, "a\0b", "people.csv/below"])
@pytest.mark.parametrize("call", NEW_FOLDERS)
def test_where_no_folder_can_be_made_is_refused(call: str, odd: str) -> None:
    with alarm():
        assert_refused(run(call, odd), call)


@pytest.mark.usefixtures("odd_folder")
def test_the_same_calls_work_with_paths_that_are_not_odd() -> None:
    good = {
        "fit ODD --target risk": "people.csv",
        "predict ODD people.csv": "people.neuid3",
        "predict people.neuid3 ODD": "people.csv",
        "show ODD": "people.neuid3",
        "explain people.neuid3 ODD --row 0": "people.csv",
        "report people.neuid3 ODD": "people.csv",
        **dict.fromkeys(WRITES, "n" * 250),
        "bank add ODD bright.neuid3": "new",
        "bank list ODD": "new",
    }
    for call, path in good.items():
        done = run(call, path)
        assert done.exit_code == 0, (call, done.output)
    assert not list(Path().glob(".*")), "nothing unfinished is left"


@pytest.mark.usefixtures("odd_folder")
def test_a_name_that_is_no_utf8_is_a_name_like_any_other() -> None:
    odd = os.fsdecode(b"caf\xe9")
    for call in ("fit people.csv --target risk --out ODD.neuid3", "show ODD.neuid3", "show ODD.neuid3 --out ODD.txt"):
        done = run(call, odd)
        assert done.exit_code == 0, done.output
    assert b"caf\xe9.txt" in os.listdir(b".")
    assert run("bank add latin ODD.neuid3", odd).stderr.startswith("Error: caf\\udce9.neuid3 has no test")
    shutil.copy("bright.neuid3", f"{odd}.neuid3")
    done = run("bank add latin ODD.neuid3", odd)
    assert done.exit_code == 0, done.output
    assert run("bank list ODD --json", "latin").exit_code == 0


# Permissions ----------------------------------------------------------------------------------------
@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may do everything; nobody else may."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def closed(odd_folder: Path) -> Iterator[None]:
    """Files that may not be read, and a folder that may not be written to or entered."""
    shutil.copy("people.csv", "secret")
    Path("secret").chmod(0)
    Path("sealed").mkdir()
    shutil.copy("people.csv", "sealed/people.csv")
    Path("sealed").chmod(0)
    Path("read-only").mkdir(exist_ok=True)
    Path("read-only").chmod(0o555)
    yield
    for folder in ("sealed", "read-only"):
        Path(folder).chmod(0o755)
        shutil.rmtree(folder)
    Path("secret").unlink()
    assert odd_folder.is_dir()


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("odd", ["secret", "sealed", "sealed/people.csv"])
@pytest.mark.parametrize("call", [*READS, *FOLDERS])
def test_what_may_not_be_read_is_refused(call: str, odd: str) -> None:
    with as_nobody():
        done = run(call, odd)
    assert_refused(done, call)
    assert odd in done.stderr


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("odd", ["read-only/x", "sealed/x"])
@pytest.mark.parametrize("call", [*WRITES, *PICTURES, *NEW_FOLDERS])
def test_what_may_not_be_written_is_refused(call: str, odd: str) -> None:
    with as_nobody():
        done = run(call, odd)
    assert_refused(done, call)
    assert odd.split("/")[0] in done.stderr


@pytest.mark.usefixtures("closed")
def test_errors_about_files_are_ours_and_the_system_s() -> None:
    model = load("people.neuid3")
    with as_nobody():
        with pytest.raises(UnreadableFileError, match="Permission denied") as refused:
            read_table("secret")
        for kind in (NeuID3Error, OSError, ValueError):
            assert isinstance(refused.value, kind)
        with pytest.raises(UnwritableFileError, match="Permission denied") as unwritten:
            model.save("read-only/x.neuid3")
        assert unwritten.value.errno == 13
    with pytest.raises(MissingFileError):
        read_table("people.csv/below")


# Numbers --------------------------------------------------------------------------------------------
def options(command: click.Command, *names: str) -> Iterator[tuple[str, click.Option]]:
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            context = click.Context(command)
            yield from options(command.resolve_command(context, [name])[1], *names, name)
    else:
        yield from ((" ".join(names), p) for p in command.params if isinstance(p, click.Option))


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "NaN", "1e999"])
def test_no_option_takes_what_is_no_finite_number(number: str) -> None:
    tried = 0
    for program in (main, experiments, bench):
        for name, option in options(program):
            if isinstance(option.type, (click.types.FloatParamType, click.types.IntParamType)):
                done = CliRunner().invoke(program, [*name.split(), f"{option.opts[0]}={number}"])
                assert done.exit_code == 2, (name, option.opts, done.output)
                assert option.opts[0] in done.stderr
                tried += 1
    assert tried > 10
