"""Families of tests: rules with an open constant, numbers that rules define, and counts."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuid3 import AtomTest, Examples, NeuID3Classifier, RandomCandidates
from neuid3.data.columns import Boolean, Number, Tensor
from neuid3.errors import NodeTestError
from neuid3.learning import NodeLearner, ReferenceSplitter, ScoredCandidate
from neuid3.learning.candidates import make_candidates
from neuid3.learning.families import direction_of
from neuid3.learning.splitter import CUT_EXPONENT
from neuid3.logic.program import Program

SCHEMA = {"a": Number(), "b": Number(), "flag": Boolean()}
RULES = r"""
ratio(R) :- b > 0, R is a / b.
score(S) :- flag, S is a + b.
score(S) :- \+ flag, S is 2 * a.
older_than(Years) :- a > Years.
late(Years) :- flag, older_than(Years).
below(K) :- \+ flag, K > a * b.
either(K) :- a >= K ; b >= K, flag.
apart(K) :- \+ a - b > K.
reason(1) :- flag.
reason(2) :- a > 3.
reason(3) :- b > 2.
reasons(Least) :- findall(R, reason(R), Found), length(Found, N), N >= Least.
symptoms(K) :- at_least(K, [flag, a > 3, b > 2]).
exact(N) :- findall(R, reason(R), Found), length(Found, N).
"""


def found(rules: str = RULES, schema: Any = SCHEMA, tests: Any = "auto") -> tuple[dict[str, str | None], list[str]]:
    """The families of a program with their directions, and its tests."""
    candidates = make_candidates(tests, None, Program(rules, schema), 1000)
    return {family.name: family.direction for family in candidates.families}, [str(test) for test in candidates.tests]


@pytest.mark.filterwarnings("ignore:The rule 'reason")
def test_every_rule_with_an_open_number_is_a_family_or_a_list_of_tests() -> None:
    families, tests = found()
    assert families == {
        "ratio > …": ">",
        "score > …": ">",
        "late(…)": ">",  # older_than is there for it
        "below(…)": "<",
        "either(…)": ">=",
        "apart(…)": None,
    }
    assert [test for test in tests if test.startswith("reasons")] == ["reasons(1)", "reasons(2)", "reasons(3)"]
    assert [test for test in tests if test.startswith("symptoms")] == ["symptoms(1)", "symptoms(2)", "symptoms(3)"]
    assert [test for test in tests if test.startswith("exact")] == ["exact(0)", "exact(1)", "exact(2)", "exact(3)"]


def test_a_family_is_named_by_its_number_or_its_head() -> None:
    families, tests = found(tests=["ratio", "older_than(Years)", "flag"])
    assert families == {"ratio > …": ">", "older_than(…)": ">"}
    assert tests == ["flag"]
    families, tests = found(tests=["reasons(Least)", "symptoms(K)"])
    assert not families
    assert tests == [*(f"reasons({k})" for k in (1, 2, 3)), *(f"symptoms({k})" for k in (1, 2, 3))]
    with pytest.raises(NodeTestError, match="not ground"):
        found(tests=["a > Years"])


def test_constants_of_network_values_are_those_that_the_network_has() -> None:
    rules = "nn(rank_net, [X], R, [1, 2, 3]) :: rank(X, R). low(X, K) :- rank(X, R), R =< K."
    families, tests = found(rules, {"card": Tensor((4, 4))})
    assert not families
    assert [test for test in tests if test.startswith("low")] == ["low(card, 1)", "low(card, 2)"]


def table(seed: int, n: int, missing: float) -> tuple[Examples, np.ndarray]:
    rng = np.random.default_rng(seed)
    a, b, flag = rng.integers(0, 7, n) * 1.0, rng.integers(0, 5, n) * 1.0, rng.random(n) < 0.5
    y = (a > b) ^ (flag & (a + b > 5)) ^ (rng.random(n) < 0.1)
    y[:2] = [True, False]
    for column in (a, b):
        column[rng.random(n) < missing] = np.nan
    kinds = {"a": "number", "b": "number", "flag": "boolean"}
    return Examples({"a": a, "b": b, "flag": flag}, kinds=kinds), y


def by_family(candidates: list[ScoredCandidate]) -> dict[str, ScoredCandidate]:
    return {str(c.test).replace(" ", "(").split("(")[0]: c for c in candidates if c.candidate is None}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(6, 30))
def test_one_pass_finds_the_constant_that_the_reference_finds(seed: int, n: int) -> None:
    X, y = table(seed, n, 0.0)
    best_split, compared = NodeLearner.best_split, []

    def checked(self: NodeLearner, node: Any) -> Any:
        offered = self.offered(node)
        fast = by_family(list(self.symbolic.candidates(node, offered)))
        for name, expected in by_family(list(ReferenceSplitter(self.inference, 1.0).candidates(node, offered))).items():
            if expected.gain > 1e-5:
                assert fast[name].gain == pytest.approx(expected.gain, abs=1e-5)
                compared.append(name)
        return best_split(self, node)

    tests = ["ratio", "score", "late(Years)", "below(K)", "either(K)"]
    with patch.object(NodeLearner, "best_split", checked):
        NeuID3Classifier(background=RULES, tests=tests, min_mass=2.0, max_depth=2, pruning=0).fit(X, y)
    assert compared or n < 12


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_with_missing_entries_the_gain_of_a_family_is_that_of_exact_inference(seed: int) -> None:
    X, y = table(seed, 25, 0.25)
    best_split = NodeLearner.best_split

    def checked(self: NodeLearner, node: Any) -> Any:
        target = self.sample.target_at(node)
        for candidate in self.symbolic.candidates(node, self.offered(node)):
            if isinstance(candidate.test, AtomTest):
                responses = self.inference.conditional(node.path, candidate.test, node.rows)
                assert candidate.gain == pytest.approx(float(target.gain(responses)), abs=1e-9)
        return best_split(self, node)

    with patch.object(NodeLearner, "best_split", checked):
        clf = NeuID3Classifier(background=RULES, tests=["ratio", "late(Y)", "either(K)", "a"], max_depth=2, pruning=0)
        clf.fit(X, y)
    assert clf.model_.verify(X, rows=3) < 1e-9


def test_the_penalty_counts_the_constants_that_were_tried() -> None:
    X, y = table(1, 30, 0.0)
    best_split, choices = NodeLearner.best_split, {}

    def noted(self: NodeLearner, node: Any) -> Any:
        if not node.path:
            for candidate in self.symbolic.candidates(node, self.offered(node)):
                choices[str(candidate.test).split("(")[0]] = candidate.choices
        return best_split(self, node)

    with patch.object(NodeLearner, "best_split", noted):
        NeuID3Classifier(background=RULES, tests=["older_than(Years)"]).fit(X, y)
    distinct = len(set(X.column("a").values.tolist()))
    assert choices["older_than"] == pytest.approx((distinct - 1) ** CUT_EXPONENT)


def test_a_tree_of_families_is_found_and_exported() -> None:
    rng = np.random.default_rng(0)
    n = 400
    X = {
        "weight": rng.normal(80, 18, n).round(1),
        "height": rng.normal(1.72, 0.1, n).round(2),
        "age": rng.integers(18, 90, n),
        "smoker": rng.random(n) < 0.4,
        "diabetic": rng.random(n) < 0.4,
    }
    bmi = X["weight"] / X["height"] ** 2
    count = X["smoker"].astype(int) + X["diabetic"] + (X["age"] > 60)
    y = np.where((bmi > 30) & (count >= 2), "treat", "wait")
    rules = """
        bmi(B) :- B is weight / height ** 2.
        risks(K) :- at_least(K, [smoker, diabetic, age > 60]).
        heavy(B) :- bmi(X), X > B, risks(2).
    """
    clf = NeuID3Classifier(background=rules, random_state=0).fit(X, y)
    assert clf.score(X, y) == 1.0
    assert clf.tree_.depth <= 2
    assert clf.model_.verify(X, rows=5) < 1e-9
    text = str(clf.explain(X, int(np.flatnonzero(y == "treat")[0])))
    assert "at_least(2, …) counts 3 criteria" in text
    assert "age > 60.0" in text


GUIDELINE = r"""
bmi(B) :- B is weight / height ** 2.
arterial(P) :- P is diastolic + (systolic - diastolic) / 3.
wide :- systolic - diastolic > 60.
central :- waist / (100 * height) > 0.5.
risks(K) :- at_least(K, [wide, central, glucose >= 110, cholesterol / hdl > 5, age > 55]).
"""


def clinic(n: int, seed: int) -> tuple[dict[str, Any], np.ndarray]:
    """Ten numbers about patients, and the treatment that a guideline for high blood pressure gives them."""
    rng = np.random.default_rng(seed)
    height, diastolic = rng.normal(1.72, 0.1, n).round(2), rng.normal(85, 11, n).round()
    weight = (rng.normal(26, 5, n) * height**2).round(1)
    X = {
        "age": rng.integers(18, 90, n),
        "weight": weight,
        "height": height,
        "waist": (0.45 * weight + 55 + rng.normal(0, 7, n)).round(),
        "systolic": (diastolic + rng.normal(50, 14, n)).round(),
        "diastolic": diastolic,
        "pulse": rng.normal(72, 11, n).round(),
        "glucose": rng.normal(98, 16, n).round(),
        "cholesterol": rng.normal(205, 38, n).round(),
        "hdl": rng.normal(52, 13, n).clip(20).round(),
    }
    pressure = X["systolic"] - diastolic
    lipids, central = X["cholesterol"] / X["hdl"] > 5, X["waist"] / (100 * height) > 0.5
    risks = 1 * (pressure > 60) + central + (X["glucose"] >= 110) + lipids + (X["age"] > 55)
    treated = np.where(risks >= 3, "drugs", "diet")
    y = np.where(diastolic + pressure / 3 > 107, treated, np.where(weight / height**2 > 30, "diet", "nothing"))
    return X, y


@pytest.mark.parametrize("seed", range(3))
def test_the_guideline_of_a_clinic_is_found_exactly(seed: int) -> None:
    X, y = clinic(600, seed)
    clf = NeuID3Classifier(background=GUIDELINE, random_state=0).fit(X, y)
    assert [str(test) for test in clf.tree_.tests] == ["arterial > 107.2", "risks(3)", "bmi > 30.0"]
    assert clf.score(*clinic(5000, seed + 100)) == 1.0
    assert clf.rule_tests_ == ["wide", "central", *(f"risks({k})" for k in range(1, 6)), "bmi > …", "arterial > …"]


def test_random_candidates_draw_families_too() -> None:
    X, y = table(3, 60, 0.0)
    clf = NeuID3Classifier(
        background=RULES, tests=RandomCandidates(1.0, tests=["ratio", "late(Y)"]), pruning=0, max_depth=1
    )
    assert str(clf.fit(X, y).tree_.root.test).startswith(("ratio >", "late("))


def test_only_monotone_formulas_have_a_direction() -> None:
    program = Program(RULES, SCHEMA)
    formulas = program.formulas_or_none(["either('$open')", "apart('$open')"])
    assert [direction_of(formula) for formula in formulas if formula is not None] == [">=", None]
