"""A tree written as ONNX gives, in onnxruntime, the probabilities that it gives here."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from onnx_files import check, session_of
from strategies import Case, cases

from neuid3 import (
    AtomTest,
    Branch,
    Examples,
    Leaf,
    LeNet,
    NeurosymbolicTree,
    Priors,
    Tree,
)
from neuid3.networks.defaults import Dense

pytestmark = pytest.mark.filterwarnings("ignore:Test .* is always:UserWarning", "ignore:Values never seen:UserWarning")


@settings(max_examples=max(3, settings().max_examples // 20))
@given(cases(rows=6))
def test_generated_trees_with_networks_agree(case: Case) -> None:
    check(case.model, case.examples, 1e-9)


class Centred(torch.nn.Module):
    """A module of a user: it reads the length of a batch, and splits and joins tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(36)
        self.layer = torch.nn.Linear(36, 1)

    def forward(self, image: torch.Tensor, age: torch.Tensor) -> torch.Tensor:
        seen = self.norm(image.reshape(len(image), -1))
        return torch.sigmoid(self.layer(seen) + 0.1 * age)


def neural_model() -> tuple[NeurosymbolicTree, Examples]:
    """Two images read by one network and its twin, an image and a number by another, a number by a third."""
    rng = np.random.default_rng(0)
    X = Examples(
        {
            "left": rng.integers(0, 256, (40, 6, 6), dtype=np.uint8),
            "right": rng.integers(0, 256, (40, 6, 6), dtype=np.uint8),
            "age": rng.normal(size=40) * 3,
            "suit": rng.choice(["hearts", "clubs"], 40),
        }
    )
    background = """
        nn(rank_net, [I], R, [1, 2, 3]) :: rank(I, R).
        nn(old_net, [I, A]) :: looks_old(I, A).
        nn(age_net, [A], G, [young, old]) :: group(A, G).
        gt(A, B) :- rank(A, X), rank(B, Y), X < Y.
        strange :- rank(left, 1), group(age, young), \\+ suit(hearts).
    """
    twin = AtomTest("rank(left, 1)", (("rank_net", "twin"),))  # the same module, and another random variable
    root = Branch(
        "gt(left, right)",
        Branch("strange", Branch(twin, Leaf((0.5, 0.3, 0.2)), Leaf((0.2, 0.7, 0.1))), Leaf((0.1, 0.1, 0.8))),
        Branch("looks_old(right, age)", Leaf((0.0, 1.0, 0.0)), Branch("age > 1.5", Leaf((0.3, 0.3, 0.4)), Leaf((0.9, 0.1, 0.0)))),
    )  # fmt: skip
    torch.manual_seed(0)
    network = LeNet(3, size=6)
    networks = {"rank_net": network, "twin": network, "old_net": Centred(), "age_net": Dense(2, [1])}
    priors = Priors({"suit": {"hearts": 0.5, "clubs": 0.5}, "age": [1.0, 2.0]}, {"rank_net": [0.2, 0.3, 0.5]})
    tree = Tree(root, ("a", "b", "c"))
    return NeurosymbolicTree(tree, X.schema, background=background, networks=networks, priors=priors), X


def test_networks_of_all_kinds_agree_and_are_written_once() -> None:
    model, X = neural_model()
    network = model.networks["old_net"]
    assert network.training
    written = check(model, X, 1e-6)
    assert network.training
    kinds = {values.name: (values.type, values.shape) for values in session_of(written).get_inputs()}
    assert kinds == {
        "left": ("tensor(float)", ["examples", 6, 6]),
        "right": ("tensor(float)", ["examples", 6, 6]),
        "age": ("tensor(double)", ["examples"]),
        "suit": ("tensor(int64)", ["examples"]),
    }
    weight = model.networks["rank_net"].describe[1].weight
    stored = [tuple(tensor.dims) for tensor in written.graph.initializer]
    assert stored.count(tuple(weight.shape)) + stored.count(tuple(weight.T.shape)) == 1
