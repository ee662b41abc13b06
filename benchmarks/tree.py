"""Inference of a whole tree: 10,000 examples, 15 leaves, rules that share a network."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch

from benchmarks.small_networks import RANKS, images, lenet
from benchmarks.timing import Row, faster, interleaved, no_slower, rounded
from neuid3 import Branch, Examples, Leaf, NeurosymbolicTree, Tree
from neuid3.training.threads import one_thread
from neuid3.tree.evidence import Evidence
from neuid3.tree.tree import paths

EXAMPLES = 10_000
# ProbLog runs one program per example, so its time is linear in the examples and a few are enough.
PROBLOG_EXAMPLES = 6
COLUMNS = "abcd"
PREDICTED = 100_000
# Batch sizes of the bare forward passes.
BLOCKS = (512, 1024, 4096)

RULES = """
gt_rank(A, B) :- rank(A, X), rank(B, Y), X < Y.
equal(A, B) :- rank(A, X), rank(B, X).
odd(A) :- rank(A, X), 1 is X mod 2.
even_sum(A, B) :- rank(A, X), rank(B, Y), 0 is (X + Y) mod 2.
modulo(A, B, C) :- rank(A, X), rank(B, Y), rank(C, Z), 0 is (X + Y + Z) mod 3.
"""
DECLARATION = f"nn(rank_net, [X], Y, [{', '.join(map(str, range(RANKS)))}])::rank(X, Y).\n"


def fifteen_leaves() -> Tree:
    """A full tree of depth four, but for its last leaf."""
    low = [
        Branch("even_sum(c, d)", Leaf(0.1), Leaf(0.9)),
        Branch("equal(b, d)", Leaf(0.2), Leaf(0.8)),
        Branch("gt_rank(c, d)", Leaf(0.3), Leaf(0.7)),
        Branch("odd(d)", Leaf(0.4), Leaf(0.6)),
        Branch("even_sum(a, d)", Leaf(0.5), Leaf(0.25)),
        Branch("gt_rank(b, d)", Leaf(0.15), Leaf(0.85)),
        Branch("equal(c, d)", Leaf(0.35), Leaf(0.65)),
    ]
    middle = [
        Branch("even_sum(b, c)", low[0], low[1]),
        Branch("modulo(a, b, c)", low[2], low[3]),
        Branch("gt_rank(b, c)", low[4], low[5]),
        Branch("odd(a)", low[6], Leaf(0.45)),
    ]
    upper = Branch("odd(b)", middle[0], middle[1]), Branch("even_sum(a, c)", middle[2], middle[3])
    return Tree(Branch("gt_rank(a, b)", upper[0], upper[1]))


def tree_model(examples: int = EXAMPLES) -> tuple[NeurosymbolicTree, Examples]:
    """The tree over one shared LeNet, and the examples."""
    X = Examples(images(COLUMNS, examples))
    tree = fifteen_leaves()
    assert len(tree.leaves) == 15
    return NeurosymbolicTree(tree, X.schema, background=DECLARATION + RULES, networks={"rank_net": lenet()}), X


def problog_program(tree: Tree, outputs: dict[str, list[float]]) -> str:
    """The tree for one example: network outputs as annotated disjunctions, and a query for each leaf."""
    lines = [
        "; ".join(f"{p:.17g}::rank({column}, {value})" for value, p in enumerate(probabilities)) + "."
        for column, probabilities in outputs.items()
    ]
    for i, (path, _) in enumerate(paths(tree.root)):
        goals = ", ".join(str(test) if outcome else f"\\+ {test}" for test, outcome in path)
        lines += [f"leaf({i}) :- {goals}.", f"query(leaf({i}))."]
    return RULES + "\n".join(lines)


class Problog:
    """ProbLog on the first examples: leaf probabilities, and the seconds of compilation and of evaluation."""

    def __init__(self, tree: Tree, evidence: Evidence) -> None:
        from benchmarks.problog_rows import problog_circuit, problog_probabilities

        self.leaves: list[list[float]] = []
        self.compiling, self.evaluating = 0.0, 0.0
        for row in range(len(evidence)):
            # ProbLog refuses a disjunction that sums to 1 + 1e-16; the factor is far below the tolerance of 1e-6.
            outputs = {c: (evidence.output("rank_net", (c,), RANKS)[row] * (1 - 1e-9)).tolist() for c in COLUMNS}
            start = time.perf_counter()
            circuit = problog_circuit(problog_program(tree, outputs))
            compiled = time.perf_counter()
            probabilities = problog_probabilities(circuit)
            self.evaluating += time.perf_counter() - compiled
            self.compiling += compiled - start
            self.leaves.append([probabilities[f"leaf({i})"] for i in range(len(tree.leaves))])


def against_problog(quick: bool) -> Iterator[Row]:
    """All leaves of all examples at once, against ProbLog example by example."""
    examples, few = (20, 1) if quick else (EXAMPLES, PROBLOG_EXAMPLES)
    model, X = tree_model(examples)
    first = X[:few]
    with torch.no_grad():
        problog = Problog(model.tree, model.evidence(first))
        difference = float((model.leaf_reach(first) - torch.tensor(problog.leaves, dtype=model.dtype)).abs().max())
        assert difference < 1e-6, f"ProbLog and the circuit differ by {difference}"
        rounds = 1 if quick else 5
        medians = interleaved(
            {"tree": lambda: model.leaf_probabilities(X), "network": lambda: _network_calls(model, X)}, rounds, warmup=1
        )
    scale = examples / few
    more = {
        "examples": examples,
        "leaves": len(model.tree.leaves),
        "largest_difference": rounded(difference),
        "network_alone_seconds": rounded(medians["network"]),
        "other_evaluation_alone_seconds": rounded(problog.evaluating * scale),
    }
    note = (
        f"other: {few} examples, each a program with the network's outputs written in, scaled to {examples}; "
        "its evaluation alone is what compiling once would leave; ours includes the network, other does not"
    )
    other = (problog.compiling + problog.evaluating) * scale
    yield faster("tree_vs_problog", medians["tree"], other, 1000, **more, note=note)


def _network_calls(model: NeurosymbolicTree, X: Examples, batch: int = 4096) -> None:
    """All network calls of the tree: the part of the time that does not depend on the evaluator."""
    for start in range(0, len(X), batch):
        evidence = model.evidence(X[start : start + batch])
        for column in COLUMNS:
            evidence.output("rank_net", (column,), RANKS)


def against_forward(quick: bool) -> Iterator[Row]:
    """predict_proba of the tree for many examples, against the bare forward passes of its network."""
    examples = 100 if quick else PREDICTED
    rng = np.random.default_rng(0)
    columns = {column: rng.integers(0, 256, (examples, 28, 28), dtype=np.uint8) for column in COLUMNS}
    X, tree = Examples(columns), fifteen_leaves()
    network = lenet().eval()
    model = NeurosymbolicTree(tree, X.schema, background=DECLARATION + RULES, networks={"rank_net": network})

    def bare(block: int) -> None:
        with torch.no_grad():
            for column in columns.values():
                for part in torch.from_numpy(column).split(block):
                    network(part.float() / 255)

    functions: dict[str, Callable[[], object]] = {"ours": lambda: model.predict_proba(X)}
    functions |= {f"block_{block}": partial(bare, block) for block in BLOCKS}
    with one_thread():
        model.predict_proba(X[:1000])  # compiles the circuit
        medians = interleaved(functions, rounds=1, warmup=0)
    blocks = {f"{name}_seconds": rounded(seconds) for name, seconds in medians.items() if name != "ours"}
    other = min(seconds for name, seconds in medians.items() if name != "ours")
    more = {"examples": examples, "leaves": len(tree.leaves), **blocks}
    note = "other: the network on all images, in blocks of the size that is fastest"
    yield no_slower("predict_vs_forward", medians["ours"], other, 1.2, **more, note=note)
