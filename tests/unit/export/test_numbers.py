"""Exports of trees that predict numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from neuid3 import Branch, Examples, NeuID3Regressor, NeurosymbolicTree, NumberLeaf, Tree, export_graphviz, export_svg
from neuid3.export import export_text, plot_tree
from neuid3.export.labels import number_format

TREE = Tree(
    Branch(
        "late",
        NumberLeaf(31.5, 2.25, 40),
        Branch("rain", NumberLeaf(12.0, 0.5, 10), NumberLeaf(-3.25, 1.0, 50), 0.25, summary=NumberLeaf(-0.5, 6.0, 60)),
        0.75,
        summary=NumberLeaf(12.25, 15.0, 100),
    )
)


def test_text_shows_gains_masses_means_and_deviations() -> None:
    assert export_text(TREE).splitlines() == [
        "late?                  gain 0.75  mass 100  12.25 ± 15.00",
        "├─ yes: 31.50                     mass  40  31.50 ± 2.25",
        "└─ no:  rain?          gain 0.25  mass  60  -0.50 ± 6.00",
        "        ├─ yes: 12.00             mass  10  12.00 ± 0.50",
        "        └─ no:  -3.25             mass  50  -3.25 ± 1.00",
    ]
    assert export_text(Tree(NumberLeaf(2.0))) == "2.000  2.000 ± 0.000"


def test_numbers_have_the_digits_in_which_leaves_differ() -> None:
    for means, number, text in (
        ((0.0, 1000.0), 123.456, "123"),
        ((1e9, 1e9 + 2e-3), 1e9 + 1e-3, "1000000000.001000"),
        ((1e-9, 5e-9), 3.25e-9, "0.000000003250"),
        ((1e20, 2e20), 1.5e20, "1.5e+20"),
        ((-0.0, 0.0), 0.0, "0.000"),
    ):
        assert number_format([NumberLeaf(mean) for mean in means])(number) == text


def test_pictures_show_the_numbers() -> None:
    pytest.importorskip("matplotlib").use("agg")
    svg = export_svg(TREE)
    for text in (">31.50<", ">± 2.25<", "12.25 ± 15.00", "mass 60 · gain 0.25", ">-3.25<"):
        assert text in svg
    dot = export_graphviz(TREE)
    assert 'label="mass 40\\n31.50 ± 2.25", fillcolor="#' in dot
    assert 'label="late\\ngain 0.75\\nmass 100\\n12.25 ± 15.00"' in dot
    assert any("31.50" in artist.get_text() for artist in plot_tree(TREE) if hasattr(artist, "get_text"))


@pytest.fixture(scope="module")
def fitted() -> tuple[NeuID3Regressor, dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    X = {"size": np.where(rng.random(150) < 0.2, np.nan, rng.random(150)), "late": rng.random(150) < 0.5}
    y = 1e6 + np.where(X["late"], 3.0, 0.0) + np.nan_to_num(X["size"]) + rng.normal(0.0, 0.2, 150)
    return NeuID3Regressor(max_depth=3).fit(X, y), X


def test_a_notebook_shows_the_tree(fitted: tuple[NeuID3Regressor, dict[str, np.ndarray]]) -> None:
    html = fitted[0]._repr_mimebundle_()["text/html"]
    assert "<svg" in html
    assert "±" in html


def test_problog_computes_the_probabilities_of_the_leaves(
    fitted: tuple[NeuID3Regressor, dict[str, np.ndarray]],
) -> None:
    reg, X = fitted
    assert reg.model_.verify(X, rows=6) < 1e-12
    program = reg.to_problog(X, 3)
    assert program.count("query(leaf_") == reg.get_n_leaves()
    mean, deviation = reg.tree_.leaves[0].value
    assert f"% leaf_1: {mean!r} with deviation {deviation!r}" in program
    clash = Tree(Branch("leaf_1", NumberLeaf(1.0), NumberLeaf(2.0)))
    examples = Examples({"leaf_1": [0.3]}, kinds={"leaf_1": "probability"})
    assert NeurosymbolicTree(clash, examples.schema).verify(examples) < 1e-12


def test_onnx_computes_means_and_deviations(
    fitted: tuple[NeuID3Regressor, dict[str, np.ndarray]], tmp_path: Path
) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    reg, X = fitted
    session = runtime.InferenceSession(str(reg.export_onnx(tmp_path / "tree.onnx")))
    inputs = {entry.name: np.asarray(X[entry.name], dtype=np.float64) for entry in session.get_inputs()}
    names = [output.name for output in session.get_outputs()]
    assert names == ["predicted_mean", "predicted_std", "leaf_probabilities"]
    means, deviations, leaves = session.run(names, inputs)
    expected = reg.predict(X, return_std=True)
    np.testing.assert_allclose(means, expected[0], rtol=1e-12)
    np.testing.assert_allclose(deviations, expected[1], rtol=1e-6)
    np.testing.assert_allclose(leaves, reg.leaf_probabilities(X), atol=1e-12)
