"""The unit tests on other versions: `python tests/matrix.py [NAME …]`, or `make test-matrix`.

Every Python from 3.11 to 3.13 that is found runs them with the versions of constraints.txt, and the oldest of them once
more with the oldest scikit-learn, numpy, pandas and pyarrow that pyproject.toml supports, each in its last patch release.
Environments are made in .matrix, once.

PyTorch is only installed where pip finds a build for the CPU: one for CUDA takes gigabytes. Where there is none, tests that
need PyTorch are skipped and counted; PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS can name a place that has one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".matrix"
VERSIONS = ("3.11", "3.12", "3.13")
# Packages whose lower bounds are tried; the last two must be as old as the numpy that they are used with.
OLDEST = ("scikit-learn", "numpy", "pandas", "pyarrow")
TORCH_ONLY = ("deepproblog", "klaycircuits")  # of no use, or not to be installed, without PyTorch


@dataclass(frozen=True)
class Environment:
    """An environment of the matrix.

    Attributes
    ----------
    name : its folder in .matrix.
    python : the interpreter that it is made with.
    pins : versions that replace those of constraints.txt.
    """

    name: str
    python: Path
    pins: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    @property
    def interpreter(self) -> Path:
        return self.folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def find_python(version: str) -> Path | None:
    """An interpreter of this version that runs, on the PATH or among those of pyenv."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    on_path = shutil.which(f"python{version}")
    known = [Path(on_path)] if on_path else []
    known += sorted(root.glob(f"versions/{version}.*/bin/python"), reverse=True)
    for python in known:
        command = [str(python), "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
        output = subprocess.run(command, capture_output=True, text=True, check=False)
        if output.returncode == 0 and output.stdout.strip() == version:
            return python
    return None


def requirements() -> list[str]:
    """What the library and its tests need, from pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["dev"]]


def lower_bounds() -> tuple[str, ...]:
    """The oldest supported versions: `scikit-learn==1.6.*`."""
    found = {}
    for requirement in requirements():
        name, _, version = requirement.partition(">=")
        if name in OLDEST:
            found.setdefault(name, f"{name}=={version}.*")
    return tuple(found[name] for name in OLDEST)


def write_constraints(environment: Environment) -> Path:
    """The constraints of an environment; with other pins, only PyTorch and the tools that run tests keep their versions."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    if environment.pins:
        kept = re.compile(r"torch|pytest|hypothesis|problog|PySDD|klaycircuits|click|rich", flags=re.IGNORECASE)
        lines = [line for line in lines if kept.match(line)]
    path = environment.folder / "constraints.txt"
    path.write_text("\n".join([*lines, *environment.pins, ""]), encoding="utf-8")
    return path


def has_cpu_build(environment: Environment, pip: list[str], constraints: Path) -> bool:
    """Whether pip would install PyTorch without the libraries of CUDA."""
    trial = [*pip, "install", "--dry-run", "--constraint", str(constraints), "torch"]
    output = subprocess.run(trial, capture_output=True, text=True, check=False)
    if output.returncode:
        print(f"{environment.name}: pip finds no PyTorch: {output.stderr.strip().splitlines()[-1]}", flush=True)
    return output.returncode == 0 and not re.search(r"\bnvidia-|\bcuda-", output.stdout)


def make_environment(environment: Environment) -> bool:
    """Make an environment unless it is there; whether PyTorch is in it."""
    installed = environment.folder / "installed"
    state = "\n".join(
        [*((ROOT / name).read_text("utf-8") for name in ("pyproject.toml", "constraints.txt")), *environment.pins]
    )
    if not installed.exists() or not installed.read_text("utf-8").startswith(state):
        shutil.rmtree(environment.folder, ignore_errors=True)
        subprocess.run([str(environment.python), "-m", "venv", str(environment.folder)], check=True)
        constraints = write_constraints(environment)
        pip = [str(environment.interpreter), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        torch = has_cpu_build(environment, [*pip[:3], "--disable-pip-version-check"], constraints)
        left_out = () if torch else ("torch", *TORCH_ONLY)
        wanted = [each for each in requirements() if not each.startswith(left_out)]
        subprocess.run([*pip, "install", "--constraint", str(constraints), *wanted], check=True)
        if torch:
            subprocess.run([*pip, "install", "--no-deps", "deepproblog==2.1.0"], check=True)
        subprocess.run([*pip, "install", "--no-deps", "--no-build-isolation", "--editable", str(ROOT)], check=True)
        installed.write_text(f"{state}\ntorch = {torch}\n", encoding="utf-8")
    return installed.read_text("utf-8").endswith("torch = True\n")


def run_tests(environment: Environment, torch: bool) -> bool:
    """Run the unit tests in an environment; whether they pass."""
    command = [str(environment.interpreter), "-m", "pytest", "-q", "-m", "not slow", "-n", "2", "--dist", "worksteal"]
    command += [
        "-p",
        "no:cacheprovider",
        *([] if torch else ["-p", "without_torch"]),
        "tests/unit",
        "src",
        "experiments",
    ]
    path = os.pathsep.join(str(ROOT / folder) for folder in ("src", "", "tests", "tests/helpers"))
    variables = os.environ | {"NEUID3_EXAMPLES": "few", "PYTHONPATH": path}
    return subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode == 0


def main(names: list[str]) -> int:
    found = {version: find_python(version) for version in VERSIONS}
    environments = [Environment(f"python{version}", python) for version, python in found.items() if python]
    if not environments:
        print(f"There is no Python {' or '.join(VERSIONS)} here.")
        return 1
    environments.append(Environment("oldest", environments[0].python, lower_bounds()))
    outcomes = [f"python{version}: missing" for version, python in found.items() if python is None]
    failed = False
    for environment in environments:
        if names and environment.name not in names:
            continue
        torch = make_environment(environment)
        passed = run_tests(environment, torch)
        failed |= not passed
        with_pins = f" with {', '.join(environment.pins)}" if environment.pins else ""
        without = "" if torch else ", without PyTorch, of which pip finds no build for the CPU"
        outcomes.append(f"{environment.name}{with_pins}: {'passed' if passed else 'FAILED'}{without}")
    print("\n".join(outcomes))
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
