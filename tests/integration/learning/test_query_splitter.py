"""First-order trees over symbolic parts."""

from __future__ import annotations

import numpy as np
import pytest

import neuid3
from neuid3 import Examples, NeuID3Classifier
from neuid3.errors import CheckpointError, NodeTestError
from neuid3.queries import holds, parse_query
from neuid3.tree.query_tests import QueryTest


def made_trains(size: int, seed: int = 0) -> Examples:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 5, size)
    owner = np.repeat(np.arange(size), counts)
    cars = len(owner)
    loads = rng.integers(0, 3, cars)
    return Examples(
        {"train": list(range(size)), "late": rng.random(size) < 0.5},
        parts={
            "car": (
                {
                    "car": list(range(cars)),
                    "train": owner,
                    "long": rng.random(cars) < 0.5,
                    "roof": rng.choice(["flat", "open", "arc"], cars),
                    "axles": rng.integers(2, 6, cars).astype(float),
                },
                "train",
            ),
            "load": (
                {"car": np.repeat(np.arange(cars), loads), "shape": rng.choice(["disc", "bar", "cube"], loads.sum())},
                "car",
            ),
        },
    )


RULES = (
    "car(C), long(C), roof(C, flat)",
    "car(C), load(C, L), shape(L, disc), long(C)",
    "at_least(2, car(C), long(C))",
    "car(C), axles(C) > 4.5, long(C)",
    "car(C), \\+ (load(C, L), shape(L, bar)), roof(C, open)",
)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_over_parts_is_learned_and_holds_for_new_examples(rule: str) -> None:
    learned, new = made_trains(300), made_trains(300, seed=1)
    clf = NeuID3Classifier(random_state=0).fit(learned, holds(parse_query(rule), learned))
    assert (clf.predict(new) == holds(parse_query(rule), new)).mean() >= 0.98
    assert len(clf.tree_.tests) <= 4


def test_variables_are_shared_along_yes_branches() -> None:
    examples = made_trains(400)
    labels = holds(parse_query("car(C), long(C), load(C, L), shape(L, cube)"), examples)
    tests = NeuID3Classifier(random_state=0).fit(examples, labels).tree_.tests
    continued = [test for test in tests if isinstance(test, QueryTest) and test.inherited]
    assert continued
    above = {str(test.query) for test in tests}
    assert all(str(type(test.query)(test.query.literals[: test.inherited])) in above for test in continued)


def test_pruning_is_lower_for_queries_unless_a_number_is_given() -> None:
    examples, rng = made_trains(60), np.random.default_rng(5)
    labels = holds(parse_query(RULES[0]), examples) ^ (rng.random(60) < 0.2)
    trees = {p: NeuID3Classifier(pruning=p, random_state=0).fit(examples, labels).tree_ for p in ("auto", 0.5, 4.0)}
    assert trees["auto"] == trees[0.5]
    assert len(trees[4.0].tests) < len(trees["auto"].tests)


def test_columns_of_examples_and_queries_stand_in_one_tree() -> None:
    examples = made_trains(200)
    labels = examples.column("late").values & holds(parse_query("car(C), roof(C, arc)"), examples)
    clf = NeuID3Classifier(random_state=0).fit(examples, labels)
    assert {str(test) for test in clf.tree_.tests} == {"late", "∃ C: car(C), roof(C, arc)"}


def test_weights_are_repeated_rows() -> None:
    examples, rng = made_trains(60), np.random.default_rng(3)
    labels = holds(parse_query("car(C), long(C), roof(C, flat)"), examples) ^ (rng.random(60) < 0.1)
    weights = rng.integers(1, 4, 60)
    rows = np.repeat(np.arange(60), weights)
    weighted = NeuID3Classifier(random_state=0, max_depth=2).fit(examples, labels, sample_weight=weights)
    repeated = NeuID3Classifier(random_state=0, max_depth=2).fit(examples[rows], labels[rows])
    assert np.allclose(weighted.predict_proba(examples), repeated.predict_proba(examples))


def test_a_first_order_tree_is_saved_loaded_explained_and_shown(tmp_path) -> None:
    examples = made_trains(150)
    labels = np.where(holds(parse_query(RULES[1]), examples), "east", "west")
    clf = NeuID3Classifier(random_state=0).fit(examples, labels)
    same = neuid3.load(clf.save(tmp_path / "trains.neuid3"))
    assert same.tree_ == clf.tree_
    assert (same.predict_proba(examples) == clf.predict_proba(examples)).all()
    assert "∃ C" in clf.export_text()
    assert "∃ C" in clf.export_svg()
    assert clf.explain(examples, 0).text()
    assert clf.model_.verify(examples, rows=3) < 1e-9


def test_a_checkpoint_resumes_a_first_order_tree(tmp_path) -> None:
    examples = made_trains(150)
    labels = holds(parse_query(RULES[1]), examples)
    plain = NeuID3Classifier(random_state=0).fit(examples, labels)
    for _ in range(2):
        kept = NeuID3Classifier(random_state=0).fit(examples, labels, checkpoint=tmp_path / "nodes")
        assert kept.tree_ == plain.tree_


def test_a_checkpoint_of_examples_with_other_parts_is_refused(tmp_path) -> None:
    labels, train = np.arange(40) % 2 == 0, np.repeat(np.arange(40), 2)
    long = np.repeat(labels, 2)
    other = long.copy()
    other[40] = not other[40]  # one car is another one, everything else is the same
    first, second = (
        Examples({"train": list(range(40))}, parts={"car": ({"train": train, "long": values}, "train")})
        for values in (long, other)
    )
    NeuID3Classifier(random_state=0).fit(first, labels, checkpoint=tmp_path / "nodes")
    with pytest.raises(CheckpointError, match="car"):
        NeuID3Classifier(random_state=0).fit(second, labels, checkpoint=tmp_path / "nodes")


def test_tests_that_are_named_are_the_only_ones() -> None:
    examples = made_trains(80)
    query = "car(C), long(C), roof(C, flat)"
    y = holds(parse_query(query), examples)
    named = QueryTest(parse_query(query))
    alone = NeuID3Classifier(tests=[named, "late"], random_state=0).fit(examples, y)
    assert list(alone.tree_.tests) == [named]
    with pytest.warns(UserWarning, match="single leaf"):
        assert NeuID3Classifier(tests=["late"], random_state=0).fit(examples, y).get_n_leaves() == 1
    together = NeuID3Classifier(tests=["auto", "late"], random_state=0).fit(examples, y)
    assert together.score(examples, y) == 1.0
    with pytest.raises(NodeTestError, match=r"asks for 'long\(C\)' before a part or a relation binds its variable"):
        NeuID3Classifier(tests=[QueryTest(parse_query("long(C)"))]).fit(examples, y)
