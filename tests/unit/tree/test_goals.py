"""Leaves that compute: their values, the check that there is one, and probabilities against enumeration and ProbLog."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import PIXELS, TinyNetwork

from neuid3 import Branch, Examples, GoalLeaf, Leaf, NeurosymbolicTree, Tree, load
from neuid3.data.columns import Category, Number, Tensor
from neuid3.errors import NodeTestError, TreeError
from neuid3.logic.program import Program
from neuid3.tree.goals import Goal, class_of_value
from neuid3.tree.leaves import leaf_from_json, leaf_to_json
from neuid3.tree.semantics import Semantics

SIZE = 3
BACKGROUND = """
nn(digit_net, [I], D, [0, 1, 2]) :: digit(I, D).
nn(twin_net, [I], D, [0, 1, 2]) :: twin(I, D).
sum(A, B, Y) :- digit(A, X), digit(B, Z), Y is X + Z.
product(A, B, Y) :- digit(A, X), twin(B, Z), Y is X * Z.
larger(A, B, Y) :- digit(A, Y), digit(B, Z), Y >= Z.
larger(A, B, Y) :- digit(A, X), digit(B, Y), X < Y.
plus(A, K, Y) :- digit(A, X), Y is X + K.
flagged(A, Y) :- flag, digit(A, Y).
flagged(A, 4) :- \\+ flag.
0.3 :: lucky(0); 0.7 :: lucky(1).
shifted(A, Y) :- lucky(L), digit(A, X), Y is X + L.
even(A) :- digit(A, D), 0 =:= D mod 2.
less(A, B) :- digit(A, X), digit(B, Z), X < Z.
"""
GOALS = {
    "digit(left, Y)": lambda w: w["left"],
    "sum(left, right, Y)": lambda w: w["left"] + w["right"],
    "product(left, right, Y)": lambda w: w["left"] * w["twin"],
    "larger(left, right, Y)": lambda w: max(w["left"], w["right"]),
    "plus(right, 2, Y)": lambda w: w["right"] + 2,
    "flagged(left, Y)": lambda w: w["left"] if w["flag"] else 4,
    "shifted(right, Y)": lambda w: w["right"] + w["lucky"],
}
TESTS = {
    "even(left)": lambda w: w["left"] % 2 == 0,
    "less(left, right)": lambda w: w["left"] < w["right"],
    "twin(right, 1)": lambda w: w["twin"] == 1,
    "flag": lambda w: w["flag"],
}
CLASSES = tuple(range(5))


@st.composite
def trees(draw: st.DrawFn, depth: int = 2) -> Any:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        weights = draw(st.lists(st.integers(0, 4), min_size=5, max_size=5).filter(any))
        plain = Leaf([weight / sum(weights) for weight in weights])
        if draw(st.integers(0, 3)) == 0:
            return plain
        return GoalLeaf(draw(st.sampled_from(sorted(GOALS))), plain, draw(st.sampled_from([0.0, 0.1, 1.0])))
    return Branch(draw(st.sampled_from(sorted(TESTS))), draw(trees(depth - 1)), draw(trees(depth - 1)))


def example(seed: int, n: int) -> Examples:
    rng = np.random.default_rng(seed)
    images = {name: rng.normal(size=(n, 1, PIXELS)) for name in ("left", "right")}
    return Examples({**images, "flag": rng.random(n) < 0.5})


def model_of(root: Any, X: Examples, seed: int = 0) -> NeurosymbolicTree:
    networks = {"digit_net": TinyNetwork(SIZE, 1, seed), "twin_net": TinyNetwork(SIZE, 1, seed + 1)}
    return NeurosymbolicTree(Tree(root, CLASSES), X.schema, background=BACKGROUND, networks=networks)


def enumerated(root: Any, X: Examples, seed: int) -> Any:
    """P(class | e) by the tree's meaning in every world, one by one."""
    read = {}
    for name, net in (("digit", TinyNetwork(SIZE, 1, seed)), ("twin", TinyNetwork(SIZE, 1, seed + 1))):
        for column in ("left", "right"):
            with torch.no_grad():
                read[name, column] = net(torch.tensor(np.asarray(X.column(column).values))).numpy()
    result = np.zeros((len(X), len(CLASSES)))
    flags = np.asarray(X.column("flag").values)
    for row in range(len(X)):
        for left, right, twin, lucky in itertools.product(range(SIZE), range(SIZE), range(SIZE), range(2)):
            weight = read["digit", "left"][row, left] * read["digit", "right"][row, right]
            weight *= read["twin", "right"][row, twin] * (0.3, 0.7)[lucky]
            world = {"left": left, "right": right, "twin": twin, "lucky": lucky, "flag": bool(flags[row])}
            node = root
            while isinstance(node, Branch):
                node = node.yes if TESTS[str(node.test)](world) else node.no
            if isinstance(node, GoalLeaf):
                result[row] += weight * node.noise * np.array(node.otherwise.value)
                result[row, GOALS[node.goal.text](world)] += weight * (1.0 - node.noise)
            else:
                result[row] += weight * np.array(node.value)
    return result


