"""Explanations, evidence pages and texts of trees over parts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from neuid3 import Branch, Examples, Leaf, NeurosymbolicTree, Tree, export_onnx, export_text
from neuid3.errors import ExportError
from neuid3.explain.page import evidence_page, label_page
from neuid3.queries import parse_query
from neuid3.tree.query_tests import QueryTest

RULES = """
nn(red_net, [C]) :: red(C).
glows(C) :- card(C), red(C).  % a comment
"""
CLASSES = {"classes": ("no", "yes")}


class Pixel(torch.nn.Module):
    """The first pixel as a probability."""

    def forward(self, picture: torch.Tensor) -> torch.Tensor:
        return picture.flatten(1)[:, :1]


def hands(counts: tuple[int, ...] = (3, 0, 2)) -> Examples:
    owner = np.repeat(np.arange(len(counts)), counts)
    faces = np.random.default_rng(0).random((len(owner), 1, 4, 4))
    cards = {"card": np.arange(len(owner)), "hand": owner, "face": faces, "trump": np.arange(len(owner)) % 2 == 1}
    return Examples({"hand": np.arange(len(counts))}, parts={"card": (cards, "hand")})


def model_of(query: str, X: Examples, **given: Any) -> NeurosymbolicTree:
    tree = Tree(Branch(QueryTest(parse_query(query)), Leaf((0.0, 1.0)), Leaf((1.0, 0.0))), **CLASSES)
    return NeurosymbolicTree(tree, X.schema, **given)


def pictured(X: Examples) -> NeurosymbolicTree:
    return model_of("card(C), glows(C)", X, background=RULES, networks={"red_net": Pixel()})


def content_of(page: str) -> Any:
    found = re.search(r'id="content">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_the_page_shows_the_pictures_of_parts_that_an_example_has() -> None:
    X = hands()
    content = content_of(evidence_page(pictured(X), X, ["yes", "no", "yes"]))
    shown = {example["row"]: set(example["pictures"]) for example in content["examples"]}
    assert shown == {0: {"card_1", "card_2", "card_3"}, 1: set(), 2: {"card_1", "card_2"}}


def test_the_page_and_the_text_tell_the_rules_behind_a_query_as_they_were_written() -> None:
    X = hands()
    rules = ["glows(C) :- card(C), red(C).", "nn(red_net, [C]) :: red(C)."]
    assert content_of(evidence_page(pictured(X), X))["nodes"][0]["rules"] == rules
    assert export_text(pictured(X), rules=True).splitlines()[-2:] == [f"  {rule}" for rule in rules]
    beside = model_of("card(C), trump(C)", X, background=RULES)  # a program that the query does not ask
    assert content_of(evidence_page(beside, X))["nodes"][0]["rules"] == []


def test_labels_of_parts_are_scored_on_the_page() -> None:
    X = hands()
    page = evidence_page(pictured(X), X, concepts={"red(card_2)": [True, None, False]})
    assert any("red_net" in sentence for sentence in content_of(page)["scores"])


@pytest.mark.parametrize(
    ("query", "reason"),
    [("card(C), trump(C)", "trump(card_2)"), ("card(C), card(D), C \\= D, trump(D)", "trump(card_2)")],
)
def test_an_explanation_names_the_parts_that_make_a_query_true(query: str, reason: str) -> None:
    X = hands()
    assert f"1.00  {reason}" in str(model_of(query, X).explain(X, row=0))


def test_the_values_of_parts_that_do_not_exist_are_nobodys() -> None:
    X = hands()
    model = pictured(X)
    report = str(model.audit(X, ["yes", "no", "yes"], concepts={"red(card_2)": [True, None, False]}))
    assert "Re-readings of 3 examples" in report
    suggestions = model.suggest_labels(X, 5)
    present = {(0, ("card_1",)), (0, ("card_2",)), (0, ("card_3",)), (2, ("card_1",)), (2, ("card_2",))}
    assert {(s.row, s.columns) for s in suggestions} <= present
    assert "card_1" in label_page(suggestions, X)


def test_trees_over_parts_are_no_onnx_files(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="no tables of parts"):
        export_onnx(pictured(hands()), tmp_path / "model.onnx")


def test_columns_named_like_calls_of_parts_hold_labels() -> None:
    X = hands()
    labels = Examples({"red(card_2)": [True, None, False], "length(cm)": [1.0, 2.0, 3.0]})
    table = Examples(dict(X.items()) | dict(labels.items()))
    (network,) = pictured(X).score_concepts(table)
    assert network.labels == 2


def test_proofs_name_what_is_seen_of_parts_and_not_that_they_exist() -> None:
    X = hands()
    why = pictured(X).explain(X, row=0)
    assert [reading.name for reading in why.readings].count("card(card_1)") == 1  # of the query and of the rule alike
    reasons = str(why).split("Why\n")[1].split("\n\n")[0]
    assert "red(card_1)" in reasons
    assert "card(card_" not in reasons
