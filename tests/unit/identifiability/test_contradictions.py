"""Labels that contradict the classes of their rows: which rows, and a smallest set of labels, by enumeration."""

from __future__ import annotations

import random
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from value_tables import formulas, variable

from neuid3 import Branch, Examples, Leaf, NeurosymbolicTree, Tree
from neuid3.identifiability import Contradictions
from neuid3.identifiability.label_sets import smallest_contradiction


@pytest.mark.parametrize("seed", range(40))
def test_no_smaller_set_of_labels_excludes_a_result(seed: int) -> None:
    draw = random.Random(seed)
    variables = [variable(name, column, draw.choice([2, 3])) for name in "pq" for column in "ab"]
    worlds = list(product(*(range(v.size) for v in variables)))
    table = {world: int(draw.random() < 0.2) for world in worlds}
    true = [world for world in worlds if table[world]]
    labels = next((world for world in draw.sample(worlds, len(worlds)) if not table[world]), None)
    if not true or labels is None:
        return
    contradicts = [
        chosen
        for n in range(5)
        for chosen in combinations(range(4), n)
        if not any(all(world[i] == labels[i] for i in chosen) for world in true)
    ]
    formula = formulas(variables, table)[sorted(set(table.values())).index(1)]
    found = smallest_contradiction(formula, dict(zip(variables, labels, strict=True)), {})
    assert len(found) == len(contradicts[0])
    assert tuple(variables.index(v) for v in found) in contradicts


def test_of_many_labels_in_a_row_the_few_that_matter_are_found() -> None:
    variables = [variable("p", f"c{i}", 3) for i in range(14)]
    assert not smallest_contradiction(formulas(variables[:1], {(0,): 0})[0], {}, {variables[0]: 1})
    pairs = {(i, j): int(i == j) for i in range(3) for j in range(3)}
    same = formulas([variables[3], variables[11]], pairs)[1]
    found = smallest_contradiction(same, {v: i % 3 for i, v in enumerate(variables)}, {})
    assert found == (variables[3], variables[11])


RULES = """
nn(rank_net, [X], R, [1, 2, 3]) :: rank(X, R).
higher(A, B) :- rank(A, X), rank(B, Y), X < Y.
lowest(A) :- rank(A, 1).
"""


def cards(n: int) -> Examples:
    images = np.random.default_rng(0).random((2, n, 2, 2), dtype=np.float32)
    return Examples({"first": images[0], "second": images[1], "torn": np.arange(n) % 2 == 0})


def model(root: Any) -> NeurosymbolicTree:
    def guess(image: Any) -> Any:
        return image.new_full((len(image), 3), 1 / 3)

    tree = Tree(root, classes=("lose", "win"))
    return NeurosymbolicTree(tree, cards(2).schema, background=RULES, networks={"rank_net": guess})


def test_the_smallest_set_of_all_rows_is_named_and_rows_that_no_label_concerns_are_not_counted() -> None:
    root = Branch("torn", Leaf(0.05), Branch("higher(first, second)", Leaf(0.9), Leaf(0.1)))
    first = {1: 2, 3: 3, 4: 1, 5: 1}
    second = {1: 2, 4: 3, 5: 2}
    certificate = model(root).audit(cards(6), ["win"] * 6, concepts={"rank(first)": first, "rank(second)": second})
    found = certificate.contradictions
    assert found is not None
    assert found.rows == (1, 3)  # rows 0, 2 and 4 are torn, whatever their labels; row 5 is a win
    assert found.smallest == "row 3: rank(first) = 3, and the class win"  # in row 1 it takes both labels
    assert (found.labelled, found.expected) == (3, pytest.approx(0.3))
    assert "2 of 3 rows contradict the tree by labels and class, such as row 3" in str(certificate)
    assert certificate.to_json()["contradictions"]["labelled"] == 3


def test_contradictions_are_more_than_noise_where_leaves_do_not_explain_them() -> None:
    assert Contradictions(tuple(range(9)), "", 100, 3.0).is_more_than_noise
    assert not Contradictions(tuple(range(5)), "", 100, 3.0).is_more_than_noise
    assert not Contradictions((4, 9), "", 5, 0.0).is_more_than_noise
