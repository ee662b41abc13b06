"""Bad input: one clear sentence that names the culprit and the next move, and nothing half-done."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from neuid3 import AtomTest, Branch, Examples, Leaf, Limits, NeuID3Error, NeurosymbolicTree, Priors, Tree
from neuid3.errors import (
    CircuitLimitError,
    ExportError,
    GroundingLimitError,
    MissingPriorError,
    NetworkError,
    NodeTestError,
    RuleError,
    SyntaxErrorInProgram,
    TreeError,
)
from neuid3.logic.program import Program
from neuid3.tree.node_tests import CutTest

X = Examples(
    {
        "card_1": np.zeros((4, 1, 2, 2), dtype=np.float32),
        "card_2": np.ones((4, 1, 2, 2), dtype=np.float32),
        "alarm": [True, False, True, False],
        "suit": ["hearts", "clubs", "hearts", "clubs"],
        "age": [31.0, 42.5, 57.0, 66.0],
        "odd name!": [False, True, True, False],
    }
)


RANKS = "nn(rank_net, [I], R, [1, 2, 3]) :: rank(I, R).\n"


def model(test: str | AtomTest, background: str = "", **more: object) -> NeurosymbolicTree:
    return NeurosymbolicTree(Tree(Branch(test, Leaf(0.9), Leaf(0.1))), X.schema, background=background, **more)


@pytest.mark.parametrize(
    ("program", "kind", "parts"),
    [
        ("a :- b(", SyntaxErrorInProgram, ["line 1", "column 8"]),
        ("a.\nb :- c(1,.\n", SyntaxErrorInProgram, ["line 2"]),
        ("a :- \nrnak(card_1, 1).", RuleError, ["'a/0'", "'rnak/2'", "nothing defines"]),
        (RANKS + "a :- rnak(card_1, 1).", RuleError, ["Line 2", "Did you mean 'rank/2'?"]),
        ("a :- \\+ findall(X, zork(X), _).", RuleError, ["zork/1"]),
        ("a :- maplist(zork, [1]).", RuleError, ["zork/1"]),
        ("a :- alarn.", RuleError, ["Did you mean 'alarm/0'?"]),
        ("a :- suit(heart).", RuleError, ["suit", "hearts"]),
        ("a :- alarm(1).", RuleError, ["without arguments"]),
        ("a :- card_1.", RuleError, ["tensor column"]),
        ("a :- age.", RuleError, ["compare it"]),
        ("a :- suit > 3.", RuleError, ["only number columns"]),
        ("a :- agee > 3.", RuleError, ["Did you mean 'age'?"]),
        ("a :- (alarm -> age > 3 ; true).", RuleError, ["Line 1", "'->'", "write (a, b ; \\+ a, c)"]),
        ("b.\na :- \\+ (alarm -> b).", RuleError, ["Line 2", "'->'"]),
        ("a :- findall(X, (alarm -> X = 1), L), L = [].", RuleError, ["'->'"]),
        ("a :- alarm, !.", RuleError, ["'!'", "no cut", "\\+"]),
        ("a :- age @< 3.", RuleError, ["compares the name 'age'"]),
        ("forall(a, b).", RuleError, ["built in"]),
        ("a :- '_directive'.", RuleError, ["'_directive/0'", "closed"]),
        ("a :- findall(X, '_lists_member'(X, [1]), L), L = [].", RuleError, ["'_lists_member/2'", "closed"]),
        ("neuid3_number(a).", RuleError, ["'neuid3_'", "rename"]),
        ("% one\ra.\r% two\rb :- zork.", RuleError, ["Line 4", "zork/0"]),
        ("% one\r\na.\r\n\r\nb :- zork.", RuleError, ["Line 4", "zork/0"]),
        ("a.\rb :- c(1,.\r", SyntaxErrorInProgram, ["line 2"]),
        ("nn(n, [I], R, [1, (a, b), (a, b)]) :: v(I, R).", RuleError, ["different"]),
        ("evidence(a). a.", RuleError, ["evidence", "refused"]),
        ("query(a). a.", RuleError, ["query", "refused"]),
        ("a :- query(b).", RuleError, ["query/1"]),
        ("1.7::a.", RuleError, ["1.7", "[0, 1]"]),
        ("-0.1::a.", RuleError, ["[0, 1]"]),
        ("0.7::a; 0.5::b.", RuleError, ["sum to 1.2"]),
        ("a; b.", RuleError, ["probability before each head"]),
        ("nn(n, [X], Y) :: a(X, Y).", RuleError, ["nn/3"]),
        ("nn(n, X) :: a(X).", RuleError, ["nn(net, [X])"]),
        ("nn(n, []) :: a.", RuleError, ["nn(net, [X])"]),
        ("nn(n, [X], Y, [1, 1]) :: a(X, Y).", RuleError, ["different"]),
        ("nn(n, [X], Y, [1, 2]) :: a(X).", RuleError, ["output"]),
        ("nn(n, [Z]) :: a(X).", RuleError, ["Z", "bind"]),
        ("nn(N, [X]) :: a(X).", RuleError, ["cannot name a network"]),
        ("nn1(x) :: a(x).", RuleError, ["nn(nn1, [x])"]),
        ("alarm :- age > 3.", RuleError, ["'alarm'", "rename"]),
        ("member(X, Y) :- zork.", RuleError, ["zork/0"]),
        ("between(X, Y, Z) :- X = Y, Z = 1.", RuleError, ["built in"]),
        ("'$secret'(1).", RuleError, ["'$'"]),
        (":- use_module('evil.py').", RuleError, ["closed"]),
        ("a :- consult('x.pl').", RuleError, ["consult/1", "closed"]),
        ("a :- write(hello).", RuleError, ["write/1", "closed"]),
    ],
)
def test_a_program_that_makes_no_sense_is_reported(program: str, kind: type[NeuID3Error], parts: list[str]) -> None:
    with pytest.raises(kind) as caught:
        Program(program, X.schema)
    assert isinstance(caught.value, ValueError)
    for word in parts:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("test", "background", "parts"),
    [
        ("rank(card_1, R)", RANKS, ["not ground", "R"]),
        ("alarm, suit(hearts)", "", ["write a rule"]),
        ("\\+ alarm", "", ["write a rule"]),
        ("alarm(", "", ["cannot be parsed"]),
        ("alarn", "", ["'alarn", "alarm"]),
        ("age", "", ["number column", "age =< 2.5"]),
        ("suit", "", ["category column", "suit("]),
        ("card_1", "", ["tensor column"]),
        ("suit(spades)", "", ["no value spades", "hearts"]),
        ("rank(card_3, 1)", RANKS, ["'card_3'", "Did you mean 'card_"]),
        ("rank(alarm, 1)", RANKS, ["'alarm'", "no tensor or number column"]),
        ("age > card_1", "", ["card_1"]),
        ("loop", "loop :- \\+ loop.", ["negation"]),
        ("sneaky", "sneaky :- G =.. [consult, x], call(G).", ["consult/1"]),
        ("sneaky", "sneaky :- atom_number(A, 3), call(A).", ["cannot be grounded"]),
        ("twice", "twice :- age > suit_limit. suit_limit.", ["suit_limit"]),
        ("older", "older :- age + card_1 > 3.", ["card_1", "tensor column"]),
        ("older(age, card_1)", "older(X, Y) :- X > Y.", ["card_1"]),
        ("w", "P::w :- p(P). p(3.5).", ["probability"]),
    ],
)
def test_a_test_that_is_no_ground_atom_is_reported(test: str, background: str, parts: list[str]) -> None:
    with pytest.raises((NodeTestError, RuleError)) as caught:
        model(test, background)
    for word in parts:
        assert word in str(caught.value)


def test_a_test_that_equals_a_column_name_is_that_column() -> None:
    np.testing.assert_allclose(model("odd name!").predict_proba(X)[:, 1], [0.1, 0.9, 0.9, 0.1])


@pytest.mark.parametrize(
    ("network", "parts"),
    [
        (lambda x: torch.full((len(x), 4), 0.25), ["(4, 4)", "(4, 3)"]),
        (lambda x: torch.ones(len(x), 3), ["sum to 1", "softmax"]),
        (lambda x: torch.full((len(x), 3), -1.0), ["no probability", "softmax"]),
        (lambda x: torch.full((len(x), 3), float("nan")), ["NaN"]),
        (lambda x: [0.3] * len(x), ["list"]),
    ],
    ids=["width", "sum", "logits", "nan", "list"],
)
def test_a_network_that_returns_no_distribution_is_named(network: object, parts: list[str]) -> None:
    tree = model("rank(card_1, 1)", RANKS, networks={"rank_net": network})
    with pytest.raises(NetworkError, match="rank_net") as caught:
        tree.predict_proba(X)
    for word in parts:
        assert word in str(caught.value)


def test_networks_are_neither_missing_nor_superfluous() -> None:
    with pytest.raises(NetworkError, match="'rank_net', which is not given"):
        model("rank(card_1, 1)", RANKS)
    spare = {"rank_net": lambda x: x, "rnk_net": lambda x: x}
    with pytest.raises(NetworkError, match=r"'rnk_net' is given.*Did you mean 'rank_net'"):
        model("rank(card_1, 1)", RANKS, networks=spare)


@pytest.mark.parametrize(
    ("test", "background", "parts"),
    [
        ("age =< nan", "", "'nan' is not a number"),
        ("a", "a :- X is inf - inf, age < X.", "'inf-inf' is not a number"),
        ("a", "a :- X is nan, X =:= X.", "'nan' is not a number"),
        ("a", "a :- nan < 1.", "'nan' is not a number"),
        ("age < 9007199254740993", "", "no float equals 9007199254740993"),
        ("older(9007199254740993)", "older(X) :- age > X.", "no float equals 9007199254740993"),
        ("a", "a :- age < 10 ** 400.", "no float equals"),
        ("a", "a :- G = (alarm -> true), call(G).", "ProbLog does not have '->'"),
        ("a", "a :- G =.. ['_lists_select_uniform', x, [1, 2], 1, _], call(G).", "a random choice that is none of its"),
    ],
)
def test_what_cannot_be_decided_is_refused(test: str, background: str, parts: str) -> None:
    with pytest.raises(NeuID3Error, match=re.escape(parts)):
        model(test, background)


@pytest.mark.parametrize(
    ("threshold", "parts"), [(float("nan"), "cannot be cut at nan"), (2**53 + 1, "no float equals")]
)
def test_a_cut_that_cannot_be_decided_is_refused(threshold: float, parts: str) -> None:
    with pytest.raises(NodeTestError, match=parts):
        NeurosymbolicTree(Tree(Branch(CutTest("age", threshold), Leaf(0.9), Leaf(0.1))), X.schema)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("age < inf", [1, 1, 1, 1]),
        ("age >= inf", [0, 0, 0, 0]),
        ("age > -inf", [1, 1, 1, 1]),
        ("age =:= inf", [0, 0, 0, 0]),
        ("age < 42.5 + 1e-20", [1, 0, 0, 0]),
        ("age > 1e-20", [1, 1, 1, 1]),
    ],
)
def test_infinity_and_tiny_numbers_are_compared_as_they_are(test: str, expected: list[int]) -> None:
    made = model(test)
    assert made.leaf_probabilities(X)[:, 0].tolist() == expected
    assert made.verify(X) < 1e-9


def test_a_tiny_constant_is_not_zero() -> None:
    tiny = Examples({"n": [1e-21, 2e-20, -1.0, 3.0]})
    made = NeurosymbolicTree(Tree(Branch("n < 1e-20", Leaf(0.9), Leaf(0.1))), tiny.schema)
    assert made.leaf_probabilities(tiny)[:, 0].tolist() == [1, 0, 1, 0]
    both = Tree(Branch("n < 1e-20", Leaf(0.9), Branch("n < 2e-20", Leaf(0.5), Leaf(0.1))))
    with pytest.raises(ExportError, match="which ProbLog rounds to one number"):
        NeurosymbolicTree(both, tiny.schema).to_problog(tiny)


@pytest.mark.parametrize(
    "background",
    [
        "a :- call(>, age, 40).",
        "a :- maplist(<(age), [60, 70]).",
        "a :- maplist(>, [age, 7], [50, 6]).",
        "a :- include(<(50), [40, 60], L), length(L, 1), age > 40.",
        "a :- partition(>(age), [40, 60], [_], _).",
        "a :- foldl(over, [40, 50], 0, N), N >= 2. over(X, A, B) :- age > X, B is A + 1. over(X, A, A) :- age =< X.",
        "a :- compare(<, 1, 2), G = alarm, call(G), age > 40.",
    ],
)
def test_comparisons_passed_to_other_predicates_are_exported(background: str) -> None:
    assert model("a", background).verify(X) < 1e-9


@pytest.mark.parametrize(
    "background",
    [
        "c(O) :- call(O, age, 40). a :- c(>).",
        "a :- G = (age > 40), G.",
        "a :- G =.. [>, age, 40], call(G).",
        "a :- member(O, [<, >]), call(O, age, 40), alarm.",
    ],
)
def test_comparisons_that_problog_could_not_run_are_refused_by_the_export(background: str) -> None:
    made = model("a", background)
    with pytest.raises(ExportError, match="write the comparison as a goal of its own rule"):
        made.to_problog(X)


def test_grounding_that_explodes_is_stopped_by_its_memory_limit() -> None:
    with pytest.raises(GroundingLimitError, match="250 MB"):
        Program("a :- length(L, 200000000).", X.schema, Limits(seconds=60, megabytes=250)).formula("a")
    assert Program("b.", X.schema).formula("b")


def test_a_circuit_that_grows_too_large_is_refused_politely() -> None:
    # A permanent: every row of a 5 × 5 board of coins picks another column.
    coins = " ".join(f"0.5::coin({r},{c})." for r in range(5) for c in range(5))
    rules = "place([], _). place([C|Cs], R) :- coin(R, C), S is R + 1, place(Cs, S). p :- permutation([0,1,2,3,4], L), place(L, 0)."
    with pytest.raises(CircuitLimitError, match=r"Limits\(circuit_nodes"):
        model("p", f"{coins} {rules}", limits=Limits(circuit_nodes=50))


def test_missing_entries_need_priors() -> None:
    holes = Examples({"alarm": [None, True], "age": [None, 3.5]}, kinds={"alarm": "boolean"})
    tree = NeurosymbolicTree(Tree(Branch("alarm", Leaf(0.9), Leaf(0.1))), holes.schema)
    with pytest.raises(MissingPriorError, match=r"'alarm'.*priors=Priors"):
        tree.predict_proba(holes)
    informed = NeurosymbolicTree(tree.tree, holes.schema, priors=Priors(columns={"alarm": 0.25}))
    assert informed.predict_proba(holes)[0, 1] == pytest.approx(0.25 * 0.9 + 0.75 * 0.1)


def test_a_missing_image_needs_the_average_output_of_its_network() -> None:
    holes = Examples({"card": np.array([[[np.nan]], [[1.0]]])})
    background = "nn(n, [I], P, [odd, even]) :: parity(I, P)."
    network = {"n": lambda x: torch.tensor([[0.8, 0.2]]).expand(len(x), 2)}
    tree = NeurosymbolicTree(
        Tree(Branch("parity(card, odd)", Leaf(1.0), Leaf(0.0))), holes.schema, background=background, networks=network
    )
    with pytest.raises(MissingPriorError, match="'n'"):
        tree.predict_proba(holes)
    assert tree.with_priors(Priors(networks={"n": [0.3, 0.7]})).predict_proba(holes)[:, 1] == pytest.approx([0.3, 0.8])
    assert tree.learn_priors(holes).predict_proba(holes)[:, 1] == pytest.approx([0.8, 0.8])


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: Leaf(1.5), ["[0, 1]"]),
        (lambda: Leaf([0.5, 0.2]), ["sum to 1"]),
        (lambda: Tree(Branch("a", Leaf(0.5), Leaf([0.2, 0.3, 0.5]))), ["3 probabilities"]),
        (lambda: Tree(Leaf(0.5), classes=("a", "a")), ["different classes"]),
        (lambda: Branch("a", Leaf(0.5), 0.3), ["'no' side", "float"]),
    ],
)
def test_a_tree_that_is_not_well_formed_is_refused(make: object, parts: list[str]) -> None:
    with pytest.raises(TreeError) as caught:
        make()
    for word in parts:
        assert word in str(caught.value)


def test_a_goal_known_only_when_it_runs_cannot_be_copied_for_several_instances() -> None:
    background = RANKS + "ask(G) :- call(G, 1). first(R) :- rank(card_1, R). a :- ask(first). "
    networks = {
        "rank_net": lambda x: torch.full((len(x), 3), 1 / 3),
        "second": lambda x: torch.full((len(x), 3), 1 / 3),
    }
    tree = Tree(Branch("a", Branch(AtomTest("a", (("rank_net", "second"),)), Leaf(0.9), Leaf(0.2)), Leaf(0.1)))
    made = NeurosymbolicTree(tree, X.schema, background=background, networks=networks)
    assert made.leaf_probabilities(X)[0] == pytest.approx([1 / 9, 2 / 9, 2 / 3])
    with pytest.raises(ExportError, match="known only when it runs"):
        made.to_problog(X)


def test_a_test_that_can_never_change_is_pointed_out() -> None:
    with pytest.warns(UserWarning, match="'never' is always false"):
        model("never", "never :- fail.")


def test_an_unseen_category_is_other_with_one_warning() -> None:
    tree = model("suit(hearts)")
    with pytest.warns(UserWarning, match="spades") as warned:
        probabilities = tree.predict_proba(Examples({"suit": ["spades", "hearts"]}))
    assert len(warned) == 1
    assert probabilities[:, 1] == pytest.approx([0.1, 0.9])


@pytest.mark.parametrize(
    ("test", "parts"),
    [
        ("age = 42.5", "=:="),
        ("age == 42.5", "=:="),
        ("Suit(hearts)", ""),
        ("suit(3)", "no value 3"),
    ],
)
def test_common_slips_are_met_with_the_right_word(test: str, parts: str) -> None:
    with pytest.raises(NodeTestError) as caught:
        model(test)
    assert parts in str(caught.value)


def test_a_column_that_needs_quotes_says_so() -> None:
    upper = Examples({"Age": [31.5, 42.5]})
    with pytest.raises(NodeTestError, match="in quotes: 'Age'"):
        NeurosymbolicTree(Tree(Branch("Age > 40", Leaf(0.9), Leaf(0.1))), upper.schema)
    assert NeurosymbolicTree(Tree(Branch("'Age' > 40", Leaf(0.9), Leaf(0.1))), upper).predict(upper).tolist() == [
        "neg",
        "pos",
    ]


def test_a_network_that_cannot_read_its_column_is_named() -> None:
    tree = model("rank(card_1, 1)", RANKS, networks={"rank_net": torch.nn.Linear(7, 3)})
    with pytest.raises(NetworkError, match=r"rank_net\(card_1\) failed on inputs of shape \(4, 1, 2, 2\)"):
        tree.predict_proba(X)


def test_what_is_no_schema_or_no_tree_is_reported() -> None:
    with pytest.raises(TreeError, match="wrap your nodes in Tree"):
        NeurosymbolicTree(Branch("alarm", Leaf(0.9), Leaf(0.1)), X.schema)
    with pytest.raises(ValueError, match=r"X\.schema"):
        NeurosymbolicTree(Tree(Leaf(0.5)), {"alarm": [True]})


def test_priors_of_networks_are_checked() -> None:
    networks = {"rank_net": lambda x: torch.full((len(x), 3), 1 / 3)}
    with pytest.raises(ValueError, match="not a distribution"):
        model("rank(card_1, 1)", RANKS, networks=networks, priors=Priors(networks={"rank_net": [1.5, -0.5, 0.0]}))
