"""Coverage-guided fuzzing of the model loader with atheris: `make fuzz`, or python -m benchmarks.fuzz -atheris_runs=10000."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["neuid3", "zipfile", "json"]):
    from neuid3 import NeuID3Error, load

FILE = Path(tempfile.mkdtemp()) / "fuzzed.neuid3"
SEEDS = sorted((Path(__file__).parents[1] / "tests" / "golden").glob("v*/*.neuid3"))


def one(data: bytes) -> None:
    FILE.write_bytes(data)
    with contextlib.suppress(NeuID3Error):
        load(FILE)


if __name__ == "__main__":
    corpus = Path(tempfile.mkdtemp())
    for seed in SEEDS:
        (corpus / f"{seed.parent.name}-{seed.stem}").write_bytes(seed.read_bytes())
    atheris.Setup(
        [sys.argv[0], "-max_len=100000", "-rss_limit_mb=4096", "-timeout=60", *sys.argv[1:], str(corpus)], one
    )
    atheris.Fuzz()
