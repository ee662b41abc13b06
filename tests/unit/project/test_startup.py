"""Starting costs next to nothing: heavy packages are imported when they are needed, and not before."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

import neuid3
from neuid3.cli.main import GROUPS, main

ROOT = Path(__file__).resolve().parents[3]

HEAVY = {"torch", "problog", "sklearn", "scipy", "joblib", "pandas", "rich", "matplotlib", "PIL", "onnx", "onnxruntime"}

IMPORT = "import neuid3"
COMMAND = """
import sys
from {module} import {name}
sys.argv = ["program", *{arguments!r}]
try:
    {name}()
except SystemExit as end:
    assert end.code == 0
"""


def loaded(code: str) -> set[str]:
    """The packages that a fresh interpreter has imported after running this."""
    script = code + "\nimport sys\nprint(*sorted({name.split('.')[0] for name in sys.modules}))\n"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(finished.stdout.splitlines()[-1].split())


def test_importing_the_package_imports_nothing_heavy() -> None:
    found = loaded(IMPORT)
    assert "neuid3" in found
    assert not found & (HEAVY | {"numpy"})


def test_a_table_can_be_made_without_torch() -> None:
    found = loaded("import neuid3; neuid3.Examples({'a': [True, False]}); neuid3.Leaf(0.5)")
    assert "numpy" in found
    assert not found & HEAVY


def test_a_tree_can_be_drawn_without_torch() -> None:
    made = "import neuid3; tree = neuid3.Tree(neuid3.Branch('a', neuid3.Leaf(0.5), neuid3.Leaf(0.1)))"
    shown = "neuid3.export_svg(tree); neuid3.export_text(tree); neuid3.export_graphviz(tree)"
    assert not loaded(f"{made}; {shown}") & HEAVY


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *([name, "--help"] for name in GROUPS)], ids=" ".join)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    assert not loaded(COMMAND.format(module="neuid3.cli.main", name="main", arguments=arguments)) & HEAVY


@pytest.mark.parametrize(
    ("module", "name", "arguments"),
    [
        ("experiments.__main__", "main", ["--help"]),
        ("experiments.__main__", "main", ["datasets", "--help"]),
        ("experiments.__main__", "main", ["reproduce", "uci", "--help"]),
        ("benchmarks.commands", "bench", ["--help"]),
    ],
)
def test_help_of_experiments_and_benchmarks_imports_nothing_heavy(
    module: str, name: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *sys.path]))
    assert not loaded(COMMAND.format(module=module, name=name, arguments=arguments)) & HEAVY


def test_help_says_of_a_group_what_the_group_says_of_itself() -> None:
    for name, (module, sentence) in GROUPS.items():
        group = getattr(import_module(module), name)
        assert group.help.splitlines()[0] == sentence
    shown = " ".join(CliRunner().invoke(main, ["--help"]).output.split())
    assert all(name in shown for name in GROUPS)


PACKAGES = (
    "circuits",
    "data",
    "estimators",
    "explain",
    "export",
    "io",
    "learning",
    "logic",
    "networks",
    "training",
    "tree",
)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_offers_the_names_that_it_lists_and_no_others(package: str) -> None:
    face = import_module(f"neuid3.{package}")
    assert sorted(face.__all__) == sorted(dir(face))
    for name in face.__all__:
        assert getattr(face, name) is not None
    with pytest.raises(AttributeError, match=f"neuid3.{package}.*nothing_like_it"):
        face.nothing_like_it  # noqa: B018 - looking it up is the test


def test_importing_all_packages_imports_nothing_heavy() -> None:
    assert not loaded("\n".join(f"import neuid3.{package}" for package in (*PACKAGES, "cli"))) & (HEAVY | {"numpy"})


def test_every_public_name_is_found_and_listed() -> None:
    assert sorted([*neuid3.__all__, "__version__"]) == dir(neuid3)
    for name in neuid3.__all__:
        assert getattr(neuid3, name).__name__ == name
        assert name in dir(neuid3)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        neuid3.nothing_like_it  # noqa: B018 - looking it up is the test
