"""Certificates of trees about cards, from Python, whose networks read the value off a pixel."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

import neuid3
from neuid3 import Branch, Examples, Leaf, Limits, NeurosymbolicTree, Tree
from neuid3.errors import DataError, ParameterError
from neuid3.identifiability import certify, equivalence_classes, rewritings, short_forms
from neuid3.tree.node_tests import AtomTest

RULES = """
nn(red_net, [X]) :: red(X).
nn(face_net, [X]) :: face(X).
nn(rank_net, [X], R, [1, 2, 3, 4, 5, 6, 7]) :: rank(X, R).
nn(suit_net, [X], S, [clubs, diamonds, hearts, spades]) :: suit(X, S).
colour_changes(A, B) :- red(A), \\+ red(B).
colour_changes(A, B) :- \\+ red(A), red(B).
face_changes(A, B) :- face(A), \\+ face(B).
face_changes(A, B) :- \\+ face(A), face(B).
higher(A, B) :- rank(A, X), rank(B, Y), X < Y.
next(A, B) :- rank(A, X), rank(B, Y), Y =:= X mod 7 + 1.
same_suit(A, B) :- suit(A, S), suit(B, S).
top(A) :- rank(A, R), R > 4.
club(A) :- suit(A, clubs).
"""

CANDIDATES = tuple(
    f"{rule}({', '.join(columns)})"
    for rule, arity in {
        "colour_changes": 2,
        "face_changes": 2,
        "higher": 2,
        "next": 2,
        "same_suit": 2,
        "top": 1,
    }.items()
    for columns in ([("last", "played"), ("played", "last")] if arity == 2 else [("last",), ("played",)])
)


class Pixel(torch.nn.Module):
    """A network that is certain of the value written in one pixel of an image."""

    def __init__(self, pixel_index: int, width: int) -> None:
        super().__init__()
        self.pixel_index, self.width = pixel_index, width

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        value = image.reshape(len(image), -1)[:, self.pixel_index].round().long()
        one_hot = torch.nn.functional.one_hot(value.clamp(min=0), max(self.width, 2)).to(image.dtype)
        return one_hot[:, 1:] if self.width == 1 else one_hot


NETWORKS = {
    "red_net": Pixel(0, 1),
    "face_net": Pixel(1, 1),
    "rank_net": Pixel(2, 7),
    "suit_net": Pixel(3, 4),
}


def cards(n: int = 400, seed: int = 0, ranks: int = 7) -> Examples:
    """Rows of two cards with all values at random; the first pixels are colour, face, rank and suit."""
    draw, noise = np.random.default_rng(seed), np.random.default_rng(seed + 1)

    def images() -> np.ndarray:
        pixels = np.zeros((n, 1, 2, 4), dtype=np.float32)
        pixels[:, 0, 1] = noise.random((n, 4))  # no two cards are the same picture
        for pixel_index, size in enumerate((2, 2, ranks, 4)):
            pixels[:, 0, 0, pixel_index] = draw.integers(0, size, n)
        return pixels

    return Examples({"last": images(), "played": images(), "late": draw.random(n) < 0.5, "age": draw.normal(40, 9, n)})


def model(root: Any, candidates: tuple[str, ...] | None = CANDIDATES, rules: str = RULES) -> NeurosymbolicTree:
    tree = Tree(root, classes=("lose", "win"))
    names = {name for name in NETWORKS if f"nn({name}" in rules}
    built = NeurosymbolicTree(tree, cards(2).schema, background=rules, networks={n: NETWORKS[n] for n in names})
    built.candidates = candidates
    return built


HIGHER = Branch("higher(last, played)", Leaf(0.9), Leaf(0.1))
FACES = Branch("face_changes(last, played)", Leaf(0.9), Leaf(0.2))


def only(certificate: Any) -> Any:
    (network,) = certificate.networks
    return network


# Structure --------------------------------------------------------------------------------------------


def test_an_order_is_fixed_up_to_reversal_and_one_label_settles_it() -> None:
    certificate = model(HIGHER).audit(cards())
    assert only(certificate).fixed_up_to == "reversal"
    assert not only(certificate).is_fixed
    assert certificate.symmetries == 1
    assert certificate.rewritings == (
        "higher(last, played) could be higher(played, last), with the values of rank_net reversed.",
    )
    assert str(certificate.readings) == "1"
    ((name, value),) = certificate.labels
    assert (name, certificate.labels_are_smallest) == ("rank_net", True)
    assert value != "4"  # which reversal leaves as it is


def test_an_order_whose_opposite_is_no_candidate_is_fixed() -> None:
    certificate = model(HIGHER, ("higher(last, played)",)).audit(cards())
    assert only(certificate).is_fixed
    assert certificate.rewritings == ()
    assert "No label is needed." in str(certificate)


def test_colour_and_face_could_be_exchanged_and_so_could_yes_and_no() -> None:
    certificate = model(FACES).audit(cards())
    assert only(certificate).fixed_up_to == "yes and no exchanged"
    assert only(certificate).equivalent == ("red_net",)
    assert len(certificate.rewritings) == 1
    assert certificate.readings == neuid3.identifiability.ReadingCount(2, True)
    assert len(certificate.labels) == 1


def test_networks_of_another_architecture_are_not_exchanged() -> None:
    tree = model(FACES)
    assert neuid3.identifiability.audit_model(tree, cards(), networks={"red_net": lambda: torch.nn.Linear(3, 1)})
    assert only(tree.certificate).equivalent == ()
    assert neuid3.identifiability.audit_model(tree, cards(), networks={"red_net": lambda: Pixel(5, 1)})
    assert only(tree.certificate).equivalent == ("red_net",)
    assert neuid3.identifiability.audit_model(tree, cards(), networks={"red_net": Pixel(5, 1)})
    assert only(tree.certificate).equivalent == ()  # it came trained


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        (Branch("next(last, played)", Leaf(0.9), Leaf(0.1)), "reversal and a shift"),
        (Branch("same_suit(last, played)", Leaf(0.9), Leaf(0.1)), "any permutation"),
        (Branch("club(last)", Leaf(0.9), Leaf(0.1)), "any permutation within {diamonds, hearts, spades}"),
        (
            Branch("top(last)", Leaf(0.9), Leaf(0.1)),
            "any permutation within {1, 2, 3, 4} and any permutation within {5, 6, 7}",
        ),
        (Branch("red(last)", Leaf(0.9), Leaf(0.1)), "nothing"),
        (Branch("top(last)", Leaf(0.5), Leaf(0.5)), "any permutation"),  # the network changes no prediction
    ],
)
def test_what_is_left_open_has_a_name(root: Branch, expected: str) -> None:
    assert only(model(root).audit(cards())).fixed_up_to == expected


def test_a_shift_alone_where_the_opposite_is_no_candidate() -> None:
    root = Branch("next(last, played)", Leaf(0.9), Leaf(0.1))
    certificate = model(root, ("next(last, played)",)).audit(cards(2000))
    assert only(certificate).fixed_up_to == "a shift"
    assert certificate.symmetries == 7
    assert str(certificate.readings) == "7"
    assert len(certificate.labels) == 1


def test_values_that_change_together_are_described_together() -> None:
    rules = "nn(red_net, [X]) :: red(X). nn(face_net, [X]) :: face(X). odd(A) :- red(A), \\+ face(A). odd(A) :- \\+ red(A), face(A)."
    certificate = model(Branch("odd(last)", Leaf(0.9), Leaf(0.1)), None, rules).audit(cards())
    assert certificate.symmetries == 2
    assert {network.name: network.fixed_up_to for network in certificate.networks} == {
        "red_net": "yes and no exchanged, together with face_net",
        "face_net": "yes and no exchanged, together with red_net",
    }


def test_products_of_rewritings_are_left_out() -> None:
    root = Branch("higher(last, played)", Leaf(0.9), Branch("same_suit(last, played)", Leaf(0.6), FACES))
    tree = model(root)
    rewritten, complete = rewritings(root, map(AtomTest, CANDIDATES), tree.program)
    assert complete
    assert [sorted(map(str, rewriting.tests)) for rewriting in rewritten] == [
        ["higher(last, played)"],
        ["face_changes(last, played)"],
    ]


def test_two_networks_behind_rules_of_one_form_are_exchanged_together() -> None:
    root = Branch("face_changes(last, played)", Leaf(0.9), Branch("colour_changes(last, played)", Leaf(0.5), Leaf(0.1)))
    certificate = model(root).audit(cards())
    assert {network.name: network.equivalent for network in certificate.networks} == {
        "face_net": ("red_net",),
        "red_net": ("face_net",),
    }
    assert len(certificate.rewritings) == 1
    assert str(certificate.readings) == "4"


def test_instances_of_networks_keep_their_names_in_rewritings() -> None:
    test = AtomTest("higher(last, played)", (("rank_net", "rank_net#1"),))
    tree = Tree(Branch(test, Leaf(0.9), Leaf(0.1)))
    built = NeurosymbolicTree(tree, cards(2).schema, background=RULES, networks={"rank_net#1": NETWORKS["rank_net"]})
    built.candidates = CANDIDATES
    certificate = built.audit(cards())
    assert (only(certificate).name, only(certificate).fixed_up_to) == ("rank_net#1", "reversal")


def test_classes_of_equivalent_candidates() -> None:
    tests = [AtomTest(atom) for atom in CANDIDATES if "same" not in atom and "next" not in atom and "top" not in atom]
    classes = equivalence_classes(tests, model(HIGHER).program)
    assert [[str(test) for test in members] for members in classes] == [
        [str(test) for test in tests[:4]],
        [str(test) for test in tests[4:]],
    ]


# Examples ---------------------------------------------------------------------------------------------


def test_values_that_never_occur_are_listed_and_not_counted() -> None:
    certificate = model(HIGHER).audit(cards(ranks=3))
    assert only(certificate).unused == ("4", "5", "6", "7")
    assert "No example is read as 4, 5, 6, 7." in str(certificate)
    assert certificate.readings is not None
    assert certificate.readings.number == 7 * 6 * 5 // 6  # increasing maps of three values to seven
    assert certificate.examples


def test_labels_take_the_place_of_predictions() -> None:
    X = cards()
    assert model(HIGHER).audit(X).source == "predictions"
    ones = {"rank(last)": np.ones(len(X)), "rank_net(played)": ["2"] * len(X)}
    certificate = model(HIGHER).audit(X, concepts=ones)
    assert certificate.source == "labels"
    assert only(certificate).unused == ("3", "4", "5", "6", "7")
    assert "No example has 3, 4, 5, 6, 7." in str(certificate)
    some = {"rank(last)": [3, None, np.nan, *[None] * (len(X) - 3)]}
    certificate = model(HIGHER).audit(X, concepts=some)
    assert certificate.source == "labels and predictions"
    assert "labels and, without one, most probable values" in str(certificate)


def test_a_name_without_columns_is_enough_for_a_network_that_is_called_once() -> None:
    tree = model(Branch("top(last)", Leaf(0.9), Leaf(0.1)))
    assert only(tree.audit(cards(), concepts={"rank": [5] * 400})).unused == ("1", "2", "3", "4", "6", "7")


@pytest.mark.parametrize(
    ("concepts", "message"),
    [
        ({"rnk(last)": [1] * 400}, "Did you mean 'rank'"),
        ({"rank": [1] * 400}, "could be of rank(last) or rank(played)"),
        ({"rank(lst)": [1] * 400}, "the column 'lst', which does not exist. Did you mean 'last'"),
        ({"rank(late)": [1] * 400}, "the column 'late', which no network can read"),
        ({"rank(last)": [1] * 399}, "'rank(last)' has 399 labels for 400 rows"),
        ({"rank(last)": [*[1] * 399, 9]}, "has the label 9 in row 399, which is no value of 'rank'"),
        ({"rank(last)": "1"}, "are of type str"),
        ({"rank(last)": [1] * 400, "rank_net(last)": [2] * 400}, "Two labels for one image"),
    ],
)
def test_labels_that_do_not_fit_are_refused(concepts: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as error:
        model(HIGHER).audit(cards(), concepts=concepts)
    assert message in str(error.value)


def test_labels_may_stand_in_columns_and_be_of_networks_that_the_tree_does_not_call() -> None:
    X = cards()
    columns = {name: X.column(name).values for name in X.names}
    labels: list[Any] = [3, *[None] * (len(X) - 1)]
    certificate = model(HIGHER).audit({**columns, "rank(last)": labels}, concepts={"suit(played)": {5: "hearts"}})
    assert certificate.source == "labels and predictions"
    assert model(HIGHER).audit(X, concepts={"suit(played)": {5: "hearts"}}).source == "predictions"


def test_labels_that_contradict_the_class_are_reported_with_a_smallest_set() -> None:
    root = Branch("late", Leaf(0.9), Branch("top(last)", Leaf(0.2), HIGHER))
    X, n = cards(), 400
    late = np.asarray(X.column("late").values, dtype=bool)
    y = ["win"] * n
    row = int(np.flatnonzero(~late)[0])
    labels: list[Any] = [None] * n
    labels[row] = 6
    others: list[Any] = [None] * n
    others[row] = 7
    certificate = model(root).audit(X, y, concepts={"rank(last)": labels, "rank(played)": others})
    assert certificate.contradictions is not None
    assert certificate.contradictions.rows == (row,)
    assert certificate.contradictions.smallest == f"row {row}: rank(last) = 6, and the class win"
    assert f"row {row}: rank(last) = 6" in str(certificate)
    labels[row] = 2
    assert model(root).audit(X, y, concepts={"rank(last)": labels}).contradictions is None


def test_classes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="one class for each"):
        model(HIGHER).audit(cards(), ["win"])
    with pytest.raises(DataError, match="'winn'"):
        model(HIGHER).audit(cards(), ["winn"] * 400)


def test_rows_with_missing_entries_are_left_out_and_counted() -> None:
    X = cards(50)
    late = [None, None, *np.asarray(X.column("late").values)[2:].tolist()]
    images = np.array(X.column("played").values)
    holed = Examples({"last": X.column("last").values, "played": images, "late": late}, kinds={"late": "boolean"})
    certificate = model(Branch("late", HIGHER, Leaf(0.4))).audit(holed)
    assert (certificate.rows, certificate.incomplete_rows) == (48, 2)
    assert "2 rows have missing entries and are left out." in str(certificate)
    nothing = Examples({"last": images, "played": images, "late": [None] * 50}, kinds={"late": "boolean"})
    certificate = model(Branch("late", HIGHER, Leaf(0.4))).audit(nothing)
    assert certificate.readings is None
    assert only(certificate).fixed_up_to == "reversal"


def test_numbers_and_facts_are_contexts_of_the_readings() -> None:
    root = Branch("late", Branch("age =< 40", HIGHER, Leaf(0.3)), Leaf(0.4))
    certificate = model(root).audit(cards(3000))
    assert str(certificate.readings) == "1"
    never = model(root).audit(cards(3000)[np.asarray(cards(3000).column("age").values) > 40])
    assert never.readings == neuid3.identifiability.ReadingCount(7**7, True)  # no prediction depends on a rank


def test_uncertain_columns_count_with_their_most_probable_value() -> None:
    schema = {**cards(2).schema, "late": neuid3.Probability()}
    tree = Tree(Branch("late", HIGHER, Leaf(0.4)))
    built = NeurosymbolicTree(tree, schema, background=RULES, networks={"rank_net": NETWORKS["rank_net"]})
    X = cards(2000)
    columns = {name: X.column(name).values for name in ("last", "played")}
    often = Examples({**columns, "late": np.full(2000, 0.7)}, kinds={"late": "probability"})
    rarely = Examples({**columns, "late": np.full(2000, 0.3)}, kinds={"late": "probability"})
    assert str(built.audit(often).readings) == "1"
    assert built.audit(rarely).readings == neuid3.identifiability.ReadingCount(7**7, True)


# Limits and forms ---------------------------------------------------------------------------------------


def test_a_time_limit_of_0_gives_bounds_and_says_so() -> None:
    certificate = model(HIGHER).audit(cards(), time_limit=0)
    assert only(certificate).fixed_up_to == "unknown"
    assert certificate.symmetries is None
    assert str(certificate.readings) == "at least 1"
    assert not certificate.labels_are_smallest
    assert "not determined within the limits" in str(certificate)
    for limit in (-1, float("nan"), "1", True):
        with pytest.raises(ParameterError, match="time_limit"):
            model(HIGHER).audit(cards(), time_limit=limit)


def test_many_networks_with_many_candidates_of_one_form_end_in_time() -> None:
    columns = [f"i{k}" for k in range(30)]
    rules = "".join(f"nn(n{k}, [i{k}]) :: f{k}(i{k}).\n" for k in range(30))
    program = neuid3.logic.Program(rules, dict.fromkeys(columns, neuid3.Tensor((8, 8))))
    root: Any = Leaf(0.5)
    for k in range(30):
        root = Branch(f"f{k}(i{k})", Leaf(k / 40), root)
    certificate = certify(root, program, candidates=[AtomTest(f"f{k}(i{k})") for k in range(30)])
    assert certificate.symmetries == 1
    assert all(network.is_fixed for network in certificate.networks)


def test_a_rule_of_many_arguments_is_compared_with_its_candidates_only() -> None:
    columns = [f"i{k}" for k in range(12)]
    head = ", ".join(f"X{k}" for k in range(12))
    rules = f"nn(n, [X], Y, [1, 2, 3]) :: v(X, Y). up({head}) :- v(X0, A), v(X11, B), A < B."
    program = neuid3.logic.Program(rules, dict.fromkeys(columns, neuid3.Tensor((8, 8))))
    forwards, backwards = (f"up({', '.join(names)})" for names in (columns, columns[::-1]))
    certificate = certify(
        Branch(forwards, Leaf(0.9), Leaf(0.1)), program, candidates=[AtomTest(forwards), AtomTest(backwards)]
    )
    assert only(certificate).fixed_up_to == "reversal"


def test_a_circuit_that_is_too_large_leaves_the_meaning_open() -> None:
    tree = model(Branch("higher(last, played)", Leaf(0.9), FACES))
    tree.program.limits = Limits(circuit_nodes=3)
    certificate = tree.audit(cards())
    assert [network.fixed_up_to for network in certificate.networks] == ["unknown", "unknown"]
    assert str(certificate.readings) == "at least 1"
    assert json.loads(json.dumps(certificate.to_json()))["symmetries"] is None


def test_a_tree_without_networks_has_nothing_to_certify() -> None:
    certificate = model(Branch("late", Leaf(0.9), Leaf(0.1))).audit(cards())
    assert certificate.networks == ()
    assert str(certificate) == "The tree calls no network, so there is nothing to certify."


def test_missing_columns_are_the_usual_error() -> None:
    with pytest.raises(DataError, match="played"):
        model(HIGHER).audit(Examples({"last": np.zeros((3, 1, 2, 4), dtype=np.float32)}))


def test_unknown_candidates_are_mentioned() -> None:
    certificate = model(HIGHER, None).audit(cards())
    assert not certificate.candidates_known
    assert "The candidates of the fit are not known" in str(certificate)


def test_json_holds_everything() -> None:
    fields = json.loads(json.dumps(model(FACES).audit(cards()).to_json()))
    assert fields["networks"][0]["equivalent"] == ["red_net"]
    assert fields["readings"] == {
        "number": 2,
        "exact": True,
        "source": "predictions",
        "rows": 400,
        "incomplete_rows": 0,
    }
    assert fields["labels"] == [{"network": "face_net", "value": fields["labels"][0]["value"]}]


def test_structure_alone_needs_no_examples() -> None:
    assert short_forms(model(HIGHER)) == {"rank_net": "fixed up to reversal"}
    assert short_forms(model(Branch("red(last)", Leaf(0.9), Leaf(0.1)))) == {}
    certificate = certify(HIGHER, model(HIGHER).program)
    assert certificate.readings is None


# Exports ------------------------------------------------------------------------------------------------


def test_text_pictures_and_pages_carry_the_short_form() -> None:
    tree = model(Branch("late", HIGHER, Leaf(0.4)))
    line = "rank_net: fixed up to reversal"
    assert neuid3.export_text(tree).endswith(f"\n\n{line}")
    assert f">{line}</text>" in neuid3.export_svg(tree)
    assert line in [artist.get_text() for artist in neuid3.plot_tree(tree) if hasattr(artist, "get_text")]
    page = neuid3.evidence_page(tree, cards(20))
    assert '"fixed":"fixed up to reversal"' in page
    assert line in page


def test_an_audit_without_time_is_shown_as_such_until_the_next_one() -> None:
    tree = model(HIGHER)
    tree.audit(cards(20), time_limit=0)
    assert "rank_net: not determined within the limits" in neuid3.export_text(tree)
    tree.audit(cards(20))
    assert "rank_net: fixed up to reversal" in neuid3.export_text(tree)


def test_trees_without_rules_about_networks_are_shown_as_before() -> None:
    for root in (Branch("late", Leaf(0.9), Leaf(0.1)), Branch("red(last)", Leaf(0.9), Leaf(0.1))):
        tree = model(root)
        assert neuid3.export_text(tree) == neuid3.export_text(tree.tree)
        assert neuid3.export_svg(tree) == neuid3.export_svg(tree.tree)


# Even and odd digits ------------------------------------------------------------------------------------


def test_even_odd_is_certified_on_true_digits() -> None:
    rules = f"""
    nn(digit_net, [X], D, {list(range(10))}) :: digit(X, D).
    sum(A, B, S) :- digit(A, X), digit(B, Y), S is X + Y.
    """
    pairs = [(0, 6), (2, 8), (4, 6), (4, 8), (1, 5), (3, 7), (1, 9), (3, 9)]
    pairs += [(j, i) for i, j in pairs]
    images = np.zeros((2, len(pairs), 8, 8), dtype=np.float32)
    images[:, :, 0, 0] = np.array(pairs).T
    X = Examples({"first": images[0], "second": images[1]})
    root: Any = Leaf((0.0, 0.0, 0.0, 1.0))
    for k, total in enumerate((12, 10, 6)):
        root = Branch(f"sum(first, second, {total})", Leaf(tuple(float(i == k) for i in range(4))), root)
    tree = NeurosymbolicTree(
        Tree(root, classes=("12", "10", "6", "other")),
        X.schema,
        background=rules,
        networks={"digit_net": neuid3.LeNet(10, size=8)},
    )
    tree.candidates = tuple(
        f"sum({a}, {b}, {s})" for a, b in (("first", "second"), ("second", "first")) for s in range(19)
    )
    digits = {"digit(first)": [i for i, _ in pairs], "digit(second)": [j for _, j in pairs]}
    certificate = tree.audit(X, concepts=digits)
    assert certificate.readings == neuid3.identifiability.ReadingCount(36, True)
    assert certificate.source == "labels"
    assert sorted(int(value) % 2 for _, value in certificate.labels) == [0, 1]
    assert certificate.labels_are_smallest
    assert certificate.networks[0].unused == ()