@settings(max_examples=20)
@given(trees(), st.integers(0, 99))
def test_classes_of_goals_agree_with_enumeration_where_path_and_goal_share_variables(root: Any, seed: int) -> None:
    X = example(seed, 3)
    model = model_of(root, X, seed)
    np.testing.assert_allclose(model.predict_proba(X), enumerated(root, X, seed), atol=1e-12)
    np.testing.assert_allclose(model.leaf_probabilities(X).sum(axis=1), 1.0, atol=1e-12)
    assert model.leaf_probabilities(X).shape == (3, len(model.tree.leaves))


@settings(max_examples=5)
@given(trees(), st.integers(0, 99))
def test_problog_agrees(root: Any, seed: int) -> None:
    X = example(seed, 2)
    assert model_of(root, X, seed).verify(X) < 1e-9


@settings(max_examples=5)
@given(trees(), st.integers(0, 99))
def test_trees_with_goals_are_saved_and_loaded(tmp_path_factory: Any, root: Any, seed: int) -> None:
    X = example(seed, 2)
    model = model_of(root, X, seed)
    path = model.save(tmp_path_factory.mktemp("goals") / "model")
    called = {call.network for call in model.network_calls}
    networks = {name: (lambda net=net: net) for name, net in model.networks.items() if name in called}
    again = load(path, networks=networks)
    assert again.tree == model.tree
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@given(trees())
def test_leaves_are_json(root: Any) -> None:
    for leaf in Tree(root, CLASSES).leaves:
        again = leaf_from_json(json.loads(json.dumps(leaf_to_json(leaf))))
        assert again == leaf
        assert again.masses == leaf.masses


# The values of goals ------------------------------------------------------------------------------


IMAGES = {"left": Tensor((1, PIXELS)), "right": Tensor((1, PIXELS)), "age": Number(), "zone": Category(("a", "b"))}


@pytest.mark.parametrize(
    ("goal", "values", "expression"),
    [
        ("digit(left, Y)", [0, 1, 2], "digit(left)"),
        ("sum(left, right, S)", [0, 1, 2, 3, 4], "digit(left) + digit(right)"),
        ("plus(right, 7, Y)", [7, 8, 9], "digit(right) + 7"),
        ("product(left, right, Y)", [0, 1, 2, 4], "digit(left) * twin(right)"),
        ("larger(left, right, Y)", [0, 1, 2], ""),
        ("nested(left, right, Y)", [3, 5, 7, 9, 11], "(digit(left) + digit(right) + 1) * 2 + 1"),
        ("fee(Y)", [2.5, 4], ""),
        ("named(left, Y)", ["high", "low"], ""),
    ],
)
def test_goals_have_values_and_expressions(goal: str, values: list[Any], expression: str) -> None:
    more = """
    nested(A, B, Y) :- sum(A, B, S), Y is (S + 1) * 2 + 1.
    fee(2.5) :- zone(a), age < 30. fee(4) :- zone(a), age >= 30. fee(4) :- \\+ zone(a).
    named(A, low) :- digit(A, 0). named(A, high) :- \\+ digit(A, 0).
    """
    background = BACKGROUND.replace("flag,", "age > 1,").replace("\\+ flag", "age =< 1")
    semantics = Semantics(Program(background + more, IMAGES))
    opened = semantics.open_goal(Goal(goal))
    assert [value.value for value in opened.values] == values
    assert opened.expression == expression
    name = goal.partition("(")[0]
    assert all(value.atom.startswith(f"{name}(") for value in opened.values)  # a plus/3 of the program keeps its name


