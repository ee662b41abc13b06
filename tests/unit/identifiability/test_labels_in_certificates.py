"""Labels of a fit in certificates, names of instances in text, and rewritings of single instances."""

from __future__ import annotations

from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import neuid3
from neuid3 import Branch, Examples, Leaf, NeurosymbolicTree, Tree
from neuid3.errors import ModelFileError
from neuid3.identifiability import ReadingCount, certify, short_forms, symmetry_group
from neuid3.io.container import SavedFile, read_container, write_container
from neuid3.logic.formula import And, Formula, Literal, NeuralVariable, Or
from neuid3.tree.node_tests import AtomTest

RULES = """
nn(rank_net, [X], R, [1, 2, 3, 4, 5]) :: rank(X, R).
nn(red_net, [X]) :: red(X).
nn(face_net, [X]) :: face(X).
higher(A, B) :- rank(A, X), rank(B, Y), X < Y.
top(A) :- rank(A, R), R > 2.
colour_changes(A, B) :- red(A), \\+ red(B).
colour_changes(A, B) :- \\+ red(A), red(B).
face_changes(A, B) :- face(A), \\+ face(B).
face_changes(A, B) :- \\+ face(A), face(B).
"""
ORDERS = ("higher(a, b)", "higher(b, a)")
CHANGES = ("face_changes(a, b)", "colour_changes(a, b)")


class Pixel(torch.nn.Module):
    """A network that reads the value written in one pixel."""

    def __init__(self, place: int, width: int, backwards: bool = False) -> None:
        super().__init__()
        self.place, self.width, self.backwards = place, width, backwards

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        value = image.reshape(len(image), -1)[:, self.place].round().long()
        value = max(self.width, 2) - 1 - value if self.backwards else value
        one_hot = torch.nn.functional.one_hot(value, max(self.width, 2)).to(image.dtype)
        return one_hot[:, 1:] if self.width == 1 else one_hot


def table(n: int = 200) -> tuple[Examples, np.ndarray, np.ndarray]:
    """Pairs of images with a rank and a colour each, `(column, row)`."""
    draw = np.random.default_rng(0)
    ranks, reds = draw.integers(0, 5, (2, n)), draw.integers(0, 2, (2, n))
    images = np.zeros((2, n, 2, 2), dtype=np.float32)
    images[:, :, 0, 0], images[:, :, 0, 1], images[:, :, 1, 1] = ranks, reds, draw.random((2, n))
    return Examples({"a": images[0], "b": images[1]}), ranks + 1, reds == 1


def model(root: Any, networks: dict[str, Any], candidates: tuple[str, ...] = ORDERS) -> NeurosymbolicTree:
    built = NeurosymbolicTree(Tree(root, ("lose", "win")), table(2)[0].schema, background=RULES, networks=networks)
    built.candidates = candidates
    return built


def ordered(backwards: bool = False, instance: str = "rank_net") -> NeurosymbolicTree:
    bound = () if instance == "rank_net" else (("rank_net", instance),)
    test = AtomTest(ORDERS[backwards], bound)
    return model(Branch(test, Leaf(0.9), Leaf(0.2)), {instance: Pixel(0, 5, backwards)})


# Labels of a fit ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((), "fixed up to reversal"),
        ((2,), "fixed up to reversal"),  # reversal leaves the middle value where it is
        ((0,), "fixed, given labels of 1"),
        ((0, 4), "fixed, given labels of 1 and 5"),
        ((0, 1, 2, 3, 4), "fixed, given labels of 5 values"),
    ],
)
def test_labels_of_the_fit_count_in_the_short_form(values: tuple[int, ...], words: str) -> None:
    tree = ordered()
    tree.labelled_values = {"rank_net": values}
    assert short_forms(tree) == {"rank_net": words}
    assert neuid3.export_text(tree).endswith(f"rank_net: {words}")


def test_labels_leave_permutations_of_the_other_values() -> None:
    tree = model(Branch("top(a)", Leaf(0.9), Leaf(0.2)), {"rank_net": Pixel(0, 5)}, ("top(a)",))
    tree.labelled_values = {"rank_net": (0, 2)}
    assert short_forms(tree) == {"rank_net": "fixed up to any permutation within {4, 5}, given labels of 1 and 3"}


def test_a_network_with_labels_takes_no_other_place() -> None:
    def words(labelled: dict[str, tuple[int, ...]]) -> str:
        tree = model(Branch(CHANGES[0], Leaf(0.9), Leaf(0.2)), {"face_net": Pixel(1, 1)}, CHANGES)
        tree.labelled_values = labelled
        return short_forms(tree)["face_net"]

    assert words({}) == "fixed up to yes and no exchanged; red_net could stand in its place"
    assert words({"face_net": (0,)}) == "fixed, given labels of no"
    assert words({"red_net": ()}) == "fixed up to yes and no exchanged"


