"""Plain tables are learned, saved, loaded, queried, shown and explained without torch."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]

# An import of torch, by whatever path, ends the process with this error.
WITHOUT_TORCH = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("torch is not to be imported", name="torch")

sys.meta_path.insert(0, Absent())
"""

DATA = """
import numpy as np
from neuid3 import Distribution, Examples, NeuID3Classifier, evidence_page, load

rng, n = np.random.default_rng(0), 160
alarm, age = rng.random(n) < 0.4, rng.normal(50, 15, n).round(1)
suit, belief, spread = rng.choice(["clubs", "hearts", "spades"], n), rng.random(n), rng.dirichlet([1, 1, 1], n)
y = np.where((alarm & (suit == "hearts")) | (age > 60) | (belief > 0.9) | (spread[:, 0] > 0.9), "yes", "no")
columns = {"alarm": alarm.astype(object), "suit": suit.astype(object), "age": age.copy()}
for name, values in columns.items():
    values[rng.random(n) < 0.1] = np.nan if name == "age" else None
columns |= {"belief": belief, "spread": spread}
X = Examples(columns, kinds={"alarm": "boolean", "belief": "probability", "spread": Distribution(("a", "b", "c"))})
RULES = "0.9 :: works. alert :- alarm, works, suit(hearts). old :- age > 60. old :- belief, spread(a)."
"""


def run(code: str) -> str:
    """The output of a fresh interpreter that runs this and cannot import torch."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path]), "MPLBACKEND": "agg"}
    finished = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH + code], capture_output=True, text=True, env=environment
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    return finished.stdout


def test_a_plain_table_is_learned_saved_loaded_shown_and_explained(tmp_path: Path) -> None:
    out = run(
        DATA
        + f"""
clf = NeuID3Classifier(background=RULES, pruning=0.1).fit(X, y)
kinds = {{type(test).__name__ for test in clf.tree_.tests}}
assert {{"AtomTest", "CutTest"}} <= kinds, kinds
clf.record_score(X, y)
path = clf.save({str(tmp_path / "plain")!r})
loaded = load(path)
for method in ("predict", "predict_proba", "apply", "leaf_probabilities"):
    assert (getattr(loaded, method)(X) == getattr(clf, method)(X)).all(), method
assert loaded.export_text() == clf.export_text()
assert clf.export_svg(X).startswith("<svg")
clf.plot(X)
why = clf.explain(X, 3)
assert why.text() and why.json()
why.plot()
assert any(clf.explain(X, row).other_facts.changes for row in range(8)), "no counterfactual"
assert "<html" in evidence_page(clf, X, y)
assert clf.to_problog(X, 0)
assert clf.model_.verify(X, rows=2) < 1e-9
print("depth", clf.get_depth())
"""
    )
    assert int(out.split()[-1]) >= 2


def test_a_boosted_sum_of_a_plain_table_is_learned_saved_loaded_shown_and_explained(tmp_path: Path) -> None:
    run(
        DATA
        + f"""
from neuid3 import NeuID3BoostingClassifier
clf = NeuID3BoostingClassifier(background=RULES, max_trees=10, random_state=0).fit(X, y)
loaded = load(clf.save({str(tmp_path / "sum")!r}))
assert (loaded.predict_proba(X) == clf.predict_proba(X)).all()
assert loaded.export_text() == clf.export_text()
assert clf.export_svg().startswith("<svg")
assert clf.explain(X, 3).text()
assert "<html" in evidence_page(clf, X, y)
"""
    )


def test_a_plain_table_is_learned_from_a_checkpoint(tmp_path: Path) -> None:
    folder = str(tmp_path / "checkpoint")
    run(
        DATA
        + f"""
first, second = (NeuID3Classifier(background=RULES, random_state=0).fit(X, y, checkpoint={folder!r}) for _ in "ab")
assert first.export_text() == second.export_text()
"""
    )


def test_models_without_networks_are_pickled_and_used_in_processes() -> None:
    out = run(
        DATA
        + """
import pickle
from joblib import Parallel, delayed

