"""Circuit evaluators: ours, KLay's and a formula by hand, forward and backward, without networks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir

import klay
import torch
from pysdd.sdd import SddManager, SddNode

from benchmarks.addition import carry_circuit
from benchmarks.small_networks import RANKS
from benchmarks.timing import Row, interleaved, no_slower, rounded
from benchmarks.tree import COLUMNS, DECLARATION, RULES, fifteen_leaves
from neuid3.circuits.compile import Circuit, compile_formulas
from neuid3.circuits.conjunctions import factorise
from neuid3.circuits.diagram import FALSE, TRUE
from neuid3.circuits.evaluate import LayeredCircuit
from neuid3.circuits.torch_arrays import torch_arrays
from neuid3.data.columns import Tensor
from neuid3.logic.formula import NeuralVariable
from neuid3.logic.program import Program
from neuid3.tree.tree import paths

BATCHES = (32, 1000)
# Given one tensor (example, value) for each variable, P(root) as (root, example).
Evaluator = Callable[[Sequence[torch.Tensor]], torch.Tensor]


def against_klay(quick: bool) -> Iterator[Row]:
    """Ours against KLay's faster form on three circuits, and against a formula by hand where there is one."""
    for name, circuit in _circuits().items():
        evaluators: dict[str, Evaluator] = {"ours": ours(circuit), "klay_direct": klay_direct(circuit)}
        if name == "gt_rank":
            evaluators |= {"klay_sdd": klay_sdd(), "by_hand": by_hand(circuit)}
        for batch in BATCHES:
            yield _row(name, circuit, evaluators, batch, quick)


def _circuits() -> dict[str, Circuit]:
    schema = {column: Tensor((28, 28)) for column in COLUMNS}
    program = Program(DECLARATION + RULES, schema)
    tree = fifteen_leaves()
    number = {test: i for i, test in enumerate(tree.tests)}
    outcomes = [[(number[test], outcome) for test, outcome in path] for path, _ in paths(tree.root)]
    factored = factorise([test.formula(program) for test in tree.tests], outcomes).circuits
    leaves = [circuit for circuit in factored if isinstance(circuit, Circuit)]
    rule = compile_formulas([program.formula("gt_rank(a, b)")])
    return {"gt_rank": rule, "tree_of_15_leaves": max(leaves, key=len), "addition_with_carry": carry_circuit([11110])}


def _row(name: str, circuit: Circuit, evaluators: dict[str, Evaluator], batch: int, quick: bool) -> Row:
    source = torch.Generator().manual_seed(3)
    weights = [torch.rand(batch, v.size, generator=source).softmax(1).requires_grad_() for v in circuit.variables]
    results = {other: evaluate(weights).detach() for other, evaluate in evaluators.items()}
    for other, result in results.items():
        torch.testing.assert_close(result, results["ours"], atol=1e-5, rtol=1e-4, msg=f"{other} differs on {name}")
    upstream = torch.rand(results["ours"].shape, generator=source)

    def step(evaluate: Evaluator) -> Callable[[], object]:
        return lambda: torch.autograd.grad(evaluate(weights), weights, upstream)

    steps = {other: step(evaluate) for other, evaluate in evaluators.items()}
    rounds = 1 if quick else max(30, 9000 // len(circuit)) if batch < 100 else 60
    medians = interleaved(steps, rounds, warmup=1 if quick else 5)
    others = {f"{other}_seconds": rounded(seconds) for other, seconds in medians.items() if other != "ours"}
    klays = min(seconds for other, seconds in medians.items() if other.startswith("klay"))
    more = {"batch": batch, "nodes": len(circuit), "roots": len(circuit.roots), **others}
    return no_slower(
        f"circuit_vs_klay/{name}/{batch}", medians["ours"], klays, 1.0, **more, note="other: KLay's faster form"
    )


def ours(circuit: Circuit) -> Evaluator:
    """The layers that trees use."""
    layers = LayeredCircuit(circuit, torch_arrays("float32"))
    return lambda weights: layers([w.T for w in weights])


def by_hand(circuit: Circuit) -> Evaluator:
    """P(X < Y) as a masked sum; the variable that the rule names first is the smaller."""
    above = torch.triu(torch.ones(RANKS, RANKS), diagonal=1)
    read = [variable.inputs for variable in circuit.variables if isinstance(variable, NeuralVariable)]
    first, second = sorted(range(2), key=read.__getitem__)
    return lambda weights: (weights[first] @ above * weights[second]).sum(1).unsqueeze(0)


def klay_direct(circuit: Circuit) -> Evaluator:
    """The same decision diagram as a KLay circuit: an `or` over edges, an `and` of taking one and its child."""
    graph = klay.Circuit()
    first = [1]
    for variable in circuit.variables:
        first.append(first[-1] + variable.size)
    nodes = {FALSE: graph.false_node(), TRUE: graph.true_node()}
    for i, (level, children) in enumerate(zip(circuit.levels, circuit.children, strict=True)):
        edges = []
        for child in dict.fromkeys(c for c in children if c != FALSE):
            taken = [graph.literal_node(first[level] + value) for value, c in enumerate(children) if c == child]
            chosen = graph.or_node(taken) if len(taken) > 1 else taken[0]
            edges.append(chosen if child == TRUE else graph.and_node([chosen, nodes[child]]))
        nodes[i + 2] = graph.or_node(edges) if len(edges) > 1 else edges[0]
    for root in circuit.roots:
        graph.set_root(nodes[root])
    return _in_klay(graph)


def klay_sdd() -> Evaluator:
    """`gt_rank` as a sentential decision diagram over one Boolean for each value, exactly one of them true."""
    manager = SddManager(var_count=2 * RANKS, auto_gc_and_minimize=True)
    a, b = ([manager.literal(start + i) for i in range(RANKS)] for start in (1, 1 + RANKS))
    some = manager.false()
    for x in range(RANKS):
        for y in range(x + 1, RANKS):
            some = some | (a[x] & b[y])
    graph = klay.Circuit()
    # KLay writes files into the working directory.
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        graph.add_sdd(some & _one_of(manager, a) & _one_of(manager, b))
        assert os.getcwd() == os.path.realpath(folder)
    return _in_klay(graph)


def _one_of(manager: SddManager, literals: list[SddNode]) -> SddNode:
    exactly_one = manager.false()
    for chosen in literals:
        one = manager.true()
        for literal in literals:
            one = one & (literal if literal is chosen else ~literal)
        exactly_one = exactly_one | one
    return exactly_one


def _in_klay(graph: klay.Circuit) -> Evaluator:
    """Real numbers, not compiled; a value that is not taken weighs 1, since disjunctions are exclusive."""
    module = graph.to_torch_module(semiring="real", compile=False)

    def evaluate(weights: Sequence[torch.Tensor]) -> torch.Tensor:
        taken = torch.cat(list(weights), dim=1)
        return module(taken, torch.ones_like(taken)).mT

    return evaluate
