"""The built wheel works outside the checkout, with its compiled kernel where there was a compiler and without it elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[3]


TRY = """
import neuid3, pathlib, sys
assert pathlib.Path(neuid3.__file__).is_relative_to(sys.prefix), neuid3.__file__
assert pathlib.Path(neuid3.__file__).with_name("py.typed").exists()
from neuid3 import Branch, Examples, Leaf, NeurosymbolicTree, Tree
X = Examples({"alarm": [True, False], "age": [30, 50]})
model = NeurosymbolicTree(Tree(Branch("old", Leaf(0.9), Leaf(0.2))), X.schema, background="old :- age > 40.")
from neuid3.explain.page import evidence_page
assert "<h1>Wheel</h1>" in evidence_page(model, X, title="Wheel")
print(model.predict(X).tolist(), neuid3.__version__)
"""


FIT = """
import numpy as np
from neuid3 import NeuID3Classifier, TrainingConfig
bright = np.arange(64) % 2
images = np.random.default_rng(0).random((64, 12, 12)) * 0.4 + bright[:, None, None] * 0.5
clf = NeuID3Classifier(max_depth=1, training=TrainingConfig(epochs=20, restarts=1), random_state=0).fit({"x": images}, bright)
assert clf.gradient_steps_ > 0
assert clf.score({"x": images}, bright) > 0.9
"""


def compiler() -> str | None:
    return os.environ.get("CC") or next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


@pytest.fixture(scope="module", params=["compiler", "none"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, str]:
    """With or without a compiler: the wheel, and what the build printed."""
    if request.param == "compiler" and compiler() is None:
        pytest.skip("this machine has no C compiler")
    folder = tmp_path_factory.mktemp("wheel")
    environment = os.environ | ({"CC": "false"} if request.param == "none" else {})
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(build, env=environment, capture_output=True, text=True, check=True)
    (wheel,) = folder.glob("neuid3-*.whl")
    return request.param, wheel, done.stdout + done.stderr


@pytest.fixture(scope="module")
def python(built: tuple[str, Path, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter outside the checkout, with the wheel installed."""
    folder = tmp_path_factory.mktemp("outside") / "env with space"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    printed = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(printed, capture_output=True, text=True, check=True).stdout.strip())
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(built[1])]
    subprocess.run(install, check=True)
    # Its dependencies are borrowed from here; a path in a .pth file does not bring this checkout along.
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def run(python: Path, *arguments: str) -> str:
    """What a command of the installed wheel prints, with no compiler to be found and nothing of this checkout on the path."""
    left_out = ("CC", "PYTHONPATH", "NEUID3_KERNEL")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    environment["PATH"] = str(python.parent)
    done = subprocess.run(
        [python, *arguments], capture_output=True, text=True, cwd=python.parent, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_runs_outside_the_checkout(python: Path) -> None:
    assert run(python, "-c", TRY).startswith("['neg', 'pos']")
    assert "demo" in run(python, "-m", "neuid3", "--help")


def test_the_wheel_holds_the_library_and_its_command_line_alone(built: tuple[str, Path, str]) -> None:
    names = ZipFile(built[1]).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"neuid3"}
    assert not [name for name in names if {"experiments", "benchmarks", "tests"} & set(name.split("/"))]
    modules = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == modules
    rest = {name.rsplit(".", 1)[-1] for name in names if name not in modules and ".dist-info/" not in name}
    assert rest - {"so"} == {"css", "html", "js", "json", "typed"}


def test_the_wheel_trains_networks_with_the_kernel_that_is_in_it(built: tuple[str, Path, str], python: Path) -> None:
    run(python, "-c", FIT)
    found = json.loads(run(python, "-m", "neuid3", "doctor", "--json"))["networks"]
    if built[0] == "compiler":
        assert found["backend"] == "kernel"
        assert found["variant"] in found["variants"]
    else:
        assert found["backend"] == "torch"
        assert "false" in found["reason"]