@pytest.mark.parametrize("seed", range(12))
def test_permutations_that_keep_labelled_values_are_those_of_enumeration(seed: int) -> None:
    draw = np.random.default_rng(seed)
    size = 4
    variables = [NeuralVariable(0, "net", (column,), (column,), size) for column in "ab"]
    blocks = draw.integers(0, 2, size)  # values of one block are alike
    results = draw.integers(0, 2, (2, 2))
    function = {(i, j): int(results[blocks[i], blocks[j]]) for i, j in product(range(size), repeat=2)}
    formulas: list[Formula] = [
        Or(
            tuple(
                And(tuple(Literal(v, frozenset({x})) for v, x in zip(variables, pair, strict=True)))
                for pair, result in function.items()
                if result == wanted
            )
        )
        for wanted in (0, 1)
    ]
    fixed = set(draw.choice(size, seed % 3, replace=False).tolist())
    by_enumeration = [
        images
        for images in permutations(range(size))
        if all(images[v] == v for v in fixed)
        and all(function[images[i], images[j]] == result for (i, j), result in function.items())
    ]
    group = symmetry_group(formulas, fixed={"net": fixed})
    if group.sizes:  # otherwise no result depends on the network
        assert group.order == len(by_enumeration)
        assert all(generator["net"] in by_enumeration for generator in group.generators)


# Labels that an audit is given ---------------------------------------------------------------------------


def test_an_audit_does_not_ask_for_labels_that_it_has() -> None:
    X, ranks, _ = table()
    free = ordered().audit(X)
    assert free.given is None
    ((_, needed),) = free.labels
    row = int(np.flatnonzero(ranks[0] == int(needed))[0])
    certificate = ordered().audit(X, concepts={"rank(a)": {row: needed}})
    assert certificate.given is not None
    assert (certificate.given.readings, certificate.given.missing) == (ReadingCount(1, True), ())
    assert "The given labels leave one reading; no further label is needed." in str(certificate)
    assert "A smallest set of labels" not in str(certificate)
    assert certificate.networks[0].short_form == f"fixed, given labels of {needed}"
    assert certificate.to_json()["given_labels"]["missing"] == []
    middle = int(np.flatnonzero(ranks[0] == 3)[0])
    open_ = ordered().audit(X, concepts={"rank(a)": {middle: 3}})
    assert open_.given is not None
    assert len(open_.given.missing) == 1
    assert "The given labels leave 1 reading; a smallest set of further labels: rank_net = " in str(open_)


def test_labels_of_the_fit_are_not_asked_for_again() -> None:
    X, _, _ = table()
    tree = ordered()
    tree.labelled_values = {"rank_net": (0,)}
    assert "no further label is needed" in str(tree.audit(X))
    assert tree.suggest_labels(X, 3).notes == ("No label is needed for one reading of the examples.",)


def test_labels_that_are_not_what_networks_say_are_told_and_fix_nothing() -> None:
    X, ranks, _ = table()
    certificate = ordered(backwards=True).audit(X, concepts={"rank(a)": {0: ranks[0, 0], 1: ranks[0, 1]}})
    wrong = int((ranks[0, :2] != 3).sum())
    assert f"Labels that are not what the networks say: {wrong} of 2; reread the tree" in str(certificate)
    assert certificate.networks[0].fixed_up_to == "reversal"


