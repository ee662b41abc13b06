"""Coverage-guided fuzzing of the model loader, and of what is loaded, with atheris: `make fuzz`, or python -m benchmarks.fuzz -atheris_runs=10000."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["neuid3", "zipfile", "json"]):
    from neuid3 import NeuID3Classifier, NeuID3Error, NeurosymbolicTree, load

# The ways to use a model, and the examples that the golden models know, are those of the tests.
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from golden.make import examples
from uses import uses

X = examples()

# What takes seconds is left to the tests.
QUICK = ("print it", "compare it", "predict", "apply", "text", "dot", "svg", "problog", "save", "pickle", "deepcopy")
FILE = Path(tempfile.mkdtemp()) / "fuzzed.neuid3"
SEEDS = sorted((Path(__file__).parents[1] / "tests" / "golden").glob("v*/*.neuid3"))


def one(data: bytes) -> None:
    FILE.write_bytes(data)
    try:
        model = load(FILE)
    except NeuID3Error:
        return
    if isinstance(model, (NeuID3Classifier, NeurosymbolicTree)):
        ways = uses(model, X, FILE.parent)
        for name in QUICK:
            with contextlib.suppress(NeuID3Error):
                ways[name]()


if __name__ == "__main__":
    corpus = Path(tempfile.mkdtemp())
    for seed in SEEDS:
        (corpus / f"{seed.parent.name}-{seed.stem}").write_bytes(seed.read_bytes())
    atheris.Setup(
        [sys.argv[0], "-max_len=100000", "-rss_limit_mb=4096", "-timeout=60", *sys.argv[1:], str(corpus)], one
    )
    atheris.Fuzz()
