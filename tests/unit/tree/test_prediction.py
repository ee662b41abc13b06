"""Networks are called only on examples that reach them, and a threshold changes nothing but what it drops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import Case, cases

from neuid3 import Branch, Examples, Leaf, NeurosymbolicTree, NodeTest, Tree
from neuid3.errors import DataError
from neuid3.tree.tree import Node, Path

BACKGROUND = "nn(net, [I]) :: dark(I)."


TREE = Tree(Branch("alarm", Branch("dark(image)", Leaf(0.9), Leaf(0.1)), Leaf(0.4)))


class Dark(torch.nn.Module):
    """Says how dark an image is, and remembers how many it was shown at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[int] = []

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        self.shown.append(len(images))
        return images.flatten(1).mean(1, keepdim=True)


def calls_network(model: NeurosymbolicTree, test: NodeTest) -> bool:
    return model.inference.semantics.is_neural(test)


def dropped(model: NeurosymbolicTree, examples: Examples, threshold: float) -> np.ndarray:
    """The mass of the topmost branches with networks that each example reaches with the threshold or less."""

    def below(node: Node, path: Path) -> np.ndarray:
        if isinstance(node, Leaf):
            return np.zeros(len(examples))
        mass = model.path_probability(examples, path)
        sides = [
            below(child, (*path, (node.test, response))) for child, response in ((node.yes, True), (node.no, False))
        ]
        return np.where((mass <= threshold) & calls_network(model, node.test), mass, sides[0] + sides[1])

    return below(model.tree.root, ())


@given(cases(rows=6))
def test_without_a_threshold_sparing_networks_changes_nothing(case: Case) -> None:
    everything = case.model.leaf_reach(case.examples).detach().numpy()  # with gradients: nobody is spared
    np.testing.assert_allclose(case.model.leaf_probabilities(case.examples), everything, atol=1e-12)


@given(cases(rows=6), st.sampled_from([0.01, 0.1, 0.3, 0.6]))
def test_no_probability_changes_by_more_than_the_mass_dropped(case: Case, threshold: float) -> None:
    model, examples = case.model, case.examples
    gone = dropped(model, examples, threshold)
    leaves, fewer = model.leaf_probabilities(examples), model.leaf_probabilities(examples, threshold=threshold)
    assert (np.abs(leaves - fewer).sum(1) / 2 <= gone + 1e-12).all()
    exact, quick = model.predict_proba(examples), model.predict_proba(examples, threshold=threshold)
    assert (np.abs(exact - quick).max(1) <= gone + 1e-12).all()
    np.testing.assert_allclose(quick.sum(1), 1.0, atol=1e-9)


def examples_of(alarm: np.ndarray, kinds: dict[str, str] | None = None) -> Examples:
    images = np.random.default_rng(0).random((len(alarm), 2, 2)).astype(np.float32)
    return Examples({"alarm": alarm, "image": images}, kinds)


def test_a_network_is_shown_only_the_examples_that_reach_it() -> None:
    network, X = Dark(), examples_of(np.arange(100) % 4 == 0)
    model = NeurosymbolicTree(TREE, X.schema, background=BACKGROUND, networks={"net": network})
    model.predict_proba(X)
    assert sum(network.shown) == 25


def test_a_threshold_spares_improbable_examples() -> None:
    network, X = Dark(), examples_of(np.array([0.05, 0.5, 0.2, 0.1]), {"alarm": "probability"})
    model = NeurosymbolicTree(TREE, X.schema, background=BACKGROUND, networks={"net": network})
    found = model.predict_proba(X, threshold=0.1)
    assert sum(network.shown) == 2
    np.testing.assert_allclose(found[1:3], model.predict_proba(X)[1:3], atol=1e-12)
    assert model.predict(X, threshold=0.1).shape == (4,)
    assert model.leaf_probabilities(X, threshold=0.1).shape == (4, 3)


def test_gradients_reach_the_tests_above_a_branch_without_mass() -> None:
    sure = torch.nn.Parameter(torch.zeros(1))
    networks = {"a": lambda x: sure.expand(len(x), 1), "b": lambda x: torch.full((len(x), 1), 0.75)}
    X = Examples({"image": np.zeros((1, 2, 2))})
    model = NeurosymbolicTree(
        Tree(Branch("p(image)", Branch("q(image)", Leaf(1.0), Leaf(0.0)), Leaf(0.0))),
        X.schema,
        background="nn(a, [I]) :: p(I). nn(b, [I]) :: q(I).",
        networks=networks,
    )
    model.class_probabilities(X)[0, 1].backward()
    assert sure.grad is not None
    assert float(sure.grad) == pytest.approx(0.75)


@pytest.mark.parametrize("threshold", [-0.1, 1.0, float("nan")])
def test_a_threshold_is_a_mass(threshold: float) -> None:
    X = examples_of(np.array([True, False]))
    model = NeurosymbolicTree(TREE, X.schema, background=BACKGROUND, networks={"net": Dark()})
    with pytest.raises(DataError, match="threshold"):
        model.predict_proba(X, threshold=threshold)


def test_a_network_reads_a_block_of_the_table_at_a_time() -> None:
    n = 6_000
    X = Examples({"alarm": np.ones(n, dtype=bool), "image": np.zeros((n, 4, 4), dtype=np.uint8)})
    network = Dark()
    model = NeurosymbolicTree(TREE, X.schema, background=BACKGROUND, networks={"net": network})
    model.predict_proba(X)
    assert sum(network.shown) == n
    assert max(network.shown) <= 512