def test_a_model_that_is_reread_knows_its_labels(tmp_path: Path) -> None:
    X, ranks, _ = table()
    rows = [int(np.flatnonzero(ranks[0] == rank)[0]) for rank in (1, 4)]
    read = ordered(backwards=True).reread(X, {"rank(a)": {row: ranks[0, row] for row in rows}})
    assert dict(read.labelled_values) == {"rank_net": (0, 3)}
    assert short_forms(read) == {"rank_net": "fixed, given labels of 1 and 4"}
    further = read.reread(X, {"rank(b)": {int(np.flatnonzero(ranks[1] == 2)[0]): 2}})
    assert dict(further.labelled_values) == {"rank_net": (0, 1, 3)}
    loaded = neuid3.load(further.save(tmp_path / "read"), networks={"rank_net": lambda: Pixel(0, 5, backwards=True)})
    assert short_forms(loaded) == short_forms(further)
    # Labels of the opposite direction turn it back, and those of before hold no more.
    back = further.reread(X, {"rank(a)": {row: 6 - ranks[0, row] for row in range(30)}})
    assert str(back.tree.root.test) == ORDERS[1]  # type: ignore[union-attr]
    assert set(back.labelled_values["rank_net"]) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    "odd", [[], "rank_net", {"rank_net": 3}, {"rank_net": [7]}, {"rank_net": [-1]}, {"other": [0]}, {"rank_net": ["1"]}]
)
def test_odd_labelled_values_in_a_file_are_errors(odd: Any, tmp_path: Path) -> None:
    saved = read_container(ordered().save(tmp_path / "model"))
    saved.fields["labelled_values"] = odd
    write_container(tmp_path / "odd.neuid3", SavedFile(saved.fields, saved.background, saved.tensors))
    with pytest.raises(ModelFileError):
        neuid3.load(tmp_path / "odd.neuid3", networks={"rank_net": lambda: Pixel(0, 5)})


# Instances ----------------------------------------------------------------------------------------------


def test_a_single_instance_has_no_number_in_text() -> None:
    X, _, _ = table()
    tree = ordered(instance="rank_net#30")
    texts = [neuid3.export_text(tree), neuid3.export_svg(tree), str(tree.audit(X)), str(tree.suggest_labels(X))]
    texts.append(str(tree.explain(X)))
    for text in texts:
        assert "rank" in text
        assert "#30" not in text
    assert tree.audit(X).networks[0].name == "rank_net#30"  # the key of `networks`
    assert "#30" not in neuid3.evidence_page(tree, X)


def two_instances() -> NeurosymbolicTree:
    first, second = (AtomTest(ORDERS[0], (("rank_net", f"rank_net#{i}"),)) for i in (4, 9))
    root = Branch("red(a)", Branch(first, Leaf(0.9), Leaf(0.1)), Branch(second, Leaf(0.7), Leaf(0.3)))
    networks = {"red_net": Pixel(1, 1), "rank_net#4": Pixel(0, 5), "rank_net#9": Pixel(0, 5)}
    return model(root, networks)


def test_two_instances_behind_one_rule_are_reversed_apart() -> None:
    X, _, _ = table()
    certificate = two_instances().audit(X)
    words = {network.name: network.short_form for network in certificate.networks}
    assert words["rank_net#4"] == words["rank_net#9"] == "fixed up to reversal"
    assert certificate.rewritings == (
        "higher(a, b) [rank_net#4] could be higher(b, a), with the values of rank_net#4 reversed.",
        "higher(a, b) [rank_net#9] could be higher(b, a), with the values of rank_net#9 reversed.",
    )
    assert {name for name, _ in certificate.labels} == {"rank_net#4", "rank_net#9"}
    assert "rank_net#4: fixed up to reversal" in neuid3.export_text(two_instances())
    # Labels of one instance leave the other as it is.
    tree = two_instances()
    tree.labelled_values = {"rank_net#4": (0,)}
    assert short_forms(tree)["rank_net#4"] == "fixed, given labels of 1"
    assert short_forms(tree)["rank_net#9"] == "fixed up to reversal"


def test_labels_turn_the_one_instance_that_counts_backwards() -> None:
    X, ranks, _ = table()
    first, second = (
        AtomTest(ORDERS[0], (("rank_net", "rank_net#4"),)),
        AtomTest(ORDERS[1], (("rank_net", "rank_net#9"),)),
    )
    root = Branch("red(a)", Branch(first, Leaf(0.9), Leaf(0.1)), Branch(second, Leaf(0.7), Leaf(0.3)))
    networks = {"red_net": Pixel(1, 1), "rank_net#4": Pixel(0, 5), "rank_net#9": Pixel(0, 5, backwards=True)}
    tree = model(root, networks)
    read = tree.reread(X, {"rank(a)": ranks[0]})
    assert [str(test) for test in read.tree.tests] == ["red(a)", ORDERS[0], ORDERS[0]]
    np.testing.assert_allclose(read.predict_proba(X), tree.predict_proba(X))
    assert all(score.accuracy == 1.0 for score in read.score_concepts(X, {"rank(a)": ranks[0]}))


def test_a_certificate_of_a_program_alone_takes_fixed_values() -> None:
    tree = ordered()
    certificate = certify(
        tree.tree.root, tree.program, candidates=map(AtomTest, ORDERS), fixed={"rank_net": (4,), "face_net": ()}
    )
    assert certificate.networks[0].short_form == "fixed, given labels of 5"
    assert certificate.rewritings == ()
