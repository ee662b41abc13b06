"""The form of a tree under which labels are most likely, compared with all forms, and its unchanged predictions."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import neuid3
from neuid3 import Branch, Examples, Leaf, NeurosymbolicTree, Priors, Tree
from neuid3.errors import DataError, ModelFileError
from neuid3.identifiability import Deadline, Rereading, most_likely_rereading
from neuid3.io.container import SavedFile, read_container, write_container
from neuid3.logic.program import Program
from neuid3.networks.defaults import Dense
from neuid3.networks.reordering import ReorderedOutputs, reordered
from neuid3.tree.node_tests import AtomTest
from neuid3.tree.tree import Node, preorder

COLUMNS = ("a", "b")
SCHEMA = Examples({name: np.zeros((1, 2, 2), dtype=np.float32) for name in COLUMNS}).schema
Table = Mapping[tuple[int, int], bool]


def rules(name: str, network: str, table: Table) -> str:
    clauses = [
        f"{name}(A, B) :- {network}_is(A, {i}), {network}_is(B, {j})." for (i, j), holds in table.items() if holds
    ]
    return "\n".join(clauses)


class Case:
    """A program of three rules over two networks with as many values, and a tree of one or two of them."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.n = draw.choice([2, 3])
        cells = list(product(range(self.n), repeat=2))
        kind = draw.choice(["random", "order", "equality", "shift"])
        first = {
            (i, j): {
                "random": draw.random() < 0.5,
                "order": i < j,
                "equality": i == j,
                "shift": j == (i + 1) % self.n,
            }[kind]
            for i, j in cells
        }
        hidden = draw.sample(range(self.n), self.n)
        second = {(hidden[i], hidden[j]): holds for (i, j), holds in first.items()}
        third = {cell: draw.random() < 0.4 for cell in cells}
        self.tables: dict[str, tuple[str, Table]] = {"f": ("p", first), "g": ("q", second), "h": ("p", third)}
        if draw.random() < 0.3:
            self.tables["h"] = ("q", third)
        values = list(range(self.n))
        text = "\n".join(f"nn({net}, [X], V, {values}) :: {net}_is(X, V)." for net in "pq")
        self.text = text + "\n" + "\n".join(rules(name, *of_rule) for name, of_rule in self.tables.items())
        self.program = Program(self.text, SCHEMA)
        used = [name for name in draw.sample("fgh", draw.choice([1, 2])) if any(self.tables[name][1].values())]
        self.usable = [name for name in "fgh" if any(self.tables[name][1].values())]
        root: Node = Leaf(0.3)
        for k, name in enumerate(used):
            columns = draw.sample(COLUMNS, 2)
            root = Branch(AtomTest(f"{name}({', '.join(columns)})"), Leaf(0.9 - k / 10), root)
        self.root = root
        self.candidates = [AtomTest(f"{name}({a}, {b})") for name in self.usable for a, b in permutations(COLUMNS)]
        noise = np.random.default_rng(seed)
        labelled = draw.choice([["p"], ["q"], ["p", "q"]])
        self.likelihoods = {
            (instance, network): noise.normal(-1, 2, (self.n, self.n)) for instance in "pq" for network in labelled
        }

    def result(self, root: Node, values: Mapping[tuple[str, str], int]) -> tuple[float, ...]:
        """The class distribution of a tree for values of networks by network and column."""
        node = root
        while isinstance(node, Branch):
            name, arguments = str(node.test)[0], str(node.test)[2:-1].split(", ")
            network, table = self.tables[name]
            i, j = (values[network, column] for column in arguments)
            node = node.yes if table[i, j] else node.no
        return node.probabilities

    def networks_of(self, root: Node) -> list[str]:
        return sorted(
            {self.tables[str(visit.node.test)[0]][0] for visit in preorder(root) if isinstance(visit.node, Branch)}
        )

    def forms(self) -> Iterator[Node]:
        """The tree with candidates in place of its tests, each of which is the same up to names."""
        used = [visit.node.test for visit in preorder(self.root) if isinstance(visit.node, Branch)]
        for chosen in product(*([new for new in self.candidates if self.alike(old, new)] for old in used)):
            root: Node = Leaf(0.3)
            for k, test in enumerate(reversed(chosen)):
                root = Branch(test, Leaf(0.9 - k / 10), root)
            yield root

    def alike(self, old: Any, new: Any) -> bool:
        """Whether two tests are the same up to the names of networks and values."""
        (table, swapped), (other, other_swapped) = (
            (self.tables[str(test)[0]][1], str(test)[2:-1] == "b, a") for test in (old, new)
        )
        return any(
            all(
                table[(j, i) if swapped else (i, j)]
                == other[(images[j], images[i]) if other_swapped else (images[i], images[j])]
                for i, j in product(range(self.n), repeat=2)
            )
            for images in permutations(range(self.n))
        )

    def all_scores(self) -> Iterator[float]:
        """The likelihood of labels under every form and every naming of networks and values that predicts the same."""
        of_tree = self.networks_of(self.root)
        keys = [(network, column) for network in of_tree for column in COLUMNS]
        assignments = [dict(zip(keys, values, strict=True)) for values in product(range(self.n), repeat=len(keys))]
        expected = [self.result(self.root, values) for values in assignments]
        for form in self.forms():
            if len(self.networks_of(form)) != len(of_tree):
                continue
            for names in permutations(self.networks_of(form)):
                for images in product(permutations(range(self.n)), repeat=len(of_tree)):
                    renamed = dict(zip(of_tree, zip(names, images, strict=True), strict=True))
                    if all(
                        self.result(form, {(renamed[n][0], c): renamed[n][1][v] for (n, c), v in values.items()})
                        == result
                        for values, result in zip(assignments, expected, strict=True)
                    ):
                        yield sum(
                            float(self.likelihoods[old, new][range(self.n), images].sum())
                            for old, (new, images) in renamed.items()
                            if (old, new) in self.likelihoods
                        )

    def identity(self) -> float:
        return sum(
            float(self.likelihoods[network, network].trace())
            for network in self.networks_of(self.root)
            if (network, network) in self.likelihoods
        )


