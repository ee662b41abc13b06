"""Statistics of the tests with networks in a finished tree: how decided they are, and what they tell on unseen examples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from neuid3.learning.grow import OpenNode, Split, split_node
from neuid3.learning.inference import ExactInference
from neuid3.learning.sample import Floats
from neuid3.logic.formula import NeuralVariable, sources
from neuid3.tree.criteria import gain_of
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Branch, NetworkStatistics, Node


def with_statistics(root: Node, exact: ExactInference, epsilon: float) -> Node:
    """The tree with statistics at every branch whose test looks through a network; other trees are returned as they are.

    They are those of the finished tree, with the networks as they are in the end. Examples that reach a branch with less
    than `epsilon` are left out, as they were when the tree was grown.
    """
    found = {id(branch): statistics for branch, statistics in _measured(root, exact, epsilon)}
    return _rebuilt(root, found) if found else root


def _measured(root: Node, exact: ExactInference, epsilon: float) -> Iterator[tuple[Branch, NetworkStatistics]]:
    above = _above_networks(root, exact)
    waiting: list[tuple[Node, OpenNode]] = [(root, OpenNode.root(len(exact.sample.labels), frozenset()))]
    while waiting:
        node, place = waiting.pop()
        if not isinstance(node, Branch) or id(node) not in above or not len(place.rows):
            continue
        responses = exact.conditional(place.path, node.test, place.rows)
        if exact.meaning.is_neural(node.test):
            yield node, _statistics(node.test, place, responses, exact)
        yes, no = split_node(place, Split(node.test, responses, 0.0, False, None), epsilon)
        waiting += [(node.no, no), (node.yes, yes)]


def _above_networks(root: Node, exact: ExactInference) -> set[int]:
    """The branches with networks in their own test or below; nothing is computed for the others."""
    order: list[Branch] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Branch):
            order.append(node)
            waiting += [node.yes, node.no]
    found: set[int] = set()
    for branch in reversed(order):  # children before their parents
        if exact.meaning.is_neural(branch.test) or id(branch.yes) in found or id(branch.no) in found:
            found.add(id(branch))
    return found


def _statistics(test: NodeTest, place: OpenNode, responses: Floats, exact: ExactInference) -> NetworkStatistics:
    labels, weights = exact.sample.here(place)
    unseen = exact.sample.unseen[place.rows]
    fresh, classes = float(weights[unseen].sum()), exact.sample.classes

    def gain(rows: Floats) -> float | None:
        return gain_of(responses[rows], weights[rows], labels[rows], classes) if weights[rows].sum() > 0 else None

    counted = np.where(unseen, weights, 0.0) if fresh > 0 else weights
    return NetworkStatistics(_decided(test, place, counted, exact), gain(~unseen), gain(unseen), fresh)


def _decided(test: NodeTest, place: OpenNode, weights: Floats, exact: ExactInference) -> float | None:
    """How far the favourite value of the least decided network is above chance, on average over these examples."""
    totals: dict[str, list[float]] = {}
    for variable in sources(exact.meaning.formula(test)):
        if not isinstance(variable, NeuralVariable):
            continue
        present = np.where(exact.sample.examples.complete(variable.inputs)[place.rows], weights, 0.0)
        chance = 1.0 / variable.size
        total = totals.setdefault(variable.network, [0.0, 0.0])
        with torch.no_grad():
            for part, values in exact.values(variable, place.rows):
                above = (values.max(axis=0) - chance) / (1.0 - chance)
                total[0] += float(present[part] @ above)
                total[1] += float(present[part].sum())
    shares = [decided / mass for decided, mass in totals.values() if mass > 0]
    return min(1.0, max(0.0, min(shares))) if shares else None


def _rebuilt(root: Node, found: dict[int, NetworkStatistics]) -> Node:
    """The same tree with these statistics at its branches."""
    order: list[Branch] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Branch):
            order.append(node)
            waiting += [node.yes, node.no]
    made: dict[int, Node] = {}
    for branch in reversed(order):  # children before their parents
        yes, no = made.get(id(branch.yes), branch.yes), made.get(id(branch.no), branch.no)
        made[id(branch)] = Branch(branch.test, yes, no, branch.gain, branch.masses, found.get(id(branch)))
    return made[id(root)]