@pytest.mark.parametrize(
    ("rules", "goal", "message"),
    [
        ("", "digit(left, 1)", "has no variable; leave one argument open"),
        ("", "digit(X, Y)", "has the variables X, Y; leave one argument open"),
        ("", "missing(left, Y)", "uses 'missing/2', which nothing defines"),
        ("", "digit(left, Y), even(left)", "is not an atom with an open argument"),
        ("", "left", "is a tensor column"),
        ("half(A, Y) :- digit(A, Y), Y > 0.", "half(left, Y)", "gives Y no value where digit(left) = 0; add a rule"),
        (
            "either(A, B, Y) :- digit(A, Y). either(A, B, Y) :- digit(B, Y).",
            "either(left, right, Y)",
            "does not determine Y: it is 0 and 1 where digit(left) = 0, digit(right) = 1; write rules that exclude",
        ),
        ("0.5 :: coin. toss(1) :- coin.", "toss(Y)", "gives Y no value where not coin"),
        ("old(yes) :- age > 40.", "old(Y)", "gives Y no value where age =< 40"),
        ("0.2 :: draw(1); 0.7 :: draw(2).", "draw(Y)", "gives Y no value where not draw(1) and not draw(2)"),
        ("pair(A, f(D)) :- digit(A, D).", "pair(left, Y)", "leaves Y f(0); the values of Y must be numbers or names"),
        ("none(A, Y) :- digit(A, Y), Y > 7.", "none(left, Y)", "has no value for any example"),
        ("", "digit(lft, Y)", "Did you mean 'left'?"),
    ],
)
def test_goals_without_exactly_one_value_are_refused(rules: str, goal: str, message: str) -> None:
    background = "nn(digit_net, [I], D, [0, 1, 2]) :: digit(I, D). even(A) :- digit(A, 0).\n" + rules
    with pytest.raises(NodeTestError) as refused:
        Semantics(Program(background, IMAGES)).open_goal(Goal(goal)) and Semantics(
            Program(background, IMAGES)
        ).value_tests(Goal(goal))
    assert message in str(refused.value)


def test_probabilities_that_sum_to_one_leave_no_world_without_a_value() -> None:
    program = Program("0.1 :: draw(1); 0.2 :: draw(2); 0.7 :: draw(3).", {})
    assert len(Semantics(program).value_tests(Goal("draw(Y)"))) == 3


@pytest.mark.parametrize(
    ("value", "classes", "number"),
    [
        (7, (6, 7), 1),
        (7, ("6", "7"), 1),
        ("7", (6, 7), 1),
        (7.0, ("6", "7"), 1),
        (7, (6.0, 7.0), 1),
        (7.5, (6, 7), None),
        ("odd", ("even", "odd"), 1),
        ("odd", (0, 1), None),
        ("true", (False, True), 1),
        (1, (False, True), None),
        ("true", ("false", "true"), 1),
    ],
)
def test_values_stand_for_classes(value: Any, classes: tuple[Any, ...], number: int | None) -> None:
    assert class_of_value(value, classes) == number


# Bad leaves ---------------------------------------------------------------------------------------


def test_a_value_that_is_no_class_of_the_tree_is_refused() -> None:
    X = example(0, 1)
    root = GoalLeaf("plus(left, 9, Y)", Leaf((0.2,) * 5))
    with pytest.raises(TreeError, match="has the value 9, which is none of the tree's classes"):
        model_of(root, X)


@pytest.mark.parametrize("noise", [-0.1, 1.1, float("nan"), "much", True])
def test_noise_is_a_probability(noise: Any) -> None:
    with pytest.raises(TreeError, match=r"noise .* is invalid; give a probability"):
        GoalLeaf("digit(left, Y)", Leaf(0.5), noise)


@pytest.mark.parametrize("otherwise", [0.5, None, GoalLeaf("digit(left, Y)", Leaf(0.5))])
def test_the_leaf_behind_a_goal_is_a_plain_one(otherwise: Any) -> None:
    with pytest.raises(TreeError, match="and a plain leaf"):
        GoalLeaf("digit(left, Y)", otherwise)


def test_hostile_leaves_in_files_are_refused() -> None:
    fields = leaf_to_json(GoalLeaf("digit(left, Y)", Leaf(0.5), 0.1))
    for change in ({"goal": 3}, {"noise": "x"}, {"otherwise": {"test": 1}}, {"otherwise": fields}, {"deviation": None}):
        with pytest.raises((TypeError, ValueError, KeyError)):
            leaf_from_json({**fields, **change})
