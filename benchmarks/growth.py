"""Growth of times with the number of examples, columns, candidates and nodes, as slopes on logarithmic axes."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.small_networks import images, lenet
from benchmarks.symbols import facts
from benchmarks.timing import Row, interleaved, rounded, slope, within
from benchmarks.tree import DECLARATION, RULES
from neuid3 import Branch, Examples, Leaf, NeuID3Classifier, NeurosymbolicTree, TrainingConfig, Tree, load, read_table
from neuid3.training.threads import one_thread
from neuid3.tree.tree import Node

BAR = 1.1


def growth(quick: bool) -> Iterator[Row]:
    """Slopes of a fit with its examples, columns, candidates and nodes, and of prediction with the tree's nodes."""
    rounds = 1 if quick else 3
    measures: Mapping[str, Mapping[int, Callable[[], object]]] = {
        "examples": {n: _examples(n) for n in ((200, 400) if quick else (1000, 4000, 16_000, 64_000))},
        "examples_with_gaps": {n: _examples(n, 0.02) for n in ((200, 400) if quick else (1000, 4000, 16_000, 64_000))},
        "columns": {n: _columns(n) for n in ((100, 200) if quick else (1000, 4000, 16_000, 64_000))},
        "candidates": {n: _candidates(n, quick) for n in ((2, 4) if quick else (4, 16, 64, 128))},
        "fitted_nodes": {n: _fitted_nodes(n, quick) for n in ((3, 7) if quick else (3, 7, 15, 31, 63))},
        "predicted_nodes": {n: _predicted_nodes(n, quick) for n in ((3, 7) if quick else (3, 7, 15, 31, 63))},
    }
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for what, runs in measures.items():
            medians = interleaved({str(n): run for n, run in runs.items()}, rounds, warmup=1)
            seconds = {n: medians[str(n)] for n in runs}
            by_size = {str(n): rounded(spent) for n, spent in seconds.items()}
            yield within(f"growth/{what}", slope(seconds), BAR, "slope", seconds=by_size)


def _examples(n: int, gaps: float = 0.0) -> Callable[[], object]:
    """A fit of facts, categories and numbers, depth 5; `gaps` is the fraction of missing entries."""
    rng = np.random.default_rng(0)
    X, y = facts(n, 12)
    table: dict[str, Any] = {f"fact_{i}": column for i, column in enumerate(X.T)}
    table |= {f"number_{i}": rng.normal(size=n) for i in range(4)}
    table |= {f"category_{i}": rng.choice(["red", "green", "blue"], n) for i in range(4)}
    if gaps:
        table = {name: np.where(rng.random(n) < gaps, None, column) for name, column in table.items()}
    examples = Examples(table)
    return lambda: NeuID3Classifier(max_depth=5, random_state=0).fit(examples, y)


def _columns(n: int) -> Callable[[], object]:
    """A table of 20 rows and so many columns: read from text, learned from, saved, loaded and used for prediction."""
    rng = np.random.default_rng(0)
    rows = rng.random((20, n)).round(3)
    names = [f"number_{i}" for i in range(n)]
    lines = [[*names, "label"], *([*map(str, row.tolist()), "ab"[int(row[0] > 0.5)]] for row in rows)]

    def run() -> object:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "wide.csv"
            path.write_text("\n".join(",".join(line) for line in lines), encoding="utf-8")
            read = read_table(path, target="label")
            clf = NeuID3Classifier(random_state=0).fit(read.examples, read.labels)
            loaded = load(clf.save(Path(folder) / "wide.neuid3"))
            assert isinstance(loaded, NeuID3Classifier)
            return loaded.predict(read.examples)

    return run


def _candidates(n: int, quick: bool) -> Callable[[], object]:
    """A node with so many networks to be trained, each on an image of its own."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    table = {f"x{i}": rng.random((80, 8, 8)).astype(np.float32) for i in range(n)}
    epochs = 1 if quick else 8
    return lambda: NeuID3Classifier(
        training=TrainingConfig.paper(epochs=epochs), max_depth=1, n_jobs=1, random_state=0
    ).fit(Examples(table), y)


def _fitted_nodes(n: int, quick: bool) -> Callable[[], object]:
    """A fit that grows so many branches, each with a positive gain."""
    depth = (n + 1).bit_length() - 1
    rng = np.random.default_rng(0)
    X = rng.random((2000 if quick else 50_000, 20)) < 0.5
    votes = X[:, :depth] @ (1 + np.arange(depth)) + rng.normal(size=len(X))
    y = (votes > np.median(votes)).astype(np.int64)
    return lambda: NeuID3Classifier(max_depth=depth, pruning=0.0, random_state=0).fit(X, y)


def _predicted_nodes(n: int, quick: bool) -> Callable[[], object]:
    """Compilation and predictions of a full tree of so many branches; its rules apply one network to six images."""
    depth = (n + 1).bit_length() - 1
    X = Examples(images("abcdef", 50 if quick else 1000))
    tests = ["odd(a)", "odd(b)", "odd(c)", "odd(d)", "gt_rank(e, f)", "even_sum(e, f)"]

    def grown(level: int) -> Node:
        return Leaf(0.3) if level == depth else Branch(tests[level], grown(level + 1), grown(level + 1))

    tree = Tree(grown(0))
    return lambda: NeurosymbolicTree(
        tree, X.schema, background=DECLARATION + RULES, networks={"rank_net": lenet()}
    ).predict_proba(X)