def test_the_wheel_is_for_one_platform_exactly_where_libraries_are_in_it(built: tuple[str, Path, str]) -> None:
    way, wheel, log = built
    libraries = [name for name in ZipFile(wheel).namelist() if name.endswith(".so")]
    if way == "compiler":
        assert "The kernel of neuid3.networks is compiled for" in log
        of_networks = [name for name in libraries if name.startswith("neuid3/networks/compiled/")]
        assert {name.rsplit("-", 1)[1] for name in of_networks} == {"float32.so", "float64.so"}
        assert len([name for name in libraries if name.startswith("neuid3/binned/compiled/")]) == len(of_networks) / 2
        assert wheel.stem.split("-")[2:4] == ["py3", "none"]
        assert not wheel.stem.endswith("-any")
    else:
        assert "neuid3.networks is built without its compiled kernel, because the C compiler false fails" in log
        assert libraries == []
        assert wheel.stem.endswith("-py3-none-any")


def test_the_source_archive_holds_what_the_kernel_is_built_from_and_nothing_compiled(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, capture_output=True, check=True)
    (archive,) = tmp_path.glob("neuid3-*.tar.gz")
    with tarfile.open(archive) as opened:
        names = [name.split("/", 1)[1] for name in opened.getnames()]
    assert "hatch_build.py" in names
    assert {"experiments/__main__.py", "benchmarks/__main__.py", "tests/integration/project/test_wheel.py"} <= set(
        names
    )
    assert any(name.endswith("/kernel.c") for name in names)
    assert not [name for name in names if name.endswith(".so") or "/compiled/" in name]


@pytest.fixture
def source_tree(tmp_path: Path) -> tuple[Path, Path]:
    """A source tree with a kernel that is compiled at once, and the folder where its libraries go."""
    if compiler() is None:
        pytest.skip("this machine has no C compiler")
    kernel = ROOT / "src/neuid3/networks/kernel.c"
    for path in (*(ROOT / name for name in ("hatch_build.py", "pyproject.toml", "README.md", "LICENSE")), kernel):
        copied = tmp_path / path.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copied)
    copied.write_text("int level(void) { return 1; }\n", "utf-8")
    return copied, copied.with_name("compiled")


def libraries(compiled: Path) -> dict[str, int]:
    """The libraries in a folder, with the times at which they were made."""
    return {path.name: path.stat().st_mtime_ns for path in compiled.glob("*.so")}


def test_an_editable_install_compiles_the_kernel_into_the_source_tree(
    source_tree: tuple[Path, Path], tmp_path: Path
) -> None:
    made = "from hatchling.build import build_editable; print(build_editable('.'))"
    done = subprocess.run([sys.executable, "-c", made], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert libraries(source_tree[1])
    assert "is compiled for" in done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert not [name for name in ZipFile(wheel).namelist() if name.endswith(".so")]


def test_a_build_in_place_follows_the_source_and_the_compiler(source_tree: tuple[Path, Path], tmp_path: Path) -> None:
    kernel, compiled = source_tree

    def built(**environment: str) -> tuple[str, dict[str, int]]:
        """What the build says, and what is there afterwards."""
        command = [sys.executable, str(tmp_path / "hatch_build.py")]
        done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)
        return done.stdout, libraries(compiled)

    outputs, first = built()
    assert "is compiled for" in outputs
    assert first
    assert built() == (outputs, first), "what is up to date is left alone"
    kernel.write_text("int level(void) { return 0; }\n", "utf-8")
    second = built()[1]
    assert second.keys() == first.keys()
    assert all(second[name] > first[name] for name in first)
    kernel.write_text("this is no C\n", "utf-8")
    outputs, none = built()
    assert "without its compiled kernel" in outputs
    assert none == {}, "what an older source gave is not left behind"
    kernel.write_text("int level(void) { return 0; }\n", "utf-8")
    assert built()[1].keys() == first.keys()
    assert built(CC="no-such-compiler")[1] == {}
