"""Trial of the built archives outside the checkout: `python tests/helpers/try_dist.py dist`, which `make dist` runs.

A new environment in a temporary folder gets the wheel and its dependencies from the package index. There the commands run, a
tree is learned, every public name is imported and the model files of version 1 are loaded. The same is repeated with the source
archive, installed where no C compiler is found.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "v1"

PUBLIC_NAMES = """
import importlib, pathlib, pkgutil, sys
import neuid3
assert pathlib.Path(neuid3.__file__).is_relative_to(sys.prefix), neuid3.__file__
assert pathlib.Path(neuid3.__file__).with_name("py.typed").exists()
found = pkgutil.walk_packages(neuid3.__path__, "neuid3.")
packages = [neuid3, *(importlib.import_module(module.name) for module in found if module.ispkg)]
names = [(package, name) for package in packages for name in getattr(package, "__all__", ())]
for package, name in names:
    assert getattr(package, name) is not None, (package, name)
print(len(names))
"""

TABLE = """
from neuid3 import NeuID3Classifier, load
X = {"age": [31, 45, 52, 38, 29, 61, 47, 35] * 8, "smoker": [True, False, True, False, True, True, False, False] * 8}
y = ["ill" if age > 40 else "well" for age in X["age"]]
clf = NeuID3Classifier(max_depth=2, random_state=0).fit(X, y)
assert clf.predict(X).tolist() == y
clf.save("table.neuid3")
assert load("table.neuid3").predict(X).tolist() == y
print(clf.tree_.depth)
"""

IMAGES = """
import numpy as np
from neuid3 import NeuID3Classifier
bright = np.arange(64) % 2
images = np.random.default_rng(0).random((64, 12, 12)) * 0.4 + bright[:, None, None] * 0.5
clf = NeuID3Classifier(max_depth=1, random_state=0).fit({"x": images}, bright)
assert clf.score({"x": images}, bright) > 0.9
print(clf.gradient_steps_)
"""


LOADED = """
import json, sys
import neuid3
sys.path.append(sys.argv[2])
from make import examples
print(json.dumps(neuid3.load(sys.argv[1]).predict_proba(examples()).tolist()))
"""


class Trial:
    """A new environment in a folder outside the checkout.

    Parameters
    ----------
    folder : an empty folder, for the environment and the files of the trial.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "environment", with_pip=True)
        self.programs = folder / "environment" / "bin"

    def run(self, program: str, *arguments: str) -> str:
        """The standard output of a program of the environment, which finds no other programs, such as a C compiler."""
        environment = {name: value for name, value in os.environ.items() if not _of_the_checkout(name)}
        environment["PATH"] = str(self.programs)
        command = [str(self.programs / program), *arguments]
        finished = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        if finished.returncode:
            raise SystemExit(
                f"{' '.join(command)} ended with {finished.returncode}\n{finished.stdout}{finished.stderr}"
            )
        return finished.stdout

    def install(self, *what: str) -> None:
        """Install with pip, with the versions of constraints.txt."""
        constraints = str(ROOT / "constraints.txt")
        self.run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", constraints, *what)


def _of_the_checkout(name: str) -> bool:
    return name in ("CC", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV") or name.startswith("NEUID3_")


def try_installed(trial: Trial, version: str, backend: str) -> None:
    """Use the installed package as a user would."""
    assert trial.run("neuid3", "--version") == f"neuid3, version {version}\n"
    doctor = json.loads(trial.run("neuid3", "doctor", "--json"))
    _report("doctor", doctor["networks"])
    assert doctor["networks"]["backend"] == backend, doctor["networks"]
    trial.run("neuid3", "doctor")
    _report("public names", trial.run("python", "-c", PUBLIC_NAMES))
    _report("table, depth of the tree", trial.run("python", "-c", TABLE))
    _report("images, gradient steps", trial.run("python", "-c", IMAGES))
    _try_golden_files(trial)
    assert "weight" in trial.run("neuid3", "show", str(GOLDEN / "classifier.neuid3"))


def _try_golden_files(trial: Trial) -> None:
    """Model files of version 1 are loaded and give the probabilities that were recorded with them."""
    for name, expected in json.loads((GOLDEN / "predictions.json").read_text("utf-8")).items():
        path = GOLDEN / f"{name}.neuid3"
        computed = json.loads(trial.run("python", "-c", LOADED, str(path), str(GOLDEN.parent)))
        difference = max(
            abs(one - other)
            for row, other_row in zip(computed, expected, strict=True)
            for one, other in zip(row, other_row, strict=True)
        )
        assert difference < 1e-6, (path, difference)
        _report(f"{path.name} of version 1, largest difference of a probability", f"{difference:.1g}")


def try_tutorial(trial: Trial) -> None:
    """The commands of the tutorial: files, fit, predict, show, explain and report."""
    trial.run("neuid3", "demo", "--files", "cards")
    rules = ("--background", "cards/rules.pl", "--mode", "higher(+second, +first)")
    fitted = trial.run(
        "neuid3", "fit", "cards/cards.csv", "--target", "result", *rules, "--max-depth", "2", "--seed", "0"
    )
    _report("tutorial", next(line for line in fitted.splitlines() if "accuracy" in line))
    trial.run("neuid3", "predict", "cards.neuid3", "cards/new.csv", "--out", "predictions.csv")
    assert len((trial.folder / "predictions.csv").read_text("utf-8").splitlines()) == 101
    assert "<svg" in trial.run("neuid3", "show", "cards.neuid3", "--format", "svg")
    assert "Predicted" in trial.run("neuid3", "explain", "cards.neuid3", "cards/new.csv", "--row", "1")
    trial.run("neuid3", "report", "cards.neuid3", "cards/cards.csv", "--target", "result", "--out", "cards.html")


def _report(what: str, found: object) -> None:
    print(f"  {what}: {str(found).strip()}", flush=True)


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"{folder} has {len(found)} files {pattern}; empty it and build again.")
    return found[0]


def main(dist: Path) -> None:
    """Try the wheel and the source archive of a folder."""
    wheel, source = _only(dist, "neuid3-*.whl"), _only(dist, "neuid3-*.tar.gz")
    version = wheel.name.split("-")[1]
    compiled = not wheel.name.endswith("-any.whl")
    with tempfile.TemporaryDirectory(prefix="neuid3 dist ") as folder:
        trial = Trial(Path(folder))
        print(f"{wheel.name}, without its optional packages", flush=True)
        trial.install(str(wheel))
        try_installed(trial, version, backend="kernel" if compiled else "torch")
        print(f"{wheel.name}, with images and tables", flush=True)
        trial.install(f"neuid3[tables] @ {wheel.as_uri()}")
        try_tutorial(trial)
        print(f"{source.name}, built without a C compiler", flush=True)
        trial.run("python", "-m", "pip", "uninstall", "--quiet", "--yes", "neuid3")
        trial.install("--force-reinstall", "--no-deps", str(source))
        try_installed(trial, version, backend="torch")
    print(f"{dist} has what it should have.")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
