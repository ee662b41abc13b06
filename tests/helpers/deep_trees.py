"""Trees that are deeper than Python's stack."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuid3 import Branch, Examples, Leaf, NeurosymbolicTree, Tree
from neuid3.tree.node_tests import CutTest, NodeTest

DEEP = 1500


def chain(tests: list[Any]) -> Tree:
    """A tree of one chain of tests: each no-branch leads to the next."""
    node: Any = Leaf(0.5, (2.0, 2.0))
    for i, test in enumerate(reversed(tests)):
        node = Branch(test, Leaf((0.25, 0.75) if i % 2 else (0.8, 0.2), (1.0, 3.0)), node, 0.125, (4.0, 5.0))
    return Tree(node)


def cuts(depth: int, rows: int = 6) -> tuple[NeurosymbolicTree, Examples]:
    """Tests that all share a variable, so that no path falls into independent parts."""
    X = Examples({"x": np.linspace(0.0, depth * 1.1, rows), "y": np.linspace(0.0, depth, rows)})
    return NeurosymbolicTree(chain([CutTest("xy"[i % 2], float(i)) for i in range(depth)]), X.schema), X


def leaf_of_a_walk(tree: Tree, values: dict[NodeTest, bool]) -> tuple[float, ...]:
    node = tree.root
    while isinstance(node, Branch):
        node = node.yes if values[node.test] else node.no
    return node.probabilities
