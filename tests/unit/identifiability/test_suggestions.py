"""Images whose labels settle most, for networks that read values off pixels."""

from __future__ import annotations

import csv
import io
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
import torch
from corner import ALL_KINDS, NETWORKS, RULES, Corner, cards, fitted, model, pictures

import neuid3
from neuid3 import Branch, Examples, LabelSuggestion, LabelSuggestions, Leaf, NeurosymbolicTree, Tree
from neuid3.errors import DataError, ParameterError
from neuid3.tree.node_tests import AtomTest

ORDERS = ("higher(last, played)", "higher(played, last)")
HIGHER = Branch("higher(last, played)", Leaf(0.9), Leaf(0.1))
RED = Branch("red(card)", Leaf(0.9), Leaf(0.2))


def settled(suggestions: LabelSuggestions) -> list[LabelSuggestion]:
    return [suggestion for suggestion in suggestions if suggestion.settles]


# Labels of the certificate ----------------------------------------------------------------------------


def test_one_image_rules_out_the_opposite_order() -> None:
    X = cards(300)
    tree = model(HIGHER, X, ORDERS)
    ((_, value),) = tree.audit(X).labels
    (suggestion,) = tree.suggest_labels(X, 1)
    assert suggestion.settles
    assert suggestion.predicted == value
    assert suggestion.values == ("1", "2", "3", "4", "5")
    assert "other tests" in suggestion.reason
    assert suggestion.concept in ("rank(last)", "rank(played)")
    after = tree.suggest_labels(X, 1, concepts=LabelSuggestions((suggestion,), (), 300).to_concepts([value]))
    assert not settled(after)
    assert after.notes == ("No label is needed for one reading of the examples.",)


def test_the_image_that_the_network_is_most_sure_of_stands_for_a_value() -> None:
    doubts = np.random.default_rng(1).permutation(200)[:100] + 20
    ranks = np.random.default_rng(2).integers(1, 6, 100)
    X = Examples({"last": pictures(ranks, doubts=doubts), "played": pictures(ranks[::-1], doubts=250)})
    tree = model(HIGHER, X, ORDERS)
    suggestions = settled(tree.suggest_labels(X, 10))
    assert suggestions
    for suggestion in suggestions:
        rows = np.flatnonzero(ranks == int(suggestion.predicted))
        assert suggestion.columns == ("last",)
        assert suggestion.row == rows[np.argmin(doubts[rows])]
        assert suggestion.probability == pytest.approx(1 - 0.8 * doubts[suggestion.row] / 255)


