"""What the README shows, works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def test_the_code_of_the_readme_runs_from_top_to_bottom(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # it saves a model and a page
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = blocks(readme)
    assert len(found) >= 5
    names: dict[str, object] = {"__name__": "readme"}
    for block in found:
        exec(compile(block, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "[[0.3793 0.6207]]" in printed
    assert "Did you mean 'gt_rank/2'?" in printed


def test_the_readme_shows_the_two_commands_that_do_everything() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in readme
    assert "make test" in readme
