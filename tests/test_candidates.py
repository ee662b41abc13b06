"""Which tests a user would expect, and how to say it when there are too many."""

from __future__ import annotations

import pytest

from neuid3 import Boolean, Category, Number, Tensor
from neuid3.candidates import Mode, make_candidates, neural_facts, read_mode
from neuid3.errors import NodeTestError
from neuid3.logic.program import Program

SCHEMA = {
    "alarm": Boolean(),
    "suit": Category(("clubs", "hearts")),
    "age": Number(),
    "left": Tensor((8, 8)),
    "right": Tensor((8, 8)),
}
RULES = """
nn(rank_net, [I], R, [1, 2, 3]) :: rank(I, R).
nn(same_net, [A, B]) :: same(A, B).
gt(A, B) :- rank(A, X), rank(B, Y), X < Y.
alert :- alarm, rank(left, 1).
never(A) :- rank(A, 7).
of(A, two) :- rank(A, 2).
"""


def names(tests: object, modes: list[str] | None = None, most: int = 100) -> set[str]:
    return {str(test) for test in make_candidates(tests, modes, Program(RULES, SCHEMA), most).tests}


def test_auto_makes_what_columns_and_rules_offer() -> None:
    assert names("auto") == {
        "alarm",
        "suit(clubs)",
        "suit(hearts)",
        "same(left, right)",
        "same(right, left)",
        "gt(left, right)",
        "gt(right, left)",
        "alert",
        "of(left, two)",
        "of(right, two)",
    }
    assert make_candidates("auto", None, Program(RULES, SCHEMA), 100).numbers == ("age",)


def test_too_many_candidates_ask_for_modes() -> None:
    with pytest.raises(NodeTestError, match=r"max_candidates=5.*modes=\['same\(\+left, \+left\)'\]"):
        names("auto", most=5)
    assert names("auto", ["gt(+left, +right)"], most=5) == {"alarm", "suit(clubs)", "suit(hearts)", "gt(left, right)"}


def test_explicit_tests_mix_with_auto() -> None:
    assert "rank(left, 3)" in names(["auto", "rank(left, 3)"])
    assert names(["alarm", "age > 40"]) == {"alarm", "age > 40"}
    assert make_candidates(["age"], None, Program(RULES, SCHEMA), 9).numbers == ("age",)


def test_modes_say_what_may_fill_which_argument() -> None:
    assert read_mode("of(+tensor, two)", SCHEMA) == Mode("of", (("left", "right"), ("two",)))
    assert list(read_mode("gt(+[left, right], +right)", SCHEMA).atoms()) == ["gt(left, right)"]
    with pytest.raises(NodeTestError, match="Did you mean 'left'"):
        read_mode("gt(+lefft, +right)", SCHEMA)
    with pytest.raises(NodeTestError, match="cannot be read"):
        read_mode("Gt(+left", SCHEMA)


def test_each_image_gets_a_network_of_its_own() -> None:
    declared = neural_facts(SCHEMA, [])
    program = Program(RULES + declared, SCHEMA)
    assert {"left_net", "right_net"} <= set(program.networks)
    assert "left_net(left)" in {str(test) for test in make_candidates("auto", None, program, 100).tests}


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ("risk :- Smoker, Age > 50.", "In line 1, Age is a variable; if the column is meant, put it in quotes: 'Age'"),
        ("risk :- 'Smoker', X > 3.", "Test 'risk' cannot be grounded"),
        ("nn(net, [I], D, [0, 1]) :: shown(I, D).\nbad(I) :- shown(I, D), D > E.", "cannot be grounded"),
    ],
)
def test_a_rule_that_cannot_be_asked_is_told(rules: str, reason: str) -> None:
    schema = {"Smoker": Boolean(), "Age": Number(), "scan": Tensor((8, 8))}
    with pytest.warns(UserWarning, match="A rule is never asked") as told:
        make_candidates("auto", None, Program(rules, schema), 100)
    assert any(reason in str(warning.message) for warning in told)


def test_a_rule_for_other_rules_is_no_mistake(recwarn: pytest.WarningsRecorder) -> None:
    schema = {"age": Number(), "ill": Boolean()}
    rules = "next(X, Y) :- Y is X + 1.\nnever :- fail.\nrisk :- ill, age > 50."
    assert "risk" in [str(test) for test in make_candidates("auto", None, Program(rules, schema), 100).tests]
    assert not [warning for warning in recwarn if "never asked" in str(warning.message)]
