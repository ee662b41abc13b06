"""Explanations and pages of trees that predict numbers, against enumeration."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

from neuid3 import Branch, Examples, NeuID3Regressor, NeurosymbolicTree, NumberLeaf, Tree, write_page
from neuid3.errors import DataError
from neuid3.explain.page.content import page_content

KINDS = dict.fromkeys(("a", "b", "c"), "probability")


def model(seed: int = 0) -> tuple[NeurosymbolicTree, Examples]:
    """A tree over three uncertain facts, one of them twice, with one example."""
    rng = np.random.default_rng(seed)
    leaves = [NumberLeaf(float(mean), float(deviation)) for mean, deviation in rng.uniform(-10.0, 10.0, (5, 2)) ** 2]
    left = Branch("b", leaves[0], leaves[1], summary=NumberLeaf(3.0, 1.0))
    lower = Branch("b", leaves[2], leaves[3], summary=NumberLeaf(-2.0, 1.0))
    right = Branch("c", lower, leaves[4], summary=NumberLeaf(4.0, 2.0))
    tree = Tree(Branch("a", left, right, summary=NumberLeaf(1.0, 2.0)))
    X = Examples({name: [float(p)] for name, p in zip("abc", rng.random(3), strict=True)}, kinds=KINDS)
    return NeurosymbolicTree(tree, X.schema), X


def expected(tree: NeurosymbolicTree, X: Examples, changes: dict[str, float]) -> float:
    changed = {name: [changes.get(name, float(column.values[0]))] for name, column in X.items()}
    return float(tree.predict(Examples(changed, kinds=KINDS))[0])


@pytest.mark.parametrize("seed", range(8))
def test_moves_and_leaves_add_up_to_the_prediction(seed: int) -> None:
    tree, X = model(seed)
    why = tree.explain(X)
    mean, deviation = tree.predict_number(X)
    assert why.prediction == pytest.approx(mean[0])
    assert why.deviation == pytest.approx(deviation[0])
    assert why.base == 1.0
    assert why.base + sum(move.amount for move in why.moves) == pytest.approx(mean[0])
    assert sum(leaf.contributions[0] for leaf in why.leaves) == pytest.approx(mean[0])
    assert [abs(move.amount) for move in why.moves] == sorted((abs(m.amount) for m in why.moves), reverse=True)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("distance", [-20.0, -2.0, 2.0, 20.0])
def test_the_smallest_change_past_a_threshold_is_that_of_enumeration(seed: int, distance: float) -> None:
    tree, X = model(seed)
    prediction = float(tree.predict(X)[0])
    threshold = prediction + distance
    found = tree.explain(X, threshold=threshold).other_facts
    sign = 1.0 if distance > 0 else -1.0
    sizes = [
        size
        for size in (1, 2, 3)
        for names in itertools.combinations("abc", size)
        for values in itertools.product((0.0, 1.0), repeat=size)
        if sign * (expected(tree, X, dict(zip(names, values, strict=True))) - threshold) > 1e-9
    ]
    if not sizes:
        assert found.status in ("impossible", "none")
        return
    assert found.status == "found"
    assert len(found.changes) == min(sizes)
    changes = {change.name: {"true": 1.0, "false": 0.0}[change.after] for change in found.changes}
    assert found.prediction == pytest.approx(expected(tree, X, changes))
    assert sign * (found.prediction - threshold) > 0


def test_the_text_says_what_moves_a_number_and_what_moves_it_past_a_threshold() -> None:
    rng = np.random.default_rng(0)
    X = {"late": rng.random(100) < 0.5, "rain": rng.random(100) < 0.5}
    y = np.where(X["late"], 30.0, 10.0) + np.where(X["rain"], 4.0, 0.0)
    reg = NeuID3Regressor().fit(X, y)
    row = int(np.flatnonzero(~X["late"] & ~X["rain"])[0])
    text = str(reg.explain(X, row, threshold=25))
    assert text.startswith("Predicted: 10.00 ± 0.10")
    assert re.search(r"\d\d\.\d\d  the mean of the training examples\n +−\d+\.\d\d  late: no\n", text)
    assert "What would move it above 25.00" in text
    assert "Other facts: if late were true (it is false), it would be 30.00." in text
    below = reg.explain(X, int(np.flatnonzero(X["late"])[0]), threshold=5)
    assert "What would move it below 5.00\n  Other responses: no test responses would do that." in str(below)
    content = json.loads(below.json())
    assert content["threshold"] == 5.0
    assert content["classes"] == []
    assert content["moves"][0]["test"] == "late"
    for wrong in (np.nan, "25", True):
        with pytest.raises(DataError, match="is no number; give one in the unit of the target"):
            reg.explain(X, row, threshold=wrong)  # type: ignore[arg-type]


def test_an_explanation_is_drawn() -> None:
    pytest.importorskip("matplotlib").use("agg")
    tree, X = model()
    texts = [text.get_text() for text in tree.explain(X).plot().texts]
    assert any(text.startswith("Predicted: ") and "±" in text for text in texts)
    assert sum(", adds " in text for text in texts) >= 2


def test_a_tree_without_summaries_is_explained_without_moves() -> None:
    tree = Tree(Branch("a", NumberLeaf(10.0, 1.0), NumberLeaf(20.0, 1.0)))
    X = Examples({"a": [0.25]}, kinds={"a": "probability"})
    why = NeurosymbolicTree(tree, X.schema).explain(X)
    assert why.moves == ()
    assert why.threshold == 15.0
    assert "What moves it" not in str(why)


def test_the_page_has_true_numbers_residuals_and_the_largest_errors(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = {"late": rng.random(80) < 0.5, "size": rng.random(80)}
    y = np.where(X["late"], 30.0, 10.0) + rng.normal(0.0, 1.0, 80)
    reg = NeuID3Regressor(max_depth=1).fit({name: values[:60] for name, values in X.items()}, y[:60])
    content = page_content(reg.model_, X, y)
    assert content.numbers is not None
    assert content.classes == ()
    errors = np.abs(reg.predict(X) - y)
    assert [tile.row for tile in content.errors] == np.argsort(-errors, kind="stable")[:9].tolist()
    points = np.array(content.numbers.points)
    np.testing.assert_allclose(points[:, 1], reg.predict(X))
    np.testing.assert_allclose(points[:, 2], y)
    leaf = content.numbers.nodes[1]
    mean = y[np.asarray(X["late"])].mean()
    assert leaf.found.startswith(f"{mean:.2f} ± ")
    assert float(leaf.residual) == pytest.approx(mean - reg.tree_.leaves[0].value[0], abs=0.01)
    page = write_page(tmp_path / "page.html", reg, X, y).read_text()
    assert "R² " in page
    assert "the other 20: R²" in page
    without = page_content(reg.model_, X)
    assert without.numbers is not None
    assert without.numbers.points == ()
    assert without.errors == ()
    for wrong, message in ((["x"] * 80, "y holds text such as 'x'"), (y[:5], "give one number each")):
        with pytest.raises(DataError, match=message):
            page_content(reg.model_, X, wrong)