def even_odd() -> tuple[NeurosymbolicTree, Examples, np.ndarray]:
    """A tree that knows sums of two digits, for pairs of even and of odd digits, and the digits."""
    rules = f"""
    nn(digit_net, [X], D, {list(range(10))}) :: digit(X, D).
    sum(A, B, S) :- digit(A, X), digit(B, Y), S is X + Y.
    """
    pairs = [(0, 6), (2, 8), (4, 6), (4, 8), (1, 5), (3, 7), (1, 9), (3, 9)]
    digits = np.array([*pairs, *((j, i) for i, j in pairs)])
    images = np.zeros((2, len(digits), 8, 8), dtype=np.float32)
    images[:, :, 0, 0] = digits.T

    class Digit(torch.nn.Module):
        def forward(self, image: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.one_hot(image[:, 0, 0].long(), 10).to(image.dtype)

    X = Examples({"first": images[0], "second": images[1]})
    root: Any = Leaf((0.0, 0.0, 0.0, 1.0))
    for k, total in enumerate((12, 10, 6)):
        root = Branch(f"sum(first, second, {total})", Leaf(tuple(float(i == k) for i in range(4))), root)
    tree = NeurosymbolicTree(
        Tree(root, classes=("12", "10", "6", "other")), X.schema, background=rules, networks={"digit_net": Digit()}
    )
    tree.candidates = tuple(f"sum(first, second, {s})" for s in range(19))
    return tree, X, digits


def test_even_odd_needs_one_even_and_one_odd_digit() -> None:
    tree, X, digits = even_odd()
    suggestions = tree.suggest_labels(X, 2)
    assert sorted(int(s.predicted) % 2 for s in suggestions) == [0, 1]
    assert [s.reason for s in suggestions] == ["leaves 6 of 36 readings", "leaves 1 of 6 readings"]
    assert suggestions.notes == ("The first 2 labels leave one reading of the examples.",)
    true = [int(digits[s.row, int(s.columns == ("second",))]) for s in suggestions]
    assert [int(s.predicted) for s in suggestions] == true
    labels = suggestions.to_concepts(true)
    assert tree.suggest_labels(X, concepts=labels).notes[0] == "No label is needed for one reading of the examples."
    half = tree.suggest_labels(X, 1, concepts=suggestions.to_concepts([true[0], None]))
    assert settled(half)[0].reason == "leaves 1 of 6 readings"
    assert int(half[0].predicted) % 2 != true[0] % 2


def test_labels_that_are_not_what_the_network_says_are_counted() -> None:
    tree, X, digits = even_odd()
    assert tree.suggest_labels(X, concepts={"digit(first)": digits[:, 0]}).notes[0].startswith("No label is needed")
    read_otherwise = np.where(digits[:, 0] == 4, 6, digits[:, 0])
    notes = tree.suggest_labels(X, concepts={"digit(first)": read_otherwise}).notes
    assert notes[0] == "Labels that are not what the networks say: 2 of 16; reread the tree or fit again with them."


def test_with_fewer_labels_than_needed_the_first_settle_most() -> None:
    tree, X, _ = even_odd()
    one = tree.suggest_labels(X, 1)
    assert one[0].reason == "leaves 6 of 36 readings"
    assert one.notes == ("2 labels leave one reading of the examples; this is the one that settles most.",)


def test_after_the_time_limit_the_notes_say_so() -> None:
    tree, X, _ = even_odd()
    hasty = tree.suggest_labels(X, 5, time_limit=0)
    assert len(hasty) == 5
    assert "reached before a smallest set of labels was found" in hasty.notes[0]
    assert len({s.predicted for s in hasty}) == 5


def test_no_image_is_suggested_twice_also_where_it_is_in_several_cells() -> None:
    images = pictures([1, 2, 3, 4, 5])
    last, played = np.tile(np.arange(5), 5), np.repeat(np.arange(5), 5)
    X = Examples({"last": images[last], "played": images[played]})
    suggestions = model(HIGHER, X, ORDERS).suggest_labels(X, 50)
    assert len(suggestions) == 5
    assert {s.predicted for s in suggestions} == set("12345")
    assert suggestions.notes[-1] == "No more than these 5 images are left to label."
    known = {"rank(last)": [1, *[None] * 24]}  # the same image is in five rows of each column
    assert {s.predicted for s in model(HIGHER, X, ORDERS).suggest_labels(X, 50, concepts=known)} == set("2345")


def test_an_image_that_two_instances_of_a_network_read_alike_is_labelled_once() -> None:
    ranks = np.array([(i, j, red) for i in (1, 2, 3) for j in (1, 2, 3) for red in (0, 1)])
    X = Examples({"last": pictures(ranks[:, 0], ranks[:, 2]), "played": pictures(ranks[:, 1]) + 1})
    first, second = (AtomTest(ORDERS[0], (("rank_net", f"rank_net#{i}"),)) for i in (1, 2))
    root = Branch("red(last)", Branch(first, Leaf(0.9), Leaf(0.1)), Branch(second, Leaf(0.6), Leaf(0.2)))
    networks = {"red_net": NETWORKS["red_net"], **{f"rank_net#{i}": NETWORKS["rank_net"] for i in (1, 2)}}
    tree = NeurosymbolicTree(Tree(root, ("no", "yes")), X.schema, background=RULES, networks=networks)
    labels = tree.audit(X).labels
    assert {network for network, _ in labels} == {"rank_net#1", "rank_net#2"}
    suggestions = tree.suggest_labels(X, 10)
    assert len(settled(suggestions)) == len({value for _, value in labels}) < len(labels)
    assert suggestions.notes == ("The first label leaves one reading of the examples.",)
    assert {s.predicate for s in suggestions} == {"rank", "red"}


# Images that networks are unsure of ---------------------------------------------------------------------


def test_a_sure_image_of_each_value_comes_before_unsure_ones_and_these_before_others() -> None:
    doubts = np.zeros(20)
    doubts[[4, 7, 11]] = 150, 1, 240  # of 255; a network that is sure of 99.8 % is not unsure
    reds = np.ones(20)
    X = Examples({"card": pictures(np.ones(20, dtype=int), reds, doubts=doubts)})
    suggestions = model(RED, X).suggest_labels(X, 4)
    assert [s.row for s in suggestions] == [0, 11, 4, 7]
    assert [s.predicted for s in suggestions] == ["yes"] * 4
    assert [s.reason for s in suggestions] == [
        "the first of its value",
        "red_net is unsure, and the class depends on it",
        "red_net is unsure, and the class depends on it",
        "a further image",
    ]
    assert suggestions[1].probability == pytest.approx(1 - 240 / 255 / 2)


def test_an_image_on_which_little_depends_comes_after_one_on_which_much_does() -> None:
    """Both networks are equally unsure; the class depends on colour much more than on suits."""
    root = Branch("red(last)", Branch("same(last, played)", Leaf(0.52), Leaf(0.5)), Leaf(0.0))
    X = Examples({name: pictures([1] * 6, [1] * 6, doubts=[100] * 6) for name in ("last", "played")})
    suggestions = model(root, X).suggest_labels(X, 2)
    assert [s.predicate for s in suggestions] == ["red", "same"]


def test_values_with_the_fewest_labels_come_first() -> None:
    ranks = np.array([1, 1, 1, 1, 2, 3, 3, 5] * 3)
    X = Examples({"last": pictures(ranks, doubts=np.where(ranks == 1, 200, 10)), "played": pictures(ranks[::-1])})
    tree = model(HIGHER, X)
    suggestions = tree.suggest_labels(X, 8, time_limit=0)
    assert {s.predicted for s in suggestions[:4]} == {"1", "2", "3", "5"}
    assert {s.predicted for s in suggestions[4:]} == {"1", "2", "3", "5"}
    known = {"rank(last)": [1 if rank == 1 else None for rank in ranks]}
    assert "1" not in {s.predicted for s in tree.suggest_labels(X, 3, time_limit=0, concepts=known)}


def test_facts_values_and_networks_of_several_inputs_are_all_suggested() -> None:
    clf, X = fitted()
    suggestions = clf.suggest_labels(X, 12)
    assert {s.predicate for s in suggestions} == {"rank", "red", "same"}
    pair = next(s for s in suggestions if s.predicate == "same")
    assert (pair.concept, pair.columns, pair.values) == ("same(last, played)", ("last", "played"), ("no", "yes"))
    assert suggestions.to_concepts([s.predicted for s in suggestions]).keys() == {s.concept for s in suggestions}
    assert clf.audit(X, concepts=suggestions.to_concepts([s.predicted for s in suggestions])).source == (
        "labels and predictions"
    )


def test_networks_may_read_numbers() -> None:
    class Old(torch.nn.Module):
        def forward(self, age: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(age - 50)

    X = Examples({"age": [20.0, 49.5, 90.0]})
    tree = NeurosymbolicTree(
        Tree(Branch("old(age)", Leaf(0.9), Leaf(0.1)), ("no", "yes")),
        X.schema,
        background="nn(old_net, [X]) :: old(X).",
        networks={"old_net": Old()},
    )
    assert [s.row for s in tree.suggest_labels(X, 3)] == [0, 2, 1]
    (*_, line) = tree.suggest_labels(X, 3).with_cells({"age": ["20", "49.5", "90"]}).to_records()
    assert (line["image"], line["concept"]) == ("49.5", "old(age)")
    assert '"text":"49.5"' in neuid3.label_page(tree.suggest_labels(X), X)


def test_several_networks_of_one_predicate_are_named_by_themselves() -> None:
    background = """
    nn(rank_net, [X], R, [1, 2, 3, 4, 5]) :: rank(X, R).
    nn(other_net, [X], R, [1, 2, 3, 4, 5]) :: rank(X, R).
    """
    X = Examples({"card": pictures([1, 2, 3])})
    tree = NeurosymbolicTree(
        Tree(Branch("rank(card, 1)", Leaf(0.9), Leaf(0.1)), ("no", "yes")),
        X.schema,
        background=background,
        networks={"rank_net": NETWORKS["rank_net"], "other_net": Corner(0, 5)},
    )
    assert {s.predicate for s in tree.suggest_labels(X)} == {"rank_net", "other_net"}


def test_suggestions_are_the_same_every_time_and_change_nothing() -> None:
    clf, X = fitted()
    text, certificate = clf.export_text(), clf.model_.certificate
    state = torch.random.get_rng_state()
    assert str(clf.suggest_labels(X, 9)) == str(clf.suggest_labels(X, 9))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert clf.model_.certificate is certificate
    assert clf.export_text() == text


# Missing images, trees without networks, mistakes ---------------------------------------------------------


def test_missing_images_are_not_suggested() -> None:
    X = cards(20)
    kept = np.arange(20) % 2 == 0
    holes = Examples({"last": [img if keep else None for img, keep in zip(X.column("last").values, kept, strict=True)],
                      "played": X.column("played").values})  # fmt: skip
    suggestions = model(HIGHER, holes, ORDERS).suggest_labels(holes, 40)
    assert {s.row for s in suggestions if s.columns == ("last",)} == set(np.flatnonzero(kept).tolist())
    assert {s.row for s in suggestions if s.columns == ("played",)} == set(range(20))


def test_a_table_whose_images_are_all_missing_or_labelled_says_so() -> None:
    X = cards(4)
    tree = model(HIGHER, X)
    gone = Examples.read({"last": [None] * 4, "played": [None] * 4}, X.schema)
    suggestions = tree.suggest_labels(gone)
    assert len(suggestions) == 0
    assert suggestions.notes[-1].endswith("nothing is left to label.")
    assert "No row has all entries" in suggestions.notes[0]
    labelled = tree.suggest_labels(X, concepts={"rank(last)": [1, 2, 3, 4], "rank(played)": [1, 2, 3, 4]})
    assert len(labelled) == 0
    assert str(labelled).endswith("nothing is left to label.")


def test_a_tree_without_networks_says_so() -> None:
    X = Examples({"age": [20.0, 30.0]})
    tree = NeurosymbolicTree(Tree(Branch("age =< 25", Leaf(0.9), Leaf(0.1)), ("no", "yes")), X.schema)
    suggestions = tree.suggest_labels(X)
    assert str(suggestions) == "The tree calls no network, so there is nothing to label."
    assert suggestions.to_records() == []


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "5", None])
def test_a_number_of_images_that_is_none_is_refused(n: Any) -> None:
    with pytest.raises(ParameterError, match="give 1 or more"):
        model(HIGHER, cards(4)).suggest_labels(cards(4), n)


