"""The model: batches, networks that stay unchanged, and exports."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from strategies import PREAMBLE, PRIORS, REFERENCE, TinyNetwork, table

from neuid3 import AtomTest, Branch, Examples, Leaf, NeurosymbolicTree, NodeTest, Priors, Tree
from neuid3.export import export_text
from neuid3.logic.formula import Formula, Literal, Or
from neuid3.logic.program import Program, fact
from neuid3.tree.tree import paths

RANK = {"rank_net": TinyNetwork(3, 1, 1)}


TREE = Tree(Branch("gt(left, right)", Branch("odd(left)", Leaf(0.9), Leaf(0.3)), Branch("alarm", Leaf(0.6), Leaf(0.1))))


def model(tree: Tree = TREE, **more: object) -> NeurosymbolicTree:
    return NeurosymbolicTree(tree, REFERENCE.schema, background=PREAMBLE, networks=RANK, priors=PRIORS, **more)


def test_batches_do_not_change_the_prediction() -> None:
    tree, examples = model(), table(3, 50)
    np.testing.assert_allclose(tree.predict_proba(examples), tree.predict_proba(examples, batch_size=7), atol=1e-12)


def test_predict_returns_the_most_probable_class() -> None:
    tree, examples = model(), table(3, 50)
    names = np.array(tree.classes)[tree.predict_proba(examples).argmax(1)]
    assert (tree.predict(examples) == names).all()


def test_networks_predict_in_eval_mode_and_are_left_as_they_were() -> None:
    class Watched(TinyNetwork):
        seen: bool | None = None

        def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
            self.seen = self.training
            return super().forward(*inputs)

    network = Watched(3, 1, 0)
    tree = NeurosymbolicTree(TREE, REFERENCE.schema, background=PREAMBLE, networks={"rank_net": network}, priors=PRIORS)
    network.train()
    tree.predict_proba(table(0, 4))
    assert network.seen is False
    assert network.training


def test_a_prediction_that_ends_leaves_networks_in_eval_mode_for_one_that_still_runs() -> None:
    frozen, trained = torch.nn.BatchNorm1d(1).eval(), TinyNetwork(3, 1, 0).train()
    trained.part = frozen
    tree = NeurosymbolicTree(TREE, REFERENCE.schema, background=PREAMBLE, networks={"rank_net": trained}, priors=PRIORS)
    first, second = tree.evaluating(), tree.with_priors(PRIORS).evaluating()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not trained.training
    second.__exit__(None, None, None)
    assert trained.training
    assert not frozen.training


def test_a_network_runs_once_on_each_of_its_inputs() -> None:
    calls = []

    def network(x: torch.Tensor) -> torch.Tensor:
        calls.append(len(x))
        return torch.full((len(x), 3), 1 / 3)

    tree = NeurosymbolicTree(TREE, REFERENCE.schema, background=PREAMBLE, networks={"rank_net": network}, priors=PRIORS)
    tree.predict_proba(REFERENCE[~REFERENCE.column("right").missing])
    assert len(calls) == 2  # left and right, although three tests read them


def test_bytes_are_read_as_fractions() -> None:
    seen = []

    def network(x: torch.Tensor) -> torch.Tensor:
        seen.append(x)
        return torch.full((len(x), 2), 0.5)

    X = Examples({"image": np.full((1, 2, 2), 255, dtype=np.uint8)})
    background = "nn(n, [I], P, [odd, even]) :: parity(I, P)."
    NeurosymbolicTree(
        Tree(Branch("parity(image, odd)", Leaf(0.9), Leaf(0.1))),
        X.schema,
        background=background,
        networks={"n": network},
    ).predict_proba(X)
    assert seen[0].dtype == torch.float32
    assert bool((seen[0] == 1.0).all())


def test_a_data_frame_and_a_dict_will_do() -> None:
    tree = NeurosymbolicTree(Tree(Branch("alarm", Leaf(0.9), Leaf(0.2))), Examples({"alarm": [True, False]}).schema)
    for X in ({"alarm": [1, 0]}, pd.DataFrame({"alarm": [True, False], "unused": ["a", "b"]})):
        np.testing.assert_allclose(tree.predict_proba(X)[:, 1], [0.9, 0.2])


def test_a_leaf_alone_is_a_tree() -> None:
    lone = NeurosymbolicTree(Tree(Leaf(0.3)), REFERENCE.schema)
    assert lone.predict_proba(table(0, 3))[:, 1] == pytest.approx([0.3] * 3)
    assert lone.verify(table(0, 2)) < 1e-9


def test_more_than_two_classes() -> None:
    tree = Tree(
        Branch("alarm", Leaf((0.7, 0.2, 0.1)), Branch("noise", Leaf((0.0, 0.5, 0.5)), Leaf((0.1, 0.1, 0.8)))),
        ("a", "b", "c"),
    )
    three = NeurosymbolicTree(tree, REFERENCE.schema, priors=PRIORS)
    examples = table(0, 10)
    np.testing.assert_allclose(three.predict_proba(examples).sum(1), 1.0)
    assert three.verify(examples) < 1e-9


def test_a_missing_entry_follows_its_prior_exactly() -> None:
    tree = Tree(Branch("age > 40", Branch("age > 50", Leaf(1.0), Leaf(0.5)), Leaf(0.0)))
    X = Examples({"age": [np.nan]}, kinds={"age": "number"})
    prior = Priors(columns={"age": [30.0, 45.0, 60.0, 60.0]})
    assert NeurosymbolicTree(tree, X.schema, priors=prior).predict_proba(X)[0, 1] == pytest.approx(0.5 + 0.25 * 0.5)


def test_learned_priors_are_prevalences_and_average_outputs() -> None:
    examples = table(5, 100)
    learned = model().learn_priors(examples).priors
    alarm = examples.column("alarm")
    assert learned.columns["alarm"] == pytest.approx(alarm.values[~alarm.missing].mean())
    left = torch.from_numpy(examples.column("left").values.copy())
    with torch.no_grad():
        average = RANK["rank_net"](left).mean(0)
    assert learned.networks["rank_net(left)"] == pytest.approx(average.tolist(), abs=1e-6)


def test_a_new_kind_of_test_only_says_what_it_means() -> None:
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class EitherTest(NodeTest):
        left: str
        right: str

        def formula(self, program: Program) -> Formula:  # noqa: ARG002 - part of the protocol
            return Or((fact(self.left), fact(self.right)))

    X = Examples({"a": [True, False, False], "b": [True, True, False]})
    tree = NeurosymbolicTree(Tree(Branch(EitherTest("a", "b"), Leaf(1.0), Leaf(0.0))), X.schema)
    assert tree.predict_proba(X)[:, 1].tolist() == [1.0, 1.0, 0.0]


def test_trees_are_values() -> None:
    same = Tree(Branch("a", Leaf(0.5), Leaf(0.25)))
    assert same == Tree(Branch(AtomTest("a"), Leaf((0.5, 0.5)), Leaf((0.75, 0.25))))
    assert len({same, Tree(Branch("a", Leaf(0.5), Leaf(0.25)))}) == 1
    assert same.depth == 1
    assert [len(path) for path, _ in paths(same.root)] == [1, 1]


def test_the_text_of_a_tree_begins_with_its_root() -> None:
    assert export_text(TREE).splitlines()[0] == "gt(left, right)?"


def test_numbers_and_categories_with_odd_names_can_be_exported() -> None:
    X = Examples({"petal length (cm)": [1.5, 3.5], "home town": ["New York", "Ghent's gate"]})
    tree = Tree(
        Branch("'petal length (cm)' =< 2.45", Leaf(0.9), Branch("'home town'('New York')", Leaf(0.5), Leaf(0.2)))
    )
    odd = NeurosymbolicTree(tree, X.schema)
    assert odd.predict_proba(X)[:, 1] == pytest.approx([0.9, 0.2])
    assert odd.verify(X) < 1e-9


def test_one_network_reads_two_columns_through_two_predicates() -> None:
    background = "nn(n1, [x]) :: a(x). nn(n2, [x]) :: b(x). both :- a(x), b(x)."
    X = Examples({"x": np.zeros((2, 1, 1))})
    networks = {"n1": lambda x: torch.full((len(x), 1), 0.5), "n2": lambda x: torch.full((len(x), 1), 0.25)}
    tree = NeurosymbolicTree(
        Tree(Branch("both", Leaf(1.0), Leaf(0.0))), X.schema, background=background, networks=networks
    )
    assert tree.predict_proba(X)[0, 1] == pytest.approx(0.125)


def test_importing_neuid3_does_not_pay_for_torch_or_problog() -> None:
    code = "import sys, neuid3, neuid3.cli.main; print([m for m in ('torch', 'problog', 'sklearn', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_test_of_many_columns_reads_only_what_it_needs() -> None:
    narrow = NeurosymbolicTree(Tree(Branch("alarm", Leaf(0.9), Leaf(0.1))), REFERENCE.schema)
    assert narrow.predict_proba({"alarm": [True]})[0, 1] == pytest.approx(0.9)


def test_a_literal_over_values_is_what_a_category_means() -> None:
    program = Program("", REFERENCE.schema)
    formula = program.formula("suit(hearts)")
    assert isinstance(formula, Literal)
    assert formula.values == {REFERENCE.schema["suit"].domain.index("hearts")}


@pytest.mark.parametrize(
    ("rules", "test"),
    [
        ("k(Z) :- age > Z.", "k(40)"),
        ("k :- limit(T), age > T. limit(45).", "k"),
        ("k :- member(X, [35, 55]), age > X, age =< 65.", "k"),
        ("k(C, Z) :- C > Z.", "k(age, 50)"),
        ("k :- age =:= 50 ; age =\\= 40, alarm.", "k"),
    ],
)
def test_numbers_compared_with_variables_can_be_exported(rules: str, test: str) -> None:
    tree = NeurosymbolicTree(
        Tree(Branch(test, Leaf(0.9), Leaf(0.2))), REFERENCE.schema, background=rules, priors=PRIORS
    )
    assert tree.verify(table(3, 8), rows=8) < 1e-9


@pytest.mark.parametrize("value", ["A\\new", "tail\\", "it's", "two\nlines", "a\\tb", "ünï", "3", "Upper"])
def test_any_string_can_be_a_category(value: str) -> None:
    from neuid3.logic.quoting import atom_text
    from neuid3.tree.node_tests import ValueTest

    X = Examples({"path": [value, "B"]})
    for test in (ValueTest("path", value), AtomTest(f"path({atom_text(value)})")):
        tree = NeurosymbolicTree(Tree(Branch(test, Leaf(0.9), Leaf(0.2))), X.schema)
        assert tree.predict_proba(X)[:, 1] == pytest.approx([0.9, 0.2])
        assert tree.verify(X) < 1e-9


def test_classes_may_be_called_true_and_false() -> None:
    tree = NeurosymbolicTree(
        Tree(Branch("alarm", Leaf(0.9), Leaf(0.2)), ("false", "true")), REFERENCE.schema, priors=PRIORS
    )
    assert tree.verify(table(0, 3)) < 1e-9
