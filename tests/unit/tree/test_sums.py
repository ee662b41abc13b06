"""Boosted sums: their values, exact scores against enumeration, merging and terms."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from neuid3 import BoostedSum, Branch, Examples, Leaf, NeurosymbolicSum, Priors, ScoreLeaf
from neuid3.errors import TreeError
from neuid3.tree.effects import terms
from neuid3.tree.node_tests import CutTest, FactTest, ValueTest
from neuid3.tree.sums import score_leaves, with_scores
from neuid3.tree.tree import Node, paths

RULES = "either :- rain. either :- sprinkler. both :- rain, sprinkler."
FACTS = ("rain", "sprinkler", "cloudy")


def random_tree(rng: np.random.Generator, tests: list[str], depth: int, width: int) -> Node:
    if depth == 0 or not tests or rng.random() < 0.2:
        return ScoreLeaf(tuple(rng.normal(size=width).tolist()), float(rng.random()))
    test = tests[int(rng.integers(len(tests)))]
    rest = [other for other in tests if other != test]
    return Branch(test, random_tree(rng, rest, depth - 1, width), random_tree(rng, rest, depth - 1, width))


def response(test: str, world: dict[str, bool]) -> bool:
    match test:
        case "either":
            return world["rain"] or world["sprinkler"]
        case "both":
            return world["rain"] and world["sprinkler"]
        case _:
            return world[test]


def enumerated(boosted_sum: BoostedSum, probabilities: dict[str, float]) -> np.ndarray:
    """F as the expectation over all worlds of the leaves that each world reaches."""
    total = np.array(boosted_sum.initial)
    for values in product((False, True), repeat=len(FACTS)):
        world = dict(zip(FACTS, values, strict=True))
        weight = np.prod([probabilities[f] if world[f] else 1 - probabilities[f] for f in FACTS])
        for root in boosted_sum.trees:
            node = root
            while isinstance(node, Branch):
                node = node.yes if response(str(node.test), world) else node.no
            total = total + weight * np.array(node.value)
    return total


@pytest.mark.parametrize("seed", range(20))
def test_scores_are_the_expectation_over_all_worlds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    width = (1, 3)[seed % 2]
    classes = ("no", "yes") if width == 1 else ("a", "b", "c")
    trees = tuple(random_tree(rng, [*FACTS, "either", "both"], 4, width) for _ in range(4))
    boosted_sum = BoostedSum(trees, tuple(rng.normal(size=width).tolist()), classes)
    columns = {name: rng.random(3) for name in FACTS}
    X = Examples(columns, kinds=dict.fromkeys(FACTS, "probability"))
    model = NeurosymbolicSum(boosted_sum, X.schema, background=RULES)
    expected = [enumerated(boosted_sum, {n: float(v[i]) for n, v in columns.items()}) for i in range(3)]
    np.testing.assert_allclose(model.scores(X), expected, atol=1e-12)
    contributions = model.contributions(X)
    np.testing.assert_allclose(contributions.sum(axis=1) + boosted_sum.initial, expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_missing_entries_of_a_column_that_a_path_cuts_twice_are_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cuts = sorted(rng.choice(np.arange(0.5, 9.5), 3, replace=False).tolist())
    inner = Branch(CutTest("age", cuts[0]), ScoreLeaf(1.0), ScoreLeaf(2.0))
    other = Branch(CutTest("age", cuts[2]), ScoreLeaf(4.0), ScoreLeaf(8.0))
    boosted_sum = BoostedSum((Branch(CutTest("age", cuts[1]), inner, other),), (0.0,))
    X = Examples({"age": [np.nan, 3.0]}, kinds={"age": "number"})
    ages = list(range(10))
    model = NeurosymbolicSum(boosted_sum, X.schema, priors=Priors({"age": {float(age): 0.1 for age in ages}}))
    whole = Examples({"age": np.array(ages, dtype=float)}, kinds={"age": "number"})
    assert model.scores(X)[0, 0] == pytest.approx(model.scores(whole).mean())


def test_merging_trees_of_one_form_and_dropping_leaves_changes_no_score() -> None:
    rng = np.random.default_rng(0)
    stumps = [Branch(FactTest("rain"), ScoreLeaf(float(rng.normal()), 2.0), ScoreLeaf(1.0, 3.0)) for _ in range(3)]
    other = Branch(FactTest("cloudy"), stumps[0], ScoreLeaf(0.5, 1.0))
    boosted_sum = BoostedSum((*stumps, other, ScoreLeaf(0.25), other), (0.1,))
    merged = boosted_sum.merged()
    assert len(merged.trees) == 2
    assert merged.splits == 3
    X = Examples({"rain": [True, False, True], "cloudy": [True, True, False]})
    scores = [NeurosymbolicSum(one, X.schema).scores(X) for one in (boosted_sum, merged)]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-12)


def test_terms_add_up_to_the_scores_and_one_row_of_each_holds() -> None:
    rng = np.random.default_rng(1)
    schema = Examples({"age": [1.5, 2.0], "suit": ["hearts", "spades"], "rain": [True, False]})
    kinds = {"age": "number"}
    trees: list[Node] = [
        Branch(CutTest("age", float(cut)), ScoreLeaf(float(rng.normal())), ScoreLeaf(float(rng.normal())))
        for cut in (30, 50, 40, 30)
    ]
    trees += [Branch(ValueTest("suit", "hearts"), ScoreLeaf(2.0), ScoreLeaf(-1.0))]
    trees += [Branch(FactTest("rain"), ScoreLeaf(1.0), Branch(CutTest("age", 35.0), ScoreLeaf(3.0), ScoreLeaf(0.0)))]
    boosted_sum = BoostedSum(tuple(trees), (0.5,))
    X = Examples(
        {
            "age": [20.0, 30.0, 31.0, 45.0, 60.0],
            "suit": ["hearts", "spades"] * 2 + ["hearts"],
            "rain": [True, False] * 2 + [True],
        },
        kinds=kinds,
    )
    model = NeurosymbolicSum(boosted_sum, X.schema)
    listed = {term.name: term for term in terms(boosted_sum, X.schema)}
    assert listed["age"].is_main_effect
    assert [row.condition for row in listed["age"].rows] == [
        "age =< 30.0",
        "30.0 < age =< 40.0",
        "40.0 < age =< 50.0",
        "age > 50.0",
    ]
    by_age = dict(zip((20.0, 30.0, 31.0, 45.0, 60.0), (0, 0, 1, 2, 3), strict=True))
    expected = []
    for age, suit, rain in zip(by_age, ["hearts", "spades"] * 2 + ["hearts"], [True, False] * 2 + [True], strict=True):
        tree = 1.0 if rain else 3.0 if age <= 35 else 0.0
        expected.append(0.5 + listed["age"].rows[by_age[age]].scores[0] + (2.0 if suit == "hearts" else -1.0) + tree)
    np.testing.assert_allclose(model.scores(X)[:, 0], expected, atol=1e-12)
    assert len(schema)


def test_summaries_are_means_of_the_leaves_below_weighted_by_mass() -> None:
    root = Branch(FactTest("rain"), ScoreLeaf(0.0), Branch(FactTest("cloudy"), ScoreLeaf(0.0), ScoreLeaf(0.0)))
    scored = with_scores(root, np.array([[1.0], [2.0], [4.0]]), [1.0, 1.0, 2.0])
    assert isinstance(scored, Branch)
    assert scored.summary == ScoreLeaf((2.75,))
    assert [leaf.value for leaf in score_leaves(scored)] == [(1.0,), (2.0,), (4.0,)]
    assert [leaf.mass for _, leaf in paths(scored)] == [1.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (((Leaf(0.5),), (0.0,), ("a", "b")), "ScoreLeaf with 1 scores"),
        (((ScoreLeaf((0.0, 1.0)),), (0.0,), ("a", "b")), "ScoreLeaf with 1 scores"),
        (((), (0.0,), ("a",)), "two or more different classes"),
        (((), (0.0,), ("a", "a")), "two or more different classes"),
        (((), (0.0, 0.0), ("a", "b")), "need 1"),
        (((), (float("nan"),), ()), "not all finite"),
    ],
)
def test_sums_that_make_no_sense_are_refused(arguments: tuple, sentence: str) -> None:
    with pytest.raises(TreeError, match=sentence):
        BoostedSum(*arguments)


def test_a_sum_of_numbers_has_no_class_probabilities() -> None:
    X = Examples({"rain": [True]})
    model = NeurosymbolicSum(BoostedSum((), (1.5,)), X.schema)
    assert model.predict(X).tolist() == [1.5]
    with pytest.raises(TreeError, match="predicts numbers"):
        model.predict_proba(X)
    with pytest.raises(TreeError, match="BoostedSum"):
        NeurosymbolicSum(Branch("rain", ScoreLeaf(0.0), ScoreLeaf(1.0)), X.schema)  # type: ignore[arg-type]