def depends_on_all(case: Case) -> bool:
    """Whether every network of the tree has an effect; the others are not renamed."""
    networks = case.networks_of(case.root)
    keys = [(network, column) for network in networks for column in COLUMNS]
    assignments = [dict(zip(keys, values, strict=True)) for values in product(range(case.n), repeat=len(keys))]
    return all(
        any(
            case.result(case.root, values) != case.result(case.root, {**values, key: v})
            for values in assignments
            for key in keys
            if key[0] == network
            for v in range(case.n)
        )
        for network in networks
    )


@pytest.mark.parametrize("seed", range(60))
def test_no_form_of_a_small_tree_makes_labels_more_likely(seed: int) -> None:
    case = Case(seed)
    if not isinstance(case.root, Branch) or not depends_on_all(case):
        return
    reading = most_likely_rereading(case.root, case.program, case.likelihoods, candidates=case.candidates)
    best = max(case.all_scores())
    assert reading.gain == pytest.approx(max(best - case.identity(), 0.0), abs=1e-5)
    likelihood = sum(
        float(case.likelihoods[source.instance, reading.declared[name]][list(source.order), range(case.n)].sum())
        for name, source in reading.networks.items()
        if (source.instance, reading.declared[name]) in case.likelihoods
    )
    assert likelihood == pytest.approx(case.identity() + reading.gain, abs=1e-5)


def applied(reading: Rereading, networks: Mapping[str, Any], text: str) -> NeurosymbolicTree:
    made = {
        name: reordered(networks[source.instance], source.order, [(2, 2)])
        if source.is_reordered
        else networks[source.instance]
        for name, source in reading.networks.items()
    }
    return NeurosymbolicTree(Tree(reading.root), SCHEMA, background=text, networks=made)


