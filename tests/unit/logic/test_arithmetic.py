"""Rules that calculate with number columns, held against ProbLog with the numbers written into the program."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import PIXELS, TinyNetwork

from neuid3 import AtomTest, Branch, Examples, Leaf, NeurosymbolicTree, Priors, Tree, load
from neuid3.data.columns import Boolean, Category, Date, Number, Series, Tensor, Text
from neuid3.data.priors import QUANTILES, quantiles
from neuid3.errors import DataError, MissingPriorError, NodeTestError, RuleError
from neuid3.logic.formula import Compare, CompareExpression, columns_of
from neuid3.logic.program import Program
from neuid3.logic.sandbox import Limits, send_request

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck))
NUMBERS = ("a", "b", "c")
SCHEMA = {name: Number() for name in NUMBERS}


def by_problog(program: str) -> float:
    """P(q) of a program, by ProbLog."""
    reply = send_request({"do": "evaluate", "program": f"{program}\nquery(q).\n"}, Limits())
    return float(reply["probabilities"]["q"])


# One row, all numbers known -----------------------------------------------------------------------

leaves = (
    st.sampled_from(NUMBERS)
    | st.integers(0, 4).map(str)
    | st.integers(-3, -1).map("({})".format)
    | st.sampled_from(["0.5", "2.25"])
)


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    infix = st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "mod", "**"]), inner)
    functions = st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner)
    unary = st.builds("{}({})".format, st.sampled_from(["abs", "round", "floor", "ceiling", "sqrt", "-"]), inner)
    return infix | functions | unary


expressions = st.recursive(leaves, grown, max_leaves=6)
comparisons = st.sampled_from(["<", "=<", ">", ">=", "=:=", "=\\="])
entries = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0])


def written_in(text: str, row: dict[str, float]) -> str:
    """A text with numbers in the place of columns."""
    for name, number in row.items():
        text = re.sub(rf"\b{name}\b", f"({number!r})", text)
    return text


@relaxed
@given(expressions, comparisons, expressions | st.just("1.5"), st.tuples(entries, entries, entries))
def test_a_comparison_of_expressions_is_what_problog_calculates(
    left: str, operator: str, right: str, values: tuple[float, ...]
) -> None:
    row = dict(zip(NUMBERS, values, strict=True))
    X = Examples(
        {name: [number, number + 10.0] for name, number in row.items()}, kinds=dict.fromkeys(NUMBERS, "number")
    )
    background = f"test :- {left} {operator} {right}."
    try:
        formula = Program(background, SCHEMA).formula("test")
    except (NodeTestError, RuleError):
        return  # arithmetic of constants only that has no value
    if not isinstance(formula, (Compare, CompareExpression)):
        return
    model = NeurosymbolicTree(Tree(Branch("test", Leaf(1.0), Leaf(0.0))), SCHEMA, background=background)
    try:
        found = model.predict_proba(X[:1])[0, 1]
    except (MissingPriorError, DataError):
        found = None  # undefined, or too large
    try:
        exact = by_problog(f"q :- X is {written_in(left, row)}, Y is {written_in(right, row)}, X {operator} Y.")
    except Exception:
        exact = None
    assert found == exact


# Missing entries ------------------------------------------------------------------------------------

RULES = """
ratio(R) :- a > -100, R is a / b.
high :- ratio(R), R > {k1}.
low :- ratio(R), R =< {k0}.
wide :- a - c > {k2}.
above :- c >= b + {k1}.
some :- at_least(2, [high, wide, above, a > {k3}]).
few :- at_most(1, [high, low, c < {k3}]).
0.3 :: luck.
lucky :- luck, wide.
lucky :- a * 2 > c ** 2 - b.
"""
TESTS = [
    "high",
    "low",
    "wide",
    "above",
    "some",
    "few",
    "lucky",
    "a > {k3}",
    "ratio > {k0}",
    "c - a < {k1}",
    "c =< {k2}",
]


def random_tree(rng: np.random.Generator, constants: dict[str, float]) -> Tree:
    tests = [test.format(**constants) for test in rng.choice(TESTS, 4, replace=False)]
    first, second, third, fourth = tests
    return Tree(
        Branch(
            first, Branch(second, Leaf(1.0), Leaf(0.4)), Branch(third, Branch(fourth, Leaf(0.7), Leaf(0.2)), Leaf(0.0))
        )
    )


def random_table(rng: np.random.Generator, n: int = 6) -> dict[str, Any]:
    table = {name: rng.integers(-2, 4, n).astype(float) for name in NUMBERS}
    for name in NUMBERS:
        table[name][rng.random(n) < 0.3] = np.nan
        table[name][0] = rng.integers(-2, 4)
    return table


def enumerated(tree: Tree, rules: str, row: dict[str, float], priors: Priors) -> float:
    """P(pos | row): ProbLog with the numbers written in, for every combination of values of missing entries."""
    missing = [name for name in NUMBERS if math.isnan(row[name])]
    total = []
    for values in itertools.product(*(zip(*quantiles(*priors.sample(name)), strict=True) for name in missing)):
        world = {**row, **{name: float(value) for name, (value, _) in zip(missing, values, strict=True)}}
        mass = math.prod(float(weight) for _, weight in values)
        # An undefined quotient has the distribution that it has on the training rows.
        ratios = (
            [(world["a"] / world["b"], 1.0)]
            if world["b"]
            else list(priors.expressions.get("a / b", {0.0: 1.0}).items())
        )
        for ratio, share in ratios:
            program = rules.replace("R is a / b", f"R is {ratio!r}") + LIBRARY_IN_PROBLOG + tree_rules(tree)
            total.append(mass * share * by_problog(written_in(program, world)))
    return math.fsum(total)


LIBRARY_IN_PROBLOG = r"""
at_least(K, _) :- K =< 0.
at_least(K, [G | Gs]) :- K > 0, call(G), N is K - 1, at_least(N, Gs).
at_least(K, [G | Gs]) :- K > 0, \+ call(G), at_least(K, Gs).
at_most(K, Gs) :- N is K + 1, \+ at_least(N, Gs).
"""


def tree_rules(tree: Tree) -> str:
    from neuid3.tree.tree import paths

    lines, numbers = [], {test: i for i, test in enumerate(tree.tests)}
    for test, i in numbers.items():
        goal = str(test)
        lines.append(
            f"t{i} :- ratio(R), R {goal.removeprefix('ratio ')}." if goal.startswith("ratio") else f"t{i} :- {goal} ."
        )
    for i, (path, leaf) in enumerate(paths(tree.root)):
        literals = [f"t{numbers[test]}" if response else f"\\+ t{numbers[test]}" for test, response in path]
        lines.append(f"{leaf.probabilities[1]} :: d{i}.")
        lines.append(f"q :- {', '.join(literals)}, d{i}.")
    return "\n".join(lines)


@pytest.mark.filterwarnings("ignore:Test .* is always:UserWarning")
@settings(relaxed, max_examples=8)
@given(st.integers(0, 10_000))
def test_missing_entries_are_summed_out_over_their_quantiles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    constants = {f"k{i}": float(k) for i, k in enumerate(rng.integers(-2, 4, 4))}
    rules, tree = RULES.format(**constants), random_tree(rng, constants)
    table = random_table(rng)
    X = Examples(table, kinds=dict.fromkeys(NUMBERS, "number"))
    model = NeurosymbolicTree(tree, X.schema, background=rules).learn_priors(X)
    probabilities = model.predict_proba(X)[:, 1]
    for i in range(2):
        row = {name: float(table[name][i]) for name in NUMBERS}
        assert probabilities[i] == pytest.approx(enumerated(tree, rules, row, model.priors), abs=1e-9)
    assert model.verify(X, rows=2) < 1e-9


def clinic(n: int = 200, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "weight": rng.normal(80, 15, n).round(1),
        "height": rng.normal(1.7, 0.1, n).round(2),
        "age": rng.integers(20, 90, n).astype(float),
    }


def test_a_column_with_many_values_stands_for_its_quantiles_in_all_tests_alike() -> None:
    table = clinic()
    X = Examples(table)
    tree = Tree(Branch("weight > 80", Branch("bmi > 30", Leaf(1.0), Leaf(0.5)), Leaf(0.0)))
    rules = "bmi(B) :- B is weight / height ** 2."
    model = NeurosymbolicTree(tree, X.schema, background=rules).learn_priors(X)
    table["weight"][0] = np.nan
    values, weights = quantiles(*model.priors.sample("weight"))
    assert len(values) == QUANTILES
    height = table["height"][0]
    heavy = values > 80
    obese = values / height**2 > 30
    leaves = [weights[heavy & obese].sum(), weights[heavy & ~obese].sum(), weights[~heavy].sum()]
    np.testing.assert_allclose(model.leaf_probabilities(table)[0], leaves, atol=1e-12)


def test_a_rule_may_define_a_number_that_is_a_column() -> None:
    table = {"a": [1.0, 3.0, 2.0, np.nan], "b": [0.0, 1.0, np.nan, 5.0]}
    rules = "size(S) :- b < 3, S is a. size(S) :- b >= 3, S is b. big :- size(S), S >= 2."
    X = Examples(table, kinds=dict.fromkeys(table, "number"))
    tree = Tree(Branch("size > 1.5", Branch("big", Leaf(1.0), Leaf(0.5)), Leaf(0.0)))
    model = NeurosymbolicTree(tree, X.schema, background=rules).learn_priors(X)
    assert model.predict_proba(X)[:2, 1].tolist() == [0.0, 1.0]
    assert model.verify(X, rows=4) < 1e-9


def test_a_table_without_missing_entries_gets_a_variable_for_each_expression() -> None:
    X = Examples(clinic())
    rules = "bmi(B) :- B is weight / height ** 2. tall :- height > 1.8."
    tree = Tree(Branch("tall", Branch("bmi > 25", Leaf(1.0), Leaf(0.0)), Branch("weight > 70", Leaf(0.5), Leaf(0.2))))
    model = NeurosymbolicTree(tree, X.schema, background=rules)
    weight, height = X.column("weight").values, X.column("height").values
    expected = np.where(height > 1.8, weight / height**2 > 25, np.where(weight > 70, 0.5, 0.2))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected)


def test_where_no_clause_defines_a_number_its_comparison_is_false() -> None:
    X = Examples({"weight": [80.0, 80.0], "height": [0.0, 1.6]}, kinds={"weight": "number", "height": "number"})
    rules = "bmi(B) :- height > 0, B is weight / height ** 2."
    for test in ("bmi > 20", "bmi =< 20"):
        model = NeurosymbolicTree(Tree(Branch(test, Leaf(1.0), Leaf(0.0))), X.schema, background=rules).learn_priors(X)
        assert model.predict_proba(X)[0, 1] == 0.0


def test_undefined_results_have_the_prior_of_the_training_rows() -> None:
    X = Examples({"a": [1.0, 4.0, 9.0, 5.0], "b": [1.0, 2.0, 3.0, 0.0]}, kinds={"a": "number", "b": "number"})
    tree = Tree(Branch("a / b > 1.5", Leaf(1.0), Leaf(0.0)))
    model = NeurosymbolicTree(tree, X.schema)
    with pytest.raises(MissingPriorError, match="'a / b' is undefined"):
        model.predict_proba(X)
    assert model.learn_priors(X).predict_proba(X)[3, 1] == pytest.approx(2 / 3)
    given = model.with_priors(Priors(expressions={"a / b": [0.0, 2.0]}))
    assert given.predict_proba(X)[3, 1] == pytest.approx(0.5)


def test_a_model_with_expressions_is_saved_with_their_priors(tmp_path: Path) -> None:
    X = Examples({"a": [1.0, 4.0, np.nan, 5.0], "b": [1.0, 2.0, 3.0, 0.0]}, kinds={"a": "number", "b": "number"})
    rules = "ratio(R) :- R is a / b."
    model = NeurosymbolicTree(
        Tree(Branch("ratio > 1.5", Leaf(0.9), Leaf(0.2))), X.schema, background=rules
    ).learn_priors(X)
    loaded = load(model.save(tmp_path / "ratio.neuid3"))
    assert loaded.priors == model.priors
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


# Columns against networks, errors, safety ---------------------------------------------------------


def test_a_column_is_compared_with_the_value_of_a_network() -> None:
    rules = "nn(rank_net, [X], R, [1, 2, 3]) :: rank(X, R). above :- rank(card, R), R + 1 > limit."
    program = Program(rules, {"card": Tensor((2, 2)), "limit": Number()})
    text = str(program.formula("above"))
    assert text.count("NeuralVariable") == 3
    assert "constant=4.0" in text


def test_counts_of_networks_and_calculated_numbers_are_exported_for_each_instance() -> None:
    rng = np.random.default_rng(0)
    holes = np.where(rng.random(8) < 0.4, np.nan, rng.normal(70, 10, 8))
    table = {
        "card": rng.random((8, PIXELS)),
        "other": rng.random((8, PIXELS)),
        "limit": rng.integers(1, 5, 8) + 0.5,
        "weight": holes,
        "height": rng.normal(1.7, 0.1, 8),
        "flag": rng.random(8) < 0.5,
    }
    rules = """
        nn(rank_net, [C], R, [1, 2, 3, 4]) :: rank(C, R).
        above(C) :- rank(C, R), R + 0.5 > limit.
        heavy :- weight / height ** 2 > 24.
        some(C) :- at_least(2, [above(C), heavy, flag, rank(C, 2)]).
    """
    second = AtomTest("some(other)", (("rank_net", "rank_net#2"),))
    tree = Tree(
        Branch(
            "some(card)",
            Branch(second, Leaf(0.9), Leaf(0.3)),
            Branch("above(card)", Leaf(0.5), Branch("weight > 70", Leaf(0.4), Leaf(0.1))),
        )
    )
    networks = {"rank_net": TinyNetwork(4, 1, 0), "rank_net#2": TinyNetwork(4, 1, 1)}
    X = Examples(table, kinds={"card": "tensor", "other": "tensor"})
    model = NeurosymbolicTree(tree, X.schema, background=rules, networks=networks).learn_priors(X)
    assert model.verify(X, rows=5) < 1e-9


def test_arithmetic_inside_a_library_is_refused_with_a_hint() -> None:
    with pytest.raises(NodeTestError, match="write the arithmetic in the rule"):
        Program("t :- sum_list([a, b], S), S > 3.", SCHEMA).formula("t")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            "bad :- a + note > 3.",
            "calculates with 'note', a category column; only number columns can be calculated with",
        ),
        ("bad :- a + flag > 3.", "calculates with 'flag', a boolean column"),
        (
            "bad :- a + nothing > 3.",
            "calculates with 'nothing', which is no number column. Known: Weight, a, b, c, day.",
        ),
        ("bad :- sin(a) > 0.", "calculates sin/1 of a column"),
        (
            "bmi(B) :- B is a / b. bad :- bmi > 3.",
            "compares 'bmi', which a rule defines; call it first, as in 'bmi(B1), B1 > 1'",
        ),
        ("bad :- a + flag > 3.", "declare it a number (kinds={'flag': 'number'}, or --type flag=number)"),
        (
            "bad :- report > 3.",
            "compares 'report', a text column; only number columns can be compared; words(report) is",
        ),
        ("bad :- pulse > 3.", "compares 'pulse', a series column; only number columns can be compared; mean(pulse) is"),
        ("bad :- report.", "'report' is a text column; look for a phrase, as in contains(report, 'a phrase')"),
        ("bad :- mean(day) > 3.", "calls 'mean(day)', but 'day' is a date column; mean is computed of a series"),
        ("bad :- mean(puls) > 3.", "calls 'mean(puls)' of 'puls', which is no column. Did you mean 'pulse'?"),
        ("bad :- slope(pulse, 2) > 3.", "calls 'slope(pulse,2)'; write it as in slope(pulse)."),
        ("bad :- share_above(pulse) > 3.", "write it as in share_above(pulse, 90)"),
        ('bad :- contains(report, "chest pain").', "write it as in contains(report, 'a phrase')"),
        ("bad :- weekday(D, monday).", "whose argument D is no column; name a date column, as in weekday(day, monday)"),
        ("bad :- a > '$open'.", "reserved"),
        ("bad :- a is 3.", "compares the name 'a'"),
    ],
)
def test_what_cannot_be_calculated_is_refused_with_its_line(rule: str, words: str) -> None:
    schema = {**SCHEMA, "note": Category(("x", "y")), "flag": Boolean()}
    schema |= {"report": Text(), "pulse": Series((1, 9)), "day": Date(), "Weight": Number()}
    with pytest.raises(RuleError) as caught:
        Program(rule, schema)
    assert words in str(caught.value)
    assert "Line 1" in str(caught.value)


@pytest.mark.parametrize(
    "rule",
    [
        "fine(Y) :- a > Y.",
        "fine :- B is a * 2, B > 3.",
        "fine :- member(X, [1, 2]), a > X.",
        "fine :- findall(X, (member(X, [1, 2]), X > 1), L), length(L, N), N > 0.",
        "fine :- N = 3, a > N.",
        "mean(X) :- member(X, [1]). fine :- mean(X), a > X.",
    ],
)
def test_variables_that_something_binds_are_compared(rule: str) -> None:
    Program(rule, SCHEMA)


@pytest.mark.parametrize(
    "rule", ["t :- contains(report, 'fever').", "t :- contains('report', fever).", "t :- mean('pulse') > 3."]
)
def test_derived_columns_may_have_needless_quotes(rule: str) -> None:
    program = Program(rule, {"report": Text(), "pulse": Series((1, 9))})
    assert columns_of(program.formula("t")) <= {"contains(report, 'fever')", "mean(pulse)"}


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("bad :- Weight > 80.", "compares Weight, a variable that nothing binds"),
        ("bad :- Weight > 80.", "Did you mean 'weight'?"),
        ("bad :- A > 80, A < 90.", "names that begin with a capital letter are variables. Did you mean 'a'?"),
        ("bad :- Size > 80.", "name a column, or bind it first"),
    ],
)
def test_a_variable_that_nothing_binds_is_named_where_its_test_is_grounded(rule: str, words: str) -> None:
    with pytest.raises(NodeTestError) as caught:
        Program(rule, SCHEMA | {"weight": Number()}).formula("bad")
    assert words in str(caught.value)
    assert "In line 1, " in str(caught.value)


def test_a_number_that_is_too_large_is_refused_with_its_entries() -> None:
    X = Examples({"a": [1.0, 1e200]}, kinds={"a": "number"})
    model = NeurosymbolicTree(Tree(Branch("a ** 2 > 4", Leaf(1.0), Leaf(0.0))), X.schema)
    with pytest.raises(DataError, match=r"'a \*\* 2' is too large for a 64-bit float where a = 1e\+200"):
        model.predict_proba(X)


def test_a_test_of_a_number_without_a_comparison_says_how_to_compare_it() -> None:
    with pytest.raises(NodeTestError, match="compare it, as in 'bmi > 1'"):
        Program("bmi(B) :- B is a / b.", SCHEMA).formula("bmi")


def test_a_very_long_expression_is_refused() -> None:
    rules = "sum(0, a). sum(N, X) :- N > 0, M is N - 1, sum(M, Y), X is Y + a. bad :- sum(700, X), X > 1."
    with pytest.raises(NodeTestError, match="more than 1000"):
        Program(rules, SCHEMA).formula("bad")


# The library of counting predicates ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "holds"),
    [
        ("at_least(2, [f, g, h, i])", lambda n: n >= 2),
        ("at_least(0, [f, g, h, i])", lambda n: True),  # noqa: ARG005
        ("at_most(2, [f, g, h, i])", lambda n: n <= 2),
        ("exactly(3, [f, g, h, i])", lambda n: n == 3),
        ("more_than(1, [f, g, h, i])", lambda n: n > 1),
        ("fewer_than(2, [f, g, h, i])", lambda n: n < 2),
        ("any_of([f, g, h, i])", lambda n: n > 0),
        ("all_of([f, g, h, i])", lambda n: n == 4),
        ("none_of([f, g, h, i])", lambda n: n == 0),
    ],
)
def test_counting_is_exact(goal: str, holds: Any) -> None:
    shares = {"f": 0.1, "g": 0.3, "h": 0.6, "i": 0.8}
    facts = " ".join(f"{p} :: {fact}." for fact, p in shares.items())
    X = Examples({"a": [1.0, 5.0]}, kinds={"a": "number"})
    model = NeurosymbolicTree(
        Tree(Branch("t", Leaf(1.0), Leaf(0.0))), X.schema, background=f"{facts} t :- {goal}, a > -9."
    )
    expected = math.fsum(
        math.prod(p if world >> i & 1 else 1 - p for i, p in enumerate(shares.values()))
        for world in range(16)
        if holds(bin(world).count("1"))
    )
    assert model.predict_proba(X)[0, 1] == pytest.approx(expected)
    assert model.verify(X, rows=1) < 1e-9


def test_a_program_that_defines_a_counting_predicate_uses_its_own() -> None:
    X = Examples({"flag": [True, False]})
    rules = "at_least(K, L) :- length(L, K). t :- flag, at_least(2, [no, such])."
    model = NeurosymbolicTree(Tree(Branch("t", Leaf(1.0), Leaf(0.0))), X.schema, background=rules)
    assert model.predict_proba(X)[:, 1].tolist() == [1.0, 0.0]
    assert model.verify(X, rows=2) == 0.0


def test_goals_in_a_counted_list_are_checked() -> None:
    with pytest.raises(RuleError, match="'smokr/0', which nothing defines"):
        Program("risk :- at_least(1, [smokr, a > 3]).", SCHEMA)
    with pytest.raises(RuleError, match=r"calls .consult/1., which is closed"):
        Program("risk :- at_least(1, [consult(x)]).", SCHEMA)
