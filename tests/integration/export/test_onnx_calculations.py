"""Trees whose rules calculate, written as ONNX: onnxruntime gives the probabilities that they give here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx_files import check, session_of

from neuid3 import Branch, Examples, Leaf, NeuID3Classifier, NeurosymbolicTree, Priors, Tree
from neuid3.export.onnx.calculations import MAX_COLUMNS
from neuid3.export.onnx.write import as_onnx
from neuid3.logic.formula import expressions_in

FUNCTIONS = (
    "{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} ** 2", "abs({})", "min({}, {})", "max({}, {})", "round({})",
    "{} mod {}", "floor({})", "ceiling({})", "sqrt({})", "log({})", "exp({} / 999)", "-({})",
)  # fmt: skip


@st.composite
def expressions(draw: st.DrawFn, depth: int = 2) -> str:
    """The text of an expression over two columns and constants."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(["a", "b", "a", "b", "3", "0.5"]))
    function = draw(st.sampled_from(FUNCTIONS))
    operands = [f"({draw(expressions(depth - 1))})" for _ in range(function.count("{}"))]
    return function.format(*operands)


def rows(rng: np.random.Generator, count: int = 30, names: str = "ab") -> dict[str, Any]:
    """Whole and broken numbers, zeros and negative ones, and missing entries."""
    table = {name: np.round(rng.normal(0, 4, count), 1) for name in names}
    for values in table.values():
        values[rng.random(count) < 0.2] = 0.0
        values[rng.random(count) < 0.2] = np.nan
        values[:2] = 1.5, 2.0
    return table


@given(expressions(), expressions(), st.integers(0, 99))
def test_generated_expressions_agree(first: str, second: str, seed: int) -> None:
    X = Examples(rows(np.random.default_rng(seed)), {"a": "number", "b": "number"})
    one, other = f"a + 0 * ({first})", f"b + ({second})"
    background = f"p :- {one} > 1.\nq :- {other} =< 2.\nr :- {one} > {other}.\n"
    root = Branch("p", Branch("q", Leaf((0.9, 0.1)), Leaf((0.6, 0.4))), Branch("r", Leaf((0.5, 0.5)), Leaf((0.2, 0.8))))
    samples = {"a": [-2.0, 0.0, 1.0, 4.5], "b": [-1.0, 0.0, 3.0]}
    expected = {key: {0.0: 0.3, 5.0: 0.7} for key in _texts(background, X, root)}
    model = NeurosymbolicTree(
        Tree(root, ("x", "y")), X.schema, background=background, priors=Priors(samples, expressions=expected)
    )
    check(model, X, 1e-9)


def _texts(background: str, X: Examples, root: Branch) -> list[str]:
    """The expressions that a tree compares, as priors name them."""
    model = NeurosymbolicTree(Tree(root, ("x", "y")), X.schema, background=background)
    formulas = [test.formula(model.program) for test in model.tree.tests]
    return [str(expression) for expression in expressions_in(formulas)]


def test_a_learned_tree_that_calculates_agrees() -> None:
    rng = np.random.default_rng(1)
    X = {"weight": rng.uniform(50, 110, 300), "height": rng.uniform(1.5, 2.0, 300)}
    y = X["weight"] / X["height"] ** 2 > 28
    X["weight"][:20], X["height"][10:30] = np.nan, 0.0
    clf = NeuID3Classifier(background="bmi(B) :- B is weight / height ** 2.", tests=["bmi"]).fit(X, y)
    assert "bmi >" in clf.export_text()
    check(clf.model_, Examples(X, dict.fromkeys(X, "number")), 1e-9)


def test_rows_without_missing_entries_do_not_need_priors() -> None:
    X = Examples(rows(np.random.default_rng(0)), {"a": "number", "b": "number"})
    tree = Tree(Branch("p", Leaf((1.0, 0.0)), Leaf((0.0, 1.0))), ("x", "y"))
    model = NeurosymbolicTree(tree, X.schema, background="p :- a > b.")
    known = ~np.isnan(X.column("a").values) & ~np.isnan(X.column("b").values)
    known &= ~(X.column("a").missing | X.column("b").missing)
    check(model, X[known], 1e-9)
    output = session_of(as_onnx(model)).run(["class_probabilities"], {"a": np.array([np.nan]), "b": np.array([1.0])})[0]
    assert np.isnan(output).all()


def test_missing_entries_of_many_columns_have_no_probabilities() -> None:
    names = "abcd"[: MAX_COLUMNS + 1]
    X = Examples(rows(np.random.default_rng(0), names=names), dict.fromkeys(names, "number"))
    tree = Tree(Branch("p", Leaf((1.0, 0.0)), Leaf((0.0, 1.0))), ("x", "y"))
    background = f"p :- {' + '.join(names)} > 1."
    priors = Priors({name: [0.0, 1.0] for name in names})
    model = NeurosymbolicTree(tree, X.schema, background=background, priors=priors)
    full = {name: np.array([1.0, 0.0]) for name in names}
    outputs = session_of(as_onnx(model)).run(["class_probabilities"], {**full, "a": np.array([np.nan, 0.0])})[0]
    assert np.isnan(outputs[0]).all()
    assert outputs[1].tolist() == pytest.approx([0.0, 1.0])
