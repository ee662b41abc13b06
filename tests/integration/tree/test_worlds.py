"""Missing and probable entries of parts: against sums over hand-made worlds, and against ProbLog."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from neuid3 import (
    Branch,
    Examples,
    Leaf,
    NeuID3BoostingClassifier,
    NeuID3Classifier,
    NeuID3ForestClassifier,
    NeurosymbolicTree,
    Tree,
    load,
)
from neuid3.data import worlds
from neuid3.data.columns import Category
from neuid3.data.priors import Priors
from neuid3.errors import MissingPriorError
from neuid3.queries import parse_query
from neuid3.tree.query_tests import QueryTest

Tables = dict[str, dict[str, list[Any]]]

SIZES = {0.0: 0.2, 1.0: 0.3, 2.0: 0.1, 3.0: 0.4}
PRIORS = {"box.red": 0.3, "box.sure": 0.6, "box.kind": {"flat": 0.25, "tall": 0.75}, "box.size": SIZES}
PRIORS |= {"thing.round": 0.8, "touches.how": {"firmly": 0.9, "lightly": 0.1}}
VALUES: dict[str, dict[Any, float]] = {
    "red": {True: 0.3, False: 0.7},
    "sure": {1.0: 0.6, 0.0: 0.4},
    "kind": {"flat": 0.25, "tall": 0.75},
    "size": SIZES,
    "round": {True: 0.8, False: 0.2},
    "how": {"firmly": 0.9, "lightly": 0.1},
}
QUERIES = (
    "box(B), red(B), kind(B, tall)",
    "box(B), \\+ red(B), sure(B)",
    "box(B), size(B) > 1.5, red(B)",
    "box(B), size(B) =< 1.0, size(B) > 0.0",
    "box(B), box(C), B \\= C, size(B) =:= size(C)",
    "box(B), thing(B, T), round(T)",
    "touches(B, C, firmly), kind(C, flat)",
    "box(B), \\+ (touches(B, C), red(C))",
    "at_least(2, box(B), sure(B))",
    "sum(size(B), box(B)) > 2.5",
)
BACKGROUND = """
0.7 :: loud.
loose(B) :- box(B), sure(B), \\+ red(B).
fits(B) :- box(B), kind(B, tall), loud.
firm(B, C) :- touches(B, C, firmly).
"""
RULES = ("box(B), loose(B)", "box(B), fits(B)", "box(B), box(C), firm(B, C), red(C)")


def made_tables(rng: np.random.Generator, entries: int) -> Tables:
    """Tables of two examples with boxes and things; so many entries are missing, and one in two of `sure` is probable."""
    owner = [0, 0, 1, 1, 1]
    n = len(owner)
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b and owner[a] == owner[b] and rng.random() < 0.4]
    pairs = pairs or [(0, 1)]
    things = rng.integers(0, n, 4).tolist()
    tables: Tables = {
        "box": {
            "box": [f"b{i}" for i in range(n)],
            "example": owner,
            "red": (rng.random(n) < 0.5).tolist(),
            "sure": rng.choice([0.0, 1.0, 0.25], n).tolist(),
            "kind": rng.choice(["flat", "tall"], n).tolist(),
            "size": rng.integers(0, 4, n).astype(float).tolist(),
        },
        "thing": {"box": [f"b{i}" for i in things], "round": (rng.random(4) < 0.5).tolist()},
        "touches": {
            "box_1": [f"b{a}" for a, _ in pairs],
            "box_2": [f"b{b}" for _, b in pairs],
            "how": rng.choice(["firmly", "lightly"], len(pairs)).tolist(),
        },
    }
    columns = [
        ("box", "red"),
        ("box", "sure"),
        ("box", "kind"),
        ("box", "size"),
        ("thing", "round"),
        ("touches", "how"),
    ]
    for at in rng.integers(0, len(columns), entries).tolist():
        table, column = columns[at]
        values = tables[table][column]
        values[int(rng.integers(len(values)))] = None
    return tables


def as_examples(tables: Tables) -> Examples:
    """The examples that own the parts of these tables."""
    return Examples(
        {"example": [0, 1]},
        parts={"box": (tables["box"], "example"), "thing": (tables["thing"], "box")},
        relations={"touches": tables["touches"]},
        kinds={
            "box": {"red": "boolean", "sure": "probability", "kind": Category(("flat", "tall")), "size": "number"},
            "thing": {"round": "boolean"},
            "touches": {"how": Category(("firmly", "lightly"))},
        },
    )


def completed(tables: Tables) -> Iterator[tuple[Tables, float]]:
    """All completions of the tables with their probabilities, by plain enumeration."""
    choices: list[list[tuple[str, str, int, Any, float]]] = []
    for table, columns in tables.items():
        for column, values in columns.items():
            for row, value in enumerate(values):
                known: Mapping[Any, float] = VALUES.get(column, {})
                if column == "sure" and value == 0.25:
                    known = {1.0: 0.25, 0.0: 0.75}
                if value is None or (column == "sure" and value == 0.25):
                    choices.append([(table, column, row, v, p) for v, p in known.items()])
    for world in itertools.product(*choices):
        filled = {table: {c: list(v) for c, v in columns.items()} for table, columns in tables.items()}
        for table, column, row, value, _ in world:
            filled[table][column][row] = value
        yield filled, math.prod(p for *_, p in world)


def model_of(queries: list[str], X: Examples, background: str = "") -> NeurosymbolicTree:
    """A tree whose second query is below the yes of the first, and whose third below its no."""
    first, second, third = (QueryTest(parse_query(text)) for text in queries)
    root = Branch(first, Branch(second, Leaf(0.9), Leaf(0.3)), Branch(third, Leaf(0.6), Leaf(0.05)))
    return NeurosymbolicTree(Tree(root), X.schema, background=background, priors=Priors(PRIORS))


def expected_of(tables: Tables, queries: list[str], background: str = "") -> np.ndarray:
    total = np.zeros((2, 2))
    for filled, weight in completed(tables):
        X = as_examples(filled)
        total += weight * model_of(queries, X, background).predict_proba(X)
    return total


@settings(max_examples=max(settings().max_examples // 10, 4), deadline=None)
@given(st.integers(0, 10_000))
@pytest.mark.filterwarnings("ignore:Test .* is always:UserWarning")
def test_predictions_sum_over_the_values_of_missing_and_probable_entries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables = made_tables(rng, 3)
    background = BACKGROUND if seed % 2 else ""
    queries = rng.choice([*QUERIES, *(RULES if background else ())], 3, replace=False).tolist()
    X = as_examples(tables)
    model = model_of(queries, X, background)
    np.testing.assert_allclose(model.predict_proba(X), expected_of(tables, queries, background), atol=1e-12)
    assert model.verify(X, rows=2) < 1e-12


def test_rows_do_not_depend_on_the_rows_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    X = as_examples(made_tables(np.random.default_rng(5), 6))
    model = model_of([QUERIES[0], QUERIES[2], QUERIES[5]], X)
    together = model.predict_proba(X)
    monkeypatch.setattr("neuid3.tree.base_model.ROWS_AT_ONCE", 1)
    np.testing.assert_allclose(model.predict_proba(X[[1, 0, 1]]), together[[1, 0, 1]], atol=1e-12)


def test_an_entry_that_no_query_asks_about_may_be_missing_without_a_prior() -> None:
    tables = made_tables(np.random.default_rng(0), 0)
    tables["box"]["size"][0] = None
    tree = Tree(Branch(QueryTest(parse_query("box(B), red(B)")), Leaf(0.9), Leaf(0.1)))
    X = as_examples(tables)
    assert np.isin(NeurosymbolicTree(tree, X.schema).predict_proba(X)[:, 1], [0.9, 0.1]).all()


def test_a_missing_entry_without_a_prior_is_an_error_that_names_the_column() -> None:
    tables = made_tables(np.random.default_rng(0), 0)
    tables["box"]["red"][0] = None
    tree = Tree(Branch(QueryTest(parse_query("box(B), red(B)")), Leaf(0.9), Leaf(0.1)))
    X = as_examples(tables)
    with pytest.raises(MissingPriorError, match=r"box\.red"):
        NeurosymbolicTree(tree, X.schema).predict_proba(X)


def test_with_too_many_worlds_draws_stand_for_all_and_a_warning_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = made_tables(np.random.default_rng(3), 0)
    tables["box"]["red"] = [None] * 5
    tables["box"]["kind"] = [None] * 5
    X = as_examples(tables)
    model = model_of([QUERIES[0], QUERIES[0], QUERIES[0]], X)
    exact = model.predict_proba(X)
    monkeypatch.setattr("neuid3.tree.base_model.MAX_WORLDS", 16)
    monkeypatch.setattr(worlds, "MAX_WORLDS", 16)
    with pytest.warns(UserWarning, match=r"'box\.(red|kind)'.* means over 4,096 draws"):
        drawn = model.predict_proba(X)
    np.testing.assert_allclose(drawn, exact, atol=0.03)
    assert not np.array_equal(drawn, exact)
    with pytest.warns(UserWarning, match="draws"):
        np.testing.assert_allclose(model.predict_proba(X[[1]]), drawn[[1]], atol=1e-12)


def trains(rng: np.random.Generator, rows: int, change: Callable[[np.ndarray], Any]) -> tuple[Examples, np.ndarray]:
    """Trains that go east where some long car has a flat roof; `change` takes away some of the roofs."""
    train = np.repeat(np.arange(rows), rng.integers(1, 4, rows))
    long = rng.random(len(train)) < 0.5
    roof = rng.choice(["flat", "open", "arc"], len(train))
    y = np.bincount(train[long & (roof == "flat")], minlength=rows) > 0
    cars = {"train": train, "long": long, "roof": change(roof)}
    return Examples({"train": np.arange(rows)}, parts={"car": (cars, "train")}), np.where(y, "east", "west")


def test_a_fit_learns_the_rule_from_tables_with_missing_entries(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = trains(rng, 300, lambda roof: np.where(rng.random(len(roof)) < 0.15, None, roof.astype(object)))
    clf = NeuID3Classifier(random_state=0).fit(X, y)
    assert {"roof", "flat", "long"} <= set(
        clf.export_text().replace("(", " ").replace(")", " ").replace(",", " ").split()
    )
    assert clf.score(X, y) > 0.9
    complete, truth = trains(np.random.default_rng(1), 200, lambda roof: roof)
    assert clf.score(complete, truth) == 1.0

    one, _ = trains(np.random.default_rng(2), 1, lambda roof: np.array([None] * len(roof), dtype=object))
    explanation = clf.explain(one)
    assert any(text.startswith("roof(car_1) = ") for text in explanation.filled_in)
    assert explanation.summed == tuple(clf.predict_proba(one)[0])
    assert "Over all their values the prediction is " in str(explanation)
    assert "Filled in" in str(explanation)
    clf.save(tmp_path / "trains.neuid3")
    np.testing.assert_allclose(load(tmp_path / "trains.neuid3").predict_proba(one), clf.predict_proba(one), atol=1e-12)


def crowd(examples: int, cars: int, missing: int) -> Examples:
    """Examples with many cars, of which the first few are missing their length."""
    long = np.array(np.random.default_rng(1).random(cars) < 0.5, dtype=object)
    long[:missing] = None
    table = {"train": np.repeat(np.arange(examples), cars), "size": np.tile(np.arange(cars) * 1.0, examples)}
    table["long"] = np.tile(long, examples)
    return Examples({"train": np.arange(examples)}, parts={"car": (table, "train")}, kinds={"car": {"long": "boolean"}})


def test_too_many_bindings_of_all_rows_together_are_joined_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    query = QueryTest(parse_query("car(A), car(B), A \\= B, size(A) > size(B), long(A), long(B)"))
    X = crowd(3, 8, 5)
    model = NeurosymbolicTree(Tree(Branch(query, Leaf(0.9), Leaf(0.2))), X.schema, priors=Priors({"car.long": 0.5}))
    expected = model.predict_proba(X)
    monkeypatch.setattr("neuid3.queries.joins.MAX_BINDINGS", 100)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(crowd(40, 8, 0)), model.predict_proba(crowd(1, 8, 0)).repeat(40, 0))


def test_a_column_that_is_missing_everywhere_is_not_learned_from() -> None:
    X, y = trains(np.random.default_rng(0), 60, lambda roof: roof)
    cars = X.column("car").values.table
    assert cars is not None
    owner = np.repeat(np.arange(60), [len(group.table) for group in X.column("car").values])
    table = {"train": owner, "long": cars.column("long").values, "axles": [None] * len(owner)}
    without = Examples({"train": np.arange(60)}, parts={"car": (table, "train")}, kinds={"car": {"axles": "number"}})
    assert "axles" not in NeuID3Classifier(random_state=0).fit(without, y).export_text()


@pytest.mark.parametrize("estimator", [NeuID3BoostingClassifier(max_trees=5), NeuID3ForestClassifier(n_estimators=5)])
def test_explanations_of_many_trees_are_about_the_expected_score(estimator: Any) -> None:
    X, y = trains(np.random.default_rng(0), 200, lambda roof: roof)
    clf = clone(estimator).set_params(random_state=0).fit(X, y)
    one, _ = trains(np.random.default_rng(2), 1, lambda roof: np.array([None] * len(roof), dtype=object))
    explanation = clf.explain(one)
    if isinstance(clf, NeuID3BoostingClassifier):
        np.testing.assert_allclose(explanation.scores, clf.model_.scores(one)[0], atol=1e-9)
        np.testing.assert_allclose(explanation.probabilities, clf.predict_proba(one)[0], atol=1e-9)
    else:
        np.testing.assert_allclose(explanation.prediction, clf.predict_proba(one)[0], atol=1e-9)


def test_priors_that_are_rounded_count_as_distributions() -> None:
    X = Examples(
        {"train": [0]},
        parts={"car": ({"train": [0] * 20, "roof": [None] * 20}, "train")},
        kinds={"car": {"roof": Category(("a", "b", "c"))}},
    )
    tree = Tree(Branch(QueryTest(parse_query("car(C), roof(C, a)")), Leaf(1.0), Leaf(0.0)))
    model = NeurosymbolicTree(tree, X.schema, priors=Priors({"car.roof": dict.fromkeys("abc", 0.3333333)}))
    with pytest.warns(UserWarning, match="draws"):
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1.0 - (2 / 3) ** 20, atol=0.02)


def test_the_truth_of_a_column_of_tuples_is_a_value_of_a_query() -> None:
    X = Examples(
        {"train": [0, 1]},
        parts={"car": ({"train": [0, 0, 1, 1], "car": [0, 1, 2, 3]}, "train")},
        relations={"next": {"car_1": [0, 2], "car_2": [1, 3], "tight": [None, True]}},
        kinds={"next": {"tight": "boolean"}},
    )
    for value, expected in (("false", [0.7, 0.0]), ("true", [0.3, 1.0])):
        tree = Tree(Branch(QueryTest(parse_query(f"next(A, B, {value})")), Leaf(1.0), Leaf(0.0)))
        model = NeurosymbolicTree(tree, X.schema, priors=Priors({"next.tight": 0.3}))
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, atol=1e-12)
        assert model.verify(X, rows=2) < 1e-12
