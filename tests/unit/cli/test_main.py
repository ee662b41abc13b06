"""The command line is a thin shell."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from benchmarks.commands import bench
from experiments.__main__ import main as experiments
from neuid3 import __version__
from neuid3.cli.main import MOVED, main

ROOT = Path(__file__).resolve().parents[3]


def test_the_version_is_printed() -> None:
    assert __version__ in CliRunner().invoke(main, ["--version"]).output


@pytest.mark.parametrize(("name", "successor"), MOVED.items())
def test_a_command_that_left_the_library_names_its_successor(name: str, successor: str) -> None:
    for arguments in ([name], [name, "--help"], [name, "list", "--quick"]):
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 2
        assert done.output == (
            f"Error: `neuid3 {name}` is `{successor}` now; run it in the root folder of a checkout of the repository.\n"
        )
    assert name not in main.list_commands(click.Context(main))


@pytest.mark.parametrize("successor", MOVED.values())
def test_a_successor_is_there(successor: str) -> None:
    program, *arguments = successor.removeprefix("python -m ").split()
    done = CliRunner().invoke({"experiments": experiments, "benchmarks": bench}[program], [*arguments, "--help"])
    assert done.exit_code == 0, done.output
    assert "Usage: " in done.output


def test_messages_of_the_experiments_do_not_speak_of_options_of_fit() -> None:
    message = "a lower `pruning` asks less of it"
    assert main.wording(message) == "a lower `--pruning` asks less of it"
    assert experiments.wording(message) == bench.wording(message) == message


def test_no_text_names_a_command_that_left_the_library() -> None:
    texts = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile")), *(ROOT / "docs").rglob("*.md")]
    texts += [path for folder in ("src", "experiments", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    old = re.compile(rf"neuid3 ({'|'.join(MOVED)})\b")
    assert not [(str(path), found[0]) for path in texts for found in old.finditer(path.read_text("utf-8"))]
