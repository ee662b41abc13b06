"""Exact inference of trees whose queries read the pictures of parts: against ProbLog, worlds and each other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from part_problems import made_problem

from neuid3 import Branch, Examples, Leaf, NeurosymbolicTree, Tree
from neuid3.errors import GroundingLimitError, NodeTestError, RuleError
from neuid3.queries import parse_query
from neuid3.tree.query_tests import QueryTest

pytestmark = pytest.mark.filterwarnings("ignore:Test .* is always:UserWarning")


@settings(max_examples=max(settings().max_examples // 5, 5), deadline=None)
@given(st.integers(0, 10_000))
def test_generated_trees_over_parts_agree_with_problog_and_with_worlds(seed: int) -> None:
    problem = made_problem(seed)
    assert abs(problem.model.predict_proba(problem.examples)[0, 1] - problem.expected) < 1e-6
    assert problem.model.verify(problem.examples, rows=1) < 1e-6


class Pixel(torch.nn.Module):
    """The first pixel as a probability."""

    def forward(self, picture: torch.Tensor) -> torch.Tensor:
        return picture.flatten(1)[:, :1]


def histories(counts: list[int], seed: int = 0) -> Examples:
    """Sequences of cards; each card comes next after the one before."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(len(counts)), counts)
    after = np.flatnonzero(owner[1:] == owner[:-1])
    return Examples(
        {"game": np.arange(len(counts))},
        parts={
            "card": ({"card": np.arange(len(owner)), "game": owner, "face": rng.random((len(owner), 1, 1, 1))}, "game")
        },
        relations={"next": {"card_1": after, "card_2": after + 1}},
    )


def model_of(query: str, X: Examples, background: str = "nn(red_net, [C]) :: red(C).") -> NeurosymbolicTree:
    tree = Tree(Branch(QueryTest(parse_query(query)), Leaf((0.0, 1.0)), Leaf((1.0, 0.0))), classes=("no", "yes"))
    return NeurosymbolicTree(tree, X.schema, background=background, networks={"red_net": Pixel()})


def test_some_part_is_one_minus_none_of_them() -> None:
    X = histories([3, 0, 5])
    faces = X.column("card").values
    expected = [
        1.0 - np.prod(1.0 - np.asarray(faces[i].table.column("face").values).ravel()) if len(faces[i].table) else 0.0
        for i in range(3)
    ]
    np.testing.assert_allclose(model_of("card(C), red(C)", X).predict_proba(X)[:, 1], expected, atol=1e-7)


def test_more_parts_than_before_are_predicted_without_a_new_model() -> None:
    few, many = histories([2, 1]), histories([4, 9, 1])
    model = model_of("card(C), red(C)", few)
    model.predict_proba(few)
    np.testing.assert_allclose(
        model.predict_proba(many), model_of("card(C), red(C)", many).predict_proba(many), atol=1e-12
    )
    np.testing.assert_allclose(model.predict_proba(few), model_of("card(C), red(C)", few).predict_proba(few))


def test_chains_of_fifty_parts_are_exact() -> None:
    X = histories([50, 12, 30])
    model = model_of("card(A), next(A, B), red(A), \\+ red(B)", X)
    p = np.asarray(X.column("card").values.table.column("face").values, dtype=float).ravel()
    starts = [0, 50, 62, 92]
    for row, (start, end) in enumerate(itertools.pairwise(starts)):
        none, red = 1.0 - p[start], p[start]  # no red card before one that is not, by whether the last is red
        for q in p[start + 1 : end]:
            none, red = none * (1.0 - q), (none + red) * q
        np.testing.assert_allclose(model.predict_proba(X)[row, 0], none + red, rtol=1e-6)


def test_recursion_over_a_sequence_is_exact() -> None:
    rules = "nn(red_net, [C]) :: red(C).\nrun(A, A) :- card(A), red(A).\nrun(A, B) :- red(A), next(A, C), run(C, B).\n"
    X = histories([3, 4])
    model = model_of("card(A), card(B), next(A, B), run(A, B)", X, rules)
    p = np.asarray(X.column("card").values.table.column("face").values, dtype=float).ravel()
    expected = []
    for start, end in ((0, 3), (3, 7)):
        none, last = 1.0, 0.0  # no two red cards in a row; the last one is red
        for q in p[start:end]:
            none, last = none * (1 - q) + last * (1 - q), none * q
            none, last = none, last
        expected.append(1.0 - none - last)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, atol=1e-6)
    assert model.verify(X, rows=2) < 1e-6


def test_too_many_assignments_are_refused_with_a_way_out() -> None:
    X = histories([60])
    model = model_of("card(A), card(B), card(C), red(A), red(B), red(C), A \\= B, B \\= C, A \\= C", X)
    with pytest.raises(GroundingLimitError, match=r"216,000 assignments of parts to variables .* use fewer variables"):
        model.predict_proba(X)


def test_an_unknown_atom_and_an_unbound_variable_name_the_culprit() -> None:
    X = histories([2])
    with pytest.raises(NodeTestError, match=r"asks for 'rad', which is no type of part.*Did you mean 'red'"):
        model_of("card(C), rad(C)", X)
    with pytest.raises(RuleError, match=r"uses 'zzz/1', which nothing defines\. Known: [^(]*\.$"):
        model_of("card(C), red(C)", X, "nn(red_net, [C]) :: red(C). odd :- next(A, B), zzz(B).")
    with pytest.raises(NodeTestError, match="variable D of 'red\\(D\\)' is bound by no part"):
        model_of("card(C), red(D)", X)