clf = NeuID3Classifier(background=RULES).fit(X, y)
copied = pickle.loads(pickle.dumps(clf))
assert (copied.predict_proba(X) == clf.predict_proba(X)).all()
parts = Parallel(n_jobs=2)(delayed(clf.predict_proba)(X[i::2]) for i in range(2))
assert (parts[1] == clf.predict_proba(X)[1::2]).all()
trees = Parallel(n_jobs=2)(delayed(NeuID3Classifier(max_depth=d).fit)(X, y) for d in (1, 2))
assert [tree.get_depth() for tree in trees] == [1, 2]
print("done")
"""
    )
    assert out.endswith("done\n")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    rng = np.random.default_rng(1)
    with (folder / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["alarm", "suit", "age", "belief", "result"])
        for _ in range(120):
            alarm, age = rng.random() < 0.4, round(rng.normal(50, 15), 1)
            row = ["true" if alarm else "false", rng.choice(["clubs", "hearts"]), age, round(rng.random(), 2)]
            missing = rng.random(4) < 0.05
            cells = ["" if absent else cell for cell, absent in zip(row, missing, strict=True)]
            writer.writerow([*cells, "high" if alarm and age > 45 else "low"])
    (folder / "rules.pl").write_text("0.9 :: works.\nalert :- alarm, works.\nold :- age > 45.\n")
    command(folder, "fit people.csv --target result --background rules.pl --type belief=probability --out m.neuid3")
    return folder


def command(folder: Path, arguments: str) -> str:
    """The output of a command in a fresh interpreter, and on its last line the packages that it has imported."""
    return run(f"""
import os
os.chdir({str(folder)!r})
sys.argv = ["neuid3", *{arguments.split()!r}]
from neuid3.cli.main import main
try:
    main()
except SystemExit as end:
    assert end.code == 0, end.code
print()
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
""")


@pytest.mark.parametrize(
    "arguments",
    [
        "predict m.neuid3 people.csv",
        "show m.neuid3",
        "show m.neuid3 --rules",
        "show m.neuid3 --format svg",
        "show m.neuid3 --format problog",
        "show m.neuid3 --json",
        "explain m.neuid3 people.csv --row 3",
        "explain m.neuid3 people.csv --row 3 --json",
        "report m.neuid3 people.csv --target result --out page.html",
    ],
)
def test_commands_need_neither_torch_nor_scikit_learn(files: Path, arguments: str) -> None:
    lines = command(files, arguments).splitlines()
    assert len(lines) > 2
    imported = set(lines[-1].split())
    assert "numpy" in imported
    assert not imported & {"torch", "sklearn", "scipy", "pandas", "matplotlib", "problog", "joblib", "rich", "pyarrow"}


def test_a_figure_of_an_explanation_needs_no_torch(files: Path) -> None:
    assert "<svg" in command(files, "explain m.neuid3 people.csv --row 3 --format svg")


def test_importing_the_estimator_does_not_import_torch() -> None:
    assert run("import neuid3\nneuid3.NeuID3Classifier, neuid3.load, neuid3.Bank\nprint('torch' in sys.modules)") == (
        "False\n"
    )


def test_a_plain_table_of_numbers_is_learned_saved_loaded_shown_and_explained(tmp_path: Path) -> None:
    out = run(
        DATA
        + f"""
from neuid3 import NeuID3Regressor
numbers = np.where(y == "yes", 30.0, 10.0) + rng.normal(0.0, 1.0, n)
reg = NeuID3Regressor(background=RULES, pruning=0.1).fit(X, numbers)
loaded = load(reg.save({str(tmp_path / "numbers")!r}))
assert (loaded.predict(X) == reg.predict(X)).all()
means, deviations = loaded.predict(X, return_std=True)
assert loaded.model_.verify(X, rows=2) < 1e-9
assert "±" in loaded.export_text() and "<svg" in loaded.export_svg()
assert "What moves it" in str(loaded.explain(X, 0))
assert "R²" in evidence_page(loaded, X, numbers)
print("learned", reg.get_n_leaves() > 2)
"""
    )
    assert out.strip() == "learned True"
