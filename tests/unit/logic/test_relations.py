"""Rules that are written for relations, and the check of programs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from neuid3 import Examples, NeuID3Classifier
from neuid3.cli.main import main
from neuid3.data.columns import Boolean, Category, Number, Tensor
from neuid3.errors import ParameterError, RuleError, SyntaxErrorInProgram
from neuid3.learning.candidates import make_candidates
from neuid3.logic.check import check_program
from neuid3.logic.program import Program
from neuid3.logic.relations import RELATIONS, relation_rules

IMAGES = {"a": Tensor((4, 4)), "b": Tensor((4, 4))}


def worlds(text: str, test: str, values: int) -> set[tuple[int, int]]:
    """The pairs of values, by index, for which a test of two images is true."""
    program = Program(text, IMAGES)
    formula = program.formula(test)
    from oracles import holds

    from neuid3.logic.formula import sources

    by_input = {variable.inputs[0]: variable for variable in sources(formula)}
    return {
        (i, j)
        for i in range(values)
        for j in range(values)
        if holds(formula, {variable: i if name == "a" else j for name, variable in by_input.items()})
    }


@pytest.mark.parametrize("declared", ["rank[1..4]", "rank[ace, two, three, four]"])
@pytest.mark.parametrize(
    ("relation", "test", "holds"),
    [
        ("order", "rank_higher(a, b)", lambda x, y: x > y),
        ("equal", "rank_equal(a, b)", lambda x, y: x == y),
        ("next", "rank_next(a, b)", lambda x, y: y == x + 1),
        ("above", "rank_above(a, 2)", lambda x, y: x > 2),  # noqa: ARG005
    ],
)
def test_a_relation_of_values_holds_for_these_pairs(declared: str, relation: str, test: str, holds: object) -> None:
    text = relation_rules({declared: [relation]}, Program("", IMAGES))
    expected = {(i - 1, j - 1) for i in range(1, 5) for j in range(1, 5) if holds(i, j)}  # type: ignore[operator]
    assert worlds(text, test, 4) == expected


@pytest.mark.parametrize(
    ("relation", "test", "holds"),
    [
        ("parity", "rank_even(a)", lambda x, y: x % 2 == 0),  # noqa: ARG005
        ("sum", "rank_sum_over(a, b, 5)", lambda x, y: x + y > 5),
        ("difference", "rank_apart(a, b, 1)", lambda x, y: abs(x - y) > 1),
    ],
)
def test_a_relation_of_numbers_holds_for_these_pairs(relation: str, test: str, holds: object) -> None:
    background = "nn(rank_net, [X], R, [1, 2, 3, 4]) :: rank(X, R)."
    text = background + "\n" + relation_rules({"rank": [relation]}, Program(background, IMAGES))
    expected = {(i - 1, j - 1) for i in range(1, 5) for j in range(1, 5) if holds(i, j)}  # type: ignore[operator]
    assert worlds(text, test, 4) == expected
    with pytest.raises(ParameterError, match="needs whole numbers; the values are low, high"):
        relation_rules({"rank[low, high]": [relation]}, Program("", IMAGES))


def test_all_relations_give_tests_and_their_open_numbers_are_found() -> None:
    text = relation_rules({"rank[1..3]": list(RELATIONS)}, Program("", IMAGES))
    tests = {str(test) for test in make_candidates("auto", None, Program(text, IMAGES), 1000).tests}
    assert {
        "rank_higher(a, b)",
        "rank_even(a)",
        "rank_above(b, 1)",
        "rank_above(b, 2)",
        "rank_sum_over(a, b, 5)",
    } <= tests
    assert "rank_sum_over(a, b, 6)" not in tests  # always false


def test_categories_are_related_to_those_that_share_values() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.choice(["x", "y", "z"], (2, 200))
    X = {"first": first, "second": second, "colour": rng.choice(["red", "blue"], 200)}
    clf = NeuID3Classifier(relations={"first": ["equal"]}, random_state=0).fit(X, first == second)
    assert [str(test) for test in clf.tree_.tests] == ["first_equal_second"]
    assert "first_equal_second :- first(X), second(X)." in clf.model_.program.text
    assert clf.model_.verify(X, rows=3) == 0.0


def test_whole_numbers_among_categories_have_an_order() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(1, 5, (2, 300))
    X = Examples({"first": first, "second": second}, kinds={"first": "category", "second": "category"})
    clf = NeuID3Classifier(relations={"first": ["order", "sum"]}, random_state=0).fit(X, first > second)
    assert [str(test) for test in clf.tree_.tests] == ["first_higher_second"]
    clf = NeuID3Classifier(relations={"first": ["order", "sum"]}, random_state=0).fit(X, first + second > 5)
    assert [str(test) for test in clf.tree_.tests] == ["first_sum_over_second(5)"]


@pytest.mark.parametrize(
    ("relations", "error", "words"),
    [
        ({"rank[1..5]": ["oder"]}, ParameterError, "Did you mean 'order'?"),
        ({"rnak": ["order"]}, ParameterError, "Did you mean 'rank'?"),
        ({"rank[1..5]": ["order"]}, RuleError, "leave out its values"),
        ({"suit": ["order"]}, ParameterError, "needs whole numbers"),
        ({"suit": ["equal"]}, ParameterError, "no other category has values of suit"),
        ({"points": ["order"]}, ParameterError, "names a number column; declare it and those that it is related to as"),
        ({"face": ["order"]}, ParameterError, "only true or false; relate it by 'equal'"),
        ({"no key!": ["order"]}, ParameterError, "write a predicate or a column"),
        ({"size[1]": ["order"]}, ParameterError, "two or more different values"),
        ({"rank": ["order"]}, RuleError, "rank_higher/2, which the background knowledge defines too"),
    ],
)
def test_what_cannot_be_related_is_refused(relations: dict[str, list[str]], error: type[Exception], words: str) -> None:
    background = """nn(rank_net, [X], R, [1, 2]) :: rank(X, R). nn(face_net, [X]) :: face(X).
        rank_higher(A, B) :- rank(A, X), rank(B, Y), X > Y."""
    program = Program(background, {**IMAGES, "suit": Category(("hearts", "spades")), "points": Number()})
    with pytest.raises(error) as caught:
        relation_rules(relations, program)
    assert words in str(caught.value)


# Checks -----------------------------------------------------------------------------------------------

WRONG = """risk : smoker.
old :- age > 60,
    sexx(male).
