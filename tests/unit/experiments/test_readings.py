"""What the networks of a tree read is compared with what images show; instances of networks are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from experiments.datasets import Problem, TrueValues
from experiments.learners import description, fit
from experiments.readings import Reading, network_counts, readings
from neuid3 import Examples, NeuID3Classifier, NeurosymbolicTree
from neuid3.tree.node_tests import AtomTest
from neuid3.tree.tree import Branch, Leaf, Tree

RULES = """
nn(digit_net, [Image], D, [0, 1, 2]) :: digit(Image, D).
nn(red_net, [Image]) :: red(Image).
sum(A, B, S) :- digit(A, X), digit(B, Y), S is X + Y.
"""


class Pixel(nn.Module):
    """The value of the first pixel plus `shift`, modulo 3, with certainty."""

    def __init__(self, shift: int = 0) -> None:
        super().__init__()
        self.shift = shift

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        pixel = (images.flatten(1)[:, 0] * 255).round().long()
        return nn.functional.one_hot((pixel + self.shift) % 3, 3).to(images.dtype)


class Bright(nn.Module):
    """Whether the last pixel is bright."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images.flatten(1)[:, -1:].round()


def shown() -> TrueValues:
    """Four rows; the first pixel is the digit, the last one says red; one digit in `second` is called 1 where the pixel says 2."""
    images = np.zeros((2, 4, 4, 4), dtype=np.uint8)
    images[0, :, 0, 0], images[1, :, 0, 0] = [0, 1, 2, 2], [1, 1, 0, 2]
    images[0, :, 3, 3] = [255, 0, 255, 0]
    values: dict[str, Any] = {"digit(first)": np.array([0, 1, 2, 2]), "digit(second)": np.array([1, 1, 0, 1])}
    values["red(first)"] = np.array([True, False, True, True])
    return TrueValues(Examples({"first": images[0], "second": images[1]}), values)


def model(root: Branch, **networks: nn.Module) -> NeurosymbolicTree:
    return NeurosymbolicTree(
        Tree(root, classes=("no", "yes")), shown().examples.schema, background=RULES, networks=networks
    )


def asks(total: int, instance: str, no: Any = None) -> Branch:
    test = AtomTest(f"sum(first, second, {total})", (("digit_net", instance),))
    return Branch(test, Leaf(0.9), Leaf(0.1) if no is None else no)


def test_every_instance_is_counted_once_and_so_is_its_network() -> None:
    one = model(asks(2, "a", asks(3, "a")), a=Pixel())
    assert network_counts(one) == {"instances": 1, "declared": 1}
    two = model(asks(2, "a", asks(3, "b")), a=Pixel(), b=Pixel(1))
    assert network_counts(two) == {"instances": 2, "declared": 1}
    mixed = model(asks(2, "a", Branch("red(first)", Leaf(0.9), Leaf(0.1))), a=Pixel(), red_net=Bright())
    assert network_counts(mixed) == {"instances": 2, "declared": 2}


def test_readings_are_right_up_to_what_networks_return() -> None:
    tree = model(
        asks(2, "a", asks(3, "b", Branch("red(first)", Leaf(0.9), Leaf(0.1)))), a=Pixel(), b=Pixel(1), red_net=Bright()
    )
    right, renamed, red = readings(tree, shown())
    assert (right.network, renamed.network, red.network) == ("a", "b", "red_net")
    assert (right.predicate, red.predicate) == ("digit", "red")
    assert (right.accuracy, right.matched) == (7 / 8, 7 / 8)  # in one image the pixel is not the value
    assert (renamed.accuracy, renamed.matched) == (0, 7 / 8)
    assert right.sum_accuracy == 3 / 4
    assert red.accuracy == 3 / 4
    assert right.to_json() == {
        "network": "a",
        "predicate": "digit",
        "images": 8,
        "accuracy": 7 / 8,
        "matched": 7 / 8,
        "sum_accuracy": 3 / 4,
    }


def test_a_network_without_true_values_has_no_reading() -> None:
    tree = model(asks(2, "a"), a=Pixel())
    only_red = TrueValues(shown().examples, {"red(first)": shown().values["red(first)"]})
    assert readings(tree, only_red) == []


def test_matching_is_one_to_one() -> None:
    collapsed = Reading("a", "digit", 3, {"x": np.zeros(6, int)}, {"x": np.array([0, 0, 0, 1, 1, 2])})
    assert (collapsed.accuracy, collapsed.matched) == (1 / 2, 1 / 2)
    cycled = Reading("a", "digit", 3, {"x": np.array([1, 2, 0])}, {"x": np.array([0, 1, 2])})
    assert (cycled.accuracy, cycled.matched) == (0, 1)
    assert cycled.sum_accuracy == 0


def test_the_record_of_a_tree_has_the_numbers_of_its_networks() -> None:
    X = Examples({"alarm": np.array([True, False] * 10)})
    fitted = NeuID3Classifier(random_state=0).fit(X, np.array(["yes", "no"] * 10))
    described = description(fitted)
    assert (described["instances"], described["declared"]) == (0, 0)


@pytest.mark.parametrize("labels", [{}, {"digit(first)": {0: 2}}])
def test_labels_of_a_problem_are_given_to_the_fit_where_there_are_some(labels: dict[str, Any]) -> None:
    class Learner:
        def fit(self, X: Examples, y: Any, *, validation: Any = None, **more: Any) -> None:
            self.given = (X, y, validation, more)

        def predict(self, X: Examples) -> Any:
            raise AssertionError(X)

    rows = (shown().examples, np.array(["a", "b", "a", "b"]))
    learner = Learner()
    fit(learner, Problem(rows, rows, rows, labels))
    assert learner.given == (*rows, rows, {"concepts": labels} if labels else {})
