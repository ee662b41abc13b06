"""Fits of facts: a million examples, against scikit-learn's tree and forest."""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing import get_context
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.timing import STATUS, Row, no_slower, peak_memory_of, rounded, seconds_of, skipped, within
from neuid3 import NeuID3Classifier, NeuID3ForestClassifier

COLUMNS = 50
DEPTH = 6

# The trees of a forest, and their depth.
TREES, FOREST_DEPTH = 50, 12


def facts(n: int, columns: int = COLUMNS, seed: int = 0) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Facts, and a class that depends on seven of them, with 10% label noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, columns), dtype=np.float32) < 0.5
    holds = (X[:, 0] & X[:, 1]) | (X[:, 2] & ~X[:, 3]) | (X[:, 4] & X[:, 5] & X[:, 6])
    return X, (holds ^ (rng.random(n) < 0.1)).astype(np.int64)


def million(quick: bool) -> Iterator[Row]:
    """Seconds of a fit, and its memory in a process of its own."""
    from sklearn.tree import DecisionTreeClassifier

    X, y = facts(20_000 if quick else 1_000_000)
    ours = NeuID3Classifier(max_depth=DEPTH, random_state=0)
    other = DecisionTreeClassifier(criterion="entropy", max_depth=DEPTH, random_state=0)
    for learner in (ours, other):
        learner.fit(X[:1000], y[:1000])
    seconds, theirs = seconds_of(lambda: ours.fit(X, y)), seconds_of(lambda: other.fit(X, y))
    size = {"rows": len(y), "columns": COLUMNS, "depth": DEPTH}
    scores = {"accuracy": rounded(ours.score(X, y)), "other_accuracy": rounded(other.score(X, y))}
    yield no_slower("fit_facts_vs_sklearn", seconds, theirs, 1.0, **size, **scores)
    if not STATUS.exists():
        yield skipped("fit_facts_memory", "only Linux reports the memory of a process")
        return
    with TemporaryDirectory() as folder:
        np.savez(f"{folder}/facts.npz", X=X, y=y)
        # In this process, memory that was freed before and is used again would not be counted.
        with get_context("spawn").Pool(1) as fresh:
            memory = fresh.apply(memory_of_fit, (f"{folder}/facts.npz",))
    more = {"megabytes": rounded(memory / 1e6), "table_megabytes": rounded(X.nbytes / 1e6)}
    yield within("fit_facts_memory", memory / X.nbytes, 3.0, "peak / table", **size, **more)


def forest_of_a_million(quick: bool) -> Iterator[Row]:
    """Seconds of a forest on all cores; both read the table as it is."""
    from sklearn.ensemble import RandomForestClassifier

    X, y = facts(20_000 if quick else 1_000_000)
    limits: dict[str, Any] = {"n_estimators": TREES, "max_depth": FOREST_DEPTH, "max_features": "sqrt"}
    limits |= {"n_jobs": -1, "random_state": 0}
    ours, other = NeuID3ForestClassifier(min_mass=2.0, **limits), RandomForestClassifier(**limits)
    for learner in (ours, other):
        learner.fit(X[:1000], y[:1000])
    seconds, theirs = seconds_of(lambda: ours.fit(X, y)), seconds_of(lambda: other.fit(X, y))
    size = {"rows": len(y), "columns": COLUMNS, "depth": FOREST_DEPTH, "trees": TREES}
    scores = {"accuracy": rounded(ours.score(X, y)), "other_accuracy": rounded(other.score(X, y))}
    yield no_slower("fit_forest_vs_sklearn", seconds, theirs, 1.0, **size, **scores)


def memory_of_fit(path: str) -> int:
    """Peak memory of a fit, in bytes above that of the process with the table read and all modules loaded."""
    with np.load(path) as file:
        X, y = file["X"], file["y"]
    NeuID3Classifier(max_depth=DEPTH, random_state=0).fit(X[:1000], y[:1000])
    return peak_memory_of(lambda: NeuID3Classifier(max_depth=DEPTH, random_state=0).fit(X, y))
