"""Candidate tests of columns, rules, modes and named tests, with their warnings and errors."""

from __future__ import annotations

import re

import pytest

from neuid3 import Boolean, Category, Number, Tensor
from neuid3.errors import NodeTestError
from neuid3.learning.candidates import Mode, make_candidates, neural_facts, read_mode
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


def test_modes_restrict_the_columns_of_each_argument() -> None:
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
def test_a_rule_that_cannot_be_a_test_has_a_warning(rules: str, reason: str) -> None:
    schema = {"Smoker": Boolean(), "Age": Number(), "scan": Tensor((8, 8))}
    with pytest.warns(UserWarning, match=r"The rule '\w+(\(I\))?' in line \d is never tried") as messages:
        make_candidates("auto", None, Program(rules, schema), 100)
    assert any(reason in str(warning.message) for warning in messages)


def test_a_rule_for_other_rules_is_no_mistake(recwarn: pytest.WarningsRecorder) -> None:
    schema = {"age": Number(), "ill": Boolean()}
    rules = "next(X, Y) :- Y is X + 1.\nolder(X) :- age > X.\nrisk :- ill, next(49, Y), older(Y)."
    assert "risk" in [str(test) for test in make_candidates("auto", None, Program(rules, schema), 100).tests]
    assert not recwarn


UNTRIED = """older_than(Years) :- age > Years.
reason(ill) :- ill.
between(Low, High) :- age > Low, age < High.
near(Years, Most) :- older_than(Years), abs(age - Years) < Most, ill.
never :- fail.
"""


@pytest.mark.parametrize("images", [{}, {"scan": Tensor((8, 8))}])
def test_a_rule_that_is_never_tried_has_a_warning_with_its_line_and_the_next_move(images: dict[str, Tensor]) -> None:
    schema = {"age": Number(), "ill": Boolean(), **images}
    with pytest.warns(UserWarning, match="is never tried") as warned:
        make_candidates("auto", None, Program(UNTRIED, schema), 100)
    messages = [str(warning.message) for warning in warned]
    assert len(messages) == 3  # older_than is there for near, reason has an instance
    assert "'between(Low,High)' in line 3" in messages[0]
    assert "tests=['auto', 'between(40, 41)'] or modes=['between(40, 41)']" in messages[0]
    assert '--tests "between(40, 41)"' in messages[0]
    assert "'near(Years,Most)' in line 4" in messages[1]
    assert "'near(40, 41)'" in messages[1]
    assert messages[2] == (
        "The rule 'never' in line 5 is never tried. 'never' is always false. No column, fact or network can change it."
    )


def test_a_rule_that_is_named_is_tried_and_not_warned_of(recwarn: pytest.WarningsRecorder) -> None:
    schema = {"age": Number(), "ill": Boolean()}
    program = Program("older_than(Years) :- age > Years.", schema)
    for tests, modes in ((["auto", "older_than(40)"], None), ("auto", ["older_than(40)"]), (["older_than(40)"], None)):
        assert "older_than(40)" in [str(test) for test in make_candidates(tests, modes, program, 100).tests]
    assert not recwarn


LAMPS = """nn(lamp_net, [L], C, [red, amber]) :: colour(L, C).
stop :- colour(lamp, red).
go(L) :- colour(L, gren).
go(L) :- fail, colour(L, red).
sure(L) :- colour(L, C).
"""


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("colour(lamp, green)", "network 'lamp_net' has no value green; its values are red, amber"),
        ("colour(lamp, ambr)", "Did you mean 'amber'?"),
        ("go(lamp)", "always false. In line 3, the rule for 'go/1' calls colour(L,gren), but network 'lamp_net'"),
        ("never", "always false"),
        ("ever", "always true"),
    ],
)
def test_a_named_test_that_can_never_change_is_an_error(test: str, message: str) -> None:
    program = Program(f"{LAMPS}never :- fail.\never :- true.", {"lamp": Tensor((8, 8))})
    with pytest.raises(NodeTestError, match=re.escape(message)):
        make_candidates([test], None, program, 100)
    with pytest.raises(NodeTestError, match=re.escape(message)):
        make_candidates("auto", [test], program, 100)