@pytest.mark.parametrize("seed", range(30))
def test_predictions_stay_the_same(seed: int) -> None:
    case = Case(seed)
    torch.manual_seed(seed)
    networks = {name: Dense(case.n, [4]).eval() for name in case.networks_of(case.root)}
    for network in networks.values():
        network.layers[-1].weight.data *= 10  # type: ignore[union-attr, operator, index]
    X = Examples({name: np.random.default_rng(seed).random((20, 2, 2), dtype=np.float32) for name in COLUMNS})
    before = NeurosymbolicTree(Tree(case.root), SCHEMA, background=case.text, networks=networks)
    reading = most_likely_rereading(case.root, case.program, case.likelihoods, candidates=case.candidates)
    after = applied(reading, networks, case.text)
    np.testing.assert_allclose(after.predict_proba(X), before.predict_proba(X), atol=1e-6)


# Large groups -----------------------------------------------------------------------------------------

VALUES = list(range(13))
LARGE = f"""
nn(p, [X], V, {VALUES}) :: p_is(X, V).
nn(q, [X], V, {VALUES}) :: q_is(X, V).
nn(y, [X]) :: yes(X).
same(A, B) :- p_is(A, V), p_is(B, V).
alike(A, B) :- p_is(A, V), q_is(B, V).
above(A, B) :- p_is(A, V), p_is(B, W), V > W.
top(A) :- p_is(A, V), V > 8.
differ(A, B) :- yes(A), \\+ yes(B).
differ(A, B) :- \\+ yes(A), yes(B).
"""


def chosen(test: str, likelihoods: Any, *candidates: str, **settings: Any) -> Rereading:
    root = Branch(test, Leaf(0.9), Leaf(0.2))
    program = Program(LARGE, SCHEMA)
    return most_likely_rereading(root, program, likelihoods, candidates=map(AtomTest, (test, *candidates)), **settings)


def labels_of(order: list[int], given: Any = VALUES) -> np.ndarray:
    """The likelihood of a label of each given value, where output i shows the value `order[i]`."""
    scores = np.zeros((13, 13))
    for output, value in enumerate(order):
        if value in given:
            scores[:, value] = -5.0
            scores[output, value] = 2.0
    return scores


def test_any_permutation_of_thirteen_values_is_found_by_an_assignment() -> None:
    order = random.Random(0).sample(VALUES, 13)
    reading = chosen("same(a, b)", {("p", "p"): labels_of(order)})
    assert reading.networks["p"].order == tuple(np.argsort(order).tolist())
    assert str(reading.root.test) == "same(a, b)"  # type: ignore[union-attr]


def test_values_without_labels_keep_their_names_where_they_can() -> None:
    order = [1, 0, *range(2, 13)]
    reading = chosen("same(a, b)", {("p", "p"): labels_of(order, given=[0, 5])})
    assert reading.networks["p"].order == (1, 0, *range(2, 13))


def test_permutations_within_a_class_only() -> None:
    order = [*reversed(range(9)), *range(9, 13)]
    reading = chosen("top(a)", {("p", "p"): labels_of(order)})
    assert reading.networks["p"].order == tuple(order)
    crossing = [12, *range(1, 12), 0]  # 0 is not above 8, 12 is
    assert chosen("top(a)", {("p", "p"): labels_of(crossing)}).gain == 0.0


def test_two_networks_whose_values_change_together_are_searched_by_steps() -> None:
    order = random.Random(1).sample(VALUES, 13)
    reading = chosen("alike(a, b)", {("p", "p"): labels_of(order, given=range(7)), ("q", "q"): labels_of(order)})
    assert reading.networks["p"].order == reading.networks["q"].order == tuple(np.argsort(order).tolist())


