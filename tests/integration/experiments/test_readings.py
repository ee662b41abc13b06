"""What the networks of a tree read is compared with what images show; instances of networks are counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_data import use, write_small_data, write_small_decks, write_small_rows
from torch import nn

from experiments.datasets import Problem, TrueValues
from experiments.datasets.decks import ROWS
from experiments.learners import description, fit, load, make, reused_tests
from experiments.readings import Reading, network_counts, readings
from experiments.units import Unit
from neuid3 import Examples, NeuID3Classifier, NeurosymbolicTree
from neuid3.tree.goals import Goal, GoalLeaf
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


def sum_test(total: int, instance: str, no: Any = None) -> Branch:
    test = AtomTest(f"sum(first, second, {total})", (("digit_net", instance),))
    return Branch(test, Leaf(0.9), Leaf(0.1) if no is None else no)


def test_every_instance_is_counted_once_and_so_is_its_network() -> None:
    one = model(sum_test(2, "a", sum_test(3, "a")), a=Pixel())
    assert network_counts(one) == {"instances": 1, "declared": 1}
    two = model(sum_test(2, "a", sum_test(3, "b")), a=Pixel(), b=Pixel(1))
    assert network_counts(two) == {"instances": 2, "declared": 1}
    mixed = model(sum_test(2, "a", Branch("red(first)", Leaf(0.9), Leaf(0.1))), a=Pixel(), red_net=Bright())
    assert network_counts(mixed) == {"instances": 2, "declared": 2}


def test_an_instance_that_two_declared_networks_share_counts_for_both() -> None:
    rules = "nn(left_net, [Image]) :: left(Image).\nnn(right_net, [Image]) :: right(Image).\n"
    tests = [AtomTest(f"{side}(first)", ((f"{side}_net", "shared"),)) for side in ("left", "right")]
    root = Branch(tests[0], Leaf(0.9), Branch(tests[1], Leaf(0.6), Leaf(0.1)))
    tree = NeurosymbolicTree(
        Tree(root, classes=("no", "yes")), shown().examples.schema, background=rules, networks={"shared": Bright()}
    )
    assert network_counts(tree) == {"instances": 2, "declared": 2}


def test_readings_are_right_up_to_what_networks_return() -> None:
    tree = model(
        sum_test(2, "a", sum_test(3, "b", Branch("red(first)", Leaf(0.9), Leaf(0.1)))),
        a=Pixel(),
        b=Pixel(1),
        red_net=Bright(),
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


def test_networks_that_only_goals_of_leaves_call_are_counted_and_read() -> None:
    otherwise = Leaf(tuple([0.2] * 5))
    root = Branch("red(first)", GoalLeaf(Goal("sum(first, second, Y)", (("digit_net", "a"),)), otherwise), otherwise)
    tree = NeurosymbolicTree(
        Tree(root, classes=tuple(range(5))),
        shown().examples.schema,
        background=RULES,
        networks={"a": Pixel(), "red_net": Bright()},
    )
    assert network_counts(tree) == {"instances": 2, "declared": 2}
    assert [(reading.network, reading.accuracy) for reading in readings(tree, shown())] == [
        ("red_net", 3 / 4),
        ("a", 7 / 8),
    ]


def test_a_network_without_true_values_has_no_reading() -> None:
    tree = model(sum_test(2, "a"), a=Pixel())
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


class Constant(nn.Module):
    """The first of some values, for every image."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.eye(self.width, dtype=images.dtype)[:1].expand(len(images), -1)


@pytest.mark.parametrize(
    ("unit", "network", "width", "test", "columns"),
    [
        (Unit("hitting-sets", "mnist", None, "tree", "default", 0), "net", 5, "same(i1, i2)", 4),
        (Unit("even-odd", "mnist", "10", "tree", "default", 0), "digit_net", 10, "sum(first, second, 6)", 2),
        (Unit("decks", "higher", "0", "tree", "default", 0), "rank_net", 13, "higher(last, played)", 2),
        (Unit("decks", "higher", "0", "tree", "default", 0), "red_net", 1, "colour_changes(last, played)", 2),
        (Unit("labels", "rank_order", None, "tree", "default", 0), "rank_net", 8, "gt_rank(rank_1, rank_2)", 2),
        (
            Unit("labels", "color_parity_rule", None, "tree", "default", 0),
            "ra1_net",
            2,
            "eq_rank_attrs(rank_1, rank_2)",
            1,
        ),
    ],
)
def test_the_true_values_of_every_problem_are_those_of_its_networks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: Unit, network: str, width: int, test: str, columns: int
) -> None:
    folder = write_small_decks(write_small_rows(write_small_data(tmp_path / "data")))
    use(monkeypatch, folder, tmp_path / "cache")
    for part in ROWS:
        monkeypatch.setitem(ROWS, part, 40)
    known = load(unit).shown
    assert known is not None
    learner, _ = make(unit, reused_tests(unit))
    assert isinstance(learner, NeuID3Classifier)
    assert test in learner.tests
    networks = {network: Constant(width)} | ({"ra2_net": Constant(2)} if network == "ra1_net" else {})
    tree = NeurosymbolicTree(
        Tree(Branch(test, Leaf(0.9), Leaf(0.1)), classes=("no", "yes")),
        known.examples.schema,
        background=learner.background,
        networks=networks,
    )
    found = {one.network: one for one in readings(tree, known)}
    assert set(found) == set(networks)
    assert len(found[network].true) == columns
    first = {"net": 1, "rank_net": 1, "digit_net": 0, "ra1_net": 0, "red_net": True}[network]
    values = np.concatenate([known.values[f"{found[network].predicate}({column})"] for column in found[network].true])
    assert found[network].accuracy == pytest.approx((values == first).mean())


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
