"""Leaves that compute in text, pictures, pages, explanations and ONNX files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from strategies import PIXELS, TinyNetwork

from neuid3 import (
    Branch,
    Examples,
    GoalLeaf,
    Leaf,
    NeurosymbolicTree,
    NumberLeaf,
    Tree,
    evidence_page,
    export_graphviz,
    export_svg,
    export_text,
)

BACKGROUND = """
nn(digit_net, [I], D, [0, 1, 2]) :: digit(I, D).
sum(A, B, Y) :- digit(A, X), digit(B, Z), Y is X + Z.
larger(A, B, Y) :- digit(A, Y), digit(B, Z), Y >= Z.
larger(A, B, Y) :- digit(A, X), digit(B, Y), X < Y.
even(A) :- digit(A, D), 0 =:= D mod 2.
"""
LABELS = ("→ Y = digit(left) + digit(right)", "→ Y: larger(left, right, Y)")


def model(numbers: bool = False) -> tuple[NeurosymbolicTree, Examples]:
    rng = np.random.default_rng(0)
    X = Examples({name: rng.normal(size=(6, 1, PIXELS)) for name in ("left", "right")})
    plain: Any = NumberLeaf(2.0, 1.0, 3.0) if numbers else Leaf((0.2,) * 5, (1.0,) * 5)
    deviation = 0.5 if numbers else 0.0
    goals = [GoalLeaf(goal, plain, 0.1, deviation) for goal in ("sum(left, right, Y)", "larger(left, right, Y)")]
    tree = Tree(Branch("even(left)", *goals), () if numbers else (0, 1, 2, 3, 4))
    return NeurosymbolicTree(tree, X.schema, background=BACKGROUND, networks={"digit_net": TinyNetwork(3, 1, 0)}), X


@pytest.mark.parametrize("numbers", [False, True])
def test_texts_and_pictures_show_what_goals_compute(numbers: bool) -> None:
    tree, X = model(numbers)
    for shown in (export_text(tree), export_graphviz(tree)):
        assert all(label in shown for label in LABELS)
        assert "noise 0.10" in shown
    picture = export_svg(tree, X)  # long lines are wrapped
    assert "→ Y = digit(left)" in picture
    assert "noise 0.10" in picture
    assert "sum(A, B, Y) :- digit(A, X), digit(B, Z), Y is X + Z." in export_text(tree, rules=True)


@pytest.mark.parametrize("numbers", [False, True])
def test_the_page_shows_goals_and_predicts_like_the_model(numbers: bool) -> None:
    tree, X = model(numbers)
    page = evidence_page(tree, X, y=np.array([0, 1, 2, 3, 4, 0]))
    assert "Y = digit(left) + digit(right)" in page
    assert "Y: larger(left, right, Y)" in page


def test_explanations_name_the_values_of_goals_with_their_proofs() -> None:
    tree, X = model()
    why = tree.explain(X, 1)
    total = np.sum([leaf.contributions for leaf in why.leaves], axis=0)
    np.testing.assert_allclose(total, tree.predict_proba(X)[1], atol=1e-12)
    steps = [step for leaf in why.leaves for step in leaf.steps if step.test.startswith("sum(") and step.proofs]
    assert steps
    for step in steps:
        total = int(step.test.rsplit(",", 1)[1].strip(" )"))
        for proof in step.proofs or ():
            values = [int(assignment.value) for assignment in proof.assignments]
            assert sum(values) == total
    assert why.other_facts.status == "found"


def test_explanations_of_numbers_add_up() -> None:
    tree, X = model(numbers=True)
    why = tree.explain(X, 1)
    assert sum(leaf.contributions[0] for leaf in why.leaves) == pytest.approx(float(tree.predict(X)[1]))


@pytest.mark.parametrize("numbers", [False, True])
def test_onnx_computes_the_same(tmp_path: Path, numbers: bool) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    tree, X = model(numbers)
    session = onnxruntime.InferenceSession(str(tree.export_onnx(tmp_path / "goals.onnx")))
    inputs = {entry.name: np.asarray(X.column(entry.name).values) for entry in session.get_inputs()}
    outputs = dict(zip([entry.name for entry in session.get_outputs()], session.run(None, inputs), strict=True))
    np.testing.assert_allclose(outputs["leaf_probabilities"], tree.leaf_probabilities(X), atol=1e-9)
    if numbers:
        means, deviations = tree.predict_number(X)
        np.testing.assert_allclose(outputs["predicted_mean"].ravel(), means, atol=1e-9)
        np.testing.assert_allclose(outputs["predicted_std"].ravel(), deviations, atol=1e-6)
    else:
        np.testing.assert_allclose(outputs["class_probabilities"], tree.predict_proba(X), atol=1e-9)


def test_the_certificate_of_a_sum_fixes_all_values_that_are_read() -> None:
    tree, X = model()
    certificate = tree.audit(X)
    assert certificate.networks[0].short_form == "fixed"


def test_gradients_flow_through_goals() -> None:
    tree, X = model()
    tree.networks["digit_net"].zero_grad()
    tree.class_probabilities(X)[:, 3].sum().backward()
    gradients = [parameter.grad for parameter in tree.networks["digit_net"].parameters()]
    assert all(
        gradient is not None and torch.isfinite(gradient).all() and gradient.abs().sum() > 0 for gradient in gradients
    )