def test_thirteen_ranks_that_count_backwards_turn_the_order() -> None:
    backwards = labels_of(list(reversed(VALUES)), given=[3])
    reading = chosen("above(a, b)", {("p", "p"): backwards}, "above(b, a)")
    assert str(reading.root.test) == "above(b, a)"  # type: ignore[union-attr]
    assert reading.networks["p"].order == tuple(reversed(VALUES))
    assert reading.gain == pytest.approx(7.0)
    assert chosen("above(a, b)", {("p", "p"): backwards}).gain == 0.0  # the opposite is no candidate
    assert chosen("above(a, b)", {("p", "p"): backwards}, "above(b, a)", fixed=["p"]).gain == 0.0


def test_yes_and_no_are_exchanged() -> None:
    scores = np.array([[-3.0, 1.0], [1.0, -4.0]])
    assert chosen("differ(a, b)", {("y", "y"): scores}).networks["y"].order == (1, 0)


def test_without_time_the_tree_stays_as_it_is() -> None:
    reading = chosen("same(a, b)", {("p", "p"): labels_of(VALUES[::-1])}, deadline=Deadline.after(0))
    assert (reading.gain, reading.changed) == (0.0, {})


def test_a_network_of_another_name_takes_over_where_its_labels_fit() -> None:
    text = """
    nn(red_net, [X]) :: red(X).
    nn(face_net, [X]) :: face(X).
    colour_changes(A, B) :- red(A), \\+ red(B).
    colour_changes(A, B) :- \\+ red(A), red(B).
    face_changes(A, B) :- face(A), \\+ face(B).
    face_changes(A, B) :- \\+ face(A), face(B).
    """
    test = AtomTest("face_changes(a, b)", (("face_net", "face_net#4"),))
    candidates = [AtomTest(f"{rule}(a, b)") for rule in ("colour_changes", "face_changes")]
    likely = {("face_net#4", "red_net"): np.array([[-4.0, 3.0], [3.0, -4.0]])}
    settings: Any = {"candidates": candidates, "name": lambda network: f"{network}#9"}
    root = Branch(test, Leaf(0.9), Leaf(0.1), 0.5, (3.0, 4.0))
    reading = most_likely_rereading(root, Program(text, SCHEMA), likely, **settings)
    assert isinstance(reading.root, Branch)
    assert reading.root.test == AtomTest("colour_changes(a, b)", (("red_net", "red_net#9"),))
    assert (reading.root.gain, reading.root.masses) == (0.5, (3.0, 4.0))
    assert reading.declared == {"red_net#9": "red_net"}
    assert (reading.networks["red_net#9"].instance, reading.networks["red_net#9"].order) == ("face_net#4", (1, 0))
    other = {"face_net#4": "convolutions", "red_net": "layers"}
    assert most_likely_rereading(root, Program(text, SCHEMA), likely, kinds=other, **settings).root is root


# Models -------------------------------------------------------------------------------------------------

RANKS = """
nn(rank_net, [X], R, [1, 2, 3]) :: rank(X, R).
higher(A, B) :- rank(A, X), rank(B, Y), X < Y.
"""


class Level(torch.nn.Module):
    """A network that reads a rank off the first pixel, counting backwards, and is not quite certain."""

    def __init__(self) -> None:
        super().__init__()
        self.slope = torch.nn.Parameter(torch.tensor(4.0))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        level = image.reshape(len(image), -1)[:, :1]
        return torch.softmax(-self.slope * (level - torch.tensor([2.0, 1.0, 0.0])) ** 2, 1)


