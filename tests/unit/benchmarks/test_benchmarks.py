"""Every row can be measured and reported, and every study draws its table."""

from __future__ import annotations

import re
import shutil
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import report, runner, timing
from benchmarks.commands import bench
from neuid3.errors import DataError

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


ROWS = [
    {"name": "a", "ours_seconds": 1.0, "other_seconds": 4.0, "ratio": 0.25, "bar": "ours / other <= 0.5", "met": True},
    {"name": "b", "ours_seconds": None, "other_seconds": None, "ratio": 2.0, "bar": "slope <= 1", "met": False},
    {"name": "a", "ours_seconds": 1.0, "other_seconds": 1.0, "ratio": 1.0, "bar": "ours / other <= 0.5", "met": False},
    {"name": "c", "skipped": "klay is not installed"},
]


def measured(name: str) -> list[dict[str, object]]:
    return list(runner.measure([name], quick=True))


def test_what_is_not_installed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(self: runner.Benchmark, quick: bool) -> object:  # noqa: ARG001 - as it is called
        raise ModuleNotFoundError("No module named 'klay'", name="klay")

    monkeypatch.setattr(runner.Benchmark, "measure", absent)
    (row,) = measured("circuit_vs_klay")
    assert row["skipped"] == "klay is not installed"
    monkeypatch.setattr(runner, "OPTIONAL", ())
    with pytest.raises(ModuleNotFoundError):
        measured("circuit_vs_klay")


def test_slow_rows_run_only_on_request() -> None:
    assert "halving" not in runner.select([])
    assert runner.select(["halving"]) == ["halving"]
    with pytest.raises(DataError, match="growth"):
        runner.select(["grwoth"])


def test_the_history_is_kept_and_the_newest_rows_are_drawn(tmp_path: Path) -> None:
    history, page = tmp_path / "bench" / "history.jsonl", tmp_path / "speed.md"
    report.append(ROWS[:2], history)
    report.append(ROWS[2:], history)
    assert report.read(history) == ROWS
    page.write_text("before\n<!-- table:bench -->\nold\n<!-- /table:bench -->\nafter\n")
    done = CliRunner().invoke(bench, ["--table", "--history", str(history), "--into", str(page)])
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert "old" not in text
    assert "| `a` | 1 | 1 | 1 | ours / other ≤ 0.5 | missed |" in text
    assert "| `b` |  |  | 2 | slope ≤ 1 | missed |" in text
    assert "`c`" not in text
    done = CliRunner().invoke(bench, ["--table", "--history", str(tmp_path / "none.jsonl")])
    assert done.exit_code == 2
    assert "run `python -m benchmarks` first" in done.output


def test_a_row_is_printed_on_one_line() -> None:
    assert report.formatted(ROWS[0]).split() == ["a", "1", "4", "0.25", "ours", "/", "other", "<=", "0.5", "met"]
    assert report.formatted(ROWS[3]).endswith("not measured: klay is not installed")


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_the_history_is_a_picture(tmp_path: Path) -> None:
    grown = {"name": "growth/nodes", "ratio": 0.9, "bar": "slope <= 1.1", "seconds": {"3": 0.1, "63": 1.5}}
    report.draw([*ROWS, grown], tmp_path / "history.svg")
    assert "nodes" in (tmp_path / "history.svg").read_text()
    report.draw(ROWS, tmp_path / "history.svg")
    assert (tmp_path / "history.svg").read_text().startswith("<?xml")


@pytest.mark.skipif(find_spec("matplotlib") is not None, reason="matplotlib is installed")
def test_a_picture_without_matplotlib_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="plots"):
        report.draw(ROWS, tmp_path / "history.svg")


def test_memory_is_what_a_call_holds_at_most() -> None:
    if not timing.STATUS.exists():
        pytest.skip("only Linux tells")
    held = timing.peak_memory_of(lambda: (b"\1" * 300_000_000).count(b"\0"))
    assert 250_000_000 < held < 400_000_000


def test_rows_compare_in_the_right_direction() -> None:
    assert timing.no_slower("x", 1.0, 2.0, 0.5)["met"]
    assert not timing.no_slower("x", 1.1, 2.0, 0.5)["met"]
    assert timing.faster("x", 1.0, 70.0, 70)["met"]
    assert not timing.faster("x", 1.0, 69.0, 70)["met"]
    assert timing.slope({1: 1.0, 4: 16.0}) == pytest.approx(2.0)


# Studies: what draws each table, from which file, into which page.
STUDIES = re.findall(
    r"`python -m benchmarks\.(\w+) --table (\S+) (\S+)`", "\n".join(page.read_text("utf-8") for page in PAGES)
)


def test_every_study_with_a_table_is_named_on_its_page() -> None:
    drawn = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if "def table(path" in path.read_text("utf-8")}
    assert {module for module, _, _ in STUDIES} == drawn


@pytest.mark.parametrize(("module", "results", "page"), STUDIES)
def test_the_table_of_a_study_is_drawn_from_its_results(
    module: str, results: str, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    copy = tmp_path / "page.md"
    shutil.copy(page, copy)
    import_module(f"benchmarks.{module}").table(results, str(copy))
    if module == "bank":  # its column without a bank is drawn from units that were run anew since
        return
    assert copy.read_text("utf-8") == (ROOT / page).read_text("utf-8")
