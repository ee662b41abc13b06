"""Statistics of the tests with networks in a finished tree: how decided they are, and their gain on validation examples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuid3.learning.grow import OpenNode, Split, split_node
from neuid3.learning.inference import ExactInference
from neuid3.learning.sample import Floats
from neuid3.logic.formula import NeuralVariable, sources
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Branch, NetworkStatistics, Node, branches


def with_statistics(root: Node, inference: ExactInference, min_reach: float) -> Node:
    """The tree with statistics at every branch whose test calls a network; trees without networks are returned unchanged.

    The statistics are those of the finished tree and its final networks. Examples that reach a branch with less
    than `min_reach` are left out, as they were when the tree was grown.
    """
    by_branch = {id(branch): statistics for branch, statistics in _measured(root, inference, min_reach)}
    return _rebuilt(root, by_branch) if by_branch else root


def _measured(root: Node, inference: ExactInference, min_reach: float) -> Iterator[tuple[Branch, NetworkStatistics]]:
    """The branches whose tests call networks, with their statistics."""
    with_networks = _above_networks(root, inference)
    stack: list[tuple[Node, OpenNode]] = [(root, OpenNode.root(len(inference.sample)))]
    while stack:
        node, open_node = stack.pop()
        if not isinstance(node, Branch) or id(node) not in with_networks or not len(open_node.rows):
            continue
        responses = inference.conditional(open_node.path, node.test, open_node.rows)
        if inference.semantics.is_neural(node.test):
            yield node, _statistics(node.test, open_node, responses, inference)
        yes, no = split_node(open_node, Split(node.test, responses, 0.0, False, None), min_reach)
        stack += [(node.no, no), (node.yes, yes)]


def _above_networks(root: Node, inference: ExactInference) -> set[int]:
    """Ids of the branches with networks in their own test or below; nothing is computed for the others."""
    ids: set[int] = set()
    for branch in reversed(list(branches(root))):  # children before their parents
        if inference.semantics.is_neural(branch.test) or id(branch.yes) in ids or id(branch.no) in ids:
            ids.add(id(branch))
    return ids


def _statistics(test: NodeTest, open_node: OpenNode, responses: Floats, inference: ExactInference) -> NetworkStatistics:
    """The statistics of a test at a node."""
    target = inference.sample.target_at(open_node)
    weights, unseen = target.weights, inference.sample.unseen[open_node.rows]
    unseen_mass = float(weights[unseen].sum())

    def gain(rows: Floats) -> float | None:
        return target[rows].gain(responses[rows]) if weights[rows].sum() > 0 else None

    counted = np.where(unseen, weights, 0.0) if unseen_mass > 0 else weights
    return NetworkStatistics(_decided(test, open_node, counted, inference), gain(~unseen), gain(unseen), unseen_mass)


def _decided(test: NodeTest, open_node: OpenNode, weights: Floats, inference: ExactInference) -> float | None:
    """How far the most probable value of the least decided network exceeds chance, on average, from 0 to 1."""
    totals: dict[str, list[float]] = {}
    for variable in sources(inference.semantics.formula(test)):
        if not isinstance(variable, NeuralVariable):
            continue
        present = np.where(inference.sample.examples.complete(variable.inputs)[open_node.rows], weights, 0.0)
        chance = 1.0 / variable.size
        total = totals.setdefault(variable.network, [0.0, 0.0])
        for chunk, values in inference.value_probabilities(variable, open_node.rows):
            excess = (values.max(axis=0) - chance) / (1.0 - chance)
            total[0] += float(present[chunk] @ excess)
            total[1] += float(present[chunk].sum())
    decidedness = [decided / mass for decided, mass in totals.values() if mass > 0]
    return min(1.0, max(0.0, min(decidedness))) if decidedness else None


def _rebuilt(root: Node, by_branch: dict[int, NetworkStatistics]) -> Node:
    """The same tree with these statistics at its branches."""
    rebuilt: dict[int, Node] = {}
    for branch in reversed(list(branches(root))):  # children before their parents
        yes, no = rebuilt.get(id(branch.yes), branch.yes), rebuilt.get(id(branch.no), branch.no)
        rebuilt[id(branch)] = Branch(
            branch.test, yes, no, branch.gain, statistics=by_branch.get(id(branch)), summary=branch.summary
        )
    return rebuilt[id(root)]