def ranked(n: int = 60) -> tuple[Examples, np.ndarray, NeurosymbolicTree]:
    """Examples of which some images are missing, the ranks of both columns, and a model that counts backwards."""
    levels = np.random.default_rng(0).integers(0, 3, (2, n))
    images = np.zeros((2, n, 2, 2), dtype=np.float32)
    images[:, :, 0, 0], images[:, :, 1, 1] = levels, np.random.default_rng(1).random((2, n))
    masked = np.ma.masked_array(images[1], mask=np.zeros(images[1].shape, dtype=bool))
    masked[-5:] = np.ma.masked
    X = Examples({"a": images[0], "b": masked})
    model = NeurosymbolicTree(
        Tree(Branch("higher(b, a)", Leaf(0.9), Leaf(0.2))),
        X.schema,
        background=RANKS,
        networks={"rank_net": Level()},
        priors=Priors(networks={"rank_net(b)": [0.5, 0.3, 0.2]}),
    )
    model.candidates = ("higher(b, a)", "higher(a, b)")
    return X, levels + 1, model


def test_a_model_is_turned_by_labels_and_predicts_the_same() -> None:
    X, ranks, model = ranked()
    assert [score.accuracy for score in model.score_concepts(X, {"rank(a)": ranks[0]})] == [(ranks[0] == 2).mean()]
    turned = model.reread(X, {"rank(a)": {0: ranks[0, 0], 1: ranks[0, 1], 2: ranks[0, 2], 3: ranks[0, 3]}})
    assert str(turned.tree.root.test) == "higher(a, b)"  # type: ignore[union-attr]
    assert [score.accuracy for score in turned.score_concepts(X, {"rank(a)": ranks[0]})] == [1.0]
    np.testing.assert_allclose(turned.predict_proba(X), model.predict_proba(X), atol=1e-12)
    assert turned.reread(X, {"rank(a)": ranks[0]}) is turned
    assert turned.candidates == model.candidates
    with pytest.raises(DataError, match="There are no labels to compare with"):
        model.reread(X)


def test_a_network_with_reordered_outputs_is_saved_and_loaded(tmp_path: Path) -> None:
    X, ranks, model = ranked()
    turned = model.reread(X, {"rank(a)": ranks[0]})
    assert isinstance(turned.networks["rank_net"], ReorderedOutputs)
    path = turned.save(tmp_path / "turned")
    loaded = neuid3.load(path, networks={"rank_net": Level})
    assert np.array_equal(loaded.predict_proba(X), turned.predict_proba(X))
    saved = read_container(path)
    for order in ([0, 0, 1], [2.0, 1.0, 0.0], "210"):
        saved.fields["networks"]["rank_net"]["order"] = order
        write_container(tmp_path / "bad.neuid3", SavedFile(saved.fields, saved.background, saved.tensors))
        with pytest.raises(ModelFileError):
            neuid3.load(tmp_path / "bad.neuid3", networks={"rank_net": Level})


# Networks -----------------------------------------------------------------------------------------------


class Tail(torch.nn.Module):
    """A network whose last linear layer is not its last layer."""

    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.end = torch.nn.Conv1d(4, width, 1)
        self.start = torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.start(x.flatten(1))
        return torch.softmax(self.end(torch.cat((hidden, x.flatten(1)[:, :1]), 1).unsqueeze(2)).squeeze(2) * 5, 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dense(3, [4]),
        lambda: torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 3), torch.nn.Softmax(-1)),
        Tail,
    ],
)
def test_outputs_of_any_network_are_reordered(make: Any) -> None:
    torch.manual_seed(0)
    network, x = make().eval(), torch.rand(7, 2, 2)
    new = reordered(network, (2, 0, 1), [(2, 2)])
    assert torch.allclose(new(x), network(x)[:, [2, 0, 1]], atol=1e-6)
    assert isinstance(new, ReorderedOutputs) == isinstance(network, Tail)
    back = reordered(new, (1, 2, 0), [(2, 2)])
    assert torch.allclose(back(x), network(x), atol=1e-6)


def test_yes_becomes_no() -> None:
    torch.manual_seed(0)
    network, x = Dense(1, [4]).eval(), torch.rand(7, 2, 2)
    assert torch.allclose(reordered(network, (1, 0), [(2, 2)])(x), 1 - network(x), atol=1e-6)
    assert torch.allclose(ReorderedOutputs(network, (1, 0))(x), 1 - network(x))
    assert torch.allclose(ReorderedOutputs(ReorderedOutputs(network, (1, 0)), (1, 0))(x), network(x))


