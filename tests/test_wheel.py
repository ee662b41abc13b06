"""The built wheel works outside the checkout."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

TRY = """
import neuid3, pathlib, sys
assert pathlib.Path(neuid3.__file__).is_relative_to(sys.prefix), neuid3.__file__
assert pathlib.Path(neuid3.__file__).with_name("py.typed").exists()
from neuid3 import Branch, Examples, Leaf, NeurosymbolicTree, Tree
X = Examples({"alarm": [True, False], "age": [30, 50]})
model = NeurosymbolicTree(Tree(Branch("old", Leaf(0.9), Leaf(0.2))), X.schema, background="old :- age > 40.")
from neuid3.page import evidence_page
assert "<h1>Wheel</h1>" in evidence_page(model, X, title="Wheel")
print(model.predict(X).tolist(), neuid3.__version__)
"""


def test_the_wheel_runs_outside_the_checkout(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("neuid3-*.whl")
    venv.create(tmp_path / "env with space", with_pip=False)
    python = tmp_path / "env with space" / "bin" / "python"
    site = Path(
        subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    )
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(wheel)], check=True
    )
    # Its dependencies are borrowed from here; a path in a .pth file does not bring this checkout along.
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    tried = subprocess.run([python, "-c", TRY], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert tried.returncode == 0, tried.stderr
    assert tried.stdout.startswith("['neg', 'pos']")
    helped = subprocess.run(
        [python, "-m", "neuid3", "--help"], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert "demo" in helped.stdout
