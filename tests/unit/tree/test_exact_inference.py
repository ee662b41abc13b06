"""Exact means exact: against summing over worlds, against ProbLog, against DeepProbLog, against differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import drawn, enumerate_worlds
from strategies import (
    OPEN_GOALS,
    PREAMBLE,
    PRIORS,
    REFERENCE,
    Case,
    TinyNetwork,
    cases,
    table,
)

from neuid3 import AtomTest, Branch, Leaf, NeurosymbolicTree, Tree
from neuid3.logic.formula import And, Literal, bottom_up, negate
from neuid3.logic.program import Program
from neuid3.logic.prolog.grounder import Grounder
from neuid3.tree.loss import negative_log_likelihood
from neuid3.tree.tree import paths

pytestmark = pytest.mark.filterwarnings("ignore:Test .* is always:UserWarning", "ignore:.*:UserWarning:deepproblog")


@given(cases(depth=2))
def test_paths_agree_with_summing_over_worlds(case: Case) -> None:
    model = case.model
    reached = model.leaf_probabilities(case.examples)
    with torch.no_grad(), model.evaluating():
        evidence = model.evidence(case.examples)
    for i, (path, _) in enumerate(paths(model.tree.root)):
        literals = [test.formula(model.program) for test, _ in path]
        signed = [f if response else negate(f) for f, (_, response) in zip(literals, path, strict=True)]
        formula = drawn(And(tuple(signed)))
        variables = {node.variable for node in bottom_up([formula]) if isinstance(node, Literal)}
        if math.prod(variable.size for variable in variables) > 20_000:
            continue
        for row in range(len(case.examples)):
            with torch.no_grad():
                weights = {variable: evidence.weights(variable)[:, row].tolist() for variable in variables}
            assert enumerate_worlds(formula, weights) == pytest.approx(reached[row, i], abs=1e-9)


@given(cases())
def test_leaves_share_out_one_unit_of_probability(case: Case) -> None:
    np.testing.assert_allclose(case.model.leaf_probabilities(case.examples).sum(axis=1), 1.0, atol=1e-12)


@settings(max_examples=15)
@given(cases())
def test_gradients_agree_with_finite_differences(case: Case) -> None:
    model = case.model
    labels = torch.zeros(len(case.examples), dtype=torch.long)

    def loss() -> torch.Tensor:
        return negative_log_likelihood(model.class_probabilities(case.examples), labels).sum()

    value = loss()
    if not value.requires_grad:
        return  # a tree without networks
    value.backward()
    for network in model.networks.values():
        if network.weight.grad is None:
            continue
        entry = (0, 0)
        with torch.no_grad():
            network.weight[entry] += 1e-6
            above = loss()
            network.weight[entry] -= 2e-6
            below = loss()
            network.weight[entry] += 1e-6
        assert float(above - below) / 2e-6 == pytest.approx(float(network.weight.grad[entry]), abs=1e-4, rel=1e-4)


@given(st.integers(0, 10_000))
@settings(max_examples=10)
def test_single_precision_stays_close_to_double(seed: int) -> None:
    tree = Tree(
        Branch("gt(left, right)", Branch("odd(left)", Leaf(0.9), Leaf(0.2)), Branch("both", Leaf(0.4), Leaf(0.1)))
    )
    networks = {"rank_net": TinyNetwork(3, 1, seed), "parity_net": TinyNetwork(2, 1, seed)}
    models = [
        NeurosymbolicTree(tree, REFERENCE.schema, background=PREAMBLE, networks=networks, priors=PRIORS, dtype=dtype)
        for dtype in (torch.float32, torch.float64)
    ]
    single, double = (model.predict_proba(table(seed, 20)) for model in models)
    np.testing.assert_allclose(single, double, atol=1e-5)


def probability(program: Program, test: str) -> float:
    """P(test) of a program without columns, by summing over the worlds of its formula."""
    formula = program.formula(test)
    variables = {node.variable for node in bottom_up([formula]) if isinstance(node, Literal)}
    return enumerate_worlds(formula, {variable: list(variable.weights) for variable in variables})


@pytest.mark.parametrize("connective", [",", ";", "->"])
def test_brackets_make_different_terms(connective: str) -> None:
    left, right = (f"({part.format(*[connective] * 2)})" for part in ("(a{}b){}c", "a{}(b{}c)"))
    program = Program(f"0.5 :: c(X). both :- c({left}), c({right}).", {})
    assert probability(program, "both") == pytest.approx(0.25)


def test_spellings_of_one_term_are_one_term() -> None:
    for one, other in (("a", "'a'"), ("-(1)", "'-'(1)"), ("7 mod 2", "mod(7, 2)"), ("[]", "'[]'"), ("\\+ a", "not a")):
        program = Program(f"0.5 :: c(X). both :- c({one}), c({other}).", {})
        assert probability(program, "both") == pytest.approx(0.5)


def test_every_open_predicate_has_a_goal_here() -> None:
    exported = Grounder("", {}).vocabulary.known - {",/2", ";/2", "\\+/1", "not/1"}
    assert exported == set(OPEN_GOALS)


def test_shared_variables_are_not_independent() -> None:
    half = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3, 2), torch.nn.Softmax(1)).double()
    torch.nn.init.zeros_(half[1].weight)
    torch.nn.init.zeros_(half[1].bias)
    background = "nn(n, [I], P, [odd, even]) :: parity(I, P). odd(I) :- parity(I, odd). both :- odd(left), odd(right)."
    tree = Tree(Branch("odd(left)", Branch("both", Leaf(1.0), Leaf(0.0)), Leaf(0.0)))
    model = NeurosymbolicTree(tree, REFERENCE.schema, background=background, networks={"n": half}, priors=PRIORS)
    examples = REFERENCE[~REFERENCE.column("right").missing][:1]
    assert model.leaf_probabilities(examples)[0, 0] == pytest.approx(0.25)


def test_two_instances_of_a_network_are_independent() -> None:
    network = TinyNetwork(3, 1, 5)
    second = AtomTest("rank(left, 1)", (("rank_net", "other"),))
    tree = Tree(Branch("rank(left, 1)", Branch(second, Leaf(1.0), Leaf(0.0)), Leaf(0.0)))
    networks = {"rank_net": network, "other": network}
    model = NeurosymbolicTree(tree, REFERENCE.schema, background=PREAMBLE, networks=networks)
    one = Tree(Branch("rank(left, 1)", Leaf(1.0), Leaf(0.0)))
    single = NeurosymbolicTree(one, REFERENCE.schema, background=PREAMBLE, networks={"rank_net": network})
    examples = REFERENCE[:20]
    np.testing.assert_allclose(model.leaf_probabilities(examples)[:, 0], single.leaf_probabilities(examples)[:, 0] ** 2)


def test_two_declarations_of_a_network_share_weights_but_not_outcomes() -> None:
    tree = Tree(Branch("rank(left, 1)", Branch("twin(left, 1)", Leaf(1.0), Leaf(0.0)), Leaf(0.0)))
    model = NeurosymbolicTree(tree, REFERENCE.schema, background=PREAMBLE, networks={"rank_net": TinyNetwork(3, 1, 1)})
    with torch.no_grad():
        outcome = model.evidence(REFERENCE[:5]).output("rank_net", ("left",), 3)[:, 0].numpy()
    np.testing.assert_allclose(model.leaf_probabilities(REFERENCE[:5])[:, 0], outcome**2)


def test_probabilities_and_gradients_are_finite_when_networks_are_certain() -> None:
    network = TinyNetwork(3, 1, 0)
    with torch.no_grad():
        network.weight *= 1e6
    tree = Tree(Branch("gt(left, right)", Branch("odd(left)", Leaf(1.0), Leaf(0.0)), Leaf(0.0)))
    examples = table(1, 50)
    for dtype in (torch.float32, torch.float64):
        model = NeurosymbolicTree(
            tree, REFERENCE.schema, background=PREAMBLE, networks={"rank_net": network}, priors=PRIORS, dtype=dtype
        )
        for label in (0, 1):
            network.zero_grad()
            losses = negative_log_likelihood(model.class_probabilities(examples), torch.full((50,), label))
            losses.sum().backward()
            assert bool(torch.isfinite(losses).all())
            assert bool(torch.isfinite(network.weight.grad).all())


@pytest.mark.slow
def test_a_path_of_unrelated_tests_costs_as_much_as_its_tests() -> None:
    from neuid3.circuits.conjunctions import factorise
    from neuid3.logic.formula import ColumnVariable

    tests = [Literal(ColumnVariable(f"x{i}", 2), frozenset({1})) for i in range(2000)]
    factored = factorise(tests, [[(i, i % 2 == 0) for i in range(2000)]])
    assert sum(len(circuit) for circuit in factored.circuits) == 2000