# First forms ----------------------------------------------------------------------------------------
CARDS = """
nn(red_net, [X]) :: red(X).
nn(face_net, [X]) :: face(X).
nn(rank_net, [X], V, [1, 2, 3]) :: rank(X, V).
colour_changes(A, B) :- red(A), \\+ red(B).
colour_changes(A, B) :- \\+ red(A), red(B).
face_changes(A, B) :- face(A), \\+ face(B).
face_changes(A, B) :- \\+ face(A), face(B).
higher(A, B) :- rank(A, X), rank(B, Y), X < Y.
"""
FORMS = [AtomTest(atom) for atom in ("colour_changes(a, b)", "face_changes(a, b)", "higher(a, b)", "higher(b, a)")]


def first_form(test: str, **more: Any) -> Rereading:
    root = Branch(AtomTest(test), Leaf(0.9), Leaf(0.2))
    program = Program(CARDS, SCHEMA)
    return most_likely_rereading(root, program, more.pop("likelihoods", {}), candidates=FORMS, first_form=True, **more)


def test_a_tree_takes_the_form_that_stands_first() -> None:
    reading = first_form("higher(b, a)")
    assert isinstance(reading.root, Branch)
    assert str(reading.root.test) == "higher(a, b)"
    assert reading.networks["rank_net"].order == (2, 1, 0), "with its values reversed"
    reading = first_form("face_changes(a, b)")
    assert isinstance(reading.root, Branch)
    assert str(reading.root.test) == "colour_changes(a, b)"
    assert reading.networks["red_net"].instance == "face_net"
    assert reading.gain == 0.0


def test_a_tree_keeps_its_form_where_labels_or_given_networks_ask_for_it() -> None:
    labels = np.where(np.eye(3, dtype=bool), -0.1, -5.0)
    for more in ({"likelihoods": {("rank_net", "rank_net"): labels}}, {"fixed": ["rank_net"]}):
        reading = first_form("higher(b, a)", **more)
        assert isinstance(reading.root, Branch)
        assert str(reading.root.test) == "higher(b, a)"
        assert not reading.changed


def test_labels_of_a_network_that_the_tree_does_not_call_put_it_in_the_place_of_its_equivalent() -> None:
    red = np.random.default_rng(0).integers(0, 2, (2, 40)).astype(bool)
    images = np.zeros((2, 40, 2, 2), dtype=np.float32)
    images[:, :, 0, 0], images[:, :, 1, 1] = red, np.random.default_rng(1).random((2, 40))
    X = Examples({"a": images[0], "b": images[1]})
    facts = ("red", "face")
    background = "\n".join(
        f"nn({fact}_net, [X]) :: {fact}(X).\n"
        f"{fact}_changes(A, B) :- {fact}(A), \\+ {fact}(B).\n{fact}_changes(A, B) :- \\+ {fact}(A), {fact}(B)."
        for fact in facts
    )
    torch.manual_seed(0)
    reader = Dense(1, [4]).eval()
    tree = Tree(Branch(AtomTest("face_changes(a, b)", (("face_net", "face_net#2"),)), Leaf(0.9), Leaf(0.2)))
    model = NeurosymbolicTree(tree, X.schema, background=background, networks={"face_net#2": reader})
    model.candidates = tuple(f"{fact}_changes(a, b)" for fact in facts)
    outputs = model.networks["face_net#2"](torch.tensor(images[0])).detach().numpy()[:, 0] > 0.5
    read = model.reread(X, {"red(a)": outputs.tolist()})
    assert str(read.tree.root.test).startswith("red_changes(a, b)")  # type: ignore[union-attr]
    np.testing.assert_allclose(read.predict_proba(X), model.predict_proba(X), atol=1e-6)
