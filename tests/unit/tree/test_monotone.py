"""The checker of monotone trees against all pairs of examples on a grid."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuid3 import (
    Branch,
    Examples,
    Leaf,
    NeuID3Classifier,
    NeuID3Error,
    NeuID3ForestClassifier,
    NeurosymbolicTree,
    Tree,
)
from neuid3.logic import Compare, Not, Or
from neuid3.logic.formula import And, ColumnVariable, Formula, Literal
from neuid3.tree.constraints import Constraints, formula_direction, read_constraints
from neuid3.tree.monotone import check_monotone, monotone_tree
from neuid3.tree.tree import Node, paths

# One entry in every cell between the constants of tests and rules.
COLUMNS = {
    "age": [10.0, 30.0, 45.0, 50.0, 55.0, 60.0, 70.0],
    "dose": [1.0, 2.0, 2.5, 3.0],
    "smoker": [False, True],
    "sex": ["f", "m", "other"],
}
BACKGROUND = """
risk :- age > 40, smoker.
risk :- age > 60.
frail :- \\+ risk, dose < 2.5.
odd :- age > 20, age < 60.
0.3::luck :- smoker.
"""
BOXES = ("age > 20", "age =< 40", "age =:= 50", "dose > 1.5", "dose =< 2.5", "smoker", "sex(f)")
RULES = ("risk", "frail", "odd", "luck")


def grid() -> dict[str, list[Any]]:
    rows = list(product(*COLUMNS.values()))
    return {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}


def random_tree(rng: np.random.Generator, tests: tuple[str, ...], depth: int) -> Node:
    if depth == 0 or rng.random() < 0.15:
        return Leaf(float(rng.integers(0, 4)) / 4)
    test = str(rng.choice(tests))
    return Branch(test, random_tree(rng, tests, depth - 1), random_tree(rng, tests, depth - 1))


def breaks_on_grid(model: NeurosymbolicTree, column: str, direction: int, tolerance: float = 1e-9) -> bool:
    """Whether two rows of the grid that differ in one column only break the constraint."""
    X = grid()
    values = model.predict_proba(X)[:, 1].reshape([len(v) for v in COLUMNS.values()])
    steps = direction * np.diff(values, axis=list(COLUMNS).index(column))
    return bool((steps < -tolerance).any())


def model_of(root: Node) -> NeurosymbolicTree:
    model = NeurosymbolicTree(Tree(root), Examples(grid()).schema, background=BACKGROUND)
    return model.learn_priors(grid())


@given(st.integers(0, 2**32 - 1), st.sampled_from(["age", "dose", "smoker"]), st.sampled_from([1, -1]), st.booleans())
def test_checker_finds_a_violation_exactly_where_the_grid_has_one(
    seed: int, column: str, direction: int, with_rules: bool
) -> None:
    rng = np.random.default_rng(seed)
    rules = tuple(rule for rule in RULES if rule != "luck") if with_rules else ()
    model = model_of(random_tree(rng, BOXES + rules, 4))
    violation = check_monotone(model, {column: direction})
    assert (violation is not None) == breaks_on_grid(model, column, direction)
    if violation is not None:
        leaves = dict(paths(model.tree.root))
        assert leaves[violation.lower].probabilities[1] == violation.lower_value
        assert direction * (violation.upper_value - violation.lower_value) < 0
        assert column in str(violation)


@given(st.integers(0, 2**32 - 1))
def test_no_violation_in_possible_worlds_means_none_in_predictions(seed: int) -> None:
    model = model_of(random_tree(np.random.default_rng(seed), BOXES + RULES, 3))
    for column, direction in product(("age", "smoker"), (1, -1)):
        if breaks_on_grid(model, column, direction):
            assert check_monotone(model, {column: direction}) is not None


@given(st.integers(0, 2**32 - 1))
def test_projected_trees_are_monotone_also_with_missing_entries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = model_of(random_tree(rng, (*BOXES, "risk"), 4))
    constraints = Constraints((("age", 1), ("smoker", 1), ("dose", -1)))
    root, _ = monotone_tree(model.tree.root, model.program, constraints)
    projected = model_of(root)
    assert check_monotone(projected, constraints) is None
    rows = list(product(COLUMNS["age"], [1.0, 3.0, None], [False, True, None], ["f", "m", None]))
    X = {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}
    by_age = projected.predict_proba(X)[:, 1].reshape(len(COLUMNS["age"]), -1)
    assert (np.diff(by_age, axis=0) >= -1e-12).all()


def test_monotone_tree_keeps_masses_and_joins_leaves_that_became_equal() -> None:
    root = Branch(
        "age =< 40",
        Branch("smoker", Leaf(0.8, (1.0, 4.0)), Leaf(0.2, (4.0, 1.0))),
        Branch("dose =< 2", Leaf(0.1, (9.0, 1.0)), Leaf(0.9, (1.0, 9.0))),
    )
    model = NeurosymbolicTree(Tree(root), Examples(grid()).schema)
    found, lost = monotone_tree(root, model.program, Constraints((("age", 1),)))
    assert not lost
    assert [leaf.masses for _, leaf in paths(found)] == [leaf.masses for _, leaf in paths(root)]
    # Young smokers (4 of 5) and old people with a low dose (1 of 10) are comparable, and get one value: 5 of 15.
    assert [leaf.probabilities[1] for _, leaf in paths(found)] == pytest.approx([1 / 3, 0.2, 1 / 3, 0.9])
    joined, lost = monotone_tree(
        Branch("age =< 40", Leaf(0.8, (1.0, 4.0)), Leaf(0.2, (4.0, 1.0))), model.program, Constraints((("age", 1),))
    )
    assert (joined, joined.masses, len(lost)) == (Leaf(0.5), (5.0, 5.0), 1)


@given(st.integers(0, 2**32 - 1))
def test_direction_of_a_formula_equals_that_of_all_its_worlds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [ColumnVariable(name, 2) for name in "abc"]

    def formula(depth: int) -> Formula:
        match 0 if depth == 0 else int(rng.integers(0, 4)):
            case 0:
                return Literal(names[rng.integers(0, 3)], frozenset({1}))
            case 1:
                return Not(formula(depth - 1))
            case 2:
                return And((formula(depth - 1), formula(depth - 1)))
            case _:
                return Or((formula(depth - 1), formula(depth - 1)))

    def value(node: Formula, world: dict[ColumnVariable, int]) -> bool:
        match node:
            case Literal(variable, values):
                return world[variable] in values
            case Not(part):
                return not value(part, world)
            case And(parts):
                return all(value(part, world) for part in parts)
            case Or(parts):
                return any(value(part, world) for part in parts)
        raise AssertionError

    made = formula(4)
    changes = set()
    for b, c in product((0, 1), repeat=2):
        low, high = ({names[0]: a, names[1]: b, names[2]: c} for a in (0, 1))
        changes.add(int(value(made, high)) - int(value(made, low)))
    changes.discard(0)
    expected = None if len(changes) == 2 else next(iter(changes), 0)
    assert formula_direction(made, "a") == expected


def test_comparisons_have_a_direction() -> None:
    assert formula_direction(Compare("age", ">=", 3), "age") == 1
    assert formula_direction(Compare("age", "=:=", 3), "age") is None
    assert formula_direction(Compare("age", ">=", 3), "dose") == 0


@pytest.mark.parametrize(
    ("monotonic", "interactions", "named"),
    [
        ({"agee": 1}, None, "'age'"),
        ({"sex": 1}, None, "category"),
        ({"age": 2}, None, "2"),
        ({"age": "up"}, None, "'up'"),
        ("age", None, "dict"),
        ([1, 0], None, "4 columns"),
        ([("age", 1), ("age", -1)], None, "'age'"),
        (None, "triples", "pairwise"),
        (None, [["age", "weight"]], "weight"),
        (None, [[]], "empty"),
        (None, ["age"], "group"),
        (None, [[9]], "9"),
    ],
)
def test_bad_constraints_are_refused_with_their_culprit(monotonic: Any, interactions: Any, named: str) -> None:
    with pytest.raises(NeuID3Error, match="_cst") as refused:
        read_constraints(monotonic, interactions, Examples(grid()).schema)
    assert named in str(refused.value)


def test_groups_are_read_as_scikit_learn_reads_them() -> None:
    schema = Examples(grid()).schema
    assert read_constraints(None, [["age", 1]], schema).groups == (
        frozenset({"age", "dose"}),
        frozenset({"smoker", "sex"}),
    )
    assert read_constraints(None, "no_interactions", schema).groups == tuple(frozenset({name}) for name in schema)
    assert len(read_constraints(None, "pairwise", schema).groups or ()) == 6
    assert read_constraints([1, 0, -1, 0], None, schema).directions == (("age", 1), ("smoker", -1))


def test_a_calculation_with_a_constrained_column_is_refused() -> None:
    background = "ahead :- age - dose > 40. late :- age > 50, age - dose > 40."
    for test in ("ahead", "late"):
        tree = Tree(Branch("age > 30", Branch(test, Leaf(0.2), Leaf(0.9)), Leaf(0.1)))
        model = NeurosymbolicTree(tree, Examples(grid()).schema, background=background)
        for column in ("age", "dose"):
            with pytest.raises(NeuID3Error, match=f"'{test}' reads column '{column}' through"):
                check_monotone(model, {column: 1})
        assert check_monotone(model, {"smoker": 1}) is None


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (NeuID3ForestClassifier(n_estimators=2).fit(grid(), [0, 1] * 84), "found a forest"),
        (NeuID3Classifier(), "found a NeuID3Classifier"),
        (None, "found a NoneType"),
    ],
)
def test_what_is_no_tree_and_no_sum_is_refused(model: Any, named: str) -> None:
    with pytest.raises(NeuID3Error, match=named):
        check_monotone(model, {"age": 1})


def test_nothing_is_proved_of_no_constraint() -> None:
    with pytest.raises(NeuID3Error, match="nothing to check"):
        check_monotone(model_of(Branch("smoker", Leaf(0.9), Leaf(0.1))))