def test_a_value_that_another_rule_gives_to_a_neural_predicate_may_be_tested() -> None:
    rules = "nn(net, [L], C, [red, amber]) :: colour(L, C).\ncolour(L, green) :- colour(L, red), alarm."
    program = Program(rules, {"lamp": Tensor((8, 8)), "alarm": Boolean()})
    assert [str(test) for test in make_candidates(["colour(lamp, green)"], None, program, 9).tests]


SHAPES = {
    "plate_1": Tensor((8, 24)),
    "plate_2": Tensor((8, 24)),
    "lamp_1": Tensor((3, 8, 8)),
    "lamp_2": Tensor((3, 8, 8)),
}
DIGITS = "nn(plate_net, [P], D, [0, 1, 2]) :: digit(P, D).\n"


def rule_tests(rules: str, tests: object = "auto", modes: list[str] | None = None) -> set[str]:
    return set(make_candidates(tests, modes, Program(rules, SHAPES), 100).expanded)


def test_a_network_is_tried_on_columns_of_the_shape_that_rules_name() -> None:
    low, less = "low(P) :- digit(P, 0).\n", "less(A, B) :- digit(A, X), digit(B, Y), X < Y.\n"
    plates = {"low(plate_1)", "low(plate_2)", "less(plate_1, plate_2)", "less(plate_2, plate_1)"}
    assert rule_tests(f"{DIGITS}{low}{less}first :- digit(plate_1, 0).") == plates | {"first"}
    assert rule_tests(f"{DIGITS}{low}{less}", ["auto", "digit(plate_2, 1)"]) == plates
    named_by_fact = "shown(plate_1).\nsome :- shown(P), digit(P, 2)."
    assert rule_tests(f"{DIGITS}{low}{less}{named_by_fact}") == plates | {"some"}


def test_one_network_does_not_read_two_shapes_in_one_test() -> None:
    less = f"{DIGITS}less(A, B) :- digit(A, X), digit(B, Y), X < Y."
    lamps = {"less(lamp_1, lamp_2)", "less(lamp_2, lamp_1)"}
    assert rule_tests(less) == {"less(plate_1, plate_2)", "less(plate_2, plate_1)"} | lamps
    assert rule_tests(less, "auto", ["less(+[plate_1, lamp_1], +[lamp_2, plate_2])"]) == {
        "less(plate_1, plate_2)",
        "less(lamp_1, lamp_2)",
    }
    with pytest.raises(NodeTestError, match="one network read inputs of different shapes"):
        rule_tests(less, "auto", ["less(+plate_1, +lamp_1)"])


def test_networks_of_different_shapes_may_meet_in_one_test() -> None:
    rules = f"{DIGITS}nn(lamp_net, [L]) :: lit(L).\nboth(P, L) :- digit(P, 0), lit(L).\nnn_named :- lit(lamp_1).\n"
    wanted = {f"both(plate_{i}, lamp_{k})" for i in (1, 2) for k in (1, 2)}
    assert wanted < rule_tests(f"{rules}zero :- digit(plate_1, 0).")
    assert not {test for test in rule_tests(f"{rules}zero :- digit(plate_1, 0).") if test.startswith("both(lamp")}


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            "nn(net, [I]) :: lit(I).\nboth(A, B) :- lit(A), lit(B).",
            r"'both\(A,B\)' in line 2.*fewer columns than it has",
        ),
        ("nn(net, [I]) :: lit(I).\nwithin(A, B) :- age > A, age < B.", r"line 2.*'within\(40, 41\)'"),
    ],
)
def test_the_warning_says_why_a_rule_is_never_tried(rules: str, message: str) -> None:
    with pytest.warns(UserWarning, match=message):
        make_candidates("auto", None, Program(rules, {"scan": Tensor((8, 8)), "age": Number()}), 100)


def test_a_network_of_numbers_is_named_by_a_number_column() -> None:
    with pytest.warns(UserWarning, match=r"'odd\(N\)' in line 1 .*tests=\['auto', 'odd\(age\)'\]"):
        make_candidates("auto", None, Program("nn(net, [N]) :: odd(N).", {"age": Number()}), 100)
