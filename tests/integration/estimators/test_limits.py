"""Limits of time and memory on large networks and programs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from neuid3 import AtomTest, Branch, Examples, Leaf, Limits, NeurosymbolicTree, Tree
from neuid3.errors import (
    GroundingLimitError,
)
from neuid3.logic.program import Program

X = Examples(
    {
        "card_1": np.zeros((4, 1, 2, 2), dtype=np.float32),
        "card_2": np.ones((4, 1, 2, 2), dtype=np.float32),
        "alarm": [True, False, True, False],
        "suit": ["hearts", "clubs", "hearts", "clubs"],
        "age": [31.0, 42.5, 57.0, 66.0],
        "odd name!": [False, True, True, False],
    }
)


def model(test: str | AtomTest, background: str = "", **more: object) -> NeurosymbolicTree:
    return NeurosymbolicTree(Tree(Branch(test, Leaf(0.9), Leaf(0.1))), X.schema, background=background, **more)


@pytest.mark.parametrize(
    "program",
    [
        "a(X) :- a(s(X)).",
        "a(X) :- between(1, 10000000000, Y), Y < 0.",
        "a(X) :- findall(Y, between(1, 1000000000, Y), L).",
        "a(X) :- b(X), a(X). b(X) :- c(f(X)). c(X) :- c(g(X, X)).",
    ],
)
def test_grounding_that_does_not_end_is_stopped_and_the_process_lives(program: str) -> None:
    with pytest.raises(GroundingLimitError, match=r"Limits\("):
        Program(program, X.schema, Limits(seconds=1.5, megabytes=600)).formula("a(0)")
    assert Program("b.", X.schema).formula("b")


def test_a_network_may_have_ten_thousand_values() -> None:
    values = ", ".join(map(str, range(10_000)))
    background = f"nn(net, [I], V, [{values}]) :: value(I, V). large(I) :- value(I, V), V >= 9000."
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 10_000), torch.nn.Softmax(1))
    made = model("large(card_1)", background, networks={"net": network})
    with torch.no_grad():
        expected = network(torch.zeros(1, 4))[0, 9000:].sum()
    assert made.leaf_probabilities(X)[0, 0] == pytest.approx(float(expected), abs=1e-5)


def test_a_circuit_that_takes_too_long_to_build_is_stopped_as_grounding_is() -> None:
    """A random formula of three literals a clause: its grounding is quick, and its diagram explodes."""
    random = np.random.default_rng(0)
    facts = "".join(f"0.5 :: f({i}).\n" for i in range(60))
    signs = ["", "\\+ "]
    bodies = [", ".join(f"{random.choice(signs)}f({i})" for i in random.choice(60, 3)) for _ in range(200)]
    rules = "".join(f"p :- {body}.\n" for body in bodies)
    limits = Limits(seconds=6.0, circuit_nodes=10**9)
    tree = Tree(Branch("p", Leaf(0.9), Leaf(0.1)))
    with pytest.raises(GroundingLimitError, match=r"Building the circuit .* took longer than 6 s"):
        NeurosymbolicTree(tree, X.schema, background=facts + rules, limits=limits).predict_proba(X)
