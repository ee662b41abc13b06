"""What the tutorial shows, happens."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from neuid3.cli.main import main

DOCS = Path(__file__).resolve().parents[3] / "docs"
TUTORIAL = DOCS / "tutorial.md"


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of the tutorial with the output that is shown below it."""
    for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            yield line, shown


def happened(line: str) -> str:
    """What a command prints."""
    program, *arguments = shlex.split(line)
    if program == "head":
        count, path = arguments
        return "".join(Path(path).read_text(encoding="utf-8").splitlines(keepends=True)[: int(count[1:])])
    assert program == "neuid3"
    # The same tree is learned with any number of workers, and one is fastest where there is little to do.
    done = CliRunner().invoke(main, [*arguments, *(["--jobs", "1"] if arguments[0] == "fit" else [])])
    assert done.exit_code == 0, f"{line}\n{done.output}"
    return done.stdout


def vocabulary(text: str) -> set[str]:
    """Words without the numbers, which differ a little from machine to machine."""
    return set(re.findall(r"[^\W\d]{2,}", text))


def expected(line: str, shown: str) -> set[str]:
    """The words that a command prints on any machine.

    How sure a network is of one image differs between machines, and with it which leaves and ways an explanation lists:
    of those, only the headings, which are not indented, and what they say of the class.
    """
    if "explain" in line:
        shown = "\n".join(part for part in shown.splitlines() if not part.startswith(" "))
    return vocabulary(shown)


@pytest.fixture(scope="module")
def transcript(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[str, str, str]]]:
    """Every command, what the tutorial shows, and what it printed; in a folder where the files are afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("tutorial"))
        shown = list(commands(TUTORIAL.read_text(encoding="utf-8")))
        yield [(line, output, happened(line)) for line, output in shown]


def test_every_command_runs_and_prints_what_is_shown(transcript: list[tuple[str, str, str]]) -> None:
    assert {line.split()[1] for line, _, _ in transcript} >= {"demo", "fit", "predict", "show", "explain", "report"}
    for line, shown, printed in transcript:
        assert not expected(line, shown) - vocabulary(printed), line
        if re.match("head .* (cards|clinic)/", line):
            assert shown == printed


def test_the_trees_of_the_tutorial_are_right_about_nearly_all_rows(transcript: list[tuple[str, str, str]]) -> None:
    fits = [printed for line, _, printed in transcript if line.startswith("neuid3 fit")]
    assert len(fits) == 2
    assert all(float(re.findall(r"accuracy (\d\.\d+)", printed)[0]) > 0.9 for printed in fits)


def test_the_python_of_the_tutorial_runs(
    transcript: list[tuple[str, str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert transcript
    (block,) = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(compile(block, "tutorial.md", "exec"), {"__name__": "tutorial"})
    assert "player  category  3 values: ann, bob, cleo" in capsys.readouterr().out


def test_the_commands_of_the_page_about_banks_run_where_the_tutorial_was(
    transcript: list[tuple[str, str, str]],
) -> None:
    assert transcript
    shown = list(commands((DOCS / "bank.md").read_text(encoding="utf-8")))
    assert len(shown) >= 4
    printed = [happened(line) for line, _ in shown]
    for (line, output), found in zip(shown, printed, strict=True):
        assert not vocabulary(output) - vocabulary(found), line
    assert "higher(second, first)?" in printed[-1]