@pytest.mark.parametrize(
    ("concepts", "message"),
    [
        ({"rank(lst)": [1] * 4}, "Did you mean"),
        ({"rank(last)": [9, None, None, None]}, "9"),
        ({"rank(last)": [1]}, "1 labels"),
    ],
)
def test_labels_that_do_not_fit_are_refused(concepts: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        model(HIGHER, cards(4)).suggest_labels(cards(4), concepts=concepts)


def test_missing_columns_and_time_limits_are_refused_as_in_the_audit() -> None:
    tree = model(HIGHER, cards(4))
    with pytest.raises(DataError, match="played"):
        tree.suggest_labels(cards(4).select(["last"]))
    with pytest.raises(ParameterError, match="time_limit"):
        tree.suggest_labels(cards(4), time_limit=-1)


# The table to fill in -------------------------------------------------------------------------------------


def test_the_table_to_fill_in_names_files_by_their_paths(tmp_path: Any) -> None:
    X = cards(30)
    paths = {name: [f"{name}/{row}.png" for row in range(30)] for name in ("last", "played")}
    suggestions = model(ALL_KINDS, X).suggest_labels(X, 20).with_cells(paths)
    text = suggestions.to_csv(tmp_path / "labels.csv")
    assert (tmp_path / "labels.csv").read_text() == text
    lines = list(csv.DictReader(io.StringIO(text)))
    assert list(lines[0])[:3] == ["image", "concept", "value"]
    assert lines == [{k: str(v) for k, v in record.items()} for record in suggestions.to_records()]
    assert suggestions.to_frame().astype(str).to_dict("records") == lines
    for line, suggestion in zip(lines, suggestions, strict=True):
        assert (line["value"], line["row"]) == ("", str(suggestion.row))
        assert line["values"].split(", ") == list(suggestion.values)
        if len(suggestion.columns) == 1:
            assert (line["image"], line["concept"]) == (
                paths[suggestion.columns[0]][suggestion.row],
                suggestion.predicate,
            )
        else:
            row = suggestion.row
            assert (line["image"], line["concept"]) == (f"last/{row}.png | played/{row}.png", "same(last, played)")
    assert all(record["image"] == "" for record in model(ALL_KINDS, X).suggest_labels(X, 20).to_records())


def test_filled_values_become_labels_of_their_rows() -> None:
    X = cards(30)
    tree = model(ALL_KINDS, X)
    suggestions = tree.suggest_labels(X, 4)
    frame = suggestions.to_frame()
    frame["value"] = [suggestions[0].predicted, "", None, float("nan")]
    concepts = suggestions.to_concepts(frame["value"])
    assert {len(entries) for entries in concepts.values()} == {30}
    labelled = tree.suggest_labels(X, 200, concepts=concepts)
    free = {(s.row, s.columns, s.predicate) for s in tree.suggest_labels(X, 200)}
    first = (suggestions[0].row, suggestions[0].columns, suggestions[0].predicate)
    assert {(s.row, s.columns, s.predicate) for s in labelled} == free - {first}
    with pytest.raises(DataError, match="3 labels for 4 suggestions"):
        suggestions.to_concepts([1, 2, 3])


def test_columns_with_awkward_names_are_keys_that_the_audit_reads() -> None:
    names = ("First card", "second, (turned)", "it's")
    root: Any = Leaf(0.1)
    background = "nn(red_net, [X]) :: red(X)."
    X = Examples({name: pictures([1, 2], [0, 1]) + i for i, name in enumerate(names)})
    for name in names:
        quoted = name.replace("'", "\\'")
        root = Branch(f"red('{quoted}')", Leaf(0.9), root)
    tree = NeurosymbolicTree(
        Tree(root, ("no", "yes")), X.schema, background=background, networks={"red_net": NETWORKS["red_net"]}
    )
    suggestions = tree.suggest_labels(X, 6)
    assert {s.columns[0] for s in suggestions} == set(names)
    assert "red('First card')" in {s.concept for s in suggestions}
    assert tree.audit(X, concepts=suggestions.to_concepts([s.predicted for s in suggestions])).source == "labels"


def test_suggestions_are_values() -> None:
    X = cards(10)
    suggestions = model(HIGHER, X).suggest_labels(X, 2)
    assert len(suggestions) == 2
    assert list(suggestions) == [suggestions[0], suggestions[1]] == list(suggestions[:2])
    assert suggestions == model(HIGHER, X).suggest_labels(X, 2)
    with pytest.raises(FrozenInstanceError):
        suggestions.rows = 3  # type: ignore[misc]
    lines = str(suggestions).splitlines()
    assert lines[0].split() == ["row", "concept", "network", "says", "why"]
    assert len(lines) >= 3


# The page -------------------------------------------------------------------------------------------------


def test_the_page_needs_the_table_of_the_suggestions() -> None:
    X = cards(10)
    suggestions = model(HIGHER, X).suggest_labels(X, 2)
    with pytest.raises(DataError, match="same table"):
        neuid3.label_page(suggestions, X[:5])
    with pytest.raises(DataError, match="Did you mean"):
        neuid3.label_page(suggestions, {"lest": X.column("last").values, "plyed": X.column("played").values})
    assert neuid3.label_page(suggestions, X) == neuid3.label_page(suggestions, X)
    assert neuid3.label_page(suggestions, X) == neuid3.label_page(
        suggestions, {name: X.column(name).values for name in X.names}
    )
