"""Responses of a tree to a table: P(node | e), and the values that its networks predict."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from neuid3.circuits.arrays import AnyArray
from neuid3.circuits.reach import Reach
from neuid3.data.examples import Examples
from neuid3.tree.components import Components
from neuid3.tree.descent import LazyEvaluator
from neuid3.tree.evidence import Evidence
from neuid3.tree.model import TreeModel
from neuid3.tree.semantics import NetworkCall
from neuid3.tree.tree import Branch, LeafNode, Node, Path, node_paths

Floats = npt.NDArray[np.float64]

# The networks of a branch are not called for examples that reach it with a smaller probability. The page rounds to 1 in
# 10,000, and with many branches this saves most network calls.
MIN_REACH = 1e-4
BATCH = 4096


@dataclass(frozen=True, slots=True)
class PageNode:
    """A node of the tree, its number in preorder, and the path to it."""

    number: int
    path: Path
    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class NetworkValues:
    """The most probable value of a network for each example that it was called for.

    Attributes
    ----------
    rows : the examples.
    values : the index of the most probable value for each of them.
    probabilities : the probability of that value.
    """

    rows: npt.NDArray[np.int64]
    values: npt.NDArray[np.int64]
    probabilities: Floats

    def by_row(self) -> dict[int, int]:
        """The most probable value of each row."""
        return dict(zip(self.rows.tolist(), self.values.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class PageResponses:
    """Responses of a tree to a table.

    Attributes
    ----------
    nodes : the nodes of the tree in preorder.
    reach : P(node | e), `(example, node)`.
    network_values : the most probable values of each network call.
    probabilities : P(class | e), `(example, class)`; for numbers the means of what leaves say, mean and deviation.
    of_components : the plain leaves and values of goals, and P(component | e), `(example, component)`.
    """

    nodes: tuple[PageNode, ...]
    reach: Floats
    network_values: dict[NetworkCall, NetworkValues]
    probabilities: Floats
    of_components: tuple[Components, Floats]

    @property
    def leaves(self) -> list[int]:
        """The numbers of the leaves."""
        return [node.number for node in self.nodes if isinstance(node.node, LeafNode)]

    def classes(self) -> Floats:
        """P(class | e), `(example, class)`."""
        return self.probabilities

    def children(self, node: PageNode) -> tuple[int, int]:
        """The numbers of the two children of a branch, yes before no."""
        assert isinstance(node.node, Branch)
        yes = node.number + 1
        return yes, yes + self._sizes[yes]

    @cached_property
    def _sizes(self) -> list[int]:
        """The number of nodes of each subtree, by the number of its root."""
        sizes = [1] * len(self.nodes)
        for node in reversed(self.nodes):
            if isinstance(node.node, Branch):
                yes = node.number + 1
                sizes[node.number] += sizes[yes] + sizes[yes + sizes[yes]]
        return sizes

    def yes_probabilities(self, node: PageNode) -> Floats:
        """P(yes | the branch is reached, e) for every example; NaN where it is not reached."""
        yes, no = (self.reach[:, child] for child in self.children(node))
        reached = yes + no
        conditional: Floats = np.divide(yes, reached, out=np.full(len(yes), np.nan), where=reached > 0)
        return conditional


def page_responses(model: TreeModel, examples: Examples) -> PageResponses:
    """The responses of a tree to all examples; each network is called once for each example that reaches it."""
    nodes = tuple(PageNode(number, path, node) for number, (path, node) in enumerate(node_paths(model.tree.root)))
    inference, arrays = model.inference, model.inference.arrays
    reach = inference.compiled([*(node.path for node in nodes), *model.components.paths])
    leaf_values = np.array([leaf.value for leaf in model.components.plain_leaves(model.classes)])
    descent = LazyEvaluator(model.tree.root, inference)
    reach_batches: list[Floats] = []
    value_batches: dict[NetworkCall, list[NetworkValues]] = {call: [] for call in sorted(model.network_calls)}
    with model.evaluating(), arrays.without_gradients():
        for start in range(0, len(examples), BATCH):
            evidence = model.evidence_of(examples[start : start + BATCH])
            descent(evidence, MIN_REACH)
            reach_batches.append(_reach(model, evidence, reach))
            for call, batches in value_batches.items():
                batches.append(_network_values(evidence, call, start))
    network_values = {call: _concatenated(batches) for call, batches in value_batches.items()}
    reached = np.concatenate(reach_batches)
    of_components = reached[:, len(nodes) :]
    return PageResponses(
        nodes,
        reached[:, : len(nodes)],
        network_values,
        np.asarray(of_components @ leaf_values),
        (model.components, of_components),
    )


def _reach(model: TreeModel, evidence: Evidence, reach: Reach) -> Floats:
    """P(path | e) of each path, with the missing entries of parts summed out."""
    examples, arrays = evidence.examples, model.inference.arrays

    def compute(filled: Examples) -> AnyArray:
        return reach(evidence if filled is examples else model.evidence_of(filled))

    return arrays.to_numpy(model.over_worlds(examples, compute)).astype(np.float64)


def _network_values(evidence: Evidence, call: NetworkCall, start: int) -> NetworkValues:
    """The values of a network for the examples of a batch that it was called for and whose inputs are not missing."""
    network, inputs, width = call
    rows = np.flatnonzero(evidence.evaluated(call) & evidence.examples.complete(inputs))
    output = evidence.arrays.to_numpy(evidence.output(network, inputs, width))[rows]
    weights = np.hstack((1.0 - output, output)) if width == 1 else output
    return NetworkValues(rows + start, weights.argmax(axis=1), weights.max(axis=1).astype(np.float64))


def _concatenated(batches: list[NetworkValues]) -> NetworkValues:
    return NetworkValues(
        np.concatenate([batch.rows for batch in batches]),
        np.concatenate([batch.values for batch in batches]),
        np.concatenate([batch.probabilities for batch in batches]),
    )