bmi(B) :- B is weight / heigth ** 2.
0.7 :: a; 0.5 :: b.
"""


def test_all_mistakes_are_found_with_line_and_column() -> None:
    schema = {"age": Number(), "weight": Number(), "height": Number(), "sex": Category(("male", "female"))}
    mistakes = check_program(WRONG, schema).mistakes
    assert [mistake.line for mistake in mistakes] == [1, 3, 4, 5]
    assert mistakes[1].column == 5
    for mistake, words in zip(
        mistakes, ("is no fact", "Did you mean 'sex/1'?", "Did you mean 'height'?", "1.2"), strict=True
    ):
        assert words in mistake.message


def test_without_a_table_the_columns_that_a_program_needs_are_listed() -> None:
    text = "nn(n, [C], R, [1, 2]) :: rank(C, R). t :- rank(card, R), R > limit, suit(hearts), at_least(1, [ill, age + 1 > 3])."
    report = check_program(text)
    assert not report.mistakes
    kinds = {name: type(kind).__name__ for name, kind in report.needs.items()}
    assert kinds == {"card": "Tensor", "limit": "Number", "suit": "Category", "ill": "Boolean", "age": "Number"}
    assert report.networks == ({"network": "n", "predicate": "rank", "inputs": 1, "values": ["1", "2"]},)


def test_a_syntax_error_is_that_of_the_parser_with_a_hint() -> None:
    (mistake,) = check_program("a :- b,\n  c(").mistakes
    assert (mistake.line, mistake.message) == (
        2,
        "Incomplete statement. A bracket, an argument or the dot at the end of a clause is missing.",
    )


def test_the_command_reports_offers_needs_and_mistakes(tmp_path: Path) -> None:
    (tmp_path / "rules.pl").write_text("bmi(B) :- B is weight / height ** 2.\nold :- age > 60.\nolder(Y) :- age > Y.\n")
    (tmp_path / "wrong.pl").write_text(WRONG)
    (tmp_path / "table.csv").write_text("age,weight,height\n40,80,1.8\n50,70,1.6\n61,75,1.75\n")
    run = CliRunner().invoke
    done = run(main, ["rules", "check", str(tmp_path / "rules.pl"), str(tmp_path / "table.csv")])
    assert done.exit_code == 0
    assert "Numbers: bmi" in done.output
    assert "Tests with a constant that is found: older(…)" in done.output
    assert "Nothing is wrong with rules.pl for table.csv." in done.output
    done = run(main, ["rules", "check", str(tmp_path / "rules.pl"), "--json"])
    report = json.loads(done.output)
    assert report["needs"] == {name: {"kind": "number"} for name in ("height", "weight", "age")}
    assert report["offers"] == {"tests": ["old"], "numbers": ["bmi"], "families": ["older(…)"]}
    done = run(main, ["rules", "check", str(tmp_path / "wrong.pl"), str(tmp_path / "table.csv")])
    assert done.exit_code == 2
    assert "wrong.pl, line 1, column 1: 'risk:smoker' is no fact" in done.output
    listed = run(main, ["rules", "--list"])
    assert all(name in listed.output for name in (*RELATIONS, "at_least(K, [a, b, c])"))


def test_relations_of_the_command_line_are_those_of_python(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    first, second = rng.choice(["x", "y", "z"], (2, 200))
    rows = "\n".join(f"{a},{b},{'same' if a == b else 'other'}" for a, b in zip(first, second, strict=True))
    (tmp_path / "pairs.csv").write_text(f"first,second,result\n{rows}\n")
    arguments = ["fit", str(tmp_path / "pairs.csv"), "--target", "result", "--relations", "first=equal"]
    done = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path / "pairs.neuid3")])
    assert done.exit_code == 0
    assert "first_equal_second?" in done.output
    done = CliRunner().invoke(main, [*arguments[:-1], "first"])
    assert done.exit_code == 2


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ("at_least(two, [smoker])", "whose number is 'two'; give a whole number"),
        ("at_least(2, smoker)", "whose last argument is no list of goals; write it as in at_least(2, [a, b, c])"),
        ("any_of(smoker)", "write it as in any_of([a, b, c])"),
        ("at_least(3, [smoker, old])", "never true: its list has 2 goals"),
        ("more_than(2, [smoker, old])", "never true: its list has 2 goals"),
        ("exactly(1, [])", "never true: its list has no goal"),
        ("at_most(1.5, [smoker, old])", "whose number is '1.5'"),
    ],
)
def test_wrong_counts_are_named_with_their_place(goal: str, message: str) -> None:
    schema = {"smoker": Boolean(), "old": Boolean()}
    (mistake,) = check_program(f"fine :- at_least(1, [smoker, old]).\nwrong :- {goal}.", schema).mistakes
    assert (mistake.line, mistake.column) == (2, 10)
    assert message in mistake.message


@pytest.mark.parametrize(
    "goal", ["at_least(2, [smoker, old])", "exactly(0, [smoker])", "at_most(5, [smoker])", "all_of([old])"]
)
def test_right_counts_are_no_mistake(goal: str) -> None:
    schema = {"smoker": Boolean(), "old": Boolean()}
    assert check_program(f"r :- {goal}.", schema).mistakes == ()
    assert check_program(f"r(K) :- {goal}, more_than(K, [smoker, old]).", schema).mistakes == ()


def test_without_a_table_dates_texts_and_series_are_needed_too() -> None:
    text = """
        alarm :- contains(note, 'chest pain, 100%'), mean(pulse) > 90.  % mean(nothing)
        weekend :- weekday(seen, saturday).
        spring :- ordered >= 2024-03-01, ordered < '2024-06-01 12:00'.
        slow :- days(ordered, 'Shipped at') > 3, price - 1 > 2.
    """
    report = check_program(text)
    assert not report.mistakes
    kinds = {name: fields["kind"] for name, fields in report.to_json()["needs"].items()}
    dates = dict.fromkeys(("seen", "ordered", "Shipped at"), "date")
    assert kinds == {"note": "text", "pulse": "series", **dates, "price": "number"}
    (mistake,) = check_program("a :- b.\nlate :- ordered > 2024-02-30.").mistakes
    assert str(mistake) == "line 2, column 1: '2024-02-30' is no date of the calendar; correct it."
    (mistake,) = check_program("a :- age > 3,\n  Weight > 80.").mistakes
    assert (mistake.line, mistake.column) == (2, 10)
    assert "compares Weight, a variable that nothing binds" in mistake.message


def test_a_head_of_several_atoms_is_named_with_its_place() -> None:
    (mistake,) = check_program("a :- smoker.\n  b,  c :- smoker.\n").mistakes
    assert (mistake.line, mistake.column) == (2, 3)
    assert "The head of a rule is one atom; write a rule for each." in mistake.message


def test_a_head_that_begins_with_a_capital_letter_is_named_with_its_place() -> None:
    text = "a :- smoker.\n  Old :- age > 60.\n"
    (mistake,) = check_program(text, {"smoker": Boolean(), "age": Number()}).mistakes
    assert (mistake.line, mistake.column) == (2, 3)
    assert "write 'old'" in mistake.message
    with pytest.raises(SyntaxErrorInProgram, match=r"line 2, column 3: .* write 'old'"):
        Program(text, {"smoker": Boolean(), "age": Number()})
