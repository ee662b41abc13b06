"""`neuid3 doctor` tells what is installed, what runs the networks and which data are there, also where something is missing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from neuid3 import __version__
from neuid3.cli import doctor as command
from neuid3.cli.main import main
from neuid3.logic import sandbox
from neuid3.utils import kernel as kernel_module

ROOT = Path(__file__).resolve().parents[3]

WITHOUT = """
import sys
sys.modules |= dict.fromkeys({missing!r})
from neuid3.cli.main import main
sys.argv = ["neuid3", "doctor", *{arguments!r}]
main()
"""


def printed(*arguments: str) -> str:
    done = CliRunner().invoke(main, ["doctor", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def report() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed("--json"))
    return found


def without(*missing: str, arguments: tuple[str, ...] = ()) -> str:
    """What a fresh interpreter prints that cannot import these packages."""
    code = WITHOUT.format(missing=missing, arguments=arguments)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_it_tells_versions_and_threads() -> None:
    found = report()
    assert found["neuid3"]["version"] == __version__
    assert found["torch"] == torch.__version__
    assert found["threads"]["torch"] == torch.get_num_threads()
    assert found["required"]["numpy"]
    text = printed()
    assert all(word in text for word in (__version__, torch.__version__, "Python", "core"))


@pytest.mark.parametrize(("setting", "backend"), [("on", "kernel"), ("off", "torch"), ("x86-64-v9", None)])
def test_it_tells_what_runs_networks_and_why(
    setting: str, backend: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    variants = kernel_module.runnable_variants()[0]
    if backend == "kernel" and not variants:
        backend = "torch"
    monkeypatch.setenv("NEUID3_KERNEL", setting)
    kernel_module.clear_choice()
    try:
        networks, text = report()["networks"], printed()
    finally:
        kernel_module.clear_choice()
    assert networks["backend"] == backend
    assert networks["variants"] == list(variants)
    if backend == "kernel":
        assert networks["variant"] == variants[-1]
        assert f"compiled kernel, variant {variants[-1]}" in text
    else:
        assert networks["reason"] in text
        assert setting == "on" or setting in networks["reason"]


def test_it_works_where_torch_cannot_be_imported() -> None:
    networks = json.loads(without("torch", arguments=("--json",)))["networks"]
    assert networks["backend"] is None
    assert "PyTorch cannot be imported" in networks["reason"]
    assert re.search(r"missing +torch \(pip install torch\)", without("torch"))


def test_it_works_where_only_click_is_installed() -> None:
    missing = [module for module in command.REQUIRED.values() if module != "click"]
    text = without(*missing, *(package.module for package in command.OPTIONAL.values()))
    assert re.search(r"missing +joblib, numpy", text)


def test_a_package_that_is_missing_comes_with_what_it_is_for_and_how_it_is_installed() -> None:
    line = next(line for line in without("PIL").splitlines() if "pillow" in line)
    assert re.fullmatch(r"  pillow +missing +files of images \(pip install 'neuid3\[tables\]'\)", line)


def test_every_package_that_the_project_names_is_reported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    def names(requirements: list[str]) -> set[str]:
        return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}

    assert set(command.REQUIRED) == names(project["dependencies"])
    for extra, requirements in project["optional-dependencies"].items():
        if extra not in ("dev", "docs"):
            for name in names(requirements) - set(command.REQUIRED):
                assert command.OPTIONAL[name].install == f"'neuid3[{extra}]'"


def test_it_tells_whether_problog_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert report()["problog"]["starts"] is True
    monkeypatch.setattr(sandbox, "_START", "raise ImportError('half of it is missing')")
    problog = report()["problog"]
    assert problog["starts"] is False
    assert "half of it is missing" in problog["reason"]
    assert "does not start: ImportError: half of it is missing" in printed()


def test_it_tells_which_data_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEUID3_DATA", raising=False)
    monkeypatch.setenv("NEUID3_CACHE", str(tmp_path / "cache"))
    data = report()["data"]
    assert data["NEUID3_DATA"] is None
    assert data["cache"] == {"folder": str(tmp_path / "cache"), "exists": False, "entries": []}
    (tmp_path / "uci").mkdir()
    (tmp_path / "uci" / "zoo.csv").write_text("there")
    monkeypatch.setenv("NEUID3_DATA", str(tmp_path))
    data = report()["data"]
    assert data["NEUID3_DATA"] == {"folder": str(tmp_path), "exists": True, "entries": ["uci"]}
    lines = printed().splitlines()
    assert next(line for line in lines if line.startswith("NEUID3_DATA")).endswith(f"{tmp_path}: uci")
    assert next(line for line in lines if line.startswith("cache")).endswith("(no such folder)")
