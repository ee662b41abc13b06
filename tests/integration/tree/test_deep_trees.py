"""Trees deeper than Python's stack: all that can be done with a tree can be done with them."""

from __future__ import annotations

import inspect
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deep_trees import DEEP, chain, cuts, leaf_of_a_walk
from matplotlib import pyplot
from uses import uses

from neuid3 import Examples, NeuID3Classifier, NeurosymbolicTree, load, plot_tree
from neuid3.export.text import export_text
from neuid3.tree.node_tests import FactTest, NodeTest


def facts(depth: int, rows: int = 6) -> tuple[NeurosymbolicTree, Examples]:
    rng = np.random.default_rng(0)
    X = Examples(
        {f"a{i}": rng.random(rows) < 2 / depth for i in range(depth)},
        kinds=dict.fromkeys((f"a{i}" for i in range(depth)), "boolean"),
    )
    return NeurosymbolicTree(chain([FactTest(f"a{i}") for i in range(depth)]), X.schema), X


@pytest.fixture
def short_stack() -> Iterator[int]:
    """Python's stack is made so short that a tree of the depth given here is a deep one."""
    before = sys.getrecursionlimit()
    room = 160
    sys.setrecursionlimit(len(inspect.stack()) + room)
    yield room
    sys.setrecursionlimit(before)


# Models ---------------------------------------------------------------------------------------------


def test_a_chain_of_1500_facts_is_saved_loaded_and_predicts_what_a_walk_finds(tmp_path: Path) -> None:
    model, X = facts(DEEP, rows=40)
    loaded: Any = load(model.save(tmp_path / "deep"))
    found = loaded.predict_proba(X)
    for row in range(len(X)):
        values: dict[NodeTest, bool] = {FactTest(name): bool(column.values[row]) for name, column in X.items()}
        assert found[row].tolist() == list(leaf_of_a_walk(model.tree, values))
    assert (pickle.loads(pickle.dumps(model)).predict_proba(X) == found).all()
    lines = export_text(loaded).splitlines()
    assert len(lines) == 2 * DEEP + 1
    assert lines[-1].startswith(" " * 8 * (DEEP - 1) + "└─ no:  ")


@pytest.mark.parametrize("make", [facts, cuts])
def test_whatever_is_done_with_a_tree_can_be_done_with_a_deep_one(make: Any, tmp_path: Path, short_stack: int) -> None:
    model, X = make(short_stack + 40)
    for name, use in uses(model, X, tmp_path).items():
        try:
            use()
        except RecursionError:
            pytest.fail(f"{name} recurses into the tree")


def test_a_deep_tree_that_was_learned_can_be_shown(tmp_path: Path) -> None:
    """Without pruning a table without a pattern is learned row by row."""
    rng = np.random.default_rng(0)
    X = np.eye(120)[rng.permutation(120)]
    clf = NeuID3Classifier(pruning=0.0, min_mass=1.0, min_gain=0.0, random_state=0).fit(X, np.arange(120) % 2)
    assert clf.tree_.depth > 40
    for use in uses(clf, Examples({f"x{i}": X[:, i] for i in range(120)}), tmp_path).values():
        use()


def test_a_figure_of_a_deep_tree_has_no_more_pixels_than_can_be_drawn() -> None:
    """Matplotlib refuses figures of more than 65,535 pixels a side."""
    plot_tree(chain([f"a{i}" for i in range(700)]))
    figure = pyplot.gcf()
    wide, high = figure.get_size_inches() * figure.dpi
    pyplot.close(figure)
    assert max(wide, high) < 2**16
    assert wide * high <= 1.001e8
